"""Offsets of a stream: instants, and how far the next batch may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.options.option_table import (
    BEGIN,
    BY_NAME,
    END,
    INCREMENTAL_FORMAT,
    MAX_BYTES,
    MAX_COMMITS,
    OLD_QUERY_TYPE,
    QUERY_TYPE,
    RANGE_MERGE,
    READ_OPTIMIZED_MODE,
    START_OFFSET,
    IncrementalFormat,
    QueryType,
    StreamUse,
)
from hudi_pyspark.options.read_options import GivenOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.table.view import TableView

OFFSET_KEY = "offsetCommitTime"
# Apache Hudi's own constant: before every commit, also those of a bootstrap.
FIRST_OFFSET = "00000000000000"
# After every commit: an empty range, for questions whose answer does not depend on commits.
LAST_OFFSET = "99999999999999999"
_QUERY_TYPES = (QUERY_TYPE, OLD_QUERY_TYPE, READ_OPTIMIZED_MODE)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options that only streams have."""

    start: str  # earliest, latest, or digits
    max_commits: int  # 0 for no limit
    max_bytes: int  # 0 for no limit

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> StreamOptions:
        """Parse the options of a stream, by name in any case.

        Raises:
            InvalidOptionError: a bad value, or an option that a stream cannot have.
        """
        for name in options:
            option = BY_NAME.get(name.lower())
            if option is not None and option.stream is StreamUse.REFUSES:
                raise InvalidOptionError(
                    f"{name} cannot be combined with a stream, which starts at start_offset, goes "
                    "on from there, and has one schema"
                )
        given = GivenOptions.of(options)
        if given.query_type is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                "a stream reads all changes: leave out the query type read_optimized"
            )
        return cls(given[START_OFFSET], given[MAX_COMMITS], given[MAX_BYTES])


def schema_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that give a stream's columns as a batch, where a range needs its begin.

    The range is empty, so that commits that are archived or pending do not matter.

    Raises:
        InvalidOptionError: a bad value, or options that contradict each other.
    """
    given = GivenOptions.of(options)
    names_type = any(BY_NAME.get(name.lower()) in _QUERY_TYPES for name in options)
    is_range = given.query_type is QueryType.INCREMENTAL or (
        not names_type
        and (given[INCREMENTAL_FORMAT] is IncrementalFormat.CDC or RANGE_MERGE in given)
    )
    if not is_range or BEGIN in given:
        return dict(options)
    query_type = {} if names_type else {QUERY_TYPE.name: QueryType.INCREMENTAL.value}
    return {**options, **query_type, BEGIN.name: LAST_OFFSET}


def range_options(options: Mapping[str, str], begin: str, end: str) -> dict[str, str]:
    """Return the options of the incremental query that gives one batch of a stream."""
    kept = {name.lower(): value for name, value in options.items() if not _is_replaced(name)}
    query_type = QueryType.INCREMENTAL.value
    return {**kept, QUERY_TYPE.name: query_type, BEGIN.name: begin, END.name: end}


def _is_replaced(name: str) -> bool:
    """Return whether an option of a stream does not belong to the query of one of its batches."""
    option = BY_NAME.get(name.lower())
    return option is not None and (option in _QUERY_TYPES or option.stream is StreamUse.ONLY)


def commit_offsets(view: TableView) -> dict[str, str]:
    """Map the offset of each completed commit to its requested time, ascending.

    Offsets are completion times from table version 8 on and requested times before. With requested
    times, a commit that is still pending holds back those after it, which would be passed over.
    """
    if view.config.has_completion_times:
        pairs = [(c.completion_time or c.requested_time, c.requested_time) for c in view.commits]
        return dict(sorted(pairs))
    pending = view.history.first_incomplete_commit()
    times = [c.requested_time for c in view.commits]
    return {t: t for t in times if pending is None or t < pending.requested_time}


def initial_offset(view: TableView, options: StreamOptions) -> str:
    """Return where a new stream begins; its first batch has the commits after it."""
    if options.start == "earliest":
        return FIRST_OFFSET
    if options.start == "latest":
        return max(commit_offsets(view), default=FIRST_OFFSET)
    return options.start


def first_offset(options: StreamOptions) -> str:
    """Return an offset that no offset of the stream precedes, whenever it started."""
    return FIRST_OFFSET if options.start in ("earliest", "latest") else options.start


def next_offset(
    view: TableView, start: str, options: StreamOptions, *, until: str, limited: bool
) -> str:
    """Return the end of the batch after an offset; the offset itself if nothing is new.

    Args:
        view: the table.
        start: offset, exclusive.
        options: how many commits and bytes a batch may have.
        until: offset that the stream ends at (Trigger.AvailableNow); "" for none.
        limited: whether the limits of the options count.

    Raises:
        CorruptTimelineError: commit metadata, needed for a limit in bytes, cannot be read.
    """
    offsets = commit_offsets(view)
    ahead = [o for o in offsets if start < o and (not until or o <= until)]
    if not ahead:
        return start
    if not limited:
        return ahead[-1]
    if options.max_commits:
        ahead = ahead[: options.max_commits]
    return _within_bytes(view, ahead, offsets, options.max_bytes)


def _within_bytes(
    view: TableView, ahead: list[str], offsets: Mapping[str, str], max_bytes: int
) -> str:
    """Return the last offset up to which commits wrote no more bytes; at least the first."""
    if not max_bytes:
        return ahead[-1]
    end, total = ahead[0], 0
    for offset in ahead:
        stats = view.commit_metadata[offsets[offset]].write_stats.values()
        total += sum(stat.file_size for group in stats for stat in group)
        if total > max_bytes:
            break
        end = offset
    return end
