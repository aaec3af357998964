"""Slices of a small table, and the tasks that are planned for them."""

import pyarrow as pa

from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.slice_tasks import SliceQuery
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.timeline import CommittedTimes
from tests.reading.log_records.log_files import rule_of
from tests.reading.planned_tasks import planner_of

TABLE = pa.schema(
    [
        ("_hoodie_record_key", pa.string()),
        ("id", pa.int64()),
        ("ts", pa.int64()),
        ("p", pa.int32()),
        ("q", pa.string()),
        ("s", pa.struct({"a": pa.int32(), "b": pa.int32()})),
    ]
)
COMMITTED = CommittedTimes(frozenset({"001", "002", "003"}), "001")


def config_of(version: int = 9, **properties: str) -> TableConfig:
    named = {f"hoodie.{key.replace('__', '.')}": value for key, value in properties.items()}
    return TableConfig.parse(
        {
            "hoodie.table.name": "t",
            "hoodie.table.version": str(version),
            "hoodie.table.type": "MERGE_ON_READ",
            **named,
        }
    )


def slice_of(
    partition: str, file_id: str, *, logs: int = 0, extension: str = "parquet"
) -> FileSlice:
    base = BaseFile(f"{partition}/{file_id}_0_002.{extension}", file_id, "002", 1)
    files = [
        LogFile(f"{partition}/.{file_id}_003.log.{n}", file_id, "003", n, "", 1)
        for n in range(logs)
    ]
    return FileSlice(partition, file_id, "002", base, tuple(files))


def planned(
    *slices, config=None, columns=("id",), result=None, rule=None, predicate=None, **options
):
    read_options = ReadOptions(**options)
    planner = planner_of(config or config_of(), TABLE, rule or rule_of(), COMMITTED, read_options)
    result = result or pa.schema([TABLE.field(name) for name in columns])
    return planner.tasks(slices, SliceQuery(result, "003", predicate))


PLACES = [("b", "a"), ("a", "a"), ("a", "b"), ("b", "b")]
SLICES = [slice_of(partition, id_, logs=n) for n, (partition, id_) in enumerate(PLACES)]
