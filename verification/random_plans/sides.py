"""Sessions that answer a plan: over the tables, or over Parquet copies of their rows."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.window import Window

from verification.common.writing import write_rows
from verification.random_plans import functions
from verification.random_plans.conditions import PYTHON_NAMES
from verification.random_plans.plan import Plan
from verification.random_plans.tables import Table, Tables

_CONDITION = re.compile(r"\[([A-Z][A-Z_0-9.]+)\]")
_CLASS = re.compile(r"^(?:Caused by: )?([\w.$]+(?:Exception|Error))\b", re.MULTILINE)
SOURCE, BY_NAME, COPY = "source", "by name", "copy"


@dataclass(frozen=True)
class Rows:
    """An answer."""

    schema: tuple[tuple[str, str], ...]  # names and types
    rows: Counter[str]  # how often there is each

    def beside(self, other: Rows | str) -> str:
        """Return what it has and another answer does not."""
        if isinstance(other, str):
            return f"{self.rows.total()} rows of {list(self.schema)}"
        columns = [each for each in self.schema if each not in other.schema]
        rows = sorted((self.rows - other.rows).elements())
        return f"{self.rows.total()} rows, {len(rows)} of its own: {rows[:4]}, columns: {columns}"


class Side:
    """A session that knows the tables, the views and the functions.

    Args:
        name: of the side.
        spark: the session.
        tables: the family.
        folder: has the tables and their copies; the side writes there as well.
        way: how a table is read: from `SOURCE`, `BY_NAME` from the catalog, or from its `COPY`.
        reader: a session of Spark alone, which reads what plans write.
    """

    def __init__(
        self,
        name: str,
        spark: SparkSession,
        tables: Tables,
        folder: Path,
        *,
        way: str,
        reader: SparkSession,
    ) -> None:
        self.name = name
        self.spark = spark
        self._tables = tables
        self._known = {table.name: table for table in tables.tables}
        self._folder = folder
        self._way = way
        self._reader = reader
        self._written = folder / f"written_by_{name}"
        self._settings: dict[str, str] = {}
        self._functions: Any = None
        self._frames: dict[Any, DataFrame] = {}

    def prepare(self) -> None:
        """Make the views and the functions."""
        self._functions = functions.make(self.spark)
        for number, table in enumerate(self._tables.tables):
            if self._way == BY_NAME and table.place:
                location = self._folder / table.place
                self.spark.sql(f"CREATE TABLE {table.name} USING hudi LOCATION '{location}'")
            elif number % 2 and not table.is_selected:
                self._create_view(table.name, table)
            else:
                self.load(table.name).createOrReplaceTempView(table.name)
        for view in self._tables.views:
            name, spelled = view.spelled
            if not name:
                self.spark.sql(f"CREATE OR REPLACE TEMP VIEW {view.name} AS {view.query}")
                continue
            types = dict(self.load(view.base).dtypes) | {name: spelled}
            columns = ", ".join(f"{c.name} {types[c.name]}" for c in view.scope.columns)
            self._create_view(view.name, self._known[view.base], f"({columns})")

    def _create_view(self, name: str, table: Table, columns: str = "") -> None:
        """Make a view of the source of a table."""
        source, place = self._place(table)
        self.spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {name} {columns} USING `{source}` "
            f"OPTIONS (path '{place}')"
        )

    def _place(self, table: Table) -> tuple[str, str]:
        """Return the format of a table as this side reads it, and its path."""
        if self._way == COPY or not table.place:
            return "parquet", str(self._folder / table.copy)
        return "hudi-py", str(self._folder / table.place)

    def load(self, name: str, *, is_new: bool = False, **options: Any) -> DataFrame:
        """Read a table; the frame is one that was loaded before, unless it must be new."""
        key = (name, *options.items())
        if is_new or key not in self._frames:
            self._frames[key] = self._load(self._known[name], options)
        return self._frames[key]

    def _load(self, table: Table, options: dict[str, Any]) -> DataFrame:
        if self._way == BY_NAME and table.place:
            return self.spark.table(table.name)
        source, place = self._place(table)
        options = options if source == "hudi-py" else {}
        frame = self.spark.read.format(source).options(**options).load(place)
        return frame.select(*(c.name for c in table.scope.columns)) if table.is_selected else frame

    def answer(self, plan: Plan) -> Rows | str:
        """Return the answer of a plan, or the class of its error."""
        for name, value in plan.settings.items():
            if self._settings.get(name) != value:
                self.spark.conf.set(name, value)
                self._settings[name] = value
        names: dict[str, Any] = {
            "spark": self.spark, "t": self.load, "F": sf, "U": self._functions, "W": Window,
            **PYTHON_NAMES,
        }  # fmt: skip
        try:
            exec(plan.source, names)
            return self._fetch(names["d"], plan)
        except PySparkException as error:
            if error.getCondition() == "RETRIES_EXCEEDED":
                raise  # of the server, not of the plan
            return error_of(error)
        except Exception as error:  # noqa: BLE001  (of the plan: the other sides must have it)
            return error_of(error)
        finally:
            if plan.is_cached:
                self.spark.catalog.clearCache()

    def _fetch(self, frame: DataFrame, plan: Plan) -> Rows:
        columns = _columns(frame)
        rows: list[Any]
        match plan.fetch:
            case "count":
                rows = [(frame.count(),)]
            case "digest":
                rows = _digests(frame).collect()
            case "arrow":
                table = frame.toArrow()
                columns += [(f"arrow {field.name}", str(field.type)) for field in table.schema]
                values = [column.to_pylist() for column in table.columns]
                rows = list(zip(*values, strict=True)) if values else [()] * table.num_rows
            case "pandas":
                pandas: Any = frame.toPandas()
                columns += [(f"pandas {name}", str(kind)) for name, kind in pandas.dtypes.items()]
                rows = [[_rounded(cell) for cell in row] for row in pandas.itertuples(index=False)]
            case "iterate":
                rows = list(frame.toLocalIterator())
            case "collect":
                rows = frame.collect()
            case way:
                found = self._written_rows(frame, way)
                columns += [(f"read {name}", kind) for name, kind in _columns(found)]
                rows = found.collect()
        return Rows(tuple(columns), Counter(repr(_plain(tuple(row))) for row in rows))

    def _written_rows(self, frame: DataFrame, way: str) -> DataFrame:
        """Write the rows, and return what Spark's own reader finds."""
        shutil.rmtree(self._written, ignore_errors=True)
        folder = str(self._written)
        table = f"written_{self.name}"
        # Into columns of other types: texts of one length and of a greatest length, above all.
        fields = [
            f"`{name}` {_stored(kind, number)}"
            for number, (name, kind) in enumerate(_columns(frame))
        ]
        write_rows(self.spark, frame, way, folder, table=table, columns=f"({', '.join(fields)})")
        return self._reader.read.parquet(folder)


def _columns(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the names and the types of the columns."""
    return [(field.name, field.dataType.simpleString()) for field in frame.schema]


def _digests(frame: DataFrame) -> DataFrame:
    """Return a digest of each row, which is as short as the rows of ends are long."""
    places = [f"c{number}" for number, _ in enumerate(frame.columns)]
    return frame.toDF(*places).select(sf.md5(sf.struct(*places).cast("string")))


def _stored(kind: str, number: int) -> str:
    of_texts = "char(30)" if number % 2 else "varchar(30)"
    return {"string": of_texts, "int": "bigint", "float": "double"}.get(kind, kind)


def error_of(error: BaseException) -> str:
    """Return the class of an error: its condition in Spark, or the class of what caused it."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    found = _CONDITION.findall(str(error))[:1] or _CLASS.findall(str(error))[-1:]
    return condition or "".join(found) or type(error).__name__


def _rounded(cell: Any) -> Any:
    """Return a cell of pandas, which makes floats of nested integers if their batch has a null."""
    if isinstance(cell, np.ndarray):
        return _rounded(cell.tolist())
    if isinstance(cell, tuple | list):
        return [float(v) if type(v) is int else _rounded(v) for v in cell]
    if isinstance(cell, dict):
        return dict(zip(cell, _rounded([*cell.values()]), strict=True))
    return cell


def _plain(value: Any) -> Any:  # noqa: PLR0911  (by type)
    """Return a value whose representation is the same for equal values."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        is_negative_zero = value == 0 and math.copysign(1, value) < 0
        return int(value) if value.is_integer() and not is_negative_zero else value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Decimal):
        return f"decimal {value}"
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return sorted((repr(_plain(k)), repr(_plain(v))) for k, v in value.items())
    if hasattr(value, "toJson"):
        return json.loads(value.toJson())
    if isinstance(value, bytearray):
        return bytes(value)
    return value
