"""A query with the answers of both readers, and what is asked about their rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from hudi_pyspark import HudiTable
from verification.histories.compare import Answer, Difference, Failure, Row, difference
from verification.histories.instants import table_properties
from verification.histories.queries import Query, QueryKind, as_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verification.histories.history import History
    from verification.histories.instants import Instant

_OF_A_VERSION = ("_hoodie_record_key", "_hoodie_commit_time", "_hoodie_commit_seqno")


class NoColumnError(LookupError):
    """A rule asks for a column that the query does not return, so the rule explains nothing."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A query with both answers, and what a rule may look at to explain why they differ."""

    history: History
    path: Path
    instants: tuple[Instant, ...]  # all commits that the table ever had
    query: Query
    reference: Answer | Failure
    ours: Answer | Failure
    ask_hudi: Callable[[Query], Answer | Failure]

    @property
    def properties(self) -> dict[str, str]:
        return table_properties(self.path)

    @property
    def table_version(self) -> int:
        """The version now; the history says only what it was at first."""
        return int(self.properties["hoodie.table.version"])

    @property
    def payload(self) -> str:
        """The payload class without its package; "" where the table names none."""
        return self.properties.get("hoodie.compaction.payload.class", "").rpartition(".")[2]

    def difference(self) -> Difference | None:
        """None unless both readers answer with the same columns."""
        if isinstance(self.reference, Failure) or isinstance(self.ours, Failure):
            return None
        found = difference(self.reference, self.ours, self.history.image_columns)
        return None if found.columns else found

    @property
    def our_names(self) -> tuple[str, ...]:
        return self.answer_of_ours().names

    def column(self, row: Row, name: str) -> Any:
        """Return a value of a row; raises NoColumnError if the query does not return the column."""
        assert isinstance(self.ours, Answer)
        if name not in self.ours.names:
            raise NoColumnError(name)
        return row[self.ours.names.index(name)]

    def last_of_range(self) -> Instant | None:
        """The last commit of an incremental query."""
        by_completion = self.table_version >= 8
        ends = [
            instant
            for instant in self.instants
            if not self.query.end
            or (instant.completion if by_completion else instant.requested) <= self.query.end
        ]
        return max(ends, default=None)

    def rows_at_end(self) -> Counter[Row]:
        """What Apache Hudi itself reads by time travel to the end of the range.

        Columns that were added later are null.
        """
        last = self.last_of_range()
        found = self.ask_hudi(as_of(last.requested)) if last else None
        columns = self.answer_of_ours().columns
        if not isinstance(found, Answer) or not set(found.columns) <= set(columns):
            return Counter()
        rows = (dict(zip(found.names, row, strict=True)) for row in found.rows)
        return Counter(tuple(row.get(name) for name, _ in columns) for row in rows)

    def answer_of_ours(self) -> Answer:
        assert isinstance(self.ours, Answer)
        return self.ours


def file_id(file_name: str | None) -> str:
    return (file_name or "").partition("_")[0]


def identity(c: Comparison, row: Row) -> tuple[Any, ...]:
    places = ("_hoodie_partition_path", *c.history.record_keys)
    assert isinstance(c.ours, Answer)
    return tuple(c.column(row, name) for name in places if name in c.ours.names)


def in_files(c: Comparison, rows: Counter[Row]) -> bool:
    """Whether each row is, by its meta columns, in the file or the file group that it names."""
    return all(
        tuple(c.column(row, name) for name in _OF_A_VERSION)
        in _versions_in(c.path, c.column(row, "_hoodie_file_name") or "")
        for row in rows
    )


def are_replaced(c: Comparison, rows: Counter[Row]) -> bool:
    """Whether the latest rows, as Apache Hudi reads them, have none of these versions."""
    if not rows:
        return True
    found = c.ask_hudi(Query(QueryKind.SNAPSHOT, {}))
    if not isinstance(found, Answer):
        return False
    latest = {tuple(row[found.names.index(n)] for n in _OF_A_VERSION) for row in found.rows}
    return not latest & {tuple(c.column(row, n) for n in _OF_A_VERSION) for row in rows}


def _versions_in(table: Path, name: str) -> frozenset[tuple[Any, ...]]:
    """Return the versions of records in a base file, or in the log files of a file group."""
    inspect = HudiTable(str(table)).inspect
    found: list[dict[str, Any]] = []
    for file in table.rglob(f"*{name}*") if name else ():
        if file.name == name and file.suffix == ".parquet" and ".hoodie" not in file.parts:
            found += pq.read_table(file, columns=list(_OF_A_VERSION)).to_pylist()
        elif file.name.startswith(f".{name}_") and not file.name.endswith((".crc", ".cdc")):
            records = inspect.log_records(file.relative_to(table).as_posix())
            found += filter(None, records["record"].to_pylist())
    return frozenset(tuple(record.get(name) for name in _OF_A_VERSION) for record in found)


def without_file_name(c: Comparison, rows: Counter[Row]) -> Counter[Row]:
    assert isinstance(c.ours, Answer)
    place = c.ours.names.index("_hoodie_file_name")
    return Counter(row[:place] + row[place + 1 :] for row in rows.elements())


def lacks_files(c: Comparison) -> bool:
    """Whether a data file that a commit on the timeline wrote is not on the storage."""
    inspect = HudiTable(str(c.path)).inspect
    return any(
        not (c.path / name).exists()
        for time in inspect.commits()["requested_time"].to_pylist()
        for name in inspect.commit_files(time)["path"].to_pylist()
    )


def all_in(rows: Counter[Row], others: Counter[Row]) -> bool:
    return not rows - others
