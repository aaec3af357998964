"""`Inspection`: Arrow tables about a table."""

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.html_table import html_table
from hudi_pyspark.inspection import commits, services
from hudi_pyspark.inspection.columns import column_statistics
from hudi_pyspark.inspection.files import file_slices, files
from hudi_pyspark.inspection.log_blocks import log_blocks
from hudi_pyspark.inspection.log_records import written_records
from hudi_pyspark.inspection.merged_log_records import merged_records
from hudi_pyspark.inspection.metadata import RECORD_SAMPLE, metadata_records, metadata_validation
from hudi_pyspark.inspection.ranges import commit_range
from hudi_pyspark.inspection.statistics import SMALL_FILE_BYTES, partitions, statistics
from hudi_pyspark.inspection.table_functions import hudi_filesystem_view, hudi_query_timeline
from hudi_pyspark.names_elsewhere import OF_INSPECTION, look_elsewhere
from hudi_pyspark.options.instant_text import local_now
from hudi_pyspark.planning.time_travel import resolve_as_of
from hudi_pyspark.storage.retries import retry_on_corruption
from hudi_pyspark.table.view import TableView


def _with_retries(inspection: type) -> type:
    """Let every public method read once more if it finds damage; its error names the table."""

    def with_retry(method: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
        @wraps(method)
        def run(self: Any, *arguments: Any, **named: Any) -> pa.Table:  # noqa: ANN401  (of any method)
            storage = self._view.storage
            return retry_on_corruption(storage, partial(method, self, *arguments, **named))

        return run

    for name, method in vars(inspection).copy().items():
        if not name.startswith("_"):
            setattr(inspection, name, with_retry(method))
    return inspection


@_with_retries
class Inspection:
    """Tables about a table.

    `HudiTable.inspect` returns it. Instants are text, as in Hudi: ``yyyyMMddHHmmssSSS``. Sizes are
    in bytes. A table without rows has the same columns.

    Every method raises a `HudiError` if the files that it reads are missing or corrupt.
    """

    def __init__(self, view: TableView) -> None:
        self._view = view

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return look_elsewhere(self, name, OF_INSPECTION)

    def _repr_html_(self) -> str:
        """List the tables, with the first line of their descriptions."""
        lines = {n: (f.__doc__ or "").partition("\n")[0] for n, f in INSPECTION_TABLES.items()}
        return html_table("Tables", lines.items())

    def timeline(self, *, archived: bool = True) -> pa.Table:
        """Return all instants, oldest first: one row per action, in the state it has reached.

        Args:
            archived: include archived instants.

        Returns:
            requested_time; completion_time (null while pending and before table version 8);
            action (a completed compaction is a ``commit``); state (``requested``, ``inflight``
            or ``completed``); archived; path (of the instant's file, relative to the table).
        """
        return commits.timeline(self._view, archived=archived)

    def commits(self, *, archived: bool = False) -> pa.Table:
        """Return the completed commits, oldest first, with the number of records and files written.

        Incremental ranges compare ``completion_time`` from table version 8 on and
        ``requested_time`` before; time travel compares ``requested_time``.

        Args:
            archived: include archived commits.

        Returns:
            requested_time; completion_time (null before table version 8); action; operation;
            archived; and over all files of the commit: partitions; files (written, log files
            included); new_files (the first of a file group); records, inserts, updates, deletes;
            errors (records that could not be written); bytes (sizes of the files after the
            commit); written_bytes (by the commit); replaced_file_groups; milliseconds (from
            request to completion; null before table version 8); extra_metadata (other keys and
            values of the commit, such as checkpoints of Hudi Streamer and Flink; no schemas).
        """
        return commits.commits(commits.known_commits(self._view, archived=archived))

    def commit_files(self, instant: str) -> pa.Table:
        """Return the write statistics of one commit, one row per file.

        Args:
            instant: requested or completion time of a completed or archived commit.

        Returns:
            requested_time; completion_time; action; partition_path; file_id; path; kind (``base``,
            ``log``); previous_commit (null for the first of a file group); records (written into
            the file); inserts, updates, deletes; errors; bytes (size of the file after the
            commit); written_bytes; cdc_files (paths of CDC log files).

        Raises:
            InvalidInstantError: there is no such commit.
        """
        return commits.commit_files(self._view, instant)

    def file_slices(self, as_of: str | None = None, *, older: bool = False) -> pa.Table:
        """Return the file slices of the table, even if files are missing.

        Args:
            as_of: instant, inclusive, in the formats of a time-travel query; the latest by default.
            older: include superseded and replaced slices that still have files.

        Returns:
            partition_path; file_id; base_instant_time; base_file (path; null if there are only log
            files); base_bytes; log_files (paths, in the order in which they apply);
            log_count; log_bytes; log_to_base_ratio (of bytes; null without a base
            file); missing_files (paths that commits name and the storage lacks; up
            to table version 7 an appending writer may have put their blocks into another log file
            of the slice); is_latest (false only for older slices).

        Raises:
            InvalidInstantError: `as_of` is not an instant.
            TimeTravelError: the table's state at that instant is no longer known.
        """
        instant = resolve_as_of(as_of, self._view, local_now()) if as_of is not None else None
        return file_slices(self._view, instant, older=older)

    def files(self) -> pa.Table:
        """Return every data file on the storage.

        Returns:
            path; partition_path; file_id; kind (``base``, ``log`` or ``cdc``); bytes; modified
            (time of the storage); instant_time (in its name; for a log file up to table version 7,
            the base instant of its slice); committed_by (requested time of the newest commit that
            names it, or of the rollback that wrote it; null if unknown); is_committed (false for
            files of a failed or unfinished write); in_latest_slice.
        """
        return files(self._view, file_slices(self._view))

    def partitions(self) -> pa.Table:
        """Return the partitions, with the number and size of their files.

        Returns:
            partition_path; partition (typed values of the partition columns, null where null and
            other values share the folder; absent in an unpartitioned table); slices, base_files,
            log_files, bytes, log_bytes (of the latest slices); stored_files, stored_bytes (all data
            files on the storage, older ones included); rows (as commits recorded; null if log files
            must be merged to know); last_commit (requested time of the newest commit that wrote one
            of the files).
        """
        slices = file_slices(self._view)
        return partitions(self._view, slices, files(self._view, slices))

    def history(self, file_id: str) -> pa.Table:
        """Return the instants that touched a file group, oldest first, archived ones included.

        Args:
            file_id: id of the file group; see ``file_slices()``.

        Returns:
            requested_time; completion_time; action; operation (of commits); event (``base
            written``, ``log written``, ``replaced``, ``compaction planned``, ``clustering
            planned``, ``file cleaned``, ``file rolled back``, ``rollback block written``);
            partition_path; path; and of written files: records, inserts, updates, deletes, bytes.

        Raises:
            InvalidOptionError: no instant names the file group.
        """
        return services.history(self._view, file_id)

    def log_blocks(self, path: str | None = None) -> pa.Table:
        """Return the blocks of log files, read as far as damage allows.

        Args:
            path: one log file, relative to the table or in full; by default all log files of the
                latest slices.

        Returns:
            path; block (number in its file, from 0); offset (of its first byte); bytes;
            log_format_version (of the frame; null for a native log); type (as Hudi names it;
            ``CORRUPT_BLOCK`` for other bytes); block_version (of the content of Avro data, CDC and
            delete blocks; other content has none); instant_time; is_committed; target_instant_time
            (that a command block rolls back); records (number of decodable records; null for blocks
            without records); is_partial (only changed columns); compacted_instants (merged into the
            block by a log compaction); content_offset; content_bytes; header (as written); problem
            (null for a whole block). Committed bytes that the file lacks are a separate row, with
            block null.

        Raises:
            MissingFileError: the given path does not exist, and no commit names it.
        """
        return log_blocks(self._view, path)

    def log_records(self, path: str, *, merge: bool = False) -> pa.Table:
        """Return the records of a log file, read as far as damage allows.

        Args:
            path: the log file, relative to the table or in full.
            merge: return instead one record per key, merged from all log files of the slice by the
                table's rule, without the base file and without uncommitted, rolled-back and
                damaged blocks.

        Returns:
            path, block, offset (of the block), instant_time and record_number (in the block),
            all null with ``merge``; kind (``data``, ``delete`` or ``damage``); key; is_delete
            (also for data that marks its key as deleted); ordering (text per ordering field);
            problem (in rows of kind ``damage``); record (struct of the table's columns, then of
            those that only the file has; null for deletes).

        Raises:
            MissingFileError: the path does not exist, or with ``merge``, no slice has it.
            InvalidOptionError: ``merge`` with a path that is not a log file of records.
        """
        return merged_records(self._view, path) if merge else written_records(self._view, path)

    def compactions(self) -> pa.Table:
        """Return the compactions and log compactions of the active timeline, oldest first.

        Returns:
            requested_time; completion_time; action (``compaction`` or ``logcompaction``); state;
            partition_paths, slices, log_files (of the plan; null if it is missing);
            written_files, written_bytes, records (null while pending).
        """
        return services.compactions(self._view)

    def clustering(self) -> pa.Table:
        """Return the clusterings of the active timeline, oldest first.

        Returns:
            requested_time; completion_time; state; partition_paths, input_groups, input_slices
            (of the plan; null if it is missing); replaced_file_groups, written_files,
            written_bytes, records (null while pending).
        """
        return services.clustering(self._view)

    def cleans(self, *, archived: bool = False) -> pa.Table:
        """Return the cleans, oldest first.

        Args:
            archived: include archived cleans.

        Returns:
            requested_time; completion_time; state; archived; and for completed ones: policy;
            earliest_commit_to_retain (null if the policy counts versions); last_completed_commit;
            partition_paths; deleted_files, undeleted_files (numbers); milliseconds (duration).
        """
        return services.cleans(self._view, archived=archived)

    def rollbacks(self, *, archived: bool = False) -> pa.Table:
        """Return the rollbacks and restores, oldest first.

        Args:
            archived: include archived rollbacks.

        Returns:
            requested_time; completion_time; action (``rollback`` or ``restore``); state;
            archived; rolled_back (requested times of the instants undone); and for completed ones:
            partition_paths; deleted_files; rollback_blocks (log files with a rollback block, up to
            table version 7); milliseconds (duration).
        """
        return services.rollbacks(self._view, archived=archived)

    def savepoints(self) -> pa.Table:
        """Return the savepoints, oldest first.

        Returns:
            requested_time (of the saved commit); completion_time; state; saved_at;
            saved_by; comments; partition_paths; files (their number).
        """
        return services.savepoints(self._view)

    def commit_range(
        self, begin: str = "earliest", end: str = "", *, cdc: bool = False
    ) -> pa.Table:
        """Return where an incremental query would end: the begin of the next one.

        Args:
            begin: of the query, exclusive.
            end: of the query, inclusive; "" for the latest commit.
            cdc: whether it is a CDC query, which compares requested times.

        Returns:
            begin (in digits); end (as `Scan.end`: a query with this end reads the same commits,
            whatever is written in the meantime); is_empty (the range has no commit).

        Raises:
            InvalidInstantError: `begin` or `end` is not an instant, or they are in the wrong order.
            IncrementalRangeError: the range cannot be answered.
        """
        return commit_range(self._view, begin, end, cdc=cdc)

    def column_statistics(self) -> pa.Table:
        """Return the statistics of each column of each file of the latest slices.

        They come from the metadata table if it has the file, otherwise from the footer of a Parquet
        base file. Other files have no statistics.

        Returns:
            path; partition_path; column (dotted name if nested); min, max (text; null if
            unknown; bytes in hexadecimal); values (nulls included), nulls; bytes,
            uncompressed_bytes (of the column in the file; 0 for log files); source
            (``metadata_table`` or ``parquet_footer``).
        """
        return column_statistics(self._view, file_slices(self._view))

    def metadata_records(self, partition: str | None = None) -> pa.Table:
        """Return the merged records of the metadata table in ``.hoodie/metadata``.

        Args:
            partition: one partition of the metadata table, e.g. ``files``; all by default.

        Returns:
            metadata_partition; file_id (of the metadata table's file group); key; type (``FILES``,
            ``COLUMN_STATS``, …); value (JSON; bytes as base64). No rows if the table has no
            metadata table.

        Raises:
            InvalidOptionError: the table has no such metadata partition.
            CorruptTableError: a file of the metadata table cannot be read.
        """
        return metadata_records(self._view, partition)

    def metadata_validation(self, *, sample: int = RECORD_SAMPLE) -> pa.Table:
        """Return where the metadata table differs from the timeline, the storage and the rows.

        Args:
            sample: approximate number of records to look up in the record index; 0 for none.

        Returns:
            check (``commits`` that it lacks, ``files`` that only one of the two has, ``sizes``, or
            ``record_index``); subject (requested time, path, or record key); metadata_table, table
            (what each has: requested time, bytes, or file group; null for nothing); problem. No
            rows if nothing differs, or if the table has no metadata table.

        Raises:
            CorruptTableError: a file of the metadata table, or of a sampled slice, cannot be read.
        """
        return metadata_validation(self._view, sample)

    def statistics(self, *, small_file_bytes: int = SMALL_FILE_BYTES) -> pa.Table:
        """Return sizes and ratios that show whether a table needs maintenance, in one row.

        Args:
            small_file_bytes: base files below this size are small; by default the size up to which
                Apache Hudi adds records to a file (``hoodie.parquet.small.file.limit``, 100 MiB).

        Returns:
            partitions; of the latest slices: file_groups, base_files, base_bytes, log_files,
            log_bytes, log_to_base_ratio (null without base files), slices_with_logs,
            small_files; of the storage: stored_files, stored_bytes, older_bytes (of older slices,
            kept for time travel until a clean), cdc_bytes (CDC log files), uncommitted_bytes (of
            failed or unfinished writes); of the completed commits of the active timeline: commits,
            changed_records (inserted, updated or deleted by users), written_records (into files,
            also by table services), write_amplification (written_records divided by
            changed_records; null without changes), pending_compactions.
        """
        slices = file_slices(self._view)
        return statistics(self._view, small_file_bytes, slices, files(self._view, slices))

    def properties(self) -> pa.Table:
        """Return ``hoodie.properties`` as written.

        Returns:
            key; value.
        """
        return commits.properties(self._view)

    def schema_history(self) -> pa.Table:
        """Return the changes of the table's columns, oldest first, archived commits included.

        Returns:
            requested_time; completion_time; operation; version_id (of the internal schema; null
            if schema on read never changed the columns); added, dropped, changed
            (columns with types); columns (their number); avro_schema (JSON, without meta columns).
        """
        return commits.schema_history(self._view)

    def hudi_query_timeline(self, *, archived: bool = False) -> pa.Table:
        """Return the instants as Apache Hudi's table function of this name does.

        Args:
            archived: include archived instants.

        Returns:
            Timestamp; Action; State (in capitals); Completion_Time (null while pending and before
            table version 8); File_Name; and of active commits: Total_Bytes_Written,
            Total_Files_Updated, Total_Partitions_Written, Total_Records_Written,
            Total_Updated_Records_Written, Total_Write_Errors. All of these are 0 for archived and
            inflight instants, and -1 for plans and other actions.
        """
        return hudi_query_timeline(self._view, archived=archived)

    def hudi_filesystem_view(self, folders: str = "") -> pa.Table:
        """Return file slices, older ones too, as Apache Hudi's table function of this name does.

        Args:
            folders: a glob of partition paths, in which ``*`` matches no slash. By default only the
                base path counts, in which an unpartitioned table has its files.

        Returns:
            File_ID; Partition_Path; Base_Instant_Time; Base_File_Path (URI; "" if there are only
            log files); Base_File_Size (-1 if there are only log files); Log_File_Count;
            Log_File_Size (of all log files); Log_File_Scheduled (of those whose names have the base
            instant time); Log_File_Unscheduled (of all other log files).

        Raises:
            InvalidOptionError: ``folders`` is not a glob.
        """
        return hudi_filesystem_view(self._view, folders)


INSPECTION_TABLES: dict[str, Callable[..., pa.Table]] = {
    name: method for name, method in vars(Inspection).items() if not name.startswith("_")
}
"""The methods of `Inspection` by name, in its order, which is that of the documentation."""
