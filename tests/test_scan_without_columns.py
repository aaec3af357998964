"""Rows of which no column is read keep their number.

Several functions of pyarrow forget it: `Table.take` and `concat_tables` return no rows of a table
without columns, and `Table.slice` as many as it is asked for.
"""

import pyarrow as pa
import pytest

import hudi_pyspark
from hudi_pyspark import HudiTable
from hudi_pyspark.format.log.data_block import decode_data_block
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.reading.read_slice import read_slice
from hudi_pyspark.spark.reader import HudiPartition, pack, read_partition
from hudi_pyspark.tasks import PlannedColumns
from tests.cli.command import in_process
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import (
    COMMIT_TIME,
    KEY,
    data_block,
    delete_block,
    rule_of,
)
from tests.reading.slices_in_memory import AVRO, BASE_PATH, FILES, LOG_PATHS, log_file, task

# No ordering field, no column that marks deletes, and positions in every log block, so that a
# merge needs no column at all.
BY_POSITION = [
    "hudirs_v9_mor_8i4u_commit_time",
    "hudirs_v9_mor_nonpart_3commits",
    "trino_hudi_non_part_mor",
]


def known_queries(names):
    cases = [load_case(GOLDEN / name) for name in names]
    return [
        pytest.param(query, id=query.key)
        for case in cases
        for query in case.queries
        if query.answer is not None
    ]


@pytest.mark.parametrize("options", [{}, {"hoodie.memory.merge.max.size": "1"}, {"batch_rows": 1}])
@pytest.mark.parametrize("query", known_queries(BY_POSITION))
def test_rows_that_log_records_find_by_position_are_counted(query, options, golden_table):
    scan = HudiTable(str(golden_table(query.case))).scan(**query.options, **options)
    assert scan.count() == query.expected_rows().num_rows


@pytest.mark.parametrize("case", BY_POSITION)
def test_command_counts_them(case, golden_table):
    (snapshot,) = (q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    ended = in_process("count", str(golden_table(case)))
    assert (ended.code, int(ended.out)) == (0, snapshot.expected_rows().num_rows)


UPSERTS = data_block(
    AVRO, [{KEY: k, "ts": 1, "v": "log", "p": "sf"} for k in "ax"], positions=[0, 7]
)
DELETES = delete_block([("b", None)], instant="003", positions=[1])


@pytest.mark.parametrize("batch_rows", [1, 2, 10])
@pytest.mark.parametrize("merge_memory", [1, 0])
def test_log_records_replace_add_and_delete_rows(merge_memory, batch_rows):
    files = {BASE_PATH: FILES[BASE_PATH], LOG_PATHS[0]: UPSERTS, LOG_PATHS[1]: DELETES}
    logs = tuple(
        log_file(path, instant, committed_size=len(files[path]), size=len(files[path]))
        for path, instant in zip(LOG_PATHS, ("002", "003"), strict=True)
    )
    options = {"merge_memory": merge_memory, "batch_rows": batch_rows}
    planned = task(logs=logs, columns=(), version=9, **options)
    only_key = pa.schema([field for field in planned.working if field.name == KEY])
    columns = PlannedColumns(pa.schema([]), merge=only_key)
    planned = planned.with_plan(rule=rule_of(COMMIT_TIME), planned_columns=columns)
    tables = list(read_slice(planned, MemoryStorage(files)))
    # a is replaced, b deleted, c stays, and x is added.
    assert sum(table.num_rows for table in tables) == 3
    assert all(table.num_columns == 0 for table in tables)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v6_mor_appended_logs", LogBlockType.AVRO_DATA_BLOCK),
        ("v9_mor_logblock_hfile", LogBlockType.HFILE_DATA_BLOCK),
        ("v6_mor_logblock_parquet", LogBlockType.PARQUET_DATA_BLOCK),
    ],
)
def test_records_of_every_kind_of_log_block_are_counted(name, kind):
    content = (GOLDEN / "logs" / f"{name}.log").read_bytes()
    block = next(b for b in frame_blocks(content, path=name) if b.block_type is kind)
    assert decode_data_block(block, []).num_rows == decode_data_block(block, None).num_rows > 0


@pytest.mark.parametrize("case", ["v9_cow_incr_options", *BY_POSITION])
def test_limit_of_spark_adds_no_rows(case, golden_table):
    # What the optimizer's rule asks for when rows are only counted: one column, without its values.
    scan = HudiTable(str(golden_table(case))).scan()
    schema = pa.schema([scan.schema.field(0)])
    count = scan.to_arrow().num_rows
    for limit in (1, count, 10 * count):
        (tasks,), shared = pack([scan.select().plan()])
        partition = HudiPartition(tasks, shared)
        batches = read_partition(partition, scan.storage, schema, limit)
        assert sum(batch.num_rows for batch in batches) == min(limit, count)


@pytest.mark.spark
@pytest.mark.parametrize("case", BY_POSITION)
def test_spark_counts_them(case, golden_table, spark):
    path = str(golden_table(case))
    count = HudiTable(path).scan().to_arrow().num_rows
    hudi_pyspark.register(spark)
    for frame in (spark.read.format("hudi-py").load(path), hudi_pyspark.read(spark, path)):
        assert frame.count() == frame.limit(count + 5).count() == count
        assert frame.where("1 = 0").count() == 0
        assert frame.selectExpr("count(*)", "count(1)").collect() == [(count, count)]
