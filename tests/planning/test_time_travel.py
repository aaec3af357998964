from datetime import datetime, timedelta, timezone

import pytest

from hudi_pyspark.errors import FutureInstantError, InvalidInstantError, TimeTravelError
from hudi_pyspark.options.instant_text import parse_instant
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.query import RangeQuery, resolve_query
from hudi_pyspark.planning.time_travel import resolve_as_of, resolve_range_end
from hudi_pyspark.table.view import TableView
from tests.process_state import in_zone
from tests.table.tiny_table import TinyTable

UTC = timezone.utc


def timeline(*times: str, zone: str = "LOCAL", earliest: str = "") -> TableView:
    """A table with these commits; the cleaner kept the files from `earliest` on."""
    table = TinyTable(6, table__timeline__timezone=zone)
    for instant in times:
        table.instant(f"{instant}.commit")
    if earliest:
        table.instant("000.clean", {"earliestCommitToRetain": earliest})
    return table.open()


NOON = datetime(2024, 6, 15, 12, tzinfo=UTC)
EASTERN = timezone(timedelta(hours=-4))


def resolved(text: str, view: TableView, now: datetime = NOON) -> str:
    return resolve_as_of(text, view, now)


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        pytest.param("2024-01-31", "LOCAL", "20240131000000000", id="local-date-as-it-is"),
        pytest.param("2024-01-31", "UTC", "20240131040000000", id="date-of-a-utc-timeline"),
        pytest.param("2024-01-31 01:02:03", "UTC", "20240131010203999", id="time-as-it-is"),
        pytest.param("20240131010203", "UTC", "20240131010203", id="digits-as-they-are"),
    ],
)
def test_only_a_bare_date_is_converted_and_only_to_utc(text, zone, instant):
    with in_zone("<-04>4"):
        assert resolved(text, timeline(zone=zone)) == instant


def as_given(value) -> str:
    return str(ReadOptions.parse({"as_of": value}).as_of)


MOMENT = datetime(2024, 1, 31, 1, 2, 3, 4999)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("value", "zone", "instant"),
    [
        pytest.param(MOMENT, "LOCAL", "20240131010203004", id="local"),
        pytest.param(MOMENT, "UTC", "20240131010203004", id="wall-clock-of-utc"),
        pytest.param(MOMENT.replace(microsecond=0), "UTC", "20240131010203999", id="whole-second"),
        pytest.param(MOMENT.replace(tzinfo=UTC), "UTC", "20240131010203004", id="utc"),
        pytest.param(MOMENT.replace(tzinfo=EASTERN), "UTC", "20240131050203004", id="eastern"),
        pytest.param(MOMENT.date(), "LOCAL", "20240131000000000", id="date"),
        pytest.param(MOMENT.date(), "UTC", "20240131040000000", id="date-of-a-utc-timeline"),
    ],
)
def test_datetimes_and_dates_are_instants(value, zone, instant):
    with in_zone("<-04>4"):
        assert resolved(as_given(value), timeline(zone=zone)) == instant


@pytest.mark.parametrize("zone", [None, UTC, EASTERN], ids=["none", "utc", "eastern"])
@pytest.mark.parametrize("microsecond", [0, 4000, 4999])
@pytest.mark.parametrize("separator", [" ", "T"])
def test_text_of_a_datetime_means_the_same_moment(zone, microsecond, separator):
    moment = MOMENT.replace(microsecond=microsecond, tzinfo=zone)
    view = timeline(zone="UTC")
    assert resolved(moment.isoformat(separator), view) == resolved(as_given(moment), view)


@pytest.mark.parametrize("fraction", ["", ".004", ".004999"])
def test_z_is_the_offset_of_utc(fraction):
    view = timeline(zone="UTC")
    text = f"2024-01-31T01:02:03{fraction}"
    assert resolved(f"{text}Z", view) == resolved(f"{text}+00:00", view)


def test_datetime_with_a_zone_is_refused_where_the_timeline_has_an_unknown_one():
    with pytest.raises(InvalidInstantError, match="Give the wall-clock time of that zone"):
        resolved(as_given(MOMENT.replace(tzinfo=UTC)), timeline(zone="LOCAL"))


@pytest.mark.parametrize("second", ["00", "03"])
def test_time_with_a_zone_and_milliseconds_is_no_whole_second(second):
    text = f"2024-01-31 01:02:{second}.000+01:00"
    assert resolved(text, timeline(zone="UTC")) == f"202401310002{second}000"
    assert resolve_range_end(text, timeline(zone="UTC")) == f"202401310002{second}000"


@pytest.mark.parametrize("resolve", [resolved, resolve_range_end])
def test_time_that_is_none_in_utc_is_refused(resolve):
    with pytest.raises(InvalidInstantError, match="no such time in UTC"):
        resolve("0001-01-01 00:00:00+01:00", timeline(zone="UTC"))


@pytest.mark.parametrize("text", ["", "000", "2024", "20240131010203999"])
def test_digits_of_an_end_of_a_range_are_unchanged(text):
    assert resolve_range_end(text, timeline(zone="UTC")) == text


def test_end_of_a_range_with_a_zone_needs_a_timeline_in_utc():
    with pytest.raises(InvalidInstantError, match="Give the wall-clock time of that zone"):
        resolve_range_end("2024-01-31 01:02:03Z", timeline(zone="LOCAL"))


def test_range_has_the_commits_between_two_moments():
    table = timeline("20240131000000000", "20240131010000000", "20240131020000000", zone="UTC")
    ends = {"begin": "2024-01-31 02:30:00+02:00", "end": "2024-01-31 02:00:00.000+01:00"}
    query = resolve_query(table, ReadOptions.parse(ends), {})
    assert isinstance(query, RangeQuery)
    assert (query.commit_range.begin, query.commit_range.end) == (
        "20240131003000999",
        "20240131010000000",
    )


@pytest.mark.parametrize(
    ("zone", "instant"), [("UTC", "20240131003203999"), ("LOCAL", "20240131060203999")]
)
def test_time_of_a_session_is_a_moment_or_wall_clock_time_of_the_timeline(zone, instant):
    text = as_given("2024-01-31T06:02:03+05:30[Asia/Kolkata]")
    assert resolved(text, timeline(zone=zone)) == instant


@pytest.mark.parametrize(
    ("day", "instant"),
    [
        pytest.param("2024-01-15", "20240114230000000", id="winter"),
        pytest.param("2024-07-15", "20240714220000000", id="summer"),
    ],
)
def test_date_is_converted_with_the_offset_of_that_day(day, instant):
    with in_zone("CET-1CEST,M3.5.0,M10.5.0/3"):
        assert resolved(day, timeline(zone="UTC"), datetime.now(UTC)) == instant


@pytest.mark.parametrize(
    ("text", "times", "zone"),
    [
        pytest.param("2024-06-15 12:00:00.000", [], "UTC", id="now"),
        pytest.param("2024-06-16 01:59:59", [], "LOCAL", id="a-zone-may-be-14-hours-ahead"),
        pytest.param("2030-01-01", ["20300101000000000"], "LOCAL", id="last-instant-of-the-table"),
        pytest.param("20250101000000", ["20300101000000000"], "LOCAL", id="before-the-last"),
    ],
)
def test_instant_that_has_come_is_answered(text, times, zone):
    assert resolved(text, timeline(*times, zone=zone)) == parse_instant(text)


@pytest.mark.parametrize(
    ("text", "times", "zone", "last"),
    [
        pytest.param("2024-06-15 12:00:01.000", [], "UTC", "none", id="utc"),
        pytest.param("2024-06-16 02:00:00", [], "LOCAL", "none", id="local"),
        pytest.param(
            "99991231235959999", ["20240101000000000"], "LOCAL", "20240101000000000", id="far"
        ),
    ],
)
def test_future_instant_is_refused_and_the_last_one_named(text, times, zone, last):
    pattern = f"'{text}' is in the future.* The last instant of the table is {last};"
    with pytest.raises(FutureInstantError, match=pattern):
        resolved(text, timeline(*times, zone=zone))


def test_table_has_the_last_word_on_an_instant():
    with pytest.raises(TimeTravelError, match="20240131000000000"):
        resolved("2024-01-31", timeline(earliest="20240201"))
