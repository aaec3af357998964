"""Columns and nested fields that a file spells in another case than the table."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from hudi_pyspark.errors import SchemaEvolutionError
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.slice_tasks import SliceQuery
from hudi_pyspark.reading.read_slice import read_slice
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.timeline import CommittedTimes
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import KEY, avro_record, data_block, nullable, rule_of
from tests.reading.planned_tasks import planner_of

PLACE = pa.struct({"City": pa.string(), "lines": pa.list_(pa.struct({"No": pa.int32()}))})
TABLE = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.string()), ("s", PLACE)])
OTHER_PLACE = pa.struct({"CITY": pa.string(), "Lines": pa.list_(pa.struct({"NO": pa.int32()}))})
OTHER = pa.schema([(KEY, pa.string()), ("TS", pa.int64()), ("V", pa.string()), ("S", OTHER_PLACE)])
VALUE = {"City": "x", "lines": [{"No": 1}]}
LOG = "f/.f1-0_002.log.1_0-1-0"


def contents(schema, values, kind="parquet"):
    table = pa.Table.from_arrays(
        [pa.array(v, f.type) for v, f in zip(values, schema, strict=True)], schema=schema
    )
    octets = io.BytesIO()
    if kind == "orc":
        orc.write_table(table, octets)
    else:
        pq.write_table(table, octets)
    return octets.getvalue()


def rows(files, columns, *, table=TABLE, fields=None, ordering="ts", **options):
    config = TableConfig.parse(
        {
            "hoodie.table.name": "t",
            "hoodie.table.version": "6",
            "hoodie.table.type": "MERGE_ON_READ",
        }
    )
    rule = rule_of(ordering_fields=(ordering,))
    committed = CommittedTimes(frozenset({"001", "002"}), "001")
    planner = planner_of(config, table, rule, committed, ReadOptions(**options))
    logs = tuple(
        LogFile(path, "f1-0", "002", 1, "0-1-0", len(data), len(data), committed_by="002")
        for path, data in files.items()
        if ".log." in path
    )
    (base,) = (path for path in files if ".log." not in path)
    slices = [FileSlice("", "f1-0", "001", BaseFile(base, "f1-0", "001", 1), logs)]
    result = pa.schema([table.field(name) for name in columns])
    (task,) = planner.tasks(slices, SliceQuery(result, "002"))
    if fields is not None:
        task = task.narrowed(fields)
    tables = list(read_slice(task, MemoryStorage(files)))
    return [row for found in tables for row in found.to_pylist()]


BASE_VALUES = [["a", "b"], [1, 5], ["old a", "old b"], [{"CITY": "x", "Lines": [{"NO": 1}]}, None]]
PARQUET = {"f1.parquet": contents(OTHER, BASE_VALUES)}


def avro_log(**fields):
    names = [*fields]
    schema = avro_record(**{names[0]: nullable("long"), names[1]: nullable("string")})
    records = [{KEY: key, names[0]: 3, names[1]: f"new {key}"} for key in "ab"]
    return data_block(schema, records, instant="002")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_base_file_keeps_its_values(kind):
    stored = OTHER if kind == "parquet" else pa.schema(list(OTHER)[:3])
    files = {f"f1.{kind}": contents(stored, BASE_VALUES[: len(stored)], kind)}
    found = rows(files, ["v", "ts"])
    assert found == [{"v": "old a", "ts": 1}, {"v": "old b", "ts": 5}]


def test_nested_fields_keep_their_values():
    assert rows(PARQUET, ["s"]) == [{"s": VALUE}, {"s": None}]


def test_few_nested_fields_are_found():
    fields = pa.schema({"s": pa.struct({"City": pa.string()})})
    found = rows(PARQUET, ["s"], fields=fields)
    assert [row["s"] and row["s"]["City"] for row in found] == ["x", None]


def test_log_records_are_ordered_by_columns_of_another_case():
    files = {**PARQUET, LOG: avro_log(Ts=3, V="new")}
    assert sorted(row["v"] for row in rows(files, ["v"])) == ["new a", "old b"]


def test_ordering_field_of_the_properties_may_have_another_case():
    files = {**PARQUET, LOG: avro_log(ts=3, v="new")}
    found = rows(files, ["v"], ordering="Ts")
    assert sorted(row["v"] for row in found) == ["new a", "old b"]


def test_file_with_two_spellings_gives_the_exact_one():
    both = pa.schema([(KEY, pa.string()), ("V", pa.string()), ("v", pa.string())])
    files = {"f1.parquet": contents(both, [["a"], ["upper"], ["lower"]])}
    assert rows(files, ["v"]) == [{"v": "lower"}]


def test_file_with_two_other_spellings_is_refused_by_name():
    both = pa.schema([(KEY, pa.string()), ("State", pa.string()), ("STATE", pa.string())])
    table = pa.schema([(KEY, pa.string()), ("state", pa.string())])
    files = {"f1.parquet": contents(both, [["a"], ["1"], ["2"]])}
    with pytest.raises(SchemaEvolutionError, match=r"f1\.parquet: column 'state' .*'STATE'"):
        rows(files, ["state"], table=table)
    assert rows(files, [KEY], table=table) == [{KEY: "a"}]


def test_nested_fields_of_two_other_spellings_are_refused_by_name():
    stored = pa.schema([(KEY, pa.string()), ("s", pa.struct({"X": pa.int32(), "x": pa.int32()}))])
    table = pa.schema([(KEY, pa.string()), ("s", pa.struct({"x": pa.int32()}))])
    files = {"f1.parquet": contents(stored, [["a"], [{"X": 1, "x": 2}]])}
    assert rows(files, ["s"], table=table) == [{"s": {"x": 2}}]
    other = pa.schema([(KEY, pa.string()), ("s", pa.struct({"y": pa.int32(), "Y": pa.int32()}))])
    stored = pa.schema([(KEY, pa.string()), ("s", pa.struct({"Yy": pa.int32(), "YY": pa.int32()}))])
    files = {"f1.parquet": contents(stored, [["a"], [{"Yy": 1, "YY": 2}]])}
    assert rows(files, ["s"], table=other) == [{"s": {"y": None, "Y": None}}]
    table = pa.schema([(KEY, pa.string()), ("s", pa.struct({"yy": pa.int32()}))])
    with pytest.raises(SchemaEvolutionError, match="differ only in case"):
        rows(files, ["s"], table=table)


@pytest.mark.parametrize("column", ["v", "V"])
def test_columns_of_a_table_that_differ_in_case_alone_stay_apart(column):
    table = pa.schema([(KEY, pa.string()), ("v", pa.string()), ("V", pa.string())])
    older = pa.schema([(KEY, pa.string()), ("v", pa.string())])
    files = {"f1.parquet": contents(older, [["a"], ["lower"]])}
    assert rows(files, [column], table=table) == [{column: "lower" if column == "v" else None}]
    narrow = pa.schema([table.field(column)])
    assert rows(files, ["v", "V"], table=table, fields=narrow) == rows(files, [column], table=table)


def test_nested_fields_of_a_table_that_differ_in_case_alone_stay_apart():
    table = pa.schema([(KEY, pa.string()), ("s", pa.struct({"x": pa.int32(), "X": pa.int32()}))])
    older = pa.schema([(KEY, pa.string()), ("s", pa.struct({"x": pa.int32()}))])
    files = {"f1.parquet": contents(older, [["a"], [{"x": 1}]])}
    wanted = pa.schema({"s": pa.struct({"X": pa.int32()})})
    (row,) = rows(files, ["s"], table=table, fields=wanted)
    assert row["s"]["X"] is None
