"""Offsets of a stream: instants, and how far the next batch may go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudi_pyspark.options.option import QueryType, options_of
from hudi_pyspark.options.read_options import BY_NAME, GivenOptions, StreamOptions, key_of

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

OFFSET_KEY = "offsetCommitTime"
# Apache Hudi's own constant: before every commit, also those of a bootstrap.
FIRST_OFFSET = "00000000000000"
# After every commit: an empty range, for questions whose answer does not depend on commits.
LAST_OFFSET = "99999999999999999"
# Options that the query of one batch sets itself, or does not have.
_REPLACED = {key_of("query_type"), *(o.key for o in options_of(StreamOptions).values())}


def schema_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that give a stream's columns as a batch, where a range needs its begin.

    The range is empty, so that commits that are archived or pending do not matter.
    """
    given = GivenOptions.of(options)
    names_type = given.has("query_type")
    is_range = given.value("query_type") is QueryType.INCREMENTAL or (
        not names_type and given.has("range_merge")
    )
    if not is_range or given.has("begin"):
        return dict(options)
    query_type = {} if names_type else {key_of("query_type"): QueryType.INCREMENTAL.value}
    return {**options, **query_type, key_of("begin"): LAST_OFFSET}


def range_options(options: Mapping[str, str], begin: str, end: str) -> dict[str, str]:
    """Return the options of the incremental query that gives one batch of a stream."""
    known = {name: BY_NAME.get(name.lower()) for name in options}
    replaced = {name for name, option in known.items() if option and option.key in _REPLACED}
    kept = {name.lower(): value for name, value in options.items() if name not in replaced}
    query_type = QueryType.INCREMENTAL.value
    return {**kept, key_of("query_type"): query_type, key_of("begin"): begin, key_of("end"): end}


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
    """Return the offset at which a new stream begins; its first batch has the commits after it.

    Offsets are those of `commit_offsets`. ``latest`` is the last commit now, so the first batch of
    such a stream is empty.
    """
    if options.start_offset == "earliest":
        return FIRST_OFFSET
    if options.start_offset == "latest":
        return max(commit_offsets(view), default=FIRST_OFFSET)
    return options.start_offset


def first_offset(options: StreamOptions) -> str:
    """Return an offset that no offset of the stream precedes, whenever it started."""
    return FIRST_OFFSET if options.start_offset in ("earliest", "latest") else options.start_offset


def next_offset(
    view: TableView, start: str, options: StreamOptions, *, until: str, limited: bool
) -> str:
    """Return the end of the batch after ``start``, at most ``until``; else ``start``."""
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
        metadata = view.commit_metadata[offsets[offset]]
        total += sum(stat.file_size for _, stat in metadata.all_stats())
        if total > max_bytes:
            break
        end = offset
    return end
