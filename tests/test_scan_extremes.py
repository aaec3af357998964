"""Tables that are large in one dimension, and a full disk: the rows, or a named error."""

import json
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_pyspark import SpillError, UnsupportedTypeError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.scan import choose_scan
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.table.tiny_table import TinyTable, log
from tests.wide_schemas import META, fields

FULL = Path("/dev/full")
RECORD_MEGABYTES = int(os.environ.get("RECORD_MEGABYTES", "64"))  # 1,024 need 8 GB of memory


def read(columns, logs, **options):
    """The data columns of a slice without a base file, from Avro log blocks, one a file."""
    schema = {"type": "record", "name": "r", "fields": fields(**columns)}
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: "010",
        HeaderKey.SCHEMA: json.dumps(schema),
    }
    table = TinyTable(record__merge__mode="COMMIT_TIME_ORDERING")
    paths = [log("f", "010", version=number + 1) for number in range(len(logs))]
    for path, rows in zip(paths, logs, strict=True):
        records = [
            {**dict.fromkeys(f"_hoodie_{name}" for name in META), "_hoodie_record_key": key, **row}
            for key, row in rows.items()
        ]
        content = avro_content(avro_records(schema, records))
        block = write_block(LogBlockType.AVRO_DATA_BLOCK, header, content)
        table.data(path, content=block)
    without_meta = {**schema, "fields": schema["fields"][len(META) :]}
    table.write("010", "deltacommit", *paths, extra={"schema": json.dumps(without_meta)})
    chosen = ReadOptions.parse({"include_meta_columns": "false", **options})
    scan = choose_scan(table.open(), chosen, {})
    return pa.Table.from_batches(scan.to_batches(), scan.schema).to_pylist()


def test_ten_thousand_columns_are_read():
    row = {f"c{number}": number for number in range(10_000)}
    assert read(dict.fromkeys(row, "long"), [{"k": row}]) == [row]


def test_a_thousand_log_files_of_a_slice_are_merged_in_order():
    logs = [{f"k{number % 7}": {"n": number}} for number in range(1_000)]
    assert sorted(row["n"] for row in read({"n": "int"}, logs)) == list(range(993, 1_000))


def test_a_record_of_many_megabytes_is_read():
    text = "0123456789abcdef" * (RECORD_MEGABYTES << 16)
    (row,) = read({"text": "string"}, [{"k": {"text": text}}])
    assert row["text"] == text


def nested(depth: int) -> tuple[object, object]:
    """A type of lists inside each other, and a value of it."""
    kind: object = "int"
    value: object = 7
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
        value = [value]
    return kind, value


def test_types_nested_forty_deep_are_read():
    kind, value = nested(40)
    assert read({"deep": kind}, [{"k": {"deep": value}}]) == [{"deep": value}]


@pytest.mark.parametrize("depth", [120, 200])
def test_types_nested_deeper_than_a_hundred_are_refused(depth):
    kind, value = nested(depth)
    with pytest.raises(UnsupportedTypeError, match=r"nested 101 deep, at 'deep\.element"):
        read({"deep": kind}, [{"k": {"deep": value}}])


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
def test_a_disk_that_is_full_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: FULL.open("w+b", 0))
    logs = [{f"k{number}": {"text": "x" * 50_000} for number in range(40)}]
    with pytest.raises(SpillError, match="No space left on device"):
        read({"text": "string"}, logs, **{"hoodie.memory.merge.max.size": "1000000"})
