"""A table whose base files Spark 3.5 wrote in its legacy calendar, with an Avro log file.

The values are those that Apache Hudi 1.2.0 was given, and reads with
``spark.sql.avro.datetimeRebaseModeInRead=CORRECTED``.
"""

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.columns.text import json_text
from tests.practice.ancient_times import BORN, SEEN


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("legacy_calendar/legacy_mor"))


@pytest.fixture(params=[True, False], ids=["metadata_table", "folders"])
def options(request):
    return {"use_metadata_table": request.param}


def texts(rows, column):
    found = zip(
        rows.column("id").to_pylist(),
        json_text(rows.column(column).combine_chunks()).to_pylist(),
        strict=True,
    )
    return {key: text for key, text in found if key in BORN}


def test_values_are_those_that_were_written(table, options):
    rows = table.scan(**options).to_arrow()
    assert rows.num_rows == 9
    assert texts(rows, "born") == {k: f'"{v}"' for k, v in BORN.items()}
    assert texts(rows, "seen") == {k: f'"{v}.000000Z"' for k, v in SEEN.items()}
    assert texts(rows, "s") == {k: f'{{"d":"{v}"}}' for k, v in BORN.items()}
    assert texts(rows, "l") == {k: f'["{v}.000000Z"]' for k, v in SEEN.items()}


@pytest.mark.parametrize("key", BORN)
@pytest.mark.parametrize("column", ["born", "s.d", "seen"])
def test_filters_on_the_true_value_find_their_rows(table, options, column, key):
    literal = f"TIMESTAMP '{SEEN[key]}Z'" if column == "seen" else f"DATE '{BORN[key]}'"
    values = SEEN if column == "seen" else BORN
    alike = sorted(k for k in values if values[k] == values[key])
    for condition in ("=", "<=>"):
        found = table.scan(["id"], filter=f"{column} {condition} {literal}", **options).to_arrow()
        assert sorted(found.column("id").to_pylist()) == alike
    for sign, wanted in ((">", values[key].__lt__), ("<=", values[key].__ge__)):
        expected = sorted(k for k in values if wanted(values[k]))
        scan = table.scan(["id"], filter=f"{column} {sign} {literal}", **options)
        assert sorted(scan.to_arrow().column("id").to_pylist()) == expected
        assert scan.count() == len(expected)


def test_read_optimized_queries_and_time_travel_agree(table):
    instants = table.inspect.commits().column("requested_time").to_pylist()
    for options in ({"as_of": instants[0]}, {"query_type": "read_optimized"}):
        rows = table.scan(**options).to_arrow()
        known = {k: v for k, v in texts(rows, "born").items() if k != "q1"}
        assert known == {k: f'"{BORN[k]}"' for k in known}
        assert len(known) >= 5


def test_keys_are_looked_up_with_their_values(table):
    rows = table.lookup(["p0"])
    assert isinstance(rows, pa.Table)
    assert texts(rows, "born") == {"p0": '"1001-01-01"'}
