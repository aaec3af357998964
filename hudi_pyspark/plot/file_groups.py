"""The picture of file groups: how much of each is not yet compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from hudi_pyspark.description import byte_text, counted
from hudi_pyspark.plot.picture import BLUE, GREY, ORANGE, Picture, picture

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 500  # bars that can still be distinguished
_NAMED = 60  # bars that have room for a name
_TALLEST = 750  # pixels, of bars without names
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
    is_named = len(shown) <= _NAMED
    axis: dict[str, object] = {"title": None, "labelLimit": 330}
    if not is_named:
        axis = {"title": "file groups, most log bytes first", "labels": False}
    parts = [part for part in _PARTS if any(value["part"] == part for value in values)]
    return picture(
        "file_groups",
        title,
        _facts(slices, older),
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
