"""Convert between Arrow's schemas and Spark's."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from hudi_pyspark.columns.nested_fields import nullable
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import InvalidOptionError, SchemaEvolutionError
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.spark.reader import LOAD_AGAIN
from hudi_pyspark.wording import nearest

# Timestamps are in UTC. Spark 4.0 has no such argument, since UTC is its only time zone.
_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)
_COMMENT = "comment"  # the key of the metadata by which Spark keeps the comment of a column
# Keys of the metadata by which Spark marks text that has a collation, or is char or varchar.
_OTHER_COMPARISONS = {"__COLLATIONS", "__CHAR_VARCHAR_TYPE_STRING"}


def spark_schema(schema: pa.Schema) -> StructType:
    """Convert an Arrow schema to Spark's types; every column and field becomes nullable.

    Writers of Apache Hudi do not reliably mark nullable columns, and Spark returns wrong results if
    a column marked as not null has nulls.
    """
    columns = pa.schema([nullable(field) for field in schema])
    # By default Spark 4.0 would turn wall-clock times into instants.
    return from_arrow_schema(columns, prefer_timestamp_ntz=True)


def with_comments(columns: StructType, comments: Mapping[str, str]) -> StructType:
    """Return columns with comments, by the name of the column."""
    commented = []
    for field in columns:
        comment = {_COMMENT: comments[field.name]} if field.name in comments else {}
        metadata = {**field.metadata, **comment}
        commented.append(StructField(field.name, field.dataType, field.nullable, metadata))
    return StructType(commented)


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark requires of every batch.

    Raises:
        InvalidOptionError: Spark has no Arrow type for a column. For example, the columns of
            ``CREATE VIEW`` may be ``char(n)`` or ``varchar(n)``, with which Spark's worker fails.
    """
    try:
        return to_arrow_schema(schema, **_UTC)
    except PySparkTypeError as error:
        raise InvalidOptionError(
            f"A Python data source cannot return the requested columns: {error}",
            advice="Leave the columns out, or request string instead of char(n) and varchar(n)",
        ) from error


def spelled_as(table: pa.Schema, requested: StructType) -> StructType:
    """Return the columns that Spark requests, each under the name by which the table has it.

    A user's ``.schema(...)`` may spell names in another case. Names that the table lacks stay.

    Raises:
        InvalidOptionError: several columns differ from a name in case alone.
    """
    try:
        stored = match_names(requested.names, table.names)
    except SchemaEvolutionError as error:
        raise InvalidOptionError(f"the query's {error.found}") from error
    columns = []
    for field in requested:
        name = stored.get(field.name, field.name)
        columns.append(StructField(name, field.dataType, field.nullable, field.metadata))
    return StructType(columns)


def requested_columns(requested: StructType, table: pa.Schema) -> list[str]:
    """Return the names of the columns that Spark requests of a table.

    Args:
        requested: the columns with the types that ``.schema(...)`` or a view names, or that the
            table had when the DataFrame was loaded.
        table: the columns of the table.

    Raises:
        InvalidOptionError: the table lacks a column, or cannot convert it to the requested type.
    """
    target = arrow_schema_of(requested)
    check_names(target.names, table.names, "the table")
    for field in target:
        stored = table.field(field.name).with_nullable(True)  # noqa: FBT003
        wanted = pa.schema([field.with_nullable(True)])  # noqa: FBT003
        # One null, since a column without rows has no chunk to convert.
        row = pa.table([pa.nulls(1, stored.type)], pa.schema([stored]))
        try:
            conform(row, wanted, {}, source="the table")
        except SchemaEvolutionError as error:
            raise InvalidOptionError(
                f"the query reads column {field.name!r} as {field.type}, but it is {stored.type}, "
                f"which is not converted to that type ({error.__cause__})",
                advice=LOAD_AGAIN,
            ) from error
    return list(target.names)


def check_names(requested: Sequence[str], available: Sequence[str], owner: str) -> None:
    """Check that the columns that Spark requests exist; messages call the table ``owner``.

    Raises:
        InvalidOptionError: a requested column is not available.
    """
    available_names = {*available}
    unknown = [name for name in requested if name not in available_names]
    if unknown:
        near = nearest(unknown[0], {name: name for name in available})
        hint = f" (did you mean {near!r}?)" if near else ""
        raise InvalidOptionError(
            f"the query reads {', '.join(map(repr, unknown))}, which {owner} does not have{hint}; "
            f"it has {', '.join(available)}",
            advice=LOAD_AGAIN,
        )


def unchanged_columns(table: pa.Schema, requested: StructType) -> pa.Schema:
    """Return the requested columns that keep the table's types, and so compare as in the table.

    Spark's types decide, since text with a collation, char, varchar and types of later releases
    may compare differently.

    Args:
        table: the columns of the table, which include the requested ones.
        requested: the columns with the types that Spark requests.
    """
    table_fields = {field.name: field for field in spark_schema(table)}
    unchanged = [
        field.name
        for field in requested
        if field.dataType.json() == table_fields[field.name].dataType.json()
        and str(field.dataType) == str(table_fields[field.name].dataType)
        and not field.metadata.keys() & _OTHER_COMPARISONS
    ]
    return pa.schema([table.field(name) for name in unchanged])


def comparable(schema: pa.Schema) -> pa.Schema:
    """Return the columns for which an unresolved condition of a client means what a filter means.

    Structs are left out, since ``a.b`` may be a column of an alias. Wall-clock times are left out,
    since Spark may convert them.
    """
    return pa.schema(
        field
        for field in schema
        if not pa.types.is_struct(field.type)
        and not (pa.types.is_timestamp(field.type) and field.type.tz is None)
    )
