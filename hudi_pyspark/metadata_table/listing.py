"""Partitions and their files, found in the metadata table."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from hudi_pyspark.errors import CorruptTableError, HudiError, UnsupportedTableError
from hudi_pyspark.messages import logger
from hudi_pyspark.metadata_table.records import UNPARTITIONED
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.storage.protocol import FileInfo
from hudi_pyspark.table.listing import FileListing, PartitionChoice
from hudi_pyspark.table.view import TableView

Answer = TypeVar("Answer")

_log = logger(__name__)
_PATH_ADVICE = (
    "Read the other partitions with a filter. Write the rows of this one again, with "
    "hoodie.datasource.write.partitionpath.urlencode or without needless slashes"
)


class MetadataListing:
    """The files that the metadata table lists; folders are listed if it is not reliable.

    It is not used at all if it cannot be read or lacks a commit of the table. It is not used for a
    partition if it lacks a file there that a commit names and a query needs. Both are logged, and
    hold for one query.

    Args:
        table: whose files are listed.
        metadata: the metadata table of the table, which queries share; None to open it anew.
    """

    def __init__(self, table: TableView, metadata: MetadataTable | None = None) -> None:
        self._metadata = MetadataTable(table) if metadata is None else metadata
        self._folders: FileListing = table.listing
        self._relisted: dict[str, list[FileInfo]] = {}
        self._problem = ""  # why the metadata table is not used

    def partitions(self, choice: PartitionChoice | None = None) -> list[str]:
        """Return the partitions that a choice leaves, all without one; see `FileListing`.

        Raises:
            UnsupportedTableError: the path of one is not that of the folder with its files.
        """
        chosen = self._ask(
            lambda paths: paths if choice is None else choice.choose(paths),
            lambda folders: folders.partitions(choice),
        )
        # Most tables have thousands of partitions and no such path.
        if unclear := next((path for path in chosen if path and "//" in f"/{path}/"), ""):
            raise _of_another_folder(unclear)
        return chosen

    def files(self, partition_paths: Sequence[str]) -> Mapping[str, list[FileInfo]]:
        unlisted = [path for path in partition_paths if path not in self._relisted]
        listed_files = self._ask(
            lambda _: self._recorded_files(unlisted), lambda folders: folders.files(unlisted)
        )
        # A writer that did not record sizes left 0, which looks like a file without content.
        unsized = [p for p, files in listed_files.items() if not all(file.size for file in files)]
        resized = self._folders.files(unsized) if unsized and not self._problem else {}
        return {**listed_files, **resized, **self._relisted}

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
            lambda _: self._metadata.commits.listed,
            lambda folders: folders.recorded_commits(),
        )

    def summary(self) -> str:
        if self._problem:
            return f"{self._folders.summary()}; not the metadata table: {self._problem}"
        summary = f"metadata table, {len(self._complete().partition_paths)} partitions"
        if not self._relisted:
            return summary
        return f"{summary}; it lacks committed files: {self._folders.summary()}"

    def _ask(
        self,
        metadata_table: Callable[[list[str]], Answer],  # given the paths of all partitions
        folders: Callable[[FileListing], Answer],
    ) -> Answer:
        if not self._problem:
            try:
                return metadata_table(self._complete().partition_paths)
            except HudiError as error:
                self._problem = error.reason()
                _log.warning("files are found by listing folders: %s", self._problem)
        return folders(self._folders)

    def indexed_by(self) -> MetadataTable:
        """Return the metadata table, in which files were found, to ask its indexes.

        Raises:
            CorruptTableError: it is not used for this query, since it could not be read, lags
                behind the table, or lacks a committed file.
        """
        if self._relisted:
            raise CorruptTableError("the metadata table lacks committed files")
        if self._problem:
            raise CorruptTableError(self._problem)
        return self._complete()

    def _recorded_files(self, partition_paths: Sequence[str]) -> dict[str, list[FileInfo]]:
        names = {path: path or UNPARTITIONED for path in partition_paths}
        sizes = self._metadata.file_records.sizes(names.values())
        if unknown := [name for name in names.values() if name not in sizes]:
            raise CorruptTableError(f"the metadata table has no files of partition {unknown[0]}")
        return {
            path: [
                FileInfo(name, is_directory=False, size=size, modified_ms=0)
                for name, size in sizes[partition].items()
            ]
            for path, partition in names.items()
        }

    def _complete(self) -> MetadataTable:
        """Return the metadata table; CorruptTableError if it lags behind the table."""
        if missing := self._metadata.commits.missing:
            raise CorruptTableError(f"the metadata table lacks commit {missing[0]} of the table")
        return self._metadata


def _of_another_folder(partition_path: str) -> UnsupportedTableError:
    """Return the error for a partition such as ``q/``, whose files lie in the folder ``q``.

    Apache Hudi loses the rows, since it records the names of their files without the first letter.
    """
    folder = "/".join(filter(None, partition_path.split("/")))
    return UnsupportedTableError(
        f"the metadata table has the partition {partition_path!r}, whose files lie in the folder "
        f"{folder!r}: Apache Hudi records wrong names for them, and loses their rows",
        advice=_PATH_ADVICE,
    )
