"""Records are taken, joined and spilled with all of their arrays."""

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.reading.log_records.marks import ALL_COLUMNS, Marks
from hudi_pyspark.reading.log_records.records import NO_ROW, ColumnSets, LogRecords, Records
from tests.reading.log_records.log_files import records_of


def test_records_side_by_side_keep_their_order():
    both = Records.concat([records_of(["a", "b"]), records_of(["c"])])
    assert both.take(np.array([2, 0])).rows["v"].to_pylist() == ["c", "a"]


def test_base_rows_are_whole_rows_and_no_deletes():
    base = records_of(["a"])
    assert (base.has_row.tolist(), base.marks.is_delete.tolist()) == ([True], [False])
    assert base.marks.columns.tolist() == [ALL_COLUMNS]
    assert not base.marks.is_commit_time_delete.any()


SCHEMA = pa.schema([("v", pa.string())])


def marks_of(*ordering: int) -> Marks:
    """Different values in each array, so that none can be mistaken for another."""
    count = len(ordering)
    return Marks(
        ordering=(pa.array(ordering, pa.int64()),),
        is_delete=np.arange(count) == 1,
        has_default_ordering=np.arange(count) == 0,
        has_other_class=np.arange(count) > 0,
        columns=np.arange(count, dtype=np.int32),
    )


def listed(log: LogRecords) -> list[tuple[object, ...]]:
    rows = log.records(np.arange(len(log))).rows["v"].to_pylist()
    positions = [None] * len(log) if log.positions is None else log.positions.tolist()
    ordering = log.marks.ordering[0].to_pylist()
    marks = log.marks
    arrays = [
        array.tolist()
        for array in (
            marks.is_delete,
            marks.has_default_ordering,
            marks.has_other_class,
            marks.columns,
        )
    ]
    return list(zip(rows, log.keys.to_pylist(), positions, ordering, *arrays, strict=True))


def log_of(positions: list[int] | None) -> LogRecords:
    return LogRecords(
        rows=pa.table({"v": ["a", "c"]}, SCHEMA),
        row=np.array([0, NO_ROW, 1]),
        keys=pa.array(["x", "y", "z"]),
        positions=None if positions is None else np.array(positions),
        marks=marks_of(7, 8, 9),
        column_sets=ColumnSets(),
    )


@pytest.mark.parametrize("positions", [None, [4, 2, 6]], ids=["by-key", "by-position"])
def test_spilled_log_records_come_back(positions):
    log = log_of(positions)
    back = LogRecords.from_spill_table(log.to_spill_table(), SCHEMA, log.column_sets)
    assert listed(back) == listed(log)


def test_log_records_of_several_parts_keep_their_rows():
    log = LogRecords.concat([log_of([4, 2, 6]), log_of([1, 3, 5])])
    assert listed(log) == listed(log_of([4, 2, 6])) + listed(log_of([1, 3, 5]))


def test_one_part_without_positions_makes_all_go_by_key():
    assert LogRecords.concat([log_of([4, 2, 6]), log_of(None)]).positions is None


def test_unused_rows_are_dropped():
    log = log_of(None).take(np.array([2, 1]))
    assert log.rows.num_rows == 2
    compact = log.without_unused_rows()
    assert compact.rows["v"].to_pylist() == ["c", None]
    assert listed(compact) == listed(log)
