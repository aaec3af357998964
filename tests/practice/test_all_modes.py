"""Tables of practice in every way to ask them: without Spark, classic, registered, over Connect.

The rows are those of Apache Hudi 1.2.0. Where it fails or loses values they are those that were
written: a column that was added without nulls, values of Avro log blocks in another case (D46),
a clustering that is first on the timeline (D45). Counts of ancient times are those of Spark on a
Parquet copy of the rows.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.spark.conftest import ruled
from tests.spark.deployment import client
from tests.spark.frames import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ruled"]  # a fixture

LONG = "z" * 5_000


@dataclass(frozen=True)
class Practice:
    """A table, one of its columns, and what must be answered."""

    zipped: Path
    column: str
    rows: Sequence[tuple[str, object]]  # ids and values of the column; () if they are not known
    conditions: Mapping[str, int]  # to the number of their rows


def practice(name: str) -> Path:
    return Path(__file__).parent / f"{name}.zip"


PRACTICE = {
    "column_case": Practice(
        practice("column_case/case_mor"),
        "state",
        [("k0", "upd"), ("k1", "st1"), ("k2", "st2"), ("k3", "st3"), ("k4", "upd"),
         ("k5", "st5"), ("k6", "st6"), ("k7", "st7"), ("k9", "new")],
        {"state <= 'st2'": 3, "STATE = 'st1'": 1, "state > 'st2'": 6, "state IS NULL": 0},
    ),
    "column_case_of_logs": Practice(
        practice("column_case/case_log_avro"),
        "state",
        [("k0", "log0"), ("k1", "log2"), ("k2", "st2"), ("k3", "st3"), ("k5", "st5")],
        {"state = 'log0'": 1, "state LIKE 'log%'": 2, "state IS NULL": 0},
    ),
    "retyped_column": Practice(
        practice("retyped_column/retype_back"),
        "x",
        [("k0", None), ("k1", 77), ("k2", 2), ("k3", 3), ("k4", 4), ("k5", 5)],
        {"x = 3": 1, "x > 3": 3, "x IS NULL": 1, "x IN (2, 77)": 2, "NOT (x < 5)": 2},
    ),
    "not_null_column": Practice(
        GOLDEN.with_name("golden_extra") / "x_v9_mor_evo_not_null_added" / "table.zip",
        "tip",
        [("0", None), ("1", 1.5), ("2", 1.5), ("3", None), ("4", None), ("5", None), ("9", 1.5)],
        {"tip IS NULL": 4, "tip IS NOT NULL": 3, "tip = 1.5": 3, "tip < 1.0": 0},
    ),
    "long_strings": Practice(
        practice("long_strings/stats_long"),
        "note",
        [("k0", "short"), ("k1", LONG), ("k2", None), ("k3", LONG + "a"), ("k4", "tail"),
         ("k5", LONG)],
        {"note = 'short'": 1, "note IS NOT NULL": 5, "note LIKE 's%'": 1, "note > 'a'": 5},
    ),
    "view_types": Practice(
        practice("view_types/v_view"),
        "v",
        [("a", "c2"), ("k0", "c2"), ("k1", "c3"), ("k2", "c4"), ("k4", "c1"), ("k5", "c1")],
        {"v = 'c2'": 2, "v >= 'c3'": 2, "v IS NULL": 0, "id = 'k2'": 1},
    ),
    "mor_to_cow": Practice(
        practice("mor_to_cow/mor_to_cow"),
        "v",
        [("k0", "c1"), ("k0", "c3"), ("k1", "c1"), ("k2", "c1"), ("k2", "c3"), ("k3", "c1"),
         ("k5", "c1"), ("z", "c3")],
        {"v = 'c2'": 0, "v = 'c3'": 3, "id = 'z'": 1},
    ),
    "pending_clustering": Practice(
        practice("pending_clustering/pending_first"),
        "v",
        [*((f"k{n}", "c1") for n in range(6)), ("n0", "c3"), ("n1", "c3")],
        {"v = 'c1'": 6, "id = 'k3'": 1, "v > 'c1'": 2},
    ),
    "ancient_conditions": Practice(
        practice("ancient_conditions/cop_corrected_times"),
        "ts",
        (),
        {"t >= TIMESTAMP '1500-03-01 00:00:00Z'": 45, "d = DATE '1582-10-10'": 3,
         "t = TIMESTAMP '1500-02-28 12:34:56.123456Z'": 1, "d <> DATE '1582-10-10'": 54},
    ),
}  # fmt: skip
NAMES = pytest.mark.parametrize("name", PRACTICE)
CLIENT = """
import json, sys
from pyspark.sql import SparkSession

port, is_registered, asked = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
if is_registered == "True":
    import hudi_pyspark
    hudi_pyspark.register(spark)
answers = {}
for name, (path, column, conditions) in json.loads(asked).items():
    frame = spark.read.format("hudi-py").load(path)
    rows = frame.selectExpr("CAST(id AS string) id", column).collect()
    answers[name] = [
        [tuple(row) for row in rows],
        [row[0] for row in frame.select(column).collect()],
        frame.count(),
        {c: [frame.where(c).count(), len(frame.where(c).select("id").collect())]
         for c in conditions},
    ]
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture
def path_of(tmp_path):
    """Unpack a table by its name here."""

    def unpack(name):
        with zipfile.ZipFile(PRACTICE[name].zipped) as file:
            file.extractall(tmp_path / name)
        return next((tmp_path / name).iterdir())

    return unpack


def check(expected, rows, column, count, found):
    """Compare rows, one column alone, the count, and count and rows of each condition."""
    if expected.rows:
        assert sorted(rows, key=str) == [*expected.rows]
        assert sorted(map(str, column)) == sorted(str(value) for _, value in expected.rows)
        assert count == len(expected.rows)
    assert found == {c: [number, number] for c, number in expected.conditions.items()}


@NAMES
@pytest.mark.parametrize("options", [{}, {"use_metadata_table": False}, {"data_skipping": False}])
def test_tables_without_spark(path_of, name, options):
    expected, table = PRACTICE[name], HudiTable(path_of(name))
    rows = table.scan(["id", expected.column], **options).to_arrow().to_pylist()
    check(
        expected,
        [(str(row["id"]), row[expected.column]) for row in rows],
        table.scan([expected.column], **options).to_arrow()[expected.column].to_pylist(),
        table.scan(**options).count(),
        {
            c: [
                table.scan(filter=c, **options).count(),
                table.scan(["id"], filter=c, **options).to_arrow().num_rows,
            ]
            for c in expected.conditions
        },
    )


@pytest.mark.spark
@NAMES
@pytest.mark.parametrize("is_registered", [False, True], ids=["plain", "registered"])
def test_tables_in_classic_sessions(spark, request, path_of, name, is_registered):
    session = request.getfixturevalue("ruled") if is_registered else spark
    expected, frame = PRACTICE[name], load(session, path_of(name))
    rows = frame.selectExpr("CAST(id AS string) id", expected.column).collect()
    check(
        expected,
        [tuple(row) for row in rows],
        [row[0] for row in frame.select(expected.column).collect()],
        frame.count(),
        {
            c: [frame.where(c).count(), len(frame.where(c).select("id").collect())]
            for c in expected.conditions
        },
    )


@pytest.mark.spark
@pytest.mark.parametrize("is_registered", [False, True], ids=["plain", "registered"])
def test_tables_over_connect(connect_port, path_of, is_registered):
    asked = {n: (str(path_of(n)), p.column, list(p.conditions)) for n, p in PRACTICE.items()}
    answers = client(CLIENT, connect_port, str(is_registered), json.dumps(asked))
    for name, expected in PRACTICE.items():
        rows, *others = answers[name]
        check(expected, [tuple(row) for row in rows], *others)
