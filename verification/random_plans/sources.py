"""Random sources of queries: tables, subqueries, joins and table functions.

Each is drawn once, and said in SQL and by the DataFrame API.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from verification.common.data import load_data
from verification.random_plans.columns import FLAT, Column, Scope
from verification.random_plans.expressions import Expressions
from verification.random_plans.parts import maybe
from verification.random_plans.tables import Table

_GRAMMAR = load_data(__file__, "grammar.toml")
JOINS = _GRAMMAR["joins"]


@dataclass(frozen=True)
class Source:
    """What a query reads from: text after FROM, a frame, and its columns."""

    sql: str
    frame: str
    scope: Scope


@dataclass(frozen=True)
class Query:
    """A query: text of SQL, a frame with the calls after it, and the columns of the result."""

    sql: str
    calls: tuple[str, ...]
    scope: Scope


class Sources(Expressions):
    """Draws what queries read from."""

    is_sql = True
    _common: Scope | None = None
    _alias_count = 0
    _last: Table | None = None

    def table(self) -> tuple[str, Scope]:
        """Draw a table or a view: its name, and its columns."""
        if self._common and self.chance(0.35):
            self.did("reference to a CTE")
            return "common", self._common
        if self.tables.views and self.chance(0.35):
            view = self.dice.choice(self.tables.views)
            self.did(f"view {view.name}")
            return view.name, view.scope
        table = self._last
        if table is None or not self.chance(self.tables.repeats):
            weights = [30, 25, 20, 15, 10, 6][: len(self.tables.tables)]
            (table,) = self.dice.choices(self.tables.tables, weights)
        self._last = table
        self.did(f"table {table.name}")
        return table.name, table.scope

    def read(self, name: str) -> str:
        """Draw how a frame reads a table or a view."""
        table = next((t for t in self.tables.tables if t.name == name), None)
        way = self.dice.random()
        if table is None or way < 0.2:
            return f'spark.table("{name}")'
        if way < 0.35 and table.place:
            self.did("small batches")
            return f't("{name}", batch_rows=5, task_bytes=1)'
        return f't("{name}", is_new=True)' if way < 0.6 else f't("{name}")'

    def new_alias(self) -> str:
        """Return an alias that no other relation has."""
        self._alias_count += 1
        return f"r{self._alias_count}"

    def relation(self, depth: int) -> Source:
        """Draw a table or a subquery with an alias."""
        alias = self.new_alias()
        if depth > 1 and self.chance(0.2):
            self.did("subquery in FROM")
            query = self.query(depth - 1, is_named=True)
            frame = f'spark.sql({query.sql!r}).alias("{alias}")'
            return Source(f"({query.sql}) {alias}", frame, query.scope.named(alias))
        name, scope = self.table()
        return Source(f"{name} {alias}", f'{self.read(name)}.alias("{alias}")', scope.named(alias))

    def source(self, depth: int) -> Source:
        """Draw what a query reads from."""
        source = self.relation(depth)
        (joins,) = self.dice.choices([0, 1, 2], [30, 55, 15])
        for _ in range(joins):
            source = self._join(source, depth)
        if self.is_sql and self.chance(0.14):
            source = self._lateral(source)
        return source

    def _join(self, left: Source, depth: int) -> Source:
        weights = [weight for weight, _ in JOINS.values()]
        (kind,) = self.dice.choices(list(JOINS), weights)
        if kind == "NATURAL JOIN":
            return self._natural_join(left)
        right = self.relation(depth)
        if kind == "CROSS JOIN":
            return self._cross_join(left, right)
        if kind == "USING":
            return self._using(left, right)
        condition = self.equality(left.scope, right.scope)
        if self.chance(0.25):
            more = self.sql_condition(left.scope.beside(right.scope))
            condition += maybe(f" AND ({more})")
        return self._joined(left, right, kind, condition)

    def _joined(self, left: Source, right: Source, kind: str, condition: str) -> Source:
        self.did(f"join {kind}")
        how = JOINS[kind][1]
        hint = self.dice.choice(_GRAMMAR["join_choices"]["hints"])
        is_left = how in ("leftsemi", "leftanti")
        return Source(
            f"{left.sql} {kind} {right.sql} ON {condition}",
            f"{left.frame}.join({right.frame}{hint}, F.expr({condition!r}), {how!r})",
            left.scope if is_left else left.scope.beside(right.scope),
        )

    def _cross_join(self, left: Source, right: Source) -> Source:
        """Join few rows of each side, in the condition of the join or in one after it."""
        sides = [side.scope.of("num") for side in (left, right)]
        if not all(sides):
            return self._joined(left, right, "JOIN", self.equality(left.scope, right.scope))
        self.did("join CROSS JOIN")
        small = " AND ".join(f"{self.dice.choice(side).ref} IN (1, 2)" for side in sides)
        return Source(
            f"{left.sql} JOIN {right.sql} ON {small}",
            f"{left.frame}.crossJoin({right.frame}).where({small!r})",
            left.scope.beside(right.scope),
        )

    def _natural_join(self, left: Source) -> Source:
        # The other side has one name of the left one: with more, few rows would be equal.
        names = {c.name for c in left.scope.without_shared_names() if c.kind == "num"}
        known = {c.name for c in left.scope.columns}
        name, scope = self.table()
        shared = [c for c in scope.of("num") if c.name in names]
        lost = [c for c in scope.of(*FLAT) if c.name not in known]
        if not shared:
            return left
        self.did("join NATURAL JOIN")
        chosen = [self.dice.choice(shared), *lost[:2]]
        alias = self.new_alias()
        listed = ", ".join(c.name for c in chosen)
        columns = [replace(c, ref=f"{alias}.{c.name}") for c in chosen[1:]]
        selected = f'{self.read(name)}.select({[c.name for c in chosen]!r}).alias("{alias}")'
        return Source(
            f"{left.sql} NATURAL JOIN (SELECT {listed} FROM {name}) {alias}",
            f"{left.frame}.join({selected}, {[chosen[0].name]!r})",
            Scope((*left.scope.columns, *columns)),
        )

    def _using(self, left: Source, right: Source) -> Source:
        kinds = {c.name: c.kind for c in left.scope.without_shared_names()}
        shared = [
            c for c in right.scope.columns if c.kind in FLAT and kinds.get(c.name) == c.kind
        ]  # fmt: skip
        if not shared:
            return self._joined(left, right, "JOIN", self.equality(left.scope, right.scope))
        kind = self.dice.choice(_GRAMMAR["join_choices"]["using"])
        count = min(len(shared), self.dice.choice([1, 1, 2]))
        merged = self.dice.sample(shared, count)
        self.did(f"join USING of {count} {kind}")
        names = [c.name for c in merged]
        is_semi = "SEMI" in kind or "ANTI" in kind
        scope = left.scope if is_semi else left.scope.beside(right.scope)
        own = tuple(replace(c, ref=c.name, type=None) for c in merged if not is_semi)
        return Source(
            f"{left.sql} {kind} {right.sql} USING ({', '.join(names)})",
            f"{left.frame}.join({right.frame}, {names!r}, {JOINS[kind][1]!r})",
            replace(scope, columns=(*own, *scope.columns)),
        )

    def _lateral(self, source: Source) -> Source:
        """Add a table function or a LATERAL VIEW; the API has `exploded` instead."""
        scope = source.scope
        alias = self.new_alias()
        way = self.dice.random()
        arrays = [c for c in scope.of("array") if c.type]
        column = self.column(scope, "num")
        name = self.alias(column)
        outer = self.dice.choice(["", "OUTER "])
        if way < 0.2:
            self.did("UDTF")
            text = f", LATERAL twice({column.ref}) {alias}"
            made = [Column("", "id", None, "text"), Column("", "n", None, "num")]
        elif way < 0.4:
            self.did("posexplode")
            self.did("LATERAL VIEW")
            other = self.dice.choice([n for n in self.tables.aliases if n != name.lower()])
            call = f"posexplode(array({column.ref}, 7))"
            text = f" LATERAL VIEW {outer}{call} {alias} AS {name}, {other}"
            made = [Column("", name, None, "num"), Column("", other, None, "num")]
        else:
            self.did("LATERAL VIEW")
            made = [Column("", name, None, "num", column.values)]
            exploded = f"array({column.ref}, 2)"
            if arrays and way < 0.75:
                array = self.dice.choice(arrays)
                exploded = array.ref
                made = [array.item("", name)]
            text = f" LATERAL VIEW {outer}explode({exploded}) {alias} AS {name}"
        columns = tuple(replace(c, ref=f"{alias}.{c.name}") for c in made)
        return Source(source.sql + maybe(text), source.frame, Scope((*scope.columns, *columns)))

    def query(self, depth: int, *, is_named: bool = False) -> Query:
        """Draw a query; see `queries`."""
        raise NotImplementedError
