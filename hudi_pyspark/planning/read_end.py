"""Where a read ended: the begin with which the next incremental query goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudi_pyspark.planning.stream_offsets import FIRST_OFFSET
from hudi_pyspark.table.timeline import compared_times

if TYPE_CHECKING:
    from hudi_pyspark.planning.commit_range import AskedRange
    from hudi_pyspark.table.view import TableView


def end_of_state(view: TableView, as_of: str | None) -> str:
    """Return the end of a read of a whole state: of the latest one, or as of a requested time.

    It is the last time that incremental queries compare before which the state lacks no commit.
    Before table version 8, that is before the first pending commit, so the next query may return
    rows of commits that the state has already, but misses none.
    """
    by_completion = view.config.has_completion_times
    times = compared_times(view.commits, by_completion=by_completion)
    lacking = [at for time, at in times.items() if as_of is not None and time > as_of]
    return _last_before(view, times, lacking, by_completion=by_completion)


def end_of_range(asked: AskedRange, begin: str, end: str) -> str:
    """Return the end of a read of a commit range: its last commit, or its begin if it has none.

    Args:
        asked: the range that the query asks for.
        begin: exclusive; the end is never before it.
        end: inclusive; "" for the latest commit. A later commit may still complete before an end
            that lies behind the last one, which the next query must not miss.
    """
    beyond = [at for at in asked.times.values() if end and at > end]
    last = _last_before(asked.view, asked.times, beyond, by_completion=asked.by_completion)
    return max(begin, last)


def _last_before(
    view: TableView, times: Mapping[str, str], lacking: list[str], *, by_completion: bool
) -> str:
    """Return the last time of commits before those that are lacking or, if these count, pending."""
    pending = None if by_completion else view.history.first_incomplete_commit()
    limits = [*lacking, *([pending.requested_time] if pending is not None else [])]
    limit = min(limits, default=None)
    known = [at for at in times.values() if limit is None or at < limit]
    return max(known, default=FIRST_OFFSET)
