"""Evaluate predicates: on rows as Spark decides, and on bounds of columns before rows are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import (
    Mask,
    RowNumbers,
    cast_to,
    field_array,
    is_null,
    is_true,
    repeat,
)
from hudi_pyspark.filter.predicate import (
    Comparison,
    IsIn,
    IsNull,
    Leaf,
    Like,
    Operator,
    Predicate,
    columns_of,
    fold,
)

# Spark orders NaN after every other number and treats it as equal to itself.
_TRUE_OF_NAN = frozenset({Operator.NOT_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL})
_WILDCARDS = {"%": ".*", "_": "."}


def holds(predicate: Predicate, rows: pa.Table) -> Mask:
    """Return a mask of the rows for which the predicate is true, not null, as in a WHERE clause.

    Raises:
        CorruptTableError: the rows lack a column of the predicate.
    """
    matches: pa.Array = fold(
        predicate, lambda leaf: _evaluate(leaf, rows), pc.and_kleene, pc.or_kleene
    )
    return is_true(matches)


def filter_rows(predicate: Predicate | None, rows: pa.Table) -> pa.Table:
    """Return the rows for which the predicate is true; all rows if it is None.

    Raises:
        CorruptTableError: the rows lack a column of the predicate.
    """
    if predicate is None or not rows.num_rows:
        return rows
    mask = holds(predicate, rows)
    return rows if mask.all() else rows.filter(pa.array(mask))


def _evaluate(leaf: Leaf, rows: pa.Table) -> pa.Array:
    values = field_array(rows, leaf.column)
    if isinstance(leaf, IsNull):
        return pc.is_valid(values) if leaf.is_negated else pc.is_null(values)
    if isinstance(leaf, Comparison):
        values = cast_to(values, leaf.value.type)
        matches = leaf.operator.compute(values, leaf.value)
        if pa.types.is_floating(values.type) and leaf.operator in _TRUE_OF_NAN:
            matches = pc.or_kleene(matches, pc.is_nan(values))
        return matches
    if isinstance(leaf, IsIn):
        matches = _find(leaf, cast_to(values, leaf.values.type))
    else:
        matches = pc.match_substring_regex(values, _to_regex(leaf.pattern))
    return pc.invert(matches) if leaf.is_negated else matches


def _find(leaf: IsIn, values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        # The sum turns -0.0 into 0.0: a set of values finds equal bits only.
        values = pc.add(values, pa.scalar(0, values.type))
    matches = pc.is_in(values, value_set=leaf.values)
    return pc.if_else(pc.is_valid(values), matches, pa.scalar(None, pa.bool_()))


def _to_regex(pattern: str) -> str:
    """Convert a LIKE pattern for RE2; Arrow's own LIKE mistakes escapes at a pattern's ends."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    pieces = [_WILDCARDS.get(part) or _quote(part[-1]) for part in parts]
    return rf"\A(?s:{''.join(pieces)})\z"


def _quote(character: str) -> str:
    is_plain = character.isalnum() or not character.isascii()
    return character if is_plain else rf"\x{{{ord(character):x}}}"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBounds:
    """The bounds of one column in each of some files."""

    low: pa.Array  # no value is smaller, except NaN; null if unknown
    high: pa.Array  # no value is greater, except NaN; null if unknown
    may_be_null: Mask
    may_have_value: Mask  # false: all values are null

    @classmethod
    def of(
        cls,
        low: pa.Scalar | None,
        high: pa.Scalar | None,
        *,
        may_be_null: bool = False,
        may_have_value: bool = True,
    ) -> "ColumnBounds":
        """Return the bounds of a column in a single file; both are unknown if either is None."""
        if low is None or high is None:
            low = high = pa.scalar(None)
        return cls(
            repeat(low, 1), repeat(high, 1), np.array([may_be_null]), np.array([may_have_value])
        )


def may_match(predicate: Predicate, bounds_of: Callable[[str], ColumnBounds | None]) -> bool:
    """Decide whether the predicate can be true for a row of one file.

    Args:
        predicate: the filter.
        bounds_of: returns the bounds of a column, by its dotted name, with one entry; None if they
            are unknown.
    """
    bounds = {name: b for name in columns_of(predicate) if (b := bounds_of(name)) is not None}
    return bool(may_match_merged(predicate, bounds, np.zeros(1, np.int64), 1)[0])


def may_match_merged(
    predicate: Predicate,
    bounds: Mapping[str, ColumnBounds],
    group_of_file: RowNumbers,
    group_count: int,
) -> Mask:
    """Decide for each group of files whether a row merged from its files may match.

    Each value of a merged row is that of a record in one of the files; values of different columns
    may come from different files.

    Args:
        predicate: the filter.
        bounds: of columns, by their dotted names, with one entry per file. A missing column rules
            nothing out.
        group_of_file: for each file the number of its group.
        group_count: groups are numbered from 0 to this number, exclusive.

    Returns:
        A mask of the groups; false is certain.
    """

    def of_leaf(leaf: Leaf) -> Mask:
        if leaf.column not in bounds:
            return np.ones(group_count, np.bool_)
        fits = _leaf_may_match(leaf, bounds[leaf.column])
        return np.bincount(group_of_file[fits], minlength=group_count) > 0

    return fold(predicate, of_leaf, np.logical_and, np.logical_or)


def _leaf_may_match(leaf: Leaf, bounds: ColumnBounds) -> Mask:
    if isinstance(leaf, IsNull):
        return bounds.may_have_value if leaf.is_negated else bounds.may_be_null
    low, high = bounds.low, bounds.high
    is_unknown = is_null(low) | is_null(high)
    if is_unknown.all() or (isinstance(leaf, IsIn | Like) and leaf.is_negated):
        return bounds.may_have_value  # a comparison with null is null; NOT rules no file out
    if isinstance(leaf, Comparison):
        fits = _comparison_may_match(leaf, low, high)
    elif isinstance(leaf, Like):
        fits = _prefix_may_match(leaf.prefix, low, high)
    else:
        fits = _list_may_match(leaf.values, low, high)
    return bounds.may_have_value & (is_unknown | fits)


def _comparison_may_match(leaf: Comparison, low: pa.Array, high: pa.Array) -> Mask:
    value = leaf.value
    operator = leaf.operator

    def holds_for(compute: Callable[[pa.Array, pa.Scalar], pa.Array], ends: pa.Array) -> Mask:
        return is_true(compute(cast_to(ends, value.type), value))

    # NaN is greater than every other value, and bounds leave it out.
    may_be_nan = np.full(len(low), pa.types.is_floating(low.type))
    match operator:
        case Operator.NOT_EQUAL:
            return may_be_nan | ~(holds_for(pc.equal, low) & holds_for(pc.equal, high))
        case Operator.GREATER | Operator.GREATER_OR_EQUAL:
            return may_be_nan | holds_for(operator.compute, high)
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            return holds_for(operator.compute, low)
        case Operator.EQUAL:
            return holds_for(pc.less_equal, low) & holds_for(pc.greater_equal, high)


def _prefix_may_match(prefix: str, low: pa.Array, high: pa.Array) -> Mask:
    sought = prefix.encode()
    start = pc.binary_slice(low.cast(pa.binary()), 0, len(sought))
    end = high.cast(pa.binary())
    return is_true(pc.and_(pc.less_equal(start, sought), pc.greater_equal(end, sought)))


def _list_may_match(values: pa.Array, low: pa.Array, high: pa.Array) -> Mask:
    ends = [cast_to(end, values.type) for end in (low, high)]
    ranks = np.array(pc.rank(pa.concat_arrays([values, *ends]), tiebreaker="dense"), np.int64)
    listed_ranks, first, last = np.split(ranks, [len(values), len(values) + len(low)])
    listed_ranks = np.append(np.sort(listed_ranks), ranks.max() + 1)
    # The least listed value that is not below the lower bound.
    return np.less_equal(listed_ranks[np.searchsorted(listed_ranks, first)], last)
