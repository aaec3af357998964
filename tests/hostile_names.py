"""Tables each of whose names steers a terminal, forges lines or turns text around."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.table.meta_columns import META_COLUMNS
from tests.table.tiny_table import TinyTable, base

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Clear the screen, set the title; a forged line; DEL, C1, bidi override, zero width, separators.
EVIL = "\x1b[2J\x1b]0;X\x07\r\nforged: ok\t\x7f\x9b31m\u202e\u2066\u200b\ufeff\u2028\U000e0041"
HALF = "\ud83d"  # of a character, as JSON can have it
HALF_IN_PROPERTIES = r"\ud83d"
# All but ASCII and the signs of tables and pages.
RAW = re.compile(
    r"[^\n\x20-\x7e\u00b7\u00d7\u2013\u2019\u2026\u2190\u2192\u2212\u2248\u25b2-\u25d0\ufffd]"
)
FORGED = re.compile(r"^forged", re.MULTILINE)
FILE = base(f"f{EVIL}1", "20240101000000000")
PARTITION = f"p={EVIL}"
PATH = f"{PARTITION}/{FILE}"


def escaped_in_properties(text: str) -> str:
    """A value, or a key, of a file of properties."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
    return "".join(f"\\u{code:04x}" for code in codes)


def schema(doc: str = EVIL) -> str:
    fields = [{"name": name, "type": "string", "doc": doc} for name in ("id", EVIL, "p")]
    return json.dumps({"type": "record", "name": "r", "doc": doc, "fields": fields})


def content() -> bytes:
    rows = {name: [EVIL] for name in META_COLUMNS} | {"id": [f"k{EVIL}"], EVIL: [EVIL], "p": [EVIL]}
    octets = io.BytesIO()
    pq.write_table(pa.table(rows), octets)
    return octets.getvalue()


def hostile_table(folder: Path, properties: Mapping[str, str] | None = None) -> str:
    """A table that can be read, unless its properties prevent it."""
    evil = escaped_in_properties(EVIL)
    named = {
        "table__name": f"{evil}{HALF_IN_PROPERTIES}",
        "database__name": evil,
        f"made.by.{evil}": evil,
        "table__recordkey__fields": "id",
        "table__partition__fields": "p",
        "datasource__write__hive_style_partitioning": "true",
        "table__metadata__partitions": f"files{evil}",
    }
    named |= {key: escaped_in_properties(value) for key, value in (properties or {}).items()}
    table = TinyTable(8, "MERGE_ON_READ", **named)
    extra = {"schema": schema(), f"checkpoint{EVIL}": EVIL}
    table.data(PATH, content=content())
    table.write(
        "20240101000000000", "deltacommit", PATH, completed="20240101000000001", extra=extra
    )
    operation = {"partitionPath": PARTITION, "fileId": EVIL, "deltaFilePaths": [EVIL]}
    plan = {"operations": [operation], "extraMetadata": {EVIL: EVIL}, EVIL: EVIL}
    table.instant("20240102000000000.compaction.requested", plan)
    for path, octets in table.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(octets)
    return str(folder)


def edit_commit(folder: Path, old: str, new: str) -> None:
    """Replace a text in the commit of a table."""
    (commit,) = (folder / ".hoodie/timeline").glob("*.deltacommit")
    text = commit.read_text()
    assert old in text
    commit.write_text(text.replace(old, new))
