"""The records of a slice's log files, merged as a read merges them."""

import posixpath

import numpy as np
import pyarrow as pa

from hudi_pyspark.custom_mergers import registered_payloads
from hudi_pyspark.errors import InvalidOptionError, MissingFileError
from hudi_pyspark.format.data_files import LogFileName, LogKind
from hudi_pyspark.inspection.log_blocks import relative_path, salvage_logs
from hudi_pyspark.inspection.record_rows import (
    damage_rows,
    ordering_texts,
    records_table,
    structs,
)
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.slice_tasks import SliceQuery, TablePlanner
from hudi_pyspark.reading.merge.fold import fold_log
from hudi_pyspark.reading.merge_sides import log_decoder
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.log_files import scan_blocks
from hudi_pyspark.table.view import TableView


def merged_records(view: TableView, path: str) -> pa.Table:
    """Return one row per key of the slice of a log file; see `Inspection.log_records`.

    The base file of the slice takes no part.
    """
    file_slice = _slice_of(view, relative_path(view, path))
    paths = [log.path for log in file_slice.log_files if log.is_listed]
    files = list(salvage_logs(view, paths))
    planner = TablePlanner(view, ReadOptions(use_record_positions=False), registered_payloads())
    query = SliceQuery(planner.table_schema, view.slices.last_instant)
    task = planner.tasks([file_slice], query)[0]
    blocks = [salvaged.block for file in files for salvaged in file.blocks if not salvaged.problem]
    scan = scan_blocks(blocks, task.shared.block_filter)
    decoder = log_decoder(task)
    log = decoder.concatenate([*decoder.decode(scan.blocks)])
    folded_log = fold_log(log, task.shared.rule)
    winners = folded_log.records(np.arange(len(folded_log)))
    rows = winners.rows.select(task.shared.planned_columns.result.names)
    merged_rows = {
        "kind": pa.array(np.where(winners.has_row, "data", "delete")),
        "key": folded_log.keys,
        "is_delete": pa.array(winners.marks.is_delete),
        "ordering": ordering_texts(winners.rows, task.shared.rule),
        "record": structs(rows, mask=pa.array(~winners.has_row)),
    }
    missing = [
        {"path": log.path, "problem": "the file is not on the storage"}
        for log in file_slice.log_files
        # If the file system appends, another file of the slice may have its blocks.
        if not log.is_listed and log.committed_by not in scan.instants
    ]
    problems = [place for file in files for place in file.problems]
    parts = [pa.table(merged_rows), damage_rows([*problems, *missing])]
    return records_table(parts, task.shared.planned_columns.result)


def _slice_of(view: TableView, path: str) -> FileSlice:
    partition, name = posixpath.split(path)
    parsed = LogFileName.parse(name)
    if parsed is None:
        raise InvalidOptionError(f"{path!r} is not a log file of a file group")
    if parsed.kind is LogKind.CDC:
        raise InvalidOptionError(f"{path!r} has the changes of a CDC log, which are never merged")
    group = view.groups.find(partition, parsed.file_id)
    for file_slice in group.slices if group is not None else ():
        if any(log.path == path for log in file_slice.log_files):
            return file_slice
    raise MissingFileError(
        f"{view.storage.describe(path)} does not belong to any slice of the table: it does not "
        "exist, or was never committed"
    )
