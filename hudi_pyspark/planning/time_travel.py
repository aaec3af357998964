"""Check the instants of time-travel queries against the history of the table."""

from datetime import datetime, timezone

from hudi_pyspark.errors import FutureInstantError, InvalidInstantError, TimeTravelError
from hudi_pyspark.format.timeline.instant import RequestedTime
from hudi_pyspark.messages import warn
from hudi_pyspark.options.instant_text import (
    ZONED_INSTANT,
    parse_instant,
    present_instant,
)
from hudi_pyspark.table.view import TableView


def resolve_as_of(text: str, view: TableView, now: datetime) -> RequestedTime:
    """Return the instant of a time-travel query in Hudi's 17 or 14 digits.

    A date means midnight in the local time zone, which is converted if the timeline is in UTC, as
    Hudi does. Every other form without a zone is wall-clock time of the timeline already.

    Args:
        text: as the user wrote it, in a form of `parse_as_of`.
        view: the table.
        now: the present time, with its zone.

    Raises:
        InvalidInstantError: the text is not an instant, or has a zone although the zone of the
            timeline is unknown.
        FutureInstantError: the instant is after ``now`` and after the table's last instant.
        TimeTravelError: the state at the instant is no longer known.
    """
    is_utc = view.config.timeline_timezone == "UTC"
    text = _on_timeline(text, view)
    instant = RequestedTime(parse_instant(text))
    if len(text) == 10 and is_utc:
        # The offset is that of the day itself: summer and winter differ.
        midnight = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").astimezone(timezone.utc)
        instant = RequestedTime(midnight.strftime("%Y%m%d%H%M%S") + "000")
    last = max((i.requested_time for i in view.timeline.instants), default="")
    if instant > present_instant(view.config, now) and instant > last:
        raise FutureInstantError(
            f"as.of.instant {text!r} is in the future, so the answer could still change",
            advice=(
                f"The last instant of the table is {last or 'none'}; leave the option out to read "
                "the latest"
            ),
        )
    view.history.check_as_of(instant)
    return instant


def resolve_range_end(text: str, view: TableView) -> str:
    """Return the begin or end of a range in digits.

    Args:
        text: as `parse_range_end` returns it; "" for the latest.
        view: the table.

    Raises:
        InvalidInstantError: the text has a zone although the zone of the timeline is unknown.
    """
    plain = _on_timeline(text, view)
    return text if plain == text else parse_instant(plain)


def _on_timeline(text: str, view: TableView) -> str:
    """Return a time with a zone as the timeline's clock shows it, and any other text unchanged.

    Raises:
        InvalidInstantError: the zone of the timeline is unknown, or has no such time.
    """
    zoned = ZONED_INSTANT.fullmatch(text)
    if zoned is None:
        return text
    clock, offset, place = zoned.groups()
    if view.config.timeline_timezone != "UTC":
        if place is not None:  # that of the session, which is taken to be where the writers are
            return clock
        raise InvalidInstantError(
            f"instant {text!r} has a zone, but the timeline of the table is in the local zone of "
            "its writers, which is not recorded",
            advice="Give the wall-clock time of that zone",
        )
    offset = "+00:00" if offset == "Z" else offset  # Python 3.10 does not parse the Z
    try:
        moment = datetime.fromisoformat(clock + offset).astimezone(timezone.utc)
    except OverflowError:
        raise InvalidInstantError(
            f"{text!r} is not an instant: there is no such time in UTC"
        ) from None
    precision = "microseconds" if "." in clock else "seconds"
    return moment.replace(tzinfo=None).isoformat(" ", precision)


def check_first_commit(as_of: str, view: TableView, *, fails: bool) -> None:
    """Warn if the table had no commit yet at an instant, or refuse the instant.

    Args:
        as_of: the instant, in digits.
        view: the table.
        fails: whether to refuse.

    Raises:
        TimeTravelError: there was no commit, and ``fails`` is set.
    """
    # Delta commits count: a table that became COPY_ON_WRITE still has the base files they wrote.
    commits = view.history.all_commits
    first = commits[0].requested_time if commits else as_of
    # The archive is read only if the active timeline begins after the instant.
    if as_of >= first or view.history.instant_before(f"{as_of}~"):
        return
    message = f"as.of.instant {as_of} is before {first}, the first commit of the table"
    if fails:
        raise TimeTravelError(message, advice="Ask for that instant or a later one")
    warn(f"{message}: no rows (on_missing=fail refuses)")
