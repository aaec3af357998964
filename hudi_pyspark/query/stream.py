"""Offsets of a stream: instants, and how far the next batch may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.query.instants import parse_range_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.table.view import TableView

OFFSET_KEY = "offsetCommitTime"
# Apache Hudi's own constant: before every commit, also those of a bootstrap.
FIRST_OFFSET = "00000000000000"
# After every commit: a range of nothing, for what does not depend on commits.
LAST_OFFSET = "99999999999999999"
_QUERY_TYPES = (
    "hoodie.datasource.query.type",
    "query_type",
    "hoodie.datasource.view.type",
)
_FORMATS = ("hoodie.datasource.query.incremental.format", "incremental_format")
_BEGINS = ("hoodie.datasource.read.begin.instanttime", "begin")
_ENDS = ("hoodie.datasource.read.end.instanttime", "end")
_USE_END_SCHEMA = ("hoodie.datasource.read.schema.use.end.instanttime", "use_end_schema")
# A stream has one schema for all batches, and its offsets are those of the table's own version.
_REFUSED = (
    "as.of.instant",
    "as_of",
    *_BEGINS,
    *_ENDS,
    *_USE_END_SCHEMA,
    "hoodie.datasource.read.incr.table.version",
)
_STREAM_ONLY = (
    "hoodie.datasource.streaming.startoffset",
    "start_offset",
    "maxcommitspertrigger",
    "maxbytespertrigger",
)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options that only streams have."""

    start: str  # earliest, latest, or digits
    max_commits: int  # 0 for no limit
    max_bytes: int  # 0 for no limit

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> StreamOptions:
        """Options by name in any case.

        Raises:
            InvalidOptionError: a bad value, or an option that a stream cannot have.
        """
        given = {name.lower(): str(value) for name, value in options.items()}
        refused = [name for name in _REFUSED if name in given]
        if refused:
            raise InvalidOptionError(
                f"{refused[0]} has no meaning for a stream; it starts at start_offset and goes on"
            )
        optimized = [n for n in _QUERY_TYPES if given.get(n, "").lower() == "read_optimized"]
        if optimized:
            raise InvalidOptionError(
                f"{optimized[0]} is read_optimized; a stream reads all changes"
            )
        start = given.get("hoodie.datasource.streaming.startoffset", given.get("start_offset", ""))
        return cls(
            start=_start(start or "earliest"),
            max_commits=_limit(given, "maxcommitspertrigger"),
            max_bytes=_limit(given, "maxbytespertrigger"),
        )


def schema_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options that give a stream's columns as a batch: a range needs its begin there.

    It holds nothing, so that commits that are archived or pending do not matter.
    """
    given = {name.lower(): str(value) for name, value in options.items()}
    is_cdc = given.get("cdc", "").lower() == "true"
    is_cdc |= any(given.get(name, "").lower() == "cdc" for name in _FORMATS)
    is_range = any(given.get(name, "").lower() == "incremental" for name in _QUERY_TYPES)
    is_range |= "range_merge" in given
    has_begin = any(name in given for name in _BEGINS)
    if (is_cdc or is_range) and not has_begin:
        given.setdefault(_QUERY_TYPES[0], "incremental")
        given[_BEGINS[0]] = LAST_OFFSET
    return given


def range_options(options: Mapping[str, str], begin: str, end: str) -> dict[str, str]:
    """Options of the incremental query that gives one batch of a stream."""
    given = {name.lower(): str(value) for name, value in options.items()}
    for name in (*_STREAM_ONLY, *_QUERY_TYPES):
        given.pop(name, None)
    return {**given, _QUERY_TYPES[0]: "incremental", _BEGINS[0]: begin, _ENDS[0]: end}


def commit_offsets(view: TableView) -> dict[str, str]:
    """Offset of each completed commit to its requested time, ascending.

    Offsets are completion times from table version 8 on and requested times before. There a commit
    that is still pending may complete later than its successors, so none behind it is told yet.
    """
    if view.config.has_completion_times:
        pairs = [(c.completion_time or c.requested_time, c.requested_time) for c in view.commits]
        return dict(sorted(pairs))
    pending = view.history.first_incomplete_commit()
    times = [c.requested_time for c in view.commits]
    return {t: t for t in times if pending is None or t < pending.requested_time}


def initial_offset(view: TableView, options: StreamOptions) -> str:
    """Where a new stream begins; its first batch holds what comes after."""
    if options.start == "earliest":
        return FIRST_OFFSET
    if options.start == "latest":
        return max(commit_offsets(view), default=FIRST_OFFSET)
    return options.start


def first_offset(options: StreamOptions) -> str:
    """An offset that no offset of the stream lies before, whenever it started."""
    return FIRST_OFFSET if options.start in ("earliest", "latest") else options.start


def next_offset(
    view: TableView, start: str, options: StreamOptions, *, until: str, limited: bool
) -> str:
    """The end of the batch that begins after an offset; the offset itself if there is nothing.

    Args:
        view: the table.
        start: offset, exclusive.
        options: tell how many commits and bytes a batch may have.
        until: offset that the stream ends at (Trigger.AvailableNow); "" for none.
        limited: whether the limits of the options count.
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
    """The last offset up to which commits wrote no more bytes; at least the first."""
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


def _start(text: str) -> str:
    if text.lower() in ("earliest", "latest"):
        return text.lower()
    return parse_range_instant(text)


def _limit(given: Mapping[str, str], name: str) -> int:
    text = given.get(name, "0")
    if not (text.isascii() and text.isdigit()) or (name in given and int(text) < 1):
        raise InvalidOptionError(f"{name} is {text!r}; give a whole number from 1 on")
    return int(text)
