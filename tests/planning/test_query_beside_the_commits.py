"""What is said of an instant before the first commit, and of a begin after the last one."""

import warnings
from datetime import datetime, timedelta, timezone

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import IncrementalRangeError, TimeTravelError
from hudi_pyspark.format.timeline.instant import LAST_OFFSET
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.query import resolve_query
from hudi_pyspark.planning.time_travel import check_first_commit
from tests.table.tiny_table import TinyTable, base

FIRST, LAST = "20240101000000000", "20240102000000000"


def table(version=9, **properties):
    tiny = TinyTable(version, **properties)
    for time in (FIRST, LAST):
        tiny.write(time, "commit", completed=f"{time[:14]}500")
    return tiny.open()


def resolve(view, **options):
    return resolve_query(view, ReadOptions.parse(options), {})


def test_instant_before_the_first_commit_warns_and_has_no_rows():
    with pytest.warns(UserWarning, match=f"20231231000000000 is before {FIRST}, the first commit"):
        query = resolve(table(), as_of="20231231000000000")
    assert query.slices == []


def test_instant_before_the_first_commit_fails_where_what_is_missing_shall_fail():
    with pytest.raises(TimeTravelError, match=r"first commit of the table\. Ask for that instant"):
        resolve(table(), as_of="2023-12-31 00:00:00", on_missing="fail")


RANGES = [
    pytest.param(9, "false", f"{LAST[:14]}501", f"{LAST[:14]}500", id="completion-time"),
    pytest.param(6, "false", f"{LAST[:14]}001", LAST, id="requested-time"),
    pytest.param(9, "true", f"{LAST[:14]}001", LAST, id="changes"),
    pytest.param(6, "false", "2025", LAST, id="prefix"),
]


@pytest.mark.parametrize(("version", "cdc", "begin", "last"), RANGES)
def test_begin_after_the_last_commit_is_answered_in_silence_or_fails(version, cdc, begin, last):
    view = table(version, table__cdc__enabled="true")
    message = f"begins at {begin}, after the last commit of the table, {last}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve(view, begin=begin, cdc=cdc)
    with pytest.raises(IncrementalRangeError, match=f"{message}: begin there, or earlier"):
        resolve(view, begin=begin, cdc=cdc, on_missing="fail")


@pytest.mark.parametrize("begin", ["2999", "2999-01-01", "29990101000000000"])
@pytest.mark.parametrize("zone", ["UTC", "LOCAL"])
def test_begin_in_the_future_warns(zone, begin):
    view = table(9, table__timeline__timezone=zone)
    with pytest.warns(UserWarning, match="after the last commit of the table, .*, and in the fut"):
        resolve(view, begin=begin)


def test_begin_may_be_a_time_with_a_zone():
    """As for ``as_of``: on a timeline in UTC, whatever the zone of this machine."""
    view = table(9, table__timeline__timezone="UTC")
    begin = datetime(2024, 1, 1, 0, 0, 0, 123_000, tzinfo=timezone.utc)
    for moment in (begin, begin.astimezone(timezone(timedelta(hours=9)))):
        found = resolve(view, begin=moment, end=moment + timedelta(days=1))
        assert found.commit_range.begin == "20240101000000123"
        assert found.commit_range.end == "20240102000000123"


@pytest.mark.parametrize(
    ("version", "options"),
    [
        (9, {"as_of": FIRST}),
        (9, {"as_of": LAST, "on_missing": "fail"}),
        (9, {"begin": f"{LAST[:14]}500", "on_missing": "fail"}),
        (6, {"begin": LAST, "on_missing": "fail"}),
        (9, {"begin": "earliest", "on_missing": "fail"}),
        (9, {"begin": LAST_OFFSET, "on_missing": "fail"}),  # of a stream's columns
    ],
    ids=str,
)
def test_instants_of_commits_are_answered_in_silence(version, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve(table(version), **options)


def test_table_without_commits_is_answered_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"as_of": "2024-01-01"}, {"begin": "2024"}):
            resolve(TinyTable(9).open(), on_missing="fail", **options)


def test_instant_of_an_archived_commit_is_not_before_the_first(golden_table):
    view = HudiTable(golden_table("v9_mor_archived"))._view
    archived = min(view.history.archived_times)
    assert archived < view.history.commits[0].requested_time
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_first_commit(archived, view, fails=True)
    with pytest.warns(UserWarning, match="the first commit of the table: no rows"):
        check_first_commit(f"{int(archived) - 1}", view, fails=False)


def test_table_began_with_its_first_delta_commit_whatever_its_type_is_now():
    table = TinyTable(6, "COPY_ON_WRITE").write("010", "deltacommit", base("f", "010"))
    view = table.write("020", "commit", base("g", "020")).open()
    check_first_commit("010", view, fails=True)
    with pytest.raises(TimeTravelError, match="009 is before 010, the first commit"):
        check_first_commit("009", view, fails=True)
