"""Tests of a filter against the bounds of columns, before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.query.filter.predicate import (
    And,
    Comparison,
    IsIn,
    IsNull,
    Like,
    Operator,
    Or,
    cast_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hudi_pyspark.query.filter.predicate import Predicate


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


BoundsOf: TypeAlias = "Callable[[str], Bounds | None]"  # None for a column without bounds


def may_match(predicate: Predicate, bounds_of: BoundsOf) -> bool:
    """Decide whether the predicate can be true for rows whose columns are within their bounds."""
    if isinstance(predicate, And):
        return all(may_match(part, bounds_of) for part in predicate.parts)
    if isinstance(predicate, Or):
        return any(may_match(part, bounds_of) for part in predicate.parts)
    bounds = bounds_of(predicate.column)
    return bounds is None or _leaf_may_match(predicate, bounds)


def may_match_merged(predicate: Predicate, files: Sequence[BoundsOf]) -> bool:
    """Decide whether the predicate can be true for rows that are merged from some files.

    Each value of such a row is that of a record in one of the files; values of different columns
    may come from different files.
    """
    if isinstance(predicate, And):
        return all(may_match_merged(part, files) for part in predicate.parts)
    if isinstance(predicate, Or):
        return any(may_match_merged(part, files) for part in predicate.parts)
    return any(may_match(predicate, bounds_of) for bounds_of in files)


def _leaf_may_match(predicate: Comparison | IsIn | IsNull | Like, bounds: Bounds) -> bool:
    if isinstance(predicate, IsNull):
        return bounds.may_have_value if predicate.is_negated else bounds.may_be_null
    if not bounds.may_have_value:
        return False  # a comparison with null is null
    if bounds.low is None or bounds.high is None:
        return True
    if isinstance(predicate, Comparison):
        return _comparison_may_match(predicate, bounds.low, bounds.high)
    if isinstance(predicate, IsIn):
        return predicate.is_negated or _list_may_match(predicate, bounds.low, bounds.high)
    return _like_may_match(predicate, bounds.low, bounds.high)


def _comparison_may_match(predicate: Comparison, low: pa.Scalar, high: pa.Scalar) -> bool:
    value, sign = predicate.value, predicate.operator
    is_floating = pa.types.is_floating(low.type)
    if sign is Operator.NOT_EQUAL:
        is_constant = _is(pc.equal, low, value) and _is(pc.equal, high, value)
        return is_floating or not is_constant
    if sign in {Operator.GREATER, Operator.GREATER_OR_EQUAL}:
        # NaN is greater than everything, and bounds leave it out.
        compute = pc.greater if sign is Operator.GREATER else pc.greater_equal
        return is_floating or _is(compute, high, value)
    if sign in {Operator.LESS, Operator.LESS_OR_EQUAL}:
        return _is(pc.less if sign is Operator.LESS else pc.less_equal, low, value)
    return _is(pc.less_equal, low, value) and _is(pc.greater_equal, high, value)


def _is(
    compute: Callable[[pa.Scalar, pa.Scalar], pa.Scalar], bound: pa.Scalar, value: pa.Scalar
) -> bool:
    (compared,) = cast_to(pa.array([bound.as_py()], bound.type), value.type)
    return bool(compute(compared, value).as_py())


def _list_may_match(predicate: IsIn, low: pa.Scalar, high: pa.Scalar) -> bool:
    bounds = cast_to(pa.array([low.as_py(), high.as_py()], low.type), predicate.values.type)
    within = pc.and_(
        pc.greater_equal(predicate.values, bounds[0]), pc.less_equal(predicate.values, bounds[1])
    )
    return bool(pc.any(within).as_py())


def _like_may_match(predicate: Like, low: pa.Scalar, high: pa.Scalar) -> bool:
    prefix = predicate.prefix.encode()
    first, last = low.as_py().encode(), high.as_py().encode()
    return predicate.is_negated or (first[: len(prefix)] <= prefix <= last)
