"""Archives commits of a table, as Apache Hudi's archiver does."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.format.timeline.instant_body import read_body
from tests.format.log.log_writer import avro_content, avro_records, write_block

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NAME = re.compile(r"([0-9]{14,})(?:_([0-9]{14,}))?\.([a-z]+)(\.requested|\.inflight)?")
_STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [
        {"name": "fileId", "type": ["null", "string"]},
        {"name": "path", "type": ["null", "string"]},
        {"name": "prevCommit", "type": ["null", "string"]},
        {"name": "numWrites", "type": ["null", "long"]},
        {"name": "fileSizeInBytes", "type": ["null", "long"]},
    ],
}
_COMMIT = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [
        {
            "name": "partitionToWriteStats",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": _STAT}}],
        }
    ],
}
_ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [
        {"name": "hoodieCommitMetadata", "type": ["null", _COMMIT]},
        {"name": "commitTime", "type": ["null", "string"]},
        {"name": "actionType", "type": ["null", "string"]},
        {"name": "actionState", "type": ["null", "string"]},
    ],
}


def commit_times(files: Mapping[str, bytes], table: str = "") -> list[str]:
    """Return the requested times of completed commits, compactions among them, in order."""
    return sorted({time for _, time, _, _ in _completed(files, table)})


def archived(files: Mapping[str, bytes], kept: int, table: str = "") -> dict[str, bytes]:
    """Move all instants before the newest commits from the timeline to the archive.

    Args:
        files: of a table, by path.
        kept: number of commits that stay.
        table: path of a table within the table, with "/" at its end, such as the metadata table.
    """
    newest = commit_times(files, table)[-kept:]
    old = [instant for instant in _completed(files, table) if instant[1] not in newest]
    left = {
        path: content
        for path, content in files.items()
        if not (match := instant_of(path, table)) or match[1] in newest
    }
    if old:
        add = _add_to_history if f"{table}.hoodie/timeline" in _folders(files) else _add_log
        add(left, old, files, table)
    return left


def archive_in(folder: Path, kept: int, table: str = "") -> None:
    """Archive all instants before the newest commits of a table in a folder; see `archived`."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    left = archived(files, kept, table)
    for path in files.keys() - left.keys():
        (folder / path).unlink()
    for path in left.keys() - files.keys() | {
        p for p in left.keys() & files.keys() if left[p] != files[p]
    }:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(left[path])


def instant_of(path: str, table: str = "") -> re.Match[str] | None:
    """Match a file of the timeline: its times, its action and its state."""
    folder, _, name = path.rpartition("/")
    is_timeline = folder in (f"{table}.hoodie", f"{table}.hoodie/timeline")
    return _NAME.fullmatch(name) if is_timeline else None


def _completed(files: Mapping[str, bytes], table: str) -> list[tuple[str, str, str, str]]:
    """Return path, requested time, completion time and action of completed commits, in order."""
    return sorted(
        (path, match[1], match[2] or "", match[3])
        for path in files
        if (match := instant_of(path, table))
        and not match[4]
        and match[3] in ("commit", "deltacommit", "replacecommit")
    )


def _folders(files: Mapping[str, bytes]) -> set[str]:
    """Return the folders of timelines with completion times."""
    names = (path.rpartition("/") for path in files)
    return {folder for folder, _, name in names if (m := _NAME.fullmatch(name)) and m[2]}


def _add_to_history(
    left: dict[str, bytes],
    old: list[tuple[str, str, str, str]],
    files: Mapping[str, bytes],
    table: str,
) -> None:
    folder = f"{table}.hoodie/timeline/history"
    version = left.get(f"{folder}/_version_", b"")
    manifest = json.loads(left[f"{folder}/manifest_{version.decode()}"]) if version else {}
    columns = {
        "instantTime": pa.array([time for _, time, _, _ in old]),
        "completionTime": pa.array([completed for _, _, completed, _ in old]),
        "action": pa.array([action for _, _, _, action in old]),
        "metadata": pa.array([files[path] for path, _, _, _ in old], pa.binary()),
        "plan": pa.array([b""] * len(old), pa.binary()),
    }
    body = io.BytesIO()
    pq.write_table(pa.table(columns), body)
    name = f"{old[0][1]}_{old[-1][1]}_0.parquet"
    number = int(version or 0) + 1
    named = [*manifest.get("files", ()), {"fileName": name, "fileLen": len(body.getvalue())}]
    left[f"{folder}/{name}"] = body.getvalue()
    left[f"{folder}/manifest_{number}"] = json.dumps({"files": named}).encode()
    left[f"{folder}/_version_"] = str(number).encode()


def _add_log(
    left: dict[str, bytes],
    old: list[tuple[str, str, str, str]],
    files: Mapping[str, bytes],
    table: str,
) -> None:
    entries = [
        {
            "hoodieCommitMetadata": read_body(files[path], path=path) if files[path] else None,
            "commitTime": time,
            "actionType": action,
            "actionState": "COMPLETED",
        }
        for path, time, _, action in old
    ]
    header: dict[HeaderKey | int, str] = {HeaderKey.SCHEMA: json.dumps(_ENTRY)}
    block = write_block(
        LogBlockType.AVRO_DATA_BLOCK, header, avro_content(avro_records(_ENTRY, entries))
    )
    left[f"{table}.hoodie/archived/.commits_.archive.900_1-0-1"] = block
