"""Refusals of time travel to instants that cannot be answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.errors import TimeTravelError
from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.format.timeline.table_service_metadata import parse_clean_metadata
from hudi_pyspark.table.timeline import instant_path, read_instant

if TYPE_CHECKING:
    from hudi_pyspark.table.commit_history import CommitHistory


def check_as_of(history: CommitHistory, as_of: str) -> None:
    """Refuse an instant whose state may still change or is already cleaned away.

    Raises:
        TimeTravelError: with the first or last instant that can be answered.
    """
    incomplete = history.first_incomplete_commit()
    if incomplete is not None and as_of >= incomplete.requested_time:
        raise TimeTravelError(
            f"as.of.instant {as_of} is not before {incomplete.requested_time}, a "
            f"{incomplete.action} that has not completed, so the answer could still change. "
            "Ask for an earlier instant, or let the writer finish or roll back"
        )
    earliest = _earliest_retained(history)
    if earliest and as_of < earliest:
        raise TimeTravelError(
            f"as.of.instant {as_of} is before {earliest}, the earliest commit that the "
            "cleaner kept: its files may be gone. Ask for that instant or a later one, or "
            "raise the cleaner's retention (hoodie.cleaner.commits.retained)"
        )


def _earliest_retained(history: CommitHistory) -> str:
    """Return the earliest instant whose files the cleaner has kept; "" if it never ran."""
    cleans = [i for i in history.timeline.completed if i.action is Action.CLEAN]
    if not cleans:
        return ""
    path = instant_path(cleans[-1], history.config)
    clean = parse_clean_metadata(read_instant(history.storage, path), path=path)
    first_commit = history.commits[0].requested_time if history.commits else ""
    return clean.earliest_commit_to_retain or first_commit
