"""Files that spell a column in another case than the table: `State` in old ones, `state` now.

The rows are those of Apache Hudi 1.2.0, but for values of Avro log blocks: it loses these (D46).
"""

import pytest

from hudi_pyspark import HudiTable

SNAPSHOT = {
    "k0": "upd", "k1": "st1", "k2": "st2", "k3": "st3", "k4": "upd", "k5": "st5", "k6": "st6",
    "k7": "st7", "k9": "new",
}  # fmt: skip
IN_BASE_FILES = {**{f"k{n}": f"st{n}" for n in range(8)}, "k9": "new"}
OF_LOGS = {"k0": "log0", "k1": "log2", "k2": "st2", "k3": "st3", "k5": "st5"}


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("column_case/case_mor"))


def states(scan):
    rows = scan.select(["id", "state"]).to_arrow().to_pylist()
    return {row["id"]: row["state"] for row in rows}


@pytest.mark.parametrize("use_metadata_table", [True, False])
def test_files_with_another_case_keep_their_values(table, use_metadata_table):
    assert states(table.scan(use_metadata_table=use_metadata_table)) == SNAPSHOT


def test_base_files_alone_keep_their_values(table):
    assert states(table.scan(query_type="read_optimized")) == IN_BASE_FILES


def test_range_keeps_its_values(table):
    assert states(table.scan(begin="000")) == SNAPSHOT


def test_one_column_alone_is_found(table):
    column = table.scan(["state"]).to_arrow().column("state")
    assert sorted(column.to_pylist()) == sorted(SNAPSHOT.values())


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("state <= 'st2'", 3),
        ("state <= 'st3'", 4),
        ("state > 'st2'", 6),
        ("state IS NULL", 0),
        ("state = 'st1'", 1),
        ("state IN ('st1', 'upd')", 3),
    ],
)
def test_conditions_find_values_of_another_case(table, condition, expected):
    rows = table.scan(filter=condition)
    found = {row["id"] for row in rows.to_arrow().to_pylist()}
    assert (rows.count(), len(found)) == (expected, expected)


def test_rows_that_a_key_names_have_their_values(table):
    assert table.lookup("k1").column("state").to_pylist() == ["st1"]


def test_avro_log_blocks_keep_the_values_that_hudi_loses(practice_table):
    table = HudiTable(practice_table("column_case/case_log_avro"))
    assert states(table.scan()) == OF_LOGS
    assert table.scan(filter="state IS NULL").count() == 0
    assert table.scan(filter="state = 'log0'").count() == 1
