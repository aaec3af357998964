"""Random sources of queries: tables, subqueries, joins and table functions.

Each is drawn once, and said in SQL and by the DataFrame API.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from verification.random_plans.columns import FLAT, Column, Scope, scope_of
from verification.random_plans.expressions import GRAMMAR, Expressions
from verification.random_plans.parts import maybe
from verification.random_plans.tables import Table

JOINS = GRAMMAR["joins"]
PAIR = scope_of(Column("", "id", "text"), Column("", "n", "num"))  # of Python functions


@dataclass(frozen=True)
class Query:
    """What SQL and the DataFrame API say alike."""

    sql: str  # a query, or what stands after FROM
    calls: tuple[str, ...]  # a frame, and calls after it
    scope: Scope

    @property
    def frame(self) -> str:
        """The frame with all of its calls."""
        return "".join(self.calls)

    def then(self, sql: str, call: str, scope: Scope | None = None) -> Query:
        """Return the query with what follows it, after which it may have another scope."""
        calls = (*self.calls, call) if call else self.calls
        return Query(self.sql + sql, calls, scope or self.scope)

    def aliased(self, alias: str) -> Query:
        """Return the query with an alias."""
        return self.then(f" {alias}", f'.alias("{alias}")', self.scope.named(alias))


def is_one_sided(kind: str) -> bool:
    """Return whether a join has the columns of the left side alone."""
    return "SEMI" in kind or "ANTI" in kind


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

    def read(self) -> Query:
        """Draw a table or a view, and how a frame reads it."""
        name, scope = self.table()
        table = next((t for t in self.tables.tables if t.name == name), None)
        way = self.dice.random()
        frame = f't("{name}")'
        if table is None or way < 0.2:
            frame = f'spark.table("{name}")'
        elif way < 0.35 and table.place:
            self.did("small batches")
            frame = f't("{name}", batch_rows=5, task_bytes=1)'
        elif way < 0.6:
            frame = f't("{name}", is_new=True)'
        return Query(name, (frame,), scope)

    def new_alias(self) -> str:
        """Return an alias that no other relation has."""
        self._alias_count += 1
        return f"r{self._alias_count}"

    def relation(self, depth: int) -> Query:
        """Draw a table or a subquery with an alias."""
        alias = self.new_alias()
        if depth > 1 and self.chance(0.2):
            self.did("subquery in FROM")
            query = self.query(depth - 1, is_named=True)
            frame = f"spark.sql({query.sql!r})"
            return Query(f"({query.sql})", (frame,), query.scope).aliased(alias)
        return self.read().aliased(alias)

    def source(self, depth: int) -> Query:
        """Draw what a query reads from."""
        source = self.relation(depth)
        for _ in range(self.pick({0: 30, 1: 55, 2: 15})):
            source = self._join(source, depth)
        if self.is_sql and self.chance(0.14):
            source = self._lateral(source)
        return source

    # Joins

    def _join(self, left: Query, depth: int) -> Query:
        kind = self.pick({kind: weight for kind, (weight, _) in JOINS.items()})
        if kind == "NATURAL JOIN":
            return self._natural_join(left)
        right = self.relation(depth)
        if kind == "CROSS JOIN" and left.scope.of("num") and right.scope.of("num"):
            return self._cross_join(left, right)
        shared = self._shared_columns(left, right) if kind == "USING" else []
        if shared:
            return self._using(left, right, shared)
        return self.join_on(left, right, "JOIN" if kind in ("CROSS JOIN", "USING") else kind)

    def join_on(self, left: Query, right: Query, kind: str) -> Query:
        """Draw the condition of a join, and a hint."""
        condition = self.equality(left.scope, right.scope)
        if self.chance(0.25):
            more = self.sql_condition(left.scope.beside(right.scope))
            condition += maybe(f" AND ({more})")
        self.did(f"join {kind}")
        how = JOINS[kind][1]
        hint = self.dice.choice(GRAMMAR["hints"])
        return left.then(
            f" {kind} {right.sql} ON {condition}",
            f".join({right.frame}{hint}, F.expr({condition!r}), {how!r})",
            left.scope if is_one_sided(kind) else left.scope.beside(right.scope),
        )

    def _cross_join(self, left: Query, right: Query) -> Query:
        """Join few rows of each side, in the condition of the join or in one after it."""
        self.did("join CROSS JOIN")
        numbers = [self.dice.choice(side.scope.of("num")) for side in (left, right)]
        small = " AND ".join(f"{number.ref} IN (1, 2)" for number in numbers)
        return left.then(
            f" JOIN {right.sql} ON {small}",
            f".crossJoin({right.frame}).where({small!r})",
            left.scope.beside(right.scope),
        )

    def _natural_join(self, left: Query) -> Query:
        # The other side has one name of the left one: with more, few rows would be equal.
        names = {c.name for c in left.scope.without_shared_names() if c.kind == "num"}
        known = {c.name for c in left.scope.columns}
        right = self.read()
        shared = [c for c in right.scope.of("num") if c.name in names]
        lost = [c for c in right.scope.of(*FLAT) if c.name not in known]
        if not shared:
            return left
        self.did("join NATURAL JOIN")
        key = self.dice.choice(shared)
        listed = [key.name, *(c.name for c in lost[:2])]
        alias = self.new_alias()
        columns = [replace(c, ref=f"{alias}.{c.name}") for c in lost[:2]]
        return left.then(
            f" NATURAL JOIN (SELECT {', '.join(listed)} FROM {right.sql}) {alias}",
            f'.join({right.frame}.select({listed!r}).alias("{alias}"), {[key.name]!r})',
            Scope((*left.scope.columns, *columns)),
        )

    def _shared_columns(self, left: Query, right: Query) -> list[Column]:
        """Return the columns of the right side whose names and kinds the left side has as well."""
        kinds = {c.name: c.kind for c in left.scope.without_shared_names()}
        return [c for c in right.scope.of(*FLAT) if kinds.get(c.name) == c.kind]

    def _using(self, left: Query, right: Query, shared: list[Column]) -> Query:
        kind = self.dice.choice(GRAMMAR["joins_by_keys"])
        merged = self.dice.sample(shared, min(len(shared), self.dice.choice([1, 1, 2])))
        self.did(f"join USING of {len(merged)} {kind}")
        names = [c.name for c in merged]
        scope = left.scope
        if not is_one_sided(kind):
            scope = scope.beside(right.scope)
            own = (replace(c, ref=c.name, type=None) for c in merged)
            scope = replace(scope, columns=(*own, *scope.columns))
        return left.then(
            f" {kind} {right.sql} USING ({', '.join(names)})",
            f".join({right.frame}, {names!r}, {JOINS[kind][1]!r})",
            scope,
        )

    # Arrays

    def array(self, scope: Scope) -> Column:
        """Draw an array, as the column that its items become."""
        arrays = [c for c in scope.of("array") if c.type]
        if arrays and self.chance(0.6):
            return self.dice.choice(arrays).item
        number = self.column(scope, "num")
        return number.made(f"array({number.ref}, 2)", "num")

    def _lateral(self, source: Query) -> Query:
        """Add a table function or a LATERAL VIEW; the API has `Queries._exploded` instead."""
        alias = self.new_alias()
        outer = self.dice.choice(["", "OUTER "])
        item = self.array(source.scope)
        name = self.alias(item)
        way = self.pick({"UDTF": 20, "posexplode": 20, "explode": 60})
        self.did(way)
        if way == "UDTF":
            text = f", LATERAL twice({self.column(source.scope, 'num').ref}) {alias}"
            made = list(PAIR.columns)
        elif way == "posexplode":
            place = self.dice.choice([a for a in self.tables.aliases if a != name.lower()])
            text = f" LATERAL VIEW {outer}posexplode({item.ref}) {alias} AS {place}, {name}"
            made = [Column("", place, "num"), item.result(name)]
        else:
            text = f" LATERAL VIEW {outer}explode({item.ref}) {alias} AS {name}"
            made = [item.result(name)]
        columns = (replace(c, ref=f"{alias}.{c.name}") for c in made)
        return source.then(maybe(text), "", Scope((*source.scope.columns, *columns)))

    def query(self, depth: int, *, is_named: bool = False) -> Query:
        """Draw a query; see `queries`."""
        raise NotImplementedError
