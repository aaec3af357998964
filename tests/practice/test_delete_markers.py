"""Delete markers on columns of each type; rows are those of Apache Hudi 1.2.0.

Each table has a base row and an update of the keys ``a`` to ``f``, with values at the ends of the
types. Each query of a case has a column and a marker, and the keys that are left.
"""

from pathlib import Path

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from tests.damage import set_property
from tests.golden.case import load_case
from tests.golden.run import run_query

FOLDER = Path(__file__).parent / "delete_markers"
PREFIX = "hoodie.record.merge.property.hoodie.payload.delete"


def keys(table, **options):
    return "".join(sorted(table.scan(["id"], **options).to_arrow()["id"].to_pylist()))


@pytest.mark.parametrize("name", ["avro_v8", "avro_v9", "parquet_v9"])
def test_marker_is_compared_with_the_text_of_the_value_in_java(name, tmp_path):
    case = load_case(FOLDER / name)
    path = case.extract(tmp_path)
    outcomes = [run_query(case, query, path, {}) for query in case.queries]
    assert [(o.query.name, o.problems) for o in outcomes if o.problems] == []
    counts = {query.facts["rows"] for query in case.queries}
    assert counts == {2, 4, 5, 6}


def test_column_of_the_marker_may_be_spelled_in_another_case(practice_table):
    table = HudiTable(practice_table("delete_markers/avro_v9"))
    assert keys(table, delete_field="DT", delete_marker="1") == "bcdef"
    assert keys(table, delete_field="ST.X", delete_marker="1.0") == "bcdef"


@pytest.mark.parametrize(("field", "says"), [("dd", "no such column"), ("st", "a struct of that")])
def test_marker_on_no_column_of_values_is_refused(practice_table, field, says):
    table = HudiTable(practice_table("delete_markers/avro_v9"))
    with pytest.raises(InvalidOptionError, match=says):
        keys(table, delete_field=field, delete_marker="1")
    options = {"delete_field": field, "delete_marker": "1", "query_type": "read_optimized"}
    assert keys(table, **options) == "abcdef"


def test_marker_of_the_table_counts_without_options(practice_table):
    path = practice_table("delete_markers/avro_v9")
    set_property(path, f"{PREFIX}.field", "d")
    set_property(path, f"{PREFIX}.marker", "1.0")
    assert keys(HudiTable(path)) == "bcdef"


def test_marker_that_no_value_has_hides_no_row_before_compaction(practice_table):
    table = HudiTable(practice_table("delete_markers/dm_dbl1_avro"))  # marker 1, a double 1.0
    instants = table.inspect.commits().column("requested_time").to_pylist()
    assert [keys(table, as_of=instant) for instant in instants] == ["ab"] * len(instants)
    assert len(instants) == 4


def test_inspection_shows_the_deletes_of_the_merge(practice_table):
    path = practice_table("delete_markers/avro_v9")
    set_property(path, f"{PREFIX}.field", "dt")
    set_property(path, f"{PREFIX}.marker", "-1")
    log = next(each.name for each in path.iterdir() if ".log." in each.name)
    records = HudiTable(path).inspect.log_records(log).select(["key", "is_delete"]).to_pylist()
    assert {r["key"] for r in records if r["is_delete"]} == {"b"}
