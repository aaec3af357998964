"""The blocks of log files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.inspection.salvaged_log import relative_path, salvage_logs

if TYPE_CHECKING:
    from hudi_pyspark.inspection.salvaged_log import SalvagedBlock
    from hudi_pyspark.table.view import TableView

LOG_BLOCKS = pa.schema(
    [
        ("path", pa.string()),
        ("block", pa.int64()),
        ("offset", pa.int64()),
        ("bytes", pa.int64()),
        ("type", pa.string()),
        ("instant_time", pa.string()),
        ("is_committed", pa.bool_()),
        ("target_instant_time", pa.string()),
        ("records", pa.int64()),
        ("is_partial", pa.bool_()),
        ("compacted_instants", pa.list_(pa.string())),
        ("content_offset", pa.int64()),
        ("content_bytes", pa.int64()),
        ("header", pa.map_(pa.string(), pa.string())),
        ("problem", pa.string()),
    ]
)


def log_blocks(view: TableView, path: str | None) -> pa.Table:
    """Return one row per block; see `Inspection.log_blocks`."""
    rows = []
    for file in salvage_logs(view, _paths(view, path)):
        rows += [_block_row(view, block) for block in file.blocks]
        if file.problem:
            damage = {"offset": file.size, "bytes": file.missing_bytes, "problem": file.problem}
            rows.append({"path": file.path, **damage})
    return pa.Table.from_pylist(rows, schema=LOG_BLOCKS)


def _paths(view: TableView, path: str | None) -> list[str]:
    if path is not None:
        return [relative_path(view, path)]
    slices = view.file_slices(check_files=False)
    return [log.path for file_slice in slices for log in file_slice.log_files]


def _block_row(view: TableView, salvaged: SalvagedBlock) -> dict[str, object]:
    block = salvaged.block
    time = block.instant_time
    return {
        "path": block.path,
        "block": salvaged.number,
        "offset": block.offset,
        "bytes": block.size,
        "type": block.block_type.name,
        "instant_time": time,
        "is_committed": time in view.committed if time is not None else None,
        "target_instant_time": block.target_instant_time,
        "records": salvaged.record_count,
        "is_partial": block.is_partial,
        "compacted_instants": block.compacted_block_times,
        "content_offset": block.content_offset,
        "content_bytes": len(block.content),
        "header": [(key.name, text) for key, text in block.header.items()],
        "problem": salvaged.problem or None,
    }
