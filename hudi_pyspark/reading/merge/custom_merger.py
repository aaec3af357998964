"""The merge of pairs of records by a function of a user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import is_true
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.reading.log_records.ordering import comparable_ordering
from hudi_pyspark.reading.log_records.records import Records
from hudi_pyspark.reading.merge.decision import Decision
from hudi_pyspark.table.meta_columns import DELETED_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.custom_mergers import PayloadMerger
    from hudi_pyspark.table.merge_mode import MergeRule


def merge_pairs(merger: PayloadMerger, older: Records, newer: Records, rule: MergeRule) -> Records:
    """Merge pairs of records with a user's function; InvalidOptionError for a wrong result."""
    # Deletes need no function: without an older row, or with a delete, the newer record counts.
    deletes = older.marks.is_delete | newer.marks.is_delete
    by_function = older.has_row & newer.has_row & ~deletes
    others = Decision.pick(older, newer, ~by_function).apply(older, newer)
    pairs = np.flatnonzero(by_function)
    if not len(pairs):
        return others
    names = older.rows.schema.names
    taken = pa.array(pairs)
    returned = merger.merge(older.rows.take(taken), newer.rows.take(taken))
    _check_returned(returned, older.rows.schema, len(pairs))
    rows = _in_types(returned.select(names), older.rows.schema)
    merged = Records.of_rows(rows, comparable_ordering(rows, rule.ordering_fields))
    merged = replace(merged, marks=replace(merged.marks, is_delete=_deleted(returned)))
    source = np.arange(len(older))
    source[pairs] = len(older) + np.arange(len(pairs))
    return Records.concat([others, merged]).take(source)


def _deleted(merged: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if DELETED_COLUMN not in merged.schema.names:
        return np.zeros(merged.num_rows, np.bool_)
    return is_true(merged.column(DELETED_COLUMN))


def _check_returned(merged: pa.Table, schema: pa.Schema, length: int) -> None:
    if not isinstance(merged, pa.Table) or merged.num_rows != length:
        returned = (
            f"{merged.num_rows} rows" if isinstance(merged, pa.Table) else type(merged).__name__
        )
        raise InvalidOptionError(
            f"the payload merger must return a pyarrow.Table of {length} rows, one for each pair "
            f"of records; it returned {returned}"
        )
    missing = ", ".join(name for name in schema.names if name not in merged.schema.names)
    if missing:
        raise InvalidOptionError(
            f"the payload merger must return all columns that it gets; missing: {missing}"
        )


def _in_types(merged: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return merged.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidOptionError(
            f"the payload merger must return columns in the types that it gets: {error}"
        ) from error
