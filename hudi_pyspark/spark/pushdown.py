"""The filters that Spark pushes down, converted to predicates."""

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
    """A filter with a literal; Spark 4.0 does not have these classes."""

    value: Any


_WORKERS = "pyspark.sql.worker."
_PUSHDOWN_WORKER = f"{_WORKERS}data_source_pushdown_filters"


def is_pushdown_on() -> bool:
    """Return whether Spark pushes filters down.

    Spark plans in a Python worker, which runs another module if filter pushdown is enabled
    (``spark.sql.python.filterPushdown.enabled``). Otherwise it rejects readers that have
    ``pushFilters``. A worker of another kind may import that module as well.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    # A daemon gets the name of the worker's module as its argument.
    names = [getattr(main, "name", ""), *sys.argv[1:2]]
    running = [name for name in names if name.startswith(_WORKERS)]
    return running == [_PUSHDOWN_WORKER] if running else _PUSHDOWN_WORKER in sys.modules


def to_predicate(pushed: object, schema: pa.Schema) -> Predicate | None:
    """Return the same condition, with Spark's result for every row; None if Spark must check it.

    Args:
        pushed: a filter of ``pyspark.sql.datasource``.
        schema: columns of the result, in the types that Spark expects.
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
    except InvalidOptionError:  # this package does not compare the column with such a literal
        return None


def _comparison(sign: Operator) -> Callable[[_Pushed, str, pa.DataType], Predicate]:
    return lambda pushed, column, kind: compare(column, kind, sign, pushed.value)


def _null_safe(pushed: _Pushed, column: str, kind: pa.DataType) -> Predicate:
    if pushed.value is None:
        return IsNull(column)
    return null_safe_equal(column, kind, pushed.value)


def _like(before: str, after: str) -> Callable[[_Pushed, str, pa.DataType], Predicate]:
    def convert(pushed: _Pushed, column: str, kind: pa.DataType) -> Predicate:
        compare(
            column, kind, Operator.EQUAL, pushed.value
        )  # refuses columns and literals that are not text
        text = pushed.value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        return Like(column, f"{before}{text}{after}")

    return convert


# By class name, since Spark 4.0 lacks these classes.
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
