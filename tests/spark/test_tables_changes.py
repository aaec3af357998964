"""`CHANGES` of a table by name, between versions."""

import json

import pytest
from pyspark.errors import AnalysisException

import hudi_pyspark
from hudi_pyspark import HudiTable
from tests.spark.named_tables import (
    case_of,
    needs_changes,
    rows_of,
    rows_of_stream,
    scans,
)

pytestmark = pytest.mark.spark

CDC = "v9_cow_cdc_data_before"
# What the images before and after a change are; "" where there is none.
KINDS = {"i": ("", "insert"), "d": ("delete", ""), "u": ("update_preimage", "update_postimage")}


@pytest.fixture
def changing(sql, golden_table):
    """An entry, and the requested times of its commits."""
    path = str(golden_table(CDC))
    sql.sql(f"CREATE TABLE changing USING hudi LOCATION '{path}'")
    commits = HudiTable(path).inspect.commits()
    return "changing", commits["requested_time"].to_pylist()


def images(begin="", end="99999999999999999"):
    """What Apache Hudi has of a range: key, kind of change and commit of each image."""
    (query,) = (each for each in case_of(CDC).queries if each.name == "cdc_all")
    found = []
    for change in query.expected_rows().to_pylist():
        operation = change["op"]
        time = change["ts_ms"]
        if not begin < time <= end:
            continue
        kinds = {
            "i": ("", "insert"),
            "d": ("delete", ""),
            "u": ("update_preimage", "update_postimage"),
        }
        for kind, image in zip(kinds[operation], (change["before"], change["after"]), strict=True):
            if kind:
                found.append((json.loads(image)["id"], kind, int(time)))
    return sorted(found)


def rows_of_changes(frame):
    return sorted(map(tuple, frame.select("id", "_change_type", "_commit_version").collect()))


@needs_changes
def test_changes_of_versions_are_those_of_apache_hudi(sql, changing, golden_table):
    table, times = changing
    assert len(images()) > len(images(times[0], times[2])) > len(images(times[1], times[2])) > 0
    for bounds, expected in (
        (f"VERSION {times[0]}", images()),
        (f"VERSION {times[1]} TO VERSION {times[2]}", images(times[0], times[2])),
        (f"VERSION {times[1]} EXCLUSIVE TO VERSION {times[2]}", images(times[1], times[2])),
        (f"VERSION {times[1]} TO VERSION {times[2]} EXCLUSIVE", images(times[0], times[1])),
    ):
        for source in (table, f"hudi.`{golden_table(CDC)}`"):
            frame = sql.sql(f"SELECT * FROM {source} CHANGES FROM {bounds}")
            assert rows_of_changes(frame) == expected
    assert scans(sql.sql(f"SELECT id FROM {table} CHANGES FROM VERSION {times[0]}")) == [["id"]]


@needs_changes
def test_changes_are_explained(sql, changing, golden_table):
    table, times = changing
    bounds = f"CHANGES FROM VERSION {times[1]} EXCLUSIVE TO VERSION {times[2]}"
    frame = sql.sql(f"SELECT id, _change_type FROM {table} {bounds} WHERE id > 'a'")
    shown = hudi_pyspark.explain(frame)
    assert f"hudi-py file:{golden_table(CDC)}\n  columns: id, _change_type\n" in shown
    assert "condition: `id` > 'a'" in shown
    assert f"at each action, commits after {times[1]} up to {times[2]}" in shown
    both = sql.sql(f"SELECT id FROM {table} {bounds} UNION SELECT id FROM {table}")
    assert hudi_pyspark.explain(both).count("hudi-py file:") == 2


@needs_changes
@pytest.mark.parametrize("is_inclusive", [True, False])
def test_data_frames_and_streams_have_changes(sql, changing, tmp_path, is_inclusive):
    table, times = changing
    expected = images(times[0 if is_inclusive else 1])
    begin = {"startingVersion": times[1], "startingBoundInclusive": is_inclusive}
    frame = sql.read.options(**begin).changes(table)
    assert rows_of_changes(frame) == expected
    stream = sql.readStream.options(**begin).changes(table)
    assert rows_of_changes(rows_of_stream(stream, tmp_path)) == expected


@needs_changes
def test_other_ranges_and_net_changes_are_refused(sql, changing):
    table, times = changing
    with pytest.raises(AnalysisException, match=r"HUDI_INVALID_OPTION.*not one of versions"):
        rows_of(sql, f"{table} CHANGES FROM TIMESTAMP '2026-11-21 06:00:00'")
    with pytest.raises(AnalysisException, match=r"HUDI_UNSUPPORTED_QUERY.*net changes"):
        sql.read.options(startingVersion=times[1], deduplicationMode="netChanges").changes(table)
    sql.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    with pytest.raises(AnalysisException, match=r"UNSUPPORTED_FEATURE\.CHANGE_DATA_CAPTURE"):
        rows_of(sql, "plain CHANGES FROM VERSION 1")
