"""The picture of the timeline: the instants and their durations."""

from __future__ import annotations

import math
from datetime import timezone
from typing import TYPE_CHECKING, Any

from hudi_pyspark.description import counted
from hudi_pyspark.errors import InvalidInstantError
from hudi_pyspark.format.timeline.instant import instant_to_datetime
from hudi_pyspark.plot.picture import BLUE, GREY, ORANGE, RED, Picture, picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_CROWD = 80  # more instants than this get thin marks
# A table service completes with the action of a write, but has another operation.
_LANES_BY_OPERATION = {
    "COMPACT": "compaction",
    "LOG_COMPACT": "log compaction",
    "CLUSTER": "clustering",
}
_LANES_BY_ACTION = {"logcompaction": "log compaction"}
_STATES = {"completed": BLUE, "archived": GREY, "inflight": ORANGE, "requested": RED}


def timeline_picture(title: str, instants: pa.Table, commits: pa.Table) -> Picture:
    """Return a picture of instants along time, a lane per action, and of their durations."""
    marks = timeline_marks(instants, commits)
    timed = {mark["instant"] for mark in marks}
    clockless = [time for time in instants["requested_time"].to_pylist() if time not in timed]
    seconds = [mark["seconds"] for mark in marks if mark["seconds"] is not None]
    ticks = _log_ticks(seconds) if seconds else []
    states = [state for state in _STATES if any(mark["state"] == state for mark in marks)]
    is_crowd = len(marks) > _CROWD
    drawn = picture(
        "timeline",
        title,
        _facts(marks, clockless),
        marks,
        lanes=list(dict.fromkeys(mark["lane"] for mark in marks)),
        states=states,
        colors=[_STATES[state] for state in states],
        # Both panels have one time axis.
        time_title=None if ticks else "requested at (clock of the writer)",
        thickness=1.5 if is_crowd else 4,
        tick_opacity=0.6 if is_crowd else 1,
        point_size=16 if is_crowd else 60,
        point_opacity=0.7 if is_crowd else 1,
        duration_ticks=ticks,
        duration_range=[*ticks[:1], *ticks[-1:]],
    )
    if marks and not ticks:
        drawn.spec["vconcat"].pop()
    return drawn


def timeline_marks(instants: pa.Table, commits: pa.Table) -> list[dict[str, Any]]:
    """Return start and end (milliseconds), lane and state of each instant that is a time."""
    commit_rows = {row["requested_time"]: row for row in commits.to_pylist()}
    rows = [(_epoch_ms(row["requested_time"]), row) for row in instants.to_pylist()]
    return [
        _mark(start, row, commit_rows.get(row["requested_time"], {}))
        for start, row in rows
        if start is not None
    ]


def _mark(start: int, row: Mapping[str, Any], commit: Mapping[str, Any]) -> dict[str, Any]:
    requested, completed = row["requested_time"], row["completion_time"]
    end = _epoch_ms(completed) if completed else None
    action = row["action"]
    operation = commit.get("operation")
    lane = _LANES_BY_OPERATION.get(operation or "", _LANES_BY_ACTION.get(action, action))
    return {
        "start": start,
        "end": end if end is not None else start,
        # A log scale has no zero; Hudi's clock ticks in milliseconds.
        "seconds": max(end - start, 1) / 1000 if end is not None else None,
        "lane": lane,
        "state": "archived" if row["archived"] else row["state"],
        "instant": requested,
        "time": f"{instant_to_datetime(requested):%Y-%m-%d %H:%M:%S}",
        "completed": completed or "",
        "action": action,
        "operation": operation or "",
        "written_bytes": commit.get("written_bytes"),
    }


def _epoch_ms(instant: str) -> int | None:
    """Return an instant as milliseconds, as if it were UTC: the zone is unknown and not shown.

    None for an instant that is not a time, e.g. that of a bootstrap.
    """
    try:
        moment = instant_to_datetime(instant)
    except InvalidInstantError:
        return None
    return round(moment.replace(tzinfo=timezone.utc).timestamp() * 1000)


def _facts(marks: list[dict[str, Any]], clockless: list[str]) -> list[str]:
    if not marks and not clockless:
        return ["no instant yet"]
    counts = {state: sum(m["state"] == state for m in marks) for state in _STATES}
    states = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
    facts = []
    if marks:
        facts.append(f"{counted(len(marks), 'instant')}: {states}")
        facts.append(f"from {marks[0]['time']} to {marks[-1]['time']}")
    timed = [m for m in marks if m["seconds"] is not None]
    if timed:
        slowest = max(timed, key=lambda m: m["seconds"])
        facts.append(
            f"the longest took {slowest['seconds']:,.1f} s: {slowest['lane']} {slowest['instant']}"
        )
    elif marks:
        facts.append("durations are unknown: the timeline has no completion times")
    if clockless:
        facts.append(f"not shown, since they are not times: {', '.join(clockless)}")
    return facts


def _log_ticks(values: list[float]) -> list[float]:
    """Return ticks around positive values: powers of ten, and more between them if few."""
    least, most = min(values), max(values)
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(low - 1, high + 2) for step in steps]
    below, above = max(t for t in ticks if t < least), min(t for t in ticks if t > most)
    return [tick for tick in ticks if below <= tick <= above]
