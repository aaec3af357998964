"""The commits of a table, file by file, and its definition: properties, and columns over time."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.columns.type_text import type_text
from hudi_pyspark.errors import InvalidInstantError
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.file_name import (
    BaseFileName,
    LogFileName,
    NotADataFile,
    parse_data_file_name,
)
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, moment_of
from hudi_pyspark.format.timeline.internal_schema import parse_internal_schema
from hudi_pyspark.inspection.timeline import instant_row, schema_of
from hudi_pyspark.table.archive import load_archived_commits
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, WriteStat
    from hudi_pyspark.table.view import TableView

# Column to the field of a write statistic.
_COUNTED = {
    "records": "num_writes",
    "inserts": "num_inserts",
    "updates": "num_update_writes",
    "deletes": "num_deletes",
    "errors": "total_write_errors",
    "bytes": "file_size",
    "written_bytes": "total_write_bytes",
}

_SCHEMAS = ("schema", "latest_schema")  # which `schema_history` shows

COMMITS = schema_of(
    "requested_time, completion_time, action, operation, archived bool, partitions int, files int, "
    f"new_files int, {' int, '.join(_COUNTED)} int, replaced_file_groups int, milliseconds int, "
    "extra_metadata map"
)

COMMIT_FILES = schema_of(
    "requested_time, completion_time, action, partition_path, file_id, path, kind, "
    f"previous_commit, {' int, '.join(_COUNTED)} int, cdc_files texts"
)
PROPERTIES = schema_of("key, value")
SCHEMA_HISTORY = schema_of(
    "requested_time, completion_time, operation, version_id int, added texts, dropped texts, "
    "changed texts, columns int, avro_schema"
)


@dataclass(frozen=True, slots=True)
class KnownCommit:
    """A completed commit and its metadata."""

    instant: Instant
    metadata: CommitMetadata
    is_archived: bool


def known_commits(view: TableView, *, archived: bool) -> list[KnownCommit]:
    """Return completed commits in order of requested time, on request with archived ones."""
    loaded = view.commit_metadata.of(c.requested_time for c in view.commits)
    active = [KnownCommit(c, loaded[c.requested_time], is_archived=False) for c in view.commits]
    if not archived:
        return active
    entries = [
        entry
        for entry in view.history.archived
        if entry.action in COMMIT_ACTIONS and entry.requested_time not in loaded
    ]
    bodies = load_archived_commits(view.storage, entries)
    old = [
        KnownCommit(entry.instant, body, is_archived=True)
        for entry, body in zip(entries, bodies, strict=True)
    ]
    return sorted([*old, *active], key=lambda c: c.instant.requested_time)


def commits(view: TableView, *, archived: bool) -> pa.Table:
    """Return one row per completed commit; see `Inspection.commits`."""
    return table_of_commits(known_commits(view, archived=archived))


def table_of_commits(known: Iterable[KnownCommit]) -> pa.Table:
    """Return one row per commit."""
    return pa.Table.from_pylist([_commit_row(commit) for commit in known], schema=COMMITS)


def commit_files(view: TableView, instant: str) -> pa.Table:
    """Return one row per write statistic of a commit; see `Inspection.commit_files`."""
    commit = find_commit(view, instant)
    rows = [_file_row(commit.instant, *entry) for entry in commit.metadata.all_stats()]
    return pa.Table.from_pylist(rows, schema=COMMIT_FILES)


def find_commit(view: TableView, instant: str) -> KnownCommit:
    """Return the active or archived commit with that requested or completion time."""
    for with_archive in (False, True):
        known = known_commits(view, archived=with_archive)
        for commit in known:
            if instant in (commit.instant.requested_time, commit.instant.completion_time):
                return commit
    times = [commit.instant.requested_time for commit in known]
    near = difflib.get_close_matches(instant, times, n=1, cutoff=0.0)
    hint = f"; the nearest is {near[0]}" if near else ", since nothing has been committed yet"
    raise InvalidInstantError(
        f"{instant!r} is not the requested or completion time of a completed commit{hint}"
    )


def data_file_name(name: str) -> BaseFileName | LogFileName | None:
    """Parse the name of a file; None for a file that is not part of a file group."""
    try:
        return parse_data_file_name(name)
    except NotADataFile:
        return None


def file_kind(path: str) -> str:
    """Return ``base``, ``log``, ``cdc``, or "" for a file that is not part of a file group."""
    name = data_file_name(path.rpartition("/")[2])
    return kind_of(name) if name is not None else ""


def kind_of(name: BaseFileName | LogFileName) -> str:
    """Return ``base``, ``log`` or ``cdc``."""
    return name.kind.value if isinstance(name, LogFileName) else "base"


def counts_of(stats: Sequence[WriteStat]) -> dict[str, object]:
    """Return the sums of what some files had written into them, by column."""
    return {column: sum(getattr(s, name) for s in stats) for column, name in _COUNTED.items()}


def _commit_row(commit: KnownCommit) -> dict[str, object]:
    metadata = commit.metadata
    stats = [stat for _, stat in metadata.all_stats()]
    return {
        **instant_row(commit.instant),
        "operation": metadata.operation_type.value,
        "archived": commit.is_archived,
        "partitions": len(metadata.write_stats),
        "files": len(stats),
        "new_files": sum(stat.prev_commit is None for stat in stats),
        **counts_of(stats),
        "replaced_file_groups": sum(len(ids) for ids in metadata.replaced_file_ids.values()),
        "milliseconds": _milliseconds(commit.instant),
        "extra_metadata": [
            item for item in metadata.extra_metadata.items() if item[0] not in _SCHEMAS
        ],
    }


def _milliseconds(instant: Instant) -> int | None:
    """Return the time from request to completion; None where the timeline does not record it."""
    begin, end = moment_of(instant.requested_time), moment_of(instant.completion_time)
    if begin is None or end is None:
        return None
    return round((end - begin).total_seconds() * 1000)


def _file_row(commit: Instant, partition_path: str, stat: WriteStat) -> dict[str, object]:
    return {
        **instant_row(commit),
        "partition_path": partition_path,
        "file_id": stat.file_id,
        "path": stat.path,
        "kind": file_kind(stat.path),
        "previous_commit": stat.prev_commit,
        **counts_of([stat]),
        "cdc_files": [path for path, _ in stat.cdc_files],
    }


def properties(view: TableView) -> pa.Table:
    """Return one row per property; see `Inspection.properties`."""
    rows = [{"key": k, "value": v} for k, v in sorted(view.config.properties.items())]
    return pa.Table.from_pylist(rows, schema=PROPERTIES)


def schema_history(view: TableView) -> pa.Table:
    """Return one row per change of the columns; see `Inspection.schema_history`."""
    rows = []
    earlier: dict[str, str] = {}
    last_text, last_version = "", None
    for commit in known_commits(view, archived=True):
        text = commit.metadata.schema_text
        internal = commit.metadata.internal_schema_text
        path = instant_path(commit.instant, view.config)
        version = parse_internal_schema(internal, path=path).version_id if internal else None
        if not text or (text == last_text and version == last_version):
            continue
        types = {field.name: type_text(field.type) for field in arrow_schema(parse_schema(text))}
        both = [name for name in types if name in earlier]
        row = {
            **instant_row(commit.instant),
            "operation": commit.metadata.operation_type.value,
            "version_id": version,
            "added": [f"{name}: {kind}" for name, kind in types.items() if name not in earlier],
            "dropped": [f"{name}: {kind}" for name, kind in earlier.items() if name not in types],
            "changed": [f"{n}: {earlier[n]} -> {types[n]}" for n in both if earlier[n] != types[n]],
            "columns": len(types),
            "avro_schema": text,
        }
        # Writers spell schemas differently (record names, defaults): only columns are compared.
        if version != last_version or list(types.items()) != list(earlier.items()):
            rows.append(row)
        last_text, last_version, earlier = text, version, types
    return pa.Table.from_pylist(rows, schema=SCHEMA_HISTORY)
