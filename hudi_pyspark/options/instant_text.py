"""Instants out of the text that a user gives."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hudi_pyspark.errors import FutureInstantError, InvalidInstantError

if TYPE_CHECKING:
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.view import TableView

_ZONED = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?)[+-]\d\d:\d\d", re.ASCII
)


def parse_instant(text: str) -> str:
    """Parse a user's text into Hudi's digits, without any time-zone conversion.

    Accepted: 17 or 14 digits, ``yyyy-MM-dd HH:mm:ss[.SSS]`` (also with ``T``), ``yyyy-MM-dd``.
    Without milliseconds a formatted time means the end of that second, a date means midnight.
    Microseconds, as Python writes them, are cut off: instants are in milliseconds.
    InvalidInstantError: anything else.
    """
    if re.fullmatch(r"[0-9]{17}|[0-9]{14}", text):
        return text
    match = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(\.\d{3})?(?:(?<=\.\d{3})\d{3})?)?",
        text,
        re.ASCII,
    )
    if match is None:
        raise InvalidInstantError(
            f"{text!r} is not an instant. Accepted: yyyyMMddHHmmssSSS, yyyyMMddHHmmss, "
            "'yyyy-MM-dd HH:mm:ss.SSS', 'yyyy-MM-dd HH:mm:ss', 'yyyy-MM-dd'; no zone offsets, "
            "since instants are wall-clock times of the table's timeline"
        )
    day, time, fraction = match.groups()
    millis = fraction[1:] if fraction else ("999" if time else "000")
    digits = re.sub("[-:]", "", day + (time or "000000"))
    try:
        datetime.strptime(digits, "%Y%m%d%H%M%S")  # noqa: DTZ007  (only whether there is such a time)
    except ValueError as error:
        raise InvalidInstantError(f"{text!r} is not an instant: {error}") from None
    return digits + millis


def parse_as_of(text: str) -> str:
    """Check an instant, maybe with a zone, and return it as it is: its meaning is the table's."""
    parse_instant(_ZONED.sub(r"\1", text))
    return text


def parse_range_instant(text: str) -> str:
    """Parse the begin or end of a range: also a prefix, e.g. 000, or ``earliest``."""
    if text.lower() == "earliest":
        return "000"
    if re.fullmatch(r"[0-9]{1,17}", text):
        return text
    return parse_instant(text)


def resolve_as_of(text: str, view: TableView, now: datetime) -> str:
    """Return the instant of a time-travel query, checked against the table's timeline.

    A bare date is midnight of the local zone; where the timeline runs in UTC it is converted, as
    Hudi does. Every other form is wall-clock time of the timeline already.

    Raises:
        InvalidInstantError: the text is not an instant, or has a zone although that of the timeline
            is not recorded.
        FutureInstantError: it is after the table's last instant and after ``now``.
    """
    if _ZONED.fullmatch(text):
        if view.config.timeline_timezone != "UTC":
            raise InvalidInstantError(
                f"as.of.instant {text!r} has a zone, but the timeline of the table is in the local "
                "zone of its writers, which is not recorded: give the wall-clock time of that zone"
            )
        moment = datetime.fromisoformat(text).astimezone(timezone.utc)
        text = str(moment.replace(tzinfo=None))
    instant = parse_instant(text)
    if len(text) == 10 and view.config.timeline_timezone == "UTC":
        # With the offset of that day, since summer and winter differ.
        midnight = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").astimezone(timezone.utc)
        instant = midnight.strftime("%Y%m%d%H%M%S") + "000"
    # The zone of a LOCAL timeline is not recorded; no zone is more than 14 hours ahead of UTC.
    lead = timedelta(0) if view.config.timeline_timezone == "UTC" else timedelta(hours=14)
    latest_now = (now.astimezone(timezone.utc) + lead).strftime("%Y%m%d%H%M%S%f")[:17]
    last = max((i.requested_time for i in view.timeline.instants), default="")
    if instant > latest_now and instant > last:
        raise FutureInstantError(
            f"as.of.instant {text!r} is in the future, so the answer could still change. The last "
            f"instant of the table is {last or 'none'}; leave the option out to read the latest"
        )
    view.history.check_as_of(instant)
    return instant


def wall_clock(moment: datetime, config: TableConfig) -> datetime:
    """Return a moment that has a zone on the clock of a table's timeline, without a zone."""
    zone = timezone.utc if config.timeline_timezone == "UTC" else moment.tzinfo
    return moment.astimezone(zone).replace(tzinfo=None)


def local_now() -> datetime:
    """Return the present time in the zone of this machine."""
    return datetime.now(timezone.utc).astimezone()
