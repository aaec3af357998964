"""Find rows that are deletes: by flag, by operation, or by the table's delete marker."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, field_array, is_true
from hudi_pyspark.columns.text import spark_value_text
from hudi_pyspark.format.nested_types import find_field
from hudi_pyspark.table.merge_mode import MergeRule
from hudi_pyspark.table.meta_columns import DELETED_COLUMN, OPERATION_COLUMN

_DELETING_OPERATIONS = ("D", "-U")


def deleting_rows(rows: pa.Table, rule: MergeRule) -> Mask:
    """Return the rows of a data block that delete their key.

    Raises:
        CorruptTableError: the delete field is nested, and the rows lack it.
    """
    deletes = flagged_rows(rows)
    if OPERATION_COLUMN in rows.schema.names:
        operation = rows.column(OPERATION_COLUMN)
        deletes = deletes | is_true(pc.is_in(operation, pa.array(_DELETING_OPERATIONS)))
    if {rule.delete_field, rule.delete_field.partition(".")[0]} & set(rows.schema.names):
        marked = field_array(rows, rule.delete_field, role="delete field")
        deletes = deletes | is_true(pc.equal(spark_value_text(marked), rule.delete_marker))
    return deletes


def flagged_rows(rows: pa.Table) -> Mask:
    """Return the rows whose ``_hoodie_is_deleted`` is true."""
    flag = find_field(rows.schema, DELETED_COLUMN)
    if flag is None or not pa.types.is_boolean(flag.type):
        return np.zeros(rows.num_rows, np.bool_)
    return is_true(rows.column(DELETED_COLUMN))
