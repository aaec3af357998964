"""Completed cleans, rollbacks and restores, with what each did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.format.timeline.instant import Action, Instant
from hudi_pyspark.format.timeline.instant_body import undecodable_as_corrupt
from hudi_pyspark.format.timeline.table_service_metadata import (
    clean_metadata_of,
    parse_clean_metadata,
    parse_restore_metadata,
    parse_rollback_metadata,
    rollback_metadata_of,
)
from hudi_pyspark.table.archive import load_archived_bodies
from hudi_pyspark.table.timeline import instant_path, read_instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.format.timeline.table_service_metadata import (
        CleanMetadata,
        RestoreMetadata,
        RollbackMetadata,
    )
    from hudi_pyspark.table.archive import ArchivedInstant
    from hudi_pyspark.table.view import TableView


def known_cleans(
    view: TableView, *, archived: bool
) -> Iterator[tuple[Instant, CleanMetadata, bool]]:
    """Yield completed cleans with what each removed, and whether it is archived."""
    if archived:
        for entry, body in _archived(view, Action.CLEAN):
            with undecodable_as_corrupt(entry.path):
                clean = clean_metadata_of(body)
            yield entry.instant, clean, True
    for instant in _completed(view, Action.CLEAN):
        path = instant_path(instant, view.config)
        yield instant, parse_clean_metadata(read_instant(view.storage, path), path=path), False


def known_rollbacks(
    view: TableView, *, archived: bool
) -> Iterator[tuple[Instant, RollbackMetadata, bool]]:
    """Yield completed rollbacks with what each did, and whether it is archived."""
    if archived:
        for entry, body in _archived(view, Action.ROLLBACK):
            with undecodable_as_corrupt(entry.path):
                rollback = rollback_metadata_of(body)
            yield entry.instant, rollback, True
    for instant in _completed(view, Action.ROLLBACK):
        path = instant_path(instant, view.config)
        yield instant, parse_rollback_metadata(read_instant(view.storage, path), path=path), False


def known_restores(view: TableView) -> Iterator[tuple[Instant, RestoreMetadata]]:
    """Yield completed restores of the active timeline with what each did."""
    for instant in _completed(view, Action.RESTORE):
        path = instant_path(instant, view.config)
        yield instant, parse_restore_metadata(read_instant(view.storage, path), path=path)


def _archived(
    view: TableView, action: Action
) -> Iterator[tuple[ArchivedInstant, dict[str, object]]]:
    active = {i.requested_time for i in view.timeline.of_action(action)}
    entries = [
        entry
        for entry in view.history.archived
        if entry.action is action and entry.requested_time not in active
    ]
    bodies = load_archived_bodies(view.storage, entries)
    for entry, body in zip(entries, bodies, strict=True):
        yield entry, dict(body)


def _completed(view: TableView, action: Action) -> list[Instant]:
    return [i for i in view.timeline.of_action(action) if i.is_completed]
