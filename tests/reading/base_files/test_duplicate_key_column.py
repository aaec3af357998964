"""A column is left unread only where it holds the record keys, value by value."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.reading.base_files.duplicate_key_column import find_duplicate_key_column
from hudi_pyspark.reading.base_files.page_reads import PagedFile
from tests.memory_storage import MemoryStorage
from tests.reading.base_files.parquet_bytes import keys, parquet_bytes

ROWS = 60_000
KEYS = keys(ROWS)
STRING = pa.string()
NAMES = ["_hoodie_record_key", "number", "uuid", "id"]
FILE = {"use_dictionary": False, "data_page_size": 100_000}


def table(uuids, *, nullable=False, kind=STRING):
    schema = pa.schema(
        [
            pa.field("_hoodie_record_key", pa.string()),
            pa.field("number", pa.int64()),
            pa.field("uuid", kind, nullable),
            pa.field("id", pa.string()),
        ]
    )
    arrays = [KEYS, range(ROWS), uuids, [f"{key[::-1]}" for key in KEYS]]
    return pa.table([pa.array(a, f.type) for a, f in zip(arrays, schema, strict=True)], schema)


def duplicate(data, columns=NAMES):
    file = pa.BufferReader(data)
    parquet = pq.ParquetFile(file)
    groups = range(parquet.num_row_groups)
    return find_duplicate_key_column(PagedFile(file, parquet), groups, columns)


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("row_group_size", [ROWS, 33_000])
def test_same_values_are_found_and_read_once(nullable, row_group_size):
    rows = table(KEYS, nullable=nullable)
    data = parquet_bytes(rows, **FILE, row_group_size=row_group_size)
    assert duplicate(data) == "uuid"
    read = pa.concat_tables(
        read_base_file(MemoryStorage({"a.parquet": data}), "a.parquet", NAMES, 9_999)
    )
    assert read.equals(rows)
    assert read.schema.equals(rows.schema)


@pytest.mark.parametrize("place", [0, 1, 31_111, ROWS - 1])
@pytest.mark.parametrize("nullable", [False, True])
def test_one_other_value_is_noticed(place, nullable):
    uuids = list(KEYS)
    uuids[place] = uuids[place][:-1] + "x"
    rows = table(uuids, nullable=nullable)
    data = parquet_bytes(rows, **FILE)
    assert duplicate(data) is None
    storage = MemoryStorage({"a.parquet": data})
    read = pa.concat_tables(read_base_file(storage, "a.parquet", NAMES, 9_999))
    assert read.equals(rows)


def test_values_in_another_order_are_noticed():
    uuids = list(KEYS)
    uuids[100], uuids[40_000] = uuids[40_000], uuids[100]
    assert duplicate(parquet_bytes(table(uuids), **FILE)) is None


def test_null_is_noticed():
    uuids = [None if i == 777 else key for i, key in enumerate(KEYS)]
    assert duplicate(parquet_bytes(table(uuids, nullable=True), **FILE)) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"compression": "snappy"},
        {"use_dictionary": True, "dictionary_pagesize_limit": 1 << 30},
        {"data_page_version": "2.0"},
        {"write_page_index": False},
        {"use_dictionary": False, "column_encoding": {"uuid": "DELTA_BYTE_ARRAY"}},
        {"write_statistics": False},
    ],
)
def test_in_other_files_nothing_is_claimed(settings):
    assert duplicate(parquet_bytes(table(KEYS), **{**FILE, **settings})) is None


def test_nothing_is_saved_without_the_record_key():
    data = parquet_bytes(table(KEYS), **FILE)
    assert duplicate(data, ["uuid", "id"]) is None
    assert duplicate(data, ["_hoodie_record_key", "number"]) is None


def test_other_type_is_not_a_duplicate():
    uuids = [key.encode() for key in KEYS]
    assert duplicate(parquet_bytes(table(uuids, kind=pa.binary()), **FILE)) is None
