"""Choose the columns of the answer, and the columns that filter and merge need."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from hudi_pyspark.columns.nested_fields import narrow_fields
from hudi_pyspark.errors import CorruptTableError, InvalidOptionError, UnsupportedTableError
from hudi_pyspark.filter.predicate import Predicate, top_level_columns
from hudi_pyspark.format.column_names import case_variants, find_path, resolve_field
from hudi_pyspark.format.nested_types import find_field
from hudi_pyspark.table.config import PROPERTIES_FILE, TableConfig, has_lost_ordering_fields
from hudi_pyspark.table.merge_mode import DELETE_FIELD, PAYLOADS, UNKNOWN_PAYLOAD, MergeRule
from hudi_pyspark.table.meta_columns import (
    COMMIT_TIME_COLUMN,
    DELETED_COLUMN,
    OPERATION_COLUMN,
    RECORD_KEY_COLUMN,
)
from hudi_pyspark.tasks import PlannedColumns, data_columns


def result_schema(
    table_schema: pa.Schema,
    columns: Sequence[str] | None,
    *,
    include_meta_columns: bool,
    owner: str = "table",
    fields: pa.Schema | None = None,
) -> pa.Schema:
    """Return the columns of the answer, with the names that they have in the table.

    Args:
        table_schema: all columns of the table.
        columns: names in any case, as in Spark, in the order of the answer; None for all.
        include_meta_columns: whether all columns include the meta columns.
        owner: what has the columns; part of errors.
        fields: some of the columns, with the nested fields that are needed; None for all fields.

    Raises:
        InvalidOptionError: the table lacks a column, or a column is named twice.
    """
    if columns is None:
        chosen = table_schema if include_meta_columns else data_columns(table_schema)
    else:
        stored_names = dict.fromkeys(table_schema.names)
        names = [
            n
            if n in stored_names
            else resolve_field(n, table_schema, owner=owner, nested=False).name
            for n in columns
        ]
        if len({*names}) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise InvalidOptionError(f"columns has {twice!r} twice: name each column once")
        chosen = pa.schema([table_schema.field(name) for name in names])
    return pa.schema(list(chosen)) if fields is None else narrow_fields(chosen, fields)


def planned_columns(
    table_schema: pa.Schema,
    result: pa.Schema,
    predicate: Predicate | None = None,
    merge_names: Iterable[str] = (),
    *,
    reads_commits: bool = False,
    makes_keys: bool = False,
    compares_values: bool = False,
) -> PlannedColumns:
    """Return the columns of a read.

    Columns whose names differ only in case stay together: a file may have any one of them.

    Args:
        table_schema: all columns of the table.
        result: columns of the answer, which may lack nested fields.
        predicate: only rows for which it is true; None for all.
        merge_names: names of the columns that the merge looks at; the table may lack some.
        reads_commits: whether commit times decide which rows the answer has. Files may have them
            although the table's schema does not show them.
        makes_keys: whether record keys are made of key fields, for a merge of files without keys.
        compares_values: whether the merge may compare any two values, nested ones included.
    """
    if compares_values:
        result = pa.schema(table_schema.field(name) for name in result.names)
    result_names = {*result.names}
    variants = case_variants(result_names, table_schema.names)
    other_names = [name for name in variants if name not in result_names]
    filter_names = top_level_columns(predicate, table_schema)
    filter_names += [COMMIT_TIME_COLUMN] if reads_commits else []
    merged = _columns(merge_names, table_schema)
    if makes_keys:
        merged = merged.append(pa.field(RECORD_KEY_COLUMN, pa.string()))
    filtered = _columns([*filter_names, *other_names], table_schema)
    return PlannedColumns(result, filtered, merged, compares_values)


def _columns(names: Iterable[str], table_schema: pa.Schema) -> pa.Schema:
    """Return columns by their names, then those that differ from them in case alone."""
    ordered_names = dict.fromkeys(names)
    variants = case_variants(ordered_names, table_schema.names)
    present = {field.name: field for field in table_schema if field.name in variants}
    columns = [present[name] for name in ordered_names if name in present]
    columns += [field for name, field in present.items() if name not in ordered_names]
    if COMMIT_TIME_COLUMN in ordered_names and COMMIT_TIME_COLUMN not in present:
        columns.append(pa.field(COMMIT_TIME_COLUMN, pa.string()))
    return pa.schema(columns)


def check_mergeable(
    table_schema: pa.Schema, config: TableConfig, rule: MergeRule, delete_field: str
) -> None:
    """Refuse a merge without ordering fields, record keys, or a usable column of delete markers.

    Args:
        table_schema: all columns of the table.
        config: of the table.
        rule: of the merge.
        delete_field: the column of delete markers that the user named; "" if none was named.

    Raises:
        CorruptTableError: the table's properties have lost their ordering fields.
        InvalidOptionError: the delete field is not a column whose values can be compared.
        UnsupportedTableError: records have no keys.
    """
    if has_lost_ordering_fields(config.properties):
        raise CorruptTableError(
            f"{PROPERTIES_FILE} orders records by event time (hoodie.record.merge.mode), but "
            "names neither an ordering field nor a payload class, as no writer of Apache Hudi "
            "leaves it: the file is cut, or was edited",
            advice=(
                "Restore it from a copy, or read the base files alone with "
                "hoodie.datasource.query.type=read_optimized"
            ),
        )
    column = find_field(table_schema, rule.delete_field)
    if delete_field and (column is None or pa.types.is_struct(column.type)):
        raise InvalidOptionError(
            f"{DELETE_FIELD} is {delete_field!r}, but the table has "
            f"{'no such column' if column is None else 'a struct of that name'}",
            advice="Name a column whose values are compared with the delete marker",
        )
    if not config.populate_meta_fields and not config.record_key_fields:
        raise UnsupportedTableError(
            "the table has log files, but neither record keys in its files "
            "(hoodie.populate.meta.fields=false) nor hoodie.table.recordkey.fields, so records "
            "cannot be matched",
            advice="Read the base files alone with hoodie.datasource.query.type=read_optimized",
        )


def check_ordering_fields(table_schema: pa.Schema, rule: MergeRule) -> None:
    """Refuse to merge a table that lacks one of its ordering fields.

    Raises:
        CorruptTableError: the table schema lacks an ordering field.
    """
    missing = [n for n in rule.ordering_fields if not find_path(n, table_schema)]
    if missing:
        raise CorruptTableError(
            f"ordering field {', '.join(missing)} (hoodie.table.ordering.fields or "
            "hoodie.table.precombine.field) does not exist in the table schema",
            advice=(
                "Set the property in .hoodie/hoodie.properties to the column by which records are "
                "ordered, or read the base files alone with "
                "hoodie.datasource.query.type=read_optimized"
            ),
        )


def merge_columns(table_schema: pa.Schema, rule: MergeRule, key_fields: Sequence[str]) -> list[str]:
    """Return the names of the columns that merging needs, each once; the table may lack some.

    Args:
        table_schema: all columns of the table.
        rule: of the merge.
        key_fields: fields that make up the record key; () if files contain it.
    """
    merger = rule.merger
    fields = [*rule.ordering_fields, rule.delete_field, *key_fields]
    if merger is None:
        fields += PAYLOADS.get(rule.payload_name, UNKNOWN_PAYLOAD).fields
    needed = [RECORD_KEY_COLUMN, DELETED_COLUMN, OPERATION_COLUMN]
    needed += [path[0] for field in fields if (path := find_path(field, table_schema))]
    if merger is not None:
        needed += table_schema.names if merger.columns is None else merger.columns
    return list(dict.fromkeys(needed))
