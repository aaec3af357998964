"""Partitions and their files, found by listing directories."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Protocol

from hudi_pyspark.format.data_files import is_partition_marker
from hudi_pyspark.storage.protocol import FileInfo, Storage, list_nonempty, read_together
from hudi_pyspark.table.config import METADATA_FOLDER


class PartitionChoice(Protocol):
    """The partitions that a query needs."""

    def choose(self, partition_paths: Sequence[str]) -> list[str]:
        """Return the partitions that the query needs, in their order."""

    def containing(self, folders: Sequence[str]) -> list[str]:
        """Return the folders, all of one depth, that can be or contain a needed partition."""


class FileListing(Protocol):
    """The source of partitions and files: directories, or the metadata table."""

    def partitions(self, choice: PartitionChoice | None = None) -> list[str]:
        """List raw partition paths, sorted; [""] for an unpartitioned table."""

    def files(self, partition_paths: Sequence[str]) -> Mapping[str, list[FileInfo]]:
        """List the files directly in each partition, in any order."""

    def relist(self, partition_path: str, missing_file: str) -> bool:
        """List a partition again, more reliably; return whether its files may have changed."""

    def recorded_commits(self) -> Collection[str]:
        """Return the requested times of commits whose files are listed as they were committed."""

    def summary(self) -> str:
        """Say in a few words what has been listed so far, and how."""


class DirectoryListing:
    """The folders of the storage: one that holds a partition marker is a partition."""

    def __init__(self, storage: Storage, *, may_have_partitions: bool) -> None:
        self._storage = storage
        self._may_have_partitions = may_have_partitions
        self._files: dict[str, list[FileInfo]] = {}
        self._folders = 0  # listed so far

    def partitions(self, choice: PartitionChoice | None = None) -> list[str]:
        """Return the paths of the partitions, sorted; lists each folder that leads to one once."""
        if not self._may_have_partitions:
            return [""]
        partitions: list[str] = []
        level = [""]
        while level:
            self._folders += len(level)
            listed_folders = self._list_together(level)
            level = []
            for folder, entries in listed_folders:
                is_partition = any(is_partition_marker(e.name) for e in entries)
                if is_partition:
                    partitions.append(folder)
                    self._files[folder] = [e for e in entries if not e.is_directory]
                # A marker in the base path, left by a writer without partitions, hides nothing.
                if folder == "" or not is_partition:
                    folders = (e.name for e in entries if e.is_directory)
                    level += [path_in(folder, name) for name in folders if name != METADATA_FOLDER]
            level = level if choice is None else choice.containing(level)
        return sorted(partitions if choice is None else choice.choose(partitions))

    def files(self, partition_paths: Sequence[str]) -> Mapping[str, list[FileInfo]]:
        unlisted = [path for path in partition_paths if path not in self._files]
        self._folders += len(unlisted)
        for path, entries in self._list_together(unlisted):
            self._files[path] = [e for e in entries if not e.is_directory]
        return {path: self._files[path] for path in partition_paths}

    def _list_together(self, folders: Sequence[str]) -> list[tuple[str, list[FileInfo]]]:
        read = partial(list_nonempty, self._storage)
        return read_together(read, folders, is_local=self._storage.is_local)

    def relist(self, partition_path: str, missing_file: str) -> bool:  # noqa: ARG002
        """Return False: the storage itself has been listed."""
        return False

    def recorded_commits(self) -> Collection[str]:
        """Return none: a file may have been lost since it was committed."""
        return ()

    def summary(self) -> str:
        return f"folders of the storage, {self._folders} listed"


def path_in(folder: str, name: str) -> str:
    """Return the path of a folder's entry; "" is the base path, or a table's one partition."""
    return f"{folder}/{name}" if folder else name
