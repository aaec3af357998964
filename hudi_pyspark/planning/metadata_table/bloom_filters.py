"""Bloom filters of the record keys of base files, from the metadata table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError
from hudi_pyspark.options.values import Index
from hudi_pyspark.planning.metadata_table.index_keys import file_key, partition_keys
from hudi_pyspark.planning.metadata_table.records import merged_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.planning.metadata_table.table import MetadataTable
    from hudi_pyspark.table.file_group import FileSlice


def slices_that_may_hold(
    metadata: MetadataTable, slices: Sequence[FileSlice], keys: Sequence[str]
) -> list[FileSlice]:
    """Return the slices that may hold one of some record keys."""
    partitions = partition_keys({s.partition_path for s in slices})
    names = [
        partitions[s.partition_path] + file_key(s.base_file)
        for s in slices
        if s.base_file is not None
    ]
    ruled_out = {
        name
        for entries in metadata.find(Index.BLOOM_FILTERS.value, names)
        for name, _, value in merged_values(entries)
        if not _may_contain(value, keys)
    }
    return [s for name, s in zip(names, slices, strict=True) if name not in ruled_out]


def _may_contain(value: Mapping[str, Any], keys: Sequence[str]) -> bool:
    try:
        bloom = BloomFilter.parse(value["bloomFilter"].decode(), value["type"])
    except (BloomFilterError, UnicodeDecodeError):
        return True
    return bool(bloom.may_contain(keys).any())
