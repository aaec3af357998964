"""Random plans on the tables of ends: their modes, each of which has a referee of its own.

``plain`` and ``classic`` are sessions without and with `hudi_pyspark.register`, ``connect`` is a
client of Spark Connect with it. ``filter`` gives the option `filter` of `HudiTable.scan`, whose
referee is Spark with ``spark.sql.ansi.enabled``; ``duckdb`` and ``polars`` query lazy tables. All
referees read the Parquet copy.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import hudi_pyspark
from verification.common.answers import OF_A_VALUE, error_answer, without_ansi
from verification.random_plans.conditions import (
    converted,
    has_special_numbers,
    random_condition,
    to_column,
    to_polars,
    to_sql,
)
from verification.random_plans.extremes import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

ARCHIVE = Path(__file__).with_name("extremes.zip")
TABLES = ("cow", "mor")
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
_SPARED = (*OF_A_VALUE, "INVALID_ARRAY_INDEX")
BATCH = 20  # plans that are asked in one query
_COLUMNS = [name for name in SCHEMA.names if name != "m"]  # keys of a map have no order
_SPELLED = (
    "s STRING COLLATE UTF8_LCASE",
    "part STRING COLLATE UNICODE_CI",
)
_TEXTS = """
SELECT {a} FROM {t} WHERE {c}
SELECT * EXCEPT (m) FROM {t} WHERE {c}
SELECT {a} FROM {t} WHERE ({c}) AND ({d})
SELECT {a}, CASE WHEN {c} THEN 1 WHEN {d} THEN 2 END AS x FROM {t}
SELECT {a} FROM {t} WHERE CASE WHEN {c} THEN {d} ELSE {b} IS NULL END
SELECT {a} FROM {t} WHERE COALESCE({c}, {d})
SELECT {a}, COALESCE({b}, {b}) AS y FROM {t} WHERE {c}
WITH x AS (SELECT * FROM {t} WHERE {c}) SELECT {a} FROM x WHERE {d}
WITH x AS (SELECT {a}, {k} AS o FROM {t}), y AS (SELECT * FROM x) SELECT o FROM y, {u} WHERE o = {k}
SELECT {a} FROM {t} WHERE {c} UNION ALL SELECT {a} FROM {u} WHERE {d}
SELECT {k}, {b} FROM {t} WHERE {c} UNION SELECT {k}, {b} FROM {u}
SELECT {k}, y.{b} FROM (SELECT * FROM {t} WHERE {c}) JOIN (SELECT {k}, {b} FROM {t}) y USING ({k})
SELECT {a} FROM {t} x JOIN (SELECT {b} AS other FROM {u} WHERE {d}) ON {b} = other
SELECT x.{a} FROM {t} x LEFT ANTI JOIN (SELECT {b} FROM {u} WHERE {d}) y ON x.{b} = y.{b}
SELECT {a} FROM {t} WHERE {b} IN (SELECT {b} FROM {u} WHERE {c}) AND ({d})
SELECT {b}, count(*), min({k}) FROM {t} WHERE {c} GROUP BY {b}
SELECT {b}, count(*) FILTER (WHERE {c}) FROM {t} GROUP BY {b} HAVING count(*) > 1
SELECT {k}, {a} FROM (SELECT * FROM {t} ORDER BY {k} LIMIT 30) WHERE {c}
SELECT {k} FROM (SELECT {k}, explode_outer(arr) AS e, i FROM {t} WHERE {c}) WHERE e = i OR e > 0
SELECT st.x, st.s, {k} FROM {t} WHERE {c}
SELECT structs.n, {k} FROM {t} WHERE {c}
""".strip().splitlines()


class SparkSide:
    """A session in which the names of views stand for the tables, or for their copy."""

    def __init__(self, spark: SparkSession, folder: Path, *, is_copy: bool) -> None:
        self.spark = spark
        self._folder, self._is_copy = folder, is_copy

    def load(self, table: str) -> DataFrame:
        """Read a table."""
        source, path = self._place(table)
        return self.spark.read.format(source).load(path).select(*SCHEMA.names)

    def _place(self, table: str) -> tuple[str, str]:
        name = "rows.parquet" if self._is_copy else table
        return "parquet" if self._is_copy else "hudi-py", str(self._folder / name)

    def _make_spelled_view(self, table: str, field: str, view: str) -> None:
        """Make a view in which a column has another type of text."""
        source, path = self._place(table)
        types = dict(self.load(table).dtypes)
        given = {field.split(maxsplit=1)[0]: field}
        fields = ", ".join(given.get(name, f"{name} {types[name]}") for name in SCHEMA.names)
        self.spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {view} ({fields}) USING `{source}` "
            f"OPTIONS (path '{path}')"
        )

    def make_views(self) -> None:
        """Make the views, some of them over others."""
        for table in TABLES:
            self.load(table).createOrReplaceTempView(table)
            for number, field in enumerate(_SPELLED):
                self._make_spelled_view(table, field, f"{table}_{number}")
            self.spark.sql(f"SELECT * FROM {table} WHERE i > 0 OR s < 'b'").createOrReplaceTempView(
                f"{table}_some"
            )
            self.spark.sql(
                f"SELECT * EXCEPT (l), i + 0L AS l FROM {table}_some WHERE day IS NOT NULL"
            ).createOrReplaceTempView(f"{table}_fewer")

    def frame(self, seed: int) -> tuple[str, DataFrame]:
        """Make the plan of a seed: its text, and rows of its number and a digest of each row."""
        from pyspark.sql import functions as sf

        dice = random.Random(seed)
        views = [*(f"{name}" for name in TABLES * 3)]
        views += [f"{t}_{v}" for t in TABLES for v in (*range(len(_SPELLED)), "some", "fewer")]
        one, other = dice.choice(views), dice.choice(views)
        make = converted if is_converted(seed) else random_condition
        first, second = make(dice), random_condition(dice)
        if dice.random() < 0.5:
            flat = [n for n in _COLUMNS if n not in ("st", "arr", "structs")]
            template, shown, grouped = (dice.choice(each) for each in (_TEXTS, _COLUMNS, flat))
            if "GROUP BY" in template and one.endswith(("_0", "_1")) and grouped in ("s", "part"):
                grouped = "i"  # of texts that a collation takes for equal, Spark shows any
            text = template.format(
                t=one, u=other, k="k", a=shown, b=grouped, c=to_sql(first), d=to_sql(second)
            )
            frame = self.spark.sql(text)
        else:
            frame = self.load(one) if one in TABLES else self.spark.table(one)
            text = f"{one} where {to_sql(first)}"
            frame = frame.where(to_column(first) if dice.random() < 0.6 else to_sql(first))
            frame, step = self._more(frame, dice, second)
            text += step
        columns = [sf.col(f"`{name}`") for name in dict.fromkeys(frame.columns)]
        digest = sf.md5(sf.struct(*columns).cast("string"))
        return text, frame.select(sf.lit(seed).alias("seed"), digest.alias("row"))

    def _more(self, frame: DataFrame, dice: random.Random, condition: Any) -> tuple[DataFrame, str]:
        from pyspark.sql import functions as sf

        names = dice.sample(_COLUMNS, dice.randint(1, 4))
        frame = frame.drop("m")
        steps: list[Callable[[], DataFrame]] = [
            lambda: frame,
            lambda: frame.select(*names),
            lambda: frame.where(to_column(condition)).select("k", names[0]),
            lambda: frame.withColumn("x", sf.when(to_column(condition), sf.col("k"))).drop("s"),
            lambda: frame.select("k", sf.coalesce(sf.col(names[0]), sf.col(names[0])).alias("x")),
            lambda: frame.union(frame.where(to_column(condition))),
            lambda: (
                frame.alias("o").join(frame.select("k", "i").alias("p"), "k").select("o.day", "p.i")
            ),
            lambda: frame.groupBy(sf.col("i").isNull()).agg(sf.count("*"), sf.max("k")),
            lambda: frame.orderBy("k").limit(17).where(to_column(condition)),
        ]
        number = dice.randrange(len(steps))
        return steps[number](), f" step {number} of {names} with {to_sql(condition)}"

    def answer(self, seeds: list[int]) -> dict[int, Counter[str]]:
        """Ask plans in one query: how often each has a row."""
        frames = {seed: self.frame(seed)[1] for seed in seeds}
        return self.collect(frames)

    def frames(self, seeds: list[int]) -> dict[int, DataFrame]:
        """Make the plans that Spark accepts."""
        made = {}
        for seed in seeds:
            try:
                made[seed] = self.frame(seed)[1]
            except Exception:  # noqa: BLE001, PERF203  (it is asked alone)
                continue
        return made

    def collect(self, frames: dict[int, DataFrame]) -> dict[int, Counter[str]]:
        """Ask plans in one query; see `answer`."""
        found: dict[int, Counter[str]] = {seed: Counter() for seed in frames}
        if not frames:
            return found
        whole, *others = frames.values()
        for frame in others:
            whole = whole.union(frame)
        for seed, row in whole.collect():
            found[seed][row] += 1
        return found

    def answer_without_errors(self, seed: int) -> Any:
        """Ask one plan without ANSI mode, in which a value that does not fit is null."""
        with without_ansi(self.spark):
            return self.answer_or_error(seed)

    def answer_or_error(self, seed: int) -> Any:
        """Ask one plan; text of an error."""
        from pyspark.errors import PySparkException

        try:
            return self.answer([seed])[seed]
        except PySparkException as error:
            return error_answer(error)
        except (OverflowError, ValueError, TypeError) as error:  # of literals of Python
            return f"{type(error).__name__} {error}"


def is_converted(seed: int) -> bool:
    """Return whether a plan converts literals: it may be an error, and is asked alone."""
    return seed % 19 == 0


def compare_in_spark(
    narrowed: SparkSide, plain: SparkSide, seeds: range, log: Any
) -> Iterator[dict[str, Any]]:
    """Yield the plans that both sides answer differently."""
    for side in (narrowed, plain):
        # Plans are many and tables are small: compiling code for each would take most of the time.
        side.spark.conf.set("spark.sql.codegen.wholeStage", "false")
        side.spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        side.make_views()
    errors = 0
    for begin in range(seeds.start, seeds.stop, BATCH):
        # Settings go by the seed, so that a plan can be asked again alone.
        number = begin // BATCH
        for side in (narrowed, plain):
            side.spark.conf.set("spark.sql.session.timeZone", ZONES[number % len(ZONES)])
            side.spark.conf.set("spark.sql.ansi.enabled", str(number // 4 % 2 == 0).lower())
        batch = list(range(begin, min(begin + BATCH, seeds.stop)))
        frames = plain.frames([seed for seed in batch if not is_converted(seed)])
        together = list(frames)
        alone = [seed for seed in batch if seed not in frames]
        try:
            found, wanted = narrowed.answer(together), plain.collect(frames)
            different = [seed for seed in together if found[seed] != wanted[seed]]
        except Exception:  # noqa: BLE001  (of one of them; asked again, each alone)
            different = together
        for seed in alone + different:
            one, other = narrowed.answer_or_error(seed), plain.answer_or_error(seed)
            if isinstance(other, str) and other.endswith(_SPARED) and one != other:
                one, other = (side.answer_without_errors(seed) for side in (narrowed, plain))
            errors += isinstance(other, str)
            if one != other:
                shown = [
                    f"{sum(x.values())} rows" if isinstance(x, Counter) else x for x in (one, other)
                ]
                text = _text_of(narrowed, seed)
                yield {"seed": seed, "query": text, "found": shown[0], "wanted": shown[1]}
        print(f"{batch[-1]}: {errors} errors", file=log, flush=True)


def _text_of(side: SparkSide, seed: int) -> str:
    try:
        return side.frame(seed)[0]
    except Exception as error:  # noqa: BLE001  (of the query)
        return str(error)


def compare_filters(spark: SparkSession, folder: Path, seeds: range) -> Iterator[dict[str, Any]]:
    """Yield the filters for which `HudiTable.scan` finds other rows than Spark."""
    spark.read.parquet(str(folder / "rows.parquet")).createOrReplaceTempView("copy")
    tables = [hudi_pyspark.HudiTable(str(folder / name)) for name in TABLES]
    for begin in range(seeds.start, seeds.stop, BATCH):
        texts = {}
        for seed in range(begin, min(begin + BATCH, seeds.stop)):
            condition = random_condition(random.Random(seed), spark=False)
            if not has_special_numbers(condition):
                texts[seed] = to_sql(condition, "filter")
        if not texts:
            continue
        masks = ", ".join(f"({text}) IS TRUE" for text in texts.values())
        print(f"filter: up to seed {begin}", file=sys.stderr, flush=True)
        rows = spark.sql(f"SELECT k, array({masks}) FROM copy").collect()
        for number, (seed, text) in enumerate(texts.items()):
            wanted = sorted(key for key, mask in rows if mask[number])
            yield from _scanned(tables[seed % len(tables)], seed, text, wanted)


def _scanned(
    table: hudi_pyspark.HudiTable, seed: int, text: str, wanted: list[str]
) -> Iterator[dict[str, Any]]:
    try:
        found: Any = sorted(table.scan(["k"], filter=text).to_arrow()["k"].to_pylist())
    except Exception as error:  # noqa: BLE001  (any is a difference)
        found = f"{type(error).__name__} {error}"[:300]
    if found != wanted:
        yield {"seed": seed, "query": text, "found": found, "wanted": wanted}


def compare_engine(engine: str, folder: Path, seeds: range) -> Iterator[dict[str, Any]]:
    """Yield the queries of DuckDB or polars that find other rows than on the copy."""
    ask = _ask_duckdb if engine == "duckdb" else _ask_polars
    copy = pq.read_table(folder / "rows.parquet")
    tables = [hudi_pyspark.HudiTable(str(folder / name)) for name in TABLES]
    for seed in seeds:
        condition = random_condition(random.Random(seed), spark=False)
        table = tables[seed % len(tables)]
        text = to_sql(condition, "duckdb")
        if "\x00" in text and engine == "duckdb":
            continue
        answers: list[Any] = []
        for source in (table, copy):
            try:
                answers.append(ask(source, condition))
            except Exception as error:  # noqa: BLE001, PERF203  (of both sides, or a difference)
                answers.append(f"{type(error).__name__} {error}"[:300])
        if seed % 100 == 0:
            print(f"{engine}: up to seed {seed}", file=sys.stderr, flush=True)
        if answers[0] != answers[1]:
            yield {"seed": seed, "query": text, "found": answers[0], "wanted": answers[1]}


def _ask_duckdb(source: Any, condition: Any) -> list[str]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        is_table = isinstance(source, hudi_pyspark.HudiTable)
        connection.register("t", source.dataset() if is_table else source)
        return sorted(
            key
            for (key,) in connection.sql(
                f"SELECT k FROM t WHERE {to_sql(condition, 'duckdb')}"
            ).fetchall()
        )


def _ask_polars(source: Any, condition: Any) -> list[str]:
    import polars as pl

    is_table = isinstance(source, hudi_pyspark.HudiTable)
    frame: Any = hudi_pyspark.scan_polars(source) if is_table else pl.LazyFrame(source)
    return sorted(frame.filter(to_polars(condition)).select("k").collect()["k"].to_list())
