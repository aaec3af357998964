"""What a filter rules out before any row is read: by bounds of columns, and by record keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, Rows, is_null, is_true, repeat
from hudi_pyspark.filter.predicate import (
    Comparison,
    IsIn,
    IsNull,
    Leaf,
    Like,
    Operator,
    Predicate,
    cast_to,
    columns_of,
    conjuncts,
    fold,
)
from hudi_pyspark.table.config import KEY_GENERATORS, TableConfig
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBounds:
    """The bounds that a column has in each of some files."""

    low: pa.Array  # no value is smaller, except NaN; null where that is unknown
    high: pa.Array  # no value is greater, except NaN; null where that is unknown
    may_be_null: Mask
    may_have_value: Mask  # false: all of them are null

    @classmethod
    def of(
        cls,
        low: pa.Scalar | None,
        high: pa.Scalar | None,
        *,
        may_be_null: bool = False,
        may_have_value: bool = True,
    ) -> ColumnBounds:
        """Return the bounds of a column in a single file; None where one is unknown."""
        if low is None or high is None:
            low = high = pa.scalar(None)
        return cls(
            repeat(low, 1), repeat(high, 1), np.array([may_be_null]), np.array([may_have_value])
        )


def may_match(predicate: Predicate, bounds_of: Callable[[str], ColumnBounds | None]) -> bool:
    """Decide whether the predicate can be true for rows whose columns are within their bounds."""
    known = {name: b for name in columns_of(predicate) if (b := bounds_of(name)) is not None}
    return bool(may_match_merged(predicate, known, np.zeros(1, np.int64), 1)[0])


def may_match_merged(
    predicate: Predicate, columns: Mapping[str, ColumnBounds], files: Rows, count: int
) -> Mask:
    """Decide for which sets of files the predicate can be true for rows merged from a set.

    Each value of such a row is that of a record in one of the files; values of different columns
    may come from different files. ``files`` has the ordinal of each file's set, ``columns`` an item
    for each file.
    """

    def of_leaf(leaf: Leaf) -> Mask:
        if leaf.column not in columns:
            return np.ones(count, np.bool_)
        fits = _leaf_may_match(leaf, columns[leaf.column])
        return np.bincount(files[fits], minlength=count) > 0

    return fold(predicate, of_leaf, np.logical_and, np.logical_or)


def _leaf_may_match(predicate: Leaf, bounds: ColumnBounds) -> Mask:
    if isinstance(predicate, IsNull):
        return bounds.may_have_value if predicate.is_negated else bounds.may_be_null
    low, high = bounds.low, bounds.high
    is_unknown = is_null(low) | is_null(high)
    if is_unknown.all() or (isinstance(predicate, IsIn | Like) and predicate.is_negated):
        return bounds.may_have_value  # a comparison with null is null; a NOT leaves no file out
    if isinstance(predicate, Comparison):
        fits = _comparison_may_match(predicate, low, high)
    elif isinstance(predicate, Like):
        fits = _prefix_may_match(predicate.prefix, low, high)
    else:
        fits = _list_may_match(predicate.values, low, high)
    return bounds.may_have_value & (is_unknown | fits)


def _comparison_may_match(predicate: Comparison, low: pa.Array, high: pa.Array) -> Mask:
    value, sign = predicate.value, predicate.operator

    def is_so(compute: Callable[[pa.Array, pa.Scalar], pa.Array], bounds: pa.Array) -> Mask:
        return is_true(compute(cast_to(bounds, value.type), value))

    # NaN is greater than everything, and bounds leave it out.
    may_be_nan = np.full(len(low), pa.types.is_floating(low.type))
    if sign is Operator.NOT_EQUAL:
        return may_be_nan | ~(is_so(pc.equal, low) & is_so(pc.equal, high))
    if sign in {Operator.GREATER, Operator.GREATER_OR_EQUAL}:
        return may_be_nan | is_so(sign.compute, high)
    if sign in {Operator.LESS, Operator.LESS_OR_EQUAL}:
        return is_so(sign.compute, low)
    return is_so(pc.less_equal, low) & is_so(pc.greater_equal, high)


def _prefix_may_match(prefix: str, low: pa.Array, high: pa.Array) -> Mask:
    sought = prefix.encode()
    start = pc.binary_slice(low.cast(pa.binary()), 0, len(sought))
    last = high.cast(pa.binary())
    return is_true(pc.and_(pc.less_equal(start, sought), pc.greater_equal(last, sought)))


def _list_may_match(values: pa.Array, low: pa.Array, high: pa.Array) -> Mask:
    ends = [cast_to(end, values.type) for end in (low, high)]
    ranks = np.array(pc.rank(pa.concat_arrays([values, *ends]), tiebreaker="dense"), np.int64)
    listed, first, last = np.split(ranks, [len(values), len(values) + len(low)])
    listed = np.append(np.sort(listed), ranks.max() + 1)
    return np.less_equal(listed[np.searchsorted(listed, first)], last)  # the least that is not low


_MOST_KEYS = 10_000


def wanted_record_keys(
    predicate: Predicate | None, config: TableConfig, schema: pa.Schema
) -> tuple[str, ...] | None:
    """Return the only record keys that rows may have for which a filter is true; None for any.

    All records of one row share their key, and so the fields that the key is made from: records of
    other keys never change the result of the merge. None, too, for more keys than are worth a
    look-up.
    """
    parts = conjuncts(predicate)
    direct = _listed(parts, RECORD_KEY_COLUMN)
    if direct is not None:
        return tuple(str(value) for value in direct)
    fields = config.record_key_fields
    if not fields or config.key_generator not in KEY_GENERATORS.values():
        return None
    texts = [_listed_texts(parts, name, schema) for name in fields]
    known = [text for text in texts if text is not None]
    if len(known) < len(fields) or prod(map(len, known)) > _MOST_KEYS:
        return None
    named = [
        [f"{name}:{text or '__empty__'}" for text in values]
        for name, values in zip(fields, known, strict=True)
    ]
    keys = [",".join(combined) for combined in product(*named)]
    # One field alone: generators differ, also by release, in whether they put its name before it.
    return tuple(dict.fromkeys([*keys, *known[0]] if len(fields) == 1 else keys))


def keys_array(keys: Sequence[str] | None) -> pa.Array | None:
    """Return the same keys for Arrow; None for any."""
    return pa.array(keys, pa.string()) if keys is not None else None


def _listed_texts(parts: Sequence[Predicate], name: str, schema: pa.Schema) -> list[str] | None:
    """Return the values that a filter lists for a column, as text; None for any."""
    data_type = schema.field(name).type if name in schema.names else pa.null()
    if not (pa.types.is_string(data_type) or pa.types.is_integer(data_type)):
        return None
    values = _listed(parts, name)
    if values is None or not all(isinstance(value, str | int) for value in values):
        return None
    return [str(value) for value in values]


def _listed(parts: Sequence[Predicate], column: str) -> list[object] | None:
    """Return the shortest list of values that a part admits for a column; None without a list."""
    lists: list[list[object]] = []
    for part in parts:
        match part:
            case IsIn(name, values, is_negated=False) if name == column:
                lists.append(values.to_pylist())
            case Comparison(name, Operator.EQUAL, value) if name == column:
                lists.append([value.as_py()])
    return min(lists, key=len, default=None)
