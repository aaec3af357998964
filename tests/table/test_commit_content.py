import pytest

from hudi_pyspark.format.timeline.instant import Instant
from hudi_pyspark.format.timeline.instant_metadata import commit_metadata_of
from hudi_pyspark.table.commit_content import problem_of_commit

STAT = {"fileId": "f-0", "fileSizeInBytes": 1}


@pytest.mark.parametrize(
    ("action", "path", "problem"),
    [
        pytest.param("commit", "f-0_0-1-0_20240101000000001.parquet", "", id="its-own-base-file"),
        pytest.param("commit", "f-0_0-1-0_20240101000000.parquet", "", id="seconds"),
        pytest.param("commit", "by-hand.parquet", "", id="name-of-another-writer"),
        pytest.param("commit", ".f-0_20231231000000000.log.1_0-1-0", "", id="base-of-its-slice"),
        pytest.param("commit", None, "names no file", id="plan-of-a-commit"),
        pytest.param(
            "commit",
            "f-0_0-1-0_20231231000000000.parquet",
            "a base file of the instant 20231231000000000",
            id="base-file-of-another-commit",
        ),
    ],
)
def test_commit_with_the_content_of_another_one_is_recognised(action, path, problem):
    instant = Instant.parse(f"20240101000000001.{action}", 1)
    metadata = commit_metadata_of({"partitionToWriteStats": {"": [{**STAT, "path": path}]}})
    found = problem_of_commit(instant, metadata)
    assert problem in found
    assert bool(problem) == bool(found)


@pytest.mark.parametrize(("action", "is_refused"), [("commit", True), ("replacecommit", False)])
def test_only_a_replacecommit_replaces_file_groups(action, is_refused):
    record = {"partitionToWriteStats": {}, "partitionToReplaceFileIds": {"": ["f-0"]}}
    metadata = commit_metadata_of(record)
    found = problem_of_commit(Instant.parse(f"20240101000000001.{action}", 1), metadata)
    assert bool(found) == is_refused
