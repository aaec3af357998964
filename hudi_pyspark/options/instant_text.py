"""Parse instants from text that users write."""

import re
from datetime import datetime, timezone

from hudi_pyspark.errors import InvalidInstantError
from hudi_pyspark.table.config import TableConfig

ZONED_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?)(Z|[+-]\d\d:\d\d)", re.ASCII
)

OF_THE_SESSION = " (session)"
"""Ends the instant of ``TIMESTAMP AS OF``, whose zone is that of a session of Spark."""


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
            f"{text!r} is not an instant. Accepted: yyyyMMddHHmmssSSS, yyyyMMddHHmmss, "
            "'yyyy-MM-dd HH:mm:ss.SSS', 'yyyy-MM-dd HH:mm:ss', 'yyyy-MM-dd'. Instants are "
            "wall-clock times of the table's timeline; only as.of.instant may have a zone (Z or "
            "+01:00), if that timeline is in UTC"
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
    parse_instant(ZONED_INSTANT.sub(r"\1", text.removesuffix(OF_THE_SESSION)))
    return text


def parse_range_instant(text: str) -> str:
    """Parse the begin or end of a range; it may be a prefix, e.g. 000, or ``earliest``.

    Raises:
        InvalidInstantError: the text is neither of them, nor an instant.
    """
    if text.lower() == "earliest":
        return "000"
    if re.fullmatch(r"[0-9]{1,17}", text):
        return text
    return parse_instant(text)


def wall_clock(moment: datetime, config: TableConfig) -> datetime:
    """Return the time that a table's timeline shows at a moment; it has no zone."""
    zone = timezone.utc if config.timeline_timezone == "UTC" else moment.tzinfo
    return moment.astimezone(zone).replace(tzinfo=None)


def local_now() -> datetime:
    """Return the present time in the zone of this machine."""
    return datetime.now(timezone.utc).astimezone()
