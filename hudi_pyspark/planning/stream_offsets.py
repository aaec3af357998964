"""Offsets of a stream: where it begins, and how far each batch goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_pyspark.format.timeline.instant import (
    FIRST_OFFSET,
    LAST_OFFSET,
    ComparedTime,
    RequestedTime,
)
from hudi_pyspark.options.option import QueryType, options_of
from hudi_pyspark.options.read_options import (
    BY_NAME,
    GivenOptions,
    ReadOptions,
    StreamOptions,
    key_of,
)

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

OFFSET_KEY = "offsetCommitTime"
# Options that the query of a batch sets itself, or does not have.
_REPLACED_KEYS = {key_of("query_type"), *(o.key for o in options_of(StreamOptions).values())}
_REPLACED_NAMES = {name for name, option in BY_NAME.items() if option.key in _REPLACED_KEYS}


def schema_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a batch query that has the columns of a stream.

    A stream's options name no begin. If they ask for an incremental query, this adds the begin of
    an empty range, so archived and pending commits do not matter.

    Raises:
        InvalidOptionError: two names of one option have different values.
    """
    parsed = GivenOptions.of(options)
    names_type = parsed.has("query_type")
    is_range = parsed.value("query_type") is QueryType.INCREMENTAL or (
        not names_type and parsed.has("range_merge")
    )
    if not is_range or parsed.has("begin"):
        return dict(options)
    query_type = {} if names_type else {key_of("query_type"): QueryType.INCREMENTAL.value}
    return {**options, **query_type, key_of("begin"): LAST_OFFSET}


def batch_options(options: Mapping[str, str], begin: str, end: str) -> ReadOptions:
    """Return the parsed options of one batch of a stream; the arguments are as for `range_options`.

    Raises:
        InvalidOptionError, UnsupportedQueryError: as from `ReadOptions.parse`.
    """
    parsed = ReadOptions.parse(range_options(options, begin, end))
    assert parsed.incremental is not None  # range_options asks for it
    return replace(parsed, incremental=replace(parsed.incremental, by_offset=True))


def range_options(options: Mapping[str, str], begin: str, end: str) -> dict[str, str]:
    """Return the options of the incremental query that reads one batch of a stream.

    Args:
        options: of the stream.
        begin: offset, exclusive.
        end: offset, inclusive.
    """
    batch = {"query_type": QueryType.INCREMENTAL.value, "begin": begin, "end": end}
    lower = {name.lower(): value for name, value in options.items()}
    kept_options = {name: value for name, value in lower.items() if name not in _REPLACED_NAMES}
    return {**kept_options, **{key_of(name): value for name, value in batch.items()}}


def commit_offsets(view: TableView) -> dict[ComparedTime, RequestedTime]:
    """Map the offset of each completed commit to its requested time, in ascending order.

    Offsets are completion times from table version 8 on and requested times before. With requested
    times, a pending commit holds back all later commits: once a stream had passed it, its rows
    would be missed.
    """
    if view.config.has_completion_times:
        pairs = [
            (c.completion_time or c.requested_time, c.requested_time) for c in view.history.commits
        ]
        return dict(sorted(pairs))
    pending = view.history.first_incomplete_commit()
    times = [c.requested_time for c in view.history.commits]
    return {t: t for t in times if pending is None or t < pending.requested_time}


def initial_offset(view: TableView, options: StreamOptions) -> str:
    """Return the offset at which a new stream begins; its first batch has the commits after it.

    With ``latest``, that is the last commit now, so the first batch is empty.
    """
    if options.start_offset == "earliest":
        return FIRST_OFFSET
    if options.start_offset == "latest":
        return max(commit_offsets(view), default=FIRST_OFFSET)
    return options.start_offset


def first_offset(options: StreamOptions) -> str:
    """Return an offset before all offsets of a stream, whenever the stream was started."""
    return FIRST_OFFSET if options.start_offset in ("earliest", "latest") else options.start_offset


def next_offset(
    view: TableView, start: str, options: StreamOptions, *, until: str, limited: bool
) -> str:
    """Return the offset at which the next batch ends; ``start`` if no commit follows.

    Args:
        view: the table.
        start: offset, exclusive.
        options: of the stream, with its limits of commits and bytes per batch.
        until: the last offset that may be returned; "" for no limit.
        limited: whether the limits of the options apply.
    """
    offsets = commit_offsets(view)
    ahead = [o for o in offsets if start < o and (not until or o <= until)]
    if not ahead:
        return start
    if not limited:
        return ahead[-1]
    if options.max_commits:
        ahead = ahead[: options.max_commits]
    if not options.max_bytes:
        return ahead[-1]
    end = ahead[0]  # a batch has at least one commit
    batch_bytes = 0
    for offset in ahead:
        metadata = view.history.metadata(offsets[offset])
        batch_bytes += sum(stat.file_size for _, stat in metadata.all_stats())
        if batch_bytes > options.max_bytes:
            break
        end = offset
    return end
