"""Rows that show records of log files, as `Inspection.log_records` returns them."""

from collections.abc import Iterable

import pyarrow as pa

from hudi_pyspark.columns.arrays import field_array
from hudi_pyspark.format.column_names import find_path
from hudi_pyspark.inspection.definition import InspectionRows, schema_of, table_of
from hudi_pyspark.table.merge_mode import MergeRule

# The columns of a record follow in a struct, so their names cannot clash with these names.
_LEADING_COLUMNS = schema_of(
    "path, block int, offset int, instant_time, record_number int, kind, key, is_delete bool, "
    "ordering texts, problem"
)


def ordering_texts(rows: pa.Table, rule: MergeRule) -> pa.Array:
    """Return the ordering values of each row as texts; null if there are no ordering fields."""
    paths = [find_path(name, rows.schema) for name in rule.ordering_fields]
    names = [".".join(path) for path in paths if path]
    if not names:
        return pa.nulls(rows.num_rows, pa.list_(pa.string()))
    columns = (field_array(rows, name, role="ordering field") for name in names)
    texts = (column.cast(pa.string()).to_pylist() for column in columns)
    return pa.array(list(map(list, zip(*texts, strict=True))), pa.list_(pa.string()))


def damage_rows(places: InspectionRows) -> pa.Table:
    """Return one row per damaged place, given some of its leading columns."""
    return table_of(({**place, "kind": "damage"} for place in places), _LEADING_COLUMNS)


def structs(rows: pa.Table, mask: pa.Array | None = None) -> pa.StructArray:
    """Return rows as structs; null where the mask is true."""
    arrays = [column.combine_chunks() for column in rows.columns]
    return pa.StructArray.from_arrays(arrays, fields=list(rows.schema), mask=mask)


def records_table(parts: Iterable[pa.Table], columns: pa.Schema) -> pa.Table:
    """Concatenate parts; a column that a part lacks is null in its rows."""
    schema = _LEADING_COLUMNS.append(pa.field("record", pa.struct(list(columns))))
    joined = pa.concat_tables([schema.empty_table(), *parts], promote_options="default")
    return joined.combine_chunks()
