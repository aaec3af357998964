"""The picture of the timeline: the instants and their durations."""

from __future__ import annotations

import math
from datetime import timezone
from typing import TYPE_CHECKING, Any

from hudi_pyspark.description import counted
from hudi_pyspark.errors import InvalidInstantError
from hudi_pyspark.format.timeline.instant import instant_to_datetime
from hudi_pyspark.plot.picture import BLUE, GREY, ORANGE, RED, WIDTH, Picture, picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_LANE_HEIGHT = 26
_DURATIONS_HEIGHT = 130
_X_TITLE = "requested at (clock of the writer)"
_CROWD = 80  # more instants than this get thin marks
# A table service completes with the action of a write, but has another operation.
_LANES_BY_OPERATION = {
    "COMPACT": "compaction",
    "LOG_COMPACT": "log compaction",
    "CLUSTER": "clustering",
}
_LANES_BY_ACTION = {"logcompaction": "log compaction"}
# Hours by the 24-hour clock, and the date at the beginning of a day.
_CLOCK = {
    "year": "%Y",
    "quarter": "%b %Y",
    "month": "%b %Y",
    "week": "%b %d",
    "date": "%b %d",
    "day": "%b %d",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
    "milliseconds": "%H:%M:%S.%L",
}
_STATES = {"completed": BLUE, "archived": GREY, "inflight": ORANGE, "requested": RED}


def timeline_picture(title: str, instants: pa.Table, commits: pa.Table) -> Picture:
    """Return a picture of instants along time, a lane per action, and of their durations."""
    marks = timeline_marks(instants, commits)
    timed = {mark["instant"] for mark in marks}
    clockless = [time for time in instants["requested_time"].to_pylist() if time not in timed]
    has_durations = any(mark["seconds"] is not None for mark in marks)
    panels = [_lanes(marks, None if has_durations else _X_TITLE)]
    if has_durations:
        panels.append(_durations(marks))
    # Both panels have one time axis.
    drawing = {"vconcat": panels, "spacing": 14, "resolve": {"scale": {"x": "shared"}}}
    return picture(title, _facts(marks, clockless), marks, drawing)


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


def _x(title: str | None) -> dict[str, Any]:
    return {
        "field": "start",
        "type": "temporal",
        "scale": {"type": "utc", "padding": 12},
        "axis": {"title": title, "format": _CLOCK, "tickCount": 6},
    }


def _state(marks: list[dict[str, Any]]) -> dict[str, Any]:
    drawn = {mark["state"] for mark in marks}
    domain = [state for state in _STATES if state in drawn]
    return {
        "field": "state",
        "type": "nominal",
        "scale": {"domain": domain, "range": [_STATES[state] for state in domain]},
        "legend": {"symbolType": "square", "symbolOpacity": 1},
    }


def _tooltip() -> list[dict[str, str]]:
    shown = ("instant", "completed", "action", "operation", "state", "seconds", "written_bytes")
    return [{"field": name} for name in shown]


def _lanes(marks: list[dict[str, Any]], x_title: str | None) -> dict[str, Any]:
    is_crowd = len(marks) > _CROWD
    y = {
        "field": "lane",
        "type": "nominal",
        "sort": list(dict.fromkeys(mark["lane"] for mark in marks)),
        "axis": {
            "title": None,
            "grid": True,
            "ticks": False,
            "domain": False,
            "labelFontSize": 12,
            "labelPadding": 8,
        },
    }
    encoding = {"x": _x(x_title), "y": y, "color": _state(marks), "tooltip": _tooltip()}
    tick = {
        "type": "tick",
        "thickness": 1.5 if is_crowd else 4,
        "height": 16,
        "opacity": 0.6 if is_crowd else 1,
    }
    return {
        "width": WIDTH,
        "height": {"step": _LANE_HEIGHT},
        "layer": [
            {
                "mark": {"type": "bar", "height": 8, "opacity": 0.35},
                "encoding": {**encoding, "x2": {"field": "end"}},
            },
            {"mark": tick, "encoding": encoding},
        ],
    }


def _durations(marks: list[dict[str, Any]]) -> dict[str, Any]:
    ticks = _log_ticks([mark["seconds"] for mark in marks if mark["seconds"] is not None])
    is_crowd = len(marks) > _CROWD
    return {
        "width": WIDTH,
        "height": _DURATIONS_HEIGHT,
        "transform": [{"filter": "isValid(datum.seconds)"}],
        "mark": {
            "type": "point",
            "filled": True,
            "size": 16 if is_crowd else 60,
            "opacity": 0.7 if is_crowd else 1,
        },
        "encoding": {
            "x": _x(_X_TITLE),
            "y": {
                "field": "seconds",
                "type": "quantitative",
                "scale": {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False},
                "axis": {"title": "duration, seconds", "values": ticks, "format": "~g"},
            },
            "color": _state(marks),
            "tooltip": _tooltip(),
        },
    }


def _log_ticks(values: list[float]) -> list[float]:
    """Return ticks around positive values: powers of ten, and more between them if few."""
    least, most = min(values), max(values)
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(low - 1, high + 2) for step in steps]
    below, above = max(t for t in ticks if t < least), min(t for t in ticks if t > most)
    return [tick for tick in ticks if below <= tick <= above]
