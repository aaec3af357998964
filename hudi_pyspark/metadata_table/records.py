"""Records of the metadata table: their keys, their values decoded and merged, and files by them."""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.columns.arrays import as_one_array
from hudi_pyspark.format.data_files import parse_data_file_name
from hudi_pyspark.format.hashes import xxhash64
from hudi_pyspark.metadata_table.record_types import LISTINGS, RECORD_FIELDS, RecordType
from hudi_pyspark.options.option import Index

if TYPE_CHECKING:
    from hudi_pyspark.metadata_table.slices import Entries, MetadataSlice
    from hudi_pyspark.table.file_group import BaseFile, LogFile

UNPARTITIONED = "."  # names the folder of the table, as a partition of data files
RECORD_INDEX = Index.RECORD_INDEX.value
INITIAL_INSTANTS = "00000000000000"  # prefix of the instants that build the metadata table
_SEED = 0xFFFFFFFFDABADABA  # of Hudi's HashID
ALL_PARTITIONS = "__all_partitions__"  # the record whose value names the partitions
Sizes = dict[str, dict[str, int]]  # name of a partition to name of a file to bytes
_COLUMN_RANGES = frozenset({RecordType.COLUMN_STATS, RecordType.PARTITION_STATS})


def column_keys(names: Iterable[str]) -> dict[str, str]:
    """Map each column, by its dotted name, to the part of a key that names the column."""
    columns = list(names)
    hashes = xxhash64([name.encode() for name in columns], _SEED).tolist()
    keys = (b2a_base64(number.to_bytes(8, "big"), newline=False).decode() for number in hashes)
    return dict(zip(columns, keys, strict=True))


def partition_keys(paths: Iterable[str]) -> dict[str, str]:
    """Map each partition path to the part of a key that names the partition."""
    names = {path: path or UNPARTITIONED for path in paths}
    keys = column_keys(names.values())  # hashed in the same way
    return {path: keys[name] for path, name in names.items()}


def file_key(file: BaseFile | LogFile) -> str:
    """Return the part of a key that names a file within its partition."""
    name = file.path.rpartition("/")[2].encode()
    return b2a_base64(hashlib.md5(name, usedforsecurity=False).digest(), newline=False).decode()


def merged_values(
    parts: Iterable[Entries], kinds: Iterable[int] = RECORD_FIELDS
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Merge entries, oldest first, and yield key, type and value of each record, by key.

    Values of types that are not in ``kinds`` are empty. Deleted records are left out, except for
    listings, whose merge needs them.
    """
    fields = {kind: RECORD_FIELDS[kind] for kind in kinds}
    state: dict[str, tuple[int, dict[str, Any]]] = {}
    for entries in parts:
        if entries.hfile is None:
            for key in entries.keys.to_pylist():
                state.pop(key, None)
            continue
        for key, kind, value in _decoded(entries, fields):
            older = state[key][1] if key in state else None
            state[key] = kind, _merged(kind, older, value)
    for key in sorted(state):
        kind, value = state[key]
        if kind in LISTINGS or not value.get("isDeleted"):
            yield key, kind, value


def _decoded(entries: Entries, fields: Mapping[int, str]) -> Iterator[tuple[str, int, Any]]:
    """Yield key, type and value of each entry; for listings see `_listed_files`."""
    table = entries.decode([*dict.fromkeys(fields.values())])
    kinds: Sequence[Any] = table.column("type").to_pylist()
    columns = {
        kind: (_listed_files if kind in LISTINGS else _python_values)(
            as_one_array(table.column(field))
        )
        for kind, field in fields.items()
        if kind in set(kinds) and field in table.schema.names
    }
    keys: Sequence[Any] = entries.keys.to_pylist()
    for row, (key, kind) in enumerate(zip(keys, kinds, strict=True)):
        yield key, kind, (columns[kind][row] if kind in columns else None) or {}


def _listed_files(maps: pa.MapArray) -> list[list[tuple[str, int, bool]]]:
    """Return the files of each listing: name, size, and whether the file is deleted."""
    details = (maps.items.field(name).to_pylist() for name in ("size", "isDeleted"))
    files = list(zip(maps.keys.to_pylist(), *details, strict=True))
    return [files[begin:end] for begin, end in pairwise(maps.offsets.to_pylist())]


def _python_values(column: pa.Array) -> list[Any]:
    """Return values as Python objects; a value of a union comes without its branch's name."""
    if not pa.types.is_struct(column.type):
        return list(column.to_pylist())
    names = column.type.names
    if names == [f"member{number}" for number in range(len(names))]:  # a union
        values: list[Any] = [None] * len(column)
        for branch in column.flatten():
            rows = np.flatnonzero(branch.is_valid())
            for row, value in zip(rows.tolist(), _python_values(branch.take(rows)), strict=True):
                values[row] = value
        return values
    rows_of_fields = zip(*map(_python_values, column.flatten()), strict=True)
    return [
        dict(zip(names, fields, strict=True)) if is_valid else None
        for fields, is_valid in zip(rows_of_fields, column.is_valid().to_pylist(), strict=True)
    ]


def _merged(kind: int, before: dict[str, Any] | None, after: Any) -> dict[str, Any]:  # noqa: ANN401
    """Merge two values of one key, as Hudi's HoodieMetadataPayload.preCombine does."""
    if kind in LISTINGS:
        sizes = before if before is not None else {}
        for name, size, is_deleted in after:
            if is_deleted:
                sizes.pop(name, None)
            else:
                sizes[name] = max(size, sizes.get(name, 0))
        return sizes
    is_range = kind in _COLUMN_RANGES and not after.get("isDeleted")
    if before and is_range and not after.get("isTightBound", True) and not before["isDeleted"]:
        return _merged_range(before, after)
    return dict(after)


def _merged_range(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(after)
    for name, choose in (("minValue", min), ("maxValue", max)):
        bounds = [v for v in (before[name], after[name]) if v is not None]
        merged[name] = choose(bounds, key=itemgetter("value")) if bounds else None
    for name in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize"):
        merged[name] = (before[name] or 0) + (after[name] or 0)
    return merged


@dataclass(eq=False)
class FileRecords:
    """The listing of a table's files, as its commits recorded them."""

    slices: Sequence[MetadataSlice]

    def sizes(self, names: Iterable[str]) -> Sizes:
        """Return the sizes of the files of partitions, without partitions that are not listed."""
        if self._all_sizes is not None:
            return {name: self._all_sizes[name] for name in names if name in self._all_sizes}
        keys = pa.array(names, pa.string())
        return _merged_sizes(file_slice.find(keys) for file_slice in self.slices)

    @cached_property
    def _all_sizes(self) -> Sizes | None:
        """The sizes of all files; None if the listing is large.

        To decode a small listing once costs less than to decode parts of it several times.
        """
        base_files = [file_slice.file_slice.base_file for file_slice in self.slices]
        if any(
            base is not None and base.size > thresholds.MOST_BYTES_AS_A_WHOLE for base in base_files
        ):
            return None
        return _merged_sizes(file_slice.all() for file_slice in self.slices)

    @cached_property
    def block_instants(self) -> frozenset[str]:
        """The instants of the log blocks that count."""
        return frozenset[str]().union(*(s.scan.instants for s in self.slices))

    @cached_property
    def file_instants(self) -> frozenset[str]:
        """The instants in the names of all files; empty if the listing is large."""
        names = [name for sizes in (self._all_sizes or {}).values() for name in sizes]
        parsed = map(parse_data_file_name, names)
        return frozenset(name.instant or "" for name in parsed if name is not None)

    def newest_instant(self, *, ignoring: Collection[str]) -> str:
        """Return the newest instant with listed files; "" if there is none.

        For a large base file it is the instant in the file's name.
        """
        if self._all_sizes is None:
            return max(s.file_slice.base_instant_time for s in self.slices)
        return max(self.file_instants.difference(ignoring), default="")

    def has_files_added_by(self, time: str) -> bool:
        """Decide whether an instant added files, by its log block; False if the block is gone.

        A clean adds no files.
        """
        entries = (e for file_slice in self.slices for e in file_slice.written_by(time))
        listings = merged_values(entries, LISTINGS)
        return any(sizes for name, _, sizes in listings if name != ALL_PARTITIONS)


def _merged_sizes(slices: Iterable[Iterable[Entries]]) -> Sizes:
    """Merge the entries of each slice, oldest first."""
    return {key: value for entries in slices for key, _, value in merged_values(entries, LISTINGS)}
