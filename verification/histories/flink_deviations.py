"""Accepted differences for tables that Apache Flink wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from hudi_pyspark import HudiTable
from verification.histories.compare import Answer, Failure, difference
from verification.histories.comparison import (
    Comparison,
    file_id,
    in_files,
    without_file_name,
)
from verification.histories.history import StepKind
from verification.histories.ours import read_ours
from verification.histories.queries import PARTIAL_PAYLOADS, Query, QueryKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_OPERATION = "_hoodie_operation"
_DELETING = ("D", "-U")


def timestamp_key_generator(c: Comparison) -> bool:
    """D8: the column of a timestamp-based key generator is text for Apache Hudi; others agree."""
    other = without_partition_columns(c)
    if other is None or isinstance(other.reference, Failure) or isinstance(other.ours, Failure):
        return False
    return not difference(other.reference, other.ours)


def without_partition_columns(c: Comparison) -> Comparison | None:
    """The same comparison without the columns of a timestamp-based key generator.

    It is without the filter, too, where that compares such a column.
    """
    fields = c.history.partition_fields
    if "TimestampBased" not in c.properties.get("hoodie.table.keygenerator.class", ""):
        return None

    def others(answer: Answer | Failure) -> Answer | Failure:
        if isinstance(answer, Failure):
            return answer
        kept = [n for n, name in enumerate(answer.names) if name not in fields]
        columns = tuple(answer.columns[n] for n in kept)
        return Answer(columns, tuple(tuple(row[n] for n in kept) for row in answer.rows))

    def ask_hudi(query: Query) -> Answer | Failure:
        return others(c.ask_hudi(query))

    query = c.query
    if any(f"`{field}`" in query.filter for field in fields):
        query = query.with_filter("")
    is_whole = query is not c.query
    theirs = c.ask_hudi(query) if is_whole else c.reference
    ours = read_ours(c.path, query) if is_whole else c.ours
    return replace(c, query=query, reference=others(theirs), ours=others(ours), ask_hudi=ask_hudi)


def operation_that_deletes(c: Comparison) -> bool:
    """D33: only keys differ of which a log record says that it is deleted.

    Apache Hudi merges such a record as if it were a row, and shows it, by these payload classes.
    """
    found = c.difference()
    if not found or c.payload not in PARTIAL_PAYLOADS or _OPERATION not in c.our_names:
        return False
    keys = _keys_deleted_by_operation(c.path)
    rows = (*found.missing, *found.extra)
    return all(c.column(row, "_hoodie_record_key") in keys for row in rows)


def _keys_deleted_by_operation(table: Path) -> frozenset[str]:
    records = (found["record"] for found in _log_records(table))
    deleted = (record for record in records if record and record.get(_OPERATION) in _DELETING)
    return frozenset(record["_hoodie_record_key"] for record in deleted)


def keys_in_delete_blocks(table: Path) -> frozenset[str]:
    """Return the record keys that delete blocks of data files name."""
    return frozenset(found["key"] for found in _log_records(table) if found["is_delete"])


def _log_records(table: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of the log files of a table's data."""
    inspect = HudiTable(str(table)).inspect
    for file in table.rglob(".*.log.*"):
        if ".hoodie" not in file.parts and not file.name.endswith((".crc", ".cdc")):
            yield from inspect.log_records(file.relative_to(table).as_posix()).to_pylist()


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
    names = [c.column(row, "_hoodie_file_name") or "" for row in (*found.missing, *found.extra)]
    if not all(file_id(name) in groups for name in names):
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
