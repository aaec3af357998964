"""Comparison of rows with other rows, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import as_one_array, is_null, is_true
from hudi_pyspark.columns.json_text import json_text

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]


def differing_rows(older: pa.Table, newer: pa.Table) -> Mask:
    """Return the rows that differ from the rows beside them, of the same schema."""
    differs = np.zeros(older.num_rows, np.bool_)
    for left, right in zip(older.columns, newer.columns, strict=True):
        differs |= differing_values(left, right)
    return differs


def differing_values(older: pa.ChunkedArray, newer: pa.ChunkedArray) -> Mask:
    """Return where two columns of the same type differ; null equals null, and NaN equals NaN."""
    left, right = as_one_array(older), as_one_array(newer)
    if pa.types.is_null(left.type):
        return np.zeros(len(left), np.bool_)
    if pa.types.is_nested(left.type):
        left, right = json_text(left), json_text(right)
    is_nan = np.zeros(len(left), np.bool_)
    if pa.types.is_floating(left.type):
        # By their bits, since 0.0 is another value than -0.0; NaN has many bits.
        is_nan = is_true(pc.and_(pc.is_nan(left), pc.is_nan(right)))
        bits = pa.int64() if pa.types.is_float64(left.type) else pa.int32()
        left, right = left.view(bits), right.view(bits)
    is_one_null: Mask = is_null(left) != is_null(right)
    return (is_true(pc.not_equal(left, right)) & ~is_nan) | is_one_null
