"""A query with the answers of both readers, and what is asked about their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hudi_pyspark import HudiTable
from tests.golden.compare import Difference, Row
from verification.histories.answers import Answer, Failure, agree, difference
from verification.histories.history import History
from verification.histories.instants import Instant, data_logs, table_properties
from verification.histories.queries import Query, QueryKind, as_of

FILE = "_hoodie_file_name"
KEY = "_hoodie_record_key"
TIME = "_hoodie_commit_time"
_OF_A_VERSION = (KEY, TIME, "_hoodie_commit_seqno")
PRESENT = Query(QueryKind.SNAPSHOT, {})


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
    def is_copy_on_write(self) -> bool:
        return self.properties.get("hoodie.table.type") == "COPY_ON_WRITE"

    @property
    def inspect(self) -> Any:
        return HudiTable(str(self.path)).inspect

    @property
    def log_records(self) -> Iterator[dict[str, Any]]:
        """The records and deletes in log files of data, as `inspect` shows them."""
        for log in data_logs(self.path):
            yield from self.inspect.log_records(log).to_pylist()

    @property
    def lacks_files(self) -> bool:
        """Whether a data file that a commit on the timeline wrote is not on the storage."""
        return any(
            not (self.path / name).exists()
            for time in self.inspect.commits()["requested_time"].to_pylist()
            for name in self.inspect.commit_files(time)["path"].to_pylist()
        )

    def difference(self) -> Difference | None:
        """None unless both readers answer with the same columns."""
        if isinstance(self.reference, Failure) or isinstance(self.ours, Failure):
            return None
        found = difference(self.reference, self.ours, self.history.image_columns)
        return None if found.columns else found

    @property
    def missing(self) -> Counter[Row]:
        """Rows that only Apache Hudi has, of answers with the same columns."""
        return self._rows_that_differ().missing

    @property
    def extra(self) -> Counter[Row]:
        """Rows that only ours has, of answers with the same columns."""
        return self._rows_that_differ().extra

    def _rows_that_differ(self) -> Difference:
        found = self.difference()
        assert found is not None
        return found

    def agrees(self, theirs: Answer | Failure) -> bool:
        """Whether another answer of Apache Hudi is equal to ours."""
        return agree(theirs, self.ours, self.history.image_columns)

    def hudi_rows(self, query: Query) -> Counter[Row] | None:
        """Apache Hudi's answer to another query; None where it fails."""
        found = self.ask_hudi(query)
        return None if isinstance(found, Failure) else Counter(found.rows)

    def refusal(self, error: str) -> str:
        """What ours says where it refuses with an error; "" otherwise."""
        is_refused = isinstance(self.ours, Failure) and self.ours.error == error
        return self.ours.message if is_refused else ""  # type: ignore[union-attr]

    @property
    def names(self) -> tuple[str, ...]:
        return self._answer().names

    def _answer(self) -> Answer:
        assert isinstance(self.ours, Answer)
        return self.ours

    def place(self, name: str) -> int:
        """Return the place of a column; raises NoColumnError if the query does not return it."""
        if name not in self.names:
            raise NoColumnError(name)
        return self.names.index(name)

    def column(self, row: Row, name: str) -> Any:
        """Return a value of a row; raises NoColumnError if the query does not return the column."""
        return row[self.place(name)]

    def values(self, rows: Iterable[Row], name: str) -> set[Any]:
        """Return the values of a column."""
        return {self.column(row, name) for row in rows}

    def groups(self, rows: Iterable[Row]) -> set[str]:
        """Return the file groups of rows; "" for a row that has none."""
        return {file_id(name) for name in self.values(rows, FILE)}

    def identity(self, row: Row) -> tuple[Any, ...]:
        """Return the partition and the keys of a row, as far as it shows them."""
        names = ("_hoodie_partition_path", *self.history.record_keys)
        return tuple(self.column(row, name) for name in names if name in self.names)

    def identities(self, rows: Iterable[Row]) -> set[tuple[Any, ...]]:
        return {self.identity(row) for row in rows}

    def shown(self) -> set[tuple[Any, ...]]:
        """Return the identities of our rows."""
        return self.identities(self._answer().rows)

    def without_file(self, rows: Counter[Row]) -> Counter[Row]:
        """Return rows without the name of their file."""
        place = self.place(FILE)
        return Counter(row[:place] + row[place + 1 :] for row in rows.elements())

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
        columns = self._answer().columns
        if not isinstance(found, Answer) or not set(found.columns) <= set(columns):
            return Counter()
        rows = (dict(zip(found.names, row, strict=True)) for row in found.rows)
        return Counter(tuple(row.get(name) for name, _ in columns) for row in rows)

    def are_in_files(self, rows: Iterable[Row]) -> bool:
        """Whether each row is, by its meta columns, in the file or file group that it names."""
        return all(
            self._version(row) in self._versions_in(self.column(row, FILE) or "") for row in rows
        )

    def are_replaced(self, rows: Iterable[Row]) -> bool:
        """Whether the latest rows, as Apache Hudi reads them, have none of these versions."""
        versions = {self._version(row) for row in rows}
        if not versions:
            return True
        found = self.ask_hudi(PRESENT)
        if isinstance(found, Failure):
            return False
        places = [found.names.index(name) for name in _OF_A_VERSION]
        return versions.isdisjoint(tuple(row[place] for place in places) for row in found.rows)

    def _version(self, row: Row) -> tuple[Any, ...]:
        return tuple(self.column(row, name) for name in _OF_A_VERSION)

    def _versions_in(self, name: str) -> frozenset[tuple[Any, ...]]:
        """Return the versions of records in a base file, or in the log files of a file group."""
        if not name:
            return frozenset()
        found: list[dict[str, Any]] = []
        for file in self.path.rglob(name):
            if file.suffix == ".parquet" and ".hoodie" not in file.parts:
                found += pq.read_table(file, columns=list(_OF_A_VERSION)).to_pylist()
        for log in data_logs(self.path):
            if log.rpartition("/")[2].startswith(f".{name}_"):
                found += filter(None, self.inspect.log_records(log)["record"].to_pylist())
        return frozenset(tuple(record.get(name) for name in _OF_A_VERSION) for record in found)


def file_id(file_name: str | None) -> str:
    return (file_name or "").partition("_")[0]
