"""Completed cleans, rollbacks and restores: what each of them did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hudi_pyspark.format.timeline.instant import Action, Instant
from hudi_pyspark.format.timeline.instant_body import body_parser
from hudi_pyspark.format.timeline.instant_metadata import (
    CleanMetadata,
    RollbackMetadata,
    clean_metadata_of,
    parse_restore_metadata,
    rollback_metadata_of,
)
from hudi_pyspark.table.archive import load_archived_metadata

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

_T = TypeVar("_T")


def completed_cleans(
    view: TableView, *, archived: bool
) -> Iterator[tuple[Instant, CleanMetadata, bool]]:
    """Yield completed cleans with what each removed, and whether it is archived."""
    return _completed(view, Action.CLEAN, clean_metadata_of, archived=archived)


def completed_rollbacks(
    view: TableView, *, archived: bool
) -> Iterator[tuple[Instant, RollbackMetadata, bool]]:
    """Yield completed rollbacks with what each did, and whether it is archived."""
    return _completed(view, Action.ROLLBACK, rollback_metadata_of, archived=archived)


def completed_restores(view: TableView) -> Iterator[tuple[Instant, RollbackMetadata, bool]]:
    """Yield completed restores of the active timeline as `completed_rollbacks` does."""
    for instant in view.timeline.of_action(Action.RESTORE):
        if instant.is_completed:
            yield instant, view.history.load(instant, parse_restore_metadata), False


def rolled_back_times(view: TableView) -> frozenset[str]:
    """Return the instants that rollbacks and restores of the active timeline undid.

    Raises:
        CorruptTimelineError: one of them cannot be decoded.
    """
    undone = [*completed_rollbacks(view, archived=False), *completed_restores(view)]
    return frozenset(time for _, rollback, _ in undone for time in rollback.rolled_back_times)


def _completed(
    view: TableView,
    action: Action,
    metadata_of: Callable[[Mapping[str, Any]], _T],
    *,
    archived: bool,
) -> Iterator[tuple[Instant, _T, bool]]:
    """Yield instant, metadata, and whether it is archived, archived ones first."""
    active = view.timeline.of_action(action)
    if archived:
        times = {instant.requested_time for instant in active}
        archived_instants = (i for i in view.history.archived if i.action is action)
        entries = [i for i in archived_instants if i.requested_time not in times]
        bodies = load_archived_metadata(view.storage, entries, metadata_of)
        for entry, metadata in zip(entries, bodies, strict=True):
            yield entry, metadata, True
    for instant in active:
        if instant.is_completed:
            yield instant, view.history.load(instant, body_parser(metadata_of)), False
