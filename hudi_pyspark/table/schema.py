"""The schema of a table at an instant."""

from __future__ import annotations

import posixpath
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from hudi_pyspark.errors import CorruptTableError, HudiError, UnsupportedTableError
from hudi_pyspark.format.avro.annotation import avro_schema_text
from hudi_pyspark.format.avro.schema import arrow_schema, column_type, parse_schema
from hudi_pyspark.format.file_name import is_log_file_name
from hudi_pyspark.format.hfile import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.table.log_file import LogFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hudi_pyspark.format.log.log_block import Octets
    from hudi_pyspark.format.timeline.commit_metadata import WriteStat
    from hudi_pyspark.table.view import TableView

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
COMMIT_TIME_COLUMN = META_COLUMNS[0]
OPERATION_COLUMN = "_hoodie_operation"
DELETED_COLUMN = "_hoodie_is_deleted"  # a data column: true for rows that delete their key
RECORD_KEY_COLUMN = "_hoodie_record_key"
PARTITION_PATH_COLUMN = "_hoodie_partition_path"
_PLAIN_TYPES = frozenset(
    {pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()}
)
_FOOTER_READERS: Mapping[str, Callable[[Any], pa.Schema]] = {
    ".parquet": pq.read_schema,
    ".orc": lambda file: orc.ORCFile(file).schema,
}
_DATA_BLOCKS = (
    LogBlockType.AVRO_DATA_BLOCK,
    LogBlockType.PARQUET_DATA_BLOCK,
    LogBlockType.HFILE_DATA_BLOCK,
)


def resolve_schema(view: TableView, as_of: str | None = None) -> pa.Schema:
    """Meta columns, then the table's columns in their order, in types that Spark has too.

    The schema is the one of the last commit at or before ``as_of``; before the first commit it is
    the latest.

    Raises:
        UnsupportedTableError: the table has no schema yet.
        UnsupportedTypeError: a column has a type without counterpart.
    """
    text = _committed_schema(view, as_of) or view.config.create_schema
    found = _table_columns(text) if text else view.data_file_schema
    if found is None:
        raise UnsupportedTableError(
            f"{view.storage.describe('')} has no schema yet: no commit has completed and "
            "hoodie.table.create.schema is not set. Write to the table first"
        )
    return _with_dropped_partition_columns(_with_meta_columns(found, view), view)


def _table_columns(text: str) -> pa.Schema:
    """Columns of an Avro schema as a table shows them: vectors and variants, not their bytes."""
    record = parse_schema(text)
    fields = zip(record.fields, arrow_schema(record), strict=True)
    return pa.schema(
        [
            field if (kind := column_type(avro.type, avro.name)) is None else field.with_type(kind)
            for avro, field in fields
        ]
    )


def column_defaults(view: TableView, as_of: str | None = None) -> dict[str, pa.Scalar]:
    """Defaults of the table schema's columns that are neither null nor missing.

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
    if OPERATION_COLUMN in schema.names or _files_have_operation(view):
        names.append(OPERATION_COLUMN)
    return pa.schema([pa.field(name, pa.string()) for name in names] + data)


def _files_have_operation(view: TableView) -> bool:
    # hoodie.allow.operation.metadata.field leaves no trace in properties or commits: only the
    # files tell whether the column exists (golden table v9_mor_operation_field).
    found = view.data_file_schema
    return found is not None and OPERATION_COLUMN in found.names


def _with_dropped_partition_columns(schema: pa.Schema, view: TableView) -> pa.Schema:
    if not view.config.drop_partition_columns:
        return schema
    missing = [n for n in view.config.partition_fields if n not in schema.names]
    if missing and len(missing) != len(view.config.partition_fields):
        raise CorruptTableError(
            "hoodie.datasource.write.drop.partition.columns is true, but the table schema lacks "
            f"only some partition columns: {', '.join(missing)}"
        )
    for name in missing:
        schema = schema.append(pa.field(name, pa.string()))
    return schema


def newest_data_file_schema(view: TableView) -> pa.Schema | None:
    """Schema of the newest data file that can be read, meta columns included; None if none can."""
    for time in sorted(view.commit_metadata, reverse=True):
        stats = (s for group in view.commit_metadata[time].write_stats.values() for s in group)
        for stat in _cheapest_first(stats):
            schema = _file_schema(view, stat)
            if schema is not None:
                return schema
    return None


def _cheapest_first(stats: Iterable[WriteStat]) -> list[WriteStat]:
    """Those of base files, of which only the footer is read, then those of log files by size."""
    written = (s for s in stats if s.path)
    return sorted(written, key=lambda s: (is_log_file_name(s.file_name), s.file_size))


def _file_schema(view: TableView, stat: WriteStat) -> pa.Schema | None:
    path = stat.path
    try:
        if is_log_file_name(stat.file_name):
            with closing(LogFiles(view.storage)) as files:
                return _log_file_schema(files.open(path), path)
        read_schema = _FOOTER_READERS.get(posixpath.splitext(path)[1])
        if read_schema is not None:
            with view.storage.open_input(path) as file:
                return _footer_schema(read_schema(file))
        if path.endswith(".hfile"):
            return _hfile_schema(view.storage.read_bytes(path), path)
    except (OSError, HudiError, pa.ArrowInvalid, UnicodeDecodeError):
        # Cleaned away or damaged: reading the rows says so, if the file is needed at all.
        return None
    return None


def _log_file_schema(data: Octets, path: str) -> pa.Schema | None:
    texts = [
        block.schema_text
        for block in frame_blocks(data, path=path)
        if block.block_type in _DATA_BLOCKS and not block.is_partial and block.schema_text
    ]
    return arrow_schema(parse_schema(texts[-1])) if texts else None


def _footer_schema(schema: pa.Schema) -> pa.Schema:
    """The writer's Avro schema, since the file's own types say less; else these."""
    text = avro_schema_text(schema)
    return arrow_schema(parse_schema(text)) if text else schema.remove_metadata()


def _hfile_schema(data: bytes, path: str) -> pa.Schema | None:
    text = read_hfile(data, path=path).file_info.get(SCHEMA_INFO)
    return arrow_schema(parse_schema(str(text, "utf-8"))) if text else None
