"""What table services did: compactions, cleans, rollbacks, savepoints, clusterings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.format.table_service_metadata import (
    RollbackMetadata,
    parse_rollback_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.table.view import TableView


def completed_rollbacks(view: TableView) -> Iterator[tuple[str, RollbackMetadata]]:
    """Requested time and metadata of each completed rollback of the active timeline."""
    for instant in view.timeline.of_action("rollback"):
        if instant.is_completed:
            path = view.instant_path(instant)
            yield (
                instant.requested_time,
                parse_rollback_metadata(view.read_instant(path), path=path),
            )
