"""Random conditions for the option ``filter``, DuckDB and polars.

The referee of ``filter`` is Spark over the copy of the rows, with ``spark.sql.ansi.enabled``;
DuckDB and polars are asked over the table and over the copy.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import hudi_pyspark
from verification.random_plans.conditions import (
    PYTHON_NAMES,
    Condition,
    has_special_numbers,
    say,
)
from verification.random_plans.expressions import Expressions
from verification.random_plans.tables import Table, load

ENGINES = ("filter", "duckdb", "polars")
_BATCH = 20  # conditions that Spark answers in one query


def draw_condition(seed: int, family: str) -> tuple[Table, Condition]:
    """Draw the question of a seed: a table, and a condition that all engines say."""
    dice = random.Random(f"{family} {seed}")
    tables = load(family)
    table = dice.choice([table for table in tables.tables if _is_asked(table)])
    return table, Expressions(dice, tables).portable_condition(table.scope)


def _is_asked(table: Table) -> bool:
    return bool(table.place) and table.name != "variants"


def _key(table: Table) -> str:
    return table.scope.unique[0].name


def compare_filters(
    spark: SparkSession, family: str, folder: Path, seeds: range
) -> Iterator[dict[str, Any]]:
    """Yield the filters for which `HudiTable.scan` finds other rows than Spark."""
    for begin in range(seeds.start, seeds.stop, _BATCH):
        texts: dict[Table, dict[int, str]] = {}
        for seed in range(begin, min(begin + _BATCH, seeds.stop)):
            table, condition = draw_condition(seed, family)
            if not has_special_numbers(condition):
                texts.setdefault(table, {})[seed] = say(condition, "filter")
        print(f"filter: up to seed {begin}", file=sys.stderr, flush=True)
        for table, asked in texts.items():
            masks = ", ".join(f"({text}) IS TRUE" for text in asked.values())
            spark.read.parquet(str(folder / table.copy)).createOrReplaceTempView("copy")
            rows = spark.sql(f"SELECT {_key(table)}, array({masks}) FROM copy").collect()
            opened = hudi_pyspark.HudiTable(str(folder / table.place))
            for number, (seed, text) in enumerate(asked.items()):
                wanted = sorted(key for key, mask in rows if mask[number])
                found = _keys(_ask_hudi, opened, text, _key(table))
                if found != wanted:
                    yield {"seed": seed, "query": text, "found": found, "wanted": wanted}


def compare_engine(
    engine: str, family: str, folder: Path, seeds: range
) -> Iterator[dict[str, Any]]:
    """Yield the queries of DuckDB or polars that find other rows than on the copy."""
    ask = _ask_duckdb if engine == "duckdb" else _ask_polars
    for seed in seeds:
        table, condition = draw_condition(seed, family)
        text = say(condition, engine)
        if "\x00" in text and engine == "duckdb":
            continue
        opened = hudi_pyspark.HudiTable(str(folder / table.place))
        found = _keys(ask, opened, text, _key(table))
        wanted = _keys(ask, pq.read_table(folder / table.copy), text, _key(table))
        if seed % 100 == 0:
            print(f"{engine}: up to seed {seed}", file=sys.stderr, flush=True)
        if found != wanted:
            yield {"seed": seed, "query": text, "found": found, "wanted": wanted}


def _keys(ask: Callable[[Any, str, str], list[Any]], source: Any, text: str, key: str) -> Any:
    """Return the keys of the rows that an engine finds in a source, or its error."""
    try:
        return sorted(ask(source, text, key))
    except Exception as error:  # noqa: BLE001  (of both sides, or a difference)
        return f"{type(error).__name__} {error}"[:300]


def _ask_hudi(source: Any, text: str, key: str) -> list[Any]:
    found: list[Any] = source.scan([key], filter=text).to_arrow()[key].to_pylist()
    return found


def _ask_duckdb(source: Any, text: str, key: str) -> list[Any]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        is_table = isinstance(source, hudi_pyspark.HudiTable)
        connection.register("t", source.dataset() if is_table else source)
        rows = connection.sql(f"SELECT {key} FROM t WHERE {text}").fetchall()
        return [row[0] for row in rows]


def _ask_polars(source: Any, text: str, key: str) -> list[Any]:
    import polars as pl

    is_table = isinstance(source, hudi_pyspark.HudiTable)
    frame: Any = hudi_pyspark.scan_polars(source) if is_table else pl.LazyFrame(source)
    expression = eval(text, {"pl": pl, **PYTHON_NAMES})
    found: list[Any] = frame.filter(expression).select(key).collect()[key].to_list()
    return found
