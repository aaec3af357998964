"""The file groups of an index; the hash of a key chooses the group."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.hashes import java_hash_codes
from hudi_pyspark.metadata_table.entries import Entries, MetadataSlice


@dataclass(eq=False, slots=True)
class Shards:
    """File groups of an index that share its keys: the hash of a key is the number of its group.

    An index has one set of groups; a *partitioned record index* has one for each partition of the
    table. No file names the number of groups: if the last ones are lost, keys are sought in wrong
    groups and not found. So a key without an entry proves nothing.
    """

    slices: list[MetadataSlice] = field(default_factory=list)  # by number, without a gap

    def find(self, keys: Sequence[str]) -> Iterator[list[Entries]]:
        """Yield the entries of some keys, oldest first, for each file group that can have them."""
        all_keys = pa.array(keys, pa.string())
        numbers = np.abs(java_hash_codes(keys).astype(np.int64)) % len(self.slices)
        for number, metadata_slice in enumerate(self.slices):
            own_keys = all_keys.filter(pa.array(numbers == number))
            if len(own_keys):
                yield metadata_slice.find(own_keys)


def shards_of(slices: Iterable[MetadataSlice]) -> dict[str, Shards]:
    """Group the slices of an index, in order of file id, by their file ids without the number.

    Raises:
        MissingFileError: a number is missing before the last one.
    """
    shards: dict[str, Shards] = {}
    for metadata_slice in slices:
        name, _, number = metadata_slice.file_slice.file_id.removesuffix("-0").rpartition("-")
        groups = shards.setdefault(name, Shards()).slices
        if number != f"{len(groups):04d}":
            location = metadata_slice.storage.describe(metadata_slice.file_slice.partition_path)
            raise MissingFileError(f"{location} has no file group {name}-{len(groups):04d}-0")
        groups.append(metadata_slice)
    return shards
