"""Tables of practice in every way to ask them: without Spark, classic, registered, over Connect.

The rows are those of Apache Hudi 1.2.0. Where it fails or loses values they are those that were
written: a column that was added without nulls, values of Avro log blocks in another case (D46),
a clustering that is first on the timeline (D45), what it shows stale or refuses beyond savepoints
(D43, D44), file ids that are used again (D65), an ordering field in another case. Counts of ancient
times are those of Spark on a Parquet copy of the rows. ``two_runs`` is a table of Trino's tests
whose metadata table is of the second of two runs into one folder.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hudi_pyspark import HudiTable, UnsupportedTableError
from tests.conftest import GOLDEN
from tests.damage import set_property
from tests.golden.case import load_case
from tests.spark.conftest import ruled
from tests.spark.deployment import client

__all__ = ["ruled"]  # a fixture

LONG = "z" * 5_000
LONG_DECIMAL = "12345678901234567890.123456789012345678"


@dataclass(frozen=True)
class Practice:
    """A table, one of its columns, and what must be answered."""

    zipped: Path
    column: str
    rows: Sequence[tuple[str, object]]  # ids and values of the column; () if they are not known
    conditions: Mapping[str, int]  # to the number of their rows
    count: int | None = None  # of rows that are not known
    options: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)  # set in the table first


def practice(name: str) -> Path:
    return Path(__file__).parent / name / "table.zip"


def golden(name: str) -> Path:
    return GOLDEN.with_name("golden_extra") / name / "table.zip"


def beyond_savepoint(query: str, conditions: Mapping[str, int]) -> Practice:
    """A query whose rows are those of the same data without cleaning and archiving."""
    twin = load_case(golden("x_v9_mor_sl_savepoints").parent)
    case = load_case(golden("x_v9_mor_sl_beyond_savepoint").parent)
    known = next(each for each in twin.queries if each.name == query).expected_rows()
    rows = sorted((row["id"], row["v"]) for row in known.select(["id", "v"]).to_pylist())
    options = next(each for each in case.queries if each.name == query).options
    zipped = golden("x_v9_mor_sl_beyond_savepoint")
    return Practice(zipped, "v", rows, conditions, options=options)


def values(name: str, column: str) -> list[tuple[str, object]]:
    """Ids and values of the snapshot of a table here, as Apache Hudi reads them."""
    rows = load_case(practice(name).parent).query("snapshot").expected_rows()
    return sorted((row["id"], row[column]) for row in rows.to_pylist())


FIRST_RUN, SECOND_RUN = "20250602133615602", "20250605131636329"
AS_OF, BEGIN, END = (
    "as.of.instant",
    "hoodie.datasource.read.begin.instanttime",
    "hoodie.datasource.read.end.instanttime",
)
RANGE = {"hoodie.datasource.query.type": "incremental"}
MARKER = "hoodie.payload.delete."
SIX = practice("downgraded/downgrade_six")

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
        golden("x_v9_mor_evo_not_null_added"),
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
    "downgraded_time_travel": Practice(
        SIX, "v", (), {}, 12, {AS_OF: "20261125083412686"}
    ),
    "downgraded_range": Practice(
        SIX, "v", (), {}, 9, {**RANGE, BEGIN: "20261125083402664", END: "20261125083409200"}
    ),
    "downgraded_archive": Practice(SIX, "v", (), {}, 12, {**RANGE, BEGIN: "000"}),
    "earlier_query": Practice(
        practice("earlier_query/two_runs"), "ts", (), {"country = 'US'": 2}, 4
    ),
    "earlier_query_first_run": Practice(
        practice("earlier_query/two_runs"), "ts", (), {"country = 'SG'": 1}, 1, {AS_OF: FIRST_RUN}
    ),
    "earlier_query_last_commit": Practice(
        practice("earlier_query/two_runs"), "ts", (), {"country = 'US'": 2}, 4, {AS_OF: SECOND_RUN}
    ),
    "beyond_savepoint": beyond_savepoint("snapshot", {"v > 'c14'": 2, "id = 'k1'": 1}),
    "beyond_savepoint_first": beyond_savepoint("as_of_savepoint1", {"v = 'c3'": 2}),
    "beyond_savepoint_second": beyond_savepoint("as_of_savepoint2", {"v = 'c4'": 2}),
    "recreated_index": Practice(
        golden("x_v9_mor_ix_recreated"),
        "v",
        [("k0", "c6"), ("k1", "c2"), ("k2", "c3"), ("k3", "c4"), ("k4", "c5"), ("k5", "c1"),
         ("k6", "c1"), ("k7", "c1"), ("k8", "c3"), ("k9", "c5")],
        {"id = 'k3'": 1, "id IN ('k0', 'k8', 'x')": 2, "_hoodie_record_key = 'k9'": 1},
    ),
    "delete_marker_on_a_double": Practice(
        practice("delete_markers/avro_v9"),
        "v",
        [(key, "u") for key in "bcdef"],
        {"id = 'a'": 0, "id IN ('a', 'b')": 1, "d = 1.0": 0, "s IS NOT NULL": 5},
        options={MARKER + "field": "d", MARKER + "marker": "1.0"},
    ),
    "flagged_base_rows": Practice(
        practice("flagged_base_rows/PartialUpdateAvroPayload_v6"),
        "v",
        values("flagged_base_rows/PartialUpdateAvroPayload_v6", "v"),
        {"id = 't0'": 0, "id IN ('t0', 't2')": 1, "_hoodie_is_deleted IS NULL": 12},
    ),
    "before_the_operation": Practice(
        practice("payload_columns/dms_v6"),
        "v",
        [(key, "1") for key in "abcf"],
        {"v = '1'": 4, "id = 'f'": 1},
        options={AS_OF: "20261127183253932"},
    ),
    "operation_of_bytes": Practice(
        practice("payload_columns/binary_v8"), "v", [(key, "2") for key in "abc"], {"id = 'a'": 1}
    ),
    "reused_file_ids": Practice(
        practice("reused_file_ids/nbdrop_nomdt"),
        "v",
        [("k0", 3), ("k1", 3), ("k3", 1), ("k5", 1), ("k7", 1), ("n1", 3), ("n2", 4)],
        {"v = 3": 3, "p = 'x'": 3, "id = 'k2'": 0},
    ),
    "doctor_ordering_field": Practice(
        golden("x_v9_mor_evo_nullable_added"),
        "v",
        [("0", "log"), ("1", "tip"), ("2", "tip"), ("3", "v3"), ("4", "v4"), ("5", "v5"),
         ("9", "tip")],
        {"v = 'tip'": 3, "v < 'tip'": 1},
        properties={"hoodie.table.ordering.fields": "TS"},
    ),
    "late_delete_index": Practice(
        practice("late_delete_index/rli_late_v6"),
        "v",
        [("k1", 1), ("k2", 2), ("k3", 103), ("k5", 105), ("k6", 6), ("k8", 108)],
        {"id = 'k1'": 1, "id IN ('k5', 'k2', 'x')": 2, "_hoodie_record_key = 'k5'": 1},
    ),
    "decimal_bounds": Practice(
        practice("decimal_bounds/dec_min_c"),
        "d",
        [("k1", Decimal(LONG_DECIMAL)), ("k2", Decimal(f"-{LONG_DECIMAL}"))],
        {f"d = {LONG_DECIMAL}": 1, f"d = -{LONG_DECIMAL}": 1, f"d IN ({LONG_DECIMAL}, 0.5)": 1,
         f"d <= {LONG_DECIMAL}": 2, f"d >= -{LONG_DECIMAL}": 2, f"d < {LONG_DECIMAL}": 1,
         "e = 123456789012345678901234567890.12": 1, "g = -99999999999999999999999999999": 1,
         "h <= -99999999999999999999999.99999": 1},
    ),
    "cut_properties": Practice(
        practice("cut_properties/h_cut16_backup"),
        "v",
        [("k0", 0), ("k2", 2), ("k3", 103)],
        {"id = 'k1'": 0, "v = 2": 1, "v > 2": 1},
    ),
    "dropped_partition_index": Practice(
        practice("late_delete_index/dupdef_mor_v9"),
        "v",
        [("k0", 200), ("k2", 102), ("k3", 103), ("k4", 104), ("k5", 105), ("k6", 106),
         ("k7", 107), ("k9", 209)],
        {"id = 'k5'": 1, "id IN ('k3', 'k9')": 2, "_hoodie_record_key = 'k2'": 1},
    ),
}  # fmt: skip
NAMES = pytest.mark.parametrize("name", PRACTICE)
# Table, options, and what the error of every mode says.
REFUSED: dict[str, tuple[Path, dict[str, Any], str]] = {
    "foreign_names": (practice("foreign_names/poly_clicks"), {}, "wrote part-00000-"),
    "foreign_names_read_optimized": (
        practice("foreign_names/poly_clicks"),
        {"hoodie.datasource.query.type": "read_optimized"},
        "wrote part-00000-",
    ),
}
SCRIPT = '''
from functools import reduce
from pyspark.sql import functions as F


def answered(spark, tables, refused):
    """Ask all tables together: rows, one column alone, counts, and rows of each condition.

    Each table is the scan of its own plans; one action has those of all tables.
    """
    def load(name, path, options):
        return spark.read.format("hudi-py").options(**options).load(path)

    def asked(parts):
        whole = reduce(lambda a, b: a.unionAll(b), parts)
        return [tuple(row) for row in whole.collect()]

    frames = {n: load(n, path, options) for n, (path, options, _, _) in tables.items()}
    columns = {n: column for n, (_, _, column, _) in tables.items()}
    conditions = [(n, c) for n, (_, _, _, of_table) in tables.items() for c in of_table]
    found = {
        "rows": asked(
            frame.select(F.lit(n), F.col("id").cast("string"), F.col(columns[n]).cast("string"))
            for n, frame in frames.items()
        ),
        "column": asked(
            frame.select(F.lit(n), F.col(columns[n]).cast("string")) for n, frame in frames.items()
        ),
        "count": asked(frame.select(F.lit(n), F.count("*")) for n, frame in frames.items()),
        "counts": asked(
            frames[n].where(c).select(F.lit(f"{n}: {c}"), F.count("*")) for n, c in conditions
        ),
        "ids": asked(
            frames[n].where(c).select(F.lit(f"{n}: {c}"), F.col("id").cast("string"))
            for n, c in conditions
        ),
    }
    errors = {}
    for n, (path, options) in refused.items():
        try:
            errors[n] = load(n, path, options).count()
        except Exception as error:
            errors[n] = str(error)
    return found, errors
'''
CLIENT = f"""
import json, sys
from pyspark.sql import SparkSession
{SCRIPT}
port, is_registered, tables, refused = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{{port}}").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
if is_registered == "True":
    import hudi_pyspark
    hudi_pyspark.register(spark)
found, errors = answered(spark, json.loads(tables), json.loads(refused))
print("ANSWERS", json.dumps({{"found": found, "errors": errors}}))
spark.stop()
"""


@pytest.fixture
def path_of(tmp_path):
    """Unpack a table by its name here."""

    def unpack(name):
        zipped = PRACTICE[name].zipped if name in PRACTICE else REFUSED[name][0]
        with zipfile.ZipFile(zipped) as file:
            file.extractall(tmp_path / name)
        path = next((tmp_path / name).iterdir())
        for key, value in PRACTICE[name].properties.items() if name in PRACTICE else ():
            set_property(path, key, value)
        return path

    return unpack


def check(expected, rows, column, count, found):
    """Compare rows, one column alone, the count, and count and rows of each condition."""
    if expected.rows:
        assert sorted(rows, key=str) == [*expected.rows]
        assert sorted(map(str, column)) == sorted(str(value) for _, value in expected.rows)
        assert count == len(expected.rows)
    elif expected.count is not None:
        assert count == len(rows) == len(column) == expected.count
    assert found == {c: [number, number] for c, number in expected.conditions.items()}


@NAMES
@pytest.mark.filterwarnings("ignore:.*is archived")
@pytest.mark.parametrize(
    "more", [{}, {"use_metadata_table": "false"}, {"data_skipping": "false"}], ids=str
)
def test_tables_without_spark(path_of, name, more):
    if name.startswith("earlier_query") and "use_metadata_table" in more:
        pytest.skip("the folders have the rows of both runs")
    expected = PRACTICE[name]
    table = HudiTable(path_of(name))
    options = {**expected.options, **more}
    scan = table.scan(**options)
    rows = scan.select(["id", expected.column]).to_arrow().to_pylist()
    check(
        expected,
        [(str(row["id"]), row[expected.column]) for row in rows],
        scan.select([expected.column]).to_arrow()[expected.column].to_pylist(),
        scan.count(),
        {
            c: [
                table.scan(**options, filter=c).count(),
                table.scan(**options, filter=c).select(["id"]).to_arrow().num_rows,
            ]
            for c in expected.conditions
        },
    )


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_refused_without_spark(path_of, name):
    _, options, says = REFUSED[name]
    with pytest.raises(UnsupportedTableError, match=says):
        HudiTable(path_of(name)).scan(**options).count()


def test_answers_do_not_depend_on_earlier_queries(path_of):
    table = HudiTable(path_of("earlier_query"))
    asked = [None, SECOND_RUN, FIRST_RUN, SECOND_RUN, None]
    assert [table.scan(as_of=instant).count() for instant in asked] == [4, 4, 1, 4, 4]


# Spark has four ways to ask. In `make test-cluster` each way asks all tables. In `make test` one of
# four is asked in one way, and two of them in all ways; without Spark all are asked there.
SPARK_WAYS = pytest.mark.parametrize(
    "all_tables",
    [False, pytest.param(True, marks=pytest.mark.cluster)],
    ids=["some-tables", "all-tables"],
)
REGISTERED = pytest.mark.parametrize("is_registered", [False, True], ids=["plain", "registered"])
IN_EVERY_WAY = {"column_case", "downgraded_range"}


def names_of(way, *, all_tables):
    """Return the tables that the way with this number, from 0 to 3, asks."""
    return [
        name
        for number, name in enumerate(PRACTICE)
        if all_tables or number % 16 == way or name in IN_EVERY_WAY
    ]


def test_one_of_four_tables_is_asked_in_some_way():
    asked = [names_of(way, all_tables=False) for way in range(4)]
    assert len(set().union(*asked)) >= len(PRACTICE) // 4
    assert all(len(names) > len(IN_EVERY_WAY) for names in asked)
    assert names_of(0, all_tables=True) == list(PRACTICE)


@pytest.fixture
def asked(path_of):
    """Return a function from names of tables to what `answered` takes."""

    def make(names):
        tables = {
            name: (str(path_of(name)), dict(p.options), p.column, list(p.conditions))
            for name, p in PRACTICE.items()
            if name in names
        }
        return tables, {name: (str(path_of(name)), dict(REFUSED[name][1])) for name in REFUSED}

    return make


def check_all(names, found, errors):
    """Compare the answers of a session; each has the table's name first."""
    counted = Counter(key for key, _ in found["ids"])
    assert {row[0] for row in found["count"]} == set(names)
    for name in names:
        expected = PRACTICE[name]
        rows, column, count = (
            [tuple(row[1:]) for row in found[part] if row[0] == name]
            for part in ("rows", "column", "count")
        )
        shown = [(key, None if value is None else str(value)) for key, value in expected.rows]
        texts = sorted(shown, key=str)
        if expected.rows:
            assert sorted(rows, key=str) == texts, name
            assert sorted(column, key=str) == sorted(((v,) for _, v in texts), key=str), name
        number = len(expected.rows) or expected.count
        assert number is None or [(number,)] == count == [(len(column),)] == [(len(rows),)], name
        for condition, number in expected.conditions.items():
            key = f"{name}: {condition}"
            assert counted[key] == number, key
            assert [key, number] in map(list, found["counts"]), key
    for name, (_, _, says) in REFUSED.items():
        assert "HUDI_UNSUPPORTED_TABLE" in errors[name]
        assert says in errors[name]


@pytest.mark.spark
@SPARK_WAYS
@REGISTERED
def test_tables_in_classic_sessions(spark, request, asked, is_registered, all_tables):
    session = request.getfixturevalue("ruled") if is_registered else spark
    names = names_of(int(is_registered), all_tables=all_tables)
    script: dict[str, Any] = {}
    exec(SCRIPT, script)
    check_all(names, *script["answered"](session, *asked(names)))


@pytest.mark.spark
@SPARK_WAYS
@REGISTERED
def test_tables_over_connect(connect_port, asked, is_registered, all_tables):
    names = names_of(2 + is_registered, all_tables=all_tables)
    arguments = [json.dumps(part) for part in asked(names)]
    answers = client(CLIENT, connect_port, str(is_registered), *arguments)
    check_all(names, answers["found"], answers["errors"])
