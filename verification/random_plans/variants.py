"""A table with variants, of which Spark makes the bytes: the Hudi of the other tables has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.written_table import WrittenTable

_COUNT = 14
_BYTES = [{"name": name, "type": "bytes"} for name in ("metadata", "value")]


def write(spark: SparkSession, folder: Path) -> None:
    """Write the table ``variants`` of a base file, and ``variants.parquet`` with the same rows.

    The session is one of Spark alone.
    """
    texts = [
        (i, str(i % 5), f'{{"x": {i % 4}}}', f'{{"x": {i}, "s": "{i}"}}' if i % 3 else None, "ab")
        for i in range(_COUNT)
    ]
    frame = spark.createDataFrame(texts, "id int, n string, v string, st string, name string")
    frame = frame.selectExpr("id", "n", "parse_json(v) v", "parse_json(st) st", "name").coalesce(1)
    frame.write.mode("overwrite").parquet(str(folder / "variants.parquet"))
    stored = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    schema = pa.schema(
        {"id": pa.int32(), "n": pa.string(), "v": stored, "st": stored, "name": pa.string()}
    )
    rows = [
        {name: _stored(value) for name, value in row.asDict().items()} for row in frame.collect()
    ]
    fields = [
        {"name": "id", "type": "int"},
        *({"name": n, "type": ["null", _kind(n)], "default": None} for n in schema.names[1:]),
    ]
    table = WrittenTable(
        folder / "variants",
        {"type": "record", "name": "r", "fields": fields},
        {"hoodie.table.type": "COPY_ON_WRITE", "hoodie.populate.meta.fields": "false"},
    )
    name = "f-0_0-0-0_20240101000000000.parquet"
    table.put_parquet(name, pa.Table.from_pylist(rows, schema))
    table.commit("20240101000000000", "commit", [("f-0", name)], operation="INSERT")


def _kind(name: str) -> Any:
    if name not in ("v", "st"):
        return "string"
    return {"type": "record", "name": f"of_{name}", "logicalType": "variant", "fields": _BYTES}


def _stored(value: Any) -> Any:
    if not hasattr(value, "metadata"):
        return value
    return {"metadata": bytes(value.metadata), "value": bytes(value.value)}
