"""The records of the metadata table's partition ``files``: which files each partition has."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.format.file_name import parse_data_file_name
from hudi_pyspark.metadata_table.entries import Entries, MetadataSlice
from hudi_pyspark.metadata_table.records import LISTINGS, merged_values

ALL_PARTITIONS = "__all_partitions__"  # the record whose value names the partitions

Sizes = dict[str, dict[str, int]]  # name of a partition to name of a file to bytes


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
