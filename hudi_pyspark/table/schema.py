"""The schema of a table: by its commits or its newest data file, and its internal versions."""

from __future__ import annotations

import posixpath
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import orc

from hudi_pyspark.errors import CorruptTableError, HudiError, StorageError, UnsupportedTableError
from hudi_pyspark.format.avro.schema import (
    MILLISECONDS,
    VARIANT,
    arrow_schema,
    column_type,
    parse_schema,
)
from hudi_pyspark.format.column_names import spelled
from hudi_pyspark.format.file_name import is_log_file_name
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.log_block import DATA_BLOCKS
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.format.parquet.checked_file import open_parquet
from hudi_pyspark.format.timeline.internal_schema import parse_internal_schema, parse_schema_history
from hudi_pyspark.storage.remote_file import failures_of
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.listing import list_known_folder
from hudi_pyspark.table.live_blocks import LogFiles
from hudi_pyspark.table.meta_columns import META_COLUMNS, OPERATION_COLUMN
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hudi_pyspark.format.bytes_source import BytesSource
    from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, WriteStat
    from hudi_pyspark.format.timeline.internal_schema import InternalSchema
    from hudi_pyspark.storage import FileInfo, Storage
    from hudi_pyspark.table.view import TableView

_PLAIN_TYPES = frozenset(
    {pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()}
)
SCHEMA_FOLDER = f"{METADATA_FOLDER}/.schema"
_HISTORY_FILE = re.compile(r"(\d+)(?:_\d+)?\.schemacommit")


def resolve_schema(view: TableView, as_of: str | None = None) -> pa.Schema:
    """Return the meta columns, then the table's columns in their order, in types that Spark has.

    All timestamps are in microseconds; see `counts_milliseconds`. Dropped partition columns come
    last, as text.

    Args:
        view: the table.
        as_of: an instant; the schema is the one of the last commit at or before it. Before the
            first commit, and for None, it is the latest.

    Raises:
        UnsupportedTableError: the table has no schema yet, or one with types that cannot be read.
        CorruptTableError: the schema lacks some of the partition columns, and not all of them.
    """
    text = _committed_schema(view, as_of) or view.config.create_schema
    schema = _table_columns(text) if text else view.data_file_schema
    if schema is None:
        raise UnsupportedTableError(
            f"{view.storage.describe('')} has no schema yet: no commit has completed and "
            "hoodie.table.create.schema is not set. Write to the table first"
        )
    shown = pa.schema([as_shown(field) for field in schema])
    schema = _with_meta_columns(shown, view)
    if not view.config.drop_partition_columns:
        return schema
    dropped = [n for n in view.config.partition_fields if spelled(n, schema.names) is None]
    if dropped and len(dropped) != len(view.config.partition_fields):
        raise CorruptTableError(
            "hoodie.datasource.write.drop.partition.columns is true, but the table schema lacks "
            f"only some partition columns: {', '.join(dropped)}"
        )
    return pa.schema([*schema, *(pa.field(name, pa.string()) for name in dropped)])


def _table_columns(text: str) -> pa.Schema:
    """Return the columns that a table shows: vectors and variants, not their bytes."""
    record = parse_schema(text)
    fields = zip(record.fields, arrow_schema(record), strict=True)
    return pa.schema(
        [
            field
            if (data_type := column_type(avro.type, avro.name)) is None
            else field.with_type(data_type)
            for avro, field in fields
        ]
    )


def as_shown(field: pa.Field) -> pa.Field:
    """Return a column as a table shows it: it may be null, and so may all fields in it.

    Timestamps have Spark's unit, and are marked where the table's schema counts milliseconds. A
    writer may declare a column that older rows lack as not null.
    """
    field, data_type = field.with_nullable(True), field.type  # noqa: FBT003
    if pa.types.is_timestamp(data_type) and data_type.unit == "ms":
        return field.with_type(pa.timestamp("us", data_type.tz)).with_metadata(MILLISECONDS)
    if pa.types.is_struct(data_type) and data_type != VARIANT:
        return field.with_type(pa.struct([as_shown(part) for part in data_type]))
    if pa.types.is_list(data_type):
        return field.with_type(pa.list_(as_shown(data_type.value_field)))
    if pa.types.is_map(data_type):
        return field.with_type(pa.map_(data_type.key_field, as_shown(data_type.item_field)))
    return field


def column_defaults(view: TableView, as_of: str | None = None) -> dict[str, pa.Scalar]:
    """Return the defaults of the table schema's columns that are neither null nor missing.

    Only numbers, booleans and text: the payload classes that look at defaults compare by equality,
    and Java objects of other types are never equal to what the schema's JSON holds.
    """
    text = _committed_schema(view, as_of) or view.config.create_schema
    if not text:
        return {}
    record = parse_schema(text)
    types = {field.name: field.type for field in arrow_schema(record)}
    return {
        field.name: pa.scalar(field.default).cast(types[field.name])
        for field in record.fields
        if isinstance(field.default, (bool, int, float, str)) and types[field.name] in _PLAIN_TYPES
    }


def _committed_schema(view: TableView, as_of: str | None) -> str | None:
    times = [c.requested_time for c in view.commits]
    until = [t for t in times if as_of is None or t <= as_of] or times
    schemas = (view.commit_metadata[t].schema_text for t in reversed(until))
    return next(filter(None, schemas), None)


def _with_meta_columns(schema: pa.Schema, view: TableView) -> pa.Schema:
    data = [field for field in schema if field.name not in (*META_COLUMNS, OPERATION_COLUMN)]
    if not view.config.populate_meta_fields:
        return pa.schema(data)
    names = list(META_COLUMNS)
    # hoodie.allow.operation.metadata.field leaves no trace in properties or commits: only the
    # files show whether the column exists (golden table v9_mor_operation_field).
    stored = schema if OPERATION_COLUMN in schema.names else view.data_file_schema
    if stored is not None and OPERATION_COLUMN in stored.names:
        names.append(OPERATION_COLUMN)
    return pa.schema([pa.field(name, pa.string()) for name in names] + data)


def latest_internal_schema(view: TableView, as_of: str | None) -> InternalSchema | None:
    """Return the internal schema of the last commit up to an instant that carries one.

    None where columns were never changed with schema on read: then they match by name. ``as_of``
    None means the latest. Source: Hudi's TableSchemaResolver and InternalSchemaCache.

    Raises:
        CorruptTimelineError: a commit, or the schema that it carries, cannot be decoded.
    """
    has_history = bool(_history_files(view, view.storage.list_directory(SCHEMA_FOLDER)))
    for commit in reversed(view.commits):
        time = commit.requested_time
        if as_of is not None and time > as_of:
            continue
        metadata = view.commit_metadata[time]
        if metadata.internal_schema_text:
            path = instant_path(commit, view.config)
            return parse_internal_schema(metadata.internal_schema_text, path=path)
        # Every change of columns leaves a history file. Without one the last commit that could
        # have changed them speaks for all, so that not every commit is read.
        if not has_history and not metadata.operation_type.is_table_service:
            return None
    return None


def internal_schema_versions(view: TableView) -> tuple[InternalSchema, ...]:
    """Return all known versions of the internal schema, oldest first; one per version id.

    The newest history file of a completed commit holds every version up to it. Commit metadata
    fills in where the history was not written.

    Raises:
        CorruptTimelineError: a commit or the history file cannot be decoded.
    """
    versions: dict[int, InternalSchema] = {}
    known = view.commit_metadata.of(view.commit_metadata)
    for commit in view.commits:
        text = known[commit.requested_time].internal_schema_text
        if text:
            schema = parse_internal_schema(text, path=instant_path(commit, view.config))
            versions[schema.version_id] = schema
    if completed := _history_files(view, list_known_folder(view.storage, SCHEMA_FOLDER)):
        path = f"{SCHEMA_FOLDER}/{max(completed)}"
        for schema in parse_schema_history(view.storage.read_bytes(path), path=path):
            versions[schema.version_id] = schema
    return tuple(versions[version_id] for version_id in sorted(versions))


def _history_files(view: TableView, entries: Sequence[FileInfo]) -> list[str]:
    """Return the names of history files whose instants have completed."""
    matches = [match for file in entries if (match := _HISTORY_FILE.fullmatch(file.name))]
    return [match.group(0) for match in matches if match.group(1) in view.history.committed]


_AVRO_SCHEMA_KEYS = (b"parquet.avro.schema", b"orc.avro.schema")
_FOOTER_READERS: Mapping[str, Callable[[Any], pa.Schema]] = {
    ".parquet": lambda file: open_parquet(file, verify_checksums=False).schema_arrow,
    ".orc": lambda file: orc.ORCFile(file).schema,
}


def newest_data_file_schema(
    storage: Storage, commit_metadata: Mapping[str, CommitMetadata]
) -> pa.Schema | None:
    """Return the columns of the newest readable data file, meta columns included, or None."""
    deletes: list[WriteStat] = []  # of files that have no rows, and no schema
    for time in sorted(commit_metadata, reverse=True):
        sample = commit_metadata[time].sample
        if sample and sample.num_writes and (schema := _file_schema(storage, sample)) is not None:
            return schema
        stats = [stat for _, stat in commit_metadata[time].all_stats() if stat.path]
        # Of base files the footer is enough, so they come before log files, and both by size.
        for stat in sorted(stats, key=lambda s: (is_log_file_name(s.file_name), s.file_size)):
            if stat.num_deletes and not stat.num_writes:
                deletes.append(stat)
            elif (schema := _file_schema(storage, stat)) is not None:
                return schema
    schemas = (_file_schema(storage, stat) for stat in deletes)
    return next((schema for schema in schemas if schema is not None), None)


def _file_schema(storage: Storage, stat: WriteStat) -> pa.Schema | None:
    path = stat.path
    try:
        if is_log_file_name(stat.file_name):
            with closing(LogFiles(storage)) as files:
                return _log_file_schema(files.open(path), path)
        read_schema = _FOOTER_READERS.get(posixpath.splitext(path)[1])
        if read_schema is not None:
            with storage.open_input(path) as file, failures_of(file):
                return _footer_schema(read_schema(file))
        if path.endswith(".hfile"):
            text = read_hfile(storage.read_bytes(path), path=path).file_info.get(SCHEMA_INFO)
            return arrow_schema(parse_schema(str(text, "utf-8"))) if text else None
    except (StorageError, MemoryError):
        raise  # a guess would make a failure of the storage change the columns
    except (OSError, HudiError, pa.ArrowException, ValueError):  # ValueError: of HFiles and UTF-8
        # Cleaned away or damaged: reading the rows says so, if the file is needed at all.
        return None
    return None


def _log_file_schema(data: BytesSource, path: str) -> pa.Schema | None:
    texts = [
        block.schema_text
        for block in frame_log_file(data, path=path)
        if block.block_type in DATA_BLOCKS and not block.is_partial and block.schema_text
    ]
    return arrow_schema(parse_schema(texts[-1])) if texts else None


def _footer_schema(schema: pa.Schema) -> pa.Schema:
    """Return the writer's Avro schema, since the file's own types say less; else these."""
    metadata = schema.metadata or {}
    texts = (str(metadata[key], "utf-8") for key in _AVRO_SCHEMA_KEYS if key in metadata)
    text = next(texts, "")
    return arrow_schema(parse_schema(text)) if text else schema.remove_metadata()
