"""Random queries: each is drawn once, and said in SQL and by calls of the DataFrame API."""

from __future__ import annotations

from dataclasses import dataclass, replace

from verification.common.data import load_data
from verification.random_plans.columns import Column, Scope, scope_of
from verification.random_plans.conditions import Condition, Text, api, to_python, to_sql
from verification.random_plans.parts import maybe
from verification.random_plans.sources import Query, Source, Sources

_SET_OPERATIONS = load_data(__file__, "grammar.toml")["set_operations"]


@dataclass(frozen=True)
class Head:
    """What a query selects.

    Attributes:
        items: in SQL.
        end: what follows WHERE in SQL.
        call: of a frame.
        scope: columns of the result.
        has_rows_of_source: whether each row is made of one of the source.
    """

    items: str
    end: str
    call: str
    scope: Scope
    has_rows_of_source: bool = False


class Queries(Sources):
    """Draws queries."""

    # Conditions

    def where(self, scope: Scope, depth: int = 1) -> Condition:
        """Draw the condition of a query."""
        if depth > 1 and self.chance(0.3):
            return Text(self._subquery(scope))
        return self.condition(scope)

    def _subquery(self, scope: Scope) -> str:
        alias = self.new_alias()
        table, columns = self.table()
        inner = columns.named(alias)
        way = self.dice.random()
        outer = self.key(scope, "num")
        wanted = self.key(inner, "num")
        where = maybe(f" WHERE {self.sql_condition(inner)}")
        if way < 0.35:
            self.did("IN subquery")
            word = "NOT IN" if self.chance(0.3) else "IN"
            return f"{outer.ref} {word} (SELECT {wanted.ref} FROM {table} {alias}{where})"
        if way < 0.65:
            self.did("EXISTS")
            word = "NOT EXISTS" if self.chance(0.3) else "EXISTS"
            more = maybe(f" AND ({self.sql_condition(inner)})")
            equal = f"{wanted.ref} = {outer.ref}"
            return f"{word} (SELECT 1 FROM {table} {alias} WHERE {equal}{more})"
        if way < 0.85:
            self.did("scalar subquery")
            value = f"(SELECT max({wanted.ref}) FROM {table} {alias}{where})"
            return f"{outer.ref} {self.dice.choice(['<', '>=', '<>'])} {value}"
        self.did("correlated scalar subquery")
        key = self.key(scope, "num")
        value = f"(SELECT count(*) FROM {table} {alias} WHERE {wanted.ref} = {key.ref})"
        return f"{value} {self.dice.choice(['<', '=', '>'])} 1"

    def where_call(self, condition: Condition) -> str:
        """Return the call of a frame with a condition: as text, or of columns."""
        if not isinstance(condition, Text) and self.chance(0.5):
            self.did("condition of columns")
            return f".where({to_python(condition)})"
        return f".where({to_sql(condition)!r})"

    # What is selected

    def head(self, scope: Scope, *, is_named: bool = False) -> Head:
        """Draw what a query selects.

        Args:
            scope: columns of its source.
            is_named: whether the columns of the result must have different names.
        """
        way = self.dice.random()
        if way < 0.22:
            return self.grouped(scope, is_named=is_named)
        if way < 0.36:
            return self.windowed(scope, is_named=is_named)
        if way < 0.42:
            return self.exploded(scope, is_named=is_named)
        if way < 0.47 and scope.of("struct"):
            return self.struct_star(scope)
        if way < 0.52 and not is_named and len(scope.columns) <= 45:
            self.did("star")
            return Head("*", "", '.select("*")', scope_of(*scope.columns))
        return self.plain(scope, is_named=is_named)

    def item(self, column: Column, name: str) -> str:
        """Return an item of a call: an expression with a name."""
        made = api(column.ref) if self.chance(0.7) else f"F.expr({column.ref!r})"
        return f'{made}.alias("{name}")'

    def _items(self, columns: list[Column], scope: Scope) -> tuple[str, str]:
        pairs = list(zip(columns, scope.columns, strict=True))
        sql = ", ".join(f"{column.ref} AS {made.name}" for column, made in pairs)
        return sql, ", ".join(self.item(column, made.name) for column, made in pairs)

    def plain(self, scope: Scope, *, is_named: bool = False) -> Head:
        """Draw some expressions, of which DISTINCT may leave out equal rows."""
        columns = [self.any_column(scope) for _ in range(self.dice.randint(1, 4))]
        made = self.named(columns, is_named=is_named)
        sql, calls = self._items(columns, made)
        if self.chance(0.15) and made.is_ordered:
            self.did("DISTINCT")
            call = self.dice.choice(["distinct", "dropDuplicates"])
            return Head(f"DISTINCT {sql}", "", f".select({calls}).{call}()", made)
        if self.chance(0.15):
            self.did("selectExpr")
            texts = [f"{c.ref} AS {m.name}" for c, m in zip(columns, made.columns, strict=True)]
            return Head(sql, "", f".selectExpr(*{texts!r})", made, has_rows_of_source=True)
        return Head(sql, "", f".select({calls})", made, has_rows_of_source=True)

    def struct_star(self, scope: Scope) -> Head:
        """Draw all fields of a struct."""
        self.did("struct star")
        struct = self.dice.choice(scope.of("struct"))
        fields = struct.fields or [Column("", n, None, "text") for n in ("x", "s")]
        return Head(f"{struct.ref}.*", "", f'.select("{struct.ref}.*")', scope_of(*fields))

    def exploded(self, scope: Scope, *, is_named: bool = False) -> Head:
        """Draw a column and the items of an array."""
        self.did("explode in SELECT")
        column = self.scalar(scope)
        arrays = [c for c in scope.of("array") if c.type]
        number = self.column(scope, "num")
        name = self.dice.choice(self.tables.aliases)
        array = f"array({number.ref}, 1)"
        item = Column(name, name, None, "num", number.values)
        if arrays and self.chance(0.6):
            chosen = self.dice.choice(arrays)
            array = chosen.ref
            item = chosen.item(name, name)
        call = self.dice.choice(["explode", "explode_outer"])
        columns = [column, replace(item, ref=f"{call}({array})", type=item.type)]
        made = self.named(columns, is_named=is_named)
        sql, _ = self._items(columns, made)
        first, second = (c.name for c in made.columns)
        calls = f'{self.item(column, first)}, F.{call}(F.expr({array!r})).alias("{second}")'
        return Head(sql, "", f".select({calls})", made)

    def aggregate(self, scope: Scope) -> Column:
        """Draw an aggregate whose value does not depend on the order of rows."""
        column = self.scalar(scope)
        if self.chance(0.05):
            self.did("udf py_last")
            return Column(f"py_last({column.ref})", column.name, None, "text")
        self.did("aggregate")
        forms = [
            ("count(*)", "num"), ("count({c})", "num"), ("count(DISTINCT {c})", "num"),
            ("to_json(sort_array(collect_list({c})))", "text"),
            ("count(*) FILTER (WHERE {w})", "num"), ("first({c}, true) IS NULL", "bool"),
        ]  # fmt: skip
        if self.has_extremes(column):
            forms += [("min({c})", column.kind), ("max({c})", column.kind)]
        if column.kind == "num":
            forms += [("sum(try_cast({c} AS decimal(14,2)))", "num")] * 2
        if column.kind == "bool":
            forms += [("bool_or({c})", "bool")]
        if len(scope.unique) == 1:
            forms += [(f"max_by({{c}}, {scope.unique[0].ref})", column.kind)]
        form, kind = self.dice.choice(forms)
        if "{w}" in form:
            form = form.replace("{w}", self.sql_condition(scope))
        values = column.values if kind == column.kind and form != "count({c})" else ()
        return Column(form.replace("{c}", column.ref), column.name, None, kind, values)

    def grouped(self, scope: Scope, *, is_named: bool = False) -> Head:
        """Draw keys and aggregates."""
        keys = [self.scalar(scope) for _ in range(self.dice.choice([0, 1, 1, 1, 2]))]
        if self.chance(0.1) and scope.of("struct"):
            keys.append(self.dice.choice(scope.of("struct")))
        values = [self.aggregate(scope) for _ in range(self.dice.randint(1, 2))]
        python = [column for column in values if "py_last" in column.ref]
        values = python or values  # pandas aggregates stand alone
        columns = [*keys, *values]
        made = self.named(columns, is_named=is_named)
        sql, _ = self._items(columns, made)
        word = "" if python or not keys else self.dice.choice(["", "", "", "", "ROLLUP", "CUBE"])
        self.did(word or "GROUP BY")
        names = [column.name for column in made.columns]
        by = ", ".join(map(self.item, keys, names))
        what = ", ".join(map(self.item, values, names[len(keys) :]))
        call = f".{word.lower() or 'groupBy'}({by}).agg({what})"
        if not keys:
            return Head(sql, "", call, made)
        refs = ", ".join(column.ref for column in keys)
        end = f" GROUP BY {word} ({refs})" if word else f" GROUP BY {refs}"
        if not word and self.chance(0.2):
            self.did("GROUP BY positions")
            end = f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}"
        if not python and self.chance(0.25):
            self.did("HAVING")
            end += maybe(" HAVING count(*) > 1")
        return Head(sql, end, call, made)

    def windowed(self, scope: Scope, *, is_named: bool = False) -> Head:
        """Draw a function over a window, and other expressions."""
        self.did("window")
        part, order = self.scalar(scope), self.scalar(scope)
        column = self.scalar(scope, "num", "time", "text")
        forms = [
            ("rank()", [order], "num"),
            ("dense_rank()", [order], "num"),
            ("ntile(1)", [order], "num"),
            ("count(*)", [], "num"),
        ]
        if self.has_extremes(column):
            forms += [("max({c})", [], column.kind), ("min({c})", [order], column.kind)]
        if scope.unique:
            keys = list(scope.unique)
            forms += [("row_number()", keys, "num"), ("lag({c})", keys, column.kind)] * 2
        form, orders, kind = self.dice.choice(forms)
        function = form.replace("{c}", column.ref)
        ordered = f" ORDER BY {', '.join(c.ref for c in orders)}" if orders else ""
        text = f"{function} OVER (PARTITION BY {part.ref}{ordered})"
        others = [self.any_column(scope) for _ in range(self.dice.randint(1, 3))]
        columns = [Column(text, column.name, None, kind), *others]
        made = self.named(columns, is_named=is_named)
        sql, calls = self._items(columns, made)
        if self.chance(0.6):
            window = f"W.partitionBy({api(part.ref)})"
            if orders:
                window += f".orderBy({', '.join(api(c.ref) for c in orders)})"
            first, *names = (c.name for c in made.columns)
            over = f'{api(function)}.over({window}).alias("{first}")'
            calls = ", ".join([over, *map(self.item, others, names)])
        return Head(sql, "", f".select({calls})", made)

    def has_extremes(self, column: Column) -> bool:
        """Return whether the order of rows does not decide the least and the greatest value.

        Of -0.0 and 0.0, which only the tables of ends have, it is the first.
        """
        return column.kind != "num" or self.tables.name != "ends"

    # What follows

    def limit(self, scope: Scope, unique: tuple[Column, ...] = ()) -> tuple[str, str]:
        """Draw an order that decides which rows are first, in SQL and as calls; "" for none.

        Args:
            scope: columns of the result.
            unique: columns of the source that have no two equal rows.
        """
        if scope.is_ordered and len(scope.columns) <= 8 and self.chance(0.2):
            return self.limit_by_all(scope)
        if unique and self.chance(0.15):
            # By what is not in the result, and is different in all rows.
            self.did("ORDER BY … LIMIT by a key")
            keys = [c.ref for c in unique]
            count = self.dice.randint(1, 12)
            call = f".orderBy({', '.join(map(api, keys))}).limit({count})"
            return f" ORDER BY {', '.join(keys)} LIMIT {count}", call
        return "", ""

    def limit_by_all(self, scope: Scope) -> tuple[str, str]:
        """Draw an order by all columns, after which equal rows alone are interchangeable."""
        self.did("ORDER BY positions LIMIT")
        columns = list(enumerate(scope.columns, 1))
        self.dice.shuffle(columns)
        is_named = len(scope.without_shared_names()) == len(columns)
        way = self.dice.choice(["literal", "number", "name" if is_named else "literal"])
        keys = []
        calls = []
        for place, column in columns:
            end = self.dice.choice(["", " DESC", " NULLS LAST"])
            keys.append(f"{place}{end}")
            call = {"number": str(place), "name": f'"{column.name}"'}.get(way, f"F.lit({place})")
            calls.append(f"{call}.desc()" if way == "literal" and "DESC" in end else call)
        count = self.dice.randint(1, 15)
        offset = self.dice.randint(1, 5) if self.chance(0.2) else 0
        sql = f" ORDER BY {', '.join(keys)} LIMIT {count}"
        call = f".orderBy({', '.join(calls)})"
        if offset:
            return f"{sql} OFFSET {offset}", f"{call}.offset({offset}).limit({count})"
        return sql, f"{call}.limit({count})"

    # Whole queries

    def query(self, depth: int, *, is_named: bool = False) -> Query:
        """Draw a query.

        Args:
            depth: how far it may be nested.
            is_named: whether the columns of the result must have different names.
        """
        source = self.source(depth)
        condition = self.where(source.scope, depth) if self.chance(0.7) else None
        head = self.head(source.scope, is_named=is_named)
        unique = source.scope.unique if head.has_rows_of_source else ()
        sql_end, end_call = self.limit(head.scope, unique)
        where = to_sql(condition) if condition else ""
        where_call = self.where_call(condition) if condition else ""
        sql = self._sql(source, where, head) + maybe(sql_end)
        calls = (source.frame, where_call, head.call, end_call)
        return Query(sql, tuple(filter(None, calls)), head.scope)

    def _sql(self, source: Source, where: str, head: Head) -> str:
        is_distinct = head.items.startswith("DISTINCT ")
        if self.is_sql and not head.end and not is_distinct and self.chance(0.05):
            self.did("pipe")
            piped = maybe(f" |> WHERE {where}") if where else ""
            return f"FROM {source.sql}{piped} |> SELECT {head.items}"
        text = maybe(f" WHERE {where}") if where else ""
        return f"SELECT {head.items} FROM {source.sql}{text}{head.end}"

    def set_operation(self) -> Query:
        """Draw two queries with columns of the same kinds, and what becomes of their rows."""
        word = self.dice.choice(list(_SET_OPERATIONS))
        self.did(word)
        sources = [self.source(1), self.source(1)]
        kinds = [self.dice.choice(["num", "num", "text", "time"]) for _ in range(2)]
        if not all(source.scope.of(kind) for source in sources for kind in kinds):
            kinds = ["num"]
        sides = []
        scope = Scope(())
        for source in sources:
            columns = [self.key(source.scope, kind) for kind in kinds]
            made = self.named(columns)
            scope = scope if scope.columns else made
            items, calls = self._items(columns, made)
            condition = self.condition(source.scope)
            where = maybe(f" WHERE {to_sql(condition)}")
            sql = f"SELECT {items} FROM {source.sql}{where}"
            frame = (source.frame, self.where_call(condition), f".select({calls})")
            sides.append(Query(sql, frame, made))
        one, other = sides
        typed = scope_of(*(replace(c, type=None) for c in scope.columns))
        end, end_call = self.limit_by_all(typed) if self.chance(0.3) else ("", "")
        operation = "." + _SET_OPERATIONS[word].format("".join(other.calls))
        united = (*one.calls, operation, end_call)
        return Query(
            f"{one.sql} {word} {other.sql}{maybe(end)}", tuple(filter(None, united)), typed
        )

    def statement(self) -> Query:
        """Draw a whole query."""
        if self.is_sql and self.chance(0.15):
            self.did("CTE")
            inner = self.query(1, is_named=True)
            self._common = inner.scope
            query = self.set_operation() if self.chance(0.16) else self.query(2)
            return replace(query, sql=f"WITH common AS ({inner.sql}) {query.sql}")
        return self.set_operation() if self.chance(0.16) else self.query(2)

    def usable(self, scope: Scope) -> Scope:
        """Return the columns that their refs mean alone."""
        if any("." in c.ref for c in scope.columns):
            return scope
        return Scope(tuple(scope.without_shared_names()), scope.unique)
