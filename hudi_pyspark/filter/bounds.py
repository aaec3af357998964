"""Tests of a filter against the bounds of columns, before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import is_null, is_true
from hudi_pyspark.filter.predicate import And, Comparison, IsIn, IsNull, Like, Operator, Or, cast_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from hudi_pyspark.filter.predicate import Predicate

    Mask: TypeAlias = npt.NDArray[np.bool_]
    Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Facts about the values that a column has in some rows."""

    low: pa.Scalar | None  # no value is smaller, except NaN; None if unknown
    high: pa.Scalar | None  # no value is greater, except NaN; None if unknown
    may_be_null: bool
    may_have_value: bool  # false: all of them are null

    @classmethod
    def of(cls, value: pa.Scalar) -> Bounds:
        """Return the bounds of a column with one value, which is not null."""
        return cls(value, value, may_be_null=False, may_have_value=True)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBounds:
    """The bounds that a column has in each of some files."""

    low: pa.Array  # null where a bound is unknown, as in `high`
    high: pa.Array
    may_be_null: Mask
    may_have_value: Mask

    @classmethod
    def of(cls, bounds: Bounds) -> ColumnBounds:
        """Return the bounds of a column in a single file."""
        low, high = bounds.low, bounds.high
        if low is None or high is None:
            low = high = pa.scalar(None)
        return cls(
            pa.array([low.as_py()], low.type),
            pa.array([high.as_py()], high.type),
            np.array([bounds.may_be_null]),
            np.array([bounds.may_have_value]),
        )


BoundsOf: TypeAlias = "Callable[[str], Bounds | None]"  # None for a column without bounds


def may_match(predicate: Predicate, bounds_of: BoundsOf) -> bool:
    """Decide whether the predicate can be true for rows whose columns are within their bounds."""
    if isinstance(predicate, And):
        return all(may_match(part, bounds_of) for part in predicate.parts)
    if isinstance(predicate, Or):
        return any(may_match(part, bounds_of) for part in predicate.parts)
    bounds = bounds_of(predicate.column)
    return bounds is None or bool(_leaf_may_match(predicate, ColumnBounds.of(bounds))[0])


def may_match_merged(
    predicate: Predicate, columns: Mapping[str, ColumnBounds], files: Rows, count: int
) -> Mask:
    """Decide for which sets of files the predicate can be true for rows merged from a set."""
    # Each value of such a row is that of a record in one of the files; values of different columns
    # may come from different files. ``files`` has the ordinal of each file's set, ``columns`` an
    # item for each file.
    if isinstance(predicate, And | Or):
        parts = [may_match_merged(part, columns, files, count) for part in predicate.parts]
        combine = np.logical_and if isinstance(predicate, And) else np.logical_or
        found: Mask = combine.reduce(parts)
        return found
    if predicate.column not in columns:
        return np.ones(count, np.bool_)
    fits = _leaf_may_match(predicate, columns[predicate.column])
    return np.bincount(files[fits], minlength=count) > 0


def _leaf_may_match(predicate: Comparison | IsIn | IsNull | Like, bounds: ColumnBounds) -> Mask:
    if isinstance(predicate, IsNull):
        return bounds.may_have_value if predicate.is_negated else bounds.may_be_null
    low, high = bounds.low, bounds.high
    is_unknown = is_null(low) | is_null(high)
    if is_unknown.all():
        return bounds.may_have_value  # a comparison with null is null
    if isinstance(predicate, Comparison):
        fits = _comparison_may_match(predicate, low, high)
    else:
        pairs = zip(low, high, is_unknown, strict=True)
        fits = np.array([is_open or _holds_some(predicate, *ends) for *ends, is_open in pairs])
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


def _holds_some(predicate: IsIn | Like, low: pa.Scalar, high: pa.Scalar) -> bool:
    if isinstance(predicate, IsIn):
        return _list_may_match(predicate, low, high)
    return _like_may_match(predicate, low, high)


def _list_may_match(predicate: IsIn, low: pa.Scalar, high: pa.Scalar) -> bool:
    if predicate.is_negated:
        return True
    bounds = cast_to(pa.array([low.as_py(), high.as_py()], low.type), predicate.values.type)
    within = pc.and_(
        pc.greater_equal(predicate.values, bounds[0]), pc.less_equal(predicate.values, bounds[1])
    )
    return bool(pc.any(within).as_py())


def _like_may_match(predicate: Like, low: pa.Scalar, high: pa.Scalar) -> bool:
    prefix = predicate.prefix.encode()
    first, last = low.as_py().encode(), high.as_py().encode()
    return predicate.is_negated or (first[: len(prefix)] <= prefix <= last)
