"""What conditions on a column say of an expression of it, for an index of that expression.

An expression index has the bounds, or a Bloom filter, of a function of one column, by file. Filters
have no functions. But a row whose column has a value has the function's value of it in the index:
``d = DATE '2024-01-31'`` rules out the files that have no row of the year 2024.

===================================  =============================================================
function                             conditions
===================================  =============================================================
identity                             all, as for column statistics
lower, upper, trim, ltrim, rtrim,    ``=`` and ``IN``, texts of ASCII characters: other letters
substring, length                    change their case differently in Java
year, month, day, of a date          ``=`` and ``IN``, days since 1582-10-15
===================================  =============================================================

Other functions are not used. They depend on the zone or the settings of the session that wrote the
index, which no definition names (``date_format``, ``from_unixtime``, ``hour``, and all that take or
make a timestamp), or on Java's regular expressions.

Source: Hudi's ExpressionIndexSparkFunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeAlias

import pyarrow as pa

from hudi_pyspark.filter.predicate import And, Comparison, IsIn, Leaf, Operator, Or, Predicate, fold
from hudi_pyspark.metadata_table.index_definitions import IDENTITY, IndexDefinition

_Options: TypeAlias = Mapping[str, str]
_EXPRESSION = "expr"
_BLOOM_OPTIONS = {"filtertype", "numentries", "fpp", "maxentries"}
_GREGORIAN = date(1582, 10, 15)  # files may have earlier days in another calendar
_NO_COLUMN = "\0"  # of conditions that say nothing of the expression


@dataclass(frozen=True, slots=True)
class _Function:
    """A function whose values are the same here as in Spark, in every session."""

    of: pa.DataType
    makes: pa.DataType
    apply: Callable[[object, _Options], object]
    options: frozenset[str] = frozenset()  # that it may have


def _of_text(
    apply: Callable[[str, _Options], str | int], *options: str, makes: pa.DataType | None = None
) -> _Function:
    def apply_to_ascii(value: object, options: _Options) -> object:
        return apply(value, options) if isinstance(value, str) and value.isascii() else None

    return _Function(pa.string(), makes or pa.string(), apply_to_ascii, frozenset(options))


def _of_date(apply: Callable[[date], int]) -> _Function:
    def apply_to_gregorian(value: object, _: _Options) -> object:
        return apply(value) if isinstance(value, date) and value >= _GREGORIAN else None

    return _Function(pa.date32(), pa.int32(), apply_to_gregorian)


def _substring(text: str, options: _Options) -> str:
    position = int(options["pos"])
    length = int(options["len"])
    # Spark counts from 1, takes 0 for 1, and counts from the end if the position is negative.
    start = position - 1 if position > 0 else position + (len(text) if position else 0)
    return text[max(start, 0) : max(start + length, 0)]


_FUNCTIONS = {
    "lower": _of_text(lambda text, _: text.lower()),
    "upper": _of_text(lambda text, _: text.upper()),
    "trim": _of_text(lambda text, given: text.strip(given.get("trimString", " ")), "trimString"),
    "ltrim": _of_text(lambda text, given: text.lstrip(given.get("trimString", " ")), "trimString"),
    "rtrim": _of_text(lambda text, given: text.rstrip(given.get("trimString", " ")), "trimString"),
    "substring": _of_text(_substring, "pos", "len"),
    "length": _of_text(lambda text, _: len(text), makes=pa.int32()),
    "year": _of_date(lambda day: day.year),
    "month": _of_date(lambda day: day.month),
    "day": _of_date(lambda day: day.day),
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A function of a column that this reader computes as the writers of its index do."""

    definition: IndexDefinition
    column: pa.Field  # as the table has it
    function: _Function | None  # None for the identity

    @classmethod
    def of(cls, definition: IndexDefinition, column: pa.Field) -> Expression | None:
        """Return the expression of an index; None if it cannot be computed here."""
        of_function = set(definition.options) - {_EXPRESSION} - _BLOOM_OPTIONS
        if definition.function == IDENTITY:
            return None if of_function else cls(definition, column, None)
        function = _FUNCTIONS.get(definition.function)
        if function is None or function.of != column.type or not of_function <= function.options:
            return None
        return cls(definition, column, function)

    @property
    def field(self) -> pa.Field:
        """The values of the expression, under the name of its column."""
        return (
            self.column
            if self.function is None
            else pa.field(self.column.name, self.function.makes)
        )

    def condition(self, predicate: Predicate) -> Predicate:
        """Return what a predicate says of the expression, as a predicate on the column's name."""
        return fold(
            predicate,
            self._condition_of_leaf,
            lambda left, right: And((left, right)),
            lambda left, right: Or((left, right)),
        )

    def _condition_of_leaf(self, leaf: Leaf) -> Leaf:
        if self.function is None or leaf.column != self.definition.column:
            return leaf
        match leaf:
            case Comparison(_, Operator.EQUAL, value):
                values = self.values_of(pa.repeat(value, 1))
            case IsIn(_, listed, is_negated=False):
                values = self.values_of(listed)
            case _:
                values = None
        if values is None:
            return replace(leaf, column=_NO_COLUMN)
        return IsIn(leaf.column, values)

    def values_of(self, values: pa.Array) -> pa.Array | None:
        """Return the expression's values of values of the column; None if one is not certain."""
        if self.function is None:
            return values
        if values.type != self.function.of:
            return None
        try:
            options = self.definition.options
            found = [self.function.apply(value, options) for value in values.to_pylist()]
        except (ValueError, KeyError, TypeError, OverflowError):  # options, or years beyond 9999
            return None
        return None if None in found else pa.array(found, self.function.makes).unique()
