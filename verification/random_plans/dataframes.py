"""Random queries of the DataFrame API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, NumericType, StringType, StructType
from pyspark.sql.window import Window

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from verification.random_plans.table import Table


@dataclass
class Query:
    """A DataFrame while it is made.

    Attributes:
        spark: the session.
        dice: decide everything; the same in each session.
        table: what the query began with.
        frame: what it is so far.
        types: of its columns, as far as they are known; others are computed.
        log: the steps.
    """

    spark: SparkSession
    dice: random.Random
    table: Table
    frame: DataFrame
    types: dict[str, DataType]
    log: list[str] = field(default_factory=list)

    def of(self, *kinds: type[DataType]) -> list[str]:
        """Return the columns of some types."""
        return [name for name, kind in self.types.items() if isinstance(kind, kinds)]

    def some(self, names: list[str], most: int = 3) -> list[str]:
        """Choose one column or more."""
        return self.dice.sample(names, min(len(names), self.dice.randint(1, most)))

    def named(self, name: str) -> Any:
        """Refer to a column in one of the ways that there are."""
        ways: list[Callable[[], Any]] = [
            lambda: name,
            lambda: sf.col(name),
            lambda: sf.col(f"`{name}`"),
            lambda: sf.col(name.upper()),
            lambda: self.frame[name],
            lambda: sf.expr(name),
        ]
        return self.dice.choice(ways)()

    def keep(self, names: list[str]) -> None:
        """Forget columns that are not there any more."""
        self.types = {name: self.types[name] for name in names if name in self.types}


def random_frame(
    spark: SparkSession, dice: random.Random, tables: dict[str, Table], load: Callable[[str], Any]
) -> Query:
    """Return a query over tables, which `load` gives by name."""
    table = tables[dice.choice(sorted(tables))]
    query = Query(spark, dice, table, load(table.name), dict(table.types))
    for _ in range(dice.randint(1, 5)):
        step = dice.choice(_STEPS)
        query.log.append(step.__name__)
        step(query, lambda: load(table.name))
    return query


def _where(query: Query, _again: Callable[[], Any]) -> None:
    text, column = query.table.condition(query.dice, list(query.types))
    as_text = query.dice.random() < 0.5
    query.frame = query.frame.where(text if as_text else column)
    query.log[-1] += f"({text})"


def _select(query: Query, _again: Callable[[], Any]) -> None:
    names = query.some(list(query.types), 4)
    query.frame = query.frame.select(*(query.named(name) for name in names))
    query.keep(names)


def _select_texts(query: Query, _again: Callable[[], Any]) -> None:
    names = query.some(list(query.types))
    texts = [*names, f"coalesce(cast({names[0]} AS string), '{names[-1]}') AS shown"]
    if query.dice.random() < 0.2:
        texts = ["*", texts[-1]]
        names = list(query.types)
    query.frame = query.frame.selectExpr(*texts)
    query.keep(names)
    query.types["shown"] = StringType()


def _late(query: Query, _again: Callable[[], Any]) -> None:
    """Select, then filter or sort by a column that is not selected: Spark still finds it."""
    names = query.some(list(query.types))
    text, column = query.table.condition(query.dice, list(query.types))
    del column
    query.frame = query.frame.select(*names).where(text)
    query.keep(names)
    query.log[-1] += f"({names}, {text})"


def _with_column(query: Query, _again: Callable[[], Any]) -> None:
    name = query.dice.choice(list(query.types))
    new = query.dice.choice([name, "made", "count", name.upper()])
    query.frame = query.frame.withColumn(new, sf.concat(sf.lit("x"), sf.col(name).cast("string")))
    old = [each for each in query.types if each.lower() == new.lower()]
    query.types[old[0] if old else new] = StringType()


def _rename(query: Query, _again: Callable[[], Any]) -> None:
    name = query.dice.choice(list(query.types))
    query.frame = query.frame.withColumnRenamed(name, "renamed")
    query.types = {"renamed" if n == name else n: kind for n, kind in query.types.items()}


def _drop(query: Query, _again: Callable[[], Any]) -> None:
    if len(query.types) > 2:
        names = query.some(list(query.types), 2)
        query.frame = query.frame.drop(*names)
        query.keep([name for name in query.types if name not in names])


def _group(query: Query, _again: Callable[[], Any]) -> None:
    keys = query.some(_comparable(query), 2)
    values = query.some(list(query.types), 2)
    numbers = query.of(NumericType)
    made = [sf.count(value).alias(f"count_{i}") for i, value in enumerate(values)]
    made += [sf.max(number).alias(f"max_{number}") for number in numbers[:1]] + [sf.count("*")]
    query.frame = query.frame.groupBy(*keys).agg(*made)
    query.keep(keys)


def _distinct(query: Query, _again: Callable[[], Any]) -> None:
    names = _comparable(query)
    if query.dice.random() < 0.5:
        names = query.some(names)
        query.frame = query.frame.dropDuplicates(names).select(*names)
    else:
        query.frame = query.frame.select(*names).distinct()
    query.keep(names)


def _join_by_name(query: Query, again: Callable[[], Any]) -> None:
    key = query.table.key
    if key not in query.types:
        return
    other = again().select(key, sf.lit("other").alias("side"))
    how = query.dice.choice(["inner", "left", "left_semi", "left_anti", "full"])
    query.frame = query.frame.join(other, key, how)
    query.log[-1] += f"({how})"


def _join_itself(query: Query, again: Callable[[], Any]) -> None:
    key = query.table.key
    if key not in query.types:
        return
    a, b = query.frame.alias("a"), again().alias("b")
    condition = sf.col(f"a.{key}") == sf.col(f"b.{key}")
    other = query.dice.choice(sorted(query.table.types))
    query.frame = a.join(b, condition).select("a.*", sf.col(f"b.{other}").alias("other"))


def _union(query: Query, again: Callable[[], Any]) -> None:
    other = again().select(*query.types) if set(query.types) <= set(query.table.types) else None
    if other is None:
        query.frame = query.frame.union(query.frame)
        return
    ways = [query.frame.union, query.frame.unionByName, query.frame.exceptAll]
    if not query.of(MapType):
        ways += [query.frame.intersect, query.frame.subtract]
    query.frame = query.dice.choice(ways)(other.where(query.table.condition(query.dice)[0]))


def _window(query: Query, _again: Callable[[], Any]) -> None:
    by, order = query.dice.choice(_comparable(query)), query.dice.choice(_comparable(query))
    window = Window.partitionBy(by).orderBy(order)
    query.frame = query.frame.withColumn("rank", sf.rank().over(window))
    if query.dice.random() < 0.5:
        query.frame = query.frame.where("rank = 1")


def _pivot(query: Query, _again: Callable[[], Any]) -> None:
    texts = query.of(StringType)
    if len(texts) < 2:
        return
    by, value = query.dice.sample(texts, 2)
    values = query.table.values(query.dice, value) if query.dice.random() < 0.7 else None
    query.frame = query.frame.groupBy(by).pivot(value, values).agg(sf.count(value))
    query.keep([by])


def _lambda(query: Query, _again: Callable[[], Any]) -> None:
    arrays = query.of(ArrayType)
    if arrays:
        name, other = arrays[0], query.dice.choice(list(query.types))
        made = sf.transform(
            name, lambda x: sf.concat_ws(":", x.cast("string"), sf.col(other).cast("string"))
        )
        query.frame = query.frame.select(made.alias("made"), *query.some(list(query.types)))
        query.types = {}


def _fields(query: Query, _again: Callable[[], Any]) -> None:
    fields = [
        f"{name}.{inner.name}"
        for name, kind in query.types.items()
        for inner in getattr(getattr(kind, "elementType", kind), "fields", [])
    ]
    if not fields:
        return
    chosen = query.some(fields)
    made = [query.dice.choice([sf.col, sf.expr])(text) for text in chosen]
    head, _, tail = chosen[0].partition(".")
    made += [sf.col(head)[tail].alias("again"), sf.col(head.upper()).alias("whole")][
        : query.dice.randint(0, 2)
    ]
    query.frame = query.frame.select(*made, *query.some(list(query.types), 1))
    query.types = {}


def _subquery(query: Query, again: Callable[[], Any]) -> None:
    number = query.dice.choice(query.table.of(NumericType))
    if number not in query.types:
        return
    inner = again()
    if query.dice.random() < 0.5:
        top = inner.select(sf.max(number)).scalar()
        query.frame = query.frame.where(sf.col(number) >= top - 20)
    else:
        condition = sf.col(number) == sf.col(f"a.{number}").outer()
        query.frame = query.frame.alias("a").where(inner.where(condition).exists())


def _limit(query: Query, _again: Callable[[], Any]) -> None:
    """Take the first rows; with few columns of what is the same in all of them, or counted."""
    names = _comparable(query)
    query.frame = query.frame.select(*names).orderBy(*names).limit(query.dice.randint(1, 9))
    query.keep(names)


def _count_of_limit(query: Query, _again: Callable[[], Any]) -> None:
    query.frame = query.frame.limit(query.dice.randint(0, 9)).groupBy().count()
    query.types = {}


def _whole(query: Query, _again: Callable[[], Any]) -> None:
    names = list(query.types)
    ways: list[Callable[[], Any]] = [
        lambda: query.frame.na.fill("none"),
        query.frame.na.drop,
        lambda: query.frame.select("*", sf.lit(1).alias("one")),
        lambda: query.frame.select(query.frame.colRegex("`.*[d-z]`")),
        lambda: query.frame.select(sf.struct("*").alias("all")).select("all.*"),
        lambda: query.frame.toDF(*(f"c{i}" for i, _ in enumerate(query.frame.columns))),
        lambda: query.frame.unpivot(names[0], names[-1], "variable", "value"),
        lambda: query.frame.repartition(2, names[0]).hint("broadcast"),
        lambda: query.frame.select(sf.count("*"), sf.count(sf.struct("*"))),
        lambda: query.frame.groupBy().agg({"*": "count"}),
        lambda: query.frame.describe(*query.of(StringType)[:1]),
    ]
    query.frame = query.dice.choice(ways)()
    query.types = {}


def _view(query: Query, _again: Callable[[], Any]) -> None:
    query.frame.createOrReplaceTempView("step")
    if query.dice.random() < 0.5:
        query.frame = query.spark.table("step")
    else:
        names = query.some(list(query.types))
        query.frame = query.spark.sql(f"SELECT {', '.join(names)}, 1 AS one FROM step s")
        query.keep(names)


def _comparable(query: Query) -> list[str]:
    nested = query.of(MapType, StructType, ArrayType)
    return [name for name in query.types if name not in nested] or list(query.types)


def _guarded(step: Callable[[Query, Callable[[], Any]], None]) -> Any:
    """Let a step do nothing where the columns are not known any more."""

    def guarded(query: Query, again: Callable[[], Any]) -> None:
        if query.types:
            step(query, again)

    guarded.__name__ = step.__name__.strip("_")
    return guarded


_STEPS = [
    _guarded(step)
    for step in (
        _where, _where, _where, _select, _select, _select_texts, _late, _with_column, _rename,
        _drop, _group, _distinct, _join_by_name, _join_itself, _union, _window, _pivot, _lambda,
        _fields, _fields, _subquery, _limit, _count_of_limit, _whole, _view,
    )
]  # fmt: skip
