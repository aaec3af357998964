"""Filters that Spark pushes down, as predicates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, cast

from pyspark.sql import datasource

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.query.filter.predicate import IsNull, Like, Operator, compare, field_type, is_in
from hudi_pyspark.query.filter.sql_text import null_safe_equal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from hudi_pyspark.query.filter.predicate import Predicate


class _Pushed(Protocol):
    """What the filters with a literal have in common; Spark 4.0 has no such classes."""

    value: Any


_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


def is_pushdown_on() -> bool:
    """Whether Spark will ask for filters: only then may a reader say that it takes them.

    Spark plans in a Python worker, of another module where filter pushdown is switched on
    (``spark.sql.python.filterPushdown.enabled``); it refuses a reader with ``pushFilters``
    otherwise.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PUSHDOWN_WORKER in sys.modules or getattr(main, "name", "") == _PUSHDOWN_WORKER


def to_predicate(pushed: object, schema: pa.Schema) -> Predicate | None:
    """The same condition, with Spark's outcome for every row; None where Spark has to check it.

    Args:
        pushed: a filter of ``pyspark.sql.datasource``.
        schema: the columns of the answer, in the types that Spark was told.
    """
    if isinstance(pushed, datasource.Not):
        inner = to_predicate(pushed.child, schema)
        return inner.negate() if inner is not None else None
    column = ".".join(getattr(pushed, "attribute", ()))
    kind = field_type(schema, column)
    convert = _CONVERSIONS.get(type(pushed).__name__)
    if kind is None or convert is None:
        return None
    try:
        return convert(cast("_Pushed", pushed), column, kind)
    except InvalidOptionError:  # a literal that this package does not compare with such a column
        return None


def _comparison(sign: Operator) -> Callable[[_Pushed, str, pa.DataType], Predicate]:
    return lambda pushed, column, kind: compare(column, kind, sign, pushed.value)


def _null_safe(pushed: _Pushed, column: str, kind: pa.DataType) -> Predicate:
    if pushed.value is None:
        return IsNull(column)
    return null_safe_equal(column, kind, pushed.value)


def _like(before: str, after: str) -> Callable[[_Pushed, str, pa.DataType], Predicate]:
    def convert(pushed: _Pushed, column: str, kind: pa.DataType) -> Predicate:
        compare(column, kind, Operator.EQUAL, pushed.value)  # refuses what is no text
        text = pushed.value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        return Like(column, f"{before}{text}{after}")

    return convert


# By name, for Spark 4.0.
_CONVERSIONS: dict[str, Callable[[_Pushed, str, pa.DataType], Predicate]] = {
    "EqualTo": _comparison(Operator.EQUAL),
    "EqualNullSafe": _null_safe,
    "GreaterThan": _comparison(Operator.GREATER),
    "GreaterThanOrEqual": _comparison(Operator.GREATER_OR_EQUAL),
    "LessThan": _comparison(Operator.LESS),
    "LessThanOrEqual": _comparison(Operator.LESS_OR_EQUAL),
    "In": lambda pushed, column, kind: is_in(column, kind, pushed.value),
    "IsNull": lambda _, column, __: IsNull(column),
    "IsNotNull": lambda _, column, __: IsNull(column, is_negated=True),
    "StringStartsWith": _like("", "%"),
    "StringEndsWith": _like("%", ""),
    "StringContains": _like("%", "%"),
}
