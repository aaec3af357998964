"""The engines that run in Spark."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql import functions as f

from benchmarks.filter_switch import FILTER_OPTION
from benchmarks.merge_switch import OPTIONS
from benchmarks.object_store import located
from benchmarks.queries import CHECKED, GROUPED, JOINED, SUMMED, THREE, Kind, Query
from benchmarks.spark_session import HUDI_PY, hudi_session, plain_session
from benchmarks.sql_answer import rows_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

QUERY_TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"


class SparkEngine:
    """An engine with a session and a frame for each query."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.versions = {"pyspark": pyspark.__version__, "python": sys.version.split()[0]}
        self._folder = ""  # of the tables
        self._tables: dict[str, DataFrame] = {}

    def frame(self, path: str, query: Query, columns: tuple[str, ...] | None) -> DataFrame:
        """Return the rows that meet the query's condition, before its aggregation."""
        raise NotImplementedError

    def run(self, path: str, query: Query) -> dict[str, Any]:
        if query.kind is Kind.SQL:
            return self._rows(path, query)
        if query.kind is Kind.JOIN:
            return joined(*(self.frame(path, query, columns) for columns in JOINED))
        frame = self.frame(path, query, query.columns)
        if query.limit is not None:
            return {"rows": len(frame.limit(query.limit).collect())}
        return ANSWERS[query.kind](frame)

    def _rows(self, folder: str, query: Query) -> dict[str, Any]:
        if self._folder != folder:
            self._tables = {t.name: self.frame(str(t), query, None) for t in Path(folder).iterdir()}
            for name, frame in self._tables.items():
                frame.createOrReplaceTempView(name)
            self._folder = folder
        return rows_answer(self.sql(query.sql, self._tables).collect())

    def sql(self, text: str, tables: Mapping[str, DataFrame]) -> DataFrame:  # noqa: ARG002
        """Return a query of tables, which are views of the session."""
        return self.session.sql(text)

    def check(self, path: str, query: Query) -> dict[str, Any]:
        sums = [f.sum(name).alias(name) for name in CHECKED]
        row = self.frame(path, query, CHECKED).agg(f.count("*").alias("rows"), *sums).first()
        assert row is not None  # an aggregation without keys has one row
        return {name: value or 0 for name, value in row.asDict().items()}


class HudiJvm(SparkEngine):
    """Apache Hudi's bundle; Spark passes it the columns and rows that a query needs."""

    def __init__(self, jar: str) -> None:
        super().__init__(hudi_session(jar))
        self.versions = {
            "bundle": Path(jar.partition(",")[0]).stem,
            "pyspark for it": pyspark.__version__,
        }

    def frame(self, path: str, query: Query, columns: tuple[str, ...] | None) -> DataFrame:  # noqa: ARG002
        reader = self.session.read.format("hudi").option(QUERY_TYPE, query.query_type)
        reader = reader.option(BEGIN, query.begin) if query.begin else reader
        frame = reader.load(located(path))
        return frame.filter(query.condition.sql) if query.condition else frame


class HudiPySpark(SparkEngine):
    """This project, with an option for the columns, which Spark does not pass to it."""

    def __init__(self) -> None:
        super().__init__(plain_session(HUDI_PY))

    def frame(self, path: str, query: Query, columns: tuple[str, ...] | None) -> DataFrame:
        reader = self.session.read.format("hudi-py").option(QUERY_TYPE, query.query_type)
        reader = reader.option(BEGIN, query.begin) if query.begin else reader
        reader = reader.option("columns", ",".join(columns)) if columns else reader
        if query.condition is None:
            return reader.load(located(path))
        if FILTER_OPTION:
            return reader.option("filter", query.condition.sql).load(located(path))
        if columns and query.condition.column not in columns:
            named = ",".join((*columns, query.condition.column))
            reader = reader.option("columns", named)
        return reader.load(located(path)).filter(query.condition.sql)


class HudiPyUser(SparkEngine):
    """This project as a user writes it: nothing is named, and the session is registered."""

    def __init__(self, remote: str = "") -> None:
        super().__init__(plain_session(HUDI_PY, remote))
        self._is_remote = bool(remote)
        # Spark 3.5, in which Apache Hudi runs, imports this module without that package.
        self._read = import_module("hudi_pyspark").read

    def frame(self, path: str, query: Query, columns: tuple[str, ...] | None) -> DataFrame:  # noqa: ARG002
        given = {"begin": query.begin} if query.begin else {}
        frame: DataFrame = self._read(
            self.session, located(path), query_type=query.query_type, **given, **OPTIONS
        )
        return frame.filter(query.condition.sql) if query.condition else frame

    def sql(self, text: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        if not self._is_remote:
            return super().sql(text, tables)
        # A view over Spark Connect reads all columns; a frame that the text refers to, only those
        # that the query names. A column may have the name of a table.
        name = re.compile(rf"\b({'|'.join(tables)})\b")
        clauses = re.compile(r"\b(?:from|join) [\w ,]+")
        used = {table for clause in clauses.findall(text) for table in name.findall(clause)}
        template = clauses.sub(lambda clause: name.sub(r"{\1}", clause[0]), text)
        return self.session.sql(template, **{table: tables[table] for table in used})


class SparkParquet(SparkEngine):
    """Spark's own Parquet reader on the base files, without what log files changed."""

    def __init__(self) -> None:
        super().__init__(plain_session())

    def frame(self, path: str, query: Query, columns: tuple[str, ...] | None) -> DataFrame:  # noqa: ARG002
        # The folders of partitions are not named column=value, so Spark does not recognise them.
        frame = self.session.read.option("recursiveFileLookup", "true").parquet(path)
        return frame.filter(query.condition.sql) if query.condition else frame


def discarded(frame: DataFrame) -> dict[str, Any]:
    frame.write.format("noop").mode("overwrite").save()
    return {}


def fetched(frame: DataFrame) -> dict[str, Any]:
    rows = frame.collect()
    return {"rows": len(rows), **{name: sum(row[name] for row in rows) for name in CHECKED}}


def summed(frame: DataFrame) -> dict[str, Any]:
    row = frame.agg(f.count(SUMMED).alias("values"), f.sum(SUMMED).alias("sum")).first()
    assert row is not None  # an aggregation without keys has one row
    return row.asDict()


def sums(frame: DataFrame) -> dict[str, Any]:
    row = frame.agg(*(f.sum(name).alias(name) for name in THREE)).first()
    assert row is not None  # an aggregation without keys has one row
    return row.asDict()


def joined(left: DataFrame, right: DataFrame) -> dict[str, Any]:
    """Join the sums' columns by key, each from its own frame."""
    one = left.select(*JOINED[0])
    row = one.join(right.select(*JOINED[1]), "uuid").agg(f.sum(SUMMED), f.sum("distance")).first()
    assert row is not None  # an aggregation without keys has one row
    return {"fare": row[0], "distance": row[1]}


def grouped(frame: DataFrame) -> dict[str, Any]:
    groups = frame.groupBy(*GROUPED).agg(f.count("*").alias("rows"), f.sum(SUMMED).alias("sum"))
    return {f"{row[0]}/{row[1]}": [row["rows"], row["sum"]] for row in groups.collect()}


ANSWERS = {
    Kind.ROWS: discarded,
    Kind.FETCH: fetched,
    Kind.SUM: summed,
    Kind.GROUP: grouped,
    Kind.SUMS: sums,
    Kind.COUNT: lambda frame: {"rows": frame.count()},
}
