"""Records of the metadata table, decoded as columns and merged by key."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import as_one_array
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.planning.metadata_table.listing import merge_listing
from hudi_pyspark.planning.metadata_table.table import FILES, UNPARTITIONED, MetadataTable
from hudi_pyspark.table.listing import path_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
    """Yield the merged records of readable metadata partitions, by partition and key."""
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
    """Yield key, type and value of a slice's merged records, by key; oldest entries first."""
    state: dict[str, tuple[int, dict[str, Any]]] = {}
    for entries in found:
        if entries.hfile is None:
            for key in entries.keys.to_pylist():
                state.pop(key, None)
            continue
        for key, kind, value in _decoded(entries):
            older = state[key][1] if key in state else None
            state[key] = kind, _merged(kind, older, value)
    for key in sorted(state):
        kind, value = state[key]
        if kind in _LISTINGS or not value.get("isDeleted"):
            yield key, kind, value


def _decoded(entries: Entries) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield key, type and value of each entry."""
    table = entries.decode([*dict.fromkeys(_VALUE_FIELDS.values())])
    kinds = table.column("type").to_pylist()
    columns = {
        kind: _python_values(as_one_array(table.column(field)))
        for kind, field in _VALUE_FIELDS.items()
        if kind in set(kinds) and field in table.schema.names
    }
    for row, (key, kind) in enumerate(zip(entries.keys.to_pylist(), kinds, strict=True)):
        yield key, kind, (columns[kind][row] if kind in columns else None) or {}


def _python_values(column: pa.Array) -> list[Any]:
    """Return values as Python objects, those of unions without a name of their branch."""
    if pa.types.is_map(column.type):
        maps: list[Any] = column.to_pylist(maps_as_pydicts="strict")
        return maps
    if not pa.types.is_struct(column.type):
        plain: list[Any] = column.to_pylist()
        return plain
    names = column.type.names
    values: list[Any] = [None] * len(column)
    if names == [f"member{number}" for number in range(len(names))]:  # a union
        for branch in column.flatten():
            rows = np.flatnonzero(branch.is_valid())
            for row, value in zip(rows.tolist(), _python_values(branch.take(rows)), strict=True):
                values[row] = value
        return values
    rows_of_fields = zip(*map(_python_values, column.flatten()), strict=True)
    for row, (fields, is_valid) in enumerate(
        zip(rows_of_fields, column.is_valid().to_pylist(), strict=True)
    ):
        if is_valid:
            values[row] = dict(zip(names, fields, strict=True))
    return values


def _merged(kind: int, before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any]:
    """Merge two values of one key, as Hudi's HoodieMetadataPayload.preCombine does."""
    if kind in _LISTINGS:
        sizes = {name: file["size"] for name, file in (before or {}).items()}
        merge_listing(sizes, ((n, file["size"], file["isDeleted"]) for n, file in after.items()))
        return {name: {"size": size, "isDeleted": False} for name, size in sizes.items()}
    is_range = kind in _COLUMN_RANGES and not after.get("isDeleted")
    if before and is_range and not after.get("isTightBound", True):
        return _merged_range(before, after)
    return after


def _merged_range(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    if before["isDeleted"]:
        return dict(after)
    merged = dict(after)
    for name, choose in (("minValue", min), ("maxValue", max)):
        bounds = [v for v in (before[name], after[name]) if v is not None]
        merged[name] = choose(bounds, key=itemgetter("value")) if bounds else None
    for name in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize"):
        merged[name] = (before[name] or 0) + (after[name] or 0)
    return merged


def listed_files(view: TableView) -> dict[str, int]:
    """Return path and size of each file that the metadata table lists."""
    return {
        path_in("" if record.key == UNPARTITIONED else record.key, name): file["size"]
        for record in load_metadata(view, FILES)
        if record.type == _FILES
        for name, file in record.value.items()
    }
