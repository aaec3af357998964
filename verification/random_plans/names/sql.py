"""Random SQL over tables whose columns share names.

What a query can do without stands between the signs `OPEN` and `CLOSE`: `render` removes the signs,
and `shorter` yields the query without one of the parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verification.random_plans.names import tables
from verification.random_plans.names.expressions import (
    FLAT,
    ORDERED,
    Column,
    Expressions,
    Scope,
    columns_of,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

OPEN, CLOSE = "\x01", "\x02"
JOINS = {
    "JOIN": 22, "LEFT JOIN": 16, "RIGHT JOIN": 8, "FULL JOIN": 8, "LEFT SEMI JOIN": 8,
    "LEFT ANTI JOIN": 7, "CROSS JOIN": 3, "NATURAL JOIN": 8, "USING": 20,
}  # fmt: skip
# Views that plans find beside the tables, and their columns in terms of those of a table.
VIEWS = {
    "swapped": (
        "one",
        "n AS id, id AS n, day AS at, at AS day, amount AS qty, qty AS amount, name, st, f, flag",
    ),
    "twins": (
        "two",
        "id, CAST(id AS string) AS n, qty, amount AS f, f AS amount, at, day AS name, day, st, arr",
    ),
    "narrow": ("three", "id, n, qty, st, at"),
    "mixed": ("four", "id, n, part, st, day, flag, ts AS qty"),
}
_SMALL = {"CROSS JOIN"}


def render(text: str) -> str:
    """Return a text without the signs of its parts."""
    return text.replace(OPEN, "").replace(CLOSE, "")


def shorter(text: str) -> Iterator[str]:
    """Yield the text without each of its parts, the longest first."""
    parts, begins = [], []
    for place, sign in enumerate(text):
        if sign == OPEN:
            begins.append(place)
        elif sign == CLOSE:
            parts.append((begins.pop(), place + 1))
    for begin, end in sorted(parts, key=lambda part: part[0] - part[1]):
        yield text[:begin] + text[end:]


def maybe(text: str) -> str:
    """Mark a part that a query can do without."""
    return f"{OPEN}{text}{CLOSE}" if text else ""


@dataclass(frozen=True)
class Query:
    """A query and what it returns."""

    text: str
    scope: Scope  # the refs are names of the result


class SqlQueries(Expressions):
    """Draws queries."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._ctes: dict[str, Scope] = {}
        self._aliases = 0

    def statement(self) -> Query:
        """Draw a whole query."""
        ctes = []
        if self.chance(0.15):
            self.did("CTE")
            query = self.query(1, is_named=True)
            self._ctes["common"] = query.scope
            ctes.append(f"common AS ({query.text})")
        way = self.dice.random()
        if way < 0.16:
            query = self._set_operation()
        elif way < 0.2:
            query = self._pipe()
        else:
            query = self.query(2)
        if ctes:
            query = replace(query, text=f"WITH {', '.join(ctes)} {query.text}")
        return query

    def query(self, depth: int, *, is_named: bool = False) -> Query:
        """Draw a SELECT; the columns of one that is named have different names."""
        source, scope = self._from(depth)
        way = self.dice.random()
        where = self._where(scope, depth)
        if way < 0.22:
            return self._grouped(source, scope, where, is_named=is_named)
        if way < 0.36:
            return self._windowed(source, scope, where, is_named=is_named)
        return self._plain(source, scope, where, is_named=is_named)

    def _from(self, depth: int) -> tuple[str, Scope]:
        text, scope = self._relation(depth)
        joins = self.dice.choices([0, 1, 2], [30, 55, 15])[0]
        for _ in range(joins):
            added, scope = self._join(scope, depth)
            text += added
        if self.chance(0.14):
            added, scope = self._lateral(scope)
            text += maybe(added)
        return text, scope

    def _new_alias(self) -> str:
        self._aliases += 1
        return f"{'abcdefghij'[self._aliases % 10]}{self._aliases // 10 or ''}"

    def _table(self) -> tuple[str, Scope]:
        way = self.dice.random()
        if self._ctes and way < 0.35:
            self.did("reference to a CTE")
            return "common", self._ctes["common"]
        if way < 0.5:
            view = self.dice.choice(list(VIEWS))
            self.did(f"view {view}")
            return view, view_scope(view)
        if way < 0.55:
            self.did("variants")
            return "variants", variants_scope()
        table = self.dice.choices(tables.TABLES, [30, 25, 20, 15, 10])[0]
        self.did(f"table {table}")
        columns = columns_of(table)
        return table, Scope(columns, [c for c in columns if c.name == "id"])

    def _relation(self, depth: int) -> tuple[str, Scope]:
        alias = self._new_alias()
        if depth > 1 and self.chance(0.2):
            self.did("subquery in FROM")
            query = self.query(depth - 1, is_named=True)
            return f"({query.text}) {alias}", query.scope.named(alias)
        name, scope = self._table()
        return f"{name} {alias}", scope.named(alias)

    def _join(self, left: Scope, depth: int) -> tuple[str, Scope]:
        kind = self.dice.choices(list(JOINS), list(JOINS.values()))[0]
        self.did(f"join {kind}")
        if kind == "NATURAL JOIN":
            return self._natural(left)
        text, right = self._relation(depth)
        if kind == "USING":
            return self._using(left, text, right)
        if kind in _SMALL:
            small = [s.of("num") for s in (left, right)]
            if not all(small):
                kind = "JOIN"
            else:
                wanted = " AND ".join(f"{self.dice.choice(s).ref} < 3" for s in small)
                return f" JOIN {text} ON {wanted}", _together(left, right)
        condition = self.equality(left, right)
        if self.chance(0.25):
            condition += maybe(f" AND {self.condition(_together(left, right), depth=0)}")
        if "SEMI" in kind or "ANTI" in kind:
            return f" {kind} {text} ON {condition}", left
        return f" {kind} {text} ON {condition}", _together(left, right)

    def _natural(self, left: Scope) -> tuple[str, Scope]:
        # The other side has one name of the left one: with more, few rows would be equal.
        names = {c.name for c in left.without_shared_names() if c.kind == "num"}
        table, scope = self._table()
        shared = [c for c in scope.of("num") if c.name in names]
        lost = [c for c in scope.of(*ORDERED) if c.name not in {o.name for o in left.columns}]
        if not shared:
            return "", left
        chosen = [self.dice.choice(shared), *lost[:2]]
        alias = self._new_alias()
        text = f" NATURAL JOIN (SELECT {', '.join(c.name for c in chosen)} FROM {table}) {alias}"
        others = [replace(c, ref=f"{alias}.{c.name}") for c in chosen[1:]]
        return text, Scope([*left.columns, *others])

    def _using(self, left: Scope, text: str, right: Scope) -> tuple[str, Scope]:
        kinds = {c.name: c.kind for c in left.without_shared_names()}
        shared = [
            c.name for c in right.columns if c.kind in FLAT and kinds.get(c.name) == c.kind
        ]  # fmt: skip
        if not shared:
            condition = self.equality(left, right)
            return f" JOIN {text} ON {condition}", _together(left, right)
        kind = self.dice.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        names = self.dice.sample(shared, min(len(shared), self.dice.choice([1, 1, 2])))
        self.did(f"using of {len(names)}")
        scope = _together(left, right)
        merged = [Column(name, name, "", kinds[name]) for name in names]
        return f" {kind} {text} USING ({', '.join(names)})", replace(
            scope, columns=[*merged, *scope.columns]
        )

    def _lateral(self, scope: Scope) -> tuple[str, Scope]:
        alias, name = self._new_alias(), self.alias(self.column(scope))
        way = self.dice.random()
        arrays = [c for c in scope.of("array") if c.type]
        if way < 0.2:
            self.did("UDTF")
            column = self.column(scope)
            made = [
                Column(f"{alias}.id", "id", "string", "text"),
                Column(f"{alias}.n", "n", "bigint", "num"),
            ]
            return f", LATERAL twice({column.ref}) {alias}", Scope([*scope.columns, *made])
        self.did("LATERAL VIEW")
        outer = self.dice.choice(["", "OUTER "])
        if arrays and way < 0.6:
            column = self.dice.choice(arrays)
            item = column.type[6:-1]
            kind = "struct" if item.startswith("struct") else "num"
            made = [Column(f"{alias}.{name}", name, item, kind)]
            text = f" LATERAL VIEW {outer}explode({column.ref}) {alias} AS {name}"
            return text, Scope([*scope.columns, *made])
        column = self.column(scope, "num")
        if way < 0.8:
            made = [Column(f"{alias}.{name}", name, "", "num")]
            text = f" LATERAL VIEW {outer}explode(array({column.ref}, 2)) {alias} AS {name}"
            return text, Scope([*scope.columns, *made])
        self.did("posexplode")
        other = self.dice.choice([n for n in ("n", "id", "part", "qty") if n != name.lower()])
        made = [
            Column(f"{alias}.{name}", name, "int", "num"),
            Column(f"{alias}.{other}", other, "", "num"),
        ]
        text = f" LATERAL VIEW {outer}posexplode(array({column.ref}, 7)) {alias} AS {name}, {other}"
        return text, Scope([*scope.columns, *made])

    def _where(self, scope: Scope, depth: int) -> str:
        way = self.dice.random()
        if way < 0.3:
            return ""
        if depth < 2 or way < 0.72:
            return maybe(f" WHERE {self.condition(scope)}")
        return maybe(f" WHERE {self._subquery(scope)}")

    def _subquery(self, scope: Scope) -> str:
        alias = self._new_alias()
        table, columns = self._table()
        inner = columns.named(alias)
        way = self.dice.random()
        outer = self.key(scope, "num")
        wanted = self.key(inner, "num")
        where = maybe(f" WHERE {self.condition(inner, depth=0)}")
        if way < 0.35:
            self.did("IN subquery")
            word = "NOT IN" if self.chance(0.3) else "IN"
            return f"{outer.ref} {word} (SELECT {wanted.ref} FROM {table} {alias}{where})"
        if way < 0.65:
            self.did("EXISTS")
            word = "NOT EXISTS" if self.chance(0.3) else "EXISTS"
            more = f" AND {self.condition(inner, depth=0)}"
            return (
                f"{word} (SELECT 1 FROM {table} {alias} WHERE {wanted.ref} = {outer.ref}"
                f"{maybe(more)})"
            )
        self.did("scalar subquery")
        if way < 0.85:
            value = f"(SELECT max({wanted.ref}) FROM {table} {alias}{where})"
            return f"{outer.ref} {self.dice.choice(['<', '>=', '<>'])} {value}"
        self.did("correlated scalar subquery")
        key = self.key(scope, "num")
        value = f"(SELECT count(*) FROM {table} {alias} WHERE {wanted.ref} = {key.ref})"
        return f"{value} {self.dice.choice(['<', '=', '>'])} 1"

    def _items(
        self, scope: Scope, *, most: int = 4, is_named: bool = False, kinds: tuple[str, ...] = ()
    ) -> tuple[list[str], list[Column]]:
        """Draw what is selected: its texts, and the columns of the result."""
        texts: list[str] = []
        columns: list[Column] = []
        for _ in range(self.dice.randint(1, most)):
            column = self.any_column(scope)
            if kinds and column.kind not in kinds:
                column = self.scalar(scope)
            name = self.alias(column)
            while is_named and name.lower() in {c.name.lower() for c in columns}:
                name = f"{name}{len(columns)}"
            columns.append(Column(name, name, column.type, column.kind))
            texts.append(f"{column.ref} AS {name}")
        return texts, columns

    def _plain(self, source: str, scope: Scope, where: str, *, is_named: bool) -> Query:
        way = self.dice.random()
        if way < 0.08 and not is_named:
            self.did("star")
            columns = _in_order(scope)
            if columns is not None:
                return Query(f"SELECT * FROM {source}{where}", Scope(columns))
        structs = [c for c in scope.of("struct") if c.type.startswith("struct<")]
        if way < 0.14 and structs:
            self.did("struct star")
            struct = self.dice.choice(structs)
            pairs = [f.split(":") for f in struct.type[7:-1].split(",")]
            columns = [Column(n, n, k, "num" if n != "y" else "time") for n, k in pairs]
            return Query(f"SELECT {struct.ref}.* FROM {source}{where}", Scope(columns))
        if way < 0.2:
            self.did("explode in SELECT")
            column, name = self.column(scope, "num"), self.dice.choice(["id", "n", "x"])
            made = f"SELECT {column.ref} AS qty, explode(array({column.ref}, 1)) AS {name}"
            columns = [Column(n, n, "", "num") for n in ("qty", name)]
            return Query(f"{made} FROM {source}{where}", Scope(columns))
        texts, columns = self._items(scope, is_named=is_named)
        if self.chance(0.15) and all(c.kind not in ("map", "variant") for c in columns):
            self.did("DISTINCT")
            return Query(f"SELECT DISTINCT {', '.join(texts)} FROM {source}{where}", Scope(columns))
        text = f"SELECT {', '.join(texts)} FROM {source}{where}"
        if self.chance(0.2) and self.sorted_by(columns):
            text += maybe(self._limited(len(columns)))
        elif scope.unique and self.chance(0.2):
            # By what is not in the result, and is different in all rows.
            self.did("ORDER BY … LIMIT by a key")
            keys = ", ".join(c.ref for c in scope.unique)
            text += maybe(f" ORDER BY {keys} LIMIT {self.dice.randint(1, 12)}")
        return Query(text, Scope(columns))

    def _limited(self, count: int) -> str:
        """Return an order by all columns, after which equal rows alone are interchangeable."""
        self.did("ORDER BY positions LIMIT")
        places = list(range(1, count + 1))
        self.dice.shuffle(places)
        keys = ", ".join(f"{p}{self.dice.choice(['', ' DESC', ' NULLS LAST'])}" for p in places)
        offset = f" OFFSET {self.dice.randint(1, 5)}" if self.chance(0.2) else ""
        return f" ORDER BY {keys} LIMIT {self.dice.randint(1, 15)}{offset}"

    def _aggregate(self, scope: Scope) -> Column:
        column = self.scalar(scope)
        self.did("aggregate")
        forms = [
            ("count(*)", "num"), ("count({c})", "num"), ("count(DISTINCT {c})", "num"),
            ("min({c})", column.kind), ("max({c})", column.kind),
            ("to_json(sort_array(collect_list({c})))", "text"),
            ("count(*) FILTER (WHERE {w})", "num"),
        ]  # fmt: skip
        if column.kind == "num":
            forms += [("sum(try_cast({c} AS decimal(14,2)))", "num")] * 2
        if column.kind == "bool":
            forms += [("bool_or({c})", "bool")]
        form, kind = self.dice.choice(forms)
        if "{w}" in form:
            form = form.replace("{w}", self.condition(scope, depth=0))
        if self.chance(0.05):
            self.did("udf py_last")
            return Column(f"py_last({column.ref})", column.name, "string", "text")
        return Column(form.replace("{c}", column.ref), column.name, "", kind)

    def _grouped(self, source: str, scope: Scope, where: str, *, is_named: bool) -> Query:
        self.did("GROUP BY")
        keys = [self.scalar(scope) for _ in range(self.dice.choice([0, 1, 1, 1, 2]))]
        if self.chance(0.1) and scope.of("struct"):
            keys.append(self.dice.choice(scope.of("struct")))
        items = [*keys, *(self._aggregate(scope) for _ in range(self.dice.randint(1, 2)))]
        if any("py_last" in c.ref for c in items):  # pandas aggregates stand alone
            items = [c for c in items if c in keys or "py_last" in c.ref]
        texts: list[str] = []
        columns: list[Column] = []
        for item in items:
            name = self.alias(item)
            while is_named and name.lower() in {c.name.lower() for c in columns}:
                name = f"{name}{len(columns)}"
            columns.append(Column(name, name, item.type, item.kind))
            texts.append(f"{item.ref} AS {name}")
        text = f"SELECT {', '.join(texts)} FROM {source}{where}"
        if not keys:
            return Query(text, Scope(columns))
        refs = [c.ref for c in keys]
        way = self.dice.random()
        if way < 0.15:
            self.did("GROUP BY positions")
            text += f" GROUP BY {', '.join(str(p + 1) for p in range(len(keys)))}"
        elif way < 0.25 and "py_last" not in text:
            word = self.dice.choice(["ROLLUP", "CUBE"])
            self.did(word)
            text += f" GROUP BY {word} ({', '.join(refs)})"
        else:
            text += f" GROUP BY {', '.join(refs)}"
        if self.chance(0.25):
            self.did("HAVING")
            text += maybe(" HAVING count(*) > 1" if "py_last" not in text else "")
        if self.chance(0.2) and self.sorted_by(columns):
            text += maybe(self._limited(len(columns)))
        return Query(text, Scope(columns))

    def _windowed(self, source: str, scope: Scope, where: str, *, is_named: bool) -> Query:
        self.did("window")
        texts, columns = self._items(scope, most=3, is_named=is_named)
        part, order = self.scalar(scope), self.scalar(scope)
        over = f"(PARTITION BY {part.ref} ORDER BY {order.ref})"
        column = self.scalar(scope, "num", "time", "text")
        forms = [
            ("rank() OVER {o}", "num"), ("dense_rank() OVER {o}", "num"),
            ("max({c}) OVER (PARTITION BY {p})", column.kind),
            ("count(*) OVER (PARTITION BY {p})", "num"), ("min({c}) OVER {o}", column.kind),
            ("ntile(1) OVER {o}", "num"),
        ]  # fmt: skip
        if scope.unique:
            keys = ", ".join(c.ref for c in scope.unique)
            forms += [(f"row_number() OVER (PARTITION BY {{p}} ORDER BY {keys})", "num")] * 2
            forms += [(f"lag({{c}}) OVER (ORDER BY {keys})", column.kind)] * 2
        form, kind = self.dice.choice(forms)
        text = form.replace("{o}", over).replace("{p}", part.ref).replace("{c}", column.ref)
        name = self.dice.choice(["id", "n", "name", "part", "qty", column.name])
        while is_named and name.lower() in {c.name.lower() for c in columns}:
            name = f"{name}{len(columns)}"
        columns = [Column(name, name, "", kind), *columns]
        texts = [f"{text} AS {name}", *texts]
        made = f"SELECT {', '.join(texts)} FROM {source}{where}"
        if self.chance(0.25) and self.sorted_by(columns):
            made += maybe(self._limited(len(columns)))
        return Query(made, Scope(columns))

    def _set_operation(self) -> Query:
        word = self.dice.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        self.did(word)
        (one, scope), (two, other) = self._from(1), self._from(1)
        kinds = [self.dice.choice(["num", "num", "text", "time"]) for _ in range(2)]
        if not all(scope.of(k) and other.of(k) for k in kinds):
            kinds = ["num"]
        sides: list[str] = []
        columns: list[Column] = []
        for source, each in ((one, scope), (two, other)):
            chosen = [self.key(each, kind) for kind in kinds]
            names = [self.alias(c) for c in chosen]
            columns = columns or [
                Column(n, n, "", k) for n, k in zip(names, kinds, strict=True)
            ]  # fmt: skip
            texts = ", ".join(f"{c.ref} AS {n}" for c, n in zip(chosen, names, strict=True))
            sides.append(f"SELECT {texts} FROM {source}{self._where(each, 1)}")
        text = f" {word} ".join(sides)
        if self.chance(0.3):
            text += maybe(self._limited(len(columns)))
        return Query(text, Scope(columns))

    def _pipe(self) -> Query:
        self.did("pipe")
        source, scope = self._from(1)
        texts, columns = self._items(scope)
        where = maybe(f" |> WHERE {self.condition(scope)}")
        return Query(f"FROM {source}{where} |> SELECT {', '.join(texts)}", Scope(columns))


def _together(left: Scope, right: Scope) -> Scope:
    known = left.unique and right.unique
    unique = [*left.unique, *right.unique] if known else []
    # What USING merged goes by its name alone, which the other side may have, too.
    own = [column for column in left.columns if "." in column.ref]
    return Scope([*own, *right.columns], unique)


def _in_order(scope: Scope) -> list[Column] | None:
    """Return the columns of ``SELECT *`` where their kinds are known; None if they are too many."""
    if len(scope.columns) > 45:
        return None
    return [replace(c, ref=c.name) for c in scope.columns]


def view_scope(view: str) -> Scope:
    """Return the columns of a view."""
    table, items = VIEWS[view]
    known = {c.name: c for c in columns_of(table)}
    columns = []
    for item in items.split(", "):
        source, _, name = item.rpartition(" AS ")
        source = source or name
        if source.startswith("CAST("):
            columns.append(Column(name, name, "string", "num"))
            continue
        kind = known[source]
        columns.append(replace(kind, ref=name, name=name))
    keys = [c for c in columns if _is_key(items, c.name)]
    return Scope(columns, keys[:1])


def _is_key(items: str, name: str) -> bool:
    return f"id AS {name}" in items.split(", ") or (name == "id" and "id" in items.split(", "))


def variants_scope() -> Scope:
    """Return the columns of the table with variants."""
    types = {"id": "int", "n": "string", "v": "variant", "st": "variant", "name": "string"}
    columns = [
        Column(n, n, k, "variant" if k == "variant" else "text" if n == "name" else "num")
        for n, k in types.items()
    ]
    return Scope(columns, columns[:1])
