"""Random programs with DataFrames: a query, and what only the API can do with its rows.

A program is lines of Python: `t` reads a table, `F` are Spark's functions, `U` the functions of
`functions`, `W` is a window, `d` is what is asked in the end. A line that begins with ``d = d`` can
be left out.
"""

from __future__ import annotations

from dataclasses import replace

from verification.random_plans.columns import FLAT, Column, Scope, scope_of
from verification.random_plans.conditions import api
from verification.random_plans.expressions import GRAMMAR
from verification.random_plans.parts import maybe
from verification.random_plans.queries import Queries
from verification.random_plans.sources import JOINS, PAIR, Query, is_one_sided

_JOINS = GRAMMAR["joins_by_keys"]
_CALLS = GRAMMAR["calls"]
CALLS = [call for calls in _CALLS.values() for call in calls]
_UDFS = (
    "py_text", "py_text", "py_arrow", "py_pandas", "py_pandas_batches", "py_size", "py_both",
    "py_pair", "py_arrow_native",
)  # fmt: skip


def _columns_of_frame(name: str, scope: Scope) -> list[Column]:
    """Return the columns that are got from a frame by ``x["id"]``."""
    return [replace(c, ref="", python=f'{name}["{c.name}"]') for c in scope.columns]


class Programs(Queries):
    """Draws programs.

    Attributes:
        d: what is asked, so far.
    """

    is_sql = False
    d = Query("", (), Scope(()))

    def program(self) -> list[str]:
        """Draw a program."""
        self._before: list[str] = []
        begins = {
            self._whole_table: 12, self._join_of_frames: 14, self._self_join: 4, self._query: 70
        }  # fmt: skip
        steps = {
            self._head: 30, self._with_column: 10, self._where: 14, self._limited: 6,
            self._same_columns: 34, self._union_by_name: 5, self._join_again: 6,
            self._to_names: 4, self._drop: 3, self._rename: 4, self._udf: 9,
            self._of_groups: 7, self._view: 4,
        }  # fmt: skip
        self.pick(begins)()
        for _ in range(self.dice.choice([0, 1, 1, 2, 2, 3, 4])):
            self.pick(steps)()
        if self.chance(0.25):
            self._project()
            self._then(self._filled(self.dice.choice(_CALLS["last"])), Scope(()))
        return self._lines()

    def _lines(self) -> list[str]:
        frame, *calls = self.d.calls
        return [*self._before, f"d = {frame}", *(f"d = d{call}" for call in calls)]

    def _then(self, call: str, scope: Scope | None = None, feature: str = "") -> None:
        """Append a call, after which the rows may have another scope."""
        if feature:
            self.did(feature)
        self.d = self.d.then("", f".{call.removeprefix('.')}", scope)

    # The first lines

    def _query(self) -> None:
        self.d = self.statement()

    def _whole_table(self) -> None:
        """Read a table; sort it by the positions of columns, where the record key decides.

        Only if the columns stay as they are, nothing but the limit keeps a condition from the scan.
        """
        self.d = self.read()
        scope = self.d.scope
        if not scope.unique or self.chance(0.4):
            return
        self.did("sort by literals")
        place = 1 + scope.columns.index(scope.unique[0])
        first = self.dice.randint(1, len(scope.columns))
        sign = self.dice.choice([".desc()", ""])
        keys = f"F.lit({place}){sign}"
        if scope.columns[first - 1].kind in FLAT:
            keys = f"F.lit({first}){sign}, F.lit({place})"
        self._then(f"sort({keys}).limit({self.dice.randint(1, 12)})")
        if self.chance(0.5):
            self._then(self.where_call(self.where(scope, 2)), feature="where above a limit")
        else:
            self._project()

    def _self_join(self) -> None:
        """Join a frame with itself."""
        self.did("self-join of one frame")
        table = self.read()
        self._before = [f"x = {table.frame}", "y = x"]
        one, other = (Query("", (name,), table.scope) for name in "xy")
        self.d = self.join_on(one.aliased("a"), other.aliased("b"), self.dice.choice(_JOINS))

    def _join_of_frames(self) -> None:
        """Join frames by ``x["id"]``, and select columns likewise."""
        tables = [self.read(), self.read()]
        frames = [table.frame for table in tables]
        if frames == [f'spark.table("{tables[0].sql}")'] * 2:
            # Columns of a view are the same in each read, so that Spark finds the join ambiguous,
            # and those of a table of a catalog are not.
            frames = [f't("{tables[0].sql}")'] * 2
        self._before = [f"x = {frames[0]}", f"y = {frames[1]}"]
        left = _columns_of_frame("x", tables[0].scope)
        right = _columns_of_frame("y", tables[1].scope)
        kind = self.dice.choice(_JOINS)
        self.did(f"join by x[] {kind}")
        known = {c.kind for c in left} & {c.kind for c in right}
        weights = {"num": 3, "time": 1, "text": 1}
        kind_of_key = self.pick({each: weights[each] for each in weights if each in known})
        own = self.dice.choice([c for c in left if c.kind == kind_of_key]).python
        theirs = self.dice.choice([c for c in right if c.kind == kind_of_key]).python
        equality = f"{own}.eqNullSafe({theirs})" if self.chance(0.2) else f"{own} == {theirs}"
        self.d = Query("", (f"x.join(y, {equality}, {JOINS[kind][1]!r})",), Scope(()))
        sides = [left] if is_one_sided(kind) else [left, right]
        columns = [
            self.dice.choice(self.dice.choice(sides)) for _ in range(self.dice.randint(1, 4))
        ]
        head = self.select(columns)
        self._then(head.call, head.scope)

    # The columns of the program

    def _usable(self) -> Scope:
        """Return the columns that their refs mean alone."""
        scope = self.d.scope
        if any("." in c.ref for c in scope.columns):
            return scope
        return Scope(tuple(scope.without_shared_names()), scope.unique)

    def _is_named(self) -> bool:
        """Return whether each column goes by its name alone."""
        columns = self.d.scope.columns
        is_qualified = any("." in c.ref for c in columns)
        is_comparable = all(c.kind not in ("map", "variant") for c in columns)
        alone = self.d.scope.without_shared_names()
        return is_comparable and not is_qualified and len(alone) == len(columns)

    def _project(self, *, is_compared: bool = False) -> None:
        """Select some columns, each name once; those that Spark compares if they have to be."""
        kinds = (*FLAT, "meta") if is_compared else (*FLAT, "meta", "collated", "struct", "array")
        by_name = {c.name.lower(): c for c in self._usable().of(*kinds)}
        chosen = self.dice.sample(list(by_name.values()), min(len(by_name), 5))
        if not chosen:
            self._then('select(F.lit(1).alias("n"))', scope_of(PAIR.columns[1]), "select")
            return
        items = ", ".join(f'F.col("{c.ref}").alias("{c.name}")' for c in chosen)
        self._then(f"select({items})", scope_of(*chosen), "select")

    def _project_if_shared(self, *, most: int = 100) -> None:
        if not self._is_named() or len(self.d.scope.columns) > most:
            self._project()

    def _filled(self, call: str) -> str:
        """Fill a call with columns, whose names are unique."""
        self.did(f"call {call[:44]}")
        table, other = self.table()
        number = (other.of("num") or other.columns)[0].name
        return self.fill(call, self._usable(), t=table, m=number, most=1)

    # Steps

    def _head(self) -> None:
        """Select, group, explode or add windows, as queries do."""
        head = self.head(self._usable())
        self._then(head.call, head.scope, "select again")

    def _where(self) -> None:
        condition = self.where(self._usable(), 2)
        self._then(self.where_call(condition), feature="where again")

    def _same_columns(self) -> None:
        """Make a call that leaves the columns as they are."""
        kind = self.pick({"of_any": 8, "of_named": 10, "of_compared": 12})
        if kind == "of_named":
            self._project_if_shared()
        if kind == "of_compared" and not (self.d.scope.is_ordered and self._is_named()):
            self._project(is_compared=True)
        call = self._filled(self.dice.choice(_CALLS[kind]))
        self._then(call, Scope(self.d.scope.columns))

    def _of_groups(self) -> None:
        self._project()
        self._then(self._filled(self.dice.choice(_CALLS["of_groups"])), PAIR)

    def _with_column(self) -> None:
        self._project_if_shared()
        column = self.any_column(self._usable())
        columns = self.d.scope.columns
        name = self.dice.choice([*self.tables.aliases, *(c.name for c in columns)])
        rest = [c for c in columns if c.name.lower() != name.lower()]
        made = f'd["{column.ref}"]' if column.ref.isalpha() else api(column.ref)
        scope = scope_of(*rest, column.result(name))
        self._then(f'withColumn("{name}", {made})', scope, "withColumn")

    def _limited(self) -> None:
        """Sort by all columns and take the first rows; sometimes select one of them."""
        if not self.d.scope.is_ordered or not self._is_named() or len(self.d.scope.columns) > 8:
            self._project(is_compared=True)
        self.did("limit")
        self.d = self.limited_by_all(self.d)
        if self.chance(0.4):
            column = self.dice.choice(self.d.scope.columns)
            self._then(f'select("{column.ref}")', scope_of(column), "select after a limit")

    def _union_by_name(self) -> None:
        """Add rows of a table, with those of its columns that have a name of these."""
        self._project_if_shared()
        columns = self.d.scope.columns
        own = {c.name: c.kind for c in columns}
        table = self.read()
        shared = [c.name for c in table.scope.of(*FLAT, "meta") if own.get(c.name) == c.kind]
        if not shared:
            return
        names = self.dice.sample(shared, self.dice.randint(1, len(shared)))
        scope = scope_of(*(replace(c, type=None) if c.name in names else c for c in columns))
        call = f"unionByName({table.frame}.select(*{names!r}), allowMissingColumns=True)"
        self._then(call, scope, "unionByName with missing columns")

    def _join_again(self) -> None:
        self._project_if_shared(most=8)
        left = self.d.aliased("l")
        right = self.read().aliased("r")
        if left.scope.of("num") and right.scope.of("num"):
            self.did("join again")
            self.d = self.join_on(left, right, self.dice.choice(_JOINS))

    def _to_names(self) -> None:
        self._project_if_shared(most=8)
        columns = self.d.scope.columns
        names = [
            self.dice.choice([*self.tables.aliases, f"c{place}"]) for place in range(len(columns))
        ]
        scope = scope_of(*(c.result(name) for c, name in zip(columns, names, strict=True)))
        self._then(f"toDF(*{names!r})", scope, "toDF")

    def _drop(self) -> None:
        self._project_if_shared()
        columns = self.d.scope.columns
        chosen = self.dice.sample(columns, min(len(columns) - 1, self.dice.randint(1, 2)))
        made = ", ".join(f'"{c.name}"' for c in chosen)
        if len(chosen) == 1 and self.chance(0.5):
            made = f'd["{chosen[0].name}"]'
        self._then(f"drop({made})", Scope(tuple(c for c in columns if c not in chosen)), "drop")

    def _rename(self) -> None:
        self._project_if_shared()
        columns = self.d.scope.columns
        old = self.dice.choice(columns)
        new = self.dice.choice([*self.tables.aliases, old.name.upper()])
        scope = scope_of(*(c.result(new) if c == old else c for c in columns))
        self._then(f'withColumnRenamed("{old.name}", "{new}")', scope, "rename")

    def _udf(self) -> None:
        """Call a Python function in a condition or of what is selected."""
        scope = self._usable()
        name = self.dice.choice(_UDFS)
        column = self.scalar(scope)
        other = self.scalar(scope)
        arguments = api(column.ref)
        if name == "py_both":
            arguments += f", {api(other.ref)}"
        call = f"U.{name}({arguments})"
        self.did(f"udf {name}")
        if self.chance(0.25) and name in ("py_text", "py_arrow", "py_both"):
            self._then(f'where({call} > "2")', feature="where of a udf")
            return
        kind = {"py_size": "num", "py_pair": "struct"}.get(name, "text")
        head = self.select([Column("", column.name, kind, python=call), other])
        self._then(head.call, head.scope, "select of a udf")

    def _view(self) -> None:
        """Continue with a view of the rows, by its name or in SQL."""
        self._project_if_shared()
        self.did("view of a frame")
        self._before = [*self._lines(), 'd.createOrReplaceTempView("step")']
        scope = self.d.scope
        if self.chance(0.5):
            self.d = Query("", ('spark.table("step")',), scope)
            return
        self.did("SQL after a frame")
        head = self.head(scope, is_named=True)
        condition = maybe(f" WHERE {self.sql_condition(scope)}")
        text = f"SELECT {head.items} FROM step s{condition}{head.end}"
        self.d = Query("", (f"spark.sql({text!r})",), head.scope)
