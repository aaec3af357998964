"""Tables about the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from hudi_pyspark.format.commit_metadata import CommitMetadata
    from hudi_pyspark.format.instant import Instant
    from hudi_pyspark.table.view import TableView

_COMMITS = pa.schema(
    [
        pa.field("requested_time", pa.string()),
        pa.field("completion_time", pa.string()),  # null before table version 8
        pa.field("action", pa.string()),
        pa.field("operation", pa.string()),
        pa.field("partitions", pa.int64()),
        pa.field("files", pa.int64()),  # written; log files included
        pa.field("inserts", pa.int64()),
        pa.field("updates", pa.int64()),
        pa.field("deletes", pa.int64()),
        pa.field("bytes", pa.int64()),  # sizes of the files after the commit
        pa.field("replaced_file_groups", pa.int64()),
    ]
)


class Inspection:
    """What happened to a table, and what there is, as Arrow tables.

    Build it with `HudiTable.inspect`.
    """

    def __init__(self, view: TableView) -> None:
        self._view = view

    def commits(self) -> pa.Table:
        """Completed commits of the active timeline, oldest first, with what each wrote.

        Incremental ranges compare ``completion_time`` from table version 8 on and
        ``requested_time`` before; time travel compares ``requested_time``.
        """
        view = self._view
        rows = [_commit_row(c, view.commit_metadata[c.requested_time]) for c in view.commits]
        return pa.Table.from_pylist(rows, schema=_COMMITS)


def _commit_row(commit: Instant, metadata: CommitMetadata) -> dict[str, str | int | None]:
    stats = [stat for group in metadata.write_stats.values() for stat in group]
    return {
        "requested_time": commit.requested_time,
        "completion_time": commit.completion_time,
        "action": str(commit.action),
        "operation": str(metadata.operation_type.value),
        "partitions": len(metadata.write_stats),
        "files": len(stats),
        "inserts": sum(stat.num_inserts for stat in stats),
        "updates": sum(stat.num_update_writes for stat in stats),
        "deletes": sum(stat.num_deletes for stat in stats),
        "bytes": sum(stat.file_size for stat in stats),
        "replaced_file_groups": sum(len(ids) for ids in metadata.replaced_file_ids.values()),
    }
