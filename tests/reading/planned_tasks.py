"""Plans reads of file slices of a small table, without a table on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.slice_tasks import PlanContext, SlicePlanner, SliceQuery
from hudi_pyspark.table.config import TableConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.merge_mode import MergeRule
    from hudi_pyspark.table.timeline import CommittedTimes
    from hudi_pyspark.tasks import ScanTask


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
    context = PlanContext(
        config=TableConfig.parse(table),
        table_schema=table_schema,
        rule=rule,
        committed=committed,
        options=options_class(**(options or {})),
    )
    result = pa.schema([table_schema.field(name) for name in columns])
    return list(SlicePlanner(context, SliceQuery(result, until, **query)).tasks(slices))
