"""The queries of the benchmark, independent of the engines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from benchmarks.tables import CITIES, Sized, record_key

if TYPE_CHECKING:
    from collections.abc import Mapping

SUMMED = "fare"
GROUPED = ("city", "seats")
THREE = ("seats", "distance", SUMMED)
JOINED = (("uuid", SUMMED), ("uuid", "distance"))  # columns of both sides
CHECKED = ("ts", "distance")  # their sums show whether two engines read the same rows


class Kind(Enum):
    """The use of a query's rows."""

    ROWS = "rows"  # all are produced and discarded
    FETCH = "fetch"  # all are returned to the caller
    SUM = "sum"  # of one column
    GROUP = "group"  # rows and a sum for each pair of two columns
    COUNT = "count"
    SUMS = "sums"  # of each column
    JOIN = "join"  # with the same table loaded a second time, by record key
    SQL = "sql"  # the answer of a text over all tables of a folder


@dataclass(frozen=True, slots=True)
class Condition:
    """``column op values``; ``between`` includes the first of two values and not the second."""

    column: str
    op: str  # "=", "in" or "between"
    values: tuple[str | int, ...]

    @property
    def sql(self) -> str:
        texts = [f"'{value}'" if isinstance(value, str) else str(value) for value in self.values]
        if self.op == "between":
            return f"{self.column} >= {texts[0]} AND {self.column} < {texts[1]}"
        if self.op == "in":
            return f"{self.column} IN ({', '.join(texts)})"
        return f"{self.column} = {texts[0]}"


@dataclass(frozen=True, slots=True)
class Query:
    """One query."""

    name: str
    title: str
    kind: Kind
    columns: tuple[str, ...] | None = None  # None: all of them
    condition: Condition | None = None
    limit: int | None = None
    query_type: str = "snapshot"
    begin: str = ""  # of an incremental query, exclusive
    sql: str = ""  # over views that have the names of the tables


def queries_of(sized: Sized, facts: Mapping[str, Any]) -> list[Query]:
    """Return the queries of a table, in the order in which they run."""
    rows = sized.rows
    step = sized.step
    keys = tuple(record_key(rows // 100 * n // step * step) for n in range(100))
    one = Condition("uuid", "=", keys[50:51])
    city = Condition("city", "=", (CITIES[1],))
    span = Condition("distance", "between", (500_000, 510_000))
    last = facts["last_commit_after"]
    return [
        Query("full", "all rows, all columns", Kind.ROWS),
        Query("one_column", "sum of one column", Kind.SUM, (SUMMED,)),
        Query("group", "group by two columns", Kind.GROUP, (*GROUPED, SUMMED)),
        Query("count", "count", Kind.COUNT, ("seats",)),
        Query("one_key", "one record key", Kind.FETCH, condition=one),
        Query("keys", "100 record keys", Kind.FETCH, condition=Condition("uuid", "in", keys)),
        Query("partition", "one partition of four", Kind.ROWS, condition=city),
        Query("range", "1 % by a range of a data column", Kind.FETCH, condition=span),
        Query("range_sum", "sum of 1 % by that range", Kind.SUM, (SUMMED,), condition=span),
        Query("three_columns", "sums of three columns", Kind.SUMS, THREE),
        Query("join", "join of two tables", Kind.JOIN),
        Query("limit", "limit 10", Kind.FETCH, limit=10),
        Query("read_optimized", "read-optimized, all", Kind.ROWS, query_type="read_optimized"),
        Query(
            "read_optimized_column",
            "read-optimized, sum of one column",
            Kind.SUM,
            (SUMMED,),
            query_type="read_optimized",
        ),
        Query(
            "incremental",
            "incremental, last commit",
            Kind.ROWS,
            None,
            None,
            None,
            "incremental",
            last,
        ),
    ]
