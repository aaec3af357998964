"""Choice of how log records find their base rows: by record key, or by position in the base file.

Record keys are the rule. Positions, where log blocks have them, identify the row even if the base
file has its key twice, and save reading the keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.query.base_rows import read_base_rows
from hudi_pyspark.query.filter.predicate import top_level_columns
from hudi_pyspark.query.log_records.decoder import PositionsMissing
from hudi_pyspark.query.slice_log import load_log_records
from hudi_pyspark.table.schema import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.query.merge.spilled_merge import LoadedLog
    from hudi_pyspark.query.plan import ScanTask
    from hudi_pyspark.storage import Storage


@dataclass(frozen=True, slots=True)
class MergeSides:
    """Both sides of a slice's merge: the log records, loaded, and the base rows."""

    log: LoadedLog  # to be closed
    base: Iterable[pa.Table]  # of the same schema; read when it is iterated
    task: ScanTask  # of the slice that both belong to


def load_merge_sides(task: ScanTask, blocks: Sequence[LogBlock], storage: Storage) -> MergeSides:
    """Choose how log records find their base rows, and load them accordingly.

    Base rows are left out by their keys only. Those that the predicate rules out otherwise may
    still beat a log record, lend it values, or, where a base file has a key twice, be the one of
    the two that is replaced.

    Args:
        task: of a slice with log files.
        blocks: live blocks of these files; not needed afterwards.
        storage: of the table.

    Raises:
        HudiError: a file is missing, damaged, or not readable as the table's schema asks.
    """
    if task.shared.record_keys is not None and _has_positions(task, blocks, any):
        # Positions identify one of several rows with the same key, and keys do not. Where no key
        # occurs twice, both identify the same row.
        rows = list(read_base_rows(task, storage))
        if not _has_duplicates(rows):
            return MergeSides(load_log_records(_by_key(task), blocks), rows, task)
        task = replace(task, shared=replace(task.shared, record_keys=None))
    if _needs_no_keys(task, blocks):
        without_keys = _without_keys(task)
        try:
            log = load_log_records(without_keys, blocks)
        except PositionsMissing:
            pass  # a block has more or fewer positions than records, which its header does not say
        else:
            return MergeSides(log, read_base_rows(without_keys, storage), task)
    return MergeSides(load_log_records(task, blocks), read_base_rows(task, storage), task)


def _has_positions(
    task: ScanTask, blocks: Sequence[LogBlock], any_or_all: Callable[[Iterable[bool]], bool]
) -> bool:
    """Decide whether any or all log blocks have the positions of their records in the base file."""
    base = task.file_slice.base_file
    return (
        base is not None
        and task.options.use_record_positions
        and any_or_all(
            bool(block.record_positions_text) and block.positions_base_instant == base.instant_time
            for block in blocks
        )
    )


def _has_duplicates(tables: Sequence[pa.Table]) -> bool:
    """Decide whether two of the rows have the same record key."""
    keys = [key for table in tables for key in table.column(RECORD_KEY_COLUMN).to_pylist()]
    return len(set(keys)) < len(keys)


def _by_key(task: ScanTask) -> ScanTask:
    options = replace(task.options, use_record_positions=False)
    return replace(task, shared=replace(task.shared, options=options))


def _needs_no_keys(task: ScanTask, blocks: Sequence[LogBlock]) -> bool:
    """Decide, by the headers of the log blocks, whether record keys need not be read."""
    wanted = [*task.shared.result.names, *top_level_columns(task.predicate, task.working)]
    return (
        bool(blocks)
        and task.shared.merger is None
        and task.shared.record_keys is None
        and RECORD_KEY_COLUMN not in wanted
        and _has_positions(task, blocks, all)
    )


def _without_keys(task: ScanTask) -> ScanTask:
    columns = [field for field in task.working if field.name != RECORD_KEY_COLUMN]
    shared = replace(task.shared, key_fields=())
    return replace(task, working=pa.schema(columns), shared=shared)
