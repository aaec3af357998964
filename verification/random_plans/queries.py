"""Random queries: each is drawn once, and said in SQL and by calls of the DataFrame API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from verification.random_plans.columns import FLAT, Column, Scope, scope_of
from verification.random_plans.conditions import Condition, Text, api, literal, say
from verification.random_plans.expressions import GRAMMAR, ONE
from verification.random_plans.parts import maybe
from verification.random_plans.sources import Query, Sources

TEXTS: list[str] = GRAMMAR["texts"].splitlines()
_SET_OPERATIONS = GRAMMAR["set_operations"]


@dataclass(frozen=True)
class Head:
    """What a query selects."""

    items: str  # in SQL
    call: str  # of a frame
    scope: Scope  # columns of the result
    end: str = ""  # what follows WHERE in SQL
    has_rows_of_source: bool = False  # whether each row is made of one of the source


class _Holes(dict[str, str]):
    """What fills the holes of a form: what is given, and what is drawn where it is wanted."""

    def __init__(self, given: Mapping[str, str], draw: Callable[[str], str]) -> None:
        super().__init__(given)
        self._draw = draw

    def __missing__(self, hole: str) -> str:
        self[hole] = self._draw(hole)
        return self[hole]


class Queries(Sources):
    """Draws queries."""

    # Forms of the grammar

    def fill(self, form: str, scope: Scope, *, most: int | None = None, **given: str) -> str:
        """Fill the holes of a form; `grammar.toml` says which there are.

        Args:
            form: any.
            scope: columns of what the form is about.
            most: number of terms of a condition; by default it goes by the family of tables.
            given: what holes have that are not drawn.
        """
        return form.format_map(_Holes(given, partial(self._hole, scope, most)))

    def _hole(self, scope: Scope, most: int | None, hole: str) -> str:
        flat = scope.of(*FLAT) or [ONE]
        numbers = scope.of("num") or flat
        match hole:
            case "a" | "b":
                return self.dice.choice(flat).ref
            case "n":
                return self.dice.choice(numbers).ref
            case "k":
                return (*scope.unique, *flat)[0].ref
            case "r":
                arrays = [column.ref for column in scope.of("array")]
                return self.dice.choice(arrays or [f"array({column.ref})" for column in numbers])
            case "x":
                return self.dice.choice(_nested(scope) or [column.ref for column in flat])
            case "c" | "d":
                return say(self.condition(scope, most=most))
        raise KeyError(hole)

    def text(self) -> Query:
        """Draw a query of which the grammar has the whole text; its columns are not known."""
        table, scope = self.table()
        form = self.dice.choice(TEXTS)
        self.did(f"text {form[:60]}")
        shown = self.dice.choice(scope.of(*FLAT)).name
        text = self.dice.choice(scope.of("text") or scope.of(*FLAT))
        sql = self.fill(
            form,
            scope,
            t=table.upper() if self.ignores_case and self.chance(0.3) else table,
            u=table if self.chance(0.5) else self.table()[0],
            a=shown.upper() if self.ignores_case and self.chance(0.2) else shown,
            s=text.ref,
            l=literal(self.value(text), text.type),
        )
        return Query(sql, (), Scope(()))

    # Conditions

    def where(self, scope: Scope, depth: int) -> Condition:
        """Draw the condition of a query."""
        if depth > 1 and self.chance(0.3):
            return Text(self._subquery(scope))
        return self.condition(scope)

    def _subquery(self, scope: Scope) -> str:
        """Draw a condition with a subquery."""
        alias = self.new_alias()
        table, columns = self.table()
        inner = columns.named(alias)
        form: str = self.pick(GRAMMAR["subqueries"])
        self.did(f"subquery {form}")
        condition = self.sql_condition(inner)
        return self.fill(
            form,
            inner,
            outer=self.key(scope, "num").ref,
            key=self.key(inner, "num").ref,
            table=f"{table} {alias}",
            where=maybe(f" WHERE {condition}"),
            more=maybe(f" AND ({condition})"),
        )

    def where_call(self, condition: Condition) -> str:
        """Return the call of a frame with a condition: as text, or of columns."""
        if not isinstance(condition, Text) and self.chance(0.5):
            self.did("condition of columns")
            return f".where({say(condition, 'columns')})"
        return f".where({say(condition)!r})"

    # What is selected

    def head(self, scope: Scope, *, is_named: bool = False) -> Head:
        """Draw what a query selects: columns with different names if it is named."""
        way = self.pick(
            {"groups": 22, "window": 14, "array": 6, "struct": 5, "star": 5, "plain": 48}
        )
        if way == "groups":
            return self._grouped(scope, is_named=is_named)
        if way == "window":
            others = [self.any_column(scope) for _ in range(self.dice.randint(1, 3))]
            return self.select([self._windowed(scope), *others], is_named=is_named)
        if way == "array":
            return self.select([self.scalar(scope), self._exploded(scope)], is_named=is_named)
        if way == "struct" and scope.of("struct"):
            return self._struct_star(scope)
        if way == "star" and not is_named and len(scope.columns) <= 45:
            self.did("star")
            return Head("*", '.select("*")', scope_of(*scope.columns))
        return self._plain(scope, is_named=is_named)

    def _items(self, columns: list[Column], made: Scope) -> tuple[list[str], list[str]]:
        """Return the items of a result in SQL, and those of a call."""
        texts = []
        calls = []
        for column, name in zip(columns, (c.name for c in made.columns), strict=True):
            texts.append(f"{column.ref} AS {name}")
            said = column.python or api(column.ref)
            if column.ref and self.chance(0.3):
                said = f"F.expr({column.ref!r})"
            calls.append(f'{said}.alias("{name}")')
        return texts, calls

    def select(self, columns: list[Column], *, is_named: bool = False) -> Head:
        """Draw the names of columns, and how a frame selects them."""
        made = self.named(columns, is_named=is_named)
        texts, calls = self._items(columns, made)
        return Head(", ".join(texts), f".select({', '.join(calls)})", made)

    def _plain(self, scope: Scope, *, is_named: bool) -> Head:
        """Draw some expressions, of which DISTINCT may leave out equal rows."""
        columns = [self.any_column(scope) for _ in range(self.dice.randint(1, 4))]
        head = self.select(columns, is_named=is_named)
        if self.chance(0.15) and head.scope.is_ordered:
            self.did("DISTINCT")
            call = self.dice.choice(["distinct", "dropDuplicates"])
            return replace(head, items=f"DISTINCT {head.items}", call=f"{head.call}.{call}()")
        if self.chance(0.15):
            self.did("selectExpr")
            pairs = zip(columns, head.scope.columns, strict=True)
            texts = [f"{column.ref} AS {made.name}" for column, made in pairs]
            head = replace(head, call=f".selectExpr(*{texts!r})")
        return replace(head, has_rows_of_source=True)

    def _struct_star(self, scope: Scope) -> Head:
        """Draw all fields of a struct."""
        self.did("struct star")
        struct = self.dice.choice(scope.of("struct"))
        fields = struct.fields or [Column("", name, "text") for name in ("x", "s")]
        return Head(f"{struct.ref}.*", f'.select("{struct.ref}.*")', scope_of(*fields))

    def _exploded(self, scope: Scope) -> Column:
        """Draw the items of an array."""
        self.did("explode in SELECT")
        item = self.array(scope)
        call = self.dice.choice(["explode", "explode_outer"])
        python = f"F.{call}(F.expr({item.ref!r}))"
        return replace(item, ref=f"{call}({item.ref})", python=python)

    def _form(self, forms: Mapping[str, Any], column: Column, *, has_key: bool) -> Any:
        """Draw a function of the rows of a group whose value does not depend on their order."""
        found = [*forms["any"], *forms.get(column.kind, [])]
        # Of -0.0 and 0.0, which only the tables of ends have, the least and the greatest is the
        # first.
        if column.kind != "num" or self.tables.name != "ends":
            found += forms["extremes"]
        if has_key:
            found += forms["key"]
        return self.dice.choice(found)

    def _aggregate(self, scope: Scope) -> Column:
        column = self.scalar(scope)
        if self.chance(0.05):
            self.did("udf py_last")
            return column.made(f"py_last({column.ref})", "text")
        self.did("aggregate")
        has_key = len(scope.unique) == 1
        form, kind = self._form(GRAMMAR["aggregates"], column, has_key=has_key)
        text = self.fill(form, scope, a=column.ref, most=1)
        return column.made(text, kind or column.kind)

    def _grouped(self, scope: Scope, *, is_named: bool) -> Head:
        """Draw keys and aggregates."""
        keys = [self.scalar(scope) for _ in range(self.dice.choice([0, 1, 1, 1, 2]))]
        if self.chance(0.1) and scope.of("struct"):
            keys.append(self.dice.choice(scope.of("struct")))
        values = [self._aggregate(scope) for _ in range(self.dice.randint(1, 2))]
        python = [column for column in values if "py_last" in column.ref]
        columns = [*keys, *(python or values)]  # pandas aggregates stand alone
        made = self.named(columns, is_named=is_named)
        texts, calls = self._items(columns, made)
        word = "" if python or not keys else self.dice.choice(["", "", "", "", "ROLLUP", "CUBE"])
        self.did(word or "GROUP BY")
        by, what = ", ".join(calls[: len(keys)]), ", ".join(calls[len(keys) :])
        call = f".{word.lower() or 'groupBy'}({by}).agg({what})"
        if not keys:
            return Head(", ".join(texts), call, made)
        refs = ", ".join(column.ref for column in keys)
        end = f" GROUP BY {word} ({refs})" if word else f" GROUP BY {refs}"
        if not word and self.chance(0.2):
            self.did("GROUP BY positions")
            end = f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}"
        if not python and self.chance(0.25):
            self.did("HAVING")
            end += maybe(" HAVING count(*) > 1")
        return Head(", ".join(texts), call, made, end)

    def _windowed(self, scope: Scope) -> Column:
        """Draw a function over a window."""
        self.did("window")
        part = self.scalar(scope)
        order = self.scalar(scope)
        column = self.scalar(scope, "num", "time", "text")
        has_key = bool(scope.unique)
        form, order_by, kind = self._form(GRAMMAR["windows"], column, has_key=has_key)
        orders = {"": (), "any": (order,), "key": scope.unique}[order_by]
        function = self.fill(form, scope, a=column.ref)
        text = f"{function} OVER (PARTITION BY {part.ref})"
        window = f"W.partitionBy({api(part.ref)})"
        if orders:
            text = text[:-1] + f" ORDER BY {', '.join(c.ref for c in orders)})"
            window += f".orderBy({', '.join(api(c.ref) for c in orders)})"
        made = column.made(text, kind or column.kind)
        return replace(made, python=f"{api(function)}.over({window})")

    # What follows

    def limited(self, query: Query, unique: tuple[Column, ...] = ()) -> Query:
        """Draw an order that decides which rows are first, if there is one.

        It may be by columns of the source that have no two equal rows.
        """
        if query.scope.is_ordered and len(query.scope.columns) <= 8 and self.chance(0.2):
            return self.limited_by_all(query)
        if not unique or self.chance(0.85):
            return query
        # By what is not in the result, and is different in all rows.
        self.did("ORDER BY … LIMIT by a key")
        keys = [c.ref for c in unique]
        count = self.dice.randint(1, 12)
        call = f".orderBy({', '.join(map(api, keys))}).limit({count})"
        return query.then(maybe(f" ORDER BY {', '.join(keys)} LIMIT {count}"), call)

    def limited_by_all(self, query: Query) -> Query:
        """Draw an order by all columns, after which equal rows alone are interchangeable."""
        self.did("ORDER BY positions LIMIT")
        columns = list(enumerate(query.scope.columns, 1))
        self.dice.shuffle(columns)
        is_named = len(query.scope.without_shared_names()) == len(columns)
        way = self.dice.choice(["literal", "number", "name" if is_named else "literal"])
        keys = []
        calls = []
        for place, column in columns:
            end = self.dice.choice(["", " DESC", " NULLS LAST"])
            keys.append(f"{place}{end}")
            call = {"number": str(place), "name": f'"{column.name}"'}.get(way, f"F.lit({place})")
            calls.append(f"{call}.desc()" if way == "literal" and "DESC" in end else call)
        count = self.dice.randint(1, 15)
        sql = f" ORDER BY {', '.join(keys)} LIMIT {count}"
        call = f".limit({count})"
        if self.chance(0.2):
            offset = self.dice.randint(1, 5)
            sql += f" OFFSET {offset}"
            call = f".offset({offset}){call}"
        return query.then(maybe(sql), f".orderBy({', '.join(calls)}){call}")

    # Whole queries

    def query(self, depth: int, *, is_named: bool = False) -> Query:
        """Draw a query that may be nested; its columns have different names if it is named."""
        source = self.source(depth)
        condition = self.where(source.scope, depth) if self.chance(0.7) else None
        head = self.head(source.scope, is_named=is_named)
        query = self.select_from(source, condition, head, may_be_piped=self.is_sql)
        unique = source.scope.unique if head.has_rows_of_source else ()
        return self.limited(query, unique)

    def select_from(
        self,
        source: Query,
        condition: Condition | None,
        head: Head,
        *,
        may_be_piped: bool = False,
    ) -> Query:
        """Return the query of a source, a condition and what is selected."""
        where = f" WHERE {say(condition)}" if condition else ""
        where_call = self.where_call(condition) if condition else ""
        sql = f"SELECT {head.items} FROM {source.sql}{maybe(where)}{head.end}"
        is_plain = not head.end and not head.items.startswith("DISTINCT ")
        if may_be_piped and is_plain and self.chance(0.05):
            self.did("pipe")
            piped = maybe(f" |>{where}") if where else ""
            sql = f"FROM {source.sql}{piped} |> SELECT {head.items}"
        calls = filter(None, (*source.calls, where_call, head.call))
        return Query(sql, tuple(calls), head.scope)

    def set_operation(self) -> Query:
        """Draw two queries with columns of the same kinds, and what becomes of their rows."""
        word = self.dice.choice(list(_SET_OPERATIONS))
        self.did(word)
        sources = [self.source(1), self.source(1)]
        kinds = [self.dice.choice(["num", "num", "text", "time"]) for _ in range(2)]
        if not all(source.scope.of(kind) for source in sources for kind in kinds):
            kinds = ["num"]
        sides = []
        for source in sources:
            head = self.select([self.key(source.scope, kind) for kind in kinds])
            sides.append(self.select_from(source, self.condition(source.scope), head))
        one, other = sides
        typed = scope_of(*(replace(c, type=None) for c in one.scope.columns))
        call = "." + _SET_OPERATIONS[word].format(other.frame)
        united = one.then(f" {word} {other.sql}", call, typed)
        return self.limited_by_all(united) if self.chance(0.3) else united

    def statement(self) -> Query:
        """Draw a whole query."""
        inner = None
        if self.is_sql and self.chance(0.15):
            self.did("CTE")
            inner = self.query(1, is_named=True)
            self._common = inner.scope
        query = self.set_operation() if self.chance(0.16) else self.query(2)
        return replace(query, sql=f"WITH common AS ({inner.sql}) {query.sql}") if inner else query


def _nested(scope: Scope) -> list[str]:
    """Return nested columns, their fields, and what is made of maps."""
    found = []
    for column in scope.columns:
        # Fields of the items of an array are arrays.
        parts = column.item if column.kind == "array" else column
        for each in parts.fields:
            found += [column.ref, each.ref, each.ref.upper(), *(f.ref for f in each.fields)]
        if column.kind == "map":
            found += [f"map_keys({column.ref})", f"map_values({column.ref})"]
    return found
