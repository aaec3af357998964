"""Files in the folder of a partitioned table, which the metadata table calls the partition ``.``.

Apache Hudi finds their rows without the metadata table, and no row with it.
"""

from __future__ import annotations

import pytest

from hudi_pyspark import HudiTable

IDS = [number * 10_000_000_000 for number in range(60)]  # as they were written


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("root_folder/clustered_into_root"))


@pytest.mark.parametrize("uses_metadata_table", [True, False])
def test_each_row_is_shown_once(table, uses_metadata_table):
    scan = table.scan(["id"], use_metadata_table=uses_metadata_table)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == IDS


@pytest.mark.parametrize("uses_metadata_table", [True, False])
@pytest.mark.parametrize(("condition", "count"), [("id = 0", 1), ("q = 2", 18), ("id < 0", 0)])
def test_conditions_find_each_row_once(table, condition, count, uses_metadata_table):
    scan = table.scan(["id"], filter=condition, use_metadata_table=uses_metadata_table)
    assert scan.to_arrow().num_rows == count


def test_folder_is_one_partition_without_values(table):
    assert "" in table.inspect.partitions()["partition_path"].to_pylist()
    assert "." not in table.inspect.files()["partition_path"].to_pylist()
