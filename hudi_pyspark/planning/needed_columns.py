"""Choice of columns: those that the caller wants, and those that the merge needs."""

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from hudi_pyspark.custom_mergers import PayloadMerger
from hudi_pyspark.errors import CorruptTableError, InvalidOptionError
from hudi_pyspark.filter.predicate import spelled_column
from hudi_pyspark.format.column_names import spelled
from hudi_pyspark.table.merge_mode import PAYLOAD_FIELDS, MergeRule
from hudi_pyspark.table.meta_columns import (
    DELETED_COLUMN,
    META_COLUMNS,
    OPERATION_COLUMN,
    RECORD_KEY_COLUMN,
)


def result_schema(
    table_schema: pa.Schema, columns: Sequence[str] | None, *, include_meta_columns: bool
) -> pa.Schema:
    """Return the columns of the answer, in the order of `columns`; all of the table by default.

    Names match in any case, as in Spark; the answer has those of the table.

    Raises:
        InvalidOptionError: the table lacks one of them, or one is named twice.
    """
    if columns is None:
        hidden = () if include_meta_columns else (*META_COLUMNS, OPERATION_COLUMN)
        return pa.schema([field for field in table_schema if field.name not in hidden])
    names = [spelled_column(name, table_schema.names) for name in columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InvalidOptionError(f"columns has {twice!r} twice: name each column once")
    return pa.schema([table_schema.field(name) for name in names])


def working_schema(
    table_schema: pa.Schema,
    result: pa.Schema,
    needed: Iterable[str],
    *,
    whole: Collection[str] = (),
    key_fields: Sequence[str] = (),
) -> pa.Schema:
    """Return the result's columns, and after them those needed that the table has.

    Columns of ``whole`` have all of their nested fields. With ``key_fields``, of a table without
    meta columns, there is a record key column, to be made from them.
    """
    columns = [table_schema.field(f.name) if f.name in whole else f for f in result]
    names, shown = dict.fromkeys(table_schema.names), set(result.names)
    lower = {name.lower() for name in [*result.names, *needed]}
    # Those that differ in case alone stay together: a file may have one of them.
    others = dict.fromkeys([*needed, *(name for name in names if name.lower() in lower)])
    columns += [table_schema.field(n) for n in others if n in names and n not in shown]
    if key_fields:
        columns.append(pa.field(RECORD_KEY_COLUMN, pa.string()))
    return pa.schema(columns)


def check_ordering_fields(table_schema: pa.Schema, rule: MergeRule) -> None:
    """Refuse to merge a table without its ordering fields.

    Raises:
        CorruptTableError: the schema lacks one.
    """
    missing = [n for n in rule.ordering_fields if _top_level(n, table_schema) is None]
    if missing:
        raise CorruptTableError(
            f"ordering field {', '.join(missing)} (hoodie.table.ordering.fields or "
            "hoodie.table.precombine.field) does not exist in the table schema. Set the property "
            "in .hoodie/hoodie.properties to the column by which records are ordered, or read the "
            "base files alone with hoodie.datasource.query.type=read_optimized"
        )


def merge_columns(
    table_schema: pa.Schema,
    rule: MergeRule,
    key_fields: Sequence[str],
    merger: PayloadMerger | None,
) -> list[str]:
    """Return the columns that merging looks at, each once; some may not be in the table schema."""
    fields = [*rule.ordering_fields, rule.delete_field, *key_fields]
    needed = [RECORD_KEY_COLUMN, DELETED_COLUMN, OPERATION_COLUMN]
    needed += [name for field in fields if (name := _top_level(field, table_schema))]
    needed += _payload_columns(table_schema, rule, merger)
    return list(dict.fromkeys(needed))


def _payload_columns(
    table_schema: pa.Schema, rule: MergeRule, merger: PayloadMerger | None
) -> Sequence[str]:
    """Return the columns that the payload class looks at, if the table has them yet."""
    if merger is not None:
        return merger.columns if merger.columns is not None else table_schema.names
    fields = PAYLOAD_FIELDS.get(rule.payload_name, ())
    return [name for field in fields if (name := spelled(field, table_schema.names))]


def _top_level(name: str, schema: pa.Schema) -> str | None:
    """Return the column that holds a field of that dotted name; None if the schema has none."""
    return spelled(name, schema.names) or spelled(name.partition(".")[0], schema.names)
