"""Conversions between Arrow schemas and Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from hudi_pyspark.columns.nested_fields import nullable
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import InvalidOptionError, SchemaEvolutionError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# Timestamps are in UTC, which is the only zone of Spark 4.0: it has no such argument.
_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


# Metadata with which Spark marks a text that has a collation, or is char or varchar.
_OTHER_COMPARISONS = {"__COLLATIONS", "__CHAR_VARCHAR_TYPE_STRING"}


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the same columns in Spark's types, all of them nullable.

    Writers of Apache Hudi do not reliably mark nullable columns, and Spark returns wrong results if
    a column marked as not null has nulls.
    """
    columns = pa.schema([nullable(field) for field in schema])
    # Otherwise Spark 4.0 turns wall-clock times into instants.
    return from_arrow_schema(columns, prefer_timestamp_ntz=True)


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark requires of every batch.

    Raises:
        InvalidOptionError: Spark has no Arrow type for a column, such as one of ``char(n)`` or
            ``varchar(n)`` in the columns of ``CREATE VIEW``; its own worker would fail, too.
    """
    try:
        return to_arrow_schema(schema, **_UTC)
    except PySparkTypeError as error:
        raise InvalidOptionError(
            f"A Python data source cannot return the requested columns: {error}. Leave the columns "
            "out, or request string instead of char(n) and varchar(n)"
        ) from error


def requested_columns(requested: StructType, table: pa.Schema) -> list[str]:
    """Return the names of the columns that a user's ``.schema(...)`` requests.

    Raises:
        InvalidOptionError: the table lacks one, or cannot give it in the requested type.
    """
    wanted = arrow_schema_of(requested)
    check_names(wanted.names, table.names, "the table")
    available = [table.field(name).with_nullable(True) for name in wanted.names]  # noqa: FBT003
    # Of each column a null: one without rows has no chunk to convert.
    nulls = [pa.nulls(1, field.type) for field in available]
    nullable = pa.schema([field.with_nullable(True) for field in wanted])  # noqa: FBT003
    try:
        conform(pa.table(nulls, pa.schema(available)), nullable, {}, source=".schema(...)")
    except SchemaEvolutionError as error:
        raise InvalidOptionError(str(error.args[0])) from error
    return list(wanted.names)


def check_names(wanted: Sequence[str], known: Sequence[str], owner: str) -> None:
    """Check that a table, which messages call ``owner``, has the columns of ``.schema(...)``.

    Raises:
        InvalidOptionError: it lacks one.
    """
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidOptionError(
            f".schema(...) names {', '.join(map(repr, unknown))}, which {owner} does not have; it "
            f"has {', '.join(known)}"
        )


def unchanged_columns(table: pa.Schema, requested: StructType) -> pa.Schema:
    """Return the columns that keep the table's types, so that comparisons give the same result.

    Spark's own types decide: texts with a collation, char and varchar compare in other ways, and
    so may types that a later Spark adds.
    """
    plain = spark_schema(table)
    same = [
        field.name
        for field in requested
        if field.dataType.json() == plain[field.name].dataType.json()
        and str(field.dataType) == str(plain[field.name].dataType)
        and not field.metadata.keys() & _OTHER_COMPARISONS
    ]
    return pa.schema([table.field(name) for name in same])


def comparable(schema: pa.Schema) -> pa.Schema:
    """Return the columns that a condition compares as a filter does before Spark resolves it.

    A field of a struct may be a column of an alias, and Spark may convert wall-clock times.
    """
    return pa.schema(
        field
        for field in schema
        if not pa.types.is_struct(field.type)
        and not (pa.types.is_timestamp(field.type) and field.type.tz is None)
    )
