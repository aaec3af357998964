"""What happened to a table: its timeline, its growth, and how late its records come."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from hudi_pyspark.errors import InvalidInstantError
from hudi_pyspark.format.timeline.instant import WriteOperationType, instant_to_datetime
from hudi_pyspark.inspection.commits import counts_of, file_kind

if TYPE_CHECKING:
    from hudi_pyspark.inspection.commits import KnownCommit
    from hudi_pyspark.report.facts import Facts

_MOST_MARKS = 1_000  # instants that are drawn one by one
_MOST_COMMITS = 200  # with details
_MOST_PARTITIONS = 8  # of the details of a commit
_MOST_DAYS = 400
_LONGEST_VALUE = 200  # characters
_WRITTEN = ("records", "written_bytes")
_CHANGED = ("inserts", "updates", "deletes")
# Whole numbers that are times since 1970, from 2001 to 2100, by their unit in seconds.
_EPOCHS = {unit: (1e9 / unit, 4.1e9 / unit) for unit in (1.0, 1e-3, 1e-6)}


def timeline_section(facts: Facts) -> dict[str, Any]:
    """Return the newest instants, and the details of the newest commits."""
    newest = zip(facts.commits[-_MOST_COMMITS:], facts.known_commits[-_MOST_COMMITS:], strict=True)
    return {
        "instants": len(facts.marks),
        "marks": [{k: v for k, v in m.items() if k != "time"} for m in facts.marks[-_MOST_MARKS:]],
        "commits": [
            {
                **row,
                "extra_metadata": {k: str(v)[:_LONGEST_VALUE] for k, v in row["extra_metadata"]},
                "by_partition": _by_partition(commit),
            }
            for row, commit in newest
        ],
    }


def _by_partition(commit: KnownCommit) -> list[dict[str, Any]]:
    """Return what a commit wrote, the partitions with the most bytes first."""
    rows: list[dict[str, Any]] = [
        {"partition_path": path, "files": len(stats), **counts_of(stats)}
        for path, stats in commit.metadata.write_stats.items()
    ]
    return sorted(rows, key=lambda row: -row["written_bytes"])[:_MOST_PARTITIONS]


def growth_section(facts: Facts) -> dict[str, Any]:
    """Return by day what commits wrote; nobody changed the records of table services."""
    days: dict[str, Counter[str]] = defaultdict(Counter)
    for row in facts.commits:
        moment = _moment(row["requested_time"])
        if moment is not None:  # the instant of a bootstrap is not a time
            is_service = WriteOperationType.parse(row["operation"]).is_table_service
            names = _WRITTEN if is_service else (*_WRITTEN, *_CHANGED)
            days[moment.date().isoformat()].update({"commits": 1, **{n: row[n] for n in names}})
    all_names = ("commits", *_CHANGED, *_WRITTEN)
    rows = [{"day": day, **{n: sums[n] for n in all_names}} for day, sums in sorted(days.items())]
    return {"days": rows[-_MOST_DAYS:], "known_days": len(rows), "delays": delays(facts)}


def delays(facts: Facts) -> list[dict[str, Any]]:
    """Return how late the events of each commit came, where the ordering field is a time.

    Of each commit: newest and oldest (event, in milliseconds), delay (seconds from its newest event
    to its end), late (seconds by which its oldest event is older than the newest one before).
    """
    bounds = _event_bounds(facts)
    rows: list[dict[str, Any]] = []
    newest_before = None
    for commit in facts.commits:
        time = commit["requested_time"]
        ended = _moment(commit["completion_time"] or time)
        if time not in bounds or ended is None:
            continue
        oldest, newest = bounds[time]
        late = 0.0 if newest_before is None else max(0.0, newest_before - oldest)
        newest_before = max(newest, newest_before or newest)
        events = {"oldest": round(oldest * 1000), "newest": round(newest * 1000)}
        delay = ended.replace(tzinfo=timezone.utc).timestamp() - newest
        rows.append({"commit": time, **events, "delay": delay, "late": late})
    return rows[-_MOST_COMMITS:]


def _event_bounds(facts: Facts) -> dict[str, tuple[float, float]]:
    """Return oldest and newest event of commits, in seconds since 1970."""
    table = facts.column_statistics
    field = next(iter(facts.view.config.ordering_fields), "")
    writers = _only_writers(facts)
    bounds: dict[str, tuple[float, float]] = {}
    for row in table.filter(pc.equal(table["column"], field)).to_pylist():
        commit, low, high = writers.get(row["path"]), event_time(row["min"]), event_time(row["max"])
        if commit is not None and low is not None and high is not None:
            known = bounds.get(commit, (low, high))
            bounds[commit] = min(low, known[0]), max(high, known[1])
    return bounds


def _only_writers(facts: Facts) -> dict[str, str]:
    """Map the path of each file that has the records of one commit alone to this commit."""
    has_own_logs = facts.view.config.log_file_has_one_commit
    return {
        stat.path: commit.instant.requested_time
        for commit in facts.known_commits
        if not commit.metadata.operation_type.is_table_service
        for _, stat in commit.metadata.all_stats()
        if stat.prev_commit is None or (has_own_logs and file_kind(stat.path) == "log")
    }


def event_time(text: str | None) -> float | None:
    """Return a bound of an ordering field as seconds since 1970; None if it is not a time."""
    try:
        if text is not None and text.isdecimal():
            units = (unit for unit, (low, high) in _EPOCHS.items() if low <= int(text) < high)
            return next((int(text) * unit for unit in units), None)
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()


def _moment(instant: str) -> datetime | None:
    try:
        return instant_to_datetime(instant)
    except InvalidInstantError:
        return None
