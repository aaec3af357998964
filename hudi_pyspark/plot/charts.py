"""The pictures of the timeline, and of file groups: how much of each is not yet compacted."""

from __future__ import annotations

import math
from datetime import timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.description import byte_text, counted
from hudi_pyspark.format.timeline.instant import moment_of
from hudi_pyspark.inspection.statistics import slice_figures
from hudi_pyspark.plot.picture import BLUE, GREY, ORANGE, RED, Picture, picture

_CROWD = 80  # more instants than this get thin marks
# A table service completes with the action of a write, but has another operation.
_LANES_BY_OPERATION = {
    "COMPACT": "compaction",
    "LOG_COMPACT": "log compaction",
    "CLUSTER": "clustering",
}
_LANES_BY_ACTION = {"logcompaction": "log compaction"}
_STATES = {"completed": BLUE, "archived": GREY, "inflight": ORANGE, "requested": RED}
_MOST = 500  # bars that can still be distinguished
_NAMED = 60  # bars that have room for a name
_TALLEST = 750  # pixels, of bars without names
_PARTS = {"log files": ORANGE, "base file": BLUE, "older slices": GREY}


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
    marks = []
    for row in instants.to_pylist():
        requested, completed, action = row["requested_time"], row["completion_time"], row["action"]
        start, end = _epoch_ms(requested), _epoch_ms(completed)
        if start is None:
            continue
        commit = commit_rows.get(requested, {})
        operation = commit.get("operation") or ""
        mark = {
            "start": start,
            "end": end if end is not None else start,
            # A log scale has no zero; Hudi's clock ticks in milliseconds.
            "seconds": max(end - start, 1) / 1000 if end is not None else None,
            "lane": _LANES_BY_OPERATION.get(operation, _LANES_BY_ACTION.get(action, action)),
            "state": "archived" if row["archived"] else row["state"],
            "instant": requested,
            "time": f"{moment_of(requested):%Y-%m-%d %H:%M:%S}",
            "completed": completed or "",
            "action": action,
            "operation": operation,
            "written_bytes": commit.get("written_bytes"),
        }
        marks.append(mark)
    return marks


def _epoch_ms(instant: str | None) -> int | None:
    """Return an instant as milliseconds, as if it were UTC: the zone is unknown and not shown."""
    moment = moment_of(instant)
    if moment is None:
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


def file_groups_picture(title: str, slices: pa.Table, files: pa.Table) -> Picture:
    """Return a picture with a bar per file group: log files to the left, base file to the right.

    Groups with the most bytes in log files come first: compaction has to merge these bytes, and
    every read merges them until then. The bytes of older slices follow the base file.
    """
    older = older_bytes(files)
    shown = largest_groups(slices, _MOST)
    names = _short_names([(g["partition_path"], g["file_id"]) for g in shown])
    values = [
        value
        for rank, (name, group) in enumerate(zip(names, shown, strict=True))
        for value in _bars(name, group, older, rank=rank)
    ]
    is_named = len(shown) <= _NAMED
    axis: dict[str, object] = {"title": None, "labelLimit": 330}
    if not is_named:
        axis = {"title": "file groups, most log bytes first", "labels": False}
    parts = [part for part in _PARTS if any(value["part"] == part for value in values)]
    return picture(
        "file_groups",
        title,
        _group_facts(slices, older),
        values,
        axis={"ticks": False, "domain": False, **axis},
        step=18 if is_named else max(1.5, _TALLEST / len(shown)),
        padding=0.25 if is_named else 0,
        parts=parts,
        colors=[_PARTS[part] for part in parts],
    )


def largest_groups(slices: pa.Table, most: int) -> list[dict[str, Any]]:
    """Return the slices with the most bytes in log files, and then in base files."""
    order = [("log_bytes", "descending"), ("base_bytes", "descending")]
    names = [("partition_path", "ascending"), ("file_id", "ascending")]
    places = pc.sort_indices(slices, sort_keys=[*order, *names])[:most]
    shown: list[dict[str, Any]] = slices.take(places).to_pylist()
    return shown


def older_bytes(files: pa.Table) -> dict[tuple[str, str], int]:
    """Map (partition path, file id) to the bytes of base and log files of older slices."""
    is_older = pc.invert(pc.or_(files["in_latest_slice"], pc.equal(files["kind"], "cdc")))
    keys = ["partition_path", "file_id"]
    grouped = files.filter(is_older).group_by(keys).aggregate([("bytes", "sum")]).to_pylist()
    return {(row["partition_path"], row["file_id"]): row["bytes_sum"] for row in grouped}


def _bars(
    name: str, group: dict[str, Any], older: dict[tuple[str, str], int], *, rank: int
) -> list[dict[str, Any]]:
    key = group["partition_path"], group["file_id"]
    sizes = (group["log_bytes"], group["base_bytes"] or 0, older.get(key, 0))
    return [
        {
            "rank": rank,
            "group": name,
            "part": part,
            "order": order,
            "bytes": -size if part == "log files" else size,
            "size": byte_text(size),
            "partition": group["partition_path"],
            "file_id": group["file_id"],
            "base_instant": group["base_instant_time"],
            "log_files": group["log_count"],
        }
        for order, (part, size) in enumerate(zip(_PARTS, sizes, strict=True))
        if size
    ]


def _short_names(keys: list[tuple[str, str]]) -> list[str]:
    """Return partition and first letters of each file id, enough letters to make them unique."""
    names: list[str] = []
    for letters in (8, 13, 18, None):
        names = [f"{partition}/{file_id[:letters]}".lstrip("/") for partition, file_id in keys]
        if len(set(names)) == len(names):
            break
    return names


def _group_facts(slices: pa.Table, older: dict[tuple[str, str], int]) -> list[str]:
    if not slices.num_rows:
        return ["no file group yet"]
    figures = slice_figures(slices)
    base, logs, merged = (figures[n] for n in ("base_bytes", "log_bytes", "slices_with_logs"))
    share = f" ({logs / base:.1%} of base)" if base else ""
    summary = (
        f"{counted(slices.num_rows, 'file group')}: {byte_text(base)} in base files, "
        f"{byte_text(logs)} in log files of {counted(merged, 'group')}{share}"
    )
    facts = [summary]
    if older:
        facts.append(f"{byte_text(sum(older.values()))} in files that no latest slice has")
    if slices.num_rows > _MOST:
        facts.append(f"shown: the {_MOST} with the most bytes in log files")
    return facts
