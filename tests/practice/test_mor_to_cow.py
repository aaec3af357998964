"""A MERGE_ON_READ table that became COPY_ON_WRITE: the rows are those of Apache Hudi 1.2.0."""

import warnings

import pyarrow.compute as pc
import pytest

from hudi_pyspark import HudiTable


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("mor_to_cow/mor_to_cow"))


@pytest.mark.parametrize("use_metadata_table", [True, False])
def test_log_files_from_before_the_change_do_not_count(table, use_metadata_table):
    rows = table.scan(["id", "v"], use_metadata_table=use_metadata_table).to_arrow().to_pylist()
    values = {(row["id"], row["v"]) for row in rows}
    assert {("k0", "c1"), ("k1", "c1")} <= values
    assert not {("k0", "c2"), ("k1", "c2")} & values


def test_doctor_says_that_the_log_files_do_not_count(table):
    (found,) = (f for f in table.doctor() if f.severity.value == "problem")
    assert "reads ignore the log files of 2 delta commits" in found.message


def test_query_timeline_shows_the_delta_commits_as_well(table):
    shown = table.inspect.hudi_query_timeline().to_pylist()
    records = [(row["Action"], row["Total_Records_Written"]) for row in shown]
    assert records == [("deltacommit", 6), ("deltacommit", 2), ("commit", 3), ("commit", 2)]


def test_range_warns_once_of_delta_commits_that_it_leaves_out(golden_table):
    table = HudiTable(golden_table("x_v9_cow_sl_was_mor"))
    last = table.inspect.timeline().filter(pc.field("action") == "deltacommit").to_pylist()[-1]
    with pytest.warns(UserWarning, match="COPY_ON_WRITE") as caught:
        rows = table.scan(begin="earliest").to_arrow().sort_by("id")
    (text,) = (str(warning.message) for warning in caught)
    assert f"leaves out delta commits, the last of them {last['requested_time']}" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.scan(begin=last["completion_time"]).to_arrow().sort_by("id").equals(rows)
        table.scan().to_arrow()
