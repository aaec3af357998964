"""Predicates on the columns of a row: comparisons with literals, joined by AND and OR.

`evaluation` decides for which rows a predicate is true, `bounds` for which files it can be true,
and `literals` what a column can be compared with. Conditions may be thousands of levels deep, so
nothing here recurses: a predicate is a list of steps for a stack machine, see `_steps`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import any_of
from hudi_pyspark.columns.text import scalar_text

_Value = TypeVar("_Value")


class Operator(enum.Enum):
    """How a column is compared with a literal."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def negated(self) -> Operator:
        """The operator that is true if this one is false."""
        return Operator(_OPERATORS[self][0])

    @property
    def flipped(self) -> Operator:
        """The operator that says the same with the literal on the left."""
        return Operator(_OPERATORS[self][1])

    @property
    def compute(self) -> Callable[[pa.Array, pa.Scalar], pa.Array]:
        """Arrow's function for this operator."""
        return _OPERATORS[self][2]


# Per operator: the negated one, the flipped one, and Arrow's function.
_OPERATORS: dict[Operator, tuple[str, str, Callable[[pa.Array, pa.Scalar], pa.Array]]] = {
    Operator.EQUAL: ("!=", "=", pc.equal),
    Operator.NOT_EQUAL: ("=", "!=", pc.not_equal),
    Operator.LESS: (">=", ">", pc.less),
    Operator.LESS_OR_EQUAL: (">", ">=", pc.less_equal),
    Operator.GREATER: ("<=", "<", pc.greater),
    Operator.GREATER_OR_EQUAL: ("<", "<=", pc.greater_equal),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator literal``; null if the column is null."""

    column: str  # dotted for a field of a struct
    operator: Operator
    value: pa.Scalar  # of the type that both sides are compared in; never null or NaN

    def __reduce__(self) -> tuple[object, ...]:
        # pyarrow pickles a scalar as a Python value, and Python has no years beyond 9999.
        return _unpickle_comparison, (self.column, self.operator, pa.repeat(self.value, 1))

    def __str__(self) -> str:
        return f"{self.column} {self.operator.value} {literal_text(self.value)}"


def _unpickle_comparison(column: str, operator: Operator, values: pa.Array) -> Comparison:
    return Comparison(column, operator, values[0])


@dataclass(frozen=True, slots=True)
class IsIn:
    """``column [NOT] IN (literals)``; null if the column is null."""

    column: str
    values: pa.Array  # of the type that both sides are compared in; without nulls and NaN
    is_negated: bool = False

    def __str__(self) -> str:
        shown = ", ".join(literal_text(value) for value in self.values[:5])
        more = f", … {len(self.values) - 5} more" if len(self.values) > 5 else ""
        return f"{self.column} {'NOT ' * self.is_negated}IN ({shown}{more})"


@dataclass(frozen=True, slots=True)
class IsNull:
    """``column IS [NOT] NULL``; never null."""

    column: str
    is_negated: bool = False

    def __str__(self) -> str:
        return f"{self.column} IS {'NOT ' * self.is_negated}NULL"


@dataclass(frozen=True, slots=True)
class Like:
    """``column [NOT] LIKE pattern``: ``%`` is any text, ``_`` any character, backslash escapes."""

    column: str
    pattern: str
    is_negated: bool = False

    @property
    def prefix(self) -> str:
        """The text that every match begins with."""
        return re.split(r"[%_\\]", self.pattern, maxsplit=1)[0]

    def __str__(self) -> str:
        return f"{self.column} {'NOT ' * self.is_negated}LIKE '{self.pattern}'"


def literal_text(value: pa.Scalar) -> str:
    """Return a literal as a filter spells it: texts, dates and timestamps in quotes."""
    is_quoted = any_of(pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)(value.type)
    return f"'{scalar_text(value)}'" if is_quoted else scalar_text(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Junction:
    """Base of `And` and `Or`."""

    parts: tuple[Predicate, ...]

    def __reduce__(self) -> tuple[object, ...]:
        return _build, tuple(_steps(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Junction) and _steps(self) == _steps(other)

    def __hash__(self) -> int:
        return hash(tuple(_steps(self)))

    def __str__(self) -> str:
        pieces: list[str] = []
        waiting: list[Predicate | str] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Junction):
                operator = " AND " if isinstance(part, And) else " OR "
                spelled = [piece for each in part.parts for piece in (operator, each)][1:]
                waiting += [")", *spelled[::-1], "("]
            else:
                pieces.append(str(part))
        return "".join(pieces[1:-1])  # without the outer brackets


class And(Junction):
    """Predicate that is true if all parts are."""

    __slots__ = ()


class Or(Junction):
    """Predicate that is true if at least one part is."""

    __slots__ = ()


Leaf: TypeAlias = Comparison | IsIn | IsNull | Like
Predicate: TypeAlias = Leaf | Junction
_Step: TypeAlias = Leaf | type[Junction]


def fold(
    predicate: Predicate,
    of_leaf: Callable[[Leaf], _Value],
    join_and: Callable[[_Value, _Value], _Value],
    join_or: Callable[[_Value, _Value], _Value],
) -> _Value:
    """Compute a value for each leaf, and join the values two at a time.

    Args:
        predicate: of any depth.
        of_leaf: computes the value of a leaf.
        join_and: joins two values of an `And`.
        join_or: joins two values of an `Or`.
    """
    return _run(
        _steps(predicate, deepest_first=True),
        of_leaf,
        lambda kind, left, right: (join_and if kind is And else join_or)(left, right),
    )


def _run(
    steps: Iterable[_Step],
    of_leaf: Callable[[Leaf], _Value],
    join: Callable[[type[Junction], _Value, _Value], _Value],
) -> _Value:
    values: list[_Value] = []
    for step in steps:
        if isinstance(step, type):
            right, left = values.pop(), values.pop()
            values.append(join(step, left, right))
        else:
            values.append(of_leaf(step))
    return values.pop()


def _steps(predicate: Predicate, *, deepest_first: bool = False) -> list[_Step]:
    """List the leaves; after each two values comes And or Or, which joins them.

    With ``deepest_first``, few values wait on the stack, but the parts change their order.
    """
    steps: list[_Step] = []
    waiting: list[Predicate | type[Junction]] = [predicate]
    while waiting:
        step = waiting.pop()
        if not isinstance(step, Junction):
            steps.append(step)
            continue
        parts = step.parts
        if deepest_first:
            parts = tuple(sorted(parts, key=lambda part: not isinstance(part, Junction)))
        waiting.append(parts[0])
        for part in parts[1:]:
            waiting += (part, type(step))
    return steps[::-1]


def _build(*steps: _Step) -> Predicate:
    """Return the predicate that has these `_steps`."""
    predicate: Predicate = _closed(_run(steps, lambda leaf: leaf, _extend))
    return predicate


def _extend(kind: type[Junction], left: Any, right: Any) -> list[Any]:  # noqa: ANN401
    """Join two values to a list of And or Or and its parts, so that a long one grows in place."""
    joined = left if isinstance(left, list) and left[0] is kind else [kind, _closed(left)]
    joined.append(_closed(right))
    return joined


def _closed(value: Any) -> Any:  # noqa: ANN401
    return value[0](tuple(value[1:])) if isinstance(value, list) else value


def negate(predicate: Predicate) -> Predicate:
    """Return the predicate that is true if this one is false; NOT moves to the leaves."""
    return _build(*map(_negate_step, _steps(predicate)))


def _negate_step(step: _Step) -> _Step:
    if isinstance(step, type):
        return Or if step is And else And
    if isinstance(step, Comparison):
        return replace(step, operator=step.operator.negated)
    return replace(step, is_negated=not step.is_negated)


def conjuncts(predicate: Predicate | None) -> tuple[Predicate, ...]:
    """Split a predicate into parts that must all be true, none of them an And; () for None."""
    if predicate is None:
        return ()
    parts = []
    waiting = [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting += part.parts[::-1]
        else:
            parts.append(part)
    return tuple(parts)


def conjunction(parts: Sequence[Predicate]) -> Predicate | None:
    """Join predicates that must all be true into one; None for no predicate."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def columns_of(predicate: Predicate) -> set[str]:
    """Return the dotted names of the columns that a predicate compares."""
    return {step.column for step in _steps(predicate) if not isinstance(step, type)}


def top_level_columns(predicate: Predicate | None, schema: pa.Schema) -> list[str]:
    """Return the names of the schema's columns that a predicate needs, sorted."""
    names = columns_of(predicate) if predicate is not None else set()
    return sorted({name if name in schema.names else name.partition(".")[0] for name in names})
