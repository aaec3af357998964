"""Base files and log files to file groups, and file groups to file slices."""

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hudi_pyspark import thresholds
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.format.timeline.instant import CompletionTime


# A large table has very many of these. They are not frozen, since frozen ones take three times as
# long to make. Nothing changes them.
@dataclass(slots=True, unsafe_hash=True)
class BaseFile:
    """A columnar file that holds all records of a file group as of its instant."""

    path: str  # relative to the base path
    file_id: str
    instant_time: str
    size: int  # bytes
    is_listed: bool = True  # False if only commit metadata names it
    committed_size: int = 0  # bytes that the completed commit records; 0 if unknown
    # Path or URI of the file that holds the data columns of a metadata-only bootstrap, row by row;
    # "" for a file that holds all its columns itself.
    bootstrap_source: str = ""
    # Milliseconds since the epoch, as the folder's listing has it; 0 if the folder was not listed.
    modified_ms: int = field(default=0, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class LogFile:
    """A file of log blocks, or a native log, on top of a base file."""

    path: str  # relative to the base path
    file_id: str
    instant_time: str  # of the file name: base instant (table version <= 7) or delta commit (>= 8)
    version: int
    write_token: str  # "" if the name has none
    size: int  # bytes
    committed_size: int = 0  # bytes that completed commits vouch for; 0 if unknown
    is_listed: bool = True  # False if only commit metadata names it
    committed_by: str = ""  # newest completed commit that names the file; "" if none does
    first_committed_by: str = ""  # and the oldest
    # Whether each of these commits is known to have written records into it. Commits that the
    # metadata table has recorded are not read, so it depends on where the file was found.
    is_written: bool = field(default=False, compare=False)
    is_native: bool = False  # a file of the base file format
    is_deletes: bool = False  # a native log of deletes
    modified_ms: int = field(default=0, compare=False, repr=False)  # as of a base file

    @property
    def is_of_one_commit(self) -> bool:
        """Whether the instant in the name is that of the file's only commit, as far as is known."""
        return self.first_committed_by in (self.instant_time, "")

    @property
    def apply_order(self) -> tuple[str, int, str, bool]:
        """Log files are merged in ascending order of this key.

        Source: the comparator of Hudi's HoodieLogFile. The version is a number (10 after 9), the
        write token is text ("10-0-1" before "2-0-1"), and a missing one comes first. Deletes of a
        commit follow its records.
        """
        return (self.instant_time, self.version, self.write_token, self.is_deletes)


@dataclass(slots=True, unsafe_hash=True)
class FileSlice:
    """One version of a file group: at most one base file and the log files on top of it."""

    partition_path: str  # "" for an unpartitioned table
    file_id: str
    base_instant_time: str
    base_file: BaseFile | None  # None if the group has only log files
    log_files: tuple[LogFile, ...]  # oldest first: the order in which the merge applies them

    @property
    def files(self) -> list[BaseFile | LogFile]:
        """The base file, if there is one, and the log files."""
        return [file for file in (self.base_file, *self.log_files) if file is not None]

    @property
    def has_plain_base(self) -> bool:
        """Whether it has no base file, or one of its own rows that allows kept merges.

        Raises:
            UnsupportedTableError: the base file has an unsupported format.
        """
        base = self.base_file
        if base is None:
            return True
        return BaseFileFormat.of(base.path).allows_kept_merges and not base.bootstrap_source

    @property
    def is_tiny(self) -> bool:
        """Whether all files of the slice together have at most 64 KiB."""
        return sum(file.size for file in self.files) <= thresholds.TINY_SLICE

    @property
    def is_empty(self) -> bool:
        """Whether the slice has no file yet, as that of a pending compaction."""
        return self.base_file is None and not self.log_files

    @property
    def lacks_files(self) -> bool:
        """Whether commits name a file of the slice that is not on the storage."""
        for log in self.log_files:  # faster than a generator
            if not log.is_listed:
                return True
        return self.base_file is not None and not self.base_file.is_listed

    def filter_logs(self, is_kept: Callable[[LogFile], bool]) -> "FileSlice":
        """Return the slice with some of its log files."""
        return replace(self, log_files=tuple(filter(is_kept, self.log_files)))

    def with_logs(self, log_files: Iterable[LogFile]) -> "FileSlice":
        """Return the slice with other log files, which may come in any order."""
        return replace(self, log_files=tuple(sorted(log_files, key=lambda f: f.apply_order)))


@dataclass(slots=True, unsafe_hash=True)
class FileGroup:
    """All slices of one file id in one partition."""

    partition_path: str
    file_id: str
    slices: tuple[FileSlice, ...]  # oldest base instant first
    pending_compaction: str | None = None  # instant of the one that is planned for it


def group_files(
    partition_path: str,
    base_files: Iterable[BaseFile],
    log_files: Iterable[LogFile],
    *,
    pending_compactions: Mapping[str, str],
    completion_time: Callable[[str], CompletionTime | None] | None,
    compacted_logs: Callable[[str], Mapping[tuple[str, str], Collection[str]]] | None = None,
) -> list[FileGroup]:
    """Assign the files of one partition to file groups and slices, in order of file id.

    Of several base files of a group and instant, the last counts.

    Args:
        partition_path: of all the files.
        base_files: in any order of groups and instants.
        log_files: in any order.
        pending_compactions: file id to instant.
        completion_time: maps a delta commit's requested time, to None if the archive that should
            have it is gone; None for table versions up to 7, whose log files carry the slice's
            base instant in their name.
        compacted_logs: maps an instant to the names of the log files that its compaction merged,
            by partition path and file id, for log files without a completion time; None if there
            is no such table.

    Returns:
        File groups with at least one slice. A slice has a base file or log files, unless it is the
        slice of a pending compaction.
    """
    # By file id, then by base instant.
    groups: dict[str, dict[str, tuple[BaseFile | None, list[LogFile]]]] = {}
    for base in base_files:
        groups.setdefault(base.file_id, {})[base.instant_time] = base, []
    ordered = sorted(log_files, key=lambda f: f.apply_order)
    for file_id in {log.file_id for log in ordered}.union(groups) & pending_compactions.keys():
        groups.setdefault(file_id, {}).setdefault(pending_compactions[file_id], (None, []))
    for log in ordered:
        slices = groups.setdefault(log.file_id, {})
        time = log.instant_time
        completed_at = completion_time(time) if completion_time is not None and slices else None
        if completed_at is not None:
            time = _base_instant(log, slices, completed_at)
        elif time not in slices and log.is_of_one_commit:
            time = _base_instant_by_plans(log, partition_path, slices, compacted_logs)
        slices.setdefault(time, (None, []))[1].append(log)
    file_groups = []
    for file_id, slices in sorted(groups.items()):
        ordered_slices = [  # faster than a generator, for very many groups of one slice
            FileSlice(partition_path, file_id, time, base, tuple(logs))
            for time, (base, logs) in sorted(slices.items())
        ]
        planned = pending_compactions.get(file_id)
        file_groups.append(FileGroup(partition_path, file_id, tuple(ordered_slices), planned))
    return file_groups


def _base_instant(
    log: LogFile, base_instants: Collection[str], completed_at: CompletionTime
) -> str:
    """Return the base instant of the slice that a log file belongs to, given the known ones.

    The completion time of the delta commit decides, not its requested time: a write that began
    before a compaction was planned but ended after it belongs to the newer slice.
    """
    newest = max(base_instants)
    # Instants of other lengths (14 digits, or none of a clock) do not compare with the newest.
    written_at = completed_at if len(completed_at) == len(newest) else log.instant_time
    if newest <= written_at:
        return newest
    return max((time for time in base_instants if time <= written_at), default=log.instant_time)


def _base_instant_by_plans(
    log: LogFile,
    partition_path: str,
    base_instants: Collection[str],
    compacted_logs: Callable[[str], Mapping[tuple[str, str], Collection[str]]] | None,
) -> str:
    """Return the base instant of the slice of a log file whose delta commit has no completion time.

    A downgrade loses the completion times, as does a table whose archive is gone. The requested
    time decides, unless the plan of a later compaction leaves the log file out: then its delta
    commit completed after it was planned.
    """
    base_instant = max((time for time in base_instants if time <= log.instant_time), default="")
    if not base_instant or compacted_logs is None:
        return base_instant or log.instant_time
    for time in sorted(time for time in base_instants if time > base_instant):
        compacted = compacted_logs(time).get((partition_path, log.file_id))
        if compacted is None or posixpath.basename(log.path) in compacted:
            break
        base_instant = time
    return base_instant
