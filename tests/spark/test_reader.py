"""What travels from planning to the executors; no Spark session is needed."""

import pickle
from itertools import chain

import pytest
from pyspark import cloudpickle

from hudi_pyspark import HudiTable
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.reader import HudiPartition, HudiReader, pack, unpacked
from tests.bad_inputs import BAD_INPUTS_BY_NAME
from tests.planning.planned_slices import SLICES, config_of, planned, slice_of

MOR = "v9_mor_mdt_indexes"
CDC = "v6_cow_cdc_op_key_only"


def groups_of(packed):
    groups, shared = packed
    return [unpacked(tasks, shared) for tasks in groups]


@pytest.mark.parametrize(
    ("case", "options"),
    [
        pytest.param(MOR, {}, id="snapshot"),
        pytest.param(MOR, {"filter": "region = 'amer' OR id = 'k1'"}, id="filter"),
        pytest.param(MOR, {"begin": "earliest"}, id="range"),
        pytest.param(CDC, {"begin": "earliest", "cdc": True}, id="changes"),
    ],
)
def test_tasks_survive_the_way(golden_table, case, options):
    groups = HudiTable(str(golden_table(case))).scan(task_bytes=1, **options)._plan_groups()
    assert sum(map(len, groups)) > 1
    assert groups_of(pack(groups)) == groups


def test_what_tasks_share_is_pickled_once(golden_table):
    table = HudiTable(str(golden_table(MOR)))
    scan = table.scan(task_bytes=1, filter="id < 'unlikely text'")
    groups, shared = pack(scan._plan_groups())
    assert len(groups) > 2
    assert not any(b"unlikely text" in tasks for tasks in groups)
    assert len(shared) == 2  # one for slices with log files, one for those without
    tasks = list(chain.from_iterable(groups_of((groups, shared))))
    assert {id(task.shared) for task in tasks} == set(map(id, shared))


def test_tasks_of_many_slices_take_few_bytes():
    slices = [
        slice_of(f"p={n // 20}", f"{n:08}-0000-0000-0000-000000000000-0") for n in range(1000)
    ]
    tasks = planned(*slices, config=config_of(table__partition__fields="p"))
    (group,), shared = pack([tasks])
    assert unpacked(group, shared) == tuple(tasks)
    assert len(group) < 250 * len(slices)


def test_groups_do_not_depend_on_each_other():
    packed = pack([(task,) for task in planned(*SLICES)])
    assert groups_of(packed)[-1] == (planned(*SLICES)[-1],)


def test_partition_may_carry_what_its_tasks_share(golden_table):
    scan = HudiTable(str(golden_table(MOR))).scan()
    groups, shared = pack(scan._plan_groups())
    sent = pickle.loads(cloudpickle.dumps(HudiPartition(groups[0], shared)))
    assert unpacked(sent.value, sent.shared) == scan._plan_groups()[0]


def test_reader_that_is_pickled_first_reads_the_partitions(golden_table):
    # Spark pickles the reader, and only then asks it for the partitions.
    source = HudiDataSource({"path": str(golden_table(MOR)), "task_bytes": "1"})
    reader = source.reader(source.schema())
    there = pickle.loads(cloudpickle.dumps(reader))
    partitions = [pickle.loads(cloudpickle.dumps(part)) for part in reader.partitions()]
    rows = sum(batch.num_rows for part in partitions for batch in there.read(part))
    assert rows == HudiTable(source.options["path"]).scan().count() > 0


def test_source_that_travels_with_each_task_holds_no_table(golden_table):
    source = HudiDataSource({"path": str(golden_table(MOR))})
    schema = source.schema()
    assert b"Planner" in cloudpickle.dumps(source)  # for the process that plans
    source.reader(schema).partitions()
    assert b"Planner" not in cloudpickle.dumps(source)


def test_refusal_is_raised_by_partitions_not_by_pickling(tmp_path):
    path = BAD_INPUTS_BY_NAME["foreign-payload"].prepare(tmp_path)
    source = HudiDataSource({"path": str(path)})
    reader = source.reader(source.schema())
    assert cloudpickle.dumps(reader)
    with pytest.raises(Exception, match=r"\[HUDI_UNSUPPORTED_MERGE\]"):
        reader.partitions()


def test_settings_of_push_down_have_no_effect_in_any_version_of_spark():
    # Spark 5.0 fails a query whose reader has pushLimit while its setting is off.
    assert vars(HudiReader).keys().isdisjoint({"pushFilters", "pushLimit"})
