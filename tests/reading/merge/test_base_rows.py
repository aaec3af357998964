"""Base rows that meet log records, and the values by which they are compared."""

import numpy as np
import pyarrow as pa

from hudi_pyspark.reading.merge.base_rows import Match, compared_ordering
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode

RULE = MergeRule(
    mode=RecordMergeMode.EVENT_TIME_ORDERING,
    ordering_fields=("meta.ts",),
    payload_class="",
    merge_strategy_id="",
    partial_update_mode="",
    delete_field="",
    delete_marker="",
)


def test_ordering_field_within_a_struct_is_compared():
    table = pa.table({"id": ["a", "b", "c"], "meta": [{"ts": 7}, {"ts": 8}, {"ts": 9}]})
    match = Match(table, None, rows=np.array([2, 0]), winners=np.array([0, 1]))
    ordering = compared_ordering(match, RULE)
    assert [values.to_pylist() for values in ordering] == [[9, 7]]
