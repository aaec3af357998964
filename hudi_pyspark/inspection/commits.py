"""The instants and commits of a table, its properties, and the history of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.columns.type_text import type_text
from hudi_pyspark.errors import InvalidInstantError, UnsupportedTableError
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.data_files import BaseFileName, LogFileName, parse_data_file_name
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, Instant, moment_of
from hudi_pyspark.format.timeline.instant_metadata import commit_metadata_of
from hudi_pyspark.format.timeline.internal_schema import parse_internal_schema
from hudi_pyspark.inspection.definition import InspectionRows, instant_row, with_columns
from hudi_pyspark.table.archive import ArchivedInstant, load_archived_metadata
from hudi_pyspark.table.schema import resolve_schema
from hudi_pyspark.table.timeline import instant_path
from hudi_pyspark.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, WriteStat
    from hudi_pyspark.table.view import TableView

# Columns, and the fields of a write statistic that they sum.
_COUNTED = {
    "records": "num_writes",
    "inserts": "num_inserts",
    "updates": "num_update_writes",
    "deletes": "num_deletes",
    "errors": "total_write_errors",
    "bytes": "file_size",
    "written_bytes": "total_write_bytes",
}

_SCHEMAS = ("schema", "latest_schema")  # `schema_history` shows them


def known_instants(view: TableView, *, archived: bool) -> list[tuple[Instant, bool]]:
    """Return the instants in order of requested time, each with whether it is archived.

    Args:
        view: the table.
        archived: whether to read the archive, and include its instants.

    Raises:
        CorruptTimelineError: a file of the archive cannot be decoded.
    """
    active = {(i.requested_time, i.comparable_action) for i in view.timeline.instants}
    archive = view.history.archived if archived else ()
    # Writers archive an instant before they delete it from the active timeline.
    old = [(e, True) for e in archive if (e.requested_time, e.comparable_action) not in active]
    instants = [*((i, False) for i in view.timeline.instants), *old]
    return sorted(instants, key=lambda known: (known[0].requested_time, str(known[0].action)))


@with_columns("requested_time, completion_time, action, state, archived bool, path")
def timeline(view: TableView, *, archived: bool) -> Iterator[dict[str, object]]:
    """Yield one row per instant; see `Inspection.timeline`."""
    for i, is_archived in known_instants(view, archived=archived):
        path = i.path if isinstance(i, ArchivedInstant) else instant_path(i, view.config)
        yield {**instant_row(i), "archived": is_archived, "path": path}


@dataclass(frozen=True, slots=True)
class KnownCommit:
    """A completed commit and its metadata."""

    instant: Instant
    metadata: CommitMetadata
    is_archived: bool


def known_commits(view: TableView, *, archived: bool) -> list[KnownCommit]:
    """Return the completed commits in order of requested time.

    Args:
        view: the table.
        archived: whether to read the archive, and include its commits.

    Raises:
        CorruptTimelineError: a file of the timeline or of its archive cannot be decoded.
    """
    loaded = view.history.metadata_of()
    active = [
        KnownCommit(c, loaded[c.requested_time], is_archived=False) for c in view.history.commits
    ]
    if not archived:
        return active
    archived_commits = (i for i in view.history.archived if i.action in COMMIT_ACTIONS)
    instants = [i for i in archived_commits if i.requested_time not in loaded]
    bodies = load_archived_metadata(view.storage, instants, commit_metadata_of)
    old = [KnownCommit(i, body, is_archived=True) for i, body in zip(instants, bodies, strict=True)]
    return sorted([*old, *active], key=lambda c: c.instant.requested_time)


@with_columns(
    "requested_time, completion_time, action, operation, archived bool, partitions int, files int, "
    f"new_files int, {' int, '.join(_COUNTED)} int, replaced_file_groups int, milliseconds int, "
    "extra_metadata map"
)
def commits(loaded_commits: Iterable[KnownCommit]) -> Iterator[dict[str, object]]:
    """Yield one row per commit; see `Inspection.commits`."""
    for commit in loaded_commits:
        metadata = commit.metadata
        stats = [stat for _, stat in metadata.all_stats()]
        extra = [item for item in metadata.extra_metadata.items() if item[0] not in _SCHEMAS]
        begin, end = map(moment_of, (commit.instant.requested_time, commit.instant.completion_time))
        duration = None if begin is None or end is None else (end - begin).total_seconds()
        yield {
            **instant_row(commit.instant),
            "operation": metadata.operation_type.value,
            "archived": commit.is_archived,
            "partitions": len(metadata.write_stats),
            "files": len(stats),
            "new_files": sum(stat.prev_commit is None for stat in stats),
            **counts_of(stats),
            "replaced_file_groups": sum(map(len, metadata.replaced_file_ids.values())),
            "milliseconds": None if duration is None else round(duration * 1000),
            "extra_metadata": extra,
        }


@with_columns(
    "requested_time, completion_time, action, partition_path, file_id, path, kind, "
    f"previous_commit, {' int, '.join(_COUNTED)} int, cdc_files texts"
)
def commit_files(view: TableView, instant: str) -> Iterator[dict[str, object]]:
    """Yield one row per write statistic of a commit; see `Inspection.commit_files`."""
    commit = _find_commit(view, instant)
    for partition_path, stat in commit.metadata.all_stats():
        yield {
            **instant_row(commit.instant),
            "partition_path": partition_path,
            "file_id": stat.file_id,
            "path": stat.path,
            "kind": file_kind(stat.path),
            "previous_commit": stat.prev_commit,
            **counts_of([stat]),
            "cdc_files": [path for path, _ in stat.cdc_files],
        }


def _find_commit(view: TableView, instant: str) -> KnownCommit:
    """Return the active or archived commit with that requested or completion time."""
    for with_archive in (False, True):
        commits_found = known_commits(view, archived=with_archive)
        for commit in commits_found:
            if instant in (commit.instant.requested_time, commit.instant.completion_time):
                return commit
    times = [commit.instant.requested_time for commit in commits_found]
    hint = did_you_mean(instant, times, cutoff=0) or ", since nothing has been committed yet"
    raise InvalidInstantError(
        f"{instant!r} is not the requested or completion time of a completed commit{hint}"
    )


def file_kind(path: str) -> str:
    """Return ``base``, ``log`` or ``cdc`` by a file's path; "" if it belongs to no file group."""
    name = parse_data_file_name(path.rpartition("/")[2])
    return kind_of(name) if name is not None else ""


def kind_of(name: BaseFileName | LogFileName) -> str:
    """Return ``base``, ``log`` or ``cdc`` by a file's parsed name."""
    return name.kind.value if isinstance(name, LogFileName) else "base"


def counts_of(stats: Sequence[WriteStat]) -> dict[str, object]:
    """Sum the write statistics of files, by the columns that show the sums."""
    return {column: sum(getattr(s, name) for s in stats) for column, name in _COUNTED.items()}


def known_schema(view: TableView) -> pa.Schema:
    """Return the latest schema of a table; no columns if the table has no schema yet.

    Raises:
        CorruptTableError: a commit, or its schema, cannot be decoded.
    """
    try:
        return resolve_schema(view)
    except UnsupportedTableError:
        return pa.schema([])


@with_columns("key, value")
def properties(view: TableView) -> InspectionRows:
    """Return one row per property; see `Inspection.properties`."""
    return [{"key": k, "value": v} for k, v in sorted(view.config.properties.items())]


@with_columns(
    "requested_time, completion_time, operation, version_id int, added texts, dropped texts, "
    "changed texts, columns int, avro_schema"
)
def schema_history(view: TableView) -> Iterator[dict[str, object]]:
    """Yield one row per change of the columns; see `Inspection.schema_history`.

    Raises:
        CorruptAvroError: the schema of a commit is not valid.
        UnsupportedTypeError: the schema of a commit is not of a record, or nested too deeply.
    """
    earlier: dict[str, str] = {}
    last_text = ""
    last_version = None
    for commit in known_commits(view, archived=True):
        text = commit.metadata.schema_text
        internal = commit.metadata.internal_schema_text
        path = instant_path(commit.instant, view.config)
        version = parse_internal_schema(internal, path=path).version_id if internal else None
        if not text or (text == last_text and version == last_version):
            continue
        types = {field.name: type_text(field.type) for field in arrow_schema(parse_schema(text))}
        # Writers spell schemas differently (record names, defaults), so the columns are compared.
        if version != last_version or list(types.items()) != list(earlier.items()):
            changed = [n for n in types if n in earlier and earlier[n] != types[n]]
            yield {
                **instant_row(commit.instant),
                "operation": commit.metadata.operation_type.value,
                "version_id": version,
                "added": [f"{name}: {kind}" for name, kind in types.items() if name not in earlier],
                "dropped": [f"{n}: {kind}" for n, kind in earlier.items() if n not in types],
                "changed": [f"{name}: {earlier[name]} -> {types[name]}" for name in changed],
                "columns": len(types),
                "avro_schema": text,
            }
        last_text = text
        last_version = version
        earlier = types
