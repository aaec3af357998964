"""The engines without Spark: each returns record batches, which pyarrow aggregates."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.filter_switch import FILTER_OPTION
from benchmarks.queries import CHECKED, GROUPED, SUMMED, Condition, Kind, Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow.dataset as ds

    Batches = Iterable[pa.RecordBatch]


class ArrowEngine:
    """An engine that returns a stream of batches for each query."""

    def __init__(self, module: str) -> None:
        self.module = import_module(module)
        self.versions = {"pyarrow": pa.__version__, "python": sys.version.split()[0]}

    def batches(self, path: str, query: Query, columns: tuple[str, ...] | None) -> Batches:
        """Return the rows that meet the query's condition, with at least these columns."""
        raise NotImplementedError

    def count(self, path: str, query: Query) -> int:
        return sum(len(batch) for batch in self.batches(path, query, query.columns))

    def run(self, path: str, query: Query) -> dict[str, Any]:
        if query.kind is Kind.COUNT:
            return {"rows": self.count(path, query)}
        batches = self.batches(path, query, query.columns)
        if query.limit is not None:
            return {"rows": limited(batches, query.limit)}
        return ANSWERS[query.kind](batches)

    def check(self, path: str, query: Query) -> dict[str, Any]:
        return checked(self.batches(path, query, CHECKED))


class HudiPy(ArrowEngine):
    """This project, without Spark."""

    def __init__(self) -> None:
        super().__init__("hudi_pyspark")
        self.versions["hudi-pyspark"] = version("hudi-pyspark")

    def scan(self, path: str, query: Query, columns: tuple[str, ...] | None) -> Any:
        options = {"begin": query.begin} if query.begin else {}
        if FILTER_OPTION and query.condition:
            options["filter"] = query.condition.sql
        elif columns and query.condition and query.condition.column not in columns:
            columns = (*columns, query.condition.column)
        table = self.module.HudiTable(path)
        return table.scan(columns=columns, query_type=query.query_type, **options)

    def batches(self, path: str, query: Query, columns: tuple[str, ...] | None) -> Batches:
        batches = self.scan(path, query, columns).to_batches()
        return batches if FILTER_OPTION else filtered(batches, query.condition)

    def count(self, path: str, query: Query) -> int:
        return self.scan(path, query, None).count()


class HudiRs(ArrowEngine):
    """The package hudi, written in Rust (hudi-rs)."""

    def __init__(self) -> None:
        super().__init__("hudi")
        self.versions["hudi-rs"] = version("hudi")

    def batches(self, path: str, query: Query, columns: tuple[str, ...] | None) -> Batches:
        hudi = self.module
        options = hudi.HudiReadOptions()
        if columns:
            more = (query.condition.column,) if query.condition else ()
            options = options.with_projection(list(dict.fromkeys((*columns, *more))))
        if query.condition:
            options = options.with_filters(hudi_rs_filters(query.condition))
        table = hudi.HudiTable(path)
        if query.query_type == "incremental":  # it cannot be streamed
            options = options.with_query_type(hudi.HudiQueryType.Incremental)
            options = options.with_start_timestamp(query.begin)
            return filtered(table.read(options), query.condition)
        if query.query_type == "read_optimized":
            options = options.with_hudi_option("hoodie.read.use.read_optimized.mode", "true")
        return filtered(table.read_stream(options), query.condition)


class BarePyarrow(ArrowEngine):
    """Only base files, without a merge: the least time to read Parquet."""

    def __init__(self) -> None:
        super().__init__("pyarrow.dataset")

    def files(self, path: str) -> ds.Dataset:
        return self.module.dataset([str(file) for file in Path(path).glob("[!.]*/*.parquet")])

    def batches(self, path: str, query: Query, columns: tuple[str, ...] | None) -> Batches:
        named = list(columns) if columns else None
        condition = expression(query.condition) if query.condition else None
        return self.files(path).to_batches(columns=named, filter=condition)

    def count(self, path: str, query: Query) -> int:  # noqa: ARG002
        return self.files(path).count_rows()


def hudi_rs_filters(condition: Condition) -> list[tuple[str, str, str]]:
    column = condition.column
    values = [str(value) for value in condition.values]
    if condition.op == "between":
        return [(column, ">=", values[0]), (column, "<", values[1])]
    return [(column, condition.op.upper(), ",".join(values))]


def expression(condition: Condition) -> pc.Expression:
    column = pc.field(condition.column)
    values = condition.values
    if condition.op == "between":
        return (column >= values[0]) & (column < values[1])
    return column.isin(list(values))


def filtered(batches: Batches, condition: Condition | None) -> Iterator[pa.RecordBatch]:
    return (batch.filter(expression(condition)) if condition else batch for batch in batches)


def limited(batches: Batches, limit: int) -> int:
    rows = 0
    for batch in batches:
        rows += min(len(batch), limit - rows)
        if rows == limit:
            break
    return rows


def table_of(batches: Batches) -> pa.Table:
    stream = iter(batches)
    first = next(stream, None)
    return pa.table({}) if first is None else pa.Table.from_batches(chain([first], stream))


def discarded(batches: Batches) -> dict[str, Any]:
    for _ in batches:
        pass
    return {}


def checked(batches: Batches) -> dict[str, Any]:
    totals = {"rows": 0, **dict.fromkeys(CHECKED, 0)}
    for batch in batches:
        totals["rows"] += len(batch)
        for name in CHECKED:
            totals[name] += pc.sum(batch[name]).as_py() or 0
    return totals


def fetched(batches: Batches) -> dict[str, Any]:
    return checked(table_of(batches).to_batches())


def summed(batches: Batches) -> dict[str, Any]:
    values = 0
    total = 0.0
    for batch in batches:
        column = batch[SUMMED]
        values += len(column) - column.null_count
        total += pc.sum(column).as_py() or 0.0
    return {"values": values, "sum": total}


def grouped(batches: Batches) -> dict[str, Any]:
    table = table_of(batches)
    if not len(table):
        return {}
    groups = table.group_by(list(GROUPED)).aggregate([([], "count_all"), (SUMMED, "sum")])
    return {
        f"{row[GROUPED[0]]}/{row[GROUPED[1]]}": [row["count_all"], row[f"{SUMMED}_sum"]]
        for row in groups.to_pylist()
    }


ANSWERS = {
    Kind.ROWS: discarded,
    Kind.FETCH: fetched,
    Kind.SUM: summed,
    Kind.GROUP: grouped,
}
