"""Decode timeline files to values: what a commit or a table service did, or plans to do.

An empty completed file is an action without content, as in Hudi: a failed cleaner may leave one. An
empty file of a commit hides what the commit wrote, and `CommitMetadata.is_empty` says so. A file of
another kind is refused, see `of_kind`: each function that converts a record names its kind.

Table services record full paths, of which only the file names are kept: the table may have been
moved since.
"""

from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fastavro.schema import SchemaParseException

from hudi_pyspark import thresholds
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.format.timeline.instant import WriteOperationType
from hudi_pyspark.format.timeline.instant_body import (
    AVRO_MAGIC,
    UNDECODABLE,
    body_parser,
    get_list,
    get_required,
    get_value,
    of_kind,
    read_ends,
    undecodable_as_corrupt,
)


@dataclass(slots=True, unsafe_hash=True)
class WriteStat:
    """What one commit recorded about one file.

    Not frozen, because creating frozen instances takes longer. Treat as immutable.
    """

    file_id: str
    path: str  # relative to the base path; "" while the commit is pending
    prev_commit: str | None  # of a delta commit up to table version 7: base instant of the slice
    num_writes: int
    num_deletes: int
    num_update_writes: int
    num_inserts: int
    total_write_bytes: int
    total_write_errors: int
    file_size: int  # bytes at the commit; up to table version 7 a log file may grow later
    base_file: str | None  # of a log file: name of its base file; recorded up to table version 7
    log_files: tuple[str, ...]  # of a log file: names of all in its slice, in no order; else ()
    cdc_files: tuple[tuple[str, int], ...]  # path relative to the base path, size in bytes

    @property
    def file_name(self) -> str:
        """The name of the file, without its folder."""
        return self.path.rpartition("/")[2]


@dataclass(slots=True, unsafe_hash=True)
class CommitMetadata:
    """What one commit recorded about the table.

    Not frozen, because creating frozen instances takes longer. Treat as immutable.
    """

    write_stats: Mapping[str, tuple[WriteStat, ...]] = field(default_factory=dict)  # by partition
    replaced_file_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by partition
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    operation_type: WriteOperationType = WriteOperationType.UNKNOWN
    # One of the write stats, if it takes long to decode all of them.
    sample: WriteStat | None = field(default=None, compare=False)
    # Whether the file has no content: usual until a commit completes, and damage afterwards.
    is_empty: bool = field(default=False, compare=False)

    @property
    def schema_text(self) -> str | None:
        """The table's Avro schema (JSON, without meta fields), if the commit recorded one."""
        return self.extra_metadata.get("schema") or None

    @property
    def internal_schema_text(self) -> str | None:
        """The table's internal schema (JSON) as of this commit; None without schema on read."""
        return self.extra_metadata.get("latest_schema") or None

    def all_stats(self) -> Iterator[tuple[str, WriteStat]]:
        """Yield each write stat with its partition path."""
        for partition_path, stats in self.write_stats.items():
            for stat in stats:
                yield partition_path, stat


@of_kind("commit metadata", "partitionToWriteStats")
def commit_metadata_of(record: Mapping[str, Any]) -> CommitMetadata:
    """Convert a decoded record to commit metadata; absent fields are empty.

    Raises:
        ValueError: it is of another kind, or a field has another type.
    """
    stats = get_value(record, "partitionToWriteStats", dict)
    replaced = get_value(record, "partitionToReplaceFileIds", dict)
    extra = get_value(record, "extraMetadata", dict)
    return CommitMetadata(
        write_stats={
            partition: tuple([_write_stat(stat) for stat in get_list(stats, partition, dict)])
            for partition in stats
        },
        replaced_file_ids={
            partition: tuple(get_list(replaced, partition, str)) for partition in replaced
        },
        extra_metadata={key: get_value(extra, key, str) for key in extra if extra[key] is not None},
        operation_type=WriteOperationType.parse(get_value(record, "operationType", str)),
        is_empty=not record,
    )


_replace_metadata_of = of_kind("metadata of a replacecommit", "partitionToReplaceFileIds")(
    commit_metadata_of
)


def parse_commit_metadata(body: bytes, *, path: str) -> CommitMetadata:
    """Decode the file of a commit in any state; an empty file gives empty metadata.

    Most queries need only the schema of a large commit and one of its files, so its write stats are
    decoded on first use. Source: Hudi's HoodieCommitMetadata.

    Raises:
        CorruptTimelineError: the bytes are not commit metadata. The write stats of a large file
            raise it on first use.
    """
    return _parse_commit(commit_metadata_of, body, path)


def parse_replace_metadata(body: bytes, *, path: str) -> CommitMetadata:
    """Decode the file of a completed replacecommit like `parse_commit_metadata`.

    Source: Hudi's HoodieReplaceCommitMetadata.

    Raises:
        CorruptTimelineError: also if the file does not say which file groups were replaced.
    """
    return _parse_commit(_replace_metadata_of, body, path)


def _parse_commit(
    metadata_of: Callable[[Mapping[str, Any]], CommitMetadata], body: bytes, path: str
) -> CommitMetadata:
    parse_whole = partial(body_parser(metadata_of), body, path=path)
    if len(body) < thresholds.LARGE_COMMIT or not body.startswith(AVRO_MAGIC):
        return parse_whole()
    try:
        item, record = read_ends(body)
        sample = _write_stat(item)
    except (*UNDECODABLE, TypeError, StopIteration, SchemaParseException):
        return parse_whole()
    with undecodable_as_corrupt(path):
        metadata = metadata_of(record)
    if not metadata.schema_text:
        return parse_whole()
    return replace(metadata, write_stats=_LazyStats(body, path), sample=sample)


class _LazyStats(PickledWithoutCache, UserDict[str, tuple[WriteStat, ...]]):
    def __init__(self, body: bytes, path: str) -> None:
        self._body = body
        self._path = path

    @cached_property
    def data(self) -> Mapping[str, tuple[WriteStat, ...]]:  # type: ignore[override]
        return body_parser(commit_metadata_of)(self._body, path=self._path).write_stats


def _write_stat(stat: Mapping[str, Any]) -> WriteStat:
    prev_commit = get_value(stat, "prevCommit", str)
    cdc_stats = get_value(stat, "cdcStats", dict)
    return WriteStat(
        file_id=get_value(stat, "fileId", str),
        path=get_value(stat, "path", str),
        # A file without a predecessor has the text "null".
        prev_commit=None if prev_commit in ("", "null") else prev_commit,
        num_writes=get_value(stat, "numWrites", int),
        num_deletes=get_value(stat, "numDeletes", int),
        num_update_writes=get_value(stat, "numUpdateWrites", int),
        num_inserts=get_value(stat, "numInserts", int),
        total_write_bytes=get_value(stat, "totalWriteBytes", int),
        total_write_errors=get_value(stat, "totalWriteErrors", int),
        file_size=get_value(stat, "fileSizeInBytes", int),
        base_file=get_value(stat, "baseFile", str) or None,
        log_files=tuple(get_list(stat, "logFiles", str)),
        cdc_files=tuple((path, get_value(cdc_stats, path, int)) for path in cdc_stats),
    )


@dataclass(frozen=True, slots=True)
class PlannedSlice:
    """One file slice that a compaction or clustering plan rewrites."""

    partition_path: str
    file_id: str
    log_file_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplacePlan:
    """The plan of a requested replacecommit or clustering."""

    operation_type: WriteOperationType
    input_groups: tuple[tuple[PlannedSlice, ...], ...]  # each is clustered together

    @property
    def is_clustering(self) -> bool:
        """Whether this is a clustering; before layout 2, insert overwrites have the same action."""
        return self.operation_type is WriteOperationType.CLUSTER

    def all_slices(self) -> Iterator[PlannedSlice]:
        """Yield the slices of all groups."""
        for group in self.input_groups:
            yield from group


@dataclass(frozen=True, slots=True)
class CleanedPartition:
    """The files that a clean removed from one partition."""

    partition_path: str
    deleted_files: tuple[str, ...]  # names
    undeleted_files: tuple[str, ...]  # names of files that could not be deleted
    policy: str = ""  # Hudi's name of the rule by which it chose files


@dataclass(frozen=True, slots=True)
class CleanMetadata:
    """The files that a clean removed, and the earliest commit of which all files remain."""

    earliest_commit_to_retain: str | None  # None if the policy counts file versions
    last_completed_commit: str | None
    partitions: tuple[CleanedPartition, ...]
    milliseconds: int = 0  # that it took


@dataclass(frozen=True, slots=True)
class RolledBackPartition:
    """The files that a rollback removed and wrote in one partition."""

    partition_path: str
    deleted_files: tuple[str, ...]  # names
    rollback_log_files: tuple[str, ...]  # names of log files that got a rollback block


@dataclass(frozen=True, slots=True)
class RollbackMetadata:
    """The instants that a rollback or restore undid, and how."""

    rolled_back_times: tuple[str, ...]  # of a restore, newest first
    partitions: tuple[RolledBackPartition, ...]
    milliseconds: int = 0  # that it took


@dataclass(frozen=True, slots=True)
class SavepointMetadata:
    """The files that a savepoint protects from cleaning."""

    file_names: Mapping[str, tuple[str, ...]]  # by partition path
    saved_by: str = ""
    saved_at_ms: int = 0  # milliseconds since the epoch; 0 if it is not recorded
    comments: str = ""


def parse_compaction_plan(body: bytes, *, path: str) -> tuple[PlannedSlice, ...]:
    """Decode the slices in the requested file of a compaction or log compaction.

    Raises:
        CorruptTimelineError: the file is not a plan, or it is empty. The plan says which log files
            belong to which slice, so an empty one cannot be ignored.
    """
    if not body:
        raise CorruptTimelineError(path, "expected a compaction plan, found an empty file")
    return _parse_operations(body, path=path)


@body_parser
@of_kind("a compaction plan", "operations")
def _parse_operations(record: Mapping[str, Any]) -> tuple[PlannedSlice, ...]:
    return tuple(map(_planned_slice, get_list(record, "operations", dict)))


@body_parser
@of_kind("the plan of a replacecommit", "clusteringPlan", "operationType")
def parse_replace_plan(record: Mapping[str, Any]) -> ReplacePlan:
    """Decode the requested file of a replacecommit or clustering; old overwrites leave it empty."""
    groups = get_list(get_value(record, "clusteringPlan", dict), "inputGroups", dict)
    return ReplacePlan(
        operation_type=WriteOperationType.parse(get_value(record, "operationType", str)),
        input_groups=tuple(tuple(map(_planned_slice, get_list(g, "slices", dict))) for g in groups),
    )


@of_kind("the metadata of a clean", "earliestCommitToRetain")
def clean_metadata_of(record: Mapping[str, Any]) -> CleanMetadata:
    """Convert a decoded record to a completed clean.

    Raises:
        ValueError: a field has another type.
    """
    return CleanMetadata(
        earliest_commit_to_retain=get_value(record, "earliestCommitToRetain", str) or None,
        last_completed_commit=get_value(record, "lastCompletedCommitTimestamp", str) or None,
        partitions=tuple(
            CleanedPartition(
                partition_path=partition_path,
                deleted_files=_file_names(cleaned, "successDeleteFiles"),
                undeleted_files=_file_names(cleaned, "failedDeleteFiles"),
                policy=get_value(cleaned, "policy", str),
            )
            for partition_path, cleaned in _partitions(record)
        ),
        milliseconds=get_value(record, "timeTakenInMillis", int),
    )


parse_clean_metadata = body_parser(clean_metadata_of)


@of_kind("the metadata of a rollback", "commitsRollback")
def rollback_metadata_of(record: Mapping[str, Any]) -> RollbackMetadata:
    """Convert a decoded record to a completed rollback.

    Raises:
        ValueError: a field has another type.
    """
    return RollbackMetadata(
        rolled_back_times=tuple(get_list(record, "commitsRollback", str)),
        partitions=tuple(
            RolledBackPartition(
                partition_path=partition_path,
                deleted_files=_file_names(undone, "successDeleteFiles"),
                rollback_log_files=_file_names(undone, "rollbackLogFiles"),
            )
            for partition_path, undone in _partitions(record)
        ),
        milliseconds=get_value(record, "timeTakenInMillis", int),
    )


parse_rollback_metadata = body_parser(rollback_metadata_of)


@body_parser
@of_kind("the plan of a rollback or restore", "instantToRollback", "instantsToRollback")
def parse_rollback_plan(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Decode the requested times of the instants that a requested rollback or restore will undo."""
    one = get_value(record, "instantToRollback", dict)
    instants = [one] if one else get_list(record, "instantsToRollback", dict)
    return tuple(get_required(instant, "commitTime", str) for instant in instants)


@body_parser
@of_kind("the metadata of a restore", "hoodieRestoreMetadata")
def parse_restore_metadata(record: Mapping[str, Any]) -> RollbackMetadata:
    """Decode a completed restore, with the partitions of all its rollbacks."""
    restored = get_value(record, "hoodieRestoreMetadata", dict)
    rollbacks = (rollback for time in restored for rollback in get_list(restored, time, dict))
    return RollbackMetadata(
        rolled_back_times=tuple(get_list(record, "instantsToRollback", str)),
        partitions=tuple(p for r in rollbacks for p in rollback_metadata_of(r).partitions),
        milliseconds=get_value(record, "timeTakenInMillis", int),
    )


@body_parser
@of_kind("the metadata of a savepoint", "savepointedBy")
def parse_savepoint_metadata(record: Mapping[str, Any]) -> SavepointMetadata:
    """Decode a completed savepoint."""
    return SavepointMetadata(
        file_names={
            partition_path: _file_names(saved, "savepointDataFile")
            for partition_path, saved in _partitions(record)
        },
        saved_by=get_value(record, "savepointedBy", str),
        saved_at_ms=get_value(record, "savepointedAt", int),
        comments=get_value(record, "comments", str),
    )


def _planned_slice(record: Mapping[str, Any]) -> PlannedSlice:
    return PlannedSlice(
        partition_path=get_value(record, "partitionPath", str),
        file_id=get_required(record, "fileId", str),
        log_file_names=_file_names(record, "deltaFilePaths"),
    )


def _partitions(record: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    by_path = get_value(record, "partitionMetadata", dict)
    return ((path, get_value(by_path, path, dict)) for path in by_path)


def _file_names(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the file names of the paths in a list, or in the keys of a map."""
    paths = record.get(name)
    paths = paths if isinstance(paths, dict) else tuple(get_list(record, name, str))
    return tuple(path.rpartition("/")[2] for path in paths)
