"""The metadata table of a table: its listing of files, its indexes, and the slices of both."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import CorruptTableError, MissingFileError, TableNotFoundError
from hudi_pyspark.metadata_table import records
from hudi_pyspark.metadata_table.column_stats import BoundsCache
from hudi_pyspark.metadata_table.index_definitions import IndexDefinition, load_definitions
from hudi_pyspark.metadata_table.own_slices import (
    complete_slices,
    completed_at,
    corrupt,
    is_evident,
    listed_slices,
)
from hudi_pyspark.metadata_table.record_types import FILES, RecordType
from hudi_pyspark.metadata_table.recorded_commits import RecordedCommits
from hudi_pyspark.metadata_table.records import ALL_PARTITIONS, FileRecords
from hudi_pyspark.metadata_table.secondary_index import record_keys_of
from hudi_pyspark.metadata_table.slices import Entries, MetadataSlice, Shards, shards_of
from hudi_pyspark.options.option import Index
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.listing import DirectoryListing
from hudi_pyspark.table.table_services import rolled_back_times
from hudi_pyspark.table.timeline import CommittedTimes
from hudi_pyspark.table.view import TableView, open_table

FileGroupId = tuple[str, str]  # partition path and file id

_FOLDER = f"{METADATA_FOLDER}/metadata"
# Their keys name a file.
_BY_FILE = (Index.COLUMN_STATS, Index.BLOOM_FILTERS, Index.EXPRESSION_INDEX)
# Of the record index: the encoding of a file id that is not a UUID, and a UUID without a number.
_AS_TEXT = 1
_NO_FILE_INDEX = -1


@dataclass(eq=False)
class MetadataTable(PickledWithoutCache):
    """The metadata table of a table. It is opened on first use, and keeps what it has read."""

    table: TableView  # that it describes

    @property
    def lists_files(self) -> bool:
        """Whether the table's properties say that it has the table's files."""
        return FILES in self.table.config.metadata_partitions

    @cached_property
    def view(self) -> TableView:
        """Its own timeline and files, as of when it was opened.

        Raises:
            MissingFileError: there is none, although the table's properties name partitions of it.
        """
        location = self.table.storage.describe(_FOLDER)
        try:
            opened = open_table(self.table.storage.at(location))
        except TableNotFoundError as error:
            raise MissingFileError(
                f"{location} is not a table, although hoodie.table.metadata.partitions requires one"
            ) from error
        # Its properties name no partition columns, yet its records lie in folders.
        listing = DirectoryListing(opened.storage, may_have_partitions=True)
        return opened.with_listing(listing)

    @cached_property
    def _indexes(self) -> dict[str, dict[str, Shards]]:
        """The file groups of the indexes that were asked, which keep what they have read."""
        return {}

    @cached_property
    def _bounds(self) -> dict[str, BoundsCache]:
        """The bounds in the last slices that were asked for, by index."""
        return {}

    @cached_property
    def commits(self) -> RecordedCommits:
        """What it has recorded of the table's commits.

        Raises:
            MissingFileError: there is no metadata table.
        """
        return RecordedCommits(self.view, self.table, lambda: self.file_records)

    def slices(self, partition: str, *, check_files: bool) -> list[MetadataSlice]:
        """Return a partition's slices, by file id; ``check_files`` refuses incomplete ones.

        Raises:
            CorruptTableError: ``check_files`` is true, and a file is missing or shorter than
                committed, or a slice may lack one.
        """
        if check_files:
            slices = complete_slices(self.view, partition)
        else:
            slices = listed_slices(self.view, partition, {})
        return [MetadataSlice(self.view.storage, s, self._valid_among) for s in slices]

    @cached_property
    def file_records(self) -> FileRecords:
        """The listing of the table's files, which has what each commit recorded.

        Raises:
            CorruptTableError: a file is missing or damaged, so that files of commits are unknown.
        """
        slices = self.slices(FILES, check_files=False)
        if not all(is_evident(self.view, s.file_slice) for s in slices):
            slices = self.slices(FILES, check_files=True)
        listing = FileRecords(slices)
        history = self.view.history
        base = max((s.file_slice.base_instant_time for s in slices), default="")
        completed = {instant.requested_time for instant in self.table.timeline.completed}
        # A commit without a block may have written nothing: then its metadata says so.
        times = history.committed.times & completed - {base} - listing.block_instants
        for time in sorted(times):
            ended = completed_at(self.view, time) if self.view.config.has_completion_times else time
            if ended > base and FILES in history.metadata(time).write_stats:
                raise corrupt(self.view, FILES, f"lacks what commit {time} recorded there")
        return listing

    @cached_property
    def partition_paths(self) -> list[str]:
        """The paths of all partitions of the table, sorted.

        Raises:
            CorruptTableError: there is none, although the table has commits.
        """
        names = self.file_records.sizes([ALL_PARTITIONS]).get(ALL_PARTITIONS, ())
        if not names and self.table.history.commits:
            raise CorruptTableError("the metadata table lists no partition")
        return sorted("" if name == records.UNPARTITIONED else name for name in names)

    def bounds_of(
        self, slices: Sequence[FileSlice], index: str = Index.COLUMN_STATS.value
    ) -> BoundsCache:
        """Return the bounds in slices that an index has, which are kept for the next filter.

        Another thread may ask for those of other slices at the same time.
        """
        bounds = self._bounds.get(index)
        if bounds is None or bounds.slices != slices:
            bounds = self._bounds[index] = BoundsCache(
                slices, self.table.history, partial(self.find, index)
            )
        return bounds

    def find(self, partition: str, keys: Sequence[str]) -> Iterator[list[Entries]]:
        """Yield the entries of some keys, oldest first, for each file group that can have them.

        Args:
            partition: of the metadata table, such as ``record_index``.
            keys: of its records, in any order. Keys without a record are missing.

        Raises:
            CorruptTableError: the partition has no files, or one of its files is damaged.
        """
        for shards in self._index(partition).values():
            yield from shards.find(keys)

    def secondary_keys(self, definition: IndexDefinition, values: Sequence[str]) -> set[str] | None:
        """Return the record keys that a secondary index has for values; see `record_keys_of`.

        Raises:
            CorruptTableError: the index has no files, has those of several,
                or one of its files is damaged.
        """
        shards = list(self._index(definition.partition).values())
        if len(shards) > 1:
            raise corrupt(self.view, definition.partition, "has file groups of several indexes")
        return record_keys_of(shards[0], definition.version, values)

    def knows_absent(self, keys: Sequence[str]) -> bool:
        """Decide whether the record index has all file groups in which some keys can be.

        Never if the index is partitioned: a partition may have none.

        Raises:
            CorruptTableError: the index has no files, or one of its files is damaged.
        """
        shards = list(self._index(records.RECORD_INDEX).values())
        return len(shards) == 1 and shards[0].are_all(set(shards[0].numbers(keys).tolist()))

    @cached_property
    def definitions(self) -> list[IndexDefinition]:
        """The definitions of the table's secondary and expression indexes."""
        return load_definitions(self.table)

    def records(self, partition: str) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
        """Yield file group, key, type and value of each record of a partition, by group and key.

        Raises:
            MissingFileError, CorruptTableError: a file of the partition is gone or damaged.
        """
        for metadata_slice in self.slices(partition, check_files=True):
            for key, kind, value in records.merged_values(metadata_slice.all()):
                yield metadata_slice.file_slice.file_id, key, kind, value

    def locate(self, keys: Sequence[str]) -> dict[str, list[FileGroupId]]:
        """Return file groups by record key; a *partitioned record index* has one per partition.

        A key without a file group may have rows all the same; a key with one may have more rows.
        """
        places: dict[str, list[FileGroupId]] = {}
        for entries in self.find(records.RECORD_INDEX, keys):
            for key, _, place in records.merged_values(entries, {RecordType.RECORD_INDEX}):
                places.setdefault(key, []).append((place["partitionName"], _file_id(place)))
        return places

    def _index(self, partition: str) -> dict[str, Shards]:
        """Return the file groups of an index; at least one."""
        if partition not in self._indexes:
            # Of these a file without an entry is read. Outdated entries of others lose rows.
            is_exact = not any(index.matches(partition) for index in _BY_FILE)
            if is_exact and (ahead := self.commits.ahead):
                raise corrupt(self.view, partition, f"has commit {ahead[0]}, which the table lacks")
            self._indexes[partition] = shards_of(self.slices(partition, check_files=is_exact))
        if not self._indexes[partition]:
            problem = "has no files, although hoodie.table.metadata.partitions names it"
            raise corrupt(self.view, partition, problem)
        return self._indexes[partition]

    def _valid_among(self, times: Collection[str]) -> CommittedTimes:
        """Return the valid instants, given the instants that are asked about.

        The metadata table is written before its table commits. Records of instants that the table
        rolled back since count as well, since the records of the rollback follow; such instants are
        looked up only if they matter.
        """
        valid = self.commits.valid
        if all(time in valid for time in times):
            return valid
        return replace(valid, times=valid.times | rolled_back_times(self.table))


def _file_id(place: Mapping[str, Any]) -> str:
    """Return a file id, which is a text, or two halves of a UUID and a number."""
    if place.get("fileIdEncoding") == _AS_TEXT:
        return str(place["fileId"])
    high, low = (place.get(name) or 0 for name in ("fileIdHighBits", "fileIdLowBits"))
    uuid = UUID(int=(high % 2**64) << 64 | low % 2**64)
    number = place.get("fileIndex") or 0
    return f"{uuid}-{number}" if number != _NO_FILE_INDEX else str(uuid)
