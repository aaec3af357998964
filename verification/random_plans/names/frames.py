"""Random programs with DataFrames over tables whose columns share names.

A program is lines of Python: `t` reads a table, `F` are Spark's functions, `U` the functions of
`functions`, `W` is a window, `d` is what is asked in the end. A line that begins with ``d = d`` can
be left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verification.random_plans.names import tables
from verification.random_plans.names.expressions import (
    FLAT,
    NAMES,
    ORDERED,
    Column,
    Expressions,
    Scope,
    columns_of,
)
from verification.random_plans.names.functions import PAIR
from verification.random_plans.names.sql import variants_scope

if TYPE_CHECKING:
    import random

_JOINS = ["inner", "inner", "left", "right", "full", "leftsemi", "leftanti"]
_PAIR = [Column("id", "id", "string", "text"), Column("n", "n", "bigint", "num")]
_GROUPABLE = (*FLAT, "struct", "array")


class Programs(Expressions):
    """Draws programs."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self.lines: list[str] = []
        self.scope = Scope([])

    def program(self) -> list[str]:
        """Draw a program."""
        self._begin()
        steps = [
            (self._select, 16), (self._with_column, 10), (self._where, 12), (self._aggregate, 9),
            (self._distinct, 5), (self._limited, 6), (self._explode, 5), (self._window, 6),
            (self._union, 5), (self._union_by_name, 5), (self._set_operation, 4),
            (self._join_again, 5), (self._to_names, 4), (self._drop, 3), (self._udf, 9),
            (self._map_batches, 5), (self._apply, 4), (self._cogroup, 3), (self._keep, 7),
            (self._star, 3), (self._repartition, 3), (self._null_functions, 3),
            (self._pivot, 2), (self._rename, 4), (self._subquery, 4), (self._struct, 4),
        ]  # fmt: skip
        for _ in range(self.dice.choice([1, 2, 2, 3, 3, 4, 5])):
            (step,) = self.dice.choices([s for s, _ in steps], [w for _, w in steps])
            step()
        return self.lines

    def _then(self, call: str, scope: Scope, feature: str) -> None:
        """Append a call to the program, after which it has another scope."""
        self.did(f"frame {feature}")
        self.lines.append(f"d = d.{call}")
        self.scope = scope

    def _table(self) -> tuple[str, Scope]:
        if self.chance(0.06):
            return "variants", variants_scope()
        table = self.dice.choices(tables.TABLES, [30, 25, 20, 15, 10])[0]
        self.did(f"table {table}")
        columns = columns_of(table)
        return table, Scope(columns, [c for c in columns if c.name == "id"])

    def _read(self, table: str) -> str:
        way = self.dice.random()
        if way < 0.25:
            return f'spark.table("{table}")'
        if way < 0.4 and table in tables.HUDI_TABLES:
            self.did("small batches")
            return f't("{table}", batch_rows=5, task_bytes=1)'
        if way < 0.6:
            return f't("{table}", is_new=True)'
        return f't("{table}")'

    def _begin(self) -> None:
        table, scope = self._table()
        way = self.dice.random()
        if way < 0.3:
            self.lines = [f"d = {self._read(table)}"]
            self.scope = scope
            if self.chance(0.25) and table != "variants":
                self._sort_by_positions()
            return
        other, right = self._table()
        if way < 0.4:
            self.did("self-join of one frame")
            other, right = table, scope
            self.lines = [f"x = {self._read(table)}", "y = x"]
        else:
            self.lines = [f"x = {self._read(table)}", f"y = {self._read(other)}"]
        if way < 0.65 and "y = x" not in self.lines:
            self._join_of_frames(scope, right)
        else:
            self._join_of_aliases(scope, right)

    def _join_of_frames(self, left: Scope, right: Scope) -> None:
        """Join frames and select columns by ``x["id"]``, or join by names."""
        kind = self.dice.choice(_JOINS)
        shared = [
            c.name for c in left.columns
            if c.kind in FLAT and any(o.name == c.name and o.kind == c.kind for o in right.columns)
        ]  # fmt: skip
        if shared and self.chance(0.4):
            self.did(f"frame join by name {kind}")
            names = self.dice.sample(shared, min(len(shared), self.dice.choice([1, 1, 2])))
            self.lines.append(f"d = x.join(y, {names!r}, {kind!r})")
            columns = left.columns
            if kind not in ("leftsemi", "leftanti"):
                merged = [replace(c, type="") for c in left.columns if c.name in names]
                others = [c for s in (left, right) for c in s.columns if c.name not in names]
                columns = [*merged, *others]
            self.scope = Scope(columns)
            return
        self.did(f"frame join by x[] {kind}")
        kind_of_key = self.dice.choice(["num", "num", "num", "time"])
        one = self.dice.choice(left.of(kind_of_key) or left.of("num"))
        other = self.dice.choice(right.of(one.kind) or right.of("num"))
        equality = f'x["{one.name}"] == y["{other.name}"]'
        if self.chance(0.2):
            equality = f'x["{one.name}"].eqNullSafe(y["{other.name}"])'
        items, columns = [], []
        for _ in range(self.dice.randint(1, 4)):
            takes_right = kind not in ("leftsemi", "leftanti") and self.chance(0.5)
            side, scope = ("y", right) if takes_right else ("x", left)
            column = self.dice.choice([c for c in scope.columns if c.kind != "map"])
            name = column.name if self.chance(0.5) else self.dice.choice(NAMES)
            columns.append(replace(column, ref=name, name=name))
            items.append(f'{side}["{column.name}"].alias("{name}")')
        self.lines.append(f"d = x.join(y, {equality}, {kind!r})")
        self.lines.append(f"d = d.select({', '.join(items)})")
        self.scope = Scope(columns)

    def _join_of_aliases(self, left: Scope, right: Scope) -> None:
        kind = self.dice.choice([*_JOINS, "cross"])
        self.did(f"frame join {kind}")
        one, other = left.named("a"), right.named("b")
        hint = self.dice.choice(["", "", '.hint("broadcast")', '.hint("merge")'])
        call = f'x.alias("a").join(y.alias("b"){hint}, '
        call += f'F.expr("{self.equality(one, other)}"), "{kind}")'
        if kind == "cross":
            small = [self.dice.choice(s.of("num")).ref for s in (one, other)]
            call = 'x.alias("a").crossJoin(y.alias("b")).where("'
            call += " AND ".join(f"{ref} < 3" for ref in small) + '")'
        self.lines.append(f"d = {call}")
        if kind in ("leftsemi", "leftanti"):
            self.scope = one
        else:
            self.scope = Scope([*one.columns, *other.columns], [*one.unique, *other.unique])

    def _result(self, columns: list[Column]) -> Scope:
        return Scope([replace(c, ref=c.name) for c in columns])

    def _usable(self) -> Scope:
        """Return the scope with the columns that their refs mean alone."""
        if any("." in c.ref for c in self.scope.columns):
            return self.scope
        return Scope(self.scope.without_shared_names(), self.scope.unique)

    def _frame_text(self, column: Column) -> str:
        """Return an expression, sometimes as the API writes it."""
        ref = column.ref
        is_name = ref.replace(".", "").replace("_", "").isalnum() and not ref[0].isdigit()
        if is_name and self.chance(0.6):
            if "." not in ref and self.chance(0.3):
                return f'd["{ref}"]'
            return f'F.col("{ref}")'
        return f'F.expr("{ref}")'

    def _select(self) -> None:
        scope = self._usable()
        items, columns = [], []
        for _ in range(self.dice.randint(1, 4)):
            column = self.any_column(scope)
            name = self.alias(column)
            items.append(f'{self._frame_text(column)}.alias("{name}")')
            columns.append(replace(column, name=name))
        self._then(f"select({', '.join(items)})", self._result(columns), "select")

    def _project_unique(self) -> None:
        """Select columns of different names, unless all are already."""
        scope = self._usable()
        names, items, columns = set(), [], []
        for column in self.dice.sample(scope.columns, min(len(scope.columns), 5)):
            if column.kind == "map" or column.name.lower() in names:
                continue
            names.add(column.name.lower())
            items.append(f'F.col("{column.ref}").alias("{column.name}")')
            columns.append(column)
        if not columns:
            items, columns = ['F.lit(1).alias("n")'], [Column("n", "n", "int", "num")]
        self._then(f"select({', '.join(items)})", self._result(columns), "select")

    def _with_column(self) -> None:
        if any("." in c.ref for c in self.scope.columns):
            self._project_unique()
        column = self.any_column(self._usable())
        name = self.dice.choice([*NAMES, *(c.name for c in self.scope.columns)])
        rest = [c for c in self.scope.columns if c.name.lower() != name.lower()]
        if len(rest) < len(self.scope.columns) - 1:
            return
        self._then(
            f'withColumn("{name}", {self._frame_text(column)})',
            Scope([*rest, replace(column, ref=name, name=name)]),
            "withColumn",
        )

    def _where(self) -> None:
        condition = self.condition(self._usable())
        made = f'"{condition}"' if self.chance(0.5) else f'F.expr("{condition}")'
        self._then(f"where({made})", self.scope, "where")

    def _aggregate(self) -> None:
        scope = self._usable()
        keys = [self.scalar(scope) for _ in range(self.dice.choice([1, 1, 2]))]
        names = [self.alias(k) for k in keys]
        value = self.scalar(scope)
        way = self.dice.choice(["groupBy", "groupBy", "rollup", "cube"])
        column = Column("", self.dice.choice(NAMES), "", "num")
        made = {
            "count": 'F.count("*")',
            "max": f'F.max(F.expr("{value.ref}"))',
            "distinct": f'F.countDistinct(F.expr("{value.ref}"))',
            "last": f'U.py_last(F.expr("{value.ref}"))',
        }
        what = self.dice.choices(list(made), [3, 3, 2, 1])[0]
        if what == "max":
            column = replace(column, kind=value.kind)
        if what == "last":
            way = "groupBy"
            column = replace(column, kind="text", type="string")
            self.did("udf py_last")
        texts = ", ".join(
            f'F.expr("{k.ref}").alias("{n}")' for k, n in zip(keys, names, strict=True)
        )
        columns = [replace(k, name=n) for k, n in zip(keys, names, strict=True)]
        self._then(
            f'{way}({texts}).agg({made[what]}.alias("{column.name}"))',
            self._result([*columns, column]),
            way,
        )

    def _distinct(self) -> None:
        if any(c.kind in ("map", "variant") for c in self.scope.columns):
            self._project_flat()
        call = self.dice.choice(["distinct()", "distinct()", "dropDuplicates()"])
        self._then(call, self.scope, "distinct")

    def _project_flat(self) -> None:
        """Select columns that can be compared, by different names."""
        scope = self._usable()
        usable = [c for c in scope.columns if c.kind in _GROUPABLE or c.kind == "meta"]
        self.scope = Scope(usable or [Column("1", "one", "int", "num")])
        columns = {c.name.lower(): c for c in self.dice.sample(usable, min(len(usable), 5))}
        if not columns:
            self._then('select(F.lit(1).alias("n"))', Scope([_PAIR[1]]), "select")
            return
        items = [f'F.col("{c.ref}").alias("{c.name}")' for c in columns.values()]
        self._then(f"select({', '.join(items)})", self._result([*columns.values()]), "select")

    def _limited(self) -> None:
        """Sort by all columns, by name or by position, and take the first rows."""
        if not self.sorted_by(self.scope.columns) or len(self.scope.columns) > 8:
            self._project_flat()
        if not all(c.kind in (*ORDERED, "meta") for c in self.scope.columns):
            return
        places = list(range(1, len(self.scope.columns) + 1))
        self.dice.shuffle(places)
        keys = [f"F.lit({p}){self.dice.choice(['', '.desc()'])}" for p in places]
        way = self.dice.random()
        if way < 0.3:
            keys = [str(p) for p in places]
        elif way < 0.55 and len(self.scope.without_shared_names()) == len(places):
            keys = [f'"{self.scope.columns[p - 1].name}"' for p in places]
        self._then(
            f"orderBy({', '.join(keys)}).limit({self.dice.randint(1, 15)})", self.scope, "limit"
        )
        if self.chance(0.4) and self._usable().of(*FLAT):
            column = self.column(self._usable(), *FLAT)
            self._then(f'select("{column.ref}")', self._result([column]), "select")

    def _sort_by_positions(self) -> None:
        """Sort a whole table by the positions of columns; the record key decides."""
        self.did("sort by literals")
        place = 1 + next(i for i, c in enumerate(self.scope.columns) if c.name == "id")
        first = self.dice.randint(1, len(self.scope.columns))
        sign = self.dice.choice([".desc()", ""])
        keys = f"F.lit({first}){sign}, F.lit({place})"
        if self.scope.columns[first - 1].kind not in ORDERED:
            keys = f"F.lit({place}){sign}"
        self.lines.append(f"d = d.sort({keys}).limit({self.dice.randint(1, 12)})")
        self.scope = Scope(self.scope.columns)
        self._project_unique()

    def _explode(self) -> None:
        scope = self._usable()
        arrays = [c for c in scope.of("array") if c.type]
        name = self.dice.choice(["id", "n", "part", "x"])
        kept = self.scalar(scope)
        if arrays and self.chance(0.5):
            column = self.dice.choice(arrays)
            item = column.type[6:-1]
            made = Column(name, name, item, "struct" if item.startswith("struct") else "num")
            text = f'F.explode_outer("{column.ref}")'
        else:
            column = self.column(scope, "num")
            made = Column(name, name, "", "num")
            text = f'F.explode(F.expr("array({column.ref}, 1)"))'
        alias = self.alias(kept)
        self._then(
            f'select(F.expr("{kept.ref}").alias("{alias}"), {text}.alias("{name}"))',
            self._result([replace(kept, name=alias), made]),
            "explode",
        )

    def _window(self) -> None:
        scope = self._usable()
        part, order, value = (self.scalar(scope) for _ in range(3))
        name = self.dice.choice(["id", "n", "part", value.name])
        made = self.dice.choice(["F.rank()", "F.dense_rank()", 'F.count("*")', "F.max(V)"])
        made = made.replace("V", f'F.expr("{value.ref}")')
        over = f'W.partitionBy(F.expr("{part.ref}")).orderBy(F.expr("{order.ref}"))'
        alias = self.alias(value)
        kind = value.kind if "max" in made else "num"
        self._then(
            f'select({made}.over({over}).alias("{name}"), F.expr("{value.ref}").alias("{alias}"))',
            self._result([Column(name, name, "", kind), replace(value, name=alias)]),
            "window",
        )

    def _union(self) -> None:
        condition = self.condition(self._usable())
        self._then(f'union(d.where("{condition}"))', replace(self.scope, unique=[]), "union")

    def _union_by_name(self) -> None:
        if any("." in c.ref for c in self.scope.columns) or len(
            self.scope.without_shared_names()
        ) < len(self.scope.columns):
            self._project_unique()
        own = {c.name.lower(): c for c in self.scope.columns}
        table, scope = self._table()
        shared = [
            c for c in scope.columns
            if c.name in own and own[c.name].kind == c.kind and c.kind in (*FLAT, "meta")
        ]  # fmt: skip
        if not shared:
            return
        chosen = self.dice.sample(shared, self.dice.randint(1, len(shared)))
        names = [c.name for c in chosen]
        columns = [replace(c, type="") if c.name in names else c for c in self.scope.columns]
        self._then(
            f"unionByName({self._read(table)}.select(*{names!r}), allowMissingColumns=True)",
            Scope(columns),
            "unionByName",
        )

    def _set_operation(self) -> None:
        if any(c.kind in ("map", "variant") for c in self.scope.columns):
            self._project_flat()
        call = self.dice.choice(["intersect", "exceptAll", "subtract", "intersectAll"])
        condition = self.condition(self._usable())
        self._then(f'{call}(d.where("{condition}"))', replace(self.scope, unique=[]), call)

    def _join_again(self) -> None:
        if len(self.scope.columns) > 8 or any("." in c.ref for c in self.scope.columns):
            self._project_unique()
        table, scope = self._table()
        left, right = self._usable().named("l"), scope.named("r")
        if not left.of("num") or not right.of("num"):
            return
        kind = self.dice.choice(_JOINS)
        self._then(
            f'alias("l").join({self._read(table)}.alias("r"), '
            f'F.expr("{self.equality(left, right)}"), "{kind}")',
            left if "semi" in kind or "anti" in kind
            else Scope([*left.columns, *right.columns]),
            f"join {kind}",
        )  # fmt: skip

    def _to_names(self) -> None:
        if len(self.scope.columns) > 8:
            self._project_unique()
        names = [self.dice.choice([*NAMES, f"c{p}"]) for p in range(len(self.scope.columns))]
        columns = [
            replace(c, ref=n, name=n) for c, n in zip(self.scope.columns, names, strict=True)
        ]
        self._then(f"toDF(*{names!r})", Scope(columns), "toDF")

    def _drop(self) -> None:
        columns = self._usable().without_shared_names()
        if len(self.scope.columns) < 2 or not columns or "." in columns[0].ref:
            return
        column = self.dice.choice(columns)
        made = f'd["{column.name}"]' if self.chance(0.5) else f'"{column.name}"'
        rest = [c for c in self.scope.columns if c != column]
        self._then(f"drop({made})", Scope(rest), "drop")

    def _udf(self) -> None:
        scope = self._usable()
        name = self.dice.choice(
            ["py_text", "py_text", "py_arrow", "py_pandas", "py_pandas_batches", "py_size",
             "py_both", "py_pair", "py_arrow_native"]
        )  # fmt: skip
        column, other = self.scalar(scope), self.scalar(scope)
        arguments = f'F.expr("{column.ref}")'
        if name == "py_both":
            arguments += f', F.expr("{other.ref}")'
        alias, second = self.alias(column), self.alias(other)
        kind = {"py_size": "num", "py_pair": "struct"}.get(name, "text")
        type_ = "struct<id:string,n:bigint>" if kind == "struct" else ""
        self.did(f"udf {name}")
        if self.chance(0.25) and name in ("py_text", "py_arrow", "py_both"):
            self._then(f'where(U.{name}({arguments}) > "2")', self.scope, "where of a udf")
            return
        self._then(
            f'select(U.{name}({arguments}).alias("{alias}"), '
            f'F.expr("{other.ref}").alias("{second}"))',
            self._result([Column("", alias, type_, kind), replace(other, name=second)]),
            "select of a udf",
        )

    def _map_batches(self) -> None:
        self._project_unique()
        if any(c.kind in ("variant", "map") for c in self.scope.columns):
            return
        call = self.dice.choice(["mapInArrow(U.arrows", "mapInPandas(U.frames"])
        self.lines.append("s = d.schema")
        self._then(f"{call}, s)", self.scope, call.partition("(")[0])

    def _apply(self) -> None:
        self._project_unique()
        keys = [c for c in self.scope.columns if c.kind in FLAT]
        if not keys or any(c.kind in ("variant", "map") for c in self.scope.columns):
            return
        key = self.dice.choice(keys)
        call = self.dice.choice(["applyInPandas(U.group", "applyInArrow(U.group_arrow"])
        self._then(f'groupBy("{key.name}").{call}, "{PAIR}")', Scope(_PAIR), call.partition("(")[0])

    def _cogroup(self) -> None:
        self._project_unique()
        keys = [c for c in self.scope.columns if c.kind == "num"]
        if not keys or any(c.kind in ("variant", "map") for c in self.scope.columns):
            return
        key = self.dice.choice(keys)
        table, scope = self._table()
        other = self.dice.choice(scope.of("num"))
        right = f'{self._read(table)}.select(F.col("{other.name}").cast("string").alias("k"), "id")'
        self._then(
            f'withColumn("k", F.col("{key.name}").cast("string")).groupBy("k")'
            f'.cogroup({right}.groupBy("k")).applyInPandas(U.cogroup, "{PAIR}")',
            Scope(_PAIR),
            "cogroup",
        )

    def _keep(self) -> None:
        names = {c.name.lower() for c in self.scope.columns}
        call = self.dice.choice(["cache()", "persist()", "localCheckpoint()", "checkpoint()"])
        if "heckpoint" in call and len(names) < len(self.scope.columns):
            self._project_unique()
        if len(self.scope.columns) > 12:
            self._project_unique()
        self._then(call, self.scope, call[:-2])

    def _star(self) -> None:
        structs = [c for c in self._usable().of("struct") if c.type.startswith("struct<")]
        if not structs:
            return
        struct = self.dice.choice(structs)
        pairs = [f.split(":") for f in struct.type[7:-1].split(",")]
        columns = [Column(n, n, k, "num" if n != "y" else "time") for n, k in pairs]
        if "struct<id" in struct.type:
            columns = _PAIR
        self._then(f'select("{struct.ref}.*")', Scope(columns), "struct star")

    def _repartition(self) -> None:
        call = self.dice.choice(["repartition(3)", "coalesce(1)"])
        self._then(call, self.scope, call.partition("(")[0])

    def _null_functions(self) -> None:
        call = self.dice.choice(["na.drop()", 'na.fill("none")', "na.fill(7)"])
        if any("." in c.ref for c in self.scope.columns):
            self._project_unique()
        kind = "text" if "none" in call else ""
        columns = [
            replace(c, kind="text") if kind and c.type in ("", "string") else c
            for c in self.scope.columns
        ]
        self._then(call, Scope(columns), "na")

    def _pivot(self) -> None:
        scope = self._usable()
        key, value = self.scalar(scope), self.scalar(scope, "num")
        columns = [Column("n", "n", "", key.kind)]
        columns += [Column(name, name, "bigint", "num") for name in ("id", "qty")]
        self._then(
            f'groupBy(F.expr("{key.ref}").alias("n")).pivot(F.expr("CAST({value.ref} AS string)"), '
            '["1", "2"]).count().toDF("n", "id", "qty")',
            Scope(columns),
            "pivot",
        )

    def _rename(self) -> None:
        if any("." in c.ref for c in self.scope.columns):
            self._project_unique()
        old = self.dice.choice(self.scope.columns).name
        new = self.dice.choice([*NAMES, old.upper()])
        columns = [
            replace(c, ref=new, name=new) if c.name.lower() == old.lower() else c
            for c in self.scope.columns
        ]
        self._then(f'withColumnRenamed("{old}", "{new}")', Scope(columns), "rename")

    def _subquery(self) -> None:
        """Compare with a subquery of SQL, whose table has the same names."""
        scope = self._usable()
        table, inner = self._table()
        one, other = self.column(scope, "num"), self.dice.choice(inner.of("num"))
        name = other.name
        condition = self.dice.choice([
            f"{one.ref} IN (SELECT {name} FROM {table})",
            f"{one.ref} >= (SELECT max({name}) - 6 FROM {table})",
            f"{one.ref} NOT IN (SELECT {name} FROM {table} WHERE {name} IS NOT NULL)",
        ])  # fmt: skip
        self._then(f'where("{condition}")', self.scope, "subquery")

    def _struct(self) -> None:
        scope = self._usable()
        one, other = self.column(scope), self.column(scope)
        made = f'F.struct(F.expr("{one.ref}").alias("x"), F.expr("{other.ref}").alias("s"))'
        way = self.dice.choice(["", '.getField("x")', '.withField("s", F.lit("1"))', ".s"])
        name = self.dice.choice(["st", "x", "s", "id"])
        kind = {"": "struct", ".s": other.kind}.get(way, one.kind)
        kind = "struct" if "withField" in way else kind
        self._then(
            f'select({made}{way}.alias("{name}"), F.expr("{other.ref}").alias("n"))',
            self._result([Column("", name, "", kind), replace(other, name="n")]),
            "struct",
        )
