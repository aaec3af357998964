"""Scripts of SQL that Apache Hudi's bundle and this package run, and their answers.

It needs only PySpark, 3.5 or later, and pyarrow: ``verification/generate/sql_scripts.py`` runs it
with the bundle.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from tests.golden.case import read_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

FOLDER = Path(__file__).resolve().parent / "trips"
NAMES = ("quickstart", "mixed", "models")
_ANSWERED = ("SELECT", "WITH", "SHOW")
# What answers have in place of the folder of the tables, and of the current database.
_FOLDER = "<tables>"
_DATABASE = "<database>"


def statements(name: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield the statements of a script in which names such as ``${path}`` have values."""
    scripts = read_facts(FOLDER)["scripts"]
    text = next(script["sql"] for script in scripts if script["name"] == name)
    text = re.sub(r"^--.*\n", "", text, flags=re.MULTILINE)
    for statement in Template(text).substitute(values).split(";"):
        if statement.strip():
            yield statement.strip()


def answer(spark: SparkSession, statement: str, path: str) -> dict[str, Any] | None:
    """Run a statement and return its columns, their types and its sorted rows; None if it has none.

    Args:
        spark: the session.
        statement: of SQL.
        path: the folder of the tables, which the answer does not name.
    """
    frame = spark.sql(statement)
    if not statement.startswith(_ANSWERED):
        return None
    database = spark.catalog.currentDatabase()
    rows = [
        [_DATABASE if value == database else _plain(value, path) for value in row]
        for row in frame.collect()
    ]
    types = [[field.name, field.dataType.simpleString()] for field in frame.schema]
    return {"columns": types, "rows": sorted(rows, key=json.dumps)}


def _plain(value: Any, path: str) -> Any:
    """Return a value for JSON, without the last digits of a sum and the order of keys."""
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, str) and value.startswith("{"):  # an image, see difference D5
        image = json.loads(value)
        return {name: image[name] for name in image if not name.startswith("_hoodie_")}
    return value.replace(path, _FOLDER) if isinstance(value, str) else value
