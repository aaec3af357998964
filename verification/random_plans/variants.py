"""A table with variants, of which Spark makes the bytes: the Hudi of the other tables has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

_COUNT = 14
_BYTES = [{"name": name, "type": "bytes"} for name in ("metadata", "value")]


def write(spark: SparkSession, folder: Path) -> None:
    """Write the table ``variants`` of a base file, and ``variants.parquet`` with the same rows.

    Args:
        spark: a session of Spark alone.
        folder: of both.
    """
    texts = [
        (i, str(i % 5), f'{{"x": {i % 4}}}', f'{{"x": {i}, "s": "{i}"}}' if i % 3 else None, "ab")
        for i in range(_COUNT)
    ]
    frame = spark.createDataFrame(texts, "id int, n string, v string, st string, name string")
    frame = frame.selectExpr("id", "n", "parse_json(v) v", "parse_json(st) st", "name").coalesce(1)
    frame.write.mode("overwrite").parquet(str(folder / "variants.parquet"))
    table = folder / "variants"
    (table / ".hoodie").mkdir(parents=True)
    stored = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    schema = pa.schema(
        {"id": pa.int32(), "n": pa.string(), "v": stored, "st": stored, "name": pa.string()}
    )
    rows = [
        {name: _stored(value) for name, value in row.asDict().items()} for row in frame.collect()
    ]
    name = "f-0_0-0-0_20240101000000000.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), table / name)
    (table / ".hoodie" / "hoodie.properties").write_text(
        "hoodie.table.name=v\nhoodie.table.version=6\nhoodie.table.type=COPY_ON_WRITE\n"
        "hoodie.populate.meta.fields=false\n"
    )
    fields = [
        {"name": "id", "type": "int"},
        *({"name": n, "type": ["null", _kind(n)], "default": None} for n in schema.names[1:]),
    ]
    size = (table / name).stat().st_size
    commit = {
        "partitionToWriteStats": {"": [{"fileId": "f-0", "path": name, "fileSizeInBytes": size}]},
        "extraMetadata": {"schema": json.dumps({"type": "record", "name": "r", "fields": fields})},
        "operationType": "INSERT",
    }
    (table / ".hoodie" / "20240101000000000.commit").write_text(json.dumps(commit))


def _kind(name: str) -> Any:
    if name not in ("v", "st"):
        return "string"
    return {"type": "record", "name": f"of_{name}", "logicalType": "variant", "fields": _BYTES}


def _stored(value: Any) -> Any:
    if not hasattr(value, "metadata"):
        return value
    return {"metadata": bytes(value.metadata), "value": bytes(value.value)}
