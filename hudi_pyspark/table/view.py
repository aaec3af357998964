"""One consistent view of the table at a base path: its commits, file groups and file slices."""

from dataclasses import dataclass, field

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.retries import retry_on_corruption
from hudi_pyspark.table.commit_history import CommitHistory
from hudi_pyspark.table.config import PROPERTIES_FILE, TABLE_TYPE, TableConfig, load_properties
from hudi_pyspark.table.confined_storage import ConfinedStorage
from hudi_pyspark.table.file_groups import FileGroups
from hudi_pyspark.table.file_slices import FileSlices
from hudi_pyspark.table.listing import DirectoryListing, FileListing
from hudi_pyspark.table.missing_table import missing_table_error
from hudi_pyspark.table.timeline import Timeline, load_timeline


@dataclass(eq=False, repr=False)
class TableView:
    """A table as of the moment when its timeline was read. The timeline is read once.

    Files that writers add later are invisible, since their instants are not on this timeline.
    """

    history: CommitHistory  # the table's commits, archived ones included
    listing: FileListing
    storage: Storage = field(init=False)  # paths are relative to the base path
    config: TableConfig = field(init=False)  # the table's properties
    timeline: Timeline = field(init=False)  # the active one, without archived instants
    groups: FileGroups = field(init=False)  # each with all its file slices
    slices: FileSlices = field(init=False)  # at the latest instant or at an earlier one

    def __post_init__(self) -> None:
        self.storage = self.history.storage
        self.config = self.history.config
        self.timeline = self.history.timeline
        self.groups = FileGroups(self.history, self.listing)
        self.slices = FileSlices(self.history, self.groups)

    def with_listing(self, listing: FileListing) -> "TableView":
        """Return the same state of the table with another source of its files."""
        return TableView(self.history, listing)

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
        config = TableConfig.parse(load_properties(storage).values)
    except (FileNotFoundError, NotADirectoryError):
        raise missing_table_error(storage) from None
    confined = ConfinedStorage(storage)
    timeline = load_timeline(confined, config)
    has_type = bool(config.properties.get(TABLE_TYPE))
    if not has_type and timeline.of_action(Action.DELTA_COMMIT):
        raise CorruptTableError(
            f"{PROPERTIES_FILE} has lost {TABLE_TYPE}, since the timeline has delta commits, "
            "whose log files a COPY_ON_WRITE table would ignore",
            advice="Restore it from a copy",
        )
    history = CommitHistory(confined, config, timeline)
    # If the properties do not name partition columns yet, only the folders show them.
    may_have_partitions = bool(config.partition_fields) or not config.has_partition_fields
    listing = DirectoryListing(confined, may_have_partitions=may_have_partitions)
    return TableView(history, listing)
