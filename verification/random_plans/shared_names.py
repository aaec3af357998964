"""Small tables whose columns share names, with equal types and with others.

Apache Hudi wrote the tables of `shared_names.zip`, and the Parquet files beside them have the rows
that it read from them: see `verification/generate/random_plans.py`. Texts of numbers and of days
convert to the types that other tables have for the column, so that queries which compare them have
rows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).with_name("shared_names.zip")
KEY, ORDERING = "id", "ts"
HUDI_TABLES = ("one", "two", "three", "four")
PARQUET_TABLES = ("plain",)
TABLES = (*HUDI_TABLES, *PARQUET_TABLES)
PARTITIONED = ("one", "four")
_COUNTS = {"one": 40, "two": 36, "three": 30, "four": 28, "plain": 24}
# Not in the same order in all tables, since a position is no better than a name.
_COLUMNS = {
    "one": """
        id string; n int; qty bigint; amount decimal(10,2); f float; at timestamp; day date;
        name string; st struct<x:int,s:string>; arr array<int>; flag boolean; ts bigint; part
        string
    """,
    "two": """
        day timestamp; part string; n bigint; f double; id int; st struct<s:int,x:string>; name
        string; arr array<string>; ts bigint; at date; flag int; qty decimal(12,2); amount
        decimal(20,4)
    """,
    "three": """
        id string; name string; part int; st struct<x:bigint,y:date>; ts int; n string; qty int;
        amount string; arr array<struct<x:int,s:string>>; f double; at timestamp; day string;
        flag boolean
    """,
    "four": """
        ts bigint; f float; n int; qty bigint; id bigint; amount decimal(10,2); day date; at
        timestamp; name string; st struct<x:int,s:string>; arr array<int>; flag boolean; part
        string
    """,
    "plain": """
        id string; n bigint; qty string; amount decimal(10,2); f float; at date; day timestamp;
        name string; st struct<x:string,s:string>; arr array<int>; flag boolean; ts bigint; part
        string
    """,
}


def _types(columns: str) -> dict[str, str]:
    pairs = [" ".join(each.split()).partition(" ") for each in columns.split(";")]
    return {name: kind for name, _, kind in pairs}


TYPES: Mapping[str, Mapping[str, str]] = {
    table: _types(columns) for table, columns in _COLUMNS.items()
}


def schema_text(table: str) -> str:
    """Return the columns of a table as Spark's DDL."""
    return ", ".join(f"{name} {kind}" for name, kind in TYPES[table].items())


def rows(table: str, version: int = 0) -> list[dict[str, Any]]:
    """Return the rows of a table; those of another version have other values for the same keys."""
    dice = random.Random(f"{table} {version}")
    keys = sorted(random.Random(table).sample(range(60), _COUNTS[table]))
    return [_row(dice, table, key, place, version) for place, key in enumerate(keys)]


def _row(dice: random.Random, table: str, key: int, place: int, version: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, kind in TYPES[table].items():
        if name == KEY:
            row[name] = str(key) if kind == "string" else key
        elif name == ORDERING:
            row[name] = 1_000 * version + place
        elif name == "part":
            row[name] = place % 3 if kind == "int" else "abc"[place % 3]
        else:
            row[name] = None if dice.random() < 0.1 else _value(dice, name, kind)
    return row


def _value(dice: random.Random, name: str, kind: str) -> Any:  # noqa: PLR0911  (by type)
    if name == "name":
        return dice.choice(["ab", "AB", "b", "é", "k%", "", "aB ", "zz"])
    if kind.startswith("struct"):
        fields = [field.split(":") for field in kind[7:-1].split(",")]
        return {n: None if dice.random() < 0.1 else _value(dice, n, k) for n, k in fields}
    if kind.startswith("array"):
        item = kind[6:-1]
        return [_value(dice, "item", item) for _ in range(dice.randint(0, 3))]
    number = dice.randint(0, 12)
    day = date(2024, 2, 20) + timedelta(days=number)
    if name == "day" and kind == "string":
        return str(day)
    if kind.startswith("decimal"):
        scale = int(kind[:-1].partition(",")[2])
        return Decimal(number * 5).scaleb(-1).quantize(Decimal(1).scaleb(-scale))
    if kind in ("float", "double"):
        return dice.choice([math.nan, math.inf, 0.5, 1.0, 2.0, 2.5, 7.0, float(number)])
    return {
        "string": str(number),
        "int": number % 2 if name == "flag" else number,
        "bigint": number,
        "boolean": number % 2 == 0,
        "date": day,
        "timestamp": datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
        + timedelta(hours=dice.choice([0, 0, 12]), microseconds=dice.choice([0, 0, 1])),
    }[kind]
