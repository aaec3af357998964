"""Parse instants from text that users write."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidInstantError

if TYPE_CHECKING:
    from hudi_pyspark.table.config import TableConfig

ZONED_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?)(Z|[+-]\d\d:\d\d)(\[[^\[\]]+\])?",
    re.ASCII,
)
"""A wall-clock time, its offset and perhaps its zone, as in RFC 9557: ``…+05:30[Asia/Kolkata]``.

Spark makes an instant with a zone, that of the session, of a day or a time. An offset alone is a
moment; a zone says as well whose clock shows the time.
"""


def parse_instant(text: str) -> str:
    """Parse an instant into Hudi's digits, without any time-zone conversion.

    Accepted: 17 or 14 digits, ``yyyy-MM-dd HH:mm:ss[.SSS]`` (also with ``T``), ``yyyy-MM-dd``.
    A formatted time without milliseconds means the end of that second; a date means midnight.
    Microseconds, as Python writes them, are cut off: instants are in milliseconds.

    Raises:
        InvalidInstantError: the text has another form, or there is no such day or time.
    """
    if re.fullmatch(r"[0-9]{17}|[0-9]{14}", text):
        return text
    if not re.fullmatch(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.(\d{3}){1,2})?)?", text, re.ASCII):
        raise InvalidInstantError(
            f"{text!r} is not an instant",
            advice=(
                "Accepted: yyyyMMddHHmmssSSS, yyyyMMddHHmmss, 'yyyy-MM-dd HH:mm:ss.SSS', "
                "'yyyy-MM-dd HH:mm:ss', 'yyyy-MM-dd'. Instants are wall-clock times of the "
                "table's timeline; a time may have a zone (Z or +01:00), if that timeline is in "
                "UTC"
            ),
        )
    parts = re.findall("[0-9]+", text)  # year to second, and a fraction
    try:
        datetime(*map(int, parts[:6]))  # type: ignore[arg-type]  # noqa: DTZ001  (only whether there is such a time)
    except ValueError as error:
        raise InvalidInstantError(f"{text!r} is not an instant: {error}") from None
    missing_digits = {3: "000000000", 6: "999"}.get(len(parts), "")
    return ("".join(parts) + missing_digits)[:17]


def parse_as_of(text: str) -> str:
    """Check an instant, which may have a zone, and return it unchanged.

    Its meaning depends on the table: see `planning.time_travel.resolve_as_of`.

    Raises:
        InvalidInstantError: the text is not an instant.
    """
    parse_instant(_without_zone(text))
    return text


def _without_zone(text: str) -> str:
    zoned = ZONED_INSTANT.fullmatch(text)
    return text if zoned is None else zoned[1]


def names_zone(text: str) -> bool:
    """Return whether a text is an instant with the zone whose clock shows it."""
    zoned = ZONED_INSTANT.fullmatch(text)
    return zoned is not None and zoned[3] is not None


def parse_range_instant(text: str) -> str:
    """Parse the begin or end of a range into digits, without any time-zone conversion.

    Besides an instant it may be ``earliest``, zeros, or the first digits of an instant: of a year,
    or a whole year, month or day. No other number is cut off from an instant, e.g. Spark's number
    of a day or of a second.

    Raises:
        InvalidInstantError: the text is none of them.
    """
    if text.lower() == "earliest":
        return "000"
    if re.fullmatch(r"0{1,17}|[0-9]{1,4}", text) or _is_month_or_day(text):
        return text
    return parse_instant(text)


def _is_month_or_day(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{6}|[0-9]{8}", text):
        return False
    try:
        date(int(text[:4]), int(text[4:6]), int(text[6:] or "1"))
    except ValueError:
        return False
    return True


def parse_range_end(text: str) -> str:
    """Parse the begin or end of a range of a table; a time with a zone stays as it is.

    The meaning of a zone depends on the table: see `planning.time_travel.resolve_range_end`.

    Raises:
        InvalidInstantError: the text is no begin or end.
    """
    plain = _without_zone(text)
    digits = parse_range_instant(plain)
    return digits if plain == text else text


def wall_clock(moment: datetime, config: TableConfig) -> datetime:
    """Return the time that a table's timeline shows at a moment; it has no zone."""
    zone = timezone.utc if config.timeline_timezone == "UTC" else moment.tzinfo
    return moment.astimezone(zone).replace(tzinfo=None)


def present_instant(config: TableConfig, now: datetime) -> str:
    """Return the present time as the timeline's clock shows it at most, in digits."""
    # The zone of a LOCAL timeline is not recorded, but no zone is more than 14 hours ahead of UTC.
    lead = timedelta(hours=0 if config.timeline_timezone == "UTC" else 14)
    return (now.astimezone(timezone.utc) + lead).strftime("%Y%m%d%H%M%S%f")[:17]


def local_now() -> datetime:
    """Return the present time in the zone of this machine."""
    return datetime.now(timezone.utc).astimezone()
