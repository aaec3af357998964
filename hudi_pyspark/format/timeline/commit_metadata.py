"""Body of a commit, delta commit or replace commit → write stats, replaced file ids, schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from hudi_pyspark.format.timeline.fields import number, text, texts
from hudi_pyspark.format.timeline.instant_body import decoded_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class WriteOperationType(str, Enum):
    """An operation that writes commits; equal to Hudi's own name for it."""

    UNKNOWN = "UNKNOWN"  # not recorded, or newer than this release
    INSERT = "INSERT"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT = "UPSERT"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    BULK_INSERT = "BULK_INSERT"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    DELETE = "DELETE"
    DELETE_PREPPED = "DELETE_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    DELETE_PARTITION = "DELETE_PARTITION"
    CLUSTER = "CLUSTER"
    COMPACT = "COMPACT"
    LOG_COMPACT = "LOG_COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    BUCKET_RESCALE = "BUCKET_RESCALE"

    def __str__(self) -> str:
        return self.value

    @property
    def is_table_service(self) -> bool:
        """Whether it only rewrote what was there: no rows and no columns changed."""
        return self in (self.CLUSTER, self.COMPACT, self.LOG_COMPACT, self.INDEX)

    @classmethod
    def parse(cls, name: str | None) -> WriteOperationType:
        """Return the operation of that name; UNKNOWN for None and for names of later releases."""
        return _OPERATIONS.get((name or "").upper(), cls.UNKNOWN)


_OPERATIONS = {operation.value: operation for operation in WriteOperationType}


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


def parse_commit_metadata(body: bytes, *, path: str) -> CommitMetadata:
    """Decode a commit's file, in any state; an empty file gives empty metadata."""
    with decoded_body(body, path=path) as record:
        return commit_metadata_of(record)


def commit_metadata_of(record: Mapping[str, Any]) -> CommitMetadata:
    """Return commit metadata of a decoded record: unknown fields are ignored, absent ones empty."""
    return CommitMetadata(
        write_stats={
            partition_path: tuple([_write_stat(stat) for stat in stats])
            for partition_path, stats in (record.get("partitionToWriteStats") or {}).items()
        },
        replaced_file_ids={
            partition_path: texts(file_ids)
            for partition_path, file_ids in (record.get("partitionToReplaceFileIds") or {}).items()
        },
        extra_metadata=_extra_metadata(record.get("extraMetadata") or {}),
        operation_type=WriteOperationType.parse(record.get("operationType")),
    )


def _write_stat(stat: Mapping[str, Any]) -> WriteStat:
    get = stat.get
    prev_commit = get("prevCommit")
    return WriteStat(
        file_id=text(get("fileId")),
        path=text(get("path")),
        # A file without a predecessor has the four letters, not a null.
        prev_commit=None if prev_commit in (None, "null") else text(prev_commit),
        num_writes=number(get("numWrites")),
        num_deletes=number(get("numDeletes")),
        num_update_writes=number(get("numUpdateWrites")),
        num_inserts=number(get("numInserts")),
        total_write_bytes=number(get("totalWriteBytes")),
        total_write_errors=number(get("totalWriteErrors")),
        file_size=number(get("fileSizeInBytes")),
        base_file=text(get("baseFile")) or None,
        log_files=texts(get("logFiles")),
        cdc_files=tuple((path, number(size)) for path, size in (get("cdcStats") or {}).items()),
    )


def _extra_metadata(found: Mapping[str, str | None]) -> dict[str, str]:
    return {key: text(value) for key, value in found.items() if value is not None}
