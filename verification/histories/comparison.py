"""A query with the answers of both readers, and what is asked about their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hudi_pyspark import HudiTable
from verification.histories.compare import Answer, Difference, Failure, Row, agree, difference
from verification.histories.history import History
from verification.histories.instants import Instant, data_logs, table_properties
from verification.histories.queries import Query, QueryKind, as_of

_OF_A_VERSION = ("_hoodie_record_key", "_hoodie_commit_time", "_hoodie_commit_seqno")
_FILE = "_hoodie_file_name"


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

    @property
    def is_encoded(self) -> bool:
        """Whether the names of folders are encoded."""
        return self.properties.get("hoodie.datasource.write.partitionpath.urlencode") == "true"

    @property
    def is_hive_style(self) -> bool:
        return self.properties.get("hoodie.datasource.write.hive_style_partitioning") == "true"

    @property
    def inspect(self) -> Any:
        return HudiTable(str(self.path)).inspect

    def difference(self) -> Difference | None:
        """None unless both readers answer with the same columns."""
        if isinstance(self.reference, Failure) or isinstance(self.ours, Failure):
            return None
        found = difference(self.reference, self.ours, self.history.image_columns)
        return None if found.columns else found

    def rows_that_differ(self) -> Difference:
        """The difference of answers with the same columns."""
        found = self.difference()
        assert found is not None
        return found

    def agrees(self, theirs: Answer | Failure) -> bool:
        """Whether another answer of Apache Hudi is equal to ours."""
        return agree(theirs, self.ours)

    def refusal(self, error: str) -> str:
        """What ours says where it refuses with an error; "" otherwise."""
        is_refused = isinstance(self.ours, Failure) and self.ours.error == error
        return self.ours.message if is_refused else ""  # type: ignore[union-attr]

    @property
    def our_names(self) -> tuple[str, ...]:
        return self.answer_of_ours().names

    def column(self, row: Row, name: str) -> Any:
        """Return a value of a row; raises NoColumnError if the query does not return the column."""
        assert isinstance(self.ours, Answer)
        if name not in self.ours.names:
            raise NoColumnError(name)
        return row[self.ours.names.index(name)]

    def file_ids(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield the file groups of rows; "" for a row that has none."""
        return (file_id(self.column(row, _FILE)) for row in rows)

    def identity(self, row: Row) -> tuple[Any, ...]:
        places = ("_hoodie_partition_path", *self.history.record_keys)
        return tuple(self.column(row, name) for name in places if name in self.our_names)

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


def in_files(c: Comparison, rows: Counter[Row]) -> bool:
    """Whether each row is, by its meta columns, in the file or the file group that it names."""
    return all(_version(c, row) in _versions_in(c, c.column(row, _FILE) or "") for row in rows)


def are_replaced(c: Comparison, rows: Counter[Row]) -> bool:
    """Whether the latest rows, as Apache Hudi reads them, have none of these versions."""
    if not rows:
        return True
    found = c.ask_hudi(Query(QueryKind.SNAPSHOT, {}))
    if not isinstance(found, Answer):
        return False
    latest = {tuple(row[found.names.index(n)] for n in _OF_A_VERSION) for row in found.rows}
    return not latest & {_version(c, row) for row in rows}


def _version(c: Comparison, row: Row) -> tuple[Any, ...]:
    return tuple(c.column(row, name) for name in _OF_A_VERSION)


def _versions_in(c: Comparison, name: str) -> frozenset[tuple[Any, ...]]:
    """Return the versions of records in a base file, or in the log files of a file group."""
    found: list[dict[str, Any]] = []
    for file in c.path.rglob(name) if name else ():
        if file.suffix == ".parquet" and ".hoodie" not in file.parts:
            found += pq.read_table(file, columns=list(_OF_A_VERSION)).to_pylist()
    for log in data_logs(c.path) if name else ():
        if log.rpartition("/")[2].startswith(f".{name}_"):
            found += filter(None, c.inspect.log_records(log)["record"].to_pylist())
    return frozenset(tuple(record.get(name) for name in _OF_A_VERSION) for record in found)


def without_file_name(c: Comparison, rows: Counter[Row]) -> Counter[Row]:
    place = c.our_names.index(_FILE)
    return Counter(row[:place] + row[place + 1 :] for row in rows.elements())


def lacks_files(c: Comparison) -> bool:
    """Whether a data file that a commit on the timeline wrote is not on the storage."""
    return any(
        not (c.path / name).exists()
        for time in c.inspect.commits()["requested_time"].to_pylist()
        for name in c.inspect.commit_files(time)["path"].to_pylist()
    )
