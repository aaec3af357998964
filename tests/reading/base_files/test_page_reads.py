"""Rows from some pages are the rows that pyarrow reads from the whole file."""

import datetime as dt
import io
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.format.parquet.pages import ParquetPagesError
from hudi_pyspark.reading.base_files import page_reads
from hudi_pyspark.reading.base_files.page_reads import PagedFile, read_keyed_rows
from hudi_pyspark.reading.base_files.parquet import keys_as_stored
from tests.reading.base_files.parquet_bytes import keys, parquet_bytes, with_unknown_page
from tests.sampling import SAMPLED, sample

ROWS = 12_000
KEY = "_hoodie_record_key"


def some_table(rows=ROWS):
    numbers = range(rows)
    return pa.table(
        {
            KEY: keys(rows),
            "number": pa.array(numbers, pa.int64()),
            "few": [f"value {i % 7}" if i % 11 else None for i in numbers],
            "text": [None if i % 13 == 5 else f"{i * 7919 % 104729} " * (i % 9) for i in numbers],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(i % 900) for i in numbers],
            "price": pa.array([None if i % 5 == 2 else i for i in numbers]).cast(
                pa.decimal128(25, 2)
            ),
            "place": [
                None if i % 10 == 3 else {"x": i, "name": {"y": f"n{i}" * (i % 6)}} for i in numbers
            ],
            "list": [None if i % 17 == 1 else [f"{i}-{j}" for j in range(i % 5)] for i in numbers],
            "map": pa.array(
                [[(f"k{j}", i) for j in range(i % 3)] for i in numbers],
                pa.map_(pa.string(), pa.int64()),
            ),
            "a.b": pa.array(numbers, pa.int32()),
        }
    )


TABLE = some_table()
SETTINGS: dict[str, dict[str, object]] = {
    "gzip": {},
    "none": {"compression": "none"},
    "snappy": {"compression": "snappy"},
    "pages of version 2": {"data_page_version": "2.0"},
    "no dictionary": {"use_dictionary": False},
    "dictionary that overflows": {"dictionary_pagesize_limit": 2_000},
    "delta": {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    "row groups": {"row_group_size": 4_400},
    "int96": {"use_deprecated_int96_timestamps": True},
    "tiny pages": {"data_page_size": 500, "write_batch_size": 7},
}
CHOICES = {
    "first": [0],
    "last": [ROWS - 1],
    "some": [3, 4, 5, 4_800, 4_801, 10_222],
    "half a row group": list(range(1_600, 2_400, 3)),
}


@cache
def file_with(settings):
    return parquet_bytes(TABLE, **SETTINGS[settings])


def paged(data):
    return PagedFile(pa.BufferReader(data), pq.ParquetFile(pa.BufferReader(data)), "f")


def pick(data, group, columns, wanted):
    file = pa.BufferReader(data)
    parquet = pq.ParquetFile(file)
    wanted_keys = keys_as_stored(wanted, parquet.schema_arrow)
    if wanted_keys is None:
        return None
    return read_keyed_rows(PagedFile(file, parquet, "f"), group, columns, wanted_keys)


@pytest.fixture
def _from_any_pages(monkeypatch):
    """Rows are picked from pages even where reading all of them would be as fast."""
    monkeypatch.setattr(thresholds, "PAGED_COLUMN_BYTES", 0)
    monkeypatch.setattr(thresholds, "MOST_PAGES", 1.0)
    monkeypatch.setattr(thresholds, "ROWS_OF_PAGE", 0)


@pytest.mark.parametrize("settings", SETTINGS)
@SAMPLED
@pytest.mark.usefixtures("_from_any_pages")
def test_rows_are_those_of_the_whole_file(settings, is_whole):
    data = file_with(settings)
    whole = pq.ParquetFile(io.BytesIO(data))
    rows = whole.read()
    columns = TABLE.schema.names
    for choice in CHOICES if is_whole else sample(CHOICES, settings, 2):
        wanted = [TABLE[KEY][i].as_py() for i in CHOICES[choice]]
        picked = [pick(data, group, columns, wanted) for group in range(whole.num_row_groups)]
        assert all(part is not None for part in picked), choice
        assert pa.concat_tables(picked) == rows.take(pa.array(CHOICES[choice])), choice


@pytest.mark.usefixtures("_from_any_pages")
def test_columns_keep_the_order_that_was_asked_for():
    data = file_with("gzip")
    names = ["text", KEY, "number"]
    assert pick(data, 0, names, [TABLE[KEY][9].as_py()]) == TABLE.select(names).slice(9, 1)


@pytest.mark.usefixtures("_from_any_pages")
def test_other_keys_give_no_row():
    picked = pick(file_with("gzip"), 0, ["number"], ["none"])
    assert picked.schema.names == ["number"]
    assert picked.num_rows == 0


def test_only_the_pages_of_the_rows_are_read():
    class Counting(io.BytesIO):
        count = 0

        def read(self, size=-1):
            found = super().read(size)
            Counting.count += len(found)
            return found

    data = parquet_bytes(TABLE, use_dictionary=False)
    file = Counting(data)
    parquet = pq.ParquetFile(pa.BufferReader(data))
    picked = page_reads._read_pages(PagedFile(file, parquet, "f"), 0, ["text"], np.array([7]))
    assert picked["text"].to_pylist() == [TABLE["text"][7].as_py()]
    pages = parquet.metadata.row_group(0).column(3).total_compressed_size
    assert 0 < Counting.count < pages / 3


@pytest.mark.parametrize(
    "settings",
    [{"write_page_index": False}, {"store_schema": True}],
)
def test_file_without_what_it_takes_is_left_to_be_read_whole(settings):
    data = parquet_bytes(TABLE, **settings)
    assert pick(data, 0, ["number", "text"], [TABLE[KEY][9].as_py()]) is None


def test_when_most_pages_may_be_wanted_all_are_left_to_be_read(monkeypatch):
    monkeypatch.setattr(thresholds, "PAGED_COLUMN_BYTES", 0)
    monkeypatch.setattr(thresholds, "ROWS_OF_PAGE", 1_000)
    one = [TABLE[KEY][9].as_py()]
    data = file_with("no dictionary")
    assert pick(data, 0, ["number", "text"], one).num_rows == 1
    assert pick(data, 0, ["number", "text"], TABLE[KEY].to_pylist()[::50]) is None


def test_small_row_group_is_left_to_be_read_whole():
    data = parquet_bytes(TABLE.slice(0, 1_000))
    assert pick(data, 0, ["number"], [TABLE[KEY][9].as_py()]) is None


def test_keys_of_another_type_are_left_to_be_read_whole():
    table = TABLE.set_column(0, KEY, TABLE[KEY].cast(pa.binary()))
    assert pick(parquet_bytes(table), 0, ["number"], [TABLE[KEY][9].as_py()]) is None


@pytest.mark.usefixtures("_from_any_pages")
def test_damage_never_gives_other_rows():
    """Whatever byte of the page indexes is wrong: the rows are right, or the file is read whole."""
    data = parquet_bytes(TABLE.select([KEY, "number", "text", "list"]))
    wanted = [TABLE[KEY][i].as_py() for i in (9, 8_000)]
    names = ["number", "text", "list"]
    expected = TABLE.select(names).take([9, 8_000])
    footer = paged(data).footer
    begin, end = footer.index_span(0, 2)
    outcomes = set()
    for position in range(begin, min(end, begin + 100), 3):
        damaged = bytearray(data)
        damaged[position] ^= 1 + position % 3
        picked = pick(bytes(damaged), 0, names, wanted)
        assert picked is None or picked == expected, position
        outcomes.add(picked is None)
    assert True in outcomes


def test_leaves_whose_pages_hold_other_rows_make_no_file():
    data = file_with("gzip")
    file = paged(data)
    footer = file.footer
    first, second = footer.leaves(0, "place")
    chunks = {}
    for leaf, page in ((first, 0), (second, 1)):
        pages = file.pages(0, [leaf])[leaf]
        chunks[leaf] = pages, np.arange(len(pages.offsets)) == page
    spans = [s for pages, chosen in chunks.values() for s in pages.spans(chosen)]
    with pytest.raises(ParquetPagesError, match="different rows"):
        footer.file_of(0, "place", chunks, file.parts(spans))


@pytest.mark.usefixtures("_from_any_pages")
def test_page_of_unknown_type_among_the_keys_is_an_error():
    """pyarrow passes over it, and returns fewer rows."""
    data = file_with("gzip")
    assert pick(data, 0, [KEY, "number"], [keys(ROWS)[5]]).num_rows == 1
    with pytest.raises(pa.ArrowInvalid, match=f"expected {ROWS} rows in the row groups"):
        pick(with_unknown_page(data, 0), 0, [KEY, "number"], ["?"])
