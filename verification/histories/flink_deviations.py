"""Accepted differences for tables that Apache Flink wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from verification.histories.compare import Answer, Failure, difference
from verification.histories.comparison import Comparison, in_files, without_file_name
from verification.histories.history import StepKind
from verification.histories.instants import data_logs
from verification.histories.queries import PARTIAL_PAYLOADS, QueryKind

_OPERATION = "_hoodie_operation"
_DELETING = ("D", "-U")


def operation_that_deletes(c: Comparison) -> bool:
    """D33: only keys differ of which a log record says that it is deleted.

    Apache Hudi merges such a record as if it were a row, and shows it, by these payload classes.
    """
    if c.payload not in PARTIAL_PAYLOADS or _OPERATION not in c.our_names:
        return False
    found = c.rows_that_differ()
    records = (found["record"] for found in _log_records(c))
    deleted = (record for record in records if record and record.get(_OPERATION) in _DELETING)
    keys = {record["_hoodie_record_key"] for record in deleted}
    return all(
        c.column(row, "_hoodie_record_key") in keys for row in (*found.missing, *found.extra)
    )


def keys_in_delete_blocks(c: Comparison) -> frozenset[str]:
    """Return the record keys that delete blocks of data files name."""
    return frozenset(found["key"] for found in _log_records(c) if found["is_delete"])


def _log_records(c: Comparison) -> Iterator[dict[str, Any]]:
    for log in data_logs(c.path):
        yield from c.inspect.log_records(log).to_pylist()


def logs_of_compacted_groups(c: Comparison) -> bool:
    """D34: 1.2.0 reads log files again that a compaction by Flink has merged."""
    if isinstance(c.reference, Failure) or isinstance(c.ours, Failure):
        return False
    return agree_but_for_compacted_logs(c, c.reference, c.ours)


def agree_but_for_compacted_logs(c: Comparison, theirs: Answer, ours: Answer) -> bool:
    """Whether answers differ only where a log file is older than its completion shows.

    These rows name the group instead of the base file that has them, too. Without merge there is
    one more of each. A row that the compaction kept though its operation deletes is deleted when
    its log record is merged again.
    """
    found = difference(theirs, ours)
    if not found:
        return True
    groups = _groups_compacted_early(c.path)
    if found.columns or c.table_version >= 8 or not groups:
        return False
    if not groups.issuperset(c.file_ids((*found.missing, *found.extra))):
        return False
    missing, extra = (without_file_name(c, side) for side in (found.missing, found.extra))
    if c.query.kind is QueryKind.SKIP_MERGE:
        return not found.extra and in_files(c, found.missing)
    names = [name for name in c.our_names if name != "_hoodie_file_name"]
    kept = [dict(zip(names, row, strict=True)) for row in extra - missing]
    return not missing - extra and all(row.get(_OPERATION) in _DELETING for row in kept)


def _groups_compacted_early(table: Path) -> frozenset[str]:
    """Return groups with a base file whose instant is lower than the completion of their log.

    Flink gives a compaction an instant between the last commit and the next. Before version 8
    1.2.0 takes the modification time of the commit's file for the completion.
    """
    found = set()
    for log in table.rglob(".*.log.*"):
        named = re.match(r"\.(.+?)_(\d+)\.log\.", log.name)
        commit = table / ".hoodie" / f"{named[2]}.deltacommit" if named else None
        if named is None or commit is None or not commit.exists():
            continue
        completion = datetime.fromtimestamp(commit.stat().st_mtime, timezone.utc)
        until = completion.strftime("%Y%m%d%H%M%S%f")[:17]
        bases = (base.stem.rpartition("_")[2] for base in log.parent.glob(f"{named[1]}_*.parquet"))
        if any(named[2] < base < until for base in bases):
            found.add(named[1])
    return frozenset(found)


def flink_served_offline(c: Comparison) -> bool:
    """Whether a job of Flink beside the writer compacted or clustered the table."""
    has_metadata = c.history.options.get("hoodie.metadata.enable") == "true"
    kinds = {step.kind for step in c.history.steps}
    is_served = not kinds.isdisjoint((StepKind.COMPACT, StepKind.CLUSTER))
    return c.history.hudi.startswith("flink") and has_metadata and is_served
