"""Body of a commit, delta commit or replace commit → write stats, replaced file ids, schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_pyspark.format.timeline.instant import WriteOperationType
from hudi_pyspark.format.timeline.instant_body import (
    body_parser,
    mapping,
    number,
    records,
    text,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class WriteStat:
    """The record of one commit about one file."""

    file_id: str
    path: str  # relative to the base path; "" while the commit is pending
    prev_commit: str | None  # table version <= 7, delta commit: base instant of the slice
    num_writes: int
    num_deletes: int
    num_update_writes: int
    num_inserts: int
    total_write_bytes: int
    total_write_errors: int
    file_size: int  # bytes when the commit was done; up to table version 7 a log file may grow on
    base_file: str | None  # name, below a log file; only recorded up to table version 7
    log_files: tuple[str, ...]  # names of the slice's, in no order; () if it is not a log file
    cdc_files: tuple[tuple[str, int], ...]  # path relative to the base path, size in bytes

    @property
    def file_name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """The record of one commit about the table."""

    write_stats: Mapping[str, tuple[WriteStat, ...]] = field(default_factory=dict)  # by partition
    replaced_file_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by partition
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    operation_type: WriteOperationType = WriteOperationType.UNKNOWN

    @property
    def schema_text(self) -> str | None:
        """The table's Avro schema (JSON, without meta fields), if the commit recorded one."""
        return self.extra_metadata.get("schema") or None

    @property
    def internal_schema_text(self) -> str | None:
        """The table's internal schema (JSON) as of this commit; only with schema on read."""
        return self.extra_metadata.get("latest_schema") or None

    def all_stats(self) -> Iterator[tuple[str, WriteStat]]:
        """Yield each write stat with its partition path."""
        for partition_path, stats in self.write_stats.items():
            for stat in stats:
                yield partition_path, stat


def commit_metadata_of(record: Mapping[str, Any]) -> CommitMetadata:
    """Return commit metadata of a decoded record: unknown fields are ignored, absent ones empty."""
    stats = mapping(record, "partitionToWriteStats")
    replaced = mapping(record, "partitionToReplaceFileIds")
    extra = mapping(record, "extraMetadata")
    return CommitMetadata(
        write_stats={
            partition: tuple([_write_stat(stat) for stat in records(stats, partition)])
            for partition in stats
        },
        replaced_file_ids={partition: texts(replaced, partition) for partition in replaced},
        extra_metadata={key: text(extra, key) for key in extra if extra[key] is not None},
        operation_type=WriteOperationType.parse(text(record, "operationType")),
    )


parse_commit_metadata = body_parser(commit_metadata_of)  # of any state; an empty file is empty


def _write_stat(stat: Mapping[str, Any]) -> WriteStat:
    prev_commit = text(stat, "prevCommit")
    cdc_stats = mapping(stat, "cdcStats")
    return WriteStat(
        file_id=text(stat, "fileId"),
        path=text(stat, "path"),
        # A file without a predecessor has the four letters, not a null.
        prev_commit=None if prev_commit in ("", "null") else prev_commit,
        num_writes=number(stat, "numWrites"),
        num_deletes=number(stat, "numDeletes"),
        num_update_writes=number(stat, "numUpdateWrites"),
        num_inserts=number(stat, "numInserts"),
        total_write_bytes=number(stat, "totalWriteBytes"),
        total_write_errors=number(stat, "totalWriteErrors"),
        file_size=number(stat, "fileSizeInBytes"),
        base_file=text(stat, "baseFile") or None,
        log_files=texts(stat, "logFiles"),
        cdc_files=tuple((path, number(cdc_stats, path)) for path in cdc_stats),
    )
