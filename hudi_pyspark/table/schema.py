"""The schema of a table: by its commits, else its newest data file, and its internal versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.column_names import find_path
from hudi_pyspark.format.nested_types import (
    MILLISECONDS,
    VARIANT,
    is_variant,
    vector_element,
    with_fields,
)
from hudi_pyspark.format.timeline.internal_schema import parse_internal_schema, parse_schema_history
from hudi_pyspark.storage.protocol import FileInfo, list_nonempty
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.meta_columns import META_COLUMNS, OPERATION_COLUMN
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.internal_schema import InternalSchema
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
    text = _committed_schema(view, as_of)[0] or view.config.create_schema
    schema = arrow_schema(parse_schema(text)) if text else view.history.data_file_schema
    if schema is None:
        raise UnsupportedTableError(
            f"{view.storage.describe('')} has no schema yet: no commit has completed and "
            "hoodie.table.create.schema is not set",
            advice=(
                "Write to the table first; but if it had rows, its timeline is lost: restore that "
                "from a copy before anybody writes"
            ),
        )
    schema = _with_meta_columns(pa.schema([as_shown(field) for field in schema]), view)
    if not view.config.drop_partition_columns:
        return schema
    paths = {name: find_path(name, schema) for name in view.config.partition_fields}
    dropped = [name for name, path in paths.items() if not path]
    # Writers drop columns: a nested field stays in its column.
    if dropped and any(len(path) == 1 for path in paths.values()):
        raise CorruptTableError(
            "hoodie.datasource.write.drop.partition.columns is true, but the table schema lacks "
            f"only some partition columns: {', '.join(dropped)}"
        )
    return pa.schema([*schema, *(pa.field(name, pa.string()) for name in dropped)])


def as_shown(field: pa.Field) -> pa.Field:
    """Return a column as a table shows it: it may be null, and so may all fields in it.

    Timestamps have Spark's unit, and are marked if the table's schema counts milliseconds. A
    variant has the type that Spark knows, and a vector is a list of numbers. A writer may declare a
    column that older rows lack as not null.
    """
    data_type = field.type
    field = field.with_nullable(True)  # noqa: FBT003
    if (element := vector_element(field)) is not None:
        return pa.field(field.name, pa.list_(pa.field("element", element)))
    if pa.types.is_timestamp(data_type) and data_type.unit == "ms":
        return field.with_type(pa.timestamp("us", data_type.tz)).with_metadata(MILLISECONDS)
    return field.with_type(VARIANT if is_variant(data_type) else with_fields(data_type, as_shown))


def column_defaults(view: TableView, as_of: str | None = None) -> dict[str, pa.Scalar]:
    """Return the defaults of columns, by name; a default that is missing or null is left out.

    Args:
        view: the table.
        as_of: requested time of the state whose schema counts, inclusive; None for the latest.

    Only numbers, booleans and text: the payload classes that look at defaults compare by equality,
    and Java objects of other types are never equal to what the schema's JSON holds.

    Raises:
        CorruptAvroError: the schema is not valid.
        UnsupportedTypeError: the schema is not of a record, or nested too deeply.
    """
    text = _committed_schema(view, as_of)[0] or view.config.create_schema
    if not text:
        return {}
    record = parse_schema(text)
    types = {field.name: field.type for field in arrow_schema(record)}
    return {
        field.name: pa.scalar(field.default).cast(types[field.name])
        for field in record.fields
        if isinstance(field.default, (bool, int, float, str)) and types[field.name] in _PLAIN_TYPES
    }


def commits_hiding_columns(view: TableView, as_of: str | None) -> dict[str, str]:
    """Return the empty commits after the one whose schema counts, as `empty_commits` returns them.

    A column that such a commit added is missing in the schema.

    Args:
        view: the table.
        as_of: as for `resolve_schema`, which has read these commits.
    """
    return view.history.empty_commits(_committed_schema(view, as_of)[1])


def _committed_schema(view: TableView, as_of: str | None) -> tuple[str, list[str]]:
    """Return the last schema that a commit records, or "", and the commits after it without one.

    Commits up to ``as_of`` count, or all of them if there is none.
    """
    times = [commit.requested_time for commit in view.history.all_commits]
    until = [time for time in times if as_of is None or time <= as_of] or times
    later: list[str] = []
    for time in reversed(until):
        if text := view.history.metadata(time).schema_text:
            return text, later
        later.append(time)
    return "", later


def _with_meta_columns(schema: pa.Schema, view: TableView) -> pa.Schema:
    data = [field for field in schema if field.name not in (*META_COLUMNS, OPERATION_COLUMN)]
    if not view.config.populate_meta_fields:
        return pa.schema(data)
    names = list(META_COLUMNS)
    # hoodie.allow.operation.metadata.field leaves no trace in properties or commits: only the
    # files show whether the column exists (golden table v9_mor_operation_field).
    stored_schema = schema if OPERATION_COLUMN in schema.names else view.history.data_file_schema
    if stored_schema is not None and OPERATION_COLUMN in stored_schema.names:
        names.append(OPERATION_COLUMN)
    return pa.schema([pa.field(name, pa.string()) for name in names] + data)


def latest_internal_schema(view: TableView, as_of: str | None) -> InternalSchema | None:
    """Return the internal schema of the last commit up to an instant that carries one.

    None if columns were never changed with schema on read: then they match by name. ``as_of``
    None means the latest. Source: Hudi's TableSchemaResolver and InternalSchemaCache.

    Raises:
        CorruptTimelineError: a commit, or the schema that it carries, cannot be decoded.
    """
    has_history = bool(_history_files(view, view.storage.list_directory(SCHEMA_FOLDER)))
    for commit in reversed(view.history.all_commits):
        time = commit.requested_time
        if as_of is not None and time > as_of:
            continue
        metadata = view.history.metadata(time)
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
    fills in what the history lacks.

    Raises:
        CorruptTimelineError: a commit or the history file cannot be decoded.
    """
    commits = view.history.all_commits
    metadata = view.history.metadata_of(commit.requested_time for commit in commits)
    schemas = [
        parse_internal_schema(text, path=instant_path(commit, view.config))
        for commit in commits
        if (text := metadata[commit.requested_time].internal_schema_text)
    ]
    if completed := _history_files(view, list_nonempty(view.storage, SCHEMA_FOLDER)):
        path = f"{SCHEMA_FOLDER}/{max(completed)}"
        schemas += parse_schema_history(view.storage.read_bytes(path), path=path)
    versions = {schema.version_id: schema for schema in schemas}
    return tuple(versions[version_id] for version_id in sorted(versions))


def _history_files(view: TableView, entries: Sequence[FileInfo]) -> list[str]:
    """Return the names of history files whose instants have completed."""
    matches = [match for file in entries if (match := _HISTORY_FILE.fullmatch(file.name))]
    return [match.group(0) for match in matches if match.group(1) in view.history.committed]
