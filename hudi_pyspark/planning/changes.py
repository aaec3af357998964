"""Plan the changes of a commit range (CDC): one task per commit and file group.

Where the changes of a file group come from depends on what the commit wrote to it:

    a CDC log file        its records; images that it lacks come from the slices before and after
    a log file            the log records, compared with the slice before
    a base file           all of its rows are inserts; or, if it has none, all rows before deletes
    nothing: replaced     all rows of the slice before are deletes
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timezone

import pyarrow as pa

from hudi_pyspark import errors
from hudi_pyspark.format.data_files import is_log_file_name
from hudi_pyspark.format.timeline.instant import WriteOperationType, moment_of
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, WriteStat
from hudi_pyspark.messages import logger, warn
from hudi_pyspark.options.option import OnMissing
from hudi_pyspark.planning.commit_range import RequestedRange, unknown_writes
from hudi_pyspark.table.cdc_format import CdcFormat
from hudi_pyspark.table.file_group import FileSlice, LogFile
from hudi_pyspark.table.view import TableView
from hudi_pyspark.tasks import CHANGELOG_COLUMNS, CdcTask, ChangeSource, ScanTask, data_columns

# Makes the scan tasks of file slices, as of the newest instant that counts.
PlanSlices = Callable[[list[FileSlice], str], list[ScanTask]]

_log = logger(__name__)

# Operations that change no rows. An unknown operation is refused if it wrote files.
_MOVING = frozenset({"UNKNOWN", "ALTER_SCHEMA", "BUCKET_RESCALE"})


def check_changes(requested: RequestedRange) -> None:
    """Refuse a query of changes that the table cannot answer.

    Raises:
        UnsupportedTableError: the table does not log changes, or has no record keys by which images
            are found.
        InvalidInstantError: the range ends before it begins.
        IncrementalRangeError: the range begins after the last commit, and ``on_missing=fail``.
    """
    requested.check_bounds()
    config = requested.view.config
    if not config.cdc_enabled:
        raise errors.UnsupportedTableError(
            f"{requested.view.storage.describe('')} does not log changes "
            "(hoodie.table.cdc.enabled is not true), so there are no before and after images. Read "
            "the latest rows of the range instead (cdc=false)"
        )
    needs_keys = config.is_merge_on_read or config.cdc_logging_mode != "DATA_BEFORE_AFTER"
    if needs_keys and not config.populate_meta_fields:
        raise errors.UnsupportedTableError(
            "images are found by the column _hoodie_record_key, which the table does not have "
            "(hoodie.populate.meta.fields=false)"
        )


def changes_schema(table_schema: pa.Schema, cdc_format: CdcFormat) -> pa.Schema:
    """Return the columns of changes.

    These are ``op``, ``ts_ms``, ``before`` and ``after``. Of a changelog they are the data columns
    and `CHANGELOG_COLUMNS`.

    Raises:
        UnsupportedTableError: a data column has the name of a column of changelogs.
    """
    images = data_columns(table_schema)
    match cdc_format:
        case CdcFormat.JSON:
            return _with_images(pa.string())
        case CdcFormat.STRUCT:
            return _with_images(pa.struct(list(images)))
        case CdcFormat.CHANGELOG:
            if taken := {*images.names} & {*CHANGELOG_COLUMNS.names}:
                raise errors.UnsupportedTableError(
                    f"the table has a column {min(taken)}, which is a column of changelogs as "
                    "well. Read the changes with cdc_format=struct"
                )
            return pa.schema([*images, *CHANGELOG_COLUMNS])


def _with_images(image: pa.DataType) -> pa.Schema:
    return pa.schema({"op": pa.string(), "ts_ms": pa.string(), "before": image, "after": image})


def plan_changes(
    requested: RequestedRange, table_schema: pa.Schema, plan: PlanSlices
) -> list[CdcTask]:
    """Make one task per commit and file group, in order of commits.

    Begin and end are compared with requested times on every table version. Only the offsets of a
    stream are completion times, from version 8 on.

    Args:
        requested: the range; without an end it ends with the last commit.
        table_schema: the columns of the table; images have those that are not meta columns.
        plan: makes scan tasks of all columns.

    Raises:
        IncrementalRangeError: the range begins before the active timeline, its commits are still
            pending, or files are gone.
        CorruptTableError: the table does not have what a commit recorded.
        UnsupportedTableError: a commit does not record its operation.

    Source: Hudi's CDC reader, HoodieCDCExtractor.
    """
    view = requested.view
    options = requested.options
    times = requested.times
    is_old = not view.config.has_completion_times
    end = requested.end_before_hollow_commits() if is_old else requested.end
    begin = options.begin
    moved = ""  # why the changes begin later than requested; "" if not
    in_range = [time for time in times if begin < times[time] <= end]
    if archived := requested.archived(end) or requested.archived_in_gap(in_range, begin, end):
        begin = max(archived.values())
        moved = f"commit {min(archived)} is archived and its changes are gone"
        if options.on_missing is not OnMissing.EARLIEST:
            raise errors.IncrementalRangeError(
                f"the range begins at {options.begin}, but {moved}. Begin at {begin} or later "
                "(on_missing=earliest does)"
            )
    answer = changes_schema(table_schema, options.cdc_format)
    images = data_columns(table_schema)
    planner = _ChangePlanner(view, plan, options.cdc_format, images, answer)
    tasks: list[CdcTask] = []
    for time in sorted((t for t in times if begin < times[t] <= end), key=lambda t: times[t]):
        try:
            tasks += list(planner.commit_tasks(time))
        except errors.IncrementalRangeError as error:  # noqa: PERF203  (commits are few)
            if options.on_missing is not OnMissing.EARLIEST:
                raise
            tasks = []
            begin = times[time]
            moved = error.reason()
    if moved:
        warn(
            f"changes after {options.begin}: they begin at {begin}, later than requested, since "
            f"{moved} (on_missing=fail refuses)",
        )
    tasks = [t for t in tasks if requested.matches_glob(_task_paths(t))]
    _log.info("changes after %s up to %s, inclusive: %d tasks", begin, end, len(tasks))
    return tasks


def _task_paths(task: CdcTask) -> list[str]:
    slices = [scan.file_slice for scan in (task.before, task.after) if scan is not None]
    return [f.path for f in task.cdc_files] + [f.path for s in slices for f in s.files]


@dataclass(frozen=True)
class _ChangePlanner:
    """Finds where the changes of each commit come from."""

    view: TableView
    plan: PlanSlices
    cdc_format: CdcFormat
    images: pa.Schema
    answer: pa.Schema
    # What each commit wrote, by partition path and file id.
    slices_of_commit: dict[str, dict[tuple[str, str], FileSlice]] = field(default_factory=dict)

    def commit_tasks(self, time: str) -> Iterator[CdcTask]:
        """Yield the tasks of a commit, given its requested time."""
        metadata = self.view.history.metadata(time)
        if metadata.is_empty:
            raise self._gone(time, unknown_writes(self.view.history.empty_commits([time])))
        if metadata.operation_type is WriteOperationType.UNKNOWN and any(metadata.all_stats()):
            raise errors.UnsupportedTableError(
                f"commit {time} does not record its operation, so it is unclear whether it changed "
                "rows or only rewrote them. Begin the range after it"
            )
        if metadata.operation_type in _MOVING or metadata.operation_type.is_table_service:
            return
        for partition, stats in metadata.write_stats.items():
            for file_id, group in _by_file_id(stats).items():
                yield self._group_task(time, metadata, partition, file_id, group)
        for partition, file_ids in metadata.replaced_file_ids.items():
            for file_id in file_ids:
                before = self._before(time, partition, file_id, must_exist=False)
                if before is None and self.view.history.archived_times:
                    # An archived commit may have written the group, and the cleaner removed it.
                    before = self._before(time, partition, file_id, must_exist=True)
                if before is not None:
                    yield self._task(ChangeSource.REPLACED, time, before)

    def _group_task(
        self,
        time: str,
        metadata: CommitMetadata,
        partition: str,
        file_id: str,
        stats: Sequence[WriteStat],
    ) -> CdcTask:
        written = [file for stat in stats for file in stat.cdc_files]
        cdc_files = tuple(
            LogFile(path, file_id, time, 0, "", size, committed_size=size) for path, size in written
        )
        before = None
        after = None
        stat = stats[0]
        if cdc_files:
            source = ChangeSource.CDC_LOG
            mode = self.view.config.cdc_logging_mode
            self._check_cdc_files(time, partition, [file.path for file in cdc_files])
            if mode == "OP_KEY_ONLY":
                has_older = any(_has_older_version(stat, time) for stat in stats)
                before = self._before(time, partition, file_id, must_exist=has_older)
            if mode != "DATA_BEFORE_AFTER":
                after = self._after(time, partition, file_id)
        elif is_log_file_name(stat.file_name):
            source = ChangeSource.LOG_FILE
            if file_id not in metadata.replaced_file_ids.get(partition, ()):
                before = self._before(time, partition, file_id, must_exist=False)
            after = self._after(time, partition, file_id)
        elif _removes_all_rows(metadata, stat, time):
            source = ChangeSource.BASE_FILE_DELETE
            before = self._before(time, partition, file_id, must_exist=True)
        elif _has_only_inserts(stat, time):
            source = ChangeSource.BASE_FILE_INSERT
            after = self._after(time, partition, file_id)
        else:
            raise errors.CorruptTableError(
                f"commit {time} updated or deleted rows in {stat.path}, but did not write a CDC "
                "log file, so the changes of the range are unknown"
            )
        return self._task(source, time, before, after, cdc_files)

    def _task(
        self,
        source: ChangeSource,
        time: str,
        before: ScanTask | None,
        after: ScanTask | None = None,
        cdc_files: tuple[LogFile, ...] = (),
    ) -> CdcTask:
        moment = moment_of(time)
        if moment is not None:
            # The zone of a LOCAL timeline is not recorded: as in Apache Hudi, it is that of here.
            is_utc = self.view.config.timeline_timezone == "UTC"
            moment = moment.replace(tzinfo=timezone.utc) if is_utc else moment.astimezone()
        return CdcTask(
            source,
            time,
            self.images,
            self.answer,
            before,
            after,
            cdc_files,
            cdc_format=self.cdc_format,
            moment=moment,
        )

    def _before(
        self, time: str, partition: str, file_id: str, *, must_exist: bool
    ) -> ScanTask | None:
        """Plan the file group as it was before a commit; None if it did not exist.

        Raises:
            IncrementalRangeError: its files are gone, or it ``must_exist`` and does not.
        """
        try:
            file_slice = self.view.slices.before(time, partition, file_id)
        except errors.MissingFileError as error:
            raise self._gone(time, error.reason()) from error
        if file_slice is None:
            if must_exist:
                reason = f"no file is left of group {file_id} in {partition!r} as it was before"
                raise self._gone(time, reason)
            return None
        return self.plan([file_slice], self.view.history.instant_before(time))[0]

    def _after(self, time: str, partition: str, file_id: str) -> ScanTask:
        """Plan only what a commit wrote to a file group.

        Raises:
            IncrementalRangeError: the files are gone.
        """
        if time not in self.slices_of_commit:
            try:
                slices = self.view.slices.written_by([time])
            except errors.MissingFileError as error:
                raise self._gone(time, error.reason()) from error
            self.slices_of_commit[time] = {(s.partition_path, s.file_id): s for s in slices}
        file_slice = self.slices_of_commit[time].get((partition, file_id))
        if file_slice is None:
            raise errors.CorruptTableError(
                f"commit {time} wrote no visible file of group {file_id} in {partition!r}"
            )
        return self.plan([file_slice], time)[0]

    def _check_cdc_files(self, time: str, partition: str, paths: Sequence[str]) -> None:
        listed_names = {file.name for file in self.view.listing.files([partition])[partition]}
        if not listed_names.issuperset(path.rpartition("/")[2] for path in paths):
            # Metadata tables that Flink writes lack CDC log files.
            listed_names = {file.name for file in self.view.storage.list_directory(partition)}
        for path in paths:
            if path.rpartition("/")[2] not in listed_names:
                place = self.view.storage.describe(path)
                problem = "is a CDC log file, and not on the storage"
                raise self._gone(time, errors.MissingFileError(problem, place).reason())

    def _gone(self, time: str, reason: str) -> errors.IncrementalRangeError:
        return errors.IncrementalRangeError(
            f"the changes of commit {time} are no longer known: {reason}. Begin the range "
            f"at {time} or later (on_missing=earliest does)"
        )


def _has_older_version(stat: WriteStat, time: str) -> bool:
    return stat.prev_commit not in (None, time)


def _removes_all_rows(metadata: CommitMetadata, stat: WriteStat, time: str) -> bool:
    """Decide whether a commit left a base file without rows by deleting those that were there.

    Upserts with a delete marker do so as well. Their new files may be empty from the beginning.
    """
    had_rows = metadata.operation_type.is_delete or _has_older_version(stat, time)
    return had_rows and not stat.num_writes and stat.num_deletes > 0


def _has_only_inserts(stat: WriteStat, time: str) -> bool:
    """Decide whether all rows of a base file are new, and its commit removed no row.

    Deletes among the inserts of a new file remove nothing.
    """
    removes = stat.num_deletes and _has_older_version(stat, time)
    return not removes and not stat.num_update_writes and stat.num_writes == stat.num_inserts


def _by_file_id(stats: Sequence[WriteStat]) -> dict[str, list[WriteStat]]:
    groups: dict[str, list[WriteStat]] = {}
    for stat in stats:
        if stat.path and stat.file_id:
            groups.setdefault(stat.file_id, []).append(stat)
    return groups
