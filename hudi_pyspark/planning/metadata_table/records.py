"""Records of the metadata table, decoded as columns and merged by key."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import as_one_array
from hudi_pyspark.options.values import Index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hudi_pyspark.planning.metadata_table.entries import Entries

UNPARTITIONED = "."  # names the only partition of a table without partition columns
FILES = "files"
RECORD_INDEX = Index.RECORD_INDEX.value
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


def merge_listing(sizes: dict[str, int], newer: Iterable[tuple[str, int, bool]]) -> None:
    """Apply newer entries to the sizes of files, as Hudi's combineFileSystemMetadata does."""
    for name, size, is_deleted in newer:
        if is_deleted:
            sizes.pop(name, None)
        else:
            sizes[name] = max(size, sizes.get(name, 0))
