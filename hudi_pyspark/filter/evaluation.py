"""Evaluate predicates on rows: true, false or null for each row, as Spark decides."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, cast_to, field_array, is_true
from hudi_pyspark.filter.predicate import Comparison, IsIn, IsNull, Leaf, Operator, Predicate, fold

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
        return _compare(leaf, cast_to(values, leaf.value.type))
    if isinstance(leaf, IsIn):
        matches = _find(leaf, cast_to(values, leaf.values.type))
    else:
        matches = pc.match_substring_regex(values, _to_regex(leaf.pattern))
    return pc.invert(matches) if leaf.is_negated else matches


def _compare(leaf: Comparison, values: pa.Array) -> pa.Array:
    result = leaf.operator.compute(values, leaf.value)
    if pa.types.is_floating(values.type) and leaf.operator in _TRUE_OF_NAN:
        result = pc.or_kleene(result, pc.is_nan(values))
    return result


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
