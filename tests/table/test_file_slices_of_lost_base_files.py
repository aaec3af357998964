"""Base files of a table that are lost after the commits that wrote them were archived.

The metadata table, which names the files, is left out.
"""

import pytest

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.scan import choose_scan
from hudi_pyspark.table.view import open_table
from tests.archiver import archived
from tests.memory_storage import MemoryStorage
from verification.common.archives import files_of

CASE = "v6_mor_compaction_inline"
LOST = "_20261121061746570.parquet"  # of its last compaction


def count(files):
    view = open_table(MemoryStorage(files))
    return choose_scan(view, ReadOptions.parse({}), {}).count()


@pytest.fixture
def lost_in_turn():
    """Return the table without each base file of the last compaction, archived up to a commit."""

    def tables(kept):
        files = archived(files_of(CASE), kept)
        return [
            {path: content for path, content in files.items() if path != lost}
            for lost in files
            if lost.endswith(LOST)
        ]

    return tables


def test_archived_table_is_read():
    assert count(archived(files_of(CASE), 1)) == count(files_of(CASE))


# Of three file groups, the last commit wrote log files of two.
COMMIT_NAMES_IT = f"{LOST} was committed"
LOG_FILE_NAMES_IT = f"was written on top of the base file of {LOST[1:18]}"


@pytest.mark.parametrize("kept", [1, 2])
def test_later_log_files_prove_a_lost_base_file(lost_in_turn, kept):
    problems = []
    for files in lost_in_turn(kept):
        with pytest.raises(MissingFileError) as caught:
            count(files)
        (proof,) = (p for p in (COMMIT_NAMES_IT, LOG_FILE_NAMES_IT) if p in str(caught.value))
        problems.append(proof)
    assert COMMIT_NAMES_IT in problems
    assert (LOG_FILE_NAMES_IT in problems) == (kept == 1)


@pytest.mark.parametrize(
    "instant", ["20261121061(19849", "20251121061819849", "20261121061819848", "20261121061819850"]
)
def test_log_file_that_its_commit_misnames_loses_no_row(instant):
    """A commit writes to the newest slice, so what it names in an older one is missed."""
    files = files_of("v6_mor_inmemory_logonly")
    commit = ".hoodie/20261121061819849.deltacommit"
    named = files[commit].replace(b"20261121061819849.log.1", f"{instant}.log.1".encode())
    assert named != files[commit]
    try:
        assert count({**files, commit: named}) == count(files)
    except MissingFileError as error:
        assert f"{instant}.log.1" in str(error)  # noqa: PT017
