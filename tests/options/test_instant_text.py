from datetime import datetime, timedelta, timezone

import pytest

from hudi_pyspark.errors import InvalidInstantError
from hudi_pyspark.options.instant_text import local_now, parse_instant, wall_clock
from hudi_pyspark.options.read_options import ReadOptions
from tests.table.tiny_table import TinyTable

UTC = timezone.utc


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("20240131010203456", "20240131010203456", id="17-digits"),
        pytest.param("20240131010203", "20240131010203", id="14-digits"),
        pytest.param("2024-01-31 01:02:03.456", "20240131010203456", id="milliseconds"),
        pytest.param("2024-01-31 01:02:03", "20240131010203999", id="end-of-the-second"),
        pytest.param("2024-01-31T01:02:03", "20240131010203999", id="T"),
        pytest.param("2024-01-31T01:02:03.4560"[:-1], "20240131010203456", id="T-milliseconds"),
        pytest.param("2024-01-31 01:02:03.456789", "20240131010203456", id="microseconds"),
        pytest.param("2024-01-31", "20240131000000000", id="midnight"),
        pytest.param("2024-02-29", "20240229000000000", id="leap-day"),
        pytest.param("0001-01-01", "00010101000000000", id="first-year"),
        pytest.param("2024-12-31 23:59:59", "20241231235959999", id="last-second"),
    ],
)
def test_instant_in_every_form(text, instant):
    assert parse_instant(text) == instant
    assert ReadOptions.parse({"as_of": text}).as_of == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "earliest",
        "2024-01-31 01:02",
        "2024-01-31 01:02:03.4",
        "2024-01-31 01:02:03.45678",
        "2024-01-31 01:02:03456",
        "2024-01-31T01:02:03z",
        "2024-01-31 01:02+01:00",
        " 2024-01-31",
        "2024-01-31\n",
        "2024/01/31",
        "2024-1-31",
        "1706662923",
        "202401310102034567",
        "2024013101020",
        "٢٠٢٤٠١٣١٠١٠٢٠٣",
        "٢٠٢٤-٠١-٣١",  # noqa: RUF001
    ],
)
def test_text_of_another_form_is_no_instant(text):
    with pytest.raises(
        InvalidInstantError, match=r"is not an instant\. Accepted: yyyyMMddHHmmssSSS"
    ):
        ReadOptions.parse({"as_of": text})


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-01-32 00:00:00",
        "2024-01-31 24:00:00",
        "2024-01-31 01:60:00",
        "2024-01-31 01:02:62.000",
        "0000-01-01",
    ],
)
def test_day_or_time_that_does_not_exist_is_no_instant(text):
    with pytest.raises(InvalidInstantError, match=f"'{text}' is not an instant: "):
        parse_instant(text)


def test_message_says_what_does_not_exist():
    with pytest.raises(InvalidInstantError, match=r"'2026-13-21' is not an instant: month must be"):
        parse_instant("2026-13-21")


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("earliest", "000"),
        *((each, each) for each in ("0", "000", "0" * 17, "2", "020", "2024", "202401")),
        *((each, each) for each in ("20240131", "20240131010203", "20240131010203456")),
        ("2024-01-31", "20240131000000000"),
        ("2024-01-31 01:02:03", "20240131010203999"),
        ("2024-01-31 01:02:03+01:00", "2024-01-31 01:02:03+01:00"),
        ("2024-01-31T01:02:03+00:00[UTC]", "2024-01-31T01:02:03+00:00[UTC]"),
        ("2024-01-31T01:02:03.456+01:00[Etc/GMT-1]", "2024-01-31T01:02:03.456+01:00[Etc/GMT-1]"),
    ],
)
def test_end_of_a_range_is_an_instant_or_its_first_digits(text, digits):
    found = ReadOptions.parse({"begin": text, "end": text}).incremental
    assert found is not None
    assert (found.begin, found.end) == (digits, digits)


@pytest.mark.parametrize(
    "text",
    [
        *("20778", "20410", "498681", "202413", "20240230"),  # Spark's day, and an hour
        *("1706662923", "1706662923000", "1706662923000000", "1706662923000000000"),
        *("2024-01", "-2024-01-31", "+12024-01-31 00:00:00", "12024-01-31", "latest", "None"),
        *("2024-01-31[UTC]", "2024-01-31T01:02:03[UTC]", "20778[UTC]", "2024-02-30 00:00:00+01:00"),
        *("2024-01-31T01:02:03Z[]", "2024-01-31T01:02:03Z[UTC][UTC]", "2024-02-30T00:00:00Z[UTC]"),
    ],
)
def test_number_or_text_of_another_kind_is_no_end_of_a_range(text):
    for name in ("begin", "end"):
        with pytest.raises(InvalidInstantError, match="is not an instant"):
            ReadOptions.parse({"begin": "000", name: text})


def test_present_time_is_that_of_the_clock():
    before = datetime.now(UTC)
    now = local_now().astimezone(UTC)
    assert before <= now <= datetime.now(UTC)


@pytest.mark.parametrize(("zone", "hour"), [("LOCAL", 8), ("UTC", 12)])
def test_clock_of_a_timeline_is_of_utc_or_of_the_zone_of_the_moment(zone, hour):
    config = TinyTable(6, table__timeline__timezone=zone).open().config
    moment = datetime(2024, 6, 15, 12, tzinfo=UTC).astimezone(timezone(timedelta(hours=-4)))
    clock = wall_clock(moment, config)
    assert clock.isoformat() == f"2024-06-15T{hour:02}:00:00"
