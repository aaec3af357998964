"""`Facts`: the inspection tables that a report needs, each computed once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.timeline.instant import moment_of
from hudi_pyspark.inspection.columns import INDEX, column_statistics
from hudi_pyspark.inspection.commits import (
    KnownCommit,
    commits,
    known_commits,
    known_schema,
    timeline,
)
from hudi_pyspark.inspection.definition import COLUMNS
from hudi_pyspark.inspection.files import file_slices, files
from hudi_pyspark.inspection.statistics import SMALL_FILE_BYTES, partitions, statistics
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.record_types import FILES
from hudi_pyspark.options.instant_text import wall_clock
from hudi_pyspark.table.meta_columns import META_COLUMNS
from hudi_pyspark.table.view import TableView

# With more partitions, the files come from the metadata table if there is one: listing all
# folders of an object store takes minutes.
_MOST_FOLDERS = 1_000
# What column statistics may cost: entries of the index, else footers of base files.
_MOST_ENTRIES = 500_000
_MOST_FOOTERS = 100
# Lanes of the timeline by operation, else by action: a completed table service has the action of a
# write, and a pending one has no operation.
_LANES = {
    "COMPACT": "compaction",
    "LOG_COMPACT": "log compaction",
    "CLUSTER": "clustering",
    "logcompaction": "log compaction",
}


@dataclass(frozen=True)
class Facts:
    """What a report knows about a table; most attributes are tables of `Inspection`."""

    view: TableView
    now: datetime  # wall-clock time of the timeline, without a zone
    is_listed: bool  # the storage was listed, not the metadata table
    problems: list[str] = field(default_factory=list)  # why column statistics are missing

    @classmethod
    def of(cls, view: TableView, now: datetime) -> "Facts":
        """Decide whether to list the storage or to ask the metadata table.

        Args:
            view: of the table.
            now: the present time, with a zone.
        """
        is_listed = True
        if FILES in view.config.metadata_partitions:
            indexed = view.with_listing(MetadataListing(view))
            if len(indexed.listing.partitions()) > _MOST_FOLDERS:
                view = indexed
                is_listed = False
        return cls(view, wall_clock(now, view.config), is_listed)

    @cached_property
    def known_commits(self) -> list[KnownCommit]:
        """Completed commits with their metadata, archived ones included."""
        return known_commits(self.view, archived=True)

    @cached_property
    def commits(self) -> list[dict[str, Any]]:
        """The known commits as rows of `Inspection.commits`."""
        return list(commits(self.known_commits).to_pylist())

    @cached_property
    def marks(self) -> list[dict[str, Any]]:
        """The instants that are times, as marks of the timeline; see `timeline_marks`."""
        return list(timeline_marks(timeline(self.view, archived=True), self.commits))

    @cached_property
    def slices(self) -> pa.Table:
        """The latest file slices, as `Inspection.file_slices`."""
        return file_slices(self.view)

    @cached_property
    def files(self) -> pa.Table:
        """All data files on the storage, as `Inspection.files`."""
        return files(self.view, self.slices)

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """Sizes and ratios of the table, as the row of `Inspection.statistics`."""
        table = statistics(self.view, SMALL_FILE_BYTES, self.slices, self.files)
        return dict(table.to_pylist()[0])

    @cached_property
    def partitions(self) -> pa.Table:
        """The partitions, as `Inspection.partitions`."""
        return partitions(self.view, self.slices, self.files)

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns, without meta columns; none before the first commit."""
        columns = known_schema(self.view)
        return pa.schema([field for field in columns if field.name not in META_COLUMNS])

    @cached_property
    def sampled_slices(self) -> pa.Table:
        """The slices whose column statistics are read: all, or a sample if there are many."""
        count = self.slices.num_rows
        most = _MOST_FOOTERS
        if INDEX in self.view.config.metadata_partitions:
            entries = (count + self.statistics["log_files"]) * len(self.schema)
            most = count if entries <= _MOST_ENTRIES else 0
        step = max(1, count / max(1, most))
        places = [int(number * step) for number in range(min(count, most))]
        return self.slices.take(pa.array(places, pa.int64()))

    @cached_property
    def column_statistics(self) -> pa.Table:
        """The statistics of the sampled slices; no rows if one of their files is damaged."""
        try:
            if self.sampled_slices:
                return column_statistics(self.view, self.sampled_slices)
        except CorruptTableError as error:
            self.problems.append(error.reason())
        return COLUMNS["column_statistics"].empty_table()

    def age(self, instant: str | None) -> float | None:
        """Return the seconds since an instant; None if it is not a time."""
        moment = moment_of(instant)
        return (self.now - moment).total_seconds() if moment is not None else None


def timeline_marks(instants: pa.Table, commits: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the marks of the timeline, one for each instant that is a time.

    Args:
        instants: the table `Inspection.timeline`.
        commits: rows of `Inspection.commits`.

    Yields:
        Dicts with start and end in milliseconds since the epoch, lane, state and more, as the page
        draws them.
    """
    commit_rows = {row["requested_time"]: row for row in commits}
    for row in instants.to_pylist():
        requested = row["requested_time"]
        completed = row["completion_time"]
        action = row["action"]
        start, end = _epoch_ms(requested), _epoch_ms(completed)
        if start is None:
            continue
        commit = commit_rows.get(requested, {})
        operation = commit.get("operation") or ""
        yield {
            "start": start,
            "end": end if end is not None else start,
            # At least a millisecond, the resolution of instants: a log scale has no zero.
            "seconds": max(end - start, 1) / 1000 if end is not None else None,
            "lane": _LANES.get(operation, _LANES.get(action, action)),
            "state": "archived" if row["archived"] else row["state"],
            "instant": requested,
            "completed": completed or "",
            "action": action,
            "operation": operation,
            "written_bytes": commit.get("written_bytes"),
        }


def _epoch_ms(instant: str | None) -> int | None:
    """Return an instant as milliseconds since the epoch, as if it were UTC.

    The zone of the timeline may be unknown, and the page shows none.
    """
    moment = moment_of(instant)
    return None if moment is None else round(moment.replace(tzinfo=timezone.utc).timestamp() * 1000)
