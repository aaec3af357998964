"""Tables whose archive is gone, as after an incomplete copy, or since somebody wanted the space.

Log files that no cleaner has removed are still there, although nothing says when their commits
completed. They must not be merged on top of the compactions that have merged them.
"""

import shutil

import pytest

from hudi_pyspark import HudiTable

TABLES = [
    "x_v8w120_mor_rg_upgraded_again",
    "x_v9_mor_rg_upgraded_archived",
    "x_v9_mor_sl_beyond_savepoint",
]


@pytest.mark.parametrize("use_metadata_table", [True, False])
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_of_before(golden_table, tmp_path, name, use_metadata_table):
    path = shutil.copytree(golden_table(name), tmp_path / name)
    rows = read(path, use_metadata_table)
    shutil.rmtree(path / ".hoodie" / "timeline" / "history")
    assert read(path, use_metadata_table).equals(rows)


@pytest.mark.parametrize("use_metadata_table", [True, False])
def test_first_commit_may_be_gone_as_if_it_was_archived(golden_table, tmp_path, use_metadata_table):
    path = shutil.copytree(golden_table("java_v9_mor_compaction"), tmp_path / "table")
    rows = read(path, use_metadata_table)
    timeline = path / ".hoodie" / "timeline"
    first = min(instant.name[:17] for instant in timeline.glob("*.deltacommit"))
    for instant in timeline.glob(f"{first}*"):
        instant.unlink()
    assert read(path, use_metadata_table).equals(rows)


def read(path, use_metadata_table):
    scan = HudiTable(path).scan(use_metadata_table=use_metadata_table)
    return scan.to_arrow().sort_by([("_hoodie_partition_path", "ascending"), ("id", "ascending")])
