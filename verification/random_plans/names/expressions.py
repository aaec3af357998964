"""Columns in scope, and random expressions over them, as text of Spark's SQL.

An expression knows its *kind*: columns of one kind compare with each other whatever their types
are, so that few plans are errors. A kind is no type: ``num`` has numbers and texts of numbers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from verification.random_plans.names import tables

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
NAMES = ("id", "n", "qty", "amount", "f", "at", "day", "name", "st", "arr", "flag", "part")
FLAT = ("num", "text", "time", "bool")
# What Spark orders, groups and compares.
ORDERED = (*FLAT, "struct", "array")
_TEXTS_OF_NUMBERS = ("id", "n", "qty", "amount", "s", "x", "item")


@dataclass(frozen=True)
class Column:
    """A column in scope, or an expression.

    Attributes:
        ref: text that means it.
        name: of the column that it is, or becomes.
        type: as Spark's DDL; "" for an expression whose type does not matter.
        kind: what it compares with.
        is_aggregate: whether it is one of many rows.
    """

    ref: str
    name: str
    type: str
    kind: str


def kind_of(name: str, kind: str) -> str:
    """Return the kind of a column by its name in a table, and its type."""
    if name.startswith("_hoodie"):
        return "meta"
    for start in ("struct", "array", "map", "variant"):
        if kind.startswith(start):
            return start
    if kind in ("date", "timestamp") or name == "day":
        return "time"
    if kind == "boolean":
        return "bool"
    if kind == "string":
        return "num" if name in _TEXTS_OF_NUMBERS else "text"
    return "num"


def columns_of(table: str) -> list[Column]:
    """Return the columns of a table, in order."""
    types = dict.fromkeys(META, "string") if table in tables.HUDI_TABLES else {}
    types |= tables.TYPES[table]
    return [Column(name, name, kind, kind_of(name, kind)) for name, kind in types.items()]


def fields_of(column: Column) -> list[Column]:
    """Return the fields of a struct."""
    pairs = [field.split(":") for field in column.type[7:-1].split(",")]
    return [Column(f"{column.ref}.{n}", n, k, kind_of(n, k)) for n, k in pairs]


@dataclass
class Scope:
    """The columns that an expression may use.

    Attributes:
        columns: in order; several may share a name.
        unique: columns that together have no two equal rows; empty if unknown.
    """

    columns: list[Column]
    unique: list[Column] = field(default_factory=list)

    def named(self, alias: str) -> Scope:
        """Return the scope of a relation that gets an alias: columns of a shared name are lost."""
        own = self.without_shared_names()
        renamed = {c.ref: replace(c, ref=f"{alias}.{c.name}") for c in own}
        return Scope(
            list(renamed.values()),
            [renamed[c.ref] for c in self.unique] if self._knows_unique(renamed) else [],
        )

    def _knows_unique(self, renamed: Iterable[str]) -> bool:
        return all(column.ref in renamed for column in self.unique)

    def without_shared_names(self) -> list[Column]:
        """Return the columns that their names mean alone."""
        counts = Counter(column.name.lower() for column in self.columns)
        return [column for column in self.columns if counts[column.name.lower()] == 1]

    def of(self, *kinds: str) -> list[Column]:
        """Return the columns of some kinds."""
        return [column for column in self.columns if column.kind in kinds]


class Expressions:
    """Draws expressions, and counts what it drew."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.features: Counter[str] = Counter()

    def did(self, feature: str) -> None:
        """Count a feature."""
        self.features[feature] += 1

    def chance(self, probability: float) -> bool:
        """Return True as often as said."""
        return self.dice.random() < probability

    def column(self, scope: Scope, *kinds: str) -> Column:
        """Draw a column; fields of structs are columns as well."""
        found = scope.of(*(kinds or FLAT))
        for struct in scope.of("struct"):
            if struct.type.startswith("struct<") and self.chance(0.4):
                found += [f for f in fields_of(struct) if f.kind in (kinds or FLAT)]
        if found:
            return self.dice.choice(found)
        return Column("1", "one", "int", "num")

    def scalar(self, scope: Scope, *kinds: str) -> Column:
        """Draw an expression that is not nested."""
        column = self.column(scope, *kinds)
        if self.chance(0.6) or column.kind not in _FORMS:
            return column
        form, kind = self.dice.choice(_FORMS[column.kind])
        if kinds and kind not in kinds:
            return column
        if "{o}" in form:
            other = self.column(scope, column.kind)
            if other.kind != column.kind:
                return column
            form = form.replace("{o}", other.ref)
        self.did(f"expression {form.partition('(')[0][:10]}" if "(" in form else "expression")
        return Column(form.replace("{c}", column.ref), column.name, "", kind)

    def any_column(self, scope: Scope) -> Column:
        """Draw an expression that may be nested, a call of a Python function among them."""
        if self.chance(0.08):
            column = self.column(scope)
            name = self.dice.choice(["py_text", "py_arrow", "py_pandas", "py_arrow_native"])
            self.did(f"udf {name}")
            return Column(f"{name}({column.ref})", column.name, "string", "text")
        kinds = ["struct", "array"] if self.chance(0.2) else list(FLAT)
        if scope.of("variant", "map") and self.chance(0.3):
            kinds = ["variant", "map"]
        if scope.of("meta") and self.chance(0.05):
            kinds = ["meta"]
        if kinds[0] in FLAT:
            return self.scalar(scope)
        found = scope.of(*kinds)
        if not found:
            return self.scalar(scope)
        column = self.dice.choice(found)
        self.did(column.kind)
        if column.kind == "variant" and self.chance(0.6):
            return Column(f"{column.ref}:x::int", column.name, "int", "num")
        if column.kind == "array" and self.chance(0.3):
            return Column(f"size({column.ref})", column.name, "int", "num")
        return column

    def condition(self, scope: Scope, *, depth: int = 1) -> str:  # noqa: PLR0911  (ways)
        """Draw a condition."""
        if depth and self.chance(0.35):
            one, other = self.condition(scope, depth=0), self.condition(scope, depth=0)
            sign = self.dice.choice(["AND", "OR", "AND NOT"])
            return f"({one}) {sign} ({other})"
        column = self.scalar(scope)
        way = self.dice.random()
        if way < 0.12:
            return f"{column.ref} IS {self.dice.choice(['', 'NOT '])}NULL"
        if way < 0.3:
            second = self.column(scope, column.kind)
            if second.kind == column.kind:
                sign = self.dice.choice(["=", "<", ">=", "<=>", "<>"])
                return f"{column.ref} {sign} {second.ref}"
        if way < 0.4 and column.kind != "bool":
            values = ", ".join(self.literal(column.kind) for _ in range(3))
            return f"{column.ref} {self.dice.choice(['IN', 'NOT IN'])} ({values})"
        if way < 0.45 and column.kind == "num":
            self.did("udf in condition")
            return f"py_size({column.ref}) < 2"
        if column.kind == "text" and way < 0.7:
            self.did("collation")
            return f"{column.ref} COLLATE UTF8_LCASE = {self.literal('text')}"
        sign = self.dice.choice(["=", "<", "<=", ">", ">=", "<>"])
        return f"{column.ref} {sign} {self.literal(column.kind)}"

    def literal(self, kind: str) -> str:
        """Draw a literal that compares with a kind."""
        number = self.dice.randint(0, 12)
        day = f"2024-02-{20 + number % 9:02}"
        return {
            "num": self.dice.choice([str(number), str(number), f"'{number}'"]),
            "text": self.dice.choice(["'ab'", "'AB'", "'b'", "'a'", "''"]),
            "time": self.dice.choice([f"DATE '{day}'", f"TIMESTAMP '{day} 12:00:00'", f"'{day}'"]),
            "bool": "true",
        }[kind]

    def equality(self, left: Scope, right: Scope) -> str:
        """Draw an equality of columns of two relations, which is the key of a join."""
        kind = self.dice.choices(["num", "time", "text", "bool"], [70, 15, 12, 3])[0]
        if not left.of(kind) or not right.of(kind):
            kind = "num"
        one, other = self.key(left, kind), self.key(right, kind)
        sign = "<=>" if self.chance(0.12) else "="
        if kind == "text" and self.chance(0.5):
            self.did("collation")
            return f"{one.ref} COLLATE UTF8_LCASE = {other.ref} COLLATE UTF8_LCASE"
        self.did("key null-safe" if sign == "<=>" else "key")
        return f"{one.ref} {sign} {other.ref}"

    def key(self, scope: Scope, kind: str) -> Column:
        """Draw a key: mostly one that has a name of both sides, sometimes an expression."""
        preferred = [c for c in scope.of(kind) if c.name in ("id", "n", "qty", "at", "name")]
        if preferred and self.chance(0.6):
            return self.dice.choice(preferred)
        column = self.scalar(scope, kind)
        return column if column.kind == kind else self.column(scope, kind)

    def alias(self, column: Column) -> str:
        """Draw the name of a column of a result: often that of another one."""
        way = self.dice.random()
        if way < 0.45 and column.ref.rpartition(".")[2] == column.name:
            return column.name
        if way < 0.55:
            return column.name
        if way < 0.6:
            self.did("alias in other case")
            return column.name.upper()
        self.did("alias of a column's name")
        return self.dice.choice(NAMES)

    def sorted_by(self, columns: Sequence[Column]) -> bool:
        """Return whether all of some columns can be sorted by."""
        return all(column.kind in ORDERED for column in columns)


# What is made of a column {c} and another of its kind {o}, and the kind that it has.
_FORMS: dict[str, list[tuple[str, str]]] = {
    "num": [
        ("CAST({c} AS decimal(14,3))", "num"),
        ("CAST({c} AS double)", "num"),
        ("coalesce({c}, 3)", "num"),
        ("greatest(CAST({c} AS double), CAST({o} AS double))", "num"),
        ("nullif({c}, {o})", "num"),
        ("CAST({c} AS double) + 1", "num"),
        ("CASE WHEN {c} > 4 THEN {o} ELSE {c} END", "num"),
        ("if({c} IS NULL, {o}, {c})", "num"),
        ("CAST({c} AS string)", "text"),
        ("struct({c} AS id, {o} AS n).id", "num"),
    ],
    "text": [
        ("upper({c})", "text"),
        ("length({c})", "num"),
        ("concat({c}, '!')", "text"),
        ("{c} || {o}", "text"),
        ("substr({c}, 1, 1)", "text"),
        ("coalesce({c}, {o})", "text"),
    ],
    "time": [
        ("CAST({c} AS date)", "time"),
        ("CAST({c} AS timestamp)", "time"),
        ("year({c})", "num"),
        ("coalesce({c}, {o})", "time"),
        ("date_add({c}, 1)", "time"),
        ("greatest(CAST({c} AS date), CAST({o} AS date))", "time"),
    ],
    "bool": [("NOT {c}", "bool"), ("coalesce({c}, {o})", "bool"), ("CAST({c} AS int)", "num")],
}
