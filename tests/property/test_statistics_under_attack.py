"""Statistics that are absent, cut or that count values as nulls: no filter loses a row by them.

The referee evaluates each condition on plain rows, in the three-valued logic of SQL.
"""

import io
import math
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_pyspark import HudiTable
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.options.option import Index
from tests.planning.indexed import answer_of_hudi
from tests.table.tiny_table import TinyTable

pytestmark = pytest.mark.property

SCHEMA = pa.schema(
    {
        "_hoodie_commit_time": pa.string(),
        "_hoodie_record_key": pa.string(),
        "id": pa.string(),
        "text": pa.string(),
        "n": pa.int64(),
        "x": pa.float64(),
        "d": pa.date32(),
        "m": pa.decimal128(12, 2),
        "w": pa.decimal128(38, 18),
        "b": pa.bool_(),
        "s": pa.struct({"a": pa.string(), "k": pa.int32()}),
    }
)
# Parquet writes no statistics where minimum and maximum take more than 4,096 bytes.
TEXTS = ["", "a", "b" * 70, "b" * 70 + "c", "z" * 5_000, "é", "\ue000", "\U0001f600", "short"]
NUMBERS = [-(2**63), -1, 0, 7, 2**63 - 1]
FLOATS = [math.nan, -math.inf, -0.0, 0.0, 1.5, math.inf]
DAYS = [date(1, 1, 1), date(1582, 10, 4), date(1970, 1, 1), date(9999, 12, 31)]
WIDE = [
    Decimal(f"{sign}{digits}")
    for sign in ("", "-")
    for digits in (
        "12345678901234567890.123456789012345678",
        "12345678901234567890.123456789012345679",
        "99999999999999999999.999999999999999999",
        "1234567890.1234567890123456789"[:29],
    )
]
DECIMALS = [Decimal("-9999999999.99"), Decimal("0.00"), Decimal("0.01"), Decimal("7.50")]
VALUES = {
    "text": TEXTS,
    "n": NUMBERS,
    "x": FLOATS,
    "d": DAYS,
    "m": DECIMALS,
    "w": WIDE,
    "b": [True, False],
    "s.a": TEXTS,
    "s.k": [-1, 0, 2**31 - 1],
}


def row_of(random, number):
    def draw(name):
        return None if random.random() < 0.3 else random.choice(VALUES[name])

    key = f"{number}-" + random.choice(["k", "l" * 4_200])
    nested = None if random.random() < 0.2 else {"a": draw("s.a"), "k": draw("s.k")}
    plain = {name: draw(name) for name in ("text", "n", "x", "d", "m", "w", "b")}
    return {
        "_hoodie_commit_time": "010",
        "_hoodie_record_key": key,
        "id": key,
        **plain,
        "s": nested,
    }


def parquet(random, rows):
    """A file whose statistics are absent, there for some columns, or cut by their length."""
    body = io.BytesIO()
    leaves = ["_hoodie_record_key", "id", "text", "n", "x", "d", "m", "w", "b", "s.a", "s.k"]
    pq.write_table(
        pa.Table.from_pylist(rows, SCHEMA),
        body,
        row_group_size=random.randint(1, 5),
        data_page_size=random.choice([1, 1_000_000]),
        write_page_index=random.random() < 0.5,
        write_statistics=random.choice(
            [True, False, random.sample(leaves, random.randint(1, len(leaves)))]
        ),
    )
    return body.getvalue()


def table_in(folder, random):
    """A table of some files, and its rows."""
    table = TinyTable(9, "COPY_ON_WRITE", table__recordkey__fields="id")
    rows = []
    paths = []
    for number in range(random.randint(1, 4)):
        some = [row_of(random, f"{number}{n}") for n in range(random.randint(1, 9))]
        path = f"f{number}_0-1-0_010.parquet"
        table.data(path, content=parquet(random, some))
        paths.append(path)
        rows += some
    table.write("010", "commit", *paths)
    for path, content in table.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return HudiTable(folder), rows


def condition_of(random, values, depth=2):
    """A condition as text, and its value of a row: True, False or None."""
    if depth and random.random() < 0.6:
        left, of_left = condition_of(random, values, depth - 1)
        right, of_right = condition_of(random, values, depth - 1)
        kind = random.choice(["AND", "OR", "NOT"])
        if kind == "NOT":
            return f"NOT ({left})", lambda row: negated(of_left(row))
        word = kind
        decisive = kind == "OR"
        return f"({left}) {word} ({right})", lambda row: joined(
            of_left(row), of_right(row), decisive
        )
    name = random.choice([*values])
    kind = random.choice(["=", "<", "<=", ">", ">=", "<>", "IN", "IS NULL", "IS NOT NULL"])
    if kind.startswith("IS"):
        return f"{name} {kind}", lambda row: (field(row, name) is None) == (kind == "IS NULL")
    known = [v for v in values[name] if v is not None and v == v]  # noqa: PLR0124  (NaN)
    if kind == "IN":
        some = random.sample(known, random.randint(1, min(3, len(known))))
        keys = {key_of(value) for value in some}
        texts = ", ".join(map(literal, some))
        return f"{name} IN ({texts})", lambda row: compared(field(row, name), lambda k: k in keys)
    key = key_of(random.choice(known))
    value = next(v for v in known if key_of(v) == key)
    return f"{name} {kind} {literal(value)}", lambda row: compared(
        field(row, name), lambda found: SIGNS[kind](found, key)
    )


SIGNS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def negated(value):
    return None if value is None else not value


def joined(left, right, decisive):
    if decisive in (left, right):
        return decisive
    return None if None in (left, right) else not decisive


def compared(value, test):
    return None if value is None else test(key_of(value))


def key_of(value):
    """A value as Spark orders it: text by its bytes, NaN after all numbers."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return value


def field(row, name):
    for part in name.split("."):
        row = None if row is None else row[part]
    return row


def literal(value):
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value) if isinstance(value, float) else str(value)  # of a decimal without "E"


def check(table, rows, values, random, count):
    for _ in range(count):
        text, holds = condition_of(random, values)
        expected = sorted(row["id"] for row in rows if holds(row))
        scan = table.scan(["id"], filter=text)
        assert sorted(scan.to_arrow()["id"].to_pylist()) == expected, text[:500]
        assert scan.count() == len(expected), text[:500]


@given(seed=st.integers(0, 2**32))
def test_parquet_statistics_lose_no_rows(seed):
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        table, rows = table_in(Path(folder), random)
        check(table, rows, {**VALUES, "id": [row["id"] for row in rows]}, random, 3)
        for row in random.sample(rows, min(2, len(rows))):
            assert table.lookup(row["id"], ["id"])["id"].to_pylist() == [row["id"]]
        assert table.lookup("nobody").num_rows == 0


STATISTICS = "ColumnStatsMetadata"
# What an attack takes from the statistics of a column in a file.
LOST = {
    "none": (),
    "no bounds": ("minValue", "maxValue"),
    "no minimum": ("minValue",),
    "no maximum": ("maxValue",),
    "no counts": ("nullCount", "valueCount"),
}


class AttackedEntries:
    """Column statistics of which some are lost, cut, or count all values as nulls."""

    def __init__(self, entries, random):
        records = statistics_of(entries.hfile.values_data, entries)
        kept = [n for n in range(records.num_rows) if random.random() < 0.9]
        records = records.take(pa.array(kept, pa.int64()))
        column = records.column(STATISTICS).combine_chunks()
        kinds = [random.choice([*LOST]) for _ in kept]
        index = records.schema.get_field_index(STATISTICS)
        self.table = records.set_column(index, STATISTICS, self.attack(column, kinds))
        self.keys = entries.keys.take(pa.array(kept, pa.int64()))
        self.hfile = entries.hfile

    @staticmethod
    def attack(column, kinds):
        fields = {f.name: child for f, child in zip(column.type, column.flatten(), strict=True)}
        only_nulls = pa.array([kind == "no bounds" for kind in kinds], pa.bool_())
        fields["nullCount"] = pc.if_else(only_nulls, fields["valueCount"], fields["nullCount"])
        for name in ("minValue", "maxValue", "nullCount", "valueCount"):
            is_lost = pa.array([name in LOST[kind] for kind in kinds], pa.bool_())
            fields[name] = pc.if_else(is_lost, pa.scalar(None, fields[name].type), fields[name])
        return pa.StructArray.from_arrays(
            [*fields.values()], fields=[*column.type], mask=column.is_null()
        )

    def decode(self, columns):
        return self.table.select(["key", "type", *columns])


DECODED: dict[bytes, pa.Table] = {}


def statistics_of(octets, entries):
    """The decoded statistics of some files and columns; many tables are attacked in the same."""
    if octets not in DECODED:
        DECODED[octets] = entries.decode([STATISTICS])
    return DECODED[octets]


CASES = ["x_v9_cow_ix_stats_base", "x_v9_mor_ix_stats"]


# Half of the tables, each with twice the conditions: to open a table takes longer than to ask it.
@settings(max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 2**32), case=st.sampled_from(CASES))
def test_column_statistics_of_the_metadata_table_lose_no_rows(golden_table, seed, case):
    random = Random(seed)
    find = MetadataTable.find
    _, rows = answer_of_hudi(case)
    names = ["id", "city", "n", "x", "d", "m", "ts"]
    values = {name: [row[name] for row in rows if row[name] is not None] for name in names}

    def attacked(self, partition, keys):
        for layers in find(self, partition, keys):
            if partition != Index.COLUMN_STATS.value:
                yield layers
            else:
                yield [AttackedEntries(e, random) if e.hfile else e for e in layers]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MetadataTable, "find", attacked)
        table = HudiTable(golden_table(case))
        check(table, rows, values, random, 6)
        for row in random.sample(rows, 2):
            assert table.lookup(row["id"], ["id"])["id"].to_pylist() == [row["id"]]
