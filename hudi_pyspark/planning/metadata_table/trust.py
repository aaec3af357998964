"""What the timeline must show before an index decides which files are read.

Apache Hudi updates its indexes while it writes, from what each commit knows then. Some histories
leave an index without rows that the table has; where one of these cannot be ruled out, the index is
left aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.format.timeline.commit_metadata import WriteOperationType
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, Action
from hudi_pyspark.table.table_services import known_rollbacks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata
    from hudi_pyspark.format.timeline.instant import Instant
    from hudi_pyspark.table.view import TableView

# Operations that look up each key before they write it, so that no two file groups hold it.
_KEEP_KEYS_UNIQUE = frozenset(
    {
        WriteOperationType.UPSERT,
        WriteOperationType.UPSERT_PREPPED,
        WriteOperationType.DELETE,
        WriteOperationType.DELETE_PREPPED,
        WriteOperationType.DELETE_PARTITION,
        WriteOperationType.CLUSTER,
        WriteOperationType.COMPACT,
        WriteOperationType.LOG_COMPACT,
        WriteOperationType.INDEX,
        WriteOperationType.ALTER_SCHEMA,
    }
)


def why_keys_may_repeat(table: TableView) -> str:
    """Return why several file groups may hold one key; "" if the table's history rules it out.

    An insert does not look keys up, and the record index has only the last place of a key.
    """
    operations = {commit.operation_type for commit in _commits(table)}
    by_insert = sorted(str(o) for o in operations - _KEEP_KEYS_UNIQUE)
    if by_insert:
        return f"commits of operation {', '.join(by_insert)} may have repeated keys"
    if table.history.archived:
        return "archived commits may have repeated keys"
    return ""


def why_rows_may_have_moved(table: TableView) -> str:
    """Return why rows may have moved between partitions; "" if the table's history rules it out.

    A secondary index gets a deletion from the old partition and an insertion from the new one, both
    of the same key and in no certain order.
    """
    for commit in _commits(table):
        losing = {partition for partition, stat in commit.all_stats() if stat.num_deletes}
        gaining = {partition for partition, stat in commit.all_stats() if stat.num_inserts}
        if losing and gaining and len(losing | gaining) > 1:
            return "a commit may have moved rows between partitions"
    return ""


def why_slices_may_have_differed(table: TableView) -> str:
    """Return why a commit may have seen other slices than a query; "" if that is ruled out.

    Statistics of a partition, and secondary keys, are computed from the latest slices *with files
    that are still being written*: such a slice hides the one below it, whose rows count until the
    commit completes. If it never does, nothing computes them again. A compaction is an exception,
    since it does that itself, for every partition that it was planned for.
    """
    pending = table.timeline.pending_writes
    if pending:
        return f"{pending[0].action} {pending[0].requested_time} is pending"
    known = [*(entry.instant for entry in table.history.archived), *table.timeline.completed]
    restore = next((i for i in known if i.action is Action.RESTORE), None)
    if restore is not None:
        return f"the table was restored at {restore.requested_time}"
    is_compaction = table.config.is_merge_on_read
    written = [i for i in known if i.action in COMMIT_ACTIONS]
    compactions = [i for i in written if is_compaction and i.action is Action.COMMIT]
    commits = [i for i in written if i not in compactions]
    spans = sorted([*map(_span, commits), *_undone(table)])
    until = ""
    for begin, end in spans:
        if begin < until:
            return f"commits at {begin} and before it overlapped"
        until = max(until, end)
    for _, end in map(_span, compactions):
        if any(begin < end < last for begin, last in spans):
            return f"a compaction ended at {end}, in the middle of a commit"
    return ""


def _span(commit: Instant) -> tuple[str, str]:
    return commit.requested_time, commit.completion_time or commit.requested_time


def _undone(table: TableView) -> Iterator[tuple[str, str]]:
    """Yield begin and end of commits that were rolled back: their files were there until then."""
    for instant, rollback, _ in known_rollbacks(table, archived=True):
        for time in rollback.rolled_back_times:
            yield time, _span(instant)[1]


def _commits(table: TableView) -> list[CommitMetadata]:
    return list(table.commit_metadata.of(table.commit_metadata).values())
