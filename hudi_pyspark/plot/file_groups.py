"""The picture of file groups: how much of each is not yet compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from hudi_pyspark.description import byte_text, counted
from hudi_pyspark.plot.picture import BLUE, GREY, ORANGE, WIDTH, Picture, picture

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 500  # bars that can still be distinguished
_NAMED = 60  # bars that have room for a name
_TALLEST = 750  # pixels, of bars without names
# Numbers as d3 prints them (12k, 1.5M, 2G), in the units of bytes.
_AXIS_BYTES = "format(abs(datum.value), '~s') + 'B'"
_PARTS = {"log files": ORANGE, "base file": BLUE, "older slices": GREY}


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
    return picture(title, _facts(slices, older), values, _drawing(values))


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
    for letters in (8, 13, 18):
        names = [_name(partition, file_id[:letters]) for partition, file_id in keys]
        if len(set(names)) == len(names):
            return names
    return [_name(*key) for key in keys]


def _name(partition_path: str, file_id: str) -> str:
    return f"{partition_path}/{file_id}" if partition_path else file_id


def _facts(slices: pa.Table, older: dict[tuple[str, str], int]) -> list[str]:
    if not slices.num_rows:
        return ["no file group yet"]
    base = pc.sum(slices["base_bytes"]).as_py() or 0
    logs = pc.sum(slices["log_bytes"]).as_py()
    merged = pc.sum(pc.greater(slices["log_count"], 0)).as_py()
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


def _drawing(values: list[dict[str, Any]]) -> dict[str, Any]:
    count = len({value["group"] for value in values})
    is_named = count <= _NAMED
    drawn = {value["part"] for value in values}
    parts = {part: color for part, color in _PARTS.items() if part in drawn}
    names: dict[str, Any] = {"title": None, "ticks": False, "domain": False, "labelLimit": 330}
    if not is_named:
        names = {
            "title": "file groups, most log bytes first",
            "labels": False,
            "ticks": False,
            "domain": False,
        }
    return {
        "width": WIDTH,
        "height": {"step": 18 if is_named else max(1.5, _TALLEST / count)},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {
                "field": "group",
                "type": "nominal",
                "sort": {"field": "rank", "op": "min"},
                "axis": names,
                "scale": {"paddingInner": 0.25 if is_named else 0, "paddingOuter": 0.1},
            },
            "x": {
                "field": "bytes",
                "type": "quantitative",
                "stack": "zero",
                "axis": {
                    "title": "log files to the left, base files to the right",
                    "labelExpr": _AXIS_BYTES,
                    "tickCount": 8,
                },
            },
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": list(parts), "range": list(parts.values())},
            },
            "order": {"field": "order"},
            "tooltip": [
                {"field": name}
                for name in ("partition", "file_id", "base_instant", "part", "size", "log_files")
            ],
        },
    }
