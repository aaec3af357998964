"""Random expressions of typed columns, as text of Spark's SQL, and random conditions.

Most are forms of `grammar.toml`: texts with holes, of which {a} is a column.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from verification.common.data import load_data
from verification.random_plans.columns import FLAT, Column, Scope, scope_of
from verification.random_plans.conditions import (
    SIGNS,
    Condition,
    Joined,
    Term,
    Text,
    joined,
    literal,
    near,
    say,
)
from verification.random_plans.tables import Tables

GRAMMAR = load_data(__file__, "grammar.toml")
_SIZES = (1, 3, 12, 100, 1_000)
_TEXTS = ("text", "meta", "collated")
ONE = Column("1", "one", "num")
T = TypeVar("T")


class Expressions:
    """Draws expressions, and counts what it drew.

    Args:
        dice: decide everything.
        tables: the family of tables; literals and aliases depend on it.
        ignores_case: whether names in another case are the same names.
    """

    def __init__(self, dice: random.Random, tables: Tables, *, ignores_case: bool = False) -> None:
        self.dice = dice
        self.tables = tables
        self.features: Counter[str] = Counter()
        self.ignores_case = ignores_case

    def did(self, feature: str) -> None:
        """Count a feature."""
        self.features[feature] += 1

    def chance(self, probability: float) -> bool:
        """Return True as often as said."""
        return self.dice.random() < probability

    def pick(self, weights: Mapping[T, float]) -> T:
        """Draw one of some values by their weights."""
        (found,) = self.dice.choices(list(weights), list(weights.values()))
        return found

    # Columns and expressions

    def column(self, scope: Scope, *kinds: str) -> Column:
        """Draw a column; fields of structs are columns as well."""
        found = scope.of(*(kinds or FLAT))
        for struct in scope.of("struct"):
            if self.chance(0.4):
                found += [f for f in struct.fields if f.kind in (kinds or FLAT)]
        return self._spelled(self.dice.choice(found)) if found else ONE

    def _spelled(self, column: Column) -> Column:
        """Return a column by another spelling of its name."""
        if not self.chance(0.06) or not column.ref.replace(".", "").replace("_", "").isalnum():
            return column
        relation, dot, name = column.ref.rpartition(".")
        ref = f"{relation}{dot}`{name}`"
        if self.ignores_case and self.chance(0.6):
            ref = column.ref.upper()
        self.did("name in another spelling")
        return replace(column, ref=ref)

    def scalar(self, scope: Scope, *kinds: str) -> Column:
        """Draw an expression that is not nested."""
        column = self.column(scope, *kinds)
        if self.chance(0.6) or column.kind not in GRAMMAR["expressions"]:
            return column
        form, kind = self.dice.choice(GRAMMAR["expressions"][column.kind])
        if kinds and kind not in kinds:
            return column
        other = self.column(scope, column.kind) if "{b}" in form else column
        if other.kind != column.kind:
            return column
        self.did(f"expression {form.partition('(')[0][:10]}" if "(" in form else "expression")
        return column.made(form.format(a=column.ref, b=other.ref), kind)

    def any_column(self, scope: Scope) -> Column:
        """Draw an expression that may be nested, a call of a Python function among them."""
        if self.chance(0.06):
            column = self.column(scope)
            name = self.dice.choice(["py_text", "py_arrow", "py_pandas", "py_arrow_native"])
            self.did(f"udf {name}")
            return column.made(f"{name}({column.ref})", "text")
        if self.chance(0.003):
            self.did("missing column")
            return Column("missing", "missing", "num")
        kinds = ["struct", "array"] if self.chance(0.2) else list(FLAT)
        if scope.of("variant", "map") and self.chance(0.3):
            kinds = ["variant", "map"]
        if scope.of("meta", "collated") and self.chance(0.06):
            kinds = ["meta", "collated"]
        found = scope.of(*kinds)
        if kinds[0] == "num" or not found:
            return self.scalar(scope)
        column = self._spelled(self.dice.choice(found))
        self.did(column.kind)
        if column.kind not in GRAMMAR["nested"] or not self.chance(0.45):
            return column
        self.did(f"{column.kind} function")
        form, kind = self.dice.choice(GRAMMAR["nested"][column.kind])
        return column.made(form.format(a=column.ref), kind)

    # Conditions

    def condition(self, scope: Scope, *, most: int | None = None) -> Condition:
        """Draw a condition; by default its number of terms goes by the family of tables."""
        if most is None and self.chance(0.45):
            return self._simple_condition(scope)
        count = self.dice.randint(1, most or self._most_terms())
        if count > 12:
            self.did("long condition")
        terms = [self._term(scope) for _ in range(count)]
        if count <= 3 and self.chance(0.05):
            terms.append(self._converted(self.column(scope)))
        return joined(self.dice, terms)

    def portable_condition(self, scope: Scope) -> Condition:
        """Draw a condition that the option ``filter`` and other engines say as well."""
        columns = [c for c in scope.of(*FLAT) if c.values]
        for struct in scope.of("struct"):
            columns += [c for c in struct.fields if c.kind in FLAT and c.values]
        count = self.dice.randint(1, self._most_terms())
        terms = [self.term(self.dice.choice(columns), is_portable=True) for _ in range(count)]
        return joined(self.dice, terms)

    def _most_terms(self) -> int:
        return self.pick(dict(zip(_SIZES, self.tables.sizes, strict=True)))

    def _simple_condition(self, scope: Scope) -> Condition:
        """Compare one or two columns with literals: what scans are filtered by."""
        self.did("simple condition")
        if self.chance(0.2):
            # As users find the rows of an outer join that have no partner.
            return Term(self.column(scope), "IS NULL", ())
        terms = [self.term(self.column(scope)) for _ in range(self.dice.choice([1, 1, 2]))]
        return terms[0] if len(terms) == 1 else Joined("AND", tuple(terms))

    def sql_condition(self, scope: Scope) -> str:
        """Draw a short condition in SQL."""
        return say(self.condition(scope, most=1))

    def _term(self, scope: Scope) -> Condition:
        if self.chance(0.15):
            return self._computed(scope)
        kinds = ("meta", "collated") if self.chance(0.1) and scope.of("meta", "collated") else ()
        column = self.scalar(scope, *kinds)
        if self.chance(0.12):
            self.did("condition of two columns")
            other = self.column(scope, column.kind)
            if other.kind == column.kind:
                sign = self.dice.choice(["=", "<", ">=", "<=>", "<>"])
                return Text(f"{column.ref} {sign} {other.ref}")
        return self.term(column)

    def _converted(self, column: Column) -> Condition:
        """Compare a column with what Spark converts, or refuses."""
        self.did("converted literal")
        sign = "IN" if self.chance(0.2) else self.dice.choice(SIGNS)
        count = 2 if sign == "IN" else 1
        values = self.dice.sample(GRAMMAR["converted_literals"][column.kind], count)
        return Term(column, sign, tuple(values))

    def _computed(self, scope: Scope) -> Condition:
        kind = self.dice.choice(list(GRAMMAR["conditions"]))
        if not scope.of(kind):
            kind = "num"
        column = self.dice.choice(scope.of(kind) or [ONE])
        form = self.dice.choice(GRAMMAR["conditions"][kind])
        self.did("collation" if "COLLATE" in form else "computed condition")
        if "py_" in form:
            self.did("udf in condition")
        value = literal(self.value(column)) if "{l}" in form else ""
        return Text(form.format(a=column.ref, l=value))

    def term(self, column: Column, *, is_portable: bool = False) -> Condition:
        """Draw a comparison of a column with literals, which all engines know if it is portable."""
        signs = [*SIGNS, *SIGNS, "IN", "NOT IN", "BETWEEN", "IS NULL", "IS NOT NULL"]
        if not is_portable:
            signs.append("<=>")
        if column.kind in _TEXTS:
            signs += ["LIKE", "LIKE"]
        if column.kind == "bool":
            signs = ["=", "<>", "IS NULL", "IS NOT NULL"]
        sign = self.dice.choice(signs)
        self.did(f"sign {sign}")
        count = {"BETWEEN": 2, "IS NULL": 0, "IS NOT NULL": 0}.get(sign, 1)
        if sign.endswith("IN"):
            count = self.pick({3: 90, 40: 9, 1_000: 1})
        draw = self._own_value if is_portable else self.value
        values = tuple(draw(column) for _ in range(count))
        if sign == "LIKE":
            text = str(values[0])[:3].replace("\\", "")
            values = (self.dice.choice([f"{text}%", f"%{text}", f"%{text}%", text, f"{text}_"]),)
        return Term(column, sign, values)

    def value(self, column: Column) -> Any:
        """Draw the value of a literal that is compared with a column."""
        if self.chance(self.tables.strays):
            scopes = [table.scope for table in self.tables.tables]
            others = [c for scope in scopes for c in scope.of(column.kind) if c.values]
            if others:
                return self.dice.choice(self.dice.choice(others).values)
        return self._own_value(column)

    def _own_value(self, column: Column) -> Any:
        if not column.values:
            usual = {"num": 3, "time": "2024-02-25", "bool": True, "bytes": b"a"}
            return usual.get(column.kind, "ab")
        value = self.dice.choice(column.values)
        # The text beside that of a number is none.
        if isinstance(value, str) and column.kind not in _TEXTS:
            return value
        return near(self.dice, value, column.type)

    # Keys and names

    def equality(self, left: Scope, right: Scope) -> str:
        """Draw an equality of columns of two relations, which is the key of a join."""
        kind = self.pick({"num": 70, "time": 15, "text": 12, "bool": 3})
        if not left.of(kind) or not right.of(kind):
            kind = "num"
        one, other = self.key(left, kind), self.key(right, kind)
        if kind == "text" and self.chance(0.5):
            self.did("collation")
            return f"{one.ref} COLLATE UTF8_LCASE = {other.ref} COLLATE UTF8_LCASE"
        sign = "<=>" if self.chance(0.12) else "="
        self.did("key null-safe" if sign == "<=>" else "key")
        return f"{one.ref} {sign} {other.ref}"

    def key(self, scope: Scope, kind: str) -> Column:
        """Draw a key: mostly one that has a name of both sides, sometimes an expression."""
        preferred = [c for c in scope.of(kind) if c.name in self.tables.keys]
        if preferred and self.chance(0.6):
            return self._spelled(self.dice.choice(preferred))
        column = self.scalar(scope, kind)
        return column if column.kind == kind else self.column(scope, kind)

    def alias(self, column: Column) -> str:
        """Draw the name of a column of a result: often that of another one."""
        way = self.dice.random()
        if way < 0.5:
            return column.name
        if way < 0.55:
            self.did("alias in other case")
            return column.name.upper()
        self.did("alias of a column's name")
        return self.dice.choice(self.tables.aliases)

    def named(self, columns: list[Column], *, is_named: bool = False) -> Scope:
        """Draw the names of the columns of a result; different ones if it is named."""
        names: list[str] = []
        for column in columns:
            name = self.alias(column)
            while is_named and name.lower() in map(str.lower, names):
                name = f"{name}{len(names)}"
            names.append(name)
        return scope_of(*(c.result(n) for c, n in zip(columns, names, strict=True)))
