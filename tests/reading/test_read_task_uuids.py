"""UUIDs that Avro has as 16 bytes.

Apache Hudi 1.2.0 writes the bytes to Parquet, and calls them a text. It shows such texts, and fails
where an Avro log block has some.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.table.meta_columns import META_COLUMNS, RECORD_KEY_COLUMN
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.written_table import WrittenTable

if TYPE_CHECKING:
    from pathlib import Path

UUID = {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}
AVRO = {
    "type": "record",
    "name": "r",
    "fields": [
        *({"name": name, "type": ["null", "string"]} for name in META_COLUMNS),
        {"name": "id", "type": "int"},
        {"name": "u", "type": ["null", UUID]},
        {"name": "l", "type": ["null", {"type": "array", "items": "u"}]},
    ],
}
# In an Avro log block; fastavro writes these bytes as they are.
STORED = json.loads(json.dumps(AVRO).replace(', "logicalType": "uuid"', ""))
PROPERTIES = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.recordkey.fields": "u",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
BASE, LOG = "f-0_0-0-0_20240101000000000.parquet", ".f-0_20240101000000000.log.1_0-0-0"
OCTETS = {1: b"0123456789abcdef", 2: b"\xff" * 16, 3: bytes(15) + b"\x03", 4: bytes(16)}
TEXTS = {number: str(uuid.UUID(bytes=octets)) for number, octets in OCTETS.items()}


@pytest.fixture
def table(tmp_path: Path) -> HudiTable:
    """Rows 1 to 3 in a base file; 3 again, and 4, in a log file."""
    written = WrittenTable(tmp_path, AVRO, PROPERTIES)
    octets = pa.array([OCTETS[number] for number in (1, 2, 3)])
    texts = pa.Array.from_buffers(pa.string(), 3, octets.buffers())
    columns = dict.fromkeys(META_COLUMNS, pa.array([""] * 3))
    columns[RECORD_KEY_COLUMN] = pa.array(["1", "2", "3"])
    columns["id"] = pa.array([1, 2, 0], pa.int32())
    columns["u"] = texts
    columns["l"] = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), texts)
    written.put_parquet(BASE, pa.table(columns))
    written.commit("20240101000000000", "deltacommit", [("f-0", BASE)], numInserts=3)
    records = [
        {
            **dict.fromkeys(META_COLUMNS, ""),
            RECORD_KEY_COLUMN: str(number),
            "id": number,
            "u": OCTETS[number],
            "l": [OCTETS[number]],
        }
        for number in (3, 4)
    ]
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: "20240102000000000",
        HeaderKey.SCHEMA: json.dumps(AVRO),
    }
    content = avro_content(avro_records(STORED, records))
    written.put(LOG, write_block(LogBlockType.AVRO_DATA_BLOCK, header, content))
    written.commit("20240102000000000", "deltacommit", [("f-0", LOG)])
    return HudiTable(str(tmp_path))


@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 2, 3, 4)], ids=["base-file", "merged"])
def test_uuids_are_texts_in_base_files_and_log_blocks(table, numbers):
    query_type = "read_optimized" if 0 in numbers else "snapshot"
    rows = table.scan(["id", "u", "l"], query_type=query_type).to_arrow().to_pylist()
    texts = {**TEXTS, 0: TEXTS[3]}
    assert {row["id"]: (row["u"], row["l"]) for row in rows} == {
        number: (texts[number], [texts[number]]) for number in numbers
    }


@pytest.mark.parametrize("query_type", ["read_optimized", "snapshot"])
@pytest.mark.parametrize("number", [1, 2])
def test_uuid_is_found_by_its_text(table, query_type, number):
    scan = table.scan(["id"], query_type=query_type, filter=f"u = '{TEXTS[number]}'")
    assert scan.to_arrow().to_pylist() == [{"id": number}]
