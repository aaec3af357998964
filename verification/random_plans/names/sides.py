"""Sessions that answer a plan: over the tables, or over Parquet copies of their rows."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql.window import Window

from verification.random_plans.names import functions, sql, tables

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from verification.random_plans.names.plan import Plan

_CONDITION = re.compile(r"\[([A-Z][A-Z_0-9.]+)\]")
_CLASS = re.compile(r"^(?:Caused by: )?([\w.$]+(?:Exception|Error))\b", re.MULTILINE)


@dataclass(frozen=True)
class Rows:
    """An answer.

    Attributes:
        schema: names and types.
        rows: how often there is each.
    """

    schema: tuple[tuple[str, str], ...]
    rows: Counter[str]

    def beside(self, other: Rows | str) -> str:
        """Return what it has and another answer does not."""
        if isinstance(other, str):
            return f"{self.rows.total()} rows of {list(self.schema)}"
        columns = [each for each in self.schema if each not in other.schema]
        rows = sorted((self.rows - other.rows).elements())
        return f"{self.rows.total()} rows, {len(rows)} of its own: {rows[:4]}, columns: {columns}"


class Side:
    """A session that knows the tables, the views and the functions."""

    def __init__(self, spark: SparkSession, folder: Path, name: str, *, is_copy: bool) -> None:
        self.spark, self.name = spark, name
        self._folder, self._is_copy = folder, is_copy
        self._written = folder / f"written_by_{name}"
        self._settings: dict[str, str] = {}
        self._functions: Any = None
        self._frames: dict[Any, DataFrame] = {}
        self.reader = spark  # of what was written: a session of Spark alone

    def prepare(self) -> None:
        """Make the views and the functions."""
        self._functions = functions.make(self.spark)
        for table in (*tables.TABLES, "variants"):
            self.load(table).createOrReplaceTempView(table)
        for view, (table, items) in sql.VIEWS.items():
            self.spark.sql(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {items} FROM {table}")

    def load(self, table: str, *, is_new: bool = False, **options: Any) -> DataFrame:
        """Read a table; the frame is one that was loaded before, unless it must be new."""
        key = (table, *options.items())
        if is_new or key not in self._frames:
            self._frames[key] = self._load(table, options)
        return self._frames[key]

    def _load(self, table: str, options: dict[str, Any]) -> DataFrame:
        if self._is_copy or table in tables.PARQUET_TABLES:
            return self.spark.read.parquet(str(self._folder / f"{table}.parquet"))
        return self.spark.read.format("hudi-py").options(**options).load(str(self._folder / table))

    def answer(self, plan: Plan) -> Rows | str:
        """Return the answer of a plan, or the class of its error."""
        for name, value in plan.settings.items():
            if self._settings.get(name) != value:
                self.spark.conf.set(name, value)
                self._settings[name] = value
        names: dict[str, Any] = {
            "spark": self.spark, "t": self.load, "F": sf, "U": self._functions, "W": Window,
        }  # fmt: skip
        try:
            exec(plan.source, names)
            frame = names["d"]
            return self._fetch(frame, plan)
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
        schema = frame.schema
        kinds = tuple((f.name, f.dataType.simpleString()) for f in schema.fields)
        if plan.fetch == "count":
            return Rows(kinds, Counter({f"count {frame.count()}": 1}))
        if plan.fetch == "arrow":
            table = frame.toArrow()
            columns = [column.to_pylist() for column in table.columns]
            rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
            types = tuple((f"arrow {f.name}", str(f.type)) for f in table.schema)
            return Rows(kinds + types, _counted(rows))
        if plan.fetch == "pandas":
            pandas: Any = frame.toPandas()
            return Rows(
                kinds
                + tuple(
                    (f"pandas {n}", str(t)) for n, t in zip(pandas, pandas.dtypes, strict=True)
                ),
                _counted(list(pandas.itertuples(index=False, name=None))),
            )
        if plan.fetch == "iterate":
            return Rows(kinds, _counted(list(frame.toLocalIterator())))
        if plan.fetch in ("write", "table", "insert"):
            return self._written_rows(frame, plan, kinds)
        return Rows(kinds, _counted(frame.collect()))

    def _written_rows(self, frame: DataFrame, plan: Plan, kinds: Any) -> Rows:
        """Write the rows, and return what Spark's own reader finds."""
        shutil.rmtree(self._written, ignore_errors=True)
        folder = str(self._written)
        frame.createOrReplaceTempView("written")
        table = f"written_{self.name}"
        # By the session that inserts: it remembers the columns of a table that another one drops.
        self.spark.sql(f"DROP TABLE IF EXISTS {table}")
        if plan.fetch == "write":
            frame.write.parquet(folder)
        elif plan.fetch == "table":
            self.spark.sql(
                f"CREATE TABLE {table} USING parquet LOCATION '{folder}' AS SELECT * FROM written"
            )
        else:
            # Into columns of other types: texts of one length and of a greatest length, above all.
            columns = [
                f"`{field.name}` {_stored(field.dataType, number)}"
                for number, field in enumerate(frame.schema.fields)
            ]
            self.spark.sql(
                f"CREATE TABLE {table} ({', '.join(columns)}) USING parquet LOCATION '{folder}'"
            )
            self.spark.sql(f"INSERT INTO {table} SELECT * FROM written")
        found = self.reader.read.parquet(folder)
        read = tuple((f"read {f.name}", f.dataType.simpleString()) for f in found.schema)
        return Rows(kinds + read, _counted(found.collect()))


def _stored(kind: Any, number: int) -> str:
    text = kind.simpleString()
    of_texts = "char(30)" if number % 2 else "varchar(30)"
    return str({"string": of_texts, "int": "bigint", "float": "double"}.get(text, text))


def error_of(error: BaseException) -> str:
    """Return the class of an error: its condition in Spark, or the class of what caused it."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    found = _CONDITION.search(str(error))
    if condition is None and found:
        condition = found[1]
    if condition is None:
        causes = _CLASS.findall(str(error))
        condition = causes[-1] if causes else type(error).__name__
    return str(condition)


def _counted(rows: list[Any]) -> Counter[str]:
    return Counter(repr(_plain(tuple(row))) for row in rows)


def _plain(value: Any) -> Any:  # noqa: PLR0911  (by type)
    """Return a value whose representation is the same for equal values."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        # pandas makes floats of nested integers where a batch has a null.
        return int(value) if value.is_integer() else value
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value.tolist()]
    if isinstance(value, np.generic):
        return _plain(value.item())
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
