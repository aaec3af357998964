import base64
import datetime as dt
import io
import json
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, thresholds
from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import (
    CorruptBaseFileError,
    MissingFileError,
    SchemaEvolutionError,
    UnsupportedTableError,
)
from hudi_pyspark.format.data_files import BaseFileFormat, check_readable
from hudi_pyspark.format.parquet.legacy_calendar import INT96_ZONE
from hudi_pyspark.format.parquet.thrift_compact import ThriftStruct, parse_struct, struct_bytes
from hudi_pyspark.reading.base_files.base_file import read_base_file
from tests.memory_storage import MemoryStorage
from tests.reading.base_files.parquet_bytes import with_unknown_page

UTC = dt.timezone.utc
PATH = "p=1/f1-0_0-1-0_001.parquet"
TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"], "a.c": [7, 8, 9]})


class CountingStorage(MemoryStorage):
    """Records which of the files that were opened are still open."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.opened: list[Any] = []

    def open_input(self, path: str) -> Any:
        file = super().open_input(path)
        self.opened.append(file)
        return file


def parquet(table: pa.Table, **options: Any) -> bytes:
    octets = io.BytesIO()
    pq.write_table(table, octets, **options)
    return octets.getvalue()


def read(content: bytes, columns, batch_rows: int = 10) -> list[pa.Table]:
    return list(read_base_file(MemoryStorage({PATH: content}), PATH, columns, batch_rows))


def test_columns_come_in_the_order_asked_for():
    (table,) = read(parquet(TABLE), ["b", "a"])
    assert table.equals(TABLE.select(["b", "a"]))


def test_columns_that_the_file_lacks_are_left_out():
    (table,) = read(parquet(TABLE), ["new", "a", "A"])
    assert table.equals(TABLE.select(["a"]))


def test_tables_of_wide_rows_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(thresholds, "TABLE_BYTES", 100_000)
    rows = pa.table({"a": range(1_000), "b": [f"{i:04d}" * 250 for i in range(1_000)]})
    content = parquet(rows, use_dictionary=False, row_group_size=300)
    wide = read(content, ["a", "b"], batch_rows=500)
    assert pa.concat_tables(wide).equals(rows)
    assert 90 < max(table.num_rows for table in wide) <= 100
    assert max(table.num_rows for table in read(content, ["a"], batch_rows=500)) == 500


@pytest.mark.parametrize("columns", [["a"], ["a.c"]], ids=["prefix", "dotted"])
def test_column_whose_name_begins_like_anothers_comes_alone(columns):
    (table,) = read(parquet(TABLE), columns)
    assert table.equals(TABLE.select(columns))


@pytest.mark.parametrize("columns", [[], ["new"]], ids=["none-asked", "none-there"])
def test_without_columns_the_number_of_rows_is_told(columns):
    tables = read(parquet(TABLE, row_group_size=2), columns, batch_rows=2)
    assert [table.num_rows for table in tables] == [2, 1]
    assert all(table.num_columns == 0 for table in tables)


def test_rows_come_in_file_order_and_in_small_tables():
    table = pa.table({"a": range(10)})
    tables = read(parquet(table, row_group_size=4), ["a"], batch_rows=3)
    assert max(len(t) for t in tables) <= 3
    assert pa.concat_tables(tables).column("a").to_pylist() == list(range(10))


def test_file_without_rows_has_no_tables():
    assert sum(len(table) for table in read(parquet(TABLE.slice(0, 0)), ["a"])) == 0


def test_file_is_read_piece_by_piece_and_closed_when_the_reader_stops_early():
    storage = CountingStorage({PATH: parquet(pa.table({"a": range(10)}))})
    tables = read_base_file(storage, PATH, ["a"], 2)
    assert storage.opened == []
    next(tables)
    assert [file.closed for file in storage.opened] == [False]
    tables.close()  # type: ignore[attr-defined]
    assert [file.closed for file in storage.opened] == [True]


def test_file_is_closed_after_the_last_row():
    storage = CountingStorage({PATH: parquet(TABLE)})
    list(read_base_file(storage, PATH, ["a"], 2))
    assert [file.closed for file in storage.opened] == [True]


def test_missing_file_is_named_with_what_to_do():
    tables = read_base_file(MemoryStorage({}), PATH, ["a"], 2)
    with pytest.raises(
        MissingFileError, match=f"{PATH} is not on the storage any more. Load the table again"
    ):
        next(tables)


WHOLE = parquet(TABLE)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"PAR1", id="magic-only"),
        pytest.param(b"not a parquet file at all", id="text"),
        pytest.param(WHOLE[:-1], id="last-byte-missing"),
        pytest.param(WHOLE[: len(WHOLE) // 2], id="half"),
        pytest.param(WHOLE[: len(WHOLE) // 2] + WHOLE[-8:], id="middle-missing"),
        pytest.param(WHOLE[:4] + bytes(60) + WHOLE[64:], id="pages-zeroed"),
    ],
)
def test_damaged_file_is_corrupt_and_named(content):
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: not readable as Parquet: "):
        read(content, ["a", "b"])


# Made by pyarrow 26; older ones cannot write an INT96 that is out of the range of nanoseconds.
INT96 = base64.b64decode(
    "UEFSMRUAFTwVPCwVBhUAFQYVBhwAAAACAAAAAwMAgKdISicAAFJEGgAY/E6RlE4AACz+UQAVBBksNQAYBnNjaGVtYR"
    "UCABUGJQIYAXQAFgYZHBkcJgAcFQYZJQYAGRgBdBUAFgYWYhZiJghJHBUAFQAVAgA8KQYZJgIEAAAAFmIWBiYIFmIA"
    "KCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAHoAAABQQVIx"
)


def test_int96_is_an_instant_of_microseconds_of_any_age():
    (table,) = read(INT96, ["t"])
    assert table.schema.field("t").type == pa.timestamp("us", INT96_ZONE)
    first, last, null = table.column("t").cast(pa.timestamp("us")).to_pylist()
    assert first == dt.datetime(1, 1, 1, 12)  # noqa: DTZ001
    assert last == dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001
    assert null is None


def test_int96_inside_other_types_is_an_instant():
    moments = pa.array([dt.datetime(2024, 1, 31)], pa.timestamp("us"))  # noqa: DTZ001
    table = pa.table(
        {
            "s": pa.StructArray.from_arrays([moments], ["a"]),
            "l": pa.ListArray.from_arrays([0, 1], moments),
            "m": pa.MapArray.from_arrays([0, 1], pa.array(["k"]), moments),
            "n": pa.array([1]),
        }
    )
    octets = io.BytesIO()
    pq.write_table(table, octets, use_deprecated_int96_timestamps=True, store_schema=False)
    (read_back,) = read(octets.getvalue(), table.column_names)
    kinds = [field.type for field in read_back.schema]
    instant = pa.timestamp("us", INT96_ZONE)
    found = [kinds[0].field(0).type, kinds[1].value_type, kinds[2].item_type, kinds[3]]
    assert found == [instant] * 3 + [pa.int64()]
    for field in read_back.schema.remove(3):
        wanted = pa.schema([field.with_type(table.schema.field(field.name).type)])
        column = pa.table([read_back.column(field.name)], schema=pa.schema([field]))
        assert conform(column, wanted, {}, source="f").column(0).to_pylist() == (
            table.column(field.name).to_pylist()
        )
    with pytest.raises(SchemaEvolutionError, match="column 'l' is stored as list"):
        conform(read_back, pa.schema([("l", pa.list_(pa.int64()))]), {}, source="f")


def with_avro_schema(table: pa.Table, *fields: tuple[str, object]) -> bytes:
    """A file whose footer has an Avro schema, as Flink's writer leaves it."""
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": avro_type} for name, avro_type in fields],
    }
    metadata = {"parquet.avro.schema": json.dumps(schema)}
    return parquet(table.replace_schema_metadata(metadata))


def test_plain_int64_stays_one_whatever_the_footer_calls_it():
    avro = ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]
    numbers = pa.array([-1, None, 5])
    (table,) = read(with_avro_schema(pa.table({"t": numbers}), ("t", avro)), ["t"])
    assert table.column("t").equals(pa.chunked_array([numbers]))


def test_timestamp_that_parquet_knows_keeps_its_unit():
    avro = {"type": "long", "logicalType": "timestamp-micros"}
    stored = pa.table({"t": pa.array([1], pa.timestamp("ms", "UTC"))})
    (table,) = read(with_avro_schema(stored, ("t", avro)), ["t"])
    assert table.column("t").to_pylist() == [dt.datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)]


@pytest.mark.parametrize("path", ["f.txt", "f.parquet.crc", "f"])
def test_other_formats_are_refused_by_name(path):
    with pytest.raises(UnsupportedTableError, match=f"base file {path} "):
        check_readable(path)


@pytest.mark.parametrize("base_format", BaseFileFormat)
def test_every_format_has_a_reader(base_format):
    if base_format.missing_library:
        pytest.skip(base_format.missing_library)
    path = f"f-0_0-0-0_001{base_format.suffix}"
    assert check_readable(path) is base_format
    problem = f"(?i){path}: not readable as {base_format.value}"
    with pytest.raises(CorruptBaseFileError, match=problem):
        list(read_base_file(MemoryStorage({path: b"no file of any format"}), path, ["a"], 10))


def test_footer_with_bad_utf_8_is_corrupt():
    content = parquet(pa.table({"name": [1]}), store_schema=False).replace(b"name", b"\xffame")
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: not readable as Parquet: .*utf-8"):
        read(content, ["name"])


def test_count_reads_no_page(golden_table, tmp_path):
    path = tmp_path / "table"
    shutil.copytree(golden_table("v9_mor_compaction_inline"), path)
    rows = HudiTable(str(path)).scan(["id"], query_type="read_optimized").to_arrow().num_rows
    for file in path.glob("*/*.parquet"):
        content = file.read_bytes()
        footer = 8 + int.from_bytes(content[-8:-4], "little")
        file.write_bytes(b"PAR1" + bytes(len(content) - footer - 4) + content[-footer:])
    scan = HudiTable(str(path)).scan(query_type="read_optimized")
    assert scan.count() == rows > 0
    with pytest.raises(CorruptBaseFileError):
        scan.to_arrow()


@pytest.mark.parametrize("codec", ["GZIP", "SNAPPY", "ZSTD", "NONE"])
def test_changed_byte_of_a_value_is_an_error(codec):
    numbers = pa.table({"a": pa.array(range(1_000), pa.int64())})
    content = bytearray(
        parquet(numbers, compression=codec, use_dictionary=False, write_page_checksum=True)
    )
    pages = content.index((3).to_bytes(8, "little")) if codec == "NONE" else len(content) // 4
    content[pages] ^= 1
    with pytest.raises(CorruptBaseFileError, match="not readable as Parquet"):
        read(bytes(content), ["a"])


def with_wrong_checksum(content: bytes) -> bytes:
    """The file with another checksum of the first data page, whose values are as they were."""
    place = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0).data_page_offset
    header, size = parse_struct(content[place : place + 100])
    kind, checksum = header[4]
    assert isinstance(checksum, int)
    changed = struct_bytes(ThriftStruct({**header, 4: (kind, checksum ^ 1)}))
    assert len(changed) == size
    return content[:place] + changed + content[place + size :]


@pytest.mark.parametrize(
    ("codec", "verify", "is_read"),
    [
        ("SNAPPY", True, False),
        ("ZSTD", True, False),
        ("LZ4", True, False),
        ("NONE", True, False),
        ("GZIP", True, False),
        ({"a": "GZIP", "b": "SNAPPY"}, True, False),
        ("SNAPPY", False, True),
        ("NONE", False, True),
    ],
    ids=str,
)
def test_checksums_of_pages_are_verified(codec, verify, is_read):
    table = pa.table({"a": [1, 2, 3], "b": [4, 5, 6]})
    good = parquet(table, compression=codec, use_dictionary=False, write_page_checksum=True)
    storage = MemoryStorage({PATH: with_wrong_checksum(good)})
    rows = read_base_file(storage, PATH, ["a", "b"], 10, verify_checksums=verify)
    if is_read:
        assert pa.concat_tables(rows) == table
    else:
        with pytest.raises(CorruptBaseFileError, match="CRC checksum verification failed"):
            list(rows)


def test_unknown_codec_in_a_footer_is_an_error():
    """pyarrow 26 ends the process where it is asked for the name of such a codec."""
    content = parquet(pa.table({"abc": [1, 2, 3]}), compression="GZIP", store_schema=False)
    place = content.rindex(b"abc\x15\x04\x16") + 4
    damaged = content[:place] + b"\x05" + content[place + 1 :]
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: not readable as Parquet"):
        read(damaged, ["abc"])


@pytest.mark.parametrize("columns", [["a"], ["a", "b"], ["b", "a"]])
def test_page_of_unknown_type_is_an_error(columns):
    """pyarrow passes over it, and returns fewer rows."""
    table = pa.table({"a": pa.array(range(30), pa.int64()), "b": [f"b{i}" for i in range(30)]})
    content = parquet(table, row_group_size=10)
    assert sum(part.num_rows for part in read(content, columns)) == 30
    with pytest.raises(CorruptBaseFileError, match="not readable as Parquet"):
        read(with_unknown_page(content, 0), columns)


@pytest.mark.parametrize("columns", [["a"], []])
def test_row_group_that_has_not_the_rows_of_the_file_is_an_error(columns):
    content = parquet(pa.table({"a": [1] * 21}), store_schema=False)
    rows = b"\x16" + bytes([2 * 21])  # an integer of the footer: of the file, then of the row group
    place = content.rindex(rows) + 1
    damaged = content[:place] + bytes([2 * 20]) + content[place + 1 :]
    assert pq.ParquetFile(io.BytesIO(damaged)).metadata.row_group(0).num_rows == 20
    with pytest.raises(CorruptBaseFileError, match="expected 20 rows in the row groups, found 21"):
        read(damaged, columns)


@pytest.mark.parametrize("columns", [["a"], ["b"]])
@pytest.mark.parametrize("name", [b"b", b"inner"])
def test_name_that_the_schema_and_the_column_chunks_spell_differently_is_an_error(name, columns):
    """Read as a column that the file lacks, its values would be null."""
    table = pa.table({"a": [1], "b": [{"inner": 1}]})
    content = parquet(table, store_schema=False)
    assert read(content, columns)[0].num_rows == 1
    place = content.index(b"\x18" + bytes([len(name)]) + name) + 2  # in the schema
    damaged = content[:place] + b"x" + content[place + 1 :]
    with pytest.raises(CorruptBaseFileError, match=r"of the schema is stored as 'b\.inner'"):
        read(damaged, columns)


@pytest.mark.parametrize(
    ("path", "opener"),
    [
        ("f_1-0-1_001.parquet", "hudi_pyspark.reading.base_files.parquet.open_parquet"),
        ("f_1-0-1_001.orc", "hudi_pyspark.reading.base_files.other_formats.orc.ORCFile"),
    ],
)
def test_memory_that_runs_out_is_not_taken_for_damage(path, opener, monkeypatch):
    def fail(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(opener, fail)
    with pytest.raises(MemoryError, match="malloc of size 64"):
        list(read_base_file(MemoryStorage({path: b""}), path, ["a"], 10))
