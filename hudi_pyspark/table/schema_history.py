"""Versions of a table's internal schema: commit metadata and ``.hoodie/.schema``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudi_pyspark.format.timeline.internal_schema import parse_internal_schema, parse_schema_history
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.internal_schema import InternalSchema
    from hudi_pyspark.table.view import TableView

SCHEMA_FOLDER = f"{METADATA_FOLDER}/.schema"
_HISTORY_FILE = re.compile(r"(\d+)(?:_\d+)?\.schemacommit")


def latest_internal_schema(view: TableView, as_of: str | None) -> InternalSchema | None:
    """Return the internal schema of the last commit up to an instant that carries one.

    None where columns were never changed with schema on read: then they match by name.
    """
    has_history = bool(_history_files(view))
    for commit in reversed(view.commits):
        time = commit.requested_time
        if as_of is not None and time > as_of:
            continue
        metadata = view.commit_metadata[time]
        if metadata.internal_schema_text:
            path = instant_path(commit, view.config)
            return parse_internal_schema(metadata.internal_schema_text, path=path)
        # Every change of columns leaves a history file. Without one the last commit that could
        # have changed them speaks for all, so that not every commit is read.
        if not has_history and not metadata.operation_type.is_table_service:
            return None
    return None


def internal_schema_versions(view: TableView) -> tuple[InternalSchema, ...]:
    """Return all known versions, oldest first; one per version id.

    The newest history file of a completed commit holds every version up to it. Commit metadata
    fills in where the history was not written.
    """
    versions: dict[int, InternalSchema] = {}
    known = view.commit_metadata.of(view.commit_metadata)
    for commit in view.commits:
        text = known[commit.requested_time].internal_schema_text
        if text:
            schema = parse_internal_schema(text, path=instant_path(commit, view.config))
            versions[schema.version_id] = schema
    for schema in _history(view):
        versions[schema.version_id] = schema
    return tuple(versions[version_id] for version_id in sorted(versions))


def _history_files(view: TableView) -> list[str]:
    """Return the names of history files whose instants have completed."""
    names = [file.name for file in view.storage.list_directory(SCHEMA_FOLDER)]
    matches = [match for name in names if (match := _HISTORY_FILE.fullmatch(name))]
    return [match.group(0) for match in matches if match.group(1) in view.committed]


def _history(view: TableView) -> tuple[InternalSchema, ...]:
    completed = _history_files(view)
    if not completed:
        return ()
    path = f"{SCHEMA_FOLDER}/{max(completed)}"
    return parse_schema_history(view.storage.read_bytes(path), path=path)
