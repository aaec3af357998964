"""The head of a report: what the table is, how large, and how its services are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from hudi_pyspark.table.file_groups import by_path, committed_files

if TYPE_CHECKING:
    from hudi_pyspark.report.facts import Facts

# By the lane of the timeline.
_SERVICES = {
    "compaction": "compaction",
    "log compaction": "log compaction",
    "clustering": "clustering",
    "clean": "cleaning",
    "rollback": "rollback",
    "savepoint": "savepoint",
}


def head(facts: Facts) -> dict[str, Any]:
    """Return the main facts."""
    config = facts.view.config
    last = facts.commits[-1] if facts.commits else {}
    time = last.get("completion_time") or last.get("requested_time")
    rows, is_exact = _rows(facts)
    archived = sum(mark["state"] == "archived" for mark in facts.marks)
    services = (_service(facts, lane, name) for lane, name in _SERVICES.items())
    return {
        "name": config.name,
        "database": config.database,
        "path": facts.view.storage.describe(""),
        "type": config.table_type.value,
        "version": config.version,
        "record_key_fields": config.record_key_fields,
        "ordering_fields": config.ordering_fields,
        "partition_fields": config.partition_fields,
        "merging": config.merge_mode or config.payload_class.rpartition(".")[2],
        "indexes": [name for name in config.metadata_partitions if name != "files"],
        "has_metadata_table": bool(config.metadata_partitions),
        "timezone": config.timeline_timezone,
        "rows": rows,
        "rows_are_exact": is_exact,
        "last_commit": time,
        "last_commit_age": facts.age(time),
        "last_operation": last.get("operation"),
        "active_instants": len(facts.marks) - archived,
        "archived_instants": archived,
        "services": [service for service in services if service],
        "listed_by": "storage" if facts.is_listed else "metadata table",
    }


def _service(facts: Facts, lane: str, name: str) -> dict[str, Any] | None:
    """Return the state of a table service; None if it never ran and is not always needed."""
    marks = [mark for mark in facts.marks if mark["lane"] == lane]
    is_needed = lane == "clean" or (lane == "compaction" and facts.view.config.is_merge_on_read)
    if not marks and not is_needed:
        return None
    done = [mark for mark in marks if mark["state"] in ("completed", "archived")]
    last = max((mark["completed"] or mark["instant"] for mark in done), default=None)
    counts = {"completed": len(done), "pending": len(marks) - len(done)}
    return {"service": name, **counts, "last": last, "last_age": facts.age(last)}


def _rows(facts: Facts) -> tuple[int | None, bool]:
    """Return the number of rows, and whether it is exact.

    Commits record the rows of base files; inserts of log files less their deletes are an estimate.
    None where the commits of base files are no longer known.
    """
    known = facts.partitions["rows"]
    if not known.null_count:
        return pc.sum(known).as_py() or 0, True
    metadata = {c.instant.requested_time: c.metadata for c in facts.known_commits}
    committed = by_path(committed_files(metadata))
    bases = facts.slices["base_file"].drop_null().to_pylist()
    if not all(path in committed for path in bases):
        return None, False
    logs = {path for chunk in facts.slices["log_files"].chunks for path in chunk.flatten().tolist()}
    stats = (stat for commit in metadata.values() for _, stat in commit.all_stats())
    changes = (stat.num_inserts - stat.num_deletes for stat in stats if stat.path in logs)
    return max(0, sum(committed[path].rows for path in bases) + sum(changes)), False
