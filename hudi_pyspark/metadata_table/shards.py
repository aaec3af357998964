"""The file groups of an index; the hash of a key chooses the group."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.hashes import java_hash_codes
from hudi_pyspark.metadata_table.entries import Entries, MetadataSlice


@dataclass(eq=False, slots=True)
class Shards:
    """File groups of an index that share its keys: the hash of a key is the number of its group.

    An index has one set of groups; a *partitioned record index* has one for each partition of the
    table. No file names the number of groups: if the last ones are lost, keys are sought in wrong
    groups and not found. So a key without an entry proves nothing, unless `are_all` says so.
    """

    slices: list[MetadataSlice] = field(default_factory=list)  # by number, without a gap

    def find(self, keys: Sequence[str]) -> Iterator[list[Entries]]:
        """Yield the entries of some keys, oldest first, for each file group that can have them."""
        all_keys = pa.array(keys, pa.string())
        numbers = self.numbers(keys)
        for number, metadata_slice in enumerate(self.slices):
            own_keys = all_keys.filter(pa.array(numbers == number))
            if len(own_keys):
                yield metadata_slice.find(own_keys)

    def numbers(self, hashed_texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of the groups to which texts belong."""
        return _hashes(hashed_texts) % len(self.slices)

    def are_all(
        self, numbers: Iterable[int], hashed: Callable[[str], str] = lambda key: key
    ) -> bool:
        """Decide by the keys of some groups that no group is lost.

        With n groups, n divides the distance of each hash from the number of its group. So it
        divides the greatest common divisor of all distances. If that is the number of groups that
        are there, there never were more: more would have to divide it.

        Args:
            numbers: of the groups whose keys are looked at.
            hashed: returns the text of a key that is hashed.
        """
        divisor = 0
        for number in numbers:
            keys = [hashed(key) for key in self.slices[number].some_keys()]
            divisor = gcd(divisor, *(_hashes(keys) - number).tolist())
        return divisor == len(self.slices)


def _hashes(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    hashes: npt.NDArray[np.int64] = np.abs(java_hash_codes(texts).astype(np.int64))
    return hashes


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
