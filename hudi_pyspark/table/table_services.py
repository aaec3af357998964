"""Completed cleans, rollbacks and restores, with what each did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hudi_pyspark.format.timeline.instant import Action, Instant
from hudi_pyspark.format.timeline.instant_body import read_body, undecodable_as_corrupt
from hudi_pyspark.format.timeline.table_service_metadata import (
    clean_metadata_of,
    parse_restore_metadata,
    rollback_metadata_of,
)
from hudi_pyspark.table.archive import load_archived_bodies
from hudi_pyspark.table.timeline import instant_path, read_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hudi_pyspark.format.timeline.table_service_metadata import CleanMetadata, RollbackMetadata
    from hudi_pyspark.table.view import TableView

_T = TypeVar("_T")


def known_cleans(
    view: TableView, *, archived: bool
) -> Iterator[tuple[Instant, CleanMetadata, bool]]:
    """Yield completed cleans with what each removed, and whether it is archived."""
    return _known(view, Action.CLEAN, clean_metadata_of, archived=archived)


def known_rollbacks(
    view: TableView, *, archived: bool
) -> Iterator[tuple[Instant, RollbackMetadata, bool]]:
    """Yield completed rollbacks with what each did, and whether it is archived."""
    return _known(view, Action.ROLLBACK, rollback_metadata_of, archived=archived)


def known_restores(view: TableView) -> Iterator[tuple[Instant, RollbackMetadata]]:
    """Yield completed restores of the active timeline with what each did."""
    for instant in _completed(view, Action.RESTORE):
        path = instant_path(instant, view.config)
        yield instant, parse_restore_metadata(read_instant(view.storage, path), path=path)


def _known(
    view: TableView,
    action: Action,
    metadata_of: Callable[[Mapping[str, Any]], _T],
    *,
    archived: bool,
) -> Iterator[tuple[Instant, _T, bool]]:
    for instant, body, path, is_archived in _bodies(view, action, archived=archived):
        with undecodable_as_corrupt(path):
            metadata = metadata_of(body)
        yield instant, metadata, is_archived


def _bodies(
    view: TableView, action: Action, *, archived: bool
) -> Iterator[tuple[Instant, Mapping[str, Any], str, bool]]:
    """Yield instant, decoded body, path, and whether it is archived, archived ones first."""
    if archived:
        active = {i.requested_time for i in view.timeline.of_action(action)}
        entries = [
            entry
            for entry in view.history.archived
            if entry.action is action and entry.requested_time not in active
        ]
        bodies = load_archived_bodies(view.storage, entries)
        for entry, body in zip(entries, bodies, strict=True):
            yield entry.instant, body, entry.path, True
    for instant in _completed(view, action):
        path = instant_path(instant, view.config)
        yield instant, read_body(read_instant(view.storage, path), path=path), path, False


def _completed(view: TableView, action: Action) -> list[Instant]:
    return [i for i in view.timeline.of_action(action) if i.is_completed]
