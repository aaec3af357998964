"""Vectors inside structs, lists and maps: lists of numbers, as those of a column are."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN, META_COLUMNS, RECORD_KEY_COLUMN
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.reading.nested_columns import avro_record
from tests.written_table import WrittenTable

if TYPE_CHECKING:
    from pathlib import Path

VECTOR = {
    "type": "fixed",
    "name": "vector",
    "size": 8,
    "logicalType": "vector",
    "dimension": 2,
    "elementType": "FLOAT",
}
AVRO = avro_record(VECTOR)
PROPERTIES = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.precombine.field": "ts",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
BASE, LOG = "f-0_0-0-0_20240101000000000.parquet", ".f-0_20240101000000000.log.1_0-0-0"


def rows(numbers: dict[int, float | None], day: int) -> list[dict[str, Any]]:
    """Return rows that have the vector of a number, or null, in each column."""
    found: list[dict[str, Any]] = []
    for key, number in numbers.items():
        octets = None if number is None else struct.pack("<2f", number, 0.5)
        values = {"v": octets, "s": {"n": key, "v": octets}, "l": [octets], "m": {"k": octets}}
        meta = {
            **dict.fromkeys(META_COLUMNS, ""),
            COMMIT_TIME_COLUMN: f"2024010{day}000000000",
            RECORD_KEY_COLUMN: str(key),
        }
        found.append({**meta, "id": key, "ts": day, **values})
    return found


@pytest.fixture
def table(tmp_path: Path) -> HudiTable:
    written = WrittenTable(tmp_path, AVRO, PROPERTIES)
    vector = pa.binary(8)
    types = {
        **dict.fromkeys(META_COLUMNS, pa.string()),
        "id": pa.int32(),
        "ts": pa.int64(),
        "v": vector,
        "s": pa.struct([("n", pa.int32()), ("v", vector)]),
        "l": pa.list_(vector),
        "m": pa.map_(pa.string(), vector),
    }
    base = [{**row, "m": [*row["m"].items()]} for row in rows({1: 1.0, 2: None, 3: -3.5}, 1)]
    written.put_parquet(BASE, pa.Table.from_pylist(base, pa.schema(types)))
    written.commit("20240101000000000", "deltacommit", [("f-0", BASE)], numInserts=3)
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: "20240102000000000",
        HeaderKey.SCHEMA: json.dumps(AVRO),
    }
    content = avro_content(avro_records(AVRO, rows({3: None, 4: 4.0}, 2)))
    written.put(LOG, write_block(LogBlockType.AVRO_DATA_BLOCK, header, content))
    written.commit("20240102000000000", "deltacommit", [("f-0", LOG)])
    return HudiTable(str(tmp_path))


@pytest.mark.parametrize("column", ["v", "s", "l", "m"])
def test_vectors_of_base_files_and_log_blocks_are_lists_at_any_depth(table, column):
    found = table.scan(["id", column]).to_arrow().to_pylist()
    vector_of = {
        "v": lambda value: value,
        "s": lambda value: value["v"],
        "l": lambda value: value[0],
        "m": lambda value: dict(value)["k"],
    }[column]
    vectors = {row["id"]: vector_of(row[column]) for row in found}
    assert vectors == {1: [1.0, 0.5], 2: None, 3: None, 4: [4.0, 0.5]}


def test_field_of_a_struct_is_asked_for_by_its_name(table):
    assert table.scan(["id"], filter="s.v IS NULL AND s.n > 0").count() == 2


def test_log_records_are_shown_with_lists(table):
    records = [row["record"] for row in table.inspect.log_records(LOG).to_pylist()]
    assert [(row["v"], row["s"]["v"]) for row in records] == [(None, None), ([4.0, 0.5],) * 2]
