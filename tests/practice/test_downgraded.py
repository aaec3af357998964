"""A table that Apache Hudi 1.2.0 wrote in version 9, archived, cleaned and downgraded to version 6.

The numbers of rows are those of Apache Hudi 1.2.0.
"""

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import IncrementalRangeError

LAST_DELTA_COMMIT = "20261125083412686"


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("downgraded/downgrade_six"))


@pytest.fixture(params=[True, False], ids=["metadata_table", "folders"])
def options(request):
    return {"use_metadata_table": request.param}


def test_time_travel_before_the_downgrade_reads_log_files_with_their_base_files(table, options):
    assert table.scan(as_of=LAST_DELTA_COMMIT, **options).count() == 12


def test_range_before_the_downgrade_reads_every_log_file(table, options):
    found = table.scan(begin="20261125083402664", end="20261125083409200", **options)
    assert found.count() == 9


def test_range_that_begins_in_the_archive_reads_the_latest_rows(table, options):
    with pytest.warns(UserWarning, match="is archived"):
        assert table.scan(begin="000", **options).count() == 12


def test_range_that_begins_in_the_archive_is_refused_by_on_missing_fail(table):
    with pytest.raises(IncrementalRangeError, match="20261125083356128"):
        table.scan(begin="000", on_missing="fail").count()


def test_archive_of_before_the_downgrade_is_on_the_timeline(table):
    times = table.inspect.timeline(archived=True).column("requested_time").to_pylist()
    assert "20261125083356128" in times
    assert LAST_DELTA_COMMIT in times


def test_diff_across_the_downgrade_has_no_changes_of_the_compaction(table):
    assert table.diff(LAST_DELTA_COMMIT, "20261125083416080").num_rows == 0


def test_doctor_finds_no_problem(table):
    assert not [f for f in table.doctor() if f.severity.value in ("warning", "problem")]
