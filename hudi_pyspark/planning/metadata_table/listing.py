"""Partitions and their files, found in the metadata table."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.planning.metadata_table.records import FILES, UNPARTITIONED, merge_listing
from hudi_pyspark.planning.metadata_table.table import MetadataTable
from hudi_pyspark.storage import FileInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import TypeVar

    from hudi_pyspark.planning.metadata_table.entries import Entries, MetadataSlice
    from hudi_pyspark.table.listing import FileListing, PartitionChoice
    from hudi_pyspark.table.view import TableView

    Answer = TypeVar("Answer")

_ALL_PARTITIONS = "__all_partitions__"
_FILE_MAP = "filesystemMetadata"
_log = logging.getLogger(__name__)


class MetadataListing:
    """The files that the metadata table lists; folders, where it cannot be relied upon."""

    # It is left aside as a whole where it cannot be read or lacks a commit of the table, and for
    # one partition where it lacks a file that a commit names and that a query needs. Both are
    # logged.

    def __init__(self, table: TableView) -> None:
        self._table = table
        self._folders: FileListing = table.listing
        self._relisted: dict[str, list[FileInfo]] = {}
        self._problem = ""  # why the metadata table is not used

    def partitions(self, choice: PartitionChoice | None = None) -> list[str]:
        """Return the paths of the partitions, sorted."""

        def listed(metadata: _FilesPartition) -> list[str]:
            names = metadata.partition_paths
            return names if choice is None else choice.choose(names)

        return self._ask(listed, lambda folders: folders.partitions(choice))

    def files(self, partition_paths: Sequence[str]) -> Mapping[str, list[FileInfo]]:
        """Return the files of some partitions, by partition path."""
        unlisted = [path for path in partition_paths if path not in self._relisted]
        listed = self._ask(
            lambda metadata: metadata.files(unlisted), lambda folders: folders.files(unlisted)
        )
        # A writer that did not record sizes left 0, which looks like a file without content.
        unsized = [p for p, files in listed.items() if not all(file.size for file in files)]
        resized = self._folders.files(unsized) if unsized and not self._problem else {}
        return {**listed, **resized, **self._relisted}

    def relist(self, partition_path: str, missing_file: str) -> bool:
        """List the folder of a partition, since a committed file is missing; see `FileListing`."""
        if self._problem or partition_path in self._relisted:
            return False
        _log.warning("the metadata table lacks %s: its folder is listed", missing_file)
        self._relisted |= self._folders.files([partition_path])
        return True

    def recorded_commits(self) -> Collection[str]:
        """Return the commits that the metadata table has recorded; none if a folder was listed."""
        if self._relisted:
            return ()
        return self._ask(
            lambda _: self._opened.recorded_commits, lambda folders: folders.recorded_commits()
        )

    def summary(self) -> str:
        """Say what has been listed so far, and how."""
        if self._problem:
            return f"{self._folders.summary()}; not the metadata table: {self._problem}"
        summary = f"metadata table, {len(self._metadata.partition_paths)} partitions"
        if not self._relisted:
            return summary
        return f"{summary}; it lacks committed files: {self._folders.summary()}"

    def _ask(
        self,
        metadata_table: Callable[[_FilesPartition], Answer],
        folders: Callable[[FileListing], Answer],
    ) -> Answer:
        if not self._problem:
            try:
                return metadata_table(self._metadata)
            except HudiError as error:
                self._problem = error.reason()
                _log.warning("files are found by listing folders: %s", self._problem)
        return folders(self._folders)

    def indexed_by(self) -> MetadataTable:
        """The metadata table, opened once for indexes and files; an error if unreliable."""
        if self._relisted:
            raise CorruptTableError("the metadata table lacks committed files")
        if self._problem:
            raise CorruptTableError(self._problem)
        return self._opened

    @cached_property
    def _opened(self) -> MetadataTable:
        """The metadata table; CorruptTableError if it lags behind the table."""
        metadata = MetadataTable.open(self._table)
        missing = metadata.missing_commits
        if missing:
            raise CorruptTableError(f"the metadata table lacks commit {missing[0]} of the table")
        return metadata

    @cached_property
    def _metadata(self) -> _FilesPartition:
        """The metadata table's partition of files."""
        found = _FilesPartition(self._opened.slices(FILES, check_files=False))
        if not found.partition_paths and self._table.commits:
            raise CorruptTableError("the metadata table lists no partition")
        return found


class _FilesPartition:
    """Looks up partitions, by their names, in the metadata table's partition of files."""

    def __init__(self, slices: Sequence[MetadataSlice]) -> None:
        self._slices = slices

    @cached_property
    def partition_paths(self) -> list[str]:
        """The paths of all partitions, sorted."""
        names = sorted(self._find([_ALL_PARTITIONS]).get(_ALL_PARTITIONS, ()))
        return [""] if names == [UNPARTITIONED] else names

    def files(self, partition_paths: Sequence[str]) -> dict[str, list[FileInfo]]:
        """Return the files of some partitions, by partition path."""
        names = {path: path or UNPARTITIONED for path in partition_paths}
        found = self._find(list(names.values()))
        return {
            path: [
                FileInfo(file, is_directory=False, size=size, modified_ms=0)
                for file, size in found.get(name, {}).items()
            ]
            for path, name in names.items()
        }

    def _find(self, keys: list[str]) -> dict[str, dict[str, int]]:
        """Return the sizes of files by name, by key."""
        found: dict[str, dict[str, int]] = {}
        for entries in (e for s in self._slices for e in s.find(pa.array(keys, pa.string()))):
            if entries.hfile is None:
                for key in entries.keys.to_pylist():
                    found.pop(key, None)
            else:
                for key, files in _file_maps(entries):
                    merge_listing(found.setdefault(key, {}), files)
        return found


def _file_maps(entries: Entries) -> Iterator[tuple[str, list[tuple[str, int, bool]]]]:
    """Yield key, and name, size and deletion of the files, of each entry."""
    decoded = entries.decode([_FILE_MAP])
    for batch in decoded.to_batches():
        maps = batch.column(_FILE_MAP)
        details = maps.items
        names = maps.keys.to_pylist()
        sizes = details.field("size").to_pylist()
        is_deleted = details.field("isDeleted").to_pylist()
        files = list(zip(names, sizes, is_deleted, strict=True))
        ends = maps.offsets.to_pylist()
        for number, key in enumerate(batch.column("key").to_pylist()):
            yield key, files[ends[number] : ends[number + 1]]
