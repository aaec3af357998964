"""Record keys to the file groups that hold them, by the metadata table's record index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.planning.metadata_table.records import RECORD_INDEX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hudi_pyspark.planning.metadata_table.entries import Entries
    from hudi_pyspark.planning.metadata_table.table import MetadataTable

    FileGroupId = tuple[str, str]  # partition path and file id

_VALUE = "recordIndexMetadata"
_AS_TEXT = 1  # encoding of a file id that is not a UUID
_NO_FILE_INDEX = -1


def locate(metadata: MetadataTable, keys: Sequence[str]) -> dict[str, list[FileGroupId]]:
    """Return file groups by record key; a *partitioned record index* has one per partition."""
    found: dict[str, list[FileGroupId]] = {}
    for entries in metadata.find(RECORD_INDEX, keys):
        for key, group in _newest(entries).items():
            found.setdefault(key, []).append(group)
    return found


def _newest(layers: Iterable[Entries]) -> dict[str, FileGroupId]:
    """Return what the newest entry of each key says; entries come oldest first."""
    newest: dict[str, FileGroupId] = {}
    for entries in layers:
        if entries.hfile is None:
            for key in entries.keys.to_pylist():
                newest.pop(key, None)
        else:
            table = entries.decode([_VALUE])
            newest.update(_file_groups(table))
    return newest


def _file_groups(table: pa.Table) -> Mapping[str, FileGroupId]:
    found = {}
    for batch in table.to_batches():
        values = batch.column(_VALUE)
        columns = {name: values.field(name) for name in values.type.names}
        count = len(values)
        encoding = _numbers(columns.get("fileIdEncoding"), count)
        texts = columns["fileId"].to_pylist() if "fileId" in columns else [None] * count
        uuids = _uuids(columns, count)
        rows = zip(
            batch.column("key").to_pylist(),
            columns["partitionName"].to_pylist(),
            encoding.tolist(),
            texts,
            uuids,
            strict=True,
        )
        for key, partition, kind, text, uuid in rows:
            found[key] = (partition, text if kind == _AS_TEXT else uuid)
    return found


def _uuids(columns: Mapping[str, pa.Array], count: int) -> list[str]:
    """Return the file ids that are stored as two halves of a UUID and a number."""
    halves = [_numbers(columns.get(n), count) for n in ("fileIdHighBits", "fileIdLowBits")]
    indexes = _numbers(columns.get("fileIndex"), count)
    stacked = np.stack([*halves, indexes], axis=1)
    unique, inverse = np.unique(stacked, axis=0, return_inverse=True)
    names = [_uuid(high, low, index) for high, low, index in unique.tolist()]
    return [names[row] for row in inverse.ravel().tolist()]


def _uuid(high: int, low: int, index: int) -> str:
    digits = f"{high & (2**64 - 1):016x}{low & (2**64 - 1):016x}"
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts) + (f"-{index}" if index != _NO_FILE_INDEX else "")


def _numbers(column: pa.Array | None, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if column is None:
        return np.zeros(count, np.int64)
    return np.asarray(column.cast(pa.int64()).fill_null(0), np.int64)
