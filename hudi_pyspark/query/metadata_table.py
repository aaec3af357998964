"""Records of the metadata table, which a writer keeps in ``.hoodie/metadata``.

It is a MERGE_ON_READ table of its own: HFile base files, HFile log blocks, and a merge that no
other table has. Its records are read one by one: they are unions of several kinds.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import fastavro

from hudi_pyspark.errors import (
    CorruptLogBlockError,
    CorruptTableError,
    InvalidOptionError,
    MissingFileError,
    TableNotFoundError,
)
from hudi_pyspark.format.hfile import SCHEMA_INFO, HFileError, read_hfile
from hudi_pyspark.format.log.delete_block import decode_delete_block
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.format.timeline.instant_body import undecodable_as_corrupt
from hudi_pyspark.query.log_records.live_blocks import BlockFilter, scan_blocks
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.listing import DirectoryListing, path_in
from hudi_pyspark.table.table_services import known_restores, known_rollbacks
from hudi_pyspark.table.timeline import CommittedTimes
from hudi_pyspark.table.view import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView

FILES_PARTITION = "files"
_UNPARTITIONED = "."  # the metadata table's name for the only partition of a table without columns
_FILES = 2
_FOLDER = f"{METADATA_FOLDER}/metadata"
# Codes of record types; names as Hudi's.
_TYPES = {
    1: "ALL_PARTITIONS",
    2: "FILES",
    3: "COLUMN_STATS",
    4: "BLOOM_FILTERS",
    5: "RECORD_INDEX",
    6: "PARTITION_STATS",
    7: "SECONDARY_INDEX",
}
_LISTINGS = frozenset({1, 2})
_COLUMN_RANGES = frozenset({3, 6})
# The field of a record that holds its value, by its type.
_VALUE_FIELDS = {
    1: "filesystemMetadata",
    2: "filesystemMetadata",
    3: "ColumnStatsMetadata",
    4: "BloomFilterMetadata",
    5: "recordIndexMetadata",
    6: "ColumnStatsMetadata",
    7: "SecondaryIndexMetadata",
}
_OWN_INSTANT_LENGTH = 20  # of instants that only the metadata table has, up to table version 7
_INITIAL_INSTANTS = "00000000000000"


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record of the metadata table: its value for one key."""

    metadata_partition: str
    file_id: str  # of the metadata table's file group
    key: str
    type: int
    value: Mapping[str, Any]  # the field of the record that its type fills

    @property
    def type_name(self) -> str:
        """Name of the record type, or its number where it has none."""
        return _TYPES.get(self.type, str(self.type))


def load_metadata(view: TableView, partition: str | None) -> Iterator[MetadataRecord]:
    """Yield the merged records of readable metadata partitions, by partition and key.

    Raises:
        InvalidOptionError: the table has no such metadata partition.
        CorruptTableError: files of the metadata table are missing or cannot be read.
    """
    known = view.config.metadata_partitions
    if partition is not None and partition not in known:
        has = ", ".join(sorted(known)) or "none"
        raise InvalidOptionError(f"the table has no metadata partition {partition!r}; it has {has}")
    if not known:
        return
    metadata = _open(view)
    valid = _valid_instants(view, metadata)
    for file_slice in metadata.file_slices(check_files=False):
        name = file_slice.partition_path
        if name in known and partition in (None, name):
            _check_files(metadata, file_slice)
            yield from _slice_records(metadata, file_slice, valid)


def _open(view: TableView) -> TableView:
    location = view.storage.describe(_FOLDER)
    try:
        opened = open_table(view.storage.at(location))
    except TableNotFoundError as error:
        raise CorruptTableError(
            f"{location} is not a table, although hoodie.table.metadata.partitions requires one"
        ) from error
    # Its properties name no partition columns, yet its records lie in folders.
    in_folders = replace(opened.config, partition_fields=("partition",))
    return replace(opened, listing=DirectoryListing(opened.storage, in_folders))


def _check_files(metadata: TableView, file_slice: FileSlice) -> None:
    """Check that no file is missing that was written since the partition was last rebuilt.

    A partition that is dropped leaves its commits behind. Up to table version 7 a missing log file
    may have been appended to another one.

    Raises:
        MissingFileError: a file is not on the storage.
    """
    base = file_slice.base_file
    logs = file_slice.log_files if metadata.config.log_file_has_one_commit else ()
    missing = [(log.path, log.instant_time) for log in logs if not log.is_listed]
    if base is not None and not base.is_listed:
        missing.append((base.path, base.instant_time))
    built_at = _built_at(metadata, file_slice.partition_path) if missing else ""
    for path, time in missing:
        if (metadata.history.completion_time(time) or time) >= built_at:
            raise MissingFileError.since_commit(metadata.storage.describe(path), time)


def _built_at(metadata: TableView, partition: str) -> str:
    """Return the completion time of the commit that last built a partition; "" if unknown."""
    return max(
        (
            commit.completion_time or commit.requested_time
            for commit in metadata.commits
            if commit.requested_time.startswith(_INITIAL_INSTANTS)
            and partition in metadata.commit_metadata[commit.requested_time].write_stats
        ),
        default="",
    )


def _valid_instants(view: TableView, metadata: TableView) -> CommittedTimes:
    """Return the valid instants of the metadata table; it is written before the table commits."""
    table, own = view.timeline, metadata.timeline
    valid = {i.requested_time for i in table.completed}
    pending = {i.requested_time for i in table.pending}
    for instant in own.completed:
        time = instant.requested_time
        if instant.action in (Action.ROLLBACK, Action.RESTORE) or time.startswith(
            _INITIAL_INSTANTS
        ):
            valid.add(time)
        elif instant.action in (Action.DELTA_COMMIT, Action.COMMIT):
            is_own = len(time) == _OWN_INSTANT_LENGTH or view.config.layout > 1
            if is_own and time not in pending:
                valid.add(time)
    for _, rollback, _ in known_rollbacks(view, archived=False):
        valid.update(rollback.rolled_back_times)
    for _, restore in known_restores(view):
        valid.update(restore.rolled_back_times)
    # Instants before the active timeline of the table have committed, or were rolled back.
    first = min((i.requested_time for i in table.instants), default="")
    return CommittedTimes(frozenset(valid), first, frozenset(pending))


def _slice_records(
    metadata: TableView, file_slice: FileSlice, valid: CommittedTimes
) -> Iterator[MetadataRecord]:
    state: dict[str, dict[str, Any]] = {}
    base = file_slice.base_file
    if base is not None:
        data = metadata.storage.read_bytes(base.path)
        state.update(_hfile_records(data, base.path))
    blocks = (
        block
        for log in file_slice.log_files
        if log.is_listed
        for block in frame_blocks(metadata.storage.read_bytes(log.path), path=log.path)
    )
    latest = max(valid.times, default="")
    for block in scan_blocks(blocks, BlockFilter(latest, valid)).blocks:
        _apply(block, state)
    for key in sorted(state):
        record = state[key]
        value = record.get(_VALUE_FIELDS.get(record["type"], "")) or {}
        if not (record["type"] not in _LISTINGS and value.get("isDeleted")):
            partition = file_slice.partition_path
            yield MetadataRecord(partition, file_slice.file_id, key, record["type"], value)


def _apply(block: LogBlock, state: dict[str, dict[str, Any]]) -> None:
    if block.block_type is LogBlockType.DELETE_BLOCK:
        deletes = decode_delete_block(block.content, path=block.path, offset=block.offset)
        for key in deletes.record_keys.to_pylist():
            state.pop(key, None)
        return
    for key, record in _hfile_records(block.content, block.path, block.content_offset):
        state[key] = _merge(state[key], record) if key in state else record


def _hfile_records(
    data: bytes | memoryview, path: str, offset: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield key and record of each entry."""
    try:
        hfile = read_hfile(data, path=path)
    except HFileError as error:
        raise CorruptLogBlockError(error.problem, path, offset + error.offset) from error
    with undecodable_as_corrupt(path):
        spans = zip(hfile.value_starts.tolist(), hfile.value_ends.tolist(), strict=True)
        for key, (start, end) in zip(hfile.keys.to_pylist(), spans, strict=True):
            schema = _parse_schema_once(hfile.file_info[SCHEMA_INFO])
            value = io.BytesIO(hfile.values_data[start:end])
            record = fastavro.schemaless_reader(value, schema, None)
            if not isinstance(record, dict):
                raise TypeError(f"expected a record, found {type(record).__name__}")
            yield str(key, "utf-8"), record


@lru_cache(maxsize=8)  # one text per Hudi release, in every file and block
def _parse_schema_once(text: bytes) -> Any:  # noqa: ANN401  (fastavro's own form)
    return fastavro.parse_schema(json.loads(text))


def _merge(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """Merge two records of one key, as Hudi's HoodieMetadataPayload.preCombine does."""
    kind = newer["type"]
    field = _VALUE_FIELDS.get(kind, "")
    before, after = older.get(field), newer.get(field)
    if before is None or after is None:
        return newer
    if kind in _LISTINGS:
        return {**newer, field: _merged_listing(before, after)}
    if kind in _COLUMN_RANGES and not (after["isDeleted"] or after.get("isTightBound", True)):
        return {**newer, field: _merged_range(before, after)}
    return newer


def _merged_listing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for name, entry in after.items():
        old = merged.get(name)
        if entry["isDeleted"]:
            if old is not None and not old["isDeleted"]:
                del merged[name]
            else:
                merged[name] = entry
        else:
            size = max(entry["size"], old["size"]) if old is not None else entry["size"]
            merged[name] = {**entry, "size": size}
    return merged


def _merged_range(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    if before["isDeleted"]:
        return dict(after)
    merged = dict(after)
    for name, choose in (("minValue", min), ("maxValue", max)):
        bounds = [v for v in (before[name], after[name]) if v is not None]
        merged[name] = choose(bounds, key=_unwrapped) if bounds else None
    for name in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize"):
        merged[name] = (before[name] or 0) + (after[name] or 0)
    return merged


def _unwrapped(wrapper: Mapping[str, Any]) -> Any:  # noqa: ANN401  (a value of any column type)
    return wrapper["value"]


def listed_files(view: TableView) -> dict[str, int]:
    """Return path and size of each file that the metadata table lists.

    Raises:
        InvalidOptionError: the table has no metadata partition of files.
        CorruptTableError: files of the metadata table are missing or cannot be read.
    """
    return {
        path_in("" if record.key == _UNPARTITIONED else record.key, name): file["size"]
        for record in load_metadata(view, FILES_PARTITION)
        if record.type == _FILES
        for name, file in record.value.items()
        if not file["isDeleted"]
    }
