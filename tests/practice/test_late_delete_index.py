"""Record indexes that lack keys with rows: every row is found by its key, in every way to ask.

Rows are those of Apache Hudi 1.2.0 without data skipping; with it, it loses those of `LOST`.
"""

from random import Random

import pytest

from hudi_pyspark import HudiTable
from tests.spark.conftest import ruled
from verification.common.by_key import KEY, KeyedTable

__all__ = ["ruled"]  # a fixture

ROWS = {
    "rli_late_v6": {"k1": 1, "k2": 2, "k3": 103, "k5": 105, "k6": 6, "k8": 108},
    "dupdef_mor_v9": {
        "k0": 200,
        "k2": 102,
        "k3": 103,
        "k4": 104,
        "k5": 105,
        "k6": 106,
        "k7": 107,
        "k9": 209,
    },
}
LOST = {"rli_late_v6": {"k1", "k5"}, "dupdef_mor_v9": {"k0", "k2", "k3", "k4", "k5"}}
TABLES = pytest.mark.parametrize("name", ROWS)


@pytest.fixture
def path(practice_table, name):
    return practice_table(f"late_delete_index/{name}")


@TABLES
def test_full_read_has_the_rows_of_apache_hudi(path, name):
    rows = HudiTable(path).scan([KEY, "v"]).to_arrow().to_pylist()
    assert {row[KEY]: row["v"] for row in rows} == ROWS[name]
    assert len(rows) == len(ROWS[name])


@TABLES
def test_rows_of_keys_without_an_entry_are_found_in_every_way(path, name):
    keyed = KeyedTable(path, HudiTable(path).scan(data_skipping=False).to_arrow())
    assert {"data_skipping": "record_index"} in keyed.settings
    assert {"data_skipping": True, "unique_keys": True} in keyed.settings
    assert [*keyed.problems(Random(name), most=8)] == []


@TABLES
def test_index_lacks_the_keys(path, name):
    """So the other tests show something."""
    records = HudiTable(path).inspect.metadata_records("record_index").to_pylist()
    assert ROWS[name].keys() - {record["key"] for record in records} == LOST[name]


@pytest.mark.spark
@TABLES
def test_rows_of_keys_without_an_entry_are_found_in_spark(ruled, path, name):
    frame = ruled.read.format("hudi-py").load(str(path))
    for key in sorted(LOST[name]):
        found = frame.where(f"id = '{key}'").select("v").collect()
        assert [tuple(row) for row in found] == [(ROWS[name][key],)]
    assert frame.where(frame.id.isin(*LOST[name])).count() == len(LOST[name])
