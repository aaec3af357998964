"""Merge records with a user's function, for payload classes that Apache Hudi does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import is_true
from hudi_pyspark.custom_mergers import PayloadMerger
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.reading.log_records.ordering import comparable_ordering
from hudi_pyspark.reading.merge.decision import Decision, both_rows
from hudi_pyspark.table.meta_columns import DELETED_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.reading.log_records.records import Records
    from hudi_pyspark.table.merge_mode import MergeRule


def merge_by_function(
    merger: PayloadMerger, older: Records, newer: Records, rule: MergeRule
) -> Records:
    """Merge pairs of records with a user's function.

    The newer record wins without the function if there is no older row, or if one of them is a
    delete.

    Raises:
        InvalidOptionError: the function returned another number of rows, or other columns or types.
    """
    by_function = both_rows(older, newer)
    by_default = Decision.pick(older, newer, ~by_function).apply(older, newer)
    pairs = np.flatnonzero(by_function)
    if not len(pairs):
        return by_default
    names = older.rows.schema.names
    taken = pa.array(pairs)
    returned = merger.merge(older.rows.take(taken), newer.rows.take(taken))
    _check_returned(returned, older.rows.schema, len(pairs))
    try:
        rows = returned.select(names).cast(older.rows.schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidOptionError(
            f"the payload merger must return columns in the types that it gets: {error}"
        ) from error
    is_delete = np.zeros(len(pairs), np.bool_)
    if DELETED_COLUMN in returned.schema.names:
        is_delete = is_true(returned.column(DELETED_COLUMN))
    ordering = comparable_ordering(rows, rule.ordering_fields)
    return by_default.with_rows(pairs, rows, ordering, is_delete)


def _check_returned(merged: pa.Table, schema: pa.Schema, length: int) -> None:
    if not isinstance(merged, pa.Table) or merged.num_rows != length:
        returned = (
            f"{merged.num_rows} rows" if isinstance(merged, pa.Table) else type(merged).__name__
        )
        raise InvalidOptionError(
            f"the payload merger must return a pyarrow.Table of {length} rows, one for each pair "
            f"of records; it returned {returned}"
        )
    returned_names = {*merged.schema.names}
    missing = ", ".join(name for name in schema.names if name not in returned_names)
    if missing:
        raise InvalidOptionError(
            f"the payload merger must return all columns that it gets; missing: {missing}"
        )
