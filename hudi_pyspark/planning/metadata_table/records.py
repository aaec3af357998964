"""Records of the metadata table, merged one by one: for looking at them, not for planning."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import fastavro

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.format.avro.fastavro_schema import load_schema
from hudi_pyspark.format.hfile.trailer import SCHEMA_INFO
from hudi_pyspark.format.timeline.instant_body import undecodable_as_corrupt
from hudi_pyspark.planning.metadata_table.table import FILES, UNPARTITIONED, MetadataTable
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.listing import path_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hudi_pyspark.format.hfile.entries import HFile
    from hudi_pyspark.planning.metadata_table.entries import Entries, MetadataSlice
    from hudi_pyspark.table.view import TableView

_FILES = 2
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
    known = sorted(view.config.metadata_partitions)
    if partition is not None and partition not in known:
        has = ", ".join(known) or "none"
        raise InvalidOptionError(f"the table has no metadata partition {partition!r}; it has {has}")
    if not known:
        return
    metadata = MetadataTable.open(view)
    for name in known if partition is None else [partition]:
        for metadata_slice in metadata.slices(name, check_files=True):
            yield from _slice_records(metadata_slice)


def _slice_records(metadata_slice: MetadataSlice) -> Iterator[MetadataRecord]:
    file_slice = metadata_slice.file_slice
    for key, kind, value in merged_values(metadata_slice.all()):
        yield MetadataRecord(file_slice.partition_path, file_slice.file_id, key, kind, value)


def merged_values(found: Iterable[Entries]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Yield key, type and value of the merged records of one slice, by key.

    Args:
        found: entries of the slice, those that apply first coming first.

    Raises:
        CorruptTableError: a value cannot be decoded.
    """
    state: dict[str, dict[str, Any]] = {}
    for entries in found:
        if entries.hfile is None:
            for key in entries.keys.to_pylist():
                state.pop(key, None)
            continue
        for key, record in _decoded(entries, entries.hfile):
            state[key] = _merge(state[key], record) if key in state else record
    for key in sorted(state):
        record = state[key]
        value = record.get(_VALUE_FIELDS.get(record["type"], "")) or {}
        if record["type"] in _LISTINGS or not value.get("isDeleted"):
            yield key, record["type"], value


def _decoded(entries: Entries, hfile: HFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield key and record of each entry; one by one, since their values are unions."""
    with undecodable_as_corrupt(METADATA_FOLDER):
        schema = _parse_schema_once(hfile.file_info[SCHEMA_INFO])
        spans = zip(hfile.value_starts.tolist(), hfile.value_ends.tolist(), strict=True)
        for key, (start, end) in zip(entries.keys.to_pylist(), spans, strict=True):
            record = fastavro.schemaless_reader(
                io.BytesIO(hfile.values_data[start:end]), schema, None
            )
            if not isinstance(record, dict):
                raise TypeError(f"expected a record, found {type(record).__name__}")
            yield key, record


@lru_cache(maxsize=8)  # one text per Hudi release, in every file and block
def _parse_schema_once(text: bytes) -> Any:  # noqa: ANN401  (fastavro's own form)
    return fastavro.parse_schema(load_schema(str(text, "utf-8")))


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
        path_in("" if record.key == UNPARTITIONED else record.key, name): file["size"]
        for record in load_metadata(view, FILES)
        if record.type == _FILES
        for name, file in record.value.items()
        if not file["isDeleted"]
    }
