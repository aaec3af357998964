"""`Inspection`: what happened to a table, and what there is, as Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.inspection import (
    columns,
    commits,
    definition,
    files,
    history,
    logs,
    metadata,
    partitions,
    services,
    statistics,
    timeline,
)
from hudi_pyspark.query.instants import local_now, resolve_as_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_pyspark.table.view import TableView


class Inspection:
    """Tables about a table.

    Build it with `HudiTable.inspect`. All instants are text, as in Hudi: ``yyyyMMddHHmmssSSS``.
    Sizes are bytes. The columns of each table are fixed, also when it has no row.
    """

    def __init__(self, view: TableView) -> None:
        self._view = view

    def timeline(self, *, archived: bool = True) -> pa.Table:
        """All instants, oldest first: one row per action, in the state that it has reached.

        Args:
            archived: also those that have left the active timeline.

        Returns:
            requested_time; completion_time (null while pending and before table version 8);
            action (a completed compaction is a ``commit``); state (``requested``, ``inflight``
            or ``completed``); archived; path (of the file that tells it, relative to the table).
        """
        return timeline.timeline(self._view, archived=archived)

    def commits(self, *, archived: bool = False) -> pa.Table:
        """Completed commits, oldest first, with what each wrote.

        Incremental ranges compare ``completion_time`` from table version 8 on and
        ``requested_time`` before; time travel compares ``requested_time``.

        Args:
            archived: also those that have left the active timeline.

        Returns:
            requested_time; completion_time (null before table version 8); action; operation;
            archived; and over all files of the commit: partitions; files (written, log files
            included); new_files (of file groups that it began); records, inserts, updates,
            deletes; errors (records that could not be written); bytes (sizes of the files after
            the commit); written_bytes (by the commit); replaced_file_groups.
        """
        return commits.commits(self._view, archived=archived)

    def commit_files(self, instant: str) -> pa.Table:
        """What one commit did, one row per write statistic.

        Args:
            instant: requested or completion time of a completed commit, maybe archived.

        Returns:
            requested_time; completion_time; action; partition_path; file_id; path; kind (``base``,
            ``log``); previous_commit (null for the first of a file group); records (written into
            the file); inserts, updates, deletes; errors; bytes (size of the file after the
            commit); written_bytes; cdc_files (paths of files of changes).

        Raises:
            InvalidInstantError: there is no such commit.
        """
        return commits.commit_files(self._view, instant)

    def file_slices(self, as_of: str | None = None, *, older: bool = False) -> pa.Table:
        """The file slices that make up the table; files that are gone are told, not refused.

        Args:
            as_of: instant, inclusive, in the forms of a time-travel query; the latest by default.
            older: all slices that have files, also those that are superseded or replaced.

        Returns:
            partition_path; file_id; base_instant_time; base_file (path; null while there are only
            log files); base_bytes; log_files (paths, in the order in which they apply);
            log_count; log_bytes; missing_files (paths that commits name and the storage lacks; up
            to table version 7 an appending writer may have put their blocks into another log file
            of the slice); is_latest (false only for older slices).

        Raises:
            TimeTravelError: the state at that instant cannot be answered.
        """
        instant = resolve_as_of(as_of, self._view, local_now()) if as_of is not None else None
        return files.file_slices(self._view, instant, older=older)

    def files(self) -> pa.Table:
        """Every data file on the storage.

        Returns:
            path; partition_path; file_id; kind (``base``, ``log`` or ``cdc``); bytes; modified
            (time of the storage); instant_time (of its name: up to table version 7 that of a log
            file is the base instant of its slice); committed_by (requested time of the newest
            commit that names it, or of the rollback that wrote it; null where none is known);
            is_committed (false for what a failed or unfinished write left); in_latest_slice.
        """
        return files.files(self._view)

    def partitions(self) -> pa.Table:
        """Partitions and what they hold.

        Returns:
            partition_path; partition (values of the partition columns, typed; left out where the
            table has none); slices, base_files, log_files, bytes, log_bytes (of the latest
            slices); stored_files, stored_bytes (all data files on the storage, older ones
            included); rows (by what commits say; null where log files have to be merged to
            know); last_commit (requested time of the newest that wrote one of the files).
        """
        return partitions.partitions(self._view)

    def history(self, file_id: str) -> pa.Table:
        """Which instants touched a file group, oldest first, archived ones included.

        Args:
            file_id: of the file group; see ``file_slices()``.

        Returns:
            requested_time; completion_time; action; operation (of commits); event (``base
            written``, ``log written``, ``replaced``, ``compaction planned``, ``clustering
            planned``, ``file cleaned``, ``file rolled back``, ``rollback block written``);
            partition_path; path; and of written files: records, inserts, updates, deletes, bytes.

        Raises:
            InvalidOptionError: no instant tells of such a file group.
        """
        return history.history(self._view, file_id)

    def log_blocks(self, path: str | None = None) -> pa.Table:
        """Blocks of log files, read as far as the files go.

        Args:
            path: of one log file, relative to the table or in full; by default all log files of
                the latest slices.

        Returns:
            path; block (number in its file, from 0); offset (of its first byte); bytes; type (as
            Hudi names it; ``CORRUPT_BLOCK`` for bytes that are no block); instant_time;
            is_committed; target_instant_time (that a command block rolls back); records (that can
            be decoded; null where there are none by nature); is_partial (only changed columns);
            compacted_instants (folded into the block by a log compaction); content_offset;
            content_bytes; header (as written); problem (null for a whole block). What a commit
            wrote and the file does not hold is a row of its own, without block.

        Raises:
            MissingFileError: the given path does not exist.
        """
        return logs.log_blocks(self._view, path)

    def log_records(self, path: str, *, merge: bool = False) -> pa.Table:
        """Records of a log file, read as far as the file goes.

        Args:
            path: of the log file, relative to the table or in full.
            merge: instead, what all log files of its slice say of each key in the end: merged by
                the table's rule, without the base file, uncommitted and rolled-back blocks, and
                damaged ones.

        Returns:
            path, block, offset (of the block), instant_time and record_number (in the block),
            all null with ``merge``; kind (``data``, ``delete`` or ``damage``); key; is_delete
            (also for data that marks its key as deleted); ordering (text per ordering field);
            problem (what is broken, in rows of kind ``damage``); record (struct of the table's
            columns, then of those that only the file has; null for deletes).

        Raises:
            MissingFileError: the path does not exist, or belongs to no slice.
            InvalidOptionError: ``merge`` of a file that is no log file of records.
        """
        return logs.log_records(self._view, path, merge=merge)

    def compactions(self) -> pa.Table:
        """Compactions and log compactions of the active timeline, oldest first.

        Returns:
            requested_time; completion_time; action (``compaction`` or ``logcompaction``); state;
            partition_paths, slices, log_files (that the plan names; null where it is gone);
            written_files, written_bytes, records (null while pending).
        """
        return services.compactions(self._view)

    def clustering(self) -> pa.Table:
        """Clusterings of the active timeline, oldest first.

        Returns:
            requested_time; completion_time; state; partition_paths, input_groups, input_slices
            (of the plan; null where it is gone); replaced_file_groups, written_files,
            written_bytes, records (null while pending).
        """
        return services.clustering(self._view)

    def cleans(self, *, archived: bool = False) -> pa.Table:
        """Cleans, oldest first.

        Args:
            archived: also those that have left the active timeline.

        Returns:
            requested_time; completion_time; state; archived; and of completed ones: policy;
            earliest_commit_to_retain (null if the policy counts versions); last_completed_commit;
            partition_paths; deleted_files, undeleted_files (numbers); milliseconds (it took).
        """
        return services.cleans(self._view, archived=archived)

    def rollbacks(self, *, archived: bool = False) -> pa.Table:
        """Rollbacks and restores, oldest first.

        Args:
            archived: also rollbacks that have left the active timeline.

        Returns:
            requested_time; completion_time; action (``rollback`` or ``restore``); state;
            archived; rolled_back (requested times of what is undone); and of completed ones:
            partition_paths; deleted_files; rollback_blocks (log files that got one, up to table
            version 7); milliseconds (it took).
        """
        return services.rollbacks(self._view, archived=archived)

    def savepoints(self) -> pa.Table:
        """Savepoints, oldest first.

        Returns:
            requested_time (of the commit that is kept); completion_time; state; saved_at;
            saved_by; comments; partition_paths; files (their number).
        """
        return services.savepoints(self._view)

    def column_statistics(self) -> pa.Table:
        """Statistics of each column of each file of the latest slices.

        They come from the metadata table where it has the file, else from the footer of a Parquet
        base file; other files have none.

        Returns:
            path; partition_path; column (dotted name of nested ones); min, max (text; null where
            there is none; bytes in hexadecimal); values (nulls included), nulls; bytes,
            uncompressed_bytes (of the column in the file; 0 for log files); source
            (``metadata_table`` or ``parquet_footer``).
        """
        return columns.column_statistics(self._view)

    def metadata_records(self, partition: str | None = None) -> pa.Table:
        """Records of the metadata table in ``.hoodie/metadata``, merged as Apache Hudi merges them.

        Args:
            partition: of the metadata table, e.g. ``files``; all by default.

        Returns:
            metadata_partition; file_id (of the metadata table's file group); key; type (``FILES``,
            ``COLUMN_STATS``, …); value (JSON; bytes as base64). No rows where the table has no
            metadata table.

        Raises:
            InvalidOptionError: the table has no such metadata partition.
            CorruptTableError: files of the metadata table cannot be read.
        """
        return metadata.metadata_records(self._view, partition)

    def statistics(self, *, small_file_bytes: int = statistics.SMALL_FILE_BYTES) -> pa.Table:
        """Sizes and ratios that tell whether a table needs care, in one row.

        Args:
            small_file_bytes: base files below this are small; by default the limit below which
                Apache Hudi fills files up (``hoodie.parquet.small.file.limit``, 100 MiB).

        Returns:
            partitions; of the latest slices: file_groups, base_files, base_bytes, log_files,
            log_bytes, log_to_base_ratio (null without base files), slices_with_logs,
            small_files; of the storage: stored_files, stored_bytes, older_bytes (of slices that
            are not the latest, kept for time travel until a clean), cdc_bytes (files of changes),
            uncommitted_bytes (left by failed or unfinished writes); of the completed commits of
            the active timeline: commits, changed_records (inserted, updated or deleted by users),
            written_records (into files, by table services too), write_amplification (written by
            changed; null if nothing was changed), pending_compactions.
        """
        return statistics.statistics(self._view, small_file_bytes)

    def properties(self) -> pa.Table:
        """``hoodie.properties`` as found: key; value."""
        return definition.properties(self._view)

    def schema_history(self) -> pa.Table:
        """The table's columns, one row per change, oldest first, archived commits included.

        Returns:
            requested_time; completion_time; operation; version_id (of the internal schema; null
            where columns were never changed with schema on read); added, dropped, changed
            (columns with types); columns (their number); avro_schema (JSON, without meta columns).
        """
        return definition.schema_history(self._view)
