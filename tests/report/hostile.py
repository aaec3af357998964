"""A table whose names, paths and comments try to become markup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hudi_pyspark.format.properties import table_checksum
from tests.damage import set_property, unpack

if TYPE_CHECKING:
    from pathlib import Path

NAME = "<script>document.title='owned'</script>\"'\u202eevil\u202c & {{ 7*7 }}"
PARTITION = "\"'><img src=x onerror=alert(1)><b \u202edrow"
COMMENT = "</script><script>document.title='owned'</script><!-- ]]> \u200f"


def hostile_table(folder: Path) -> Path:
    """Rename a golden table and one of its partitions, and comment its columns."""
    table = unpack("v6_mor_part_basic", folder)
    set_property(table, "hoodie.table.name", NAME.encode("unicode_escape").decode())
    set_property(table, "hoodie.table.checksum", str(table_checksum("", NAME)))
    (table / "emea").rename(table / PARTITION)
    for file in (table / ".hoodie").glob("*commit"):
        commit = json.loads(file.read_text())
        commit["partitionToWriteStats"] = {
            PARTITION if name == "emea" else name: [
                stat | {"path": stat["path"].replace("emea/", f"{PARTITION}/")} for stat in stats
            ]
            for name, stats in commit["partitionToWriteStats"].items()
        }
        schema = json.loads(commit["extraMetadata"]["schema"])
        for field in schema["fields"]:
            field["doc"] = COMMENT
        commit["extraMetadata"] |= {"schema": json.dumps(schema), "checkpoint": COMMENT}
        file.write_text(json.dumps(commit))
    return table
