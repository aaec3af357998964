"""The file groups of a table: files on the storage and files of commits, by group and slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, TypeAlias

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.format.data_files import (
    BaseFileFormat,
    BaseFileName,
    LogFileName,
    LogKind,
    is_partition_marker,
    parse_data_file_name,
)
from hudi_pyspark.storage.protocol import FileInfo
from hudi_pyspark.table.file_group import BaseFile, FileGroup, LogFile, group_files
from hudi_pyspark.table.listing import FileListing, PartitionChoice, path_in

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata
    from hudi_pyspark.table.commit_history import CommitHistory
    from hudi_pyspark.table.config import TableConfig

FOREIGN_NAME_ADVICE = (
    "Its rows would be missing from every answer, so the table is not read. Let the writer name "
    "files as Apache Hudi does, or read them as Parquet"
)
_IN_MIXED_TABLES = tuple(
    base_format.suffix for base_format in BaseFileFormat if base_format.counts_in_mixed_tables
)


@dataclass(eq=False)
class FileGroups(PickledWithoutCache):
    """The file groups of a table with all their slices; partitions that `find` lists are kept."""

    history: CommitHistory
    listing: FileListing
    _by_partition: dict[str, dict[str, FileGroup]] = field(default_factory=dict, init=False)
    _lost_bases: set[str] = field(default_factory=set, init=False)  # see `lost_commits`

    @cached_property
    def committed_files(self) -> CommittedFiles:
        """Partition path to file name to what completed commits record of the file."""
        return committed_files(self.history.metadata_of())

    def lost_commits(self) -> set[str]:
        """Return commits that the timeline lacks, although later commits built on their files.

        Nothing is read for it: neither commits nor folders.
        """
        if "committed_files" not in self.__dict__:
            return self._lost_bases
        return self._lost_bases | self.history.lost_among(self.history.metadata_of().values())

    def _note_lost_bases(
        self, all_bases: Iterable[BaseFile], bases: Iterable[BaseFile], logs: Iterable[LogFile]
    ) -> None:
        """Note the commits of base files that do not count, although later log files build on them.

        Writers append to groups that they see; a compaction that is only planned is below its logs.
        """
        planned = {instant.requested_time for instant in self.history.timeline.pending_compactions}
        newest = {log.file_id: log.instant_time for log in sorted(logs, key=_instant_of)}
        based = {base.file_id for base in bases}
        self._lost_bases |= {
            base.instant_time
            for base in all_bases
            if base.instant_time < newest.get(base.file_id, "")
            and base.file_id not in based
            and base.instant_time not in planned
        }

    def _committed_until(self, until: str) -> tuple[CommittedFiles, Collection[str]]:
        """Return what commits up to an instant record of files, and the commits left out of that.

        Commits are left out if the listing has their files as they committed them. From table
        version 8 on, only the newest of the others are read, as many as `CHECKED_COMMITS`. Lost
        files of older commits go unnoticed, as lost files of archived commits do.

        Raises:
            CorruptTimelineError: the metadata of one of the commits cannot be decoded.
        """
        if not self.history.config.has_completion_times:
            return self.committed_files, frozenset()
        all_times = [commit.requested_time for commit in self.history.commits]
        # An earlier state may need files that a clean has removed from the listing since then.
        is_latest = until >= max(all_times, default="")
        recorded = self.listing.recorded_commits() if is_latest else frozenset()
        times = [time for time in all_times if time <= until and time not in recorded]
        times = times[-thresholds.CHECKED_COMMITS :]
        if times == all_times:
            return self.committed_files, recorded
        return committed_files(self.history.metadata_of(times)), recorded

    def all(
        self, choice: PartitionChoice | None = None, until: str | None = None
    ) -> Iterator[FileGroup]:
        """Yield the groups of all partitions, by partition path and file id.

        Files that are lost matter only if one of the newest commits up to ``until`` wrote them;
        None for all commits.
        """
        recorded: Collection[str] = frozenset()
        if until is None:
            committed = self.committed_files
        else:
            committed, recorded = self._committed_until(until)
        # A partition that commits name but the listing does not has lost its files, or its marker.
        paths = sorted(committed) if choice is None else choice.choose(sorted(committed))
        partitions = sorted({*self.listing.partitions(choice), *paths})
        yield from self.of(partitions, committed, recorded=recorded)

    def of_savepoint(
        self, saved: Mapping[str, Collection[str]], choice: PartitionChoice | None = None
    ) -> Iterator[FileGroup]:
        """Yield the groups of a savepoint, by partition path and file id, of its files alone."""
        partitions = sorted(saved) if choice is None else choice.choose(sorted(saved))
        saved_files = {}
        for path in partitions:
            records = self.committed_files.get(path, {})
            saved_files[path] = {name: records.get(name, _UNKNOWN_FILE) for name in saved[path]}
        yield from self.of(partitions, saved_files, only=saved)

    def of(
        self,
        partitions: list[str],
        committed: CommittedFiles,
        only: Mapping[str, Collection[str]] | None = None,
        recorded: Collection[str] = frozenset(),
    ) -> Iterator[FileGroup]:
        """Yield the groups of some partitions; only files named by ``only`` count, if it is given.

        The listing has every file of the commits in ``recorded``, with its size.

        Raises:
            CorruptTableError: a base file that a commit names has no bytes.
            UnsupportedTableError: a commit wrote rows into a file that belongs to no slice.
        """
        history = self.history
        config = self.history.config
        may_count = cache(self._may_count)  # very many files have the same instants
        for partition, files in self.listed(partitions):
            infos = files if only is None else [f for f in files if f.name in only[partition]]
            records = committed.get(partition, {})
            # A base file may be known by the log files on top of it alone: its commit is archived.
            below = {file.base_file for file in records.values()} if only is None else ()
            names = {*records, *below} - {""}
            all_bases, all_logs, others = data_files(
                partition, infos, records, config, recorded, names=names
            )
            self._check_others(partition, others, records, files)
            if repeated := _repeated_instants(all_bases):
                records = {**self._recorded(repeated, partition, infos), **records}
                all_bases, all_logs, _ = data_files(
                    partition, infos, records, config, recorded, names=names
                )
            bases = [base for base in all_bases if may_count(base.instant_time)]
            logs = [log for log in all_logs if may_count(log.instant_time)]
            if len(bases) < len(all_bases):
                self._note_lost_bases(all_bases, bases, logs)
            yield from group_files(
                partition,
                bases,
                logs,
                pending_compactions=history.planned_compactions.get(partition, {}),
                completion_time=(history.completion_time if config.has_completion_times else None),
                compacted_logs=history.compacted_logs,
            )

    def _check_others(
        self,
        partition: str,
        names: Iterable[str],
        committed: Mapping[str, CommittedFile],
        listed_files: Iterable[FileInfo],
    ) -> None:
        """Refuse files that belong to no slice, although a commit wrote rows into them."""
        for name in names:
            if problem := problem_of_name(name, self.history.config):
                file = committed.get(name)
                # What a listing has recorded itself is not in ``committed``. No writer hides files.
                if file is None and name[0] not in "._":
                    file = self.committed_files.get(partition, {}).get(name)
                size = next((info.size for info in listed_files if info.name == name), 0)
                if file is not None and may_lose_rows(problem, file, size):
                    raise UnsupportedTableError(
                        f"commit {file.committed_by} wrote {_path_of(partition, name)}, {problem}",
                        advice=FOREIGN_NAME_ADVICE,
                    )

    def has_data_files(self) -> bool:
        """Return whether any partition lists a data file of Hudi, even of an unknown commit."""
        files = self.listed(self.listing.partitions())
        return any(parse_data_file_name(f.name) for _, listed in files for f in listed)

    def listed(self, partitions: Sequence[str]) -> Iterator[tuple[str, list[FileInfo]]]:
        """Yield partitions with their files; only a few partitions are in memory at a time."""
        for start in range(0, len(partitions), thresholds.PARTITIONS_AT_ONCE):
            some = partitions[start : start + thresholds.PARTITIONS_AT_ONCE]
            files = self.listing.files(some)
            yield from ((partition, files[partition]) for partition in some)

    def _recorded(
        self, times: Collection[str], partition: str, listed_files: Sequence[FileInfo]
    ) -> dict[str, CommittedFile]:
        """Return what the active ones of some commits record of listed files."""
        active = [time for time in times if time in self.history.committed.times]
        files = committed_files(self.history.metadata_of(active)).get(partition, {})
        names = {file.name for file in listed_files}
        return {name: file for name, file in files.items() if name in names}

    def find(self, partition_path: str, file_id: str) -> FileGroup | None:
        """Return a group with all its slices; None if it has no files."""
        by_partition = self._by_partition  # `relist` may replace it in another thread
        groups = by_partition.get(partition_path)
        if groups is None:
            found = self.of([partition_path], self.committed_files)
            groups = {group.file_id: group for group in found}
            by_partition[partition_path] = groups
        return groups.get(file_id)

    def relist(self, partition_path: str, missing_file: str) -> bool:
        """List a partition anew, since a committed file is missing; see `FileListing.relist`."""
        is_relisted = self.listing.relist(partition_path, missing_file)
        if is_relisted:
            # Another thread may still add groups of the earlier listing to the earlier dictionary.
            self._by_partition = {}
        return is_relisted

    def _may_count(self, time: str) -> bool:
        # Up to table version 7 one log file holds blocks of several commits, so that the decision
        # falls block by block, when the file is read; its name says which slice it belongs to.
        # Later an uncommitted file is left out before it can start a slice, which would hide the
        # committed log files that follow it. Concurrent writers that conflict leave these.
        one_commit = self.history.config.has_completion_times
        return not one_commit or time in self.history.committed


@dataclass(frozen=True, slots=True)
class CommittedFile:
    """The record of completed commits about a file."""

    size: int  # bytes, the largest that a completed commit names
    committed_by: str  # requested time of the newest commit that names the file
    first_committed_by: str  # and of the oldest
    rows: int  # that the newest of them wrote into the file
    # Of a log file, up to table version 7: name of the base file below it; "" for none.
    base_file: str = ""
    # Of a log file: whether each commit that names it wrote records or deletes into it.
    is_written: bool = False


CommittedFiles: TypeAlias = Mapping[str, Mapping[str, CommittedFile]]
"""Partition path to file name to what commits record of the file."""

_instant_of = attrgetter("instant_time")
_UNKNOWN_FILE = CommittedFile(0, "", "", 0)
_UNLISTED = FileInfo("", is_directory=False, size=0, modified_ms=0)


def committed_files(commits: Mapping[str, CommitMetadata]) -> CommittedFiles:
    """Map partition and file name to what commits, oldest first, record of each file.

    A file whose path is not in the folder of its partition has "/" and that path for its name.
    """
    files: dict[str, dict[str, CommittedFile]] = {}
    for time, metadata in commits.items():
        for partition, stat in metadata.all_stats():
            for path, size in ((stat.path, stat.file_size), *stat.cdc_files):
                if not path:
                    continue
                files_of_partition = files.setdefault(partition, {})
                folder, _, name = path.rpartition("/")
                if folder != partition:
                    name = f"/{path}"
                new = CommittedFile(0, time, time, 0, is_written=True)
                older = files_of_partition.get(name, new)
                files_of_partition[name] = CommittedFile(
                    max(size, older.size),
                    time,
                    older.first_committed_by,
                    stat.num_writes,
                    stat.base_file or older.base_file,
                    older.is_written and stat.num_writes + stat.num_deletes > 0,
                )
    return files


def by_path(files: CommittedFiles) -> dict[str, CommittedFile]:
    """Return committed files by their paths, which are relative to the base path."""
    return {
        _path_of(partition, name): file
        for partition, named in files.items()
        for name, file in named.items()
    }


def _path_of(partition: str, name: str) -> str:
    return name[1:] if name.startswith("/") else path_in(partition, name)


_OUTSIDE = "which is not in the folder of its partition"


def problem_of_name(name: str, config: TableConfig) -> str:
    """Return why a file that a commit names cannot be read; "" if it can, or is to be ignored.

    The name is that of `committed_files`.
    """
    if name.startswith("/"):
        return _OUTSIDE
    parsed = parse_data_file_name(name)
    if isinstance(parsed, LogFileName) or is_partition_marker(name):
        return ""
    if parsed is None:
        return "whose name is not <file id>_<write token>_<instant>.<extension>"
    if _slice_file_name(name, _extensions(config)) is None:
        return f"but hoodie.table.base.file.format is {config.base_file_format}"
    return ""


def may_lose_rows(problem: str, file: CommittedFile, size: int) -> bool:
    """Return whether a file with a `problem_of_name`, which no slice can have, may have rows.

    ``size`` is that on the storage, 0 if it is not there. The storage is not asked for files
    outside of the folder of their partition: these count as if they had rows.
    """
    return problem == _OUTSIDE or file.rows > 0 or max(file.size, size) > 0


def unreadable_files(files: CommittedFiles, config: TableConfig) -> dict[str, str]:
    """Map the path of each committed file that no slice can have to the reason."""
    return {
        _path_of(partition, name): problem
        for partition, named in files.items()
        for name in named
        if (problem := problem_of_name(name, config))
    }


def as_recorded(log: LogFile, committed: Mapping[str, CommittedFile]) -> LogFile:
    """Return a log file with what commits record under its name; itself if they record nothing."""
    stat = committed.get(log.path.rpartition("/")[2])
    if stat is None:
        return log
    return replace(
        log,
        committed_size=stat.size,
        committed_by=stat.committed_by,
        first_committed_by=stat.first_committed_by,
        is_written=stat.is_written,
    )


def data_files(
    partition: str,
    listed_files: Iterable[FileInfo],
    committed: Mapping[str, CommittedFile],
    config: TableConfig,
    recorded: Collection[str],
    *,
    names: Collection[str],
) -> tuple[list[BaseFile], list[LogFile], list[str]]:
    """Return the base and log files of a partition, and the names of all other files.

    The files are on the storage, or only known by commits, as ``names`` are. The listing has every
    file of the commits in ``recorded``, with its size.

    Raises:
        CorruptTableError: a base file that a commit names has no bytes.
    """
    infos = {file.name: file for file in listed_files}
    extensions = _extensions(config)
    bases: dict[str, BaseFileName] = {}
    logs: dict[str, LogFileName] = {}
    other_names: list[str] = []
    for name in sorted({*infos, *names}):
        parsed = _slice_file_name(name, extensions)
        if parsed is None:
            other_names.append(name)
        elif isinstance(parsed, BaseFileName):
            bases[name] = parsed
        elif config.is_merge_on_read:  # else they are from before the table's type was changed
            logs[name] = parsed
    folder = path_in(partition, "")
    base_files = _base_files(bases, folder, infos, committed, recorded)
    return base_files, _log_files(logs, folder, infos, committed, recorded), other_names


def _base_files(
    names: Mapping[str, BaseFileName],
    folder: str,
    infos: Mapping[str, FileInfo],
    committed: Mapping[str, CommittedFile],
    recorded: Collection[str],
) -> list[BaseFile]:
    """Return base files; of several attempts at one, the one that counts comes last."""
    files: list[BaseFile] = []
    for name, parsed in names.items():
        info = infos.get(name, _UNLISTED)
        is_listed = info is not _UNLISTED
        if is_listed and not info.size and name in committed:
            problem = "a committed base file of 0 bytes. Restore it from a copy"
            raise CorruptTableError(f"{folder}{name}: {problem}")
        instant_time = intern(parsed.instant)  # one text for very many files
        stat = committed.get(name)
        known_size = info.size if instant_time in recorded else 0
        if stat is not None:
            known_size = stat.size
        files.append(
            BaseFile(
                folder + name,
                parsed.file_id,
                instant_time,
                info.size,
                is_listed,
                known_size,
                modified_ms=info.modified_ms,
            )
        )
    # The attempt that a commit names counts; once the commit is archived, at least no attempt that
    # wrote nothing.
    start = len(folder)
    return sorted(files, key=lambda file: (file.path[start:] in committed, file.size > 0))


def _log_files(
    names: Mapping[str, LogFileName],
    folder: str,
    infos: Mapping[str, FileInfo],
    committed: Mapping[str, CommittedFile],
    recorded: Collection[str],
) -> list[LogFile]:
    """Return log files, in order of name."""
    files: list[LogFile] = []
    for name, parsed in names.items():
        info = infos.get(name, _UNLISTED)
        instant_time = intern(parsed.instant)  # one text for very many files
        stat = committed.get(name)
        if stat is None and instant_time in recorded:
            stat = CommittedFile(info.size, instant_time, instant_time, 0)
        stat = stat or _UNKNOWN_FILE
        files.append(
            LogFile(
                path=folder + name,
                file_id=parsed.file_id,
                instant_time=instant_time,
                version=parsed.version,
                write_token=parsed.write_token or "",
                size=info.size,
                committed_size=stat.size,
                is_listed=info is not _UNLISTED,
                committed_by=stat.committed_by,
                first_committed_by=stat.first_committed_by,
                is_written=stat.is_written,
                is_native=bool(parsed.native_extension),
                is_deletes=parsed.kind is LogKind.DELETES,
                modified_ms=info.modified_ms,
            )
        )
    return files


def _repeated_instants(base_files: Sequence[BaseFile]) -> list[str]:
    """Return the instants at which there are several attempts at one base file."""
    counts = Counter((base.file_id, base.instant_time) for base in base_files)
    return sorted({time for (_, time), count in counts.items() if count > 1})


def _extensions(config: TableConfig) -> tuple[str, ...]:
    """Return the extensions of the table's base files, with the dot."""
    own = BaseFileFormat(config.base_file_format).suffix
    return (own, *_IN_MIXED_TABLES) if config.base_file_formats_mixed else (own,)


def _slice_file_name(name: str, extensions: tuple[str, ...]) -> BaseFileName | LogFileName | None:
    """Return a base or log file name that takes part in slices; None for every other file."""
    parsed = parse_data_file_name(name)
    if isinstance(parsed, LogFileName):
        return None if parsed.kind is LogKind.CDC else parsed
    if name.endswith(extensions) or any(extension in name for extension in extensions):
        return parsed
    return None
