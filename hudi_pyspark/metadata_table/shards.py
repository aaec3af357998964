"""The file groups of an index, among which the hash of a key chooses, and whether none is lost."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.format.hashes import java_hash_codes
from hudi_pyspark.metadata_table.entries import Entries, MetadataSlice

_MOST_KEYS = 1_000  # of one block: few of them settle how many file groups there are
_MOST_SLICES = 16  # that are read for their keys alone


@dataclass(eq=False, slots=True)
class Shards:
    """File groups of an index that share its keys: the hash of a key is the number of its group.

    An index has one such set, a *partitioned record index* one for each partition of the table.
    """

    slices: list[MetadataSlice] = field(default_factory=list)  # by number, without a gap
    _divisor: int = field(default=0, init=False)  # of hash - number, for all keys that were read

    def find(self, keys: Sequence[str]) -> Iterator[list[Entries]]:
        """Yield the entries of some keys, oldest first, for each file group that can have them."""
        wanted, numbers = pa.array(keys, pa.string()), _hash_codes(keys) % len(self.slices)
        for number, metadata_slice in enumerate(self.slices):
            mine = wanted.filter(pa.array(numbers == number))
            if len(mine):
                seen: list[pa.Array] = []
                yield metadata_slice.find(mine, seen)
                self._note(number, seen)

    def are_complete(self) -> bool:
        """Return whether certainly no file group is lost, not even the last ones.

        No file names the number of groups. But each key lies in the group whose number is the
        remainder of its hash, so the number of groups divides hash - number for each stored key.
        Where the greatest common divisor is the number of the groups that are there, these are all.
        The keys that `find` has read mostly settle that; else some more are read.
        """
        for number, metadata_slice in enumerate(self.slices[:_MOST_SLICES]):
            if self._divisor == len(self.slices):
                break
            self._note(number, metadata_slice.some_keys())
        return self._divisor == len(self.slices)

    def _note(self, number: int, keys: Iterable[pa.Array]) -> None:
        for some in keys:
            texts = some[:_MOST_KEYS].cast(pa.string()).to_pylist()
            self._divisor = int(np.gcd.reduce(_hash_codes(texts) - number, initial=self._divisor))


def _hash_codes(keys: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.abs(java_hash_codes(keys).astype(np.int64))


def shards_of(slices: Iterable[MetadataSlice]) -> dict[str, Shards]:
    """Return the file groups of an index by what their file ids have before the number.

    The slices come by file id. MissingFileError if a number is missing before the last one.
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
