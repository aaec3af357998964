"""Dates and timestamps beyond the year 9999, of a table that Apache Hudi 1.2.0 wrote.

The ids are those that Apache Hudi 1.2.0 answers on Spark 3.5, or follow from the rows that it
reads: dates 10000-01-01, 2024-01-05, 99999-12-31, null and 1999-01-01 of the ids 1 to 5.
"""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, UnsupportedQueryError, scan_polars
from hudi_pyspark.columns.text import json_text
from hudi_pyspark.tasks import ScanTask

LAST = 9_223_372_036_854_775_807  # microseconds since the epoch
ANSWERS = {
    "dt = DATE '2024-01-05'": [2],
    "dt IS NULL": [4],
    "t IS NULL": [4],
    "s = 'a' AND dt IS NOT NULL": [1],
    "dt = DATE '10000-01-01'": [1],
    "dt > DATE '+10000-01-01'": [3],
    "dt IN (DATE '10000-01-01', DATE '2024-01-05')": [1, 2],
    "dt > DATE '-0044-03-15'": [1, 2, 3, 5],
    "t >= TIMESTAMP '10000-01-01 00:00:00Z'": [1, 3],
    "t = TIMESTAMP '294247-01-10 04:00:54.775807Z'": [3],
    "t < TIMESTAMP '9999-12-31 23:59:59.999999-14:00'": [1, 2, 5],
}


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("year_10000/far"))


@pytest.fixture(params=[True, False], ids=["metadata_table", "folders"])
def options(request):
    return {"use_metadata_table": request.param}


@pytest.mark.parametrize("condition", ANSWERS)
def test_filters_find_their_rows_and_are_explained(table, options, condition):
    scan = table.scan(["id"], filter=condition, **options)
    assert sorted(scan.to_arrow().column("id").to_pylist()) == ANSWERS[condition]
    assert scan.count() == len(ANSWERS[condition])
    assert "filter" in str(scan.explain())


def test_explanation_shows_the_literals(table):
    text = str(table.scan(filter="dt IN (DATE '10000-01-01') OR dt < DATE '-0044-03-15'").explain())
    assert "dt IN ('10000-01-01') OR dt < '-0044-03-15'" in text
    text = str(table.scan(filter="t <= TIMESTAMP '294247-01-10 04:00:54.775807Z'").explain())
    assert "t <= '294247-01-10 04:00:54.775807+00:00'" in text


@pytest.mark.parametrize("source", ["metadata_table", "parquet_footer"])
def test_statistics_show_the_bounds(practice_table, source):
    path = practice_table("year_10000/far")
    if source == "parquet_footer":
        properties = path / ".hoodie" / "hoodie.properties"
        lines = properties.read_text().splitlines()
        kept = [x for x in lines if not x.startswith(("hoodie.table.metadata", "hoodie.table.che"))]
        properties.write_text("\n".join(kept) + "\n")
    rows = HudiTable(path).inspect.column_statistics().to_pylist()
    shown = {row["column"]: (row["min"], row["max"], row["source"]) for row in rows}
    assert shown["dt"] == ("1999-01-01", "99999-12-31", source)
    first, last = "1999-01-01 00:00:00+00:00", "294247-01-10 04:00:54.775807+00:00"
    assert shown["t"] == (first, last, source)


def test_text_of_a_row_has_every_year(table):
    rows = table.scan(["id", "dt", "t"]).to_arrow().sort_by("id")
    texts = {name: json_text(rows[name].combine_chunks()).to_pylist() for name in ("dt", "t")}
    assert texts["dt"][:4] == ['"10000-01-01"', '"2024-01-05"', '"99999-12-31"', "null"]
    assert texts["t"][2:4] == ['"294247-01-10T04:00:54.775807Z"', "null"]


def test_history_of_a_row_shows_every_year(table):
    change = table.history(3).to_pylist()[0]
    assert change["before"] is None
    assert '"dt":"99999-12-31","t":"294247-01-10T04:00:54.775807Z"' in change["after"]


def test_pandas_refuses_dates_by_name_and_takes_them_as_numbers(table):
    with pytest.raises(UnsupportedQueryError, match="pandas cannot have") as raised:
        table.to_pandas()
    assert "date_as_object=False" in str(raised.value)
    frame = table.scan(["id", "dt"]).to_pandas(date_as_object=False)
    days = frame.set_index("id")["dt"].sort_index().to_numpy().astype("datetime64[D]")
    assert days.astype(str).tolist() == [
        "10000-01-01",
        "2024-01-05",
        "99999-12-31",
        "NaT",
        "1999-01-01",
    ]


def test_datasets_and_frames_take_such_literals(table):
    day = pa.scalar(2_932_897, pa.int32()).cast(pa.date32())  # 10000-01-01
    last = pa.scalar(LAST, pa.int64()).cast(pa.timestamp("us", "UTC"))
    dataset = table.scan().to_dataset()
    for condition, ids in (
        (pc.field("dt") > day, [3]),
        (pc.field("dt").isin(pa.array([day])), [1]),
        (pc.field("t") == last, [3]),
    ):
        found = dataset.scanner(["id"], condition).to_table()
        assert found.column("id").to_pylist() == ids


def test_engines_take_such_literals(practice_table):
    pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    path = practice_table("year_10000/far")
    far = HudiTable(path).to_duckdb("far")
    assert far.sql("SELECT id FROM far WHERE dt > DATE '10000-01-01'").fetchall() == [(3,)]
    assert far.sql("SELECT id FROM far WHERE t > TIMESTAMP '20000-01-01'").fetchall() == [(3,)]
    day = polars.lit(2_932_897).cast(polars.Int32).cast(polars.Date)
    frame = scan_polars(str(path)).filter(polars.col("dt") == day)
    assert frame.select("id").collect()["id"].to_list() == [1]


@pytest.mark.parametrize("text", ["DATE '10000-13-01'", "DATE 'x'", "TIMESTAMP '900000-01-01Z'"])
def test_wrong_literals_are_refused_by_name(table, text):
    with pytest.raises(InvalidOptionError, match=r"filter|column"):
        table.scan(filter=f"{'dt' if 'DATE' in text else 't'} = {text}")


DAYS = {
    "dt > DATE '2024-01-05'": [2, 3],
    "dt = DATE '2024-01-05'": [1],
    "dt IS NULL": [5],
    "dt = DATE '10000-01-01'": [2],
    "dt < DATE '0001-01-01'": [4],
}
FOLDERS = {
    1: "2024-01-05",
    2: "+10000-01-01",
    3: "+99999-12-31",
    4: "-0044-03-15",
    5: "__HIVE_DEFAULT_PARTITION__",
}


@pytest.mark.parametrize("condition", DAYS)
def test_partitions_of_such_days_are_chosen(practice_table, condition):
    table = HudiTable(practice_table("year_10000/days"))
    scan = table.scan(["id"], filter=condition)
    assert sorted(scan.to_arrow().column("id").to_pylist()) == DAYS[condition]
    assert scan.count() == len(DAYS[condition])
    folders = [task.file_slice.partition_path for task in scan.plan() if isinstance(task, ScanTask)]
    assert sorted(folders) == sorted(FOLDERS[number] for number in DAYS[condition])
    assert "filter" in str(scan.explain())


def test_tasks_of_such_days_are_pickled(practice_table):
    table = HudiTable(practice_table("year_10000/days"))
    for fragment in table.scan().to_dataset().get_fragments():
        copied = pickle.loads(pickle.dumps(fragment))
        assert copied.to_table().equals(fragment.to_table())
