"""Queries of nested fields read these alone, and give what Apache Hudi's rows have there."""

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.columns.nested_fields import (
    leaf_paths,
    narrow_fields,
    narrow_type,
)
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.format.column_names import resolve_field
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.reading.read_task import read_task
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.deviations import accepted_deviations
from tests.memory_storage import MemoryStorage

INNER = pa.struct({"c": pa.string(), "d": pa.int64()})
WHOLE = pa.struct({"a": pa.int32(), "b": INNER})
ROW = {"a": 1, "b": {"c": "x", "d": 2}}
TABLE = pa.table(
    {
        "s": pa.array([ROW, None, {"a": 3, "b": None}], WHOLE),
        "plain": pa.array([1, 2, 3]),
        "l": pa.array([[ROW], None, []], pa.list_(WHOLE)),
        "m": pa.array([[("k", ROW)], [], None], pa.map_(pa.string(), WHOLE)),
    }
)
CASES = [
    "v6_cow_all_types",
    "v8_cow_schema_evolution",
    "v8_mor_partial_merge_compacted",
    "v9_mor_all_types",
    "v9_mor_schema_evolution",
    "v9_mor_schema_on_read",
]


def parquet_bytes():
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("kind", "wanted", "narrow"),
    [
        (WHOLE, pa.struct({"a": pa.int64()}), pa.struct({"a": pa.int32()})),
        (
            WHOLE,
            pa.struct({"b": pa.struct({"d": pa.int64()})}),
            pa.struct({"b": pa.struct({"d": pa.int64()})}),
        ),
        (WHOLE, pa.struct({"unknown": pa.int32()}), WHOLE),
        (WHOLE, pa.string(), WHOLE),
        (pa.list_(WHOLE), pa.list_(pa.struct({"a": pa.int32()})), None),
        (pa.map_(pa.string(), WHOLE), pa.map_(pa.string(), pa.struct({"a": pa.int32()})), None),
        (pa.int32(), pa.struct({"a": pa.int32()}), pa.int32()),
        (pa.list_(WHOLE), pa.string(), pa.list_(WHOLE)),
        (pa.string(), pa.list_(WHOLE), pa.string()),
        (pa.map_(pa.string(), WHOLE), pa.string(), pa.map_(pa.string(), WHOLE)),
        (pa.string(), pa.map_(pa.string(), WHOLE), pa.string()),
    ],
    ids=str,
)
def test_type_keeps_the_wanted_fields_in_its_own_types(kind, wanted, narrow):
    assert narrow_type(kind, wanted) == (wanted if narrow is None else narrow)


def test_columns_that_are_not_wanted_stay_whole():
    wanted = pa.schema({"s": pa.struct({"a": pa.int32()})})
    narrow = narrow_fields(TABLE.schema, wanted)
    assert narrow.field("s").type == pa.struct({"a": pa.int32()})
    assert narrow.field("l") == TABLE.schema.field("l")
    assert narrow.names == TABLE.schema.names


def test_only_leaves_of_the_wanted_fields_are_read():
    content = parquet_bytes()
    only_c = pa.struct({"b": pa.struct({"c": pa.string()})})
    wanted = pa.schema(
        {"s": only_c, "l": pa.list_(only_c), "m": pa.map_(pa.string(), only_c), "plain": pa.int64()}
    )
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        chosen = narrow_fields(file.schema_arrow, wanted)
        paths = leaf_paths(file, chosen)
    assert [path.rpartition(".")[2] for path in paths] == ["c", "plain", "c", "key", "c"]
    storage = MemoryStorage({"f.parquet": content})
    columns = ["plain", "s", "l", "m"]
    (table,) = read_base_file(storage, "f.parquet", columns, 10, fields=wanted)
    inner = {"b": {"c": "x"}}
    assert table.to_pydict() == {
        "plain": [1, 2, 3],
        "s": [inner, None, {"b": None}],
        "l": [[inner], None, []],
        "m": [[("k", inner)], [], None],
    }


def test_struct_whose_wanted_fields_a_file_lacks_is_still_null_or_not():
    wanted = pa.schema({"s": pa.struct({"added": pa.int32()})})
    storage = MemoryStorage({"f.parquet": parquet_bytes()})
    (table,) = read_base_file(storage, "f.parquet", ["s"], 10, fields=wanted)
    read = conform(table, wanted, {}, source="f.parquet")
    assert read.to_pydict() == {"s": [{"added": None}, None, {"added": None}]}


@pytest.mark.parametrize("case", CASES)
def test_nested_fields_are_those_of_apache_hudis_rows(golden_table, case):
    dice = Random(case)
    tried = 0
    table = HudiTable(str(golden_table(case)))
    for query in load_case(GOLDEN / case).queries:
        is_changes = "cdc" in query.name
        if query.answer is None or is_changes or query.key in accepted_deviations():
            continue
        expected = query.expected_rows()
        scan = table.scan(**query.options)
        names = [f.name for f in scan.schema if pa.types.is_nested(f.type)]
        if not names:  # the column came later
            continue
        wanted = pa.schema([(n, _some_fields(scan.schema.field(n).type, dice)) for n in names])
        answers = [
            conform(rows, wanted, {}, source="the result")
            for task in scan._grouped_plan(names, fields=wanted).tasks
            for rows in read_task(task, scan.storage)
        ]
        answer = pa.concat_tables(answers) if answers else wanted.empty_table()
        assert _rows(answer, wanted) == _rows(expected.select(names), wanted), query.name
        tried += len(names)
    assert tried


def _some_fields(kind: pa.DataType, dice: Random) -> pa.DataType:
    if pa.types.is_struct(kind):
        chosen = dice.sample(list(kind), dice.randint(1, kind.num_fields))
        return pa.struct([f.with_type(_some_fields(f.type, dice)) for f in chosen])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_some_fields(kind.value_type, dice)))
    if pa.types.is_map(kind):
        item = kind.item_field
        return pa.map_(kind.key_field, item.with_type(_some_fields(item.type, dice)))
    return kind


def _rows(table: pa.Table, wanted: pa.Schema) -> Counter[str]:
    cut = ({f.name: _cut(row[f.name], f.type) for f in wanted} for row in table.to_pylist())
    return Counter(map(repr, cut))


def _cut(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _cut(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_cut(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        return [(key, _cut(item, kind.item_type)) for key, item in value]
    return value


def test_column_without_fields_has_none_even_if_a_column_has_the_dotted_name():
    schema = pa.schema({"a": pa.int32(), "a.b": pa.int32(), "c": pa.int32()})
    assert resolve_field("a.b", schema) == schema.field("a.b")
    with pytest.raises(InvalidOptionError, match=r"'a\.b'.*a, c"):
        resolve_field("a.b.c", schema)
