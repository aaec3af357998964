import pickle
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.planning.pruning import requested_keys
from hudi_pyspark.table.log_files import BlockFilter
from hudi_pyspark.table.merge_mode import RecordMergeMode
from hudi_pyspark.table.on_damage import OnDamage
from tests.planning.planned_slices import (
    COMMITTED,
    PLACES,
    SLICES,
    TABLE,
    config_of,
    planned,
    slice_of,
)
from tests.reading.log_records.log_files import COMMIT_TIME, rule_of


@given(st.permutations(SLICES))
def test_tasks_come_by_partition_and_file_id_whatever_the_order_of_the_slices(slices):
    assert planned(*slices) == planned(*SLICES)
    places = [(t.file_slice.partition_path, t.file_slice.file_id) for t in planned(*slices)]
    assert places == sorted(PLACES)


def test_nothing_to_read_is_no_task():
    assert planned() == []


def test_only_slices_with_log_files_read_what_the_merge_needs():
    with_log, without = planned(slice_of("a", "1", logs=1), slice_of("a", "2"))
    assert without.working.names == ["id"]
    assert with_log.working.names == ["id", "_hoodie_record_key", "ts"]
    assert with_log.shared.planned_columns.result.names == ["id"]


ONLY_A = pa.schema({"s": pa.struct({"a": pa.int32()})})
MIXED_VALUES = replace(
    rule_of(RecordMergeMode.CUSTOM),
    payload_class="org.apache.hudi.common.model.PartialUpdateAvroPayload",
)
BY_NESTED = rule_of(ordering_fields=["s.b"])


@pytest.mark.parametrize(
    ("logs", "rule", "predicate", "is_narrow"),
    [
        pytest.param(0, None, None, True, id="base-file"),
        pytest.param(1, None, None, True, id="logs"),
        pytest.param(1, MIXED_VALUES, None, False, id="merge-of-values"),
        pytest.param(0, MIXED_VALUES, None, True, id="nothing-to-merge"),
        pytest.param(1, BY_NESTED, None, False, id="ordering-field"),
        pytest.param(0, None, "s IS NULL", False, id="filter"),
    ],
)
def test_nested_fields_are_left_out_unless_something_needs_the_column(
    logs, rule, predicate, is_narrow
):
    parsed = predicate and parse_filter(predicate, TABLE)
    file_slice = slice_of("a", "1", logs=logs)
    (task,) = planned(file_slice, result=ONLY_A, rule=rule, predicate=parsed)
    kind = (ONLY_A if is_narrow else TABLE).field("s").type
    assert task.working.field("s").type == kind
    (whole,) = planned(file_slice, columns=["id", "s"], rule=rule, predicate=parsed)
    narrowed = whole.narrowed(ONLY_A)
    assert narrowed.working.field("s").type == kind
    assert set(narrowed.working.names) == set(task.working.names)
    assert narrowed.shared.planned_columns.result.names == ["s"]


def test_task_survives_pickling():
    config = config_of(table__partition__fields="p")
    (task,) = planned(slice_of("p=7", "1", logs=2), config=config)
    assert pickle.loads(pickle.dumps(task)) == task


def test_tasks_of_a_plan_share_one_value_in_the_pickle_too():
    tasks = planned(*SLICES)
    shared = [task.shared for task in pickle.loads(pickle.dumps(tasks))]
    assert shared == [task.shared for task in tasks]
    assert len({id(plan) for plan in shared}) == 2  # with log files and without


def test_partitions_share_what_remains_of_a_filter():
    slices = [slice_of(f"p={number}", str(number)) for number in range(3)]
    tasks = planned(
        *slices,
        config=config_of(table__partition__fields="p"),
        predicate=parse_filter("p < 2 AND id = 1", TABLE),
    )
    assert [task.file_slice.file_id for task in tasks] == ["0", "1"]
    assert [str(task.shared.predicate) for task in tasks] == ["id = 1"] * 2
    assert tasks[0].shared.predicate is tasks[1].shared.predicate


@pytest.mark.parametrize(
    ("version", "committed"),
    [pytest.param(6, COMMITTED, id="layout-1"), pytest.param(9, None, id="layout-2")],
)
def test_blocks_are_checked_one_by_one_only_where_files_may_hold_several_commits(
    version, committed
):
    (task,) = planned(slice_of("a", "1", logs=1), config=config_of(version))
    assert task.shared.block_filter == BlockFilter("003", committed)


def test_block_older_than_its_slice_is_admitted():
    # A writer that began before a compaction was planned may end up in the slice of that.
    (task,) = planned(slice_of("a", "1", logs=1), config=config_of(6))
    assert task.file_slice.base_instant_time == "002"
    assert task.shared.block_filter.committed is not None
    assert "001" in task.shared.block_filter.committed


def test_options_reach_the_task():
    (task,) = planned(
        slice_of("a", "1"),
        use_record_positions=False,
        batch_rows=7,
        on_damage=OnDamage.WARN,
    )
    settings = task.settings
    reached = (settings.use_record_positions, settings.batch_rows, settings.on_damage)
    assert reached == (False, 7, OnDamage.WARN)


PARTITIONED = config_of(table__partition__fields="p,q")


@pytest.mark.parametrize(
    ("config", "options"),
    [
        pytest.param(PARTITIONED, {"partition_values_from_path": True}, id="asked-for"),
        pytest.param(
            replace(PARTITIONED, drop_partition_columns=True), {}, id="dropped-from-the-files"
        ),
    ],
)
def test_path_that_does_not_parse_is_corrupt_where_only_it_tells_the_values(config, options):
    with pytest.raises(CorruptTableError, match="partition path 'seven/x'"):
        planned(slice_of("seven/x", "1"), config=config, **options)


def test_base_file_of_an_unknown_format_is_refused_by_name():
    with pytest.raises(UnsupportedTableError, match=r"base file a/1_0_002\.csv "):
        planned(slice_of("a", "2"), slice_of("a", "1", extension="csv"))


WITHOUT_KEYS = config_of(populate__meta__fields="false")


def test_log_files_without_any_record_keys_are_refused():
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.populate\.meta\.fields=false"):
        planned(slice_of("a", "1", logs=1), config=WITHOUT_KEYS)


def test_base_files_need_no_record_keys():
    assert len(planned(slice_of("a", "1"), config=WITHOUT_KEYS)) == 1


def test_absent_ordering_field_matters_only_where_there_are_log_files():
    rule = rule_of(ordering_fields=["nowhere"])
    assert len(planned(slice_of("a", "1"), rule=rule)) == 1
    assert len(planned(slice_of("a", "1", logs=1), rule=rule_of(COMMIT_TIME, ["nowhere"]))) == 1
    with pytest.raises(CorruptTableError, match="ordering field nowhere"):
        planned(slice_of("a", "1", logs=1), rule=rule)


@pytest.mark.parametrize(
    ("case", "condition", "expected"),
    [
        ("v9_mor_schema_evolution", "id = '1'", ("id:1", "1")),
        ("v9_mor_schema_on_read", "id = 1", None),  # it may have been a date
        ("v9_mor_schema_on_read", "_hoodie_record_key = '1'", ("1",)),
    ],
)
def test_record_keys_follow_from_key_fields_whose_types_never_changed(
    golden_table, case, condition, expected
):
    scan = HudiTable(str(golden_table(case))).scan(filter=condition)
    assert requested_keys(scan._query.planner, scan._predicate).whole_keys == expected
