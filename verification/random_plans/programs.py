"""Random programs with DataFrames: a query, and what only the API can do with its rows.

A program is lines of Python: `t` reads a table, `F` are Spark's functions, `U` the functions of
`functions`, `W` is a window, `d` is what is asked in the end. A line that begins with ``d = d`` can
be left out.
"""

from __future__ import annotations

from dataclasses import replace

from verification.common.data import load_data
from verification.random_plans.columns import FLAT, Column, Scope, scope_of
from verification.random_plans.conditions import api
from verification.random_plans.parts import maybe
from verification.random_plans.queries import Queries

_PAIR = scope_of(Column("", "id", None, "text"), Column("", "n", None, "num"))
_GRAMMAR = load_data(__file__, "grammar.toml")
_JOINS = _GRAMMAR["join_choices"]["frames"]
_CALLS = _GRAMMAR["calls"]
CALLS = [call for calls in _CALLS.values() for call in calls]


class Programs(Queries):
    """Draws programs."""

    is_sql = False
    scope = Scope(())

    def program(self) -> list[str]:
        """Draw a program."""
        self.lines: list[str] = []
        self._begin()
        steps = [
            (self._select, 30), (self._with_column, 10), (self._where, 14), (self._limited, 6),
            (self._same_columns, 34), (self._union_by_name, 5), (self._join_again, 6),
            (self._to_names, 4), (self._drop, 3), (self._rename, 4), (self._udf, 9),
            (self._of_groups, 7), (self._view, 4),
        ]  # fmt: skip
        for _ in range(self.dice.choice([0, 1, 1, 2, 2, 3, 4])):
            (step,) = self.dice.choices([s for s, _ in steps], [w for _, w in steps])
            step()
        if self.chance(0.25):
            self._project()
            self._then(self._filled(self.dice.choice(_CALLS["last"])), Scope(()))
        return self.lines

    def _then(self, call: str, scope: Scope, feature: str = "") -> None:
        """Append a call to the program, after which it has another scope."""
        if feature:
            self.did(feature)
        self.lines.append(f"d = d.{call.removeprefix('.')}")
        self.scope = scope

    def _begin(self) -> None:
        way = self.dice.random()
        if way < 0.12:
            self._whole_table()
        elif way < 0.26:
            self._join_of_frames()
        elif way < 0.3:
            self._self_join()
        else:
            query = self.statement()
            self.lines = [f"d = {query.calls[0]}", *(f"d = d{call}" for call in query.calls[1:])]
            self.scope = query.scope

    def _whole_table(self) -> None:
        """Read a table; sort it by the positions of columns, where the record key decides.

        Only if the columns stay as they are, nothing but the limit keeps a condition from the scan.
        """
        table, self.scope = self.table()
        self.lines = [f"d = {self.read(table)}"]
        if not self.scope.unique or self.chance(0.4):
            return
        self.did("sort by literals")
        columns = self.scope.columns
        place = 1 + columns.index(self.scope.unique[0])
        first = self.dice.randint(1, len(columns))
        sign = self.dice.choice([".desc()", ""])
        is_sorted = columns[first - 1].kind in FLAT
        keys = f"F.lit({first}){sign}, F.lit({place})" if is_sorted else f"F.lit({place}){sign}"
        self._then(f"sort({keys}).limit({self.dice.randint(1, 12)})", self.scope)
        if self.chance(0.5):
            condition = self.where(self.scope, 2)
            self._then(self.where_call(condition), self.scope, "where above a limit")
        else:
            self._project()

    def _self_join(self) -> None:
        """Join a frame with itself."""
        self.did("self-join of one frame")
        name, scope = self.table()
        left, right = scope.named("a"), scope.named("b")
        kind = self.dice.choice(_JOINS)
        condition = self.equality(left, right)
        self.lines = [f"x = {self.read(name)}", "y = x"]
        call = f'x.alias("a").join(y.alias("b"), F.expr({condition!r}), "{kind}")'
        self.lines.append(f"d = {call}")
        self.scope = left if "semi" in kind or "anti" in kind else left.beside(right)

    def _join_of_frames(self) -> None:
        """Join frames by ``x["id"]``, and select columns likewise."""
        name, left = self.table()
        other, right = self.table()
        kind = self.dice.choice(_JOINS)
        self.did(f"join by x[] {kind}")
        reads = [self.read(name), self.read(other)]
        if reads[0] == reads[1]:
            # Columns of a view are the same in each read, so that Spark finds the join ambiguous,
            # and those of a table of a catalog are not.
            reads = [f't("{name}")'] * 2
        self.lines = [f"x = {reads[0]}", f"y = {reads[1]}"]
        kinds = [k for k in ("num", "num", "num", "time", "text") if left.of(k) and right.of(k)]
        kind_of_key = self.dice.choice(kinds)
        own = self.dice.choice(left.of(kind_of_key)).name
        theirs = self.dice.choice(right.of(kind_of_key)).name
        equality = f'x["{own}"] == y["{theirs}"]'
        if self.chance(0.2):
            equality = f'x["{own}"].eqNullSafe(y["{theirs}"])'
        items = []
        columns = []
        for _ in range(self.dice.randint(1, 4)):
            takes_right = kind not in ("leftsemi", "leftanti") and self.chance(0.5)
            side, scope = ("y", right) if takes_right else ("x", left)
            column = self.dice.choice(scope.columns)
            alias = self.alias(column)
            columns.append(column.result(alias))
            items.append(f'{side}["{column.name}"].alias("{alias}")')
        self.lines.append(f"d = x.join(y, {equality}, {kind!r})")
        self._then(f"select({', '.join(items)})", scope_of(*columns))

    # The columns of the program

    def _usable(self) -> Scope:
        return self.usable(self.scope)

    def _is_named(self) -> bool:
        """Return whether each column goes by its name alone."""
        is_qualified = any("." in c.ref for c in self.scope.columns)
        is_comparable = all(c.kind not in ("map", "variant") for c in self.scope.columns)
        alone = self.scope.without_shared_names()
        return is_comparable and not is_qualified and len(alone) == len(self.scope.columns)

    def _project(self, *, is_compared: bool = False) -> None:
        """Select some columns, each name once; those that Spark compares if they have to be."""
        kinds = (*FLAT, "meta") if is_compared else (*FLAT, "meta", "collated", "struct", "array")
        by_name = {c.name.lower(): c for c in self._usable().of(*kinds)}
        chosen = self.dice.sample(list(by_name.values()), min(len(by_name), 5))
        if not chosen:
            self._then('select(F.lit(1).alias("n"))', scope_of(_PAIR.columns[1]), "select")
            return
        items = ", ".join(f'F.col("{c.ref}").alias("{c.name}")' for c in chosen)
        self._then(f"select({items})", scope_of(*chosen), "select")

    def _project_if_shared(self, *, most: int = 100) -> None:
        if not self._is_named() or len(self.scope.columns) > most:
            self._project()

    def _filled(self, call: str) -> str:
        """Fill a call with columns, whose names are unique."""
        self.did(f"call {call[:44]}")
        scope = self._usable()
        flat = [c.ref for c in scope.of(*FLAT)] or ["n"]
        numbers = [c.ref for c in scope.of("num")] or flat
        table, other = self.table()
        return call.format(
            a=self.dice.choice(flat),
            b=self.dice.choice(flat),
            n=self.dice.choice(numbers),
            m=(other.of("num") or other.columns)[0].name,
            c=self.sql_condition(scope),
            t=table,
        )

    # Steps

    def _select(self) -> None:
        """Select, group, explode or add windows, as queries do."""
        head = self.head(self._usable())
        self._then(head.call, head.scope, "select again")

    def _where(self) -> None:
        scope = self._usable()
        self._then(self.where_call(self.where(scope, 2)), self.scope, "where again")

    def _same_columns(self) -> None:
        """Make a call that leaves the columns as they are."""
        (kind,) = self.dice.choices(["of_any", "of_named", "of_compared"], [8, 10, 12])
        if kind == "of_named":
            self._project_if_shared()
        if kind == "of_compared" and not (self.scope.is_ordered and self._is_named()):
            self._project(is_compared=True)
        self._then(self._filled(self.dice.choice(_CALLS[kind])), Scope(self.scope.columns))

    def _of_groups(self) -> None:
        self._project()
        self._then(self._filled(self.dice.choice(_CALLS["of_groups"])), _PAIR)

    def _with_column(self) -> None:
        self._project_if_shared()
        column = self.any_column(self._usable())
        name = self.dice.choice([*self.tables.aliases, *(c.name for c in self.scope.columns)])
        rest = [c for c in self.scope.columns if c.name.lower() != name.lower()]
        made = f'd["{column.ref}"]' if column.ref.isalpha() else api(column.ref)
        scope = scope_of(*rest, column.result(name))
        self._then(f'withColumn("{name}", {made})', scope, "withColumn")

    def _limited(self) -> None:
        """Sort by all columns and take the first rows; sometimes select one of them."""
        if not self.scope.is_ordered or not self._is_named() or len(self.scope.columns) > 8:
            self._project(is_compared=True)
        _, call = self.limit_by_all(self.scope)
        self._then(call, self.scope, "limit")
        if self.chance(0.4):
            column = self.dice.choice(self.scope.columns)
            self._then(f'select("{column.ref}")', scope_of(column), "select after a limit")

    def _union_by_name(self) -> None:
        """Add rows of a table, with those of its columns that have a name of these."""
        self._project_if_shared()
        own = {c.name: c.kind for c in self.scope.columns}
        table, scope = self.table()
        shared = [c.name for c in scope.of(*FLAT, "meta") if own.get(c.name) == c.kind]
        if not shared:
            return
        names = self.dice.sample(shared, self.dice.randint(1, len(shared)))
        columns = [replace(c, type=None) if c.name in names else c for c in self.scope.columns]
        call = f"unionByName({self.read(table)}.select(*{names!r}), allowMissingColumns=True)"
        self._then(call, scope_of(*columns), "unionByName with missing columns")

    def _join_again(self) -> None:
        self._project_if_shared(most=8)
        table, scope = self.table()
        left, right = self.scope.named("l"), scope.named("r")
        if not left.of("num") or not right.of("num"):
            return
        kind = self.dice.choice(_JOINS)
        equality = self.equality(left, right)
        call = f'alias("l").join({self.read(table)}.alias("r"), F.expr({equality!r}), "{kind}")'
        is_left = "semi" in kind or "anti" in kind
        self._then(call, left if is_left else left.beside(right), f"join again {kind}")

    def _to_names(self) -> None:
        self._project_if_shared(most=8)
        places = range(len(self.scope.columns))
        names = [self.dice.choice([*self.tables.aliases, f"c{place}"]) for place in places]
        columns = [c.result(n) for c, n in zip(self.scope.columns, names, strict=True)]
        self._then(f"toDF(*{names!r})", scope_of(*columns), "toDF")

    def _drop(self) -> None:
        self._project_if_shared()
        columns = self.scope.columns
        chosen = self.dice.sample(columns, min(len(columns) - 1, self.dice.randint(1, 2)))
        made = ", ".join(f'"{c.name}"' for c in chosen)
        if len(chosen) == 1 and self.chance(0.5):
            made = f'd["{chosen[0].name}"]'
        rest = tuple(c for c in columns if c not in chosen)
        self._then(f"drop({made})", Scope(rest), "drop")

    def _rename(self) -> None:
        self._project_if_shared()
        old = self.dice.choice(self.scope.columns)
        new = self.dice.choice([*self.tables.aliases, old.name.upper()])
        columns = [c.result(new) if c == old else c for c in self.scope.columns]
        self._then(f'withColumnRenamed("{old.name}", "{new}")', scope_of(*columns), "rename")

    def _udf(self) -> None:
        scope = self._usable()
        name = self.dice.choice(
            ["py_text", "py_text", "py_arrow", "py_pandas", "py_pandas_batches", "py_size",
             "py_both", "py_pair", "py_arrow_native"]
        )  # fmt: skip
        column, other = self.scalar(scope), self.scalar(scope)
        arguments = api(column.ref)
        if name == "py_both":
            arguments += f", {api(other.ref)}"
        self.did(f"udf {name}")
        if self.chance(0.25) and name in ("py_text", "py_arrow", "py_both"):
            self._then(f'where(U.{name}({arguments}) > "2")', self.scope, "where of a udf")
            return
        kind = {"py_size": "num", "py_pair": "struct"}.get(name, "text")
        made = self.named([Column("", column.name, None, kind), other])
        first, second = (c.name for c in made.columns)
        call = f'select(U.{name}({arguments}).alias("{first}"), {self.item(other, second)})'
        self._then(call, made, "select of a udf")

    def _view(self) -> None:
        """Continue with a view of the rows, by its name or in SQL."""
        self._project_if_shared()
        self.did("view of a frame")
        self.lines.append('d.createOrReplaceTempView("step")')
        if self.chance(0.5):
            self.lines.append('d = spark.table("step")')
            return
        self.did("SQL after a frame")
        head = self.head(self.scope, is_named=True)
        condition = maybe(f" WHERE {self.sql_condition(self.scope)}")
        text = f"SELECT {head.items} FROM step s{condition}{head.end}"
        self.lines.append(f"d = spark.sql({text!r})")
        self.scope = head.scope
