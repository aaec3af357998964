"""Small tables with variants that files shred, at any depth; see `write_table`."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark import HudiTable
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN, META_COLUMNS, RECORD_KEY_COLUMN
from tests.columns.shredded import group, metadata, variants
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.reading.nested_columns import avro_record
from tests.written_table import WrittenTable

if TYPE_CHECKING:
    from pathlib import Path

VARIANT = {
    "type": "record",
    "name": "variant",
    "logicalType": "variant",
    "fields": [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}],
}
AVRO = avro_record(VARIANT)
AVRO["fields"].append({"name": "o", "type": ["null", {"type": "array", "items": ["null", "s"]}]})
PROPERTIES = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.cdc.enabled": "true",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.precombine.field": "ts",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
LOG = ".f-0_20240101000000000.log.1_0-0-0"
NAMES = metadata("a", "b")
B_TEXT = bytes.fromhex("02 01 01 00 02") + b"\5x"  # {"b": "x"}


def rows(ids: list[int], day: int, kind: str) -> pa.Table:
    """Return rows in whose columns a variant {"a": id, "b": "x"} occurs, shredded in a way."""
    if kind == "a":  # b is beside the typed field
        typed = pa.struct([("a", group(pa.int32()))])
        groups = [{"typed_value": {"a": {"typed_value": i}}, "value": B_TEXT} for i in ids]
        values = variants(groups, typed, NAMES)
    elif kind == "both":  # and no column `value`
        typed = pa.struct(
            [("a", group(pa.int8())), ("b", pa.struct([("typed_value", pa.string())]))]
        )
        groups = [
            {"typed_value": {"a": {"typed_value": i}, "b": {"typed_value": "x"}}} for i in ids
        ]
        whole = variants(groups, typed, NAMES)
        values = pa.StructArray.from_arrays(
            [whole.field("metadata"), whole.field("typed_value")], ["metadata", "typed_value"]
        )
    else:
        octets = [bytes.fromhex("02 02 00 01 00 02 04 0c") + bytes([i]) + b"\5x" for i in ids]
        values = pa.StructArray.from_arrays(
            [pa.array(octets), pa.array([NAMES] * len(ids))], ["value", "metadata"]
        )
    numbers = pa.array(ids, pa.int32())
    structs = pa.StructArray.from_arrays([numbers, values], ["n", "v"])
    offsets = pa.array(range(len(ids) + 1), pa.int32())
    meta = dict.fromkeys(META_COLUMNS, pa.array([""] * len(ids)))
    meta[COMMIT_TIME_COLUMN] = pa.array([f"2024010{day}000000000"] * len(ids))
    return pa.table(
        {
            **meta,
            RECORD_KEY_COLUMN: pa.array(map(str, ids)),
            "id": numbers,
            "ts": pa.array([day] * len(ids), pa.int64()),
            "v": values,
            "s": structs,
            "l": pa.ListArray.from_arrays(offsets, values),
            "m": pa.MapArray.from_arrays(offsets, pa.array(["k"] * len(ids)), values),
            "o": pa.ListArray.from_arrays(offsets, structs),
        }
    )


def write_table(
    folder: Path, base: pa.Table, log: pa.Table | None = None, *, in_avro: bool = False
) -> HudiTable:
    """Write a MERGE_ON_READ table of one base file, and a log file with a block in Parquet or Avro.

    Avro blocks have plain variants.
    """
    table = WrittenTable(folder, AVRO, PROPERTIES)
    name = "f-0_0-0-0_20240101000000000.parquet"
    table.put_parquet(name, base)
    table.commit("20240101000000000", "deltacommit", [("f-0", name)], numInserts=1)
    if log is not None:
        octets = io.BytesIO()
        pq.write_table(log, octets, store_schema=False)
        kind = LogBlockType.PARQUET_DATA_BLOCK
        content = octets.getvalue()
        if in_avro:
            records = [{**row, "m": dict(row["m"])} for row in log.to_pylist()]
            kind = LogBlockType.AVRO_DATA_BLOCK
            content = avro_content(avro_records(AVRO, records))
        header: dict[HeaderKey | int, str] = {
            HeaderKey.INSTANT_TIME: "20240102000000000",
            HeaderKey.SCHEMA: json.dumps(AVRO),
        }
        table.put(LOG, write_block(kind, header, content))
        table.commit("20240102000000000", "deltacommit", [("f-0", LOG)], numInserts=0)
    return HudiTable(str(folder))
