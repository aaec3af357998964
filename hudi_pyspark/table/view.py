"""One consistent view of the table at a base path: its commits, file groups and file slices."""

from dataclasses import dataclass, replace

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.timeline.instant import Action, Instant
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.retries import retry_on_corruption
from hudi_pyspark.table.commit_history import CommitHistory, LazyMetadata
from hudi_pyspark.table.config import PROPERTIES_FILE, TableConfig, load_table_config
from hudi_pyspark.table.confined_storage import ConfinedStorage
from hudi_pyspark.table.file_groups import FileGroups
from hudi_pyspark.table.file_slices import FileSlices
from hudi_pyspark.table.listing import DirectoryListing, FileListing
from hudi_pyspark.table.missing_table import missing_table_error
from hudi_pyspark.table.timeline import Timeline, load_timeline


@dataclass(frozen=True)
class TableView:
    """A table as of the moment when its timeline was read. The timeline is read once.

    Files that writers add later are invisible, since their instants are not on this timeline. Most
    callers find what they need here; `history`, `groups` and `slices` have the rest.
    """

    history: CommitHistory  # the table's commits, archived ones included
    listing: FileListing

    @property
    def storage(self) -> Storage:
        """The table's storage, in which paths are relative to the base path."""
        return self.history.storage

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self.history.config

    @property
    def timeline(self) -> Timeline:
        """The active timeline, without archived instants."""
        return self.history.timeline

    @cached_property
    def groups(self) -> FileGroups:
        """The table's file groups, each with all its file slices."""
        return FileGroups(self.history, self.listing)

    @cached_property
    def slices(self) -> FileSlices:
        """The table's file slices, at the latest instant or at an earlier one."""
        return FileSlices(self.history, self.groups)

    def with_listing(self, listing: FileListing) -> "TableView":
        """Return the same state of the table with another source of its files."""
        return replace(self, listing=listing)

    @property
    def commits(self) -> tuple[Instant, ...]:
        """Completed commits of the active timeline, in order of requested time."""
        return self.history.commits

    @property
    def commit_metadata(self) -> LazyMetadata:
        """Requested time to metadata, for every completed commit of the active timeline."""
        return self.history.commit_metadata

    @property
    def last_instant(self) -> str:
        """Requested time of the newest instant that may start a file slice; "" if none may."""
        return self.slices.last_instant

    def is_current(self) -> bool:
        """List the timeline again, and decide whether it is still the same.

        Raises:
            MissingFileError: a writer archives or rolls back faster than files can be listed.
        """
        return load_timeline(self.storage, self.config) == self.timeline


def open_table(storage: Storage) -> TableView:
    """Read a table's properties and active timeline.

    Raises:
        TableNotFoundError: there is no table. PathNotFoundError and PathInsideTableError, which are
            children of it, say that the path does not exist, or lies inside a table.
        UnsupportedTableError: a property has a value that cannot be read.
        CorruptTableError: the properties cannot be read at all, or are lost.
    """
    return retry_on_corruption(storage, lambda: _open_table(storage))


def _open_table(storage: Storage) -> TableView:
    try:
        config = load_table_config(storage)
    except (FileNotFoundError, NotADirectoryError):
        raise missing_table_error(storage) from None
    confined = ConfinedStorage(storage)
    timeline = load_timeline(confined, config)
    if not config.has_table_type and timeline.of_action(Action.DELTA_COMMIT):
        raise CorruptTableError(
            f"{PROPERTIES_FILE} has lost hoodie.table.type, since the timeline has delta commits, "
            "whose log files a COPY_ON_WRITE table would ignore",
            advice="Restore it from a copy",
        )
    history = CommitHistory(confined, config, timeline)
    return TableView(history, DirectoryListing(confined, config))
