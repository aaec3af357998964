"""A table by a writer in Go, whose commit names files otherwise than Apache Hudi does."""

import json

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.table.file_groups import problem_of_name


@pytest.fixture
def path(practice_table):
    return practice_table("foreign_names/poly_clicks")


def rename_file(path, partition, to):
    """Give the only committed file another path, on the storage and in its commit."""
    (commit,) = (path / ".hoodie").glob("*.commit")
    metadata = json.loads(commit.read_text())
    (stat,) = metadata["partitionToWriteStats"][""]
    (path / to).parent.mkdir(exist_ok=True)
    (path / stat["path"]).rename(path / to)
    metadata["partitionToWriteStats"] = {partition: [{**stat, "path": to}]}
    commit.write_text(json.dumps(metadata))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="snapshot"),
        pytest.param({"query_type": "read_optimized"}, id="read_optimized"),
        pytest.param({"as_of": "20261125085127000"}, id="time_travel"),
        pytest.param({"begin": "000"}, id="range"),
    ],
)
def test_committed_file_with_a_foreign_name_is_refused_by_every_query(path, options):
    with pytest.raises(UnsupportedTableError, match=r"wrote part-00000-.*\.parquet"):
        HudiTable(path).scan(**options).count()


def test_committed_file_outside_the_folder_of_its_partition_is_refused(path):
    rename_file(path, "east", "region=east/f-0_0-1-0_20261125085127000.parquet")
    with pytest.raises(UnsupportedTableError, match=r"region=east/f-0.*not in the folder"):
        HudiTable(path).scan().count()


def test_committed_file_of_another_format_is_refused(path):
    config = HudiTable(path)._view.config
    assert "is PARQUET" in problem_of_name("f-0_0-1-0_20261125085127000.orc", config)
    assert not problem_of_name("f-0_0-1-0_20261125085127000.parquet", config)


def forget_what_was_written(path):
    """Take rows and bytes of the file out of its commit, and return the file."""
    (commit,) = (path / ".hoodie").glob("*.commit")
    metadata = json.loads(commit.read_text())
    (stat,) = metadata["partitionToWriteStats"][""]
    kept = {"fileId": stat["fileId"], "path": stat["path"]}
    commit.write_text(json.dumps({**metadata, "partitionToWriteStats": {"": [kept]}}))
    return path / stat["path"]


def test_file_on_the_storage_is_refused_though_its_commit_does_not_say_what_it_has(path):
    forget_what_was_written(path)
    with pytest.raises(UnsupportedTableError, match=r"wrote part-00000-.*\.parquet"):
        HudiTable(path).scan().count()
    assert any("committed by" in found.message for found in HudiTable(path).doctor())


def test_doctor_passes_over_a_file_that_was_never_written_as_reads_do(path):
    forget_what_was_written(path).unlink()
    assert not any("whose name is not" in found.message for found in HudiTable(path).doctor())


def test_doctor_finds_the_file(path):
    (found,) = (f for f in HudiTable(path).doctor() if f.severity.value == "problem")
    assert found.subject.startswith("part-00000-")
    assert "committed by 20261125085127000" in found.message
