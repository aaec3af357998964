"""Plans reads of file slices of a small table, without a table on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.pruning import requested_keys
from hudi_pyspark.planning.slice_tasks import SliceQuery, TablePlanner
from hudi_pyspark.table.commit_history import CommitHistory
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.listing import DirectoryListing
from hudi_pyspark.table.timeline import Timeline
from hudi_pyspark.table.view import TableView
from tests.memory_storage import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.merge_mode import MergeRule
    from hudi_pyspark.table.timeline import CommittedTimes
    from hudi_pyspark.tasks import ScanTask


def planner_of(
    config: TableConfig,
    table_schema: pa.Schema,
    rule: MergeRule,
    committed: CommittedTimes,
    options: ReadOptions | None = None,
) -> TablePlanner:
    """Return the planner of a table that has no files, with what it would otherwise load.

    Args:
        config: the properties of the table.
        table_schema: of the table.
        rule: by which records are merged.
        committed: instants that have completed.
        options: of the read; None for the defaults.
    """
    storage = MemoryStorage({})
    history = CommitHistory(storage, config, Timeline(()))
    history.committed = committed
    view = TableView(history, DirectoryListing(storage, may_have_partitions=True))
    planner = TablePlanner(view, options or ReadOptions())
    planner.config = config
    planner.table_schema = table_schema
    planner.rule = rule
    return planner


def plan_slices(
    slices: Sequence[FileSlice],
    table_schema: pa.Schema,
    columns: Sequence[str],
    until: str,
    *,
    rule: MergeRule,
    committed: CommittedTimes,
    properties: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
    options_class: type[ReadOptions] = ReadOptions,
    **query: Any,
) -> list[ScanTask]:
    """Return a task for each slice.

    Args:
        slices: of a MERGE_ON_READ table.
        table_schema: of the table.
        columns: names of the answer's columns.
        until: newest instant that the query sees.
        rule: by which records are merged.
        committed: instants that have completed.
        properties: of the table, besides its name and type.
        options: fields of `ReadOptions`.
        options_class: `ReadOptions`, or one with further options.
        query: further fields of `SliceQuery`.
    """
    table = {"hoodie.table.name": "t", "hoodie.table.type": "MERGE_ON_READ", **properties}
    read_options = options_class(**(options or {}))
    planner = planner_of(TableConfig.parse(table), table_schema, rule, committed, read_options)
    result = pa.schema([table_schema.field(name) for name in columns])
    requested = requested_keys(planner, query.get("predicate"))
    return planner.tasks(slices, SliceQuery(result, until, requested=requested, **query))
