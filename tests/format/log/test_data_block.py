import io
import json
import struct
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.errors import CorruptLogBlockError, UnsupportedTypeError
from hudi_pyspark.format.log.data_block import decode_data_block, salvage_data_block
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlock, LogBlockType, frame_blocks
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.reading.base_files.parquet_bytes import with_unknown_page

LOGS = Path(__file__).parents[2] / "golden" / "logs"
META_COLUMNS = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]


def golden(name: str) -> list[LogBlock]:
    return list(frame_blocks((LOGS / name).read_bytes(), path=name))


def block_of(
    block_type: LogBlockType, schema: object, content: bytes, *, instant: str = "001"
) -> LogBlock:
    header: dict[HeaderKey | int, str] = {HeaderKey.INSTANT_TIME: instant}
    if schema is not None:
        header[HeaderKey.SCHEMA] = schema if isinstance(schema, str) else json.dumps(schema)
    (block,) = frame_blocks(write_block(block_type, header, content), path="f.log")
    return block


def record(**fields: object) -> dict[str, object]:
    listed = [{"name": name, "type": avro_type} for name, avro_type in fields.items()]
    return {"type": "record", "name": "r", "fields": listed}


def by_fastavro(block: LogBlock):
    """The rows of an Avro data block, by a reader that is not ours."""
    schema = fastavro.parse_schema(json.loads(block.schema_text or ""))
    _, count = struct.unpack_from(">ii", block.content)
    octets = io.BytesIO(bytes(block.content[8:]))
    rows = []
    for _ in range(count):
        octets.read(4)
        rows.append(fastavro.schemaless_reader(octets, schema))
    return rows


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [
        ("v6_mor_appended_logs.log", 0),
        ("v6_mor_appended_logs.log", 1),
        ("v6_mor_corrupt_log_block.log", 0),
        ("v6_mor_nonpart_event_time.log", 0),
        ("v9_mor_payload_mysql_debezium.log", 0),
        ("v6_cow_cdc_op_key_only.log", 0),
    ],
)
def test_rows_of_real_avro_blocks_are_those_of_fastavro(name, ordinal):
    block = golden(name)[ordinal]
    assert decode_data_block(block, None).to_pylist() == by_fastavro(block)


def test_real_change_data_has_operation_and_key():
    (block,) = golden("v6_cow_cdc_op_key_only.log")
    assert decode_data_block(block, None).to_pylist() == [{"op": "d", "record_key": "k3"}]


@pytest.mark.parametrize(
    ("name", "commit_seqno"),
    [
        pytest.param("v9_mor_logblock_hfile.log", "20261121063022299_0_181", id="hfile"),
        pytest.param("v6_mor_logblock_parquet.log", "20261121064320000_0_17", id="parquet"),
    ],
)
def test_real_hfile_and_parquet_blocks_hold_whole_rows(name, commit_seqno):
    (block,) = golden(name)
    table = decode_data_block(block, None)
    assert table.drop_columns(META_COLUMNS).to_pylist() == [
        {
            "id": "k002",
            "name": "n2-120",
            "amount": 0.2857142857142857,
            "tags": [],
            "price": Decimal("2.120"),
            "d": date(2024, 1, 3),
            "ts": 120,
            "region": "emea",
        }
    ]
    assert table.column("_hoodie_commit_seqno").to_pylist() == [commit_seqno]


def test_blank_keys_of_the_metadata_table_are_restored():
    (block,) = golden("v6_metadata_table_files.log")
    table = decode_data_block(block, ["type", "key"])
    assert table.to_pylist() == [
        {"key": "__all_partitions__", "type": 1},
        {"key": "amer", "type": 2},
        {"key": "apac", "type": 2},
        {"key": "emea", "type": 2},
    ]


def test_nested_values_of_the_metadata_table_are_decoded():
    (block,) = golden("v6_metadata_table_files.log")
    files = decode_data_block(block, ["filesystemMetadata"]).column(0).to_pylist()
    name = "9ecbfd22-5319-4e67-8193-000f2270b7e1-0_0-11-13_20261121061710377.parquet"
    assert files[1] == [(name, {"size": 8079, "isDeleted": False})]


@pytest.mark.parametrize(
    "name",
    ["v6_mor_corrupt_log_block.log", "v9_mor_logblock_hfile.log", "v6_mor_logblock_parquet.log"],
)
def test_columns_come_in_the_order_of_the_schema_and_unknown_ones_are_skipped(name):
    block = golden(name)[0]
    whole = decode_data_block(block, None)
    some = decode_data_block(block, ["region", "no_such", "id"])
    assert some == whole.select(["id", "region"])


@pytest.mark.parametrize(
    "name",
    ["v6_mor_corrupt_log_block.log", "v9_mor_logblock_hfile.log", "v6_mor_logblock_parquet.log"],
)
def test_rows_are_counted_when_no_column_is_wanted(name):
    block = golden(name)[0]
    assert decode_data_block(block, []).num_rows == decode_data_block(block, None).num_rows


LONG = record(a="long")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_avro_content_versions_are_read_alike(version):
    content = avro_content(avro_records(LONG, [{"a": 1}, {"a": -5}]), version=version)
    table = decode_data_block(block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, content), None)
    assert table.to_pydict() == {"a": [1, -5]}


def test_avro_block_without_records_keeps_its_columns():
    table = decode_data_block(block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, avro_content([])), None)
    assert table == pa.table({"a": pa.array([], pa.int64())}, table.schema)


def test_schema_is_parsed_once_per_text():
    first, second = (block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, avro_content([])) for _ in "ab")
    assert first.avro_schema() is second.avro_schema()


def parquet_block(schema: object, table: pa.Table, **options: object) -> LogBlock:
    octets = io.BytesIO()
    pq.write_table(table, octets, store_schema=False, **options)
    return block_of(LogBlockType.PARQUET_DATA_BLOCK, schema, octets.getvalue())


NULLABLE_INTS = ["null", {"type": "array", "items": ["null", "int"]}]
INSTANT = datetime(2024, 1, 2, 3, 4, 5, 6000, timezone.utc)


@pytest.mark.parametrize(
    ("avro_type", "written", "expected"),
    [
        pytest.param(
            ["null", {"type": "long", "logicalType": "timestamp-micros"}],
            pa.array([INSTANT.replace(tzinfo=None), None], pa.timestamp("us")),
            pa.array([INSTANT.replace(tzinfo=None), None], pa.timestamp("us")),
            id="timestamp-without-time-zone",
        ),
        pytest.param(
            ["null", {"type": "long", "logicalType": "timestamp-millis"}],
            pa.array([INSTANT, None], pa.timestamp("ms", "UTC")),
            pa.array([INSTANT, None], pa.timestamp("ms", "UTC")),
            id="timestamp-in-milliseconds",
        ),
        pytest.param(
            ["null", {"type": "long", "logicalType": "timestamp-millis"}],
            pa.array([INSTANT, None], pa.timestamp("us", "UTC")),
            pa.array([INSTANT, None], pa.timestamp("us", "UTC")),
            id="timestamp-in-the-unit-of-the-file",
        ),
        pytest.param(
            ["null", {"type": "long", "logicalType": "local-timestamp-micros"}],
            pa.array([INSTANT.replace(tzinfo=None), None], pa.timestamp("us")),
            pa.array([INSTANT.replace(tzinfo=None), None], pa.timestamp("us")),
            id="local-timestamp",
        ),
        pytest.param(
            ["null", "string"],
            pa.array(["x", None]).dictionary_encode(),
            pa.array(["x", None]),
            id="dictionary",
        ),
        pytest.param(
            ["null", "string"],
            pa.array(["x", None], pa.large_string()),
            pa.array(["x", None]),
            id="large-string",
        ),
        pytest.param(
            NULLABLE_INTS,
            pa.array([[1, None], None], pa.list_(pa.int32())),
            pa.array([[1, None], None], pa.list_(pa.int32())),
            id="list-with-nulls",
        ),
        pytest.param(
            ["null", record(x=["null", "string"])],
            pa.array([{"x": None}, None], pa.struct({"x": pa.string()})),
            pa.array([{"x": None}, None], pa.struct({"x": pa.string()})),
            id="struct-with-nulls",
        ),
        pytest.param(
            ["null", {"type": "map", "values": ["null", "int"]}],
            pa.array([[("k", None)], None], pa.map_(pa.string(), pa.int32())),
            pa.array([[("k", None)], None], pa.map_(pa.string(), pa.int32())),
            id="map-with-nulls",
        ),
    ],
)
def test_parquet_columns_have_the_types_of_the_schema(avro_type, written, expected):
    schema = {"type": "record", "name": "outer", "fields": [{"name": "a", "type": avro_type}]}
    table = decode_data_block(parquet_block(schema, pa.table({"a": written})), None)
    column = table.column("a").combine_chunks()
    assert column.type == expected.type
    assert column.to_pylist() == expected.to_pylist()


def test_parquet_numbers_stay_numbers_whatever_the_schema_calls_them():
    schema = record(a={"type": "long", "logicalType": "local-timestamp-millis"})
    written = pa.table({"a": [1_600_000_000_123]})  # as Hudi 1.0 and Flink write it: plain int64
    assert decode_data_block(parquet_block(schema, written), None).equals(written)


def test_old_two_level_parquet_lists_are_lists():
    lists = pa.table({"a": pa.array([[1, 2], []], pa.list_(pa.field("array", pa.int32())))})
    block = parquet_block(record(a=NULLABLE_INTS), lists, use_compliant_nested_type=False)
    table = decode_data_block(block, None)
    assert table.schema.field("a").type == pa.list_(pa.field("element", pa.int32()))
    assert table.to_pydict() == {"a": [[1, 2], []]}


def test_parquet_column_that_does_not_fit_the_schema_keeps_its_type():
    block = parquet_block(record(a="int"), pa.table({"a": [1 << 40]}))
    assert decode_data_block(block, None).column("a").to_pylist() == [1 << 40]


def test_parquet_column_does_not_bring_those_whose_name_it_begins():
    block = parquet_block(record(a="long"), pa.table({"a.b": [1], "a": [2]}))
    assert decode_data_block(block, ["a"]).to_pydict() == {"a": [2]}


TWO = avro_content(avro_records(LONG, [{"a": 1}, {"a": 2}]))


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        pytest.param(
            block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, avro_content([], version=0)),
            "expected content version 1, 2 or 3, found 0 with 0 records",
            id="version-0",
        ),
        pytest.param(
            block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, b"\0\0\0\3"),
            "expected version and record count, found 4 bytes",
            id="no-count",
        ),
        pytest.param(
            block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, struct.pack(">ii", 3, -1)),
            "expected content version 1, 2 or 3, found 3 with -1 records",
            id="negative-count",
        ),
        pytest.param(
            block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, TWO[:-1]), "record 1: ", id="cut-record"
        ),
        pytest.param(
            block_of(LogBlockType.CDC_DATA_BLOCK, LONG, avro_content([b"\2", b"\x80"])),
            "record 1, field 'a': ",
            id="record-does-not-fit-the-schema",
        ),
        pytest.param(
            block_of(LogBlockType.AVRO_DATA_BLOCK, None, TWO),
            "expected a SCHEMA header, found none",
            id="no-schema",
        ),
        pytest.param(
            block_of(LogBlockType.AVRO_DATA_BLOCK, "{", TWO),
            "SCHEMA header cannot be parsed",
            id="schema-is-no-json",
        ),
        pytest.param(
            block_of(LogBlockType.PARQUET_DATA_BLOCK, LONG, b"PAR1"),
            "expected a Parquet file: ",
            id="no-parquet",
        ),
    ],
)
def test_refusals_name_file_block_type_and_instant(block, problem):
    place = rf"f\.log at byte 0: {block.block_type.name} of instant 001: "
    with pytest.raises(CorruptLogBlockError, match=place + problem):
        decode_data_block(block, None)


def test_memory_that_runs_out_is_not_taken_for_damage(monkeypatch):
    def fail(_, **_options):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr("hudi_pyspark.format.log.data_block.open_parquet", fail)
    with pytest.raises(MemoryError, match="malloc of size 64"):
        decode_data_block(block_of(LogBlockType.PARQUET_DATA_BLOCK, LONG, b""), None)


def test_block_with_more_records_than_its_count_is_refused():
    two = avro_content(avro_records(LONG, [{"a": 1}, {"a": -5}]))
    one = two[:4] + (1).to_bytes(4, "big") + two[8:]
    block = block_of(LogBlockType.AVRO_DATA_BLOCK, LONG, one)
    with pytest.raises(CorruptLogBlockError, match="expected 1 records, found 5 bytes after them"):
        decode_data_block(block, None)
    table, problem = salvage_data_block(block)
    assert table.to_pydict() == {"a": [1]}
    assert "found 5 bytes after them" in problem


def test_parquet_block_with_a_page_of_unknown_type_is_refused():
    octets = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int64())}), octets, store_schema=False)
    damaged = with_unknown_page(octets.getvalue(), 0)
    with pytest.raises(CorruptLogBlockError, match="expected a Parquet file: "):
        decode_data_block(block_of(LogBlockType.PARQUET_DATA_BLOCK, LONG, damaged), None)


def test_content_that_is_no_hfile_is_refused_at_its_own_offset():
    block = block_of(LogBlockType.HFILE_DATA_BLOCK, LONG, b"no HFile")
    with pytest.raises(CorruptLogBlockError, match="expected an HFile trailer") as caught:
        decode_data_block(block, None)
    assert caught.value.offset == block.content_offset


def test_column_of_a_type_without_counterpart_is_named():
    nanos = {"type": "long", "logicalType": "timestamp-nanos"}
    block = block_of(LogBlockType.AVRO_DATA_BLOCK, record(when=nanos), avro_content([]))
    with pytest.raises(UnsupportedTypeError, match="when"):
        decode_data_block(block, None)


def test_block_without_records_cannot_be_decoded():
    block = replace(golden("v6_mor_appended_logs.log")[0], block_type=LogBlockType.DELETE_BLOCK)
    with pytest.raises(ValueError, match="a DELETE_BLOCK has no records to decode"):
        decode_data_block(block, None)
