import json

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptBaseFileError, MissingFileError, UnsupportedTableError
from hudi_pyspark.reading.base_files.base_file import read_base_file
from tests.format.hfile_writer import NONE, block, entry, hfile
from tests.memory_storage import MemoryStorage
from tests.reading.base_files.hfile_of_records import ROWS, SCHEMA, base_file, info

PATH = "p=1/f1-0_0-1-0_001.hfile"


def read(content: bytes, columns, batch_rows: int = 10) -> list[pa.Table]:
    return list(read_base_file(MemoryStorage({PATH: content}), PATH, columns, batch_rows))


def test_records_are_decoded_and_their_keys_restored():
    (table,) = read(base_file(ROWS), ["key", "n", "tags"])
    assert table.to_pylist() == ROWS
    assert table.schema.types[:2] == [pa.string(), pa.int64()]


def test_columns_that_the_file_lacks_are_left_out():
    (table,) = read(base_file(ROWS), ["new", "n"])
    assert table.to_pydict() == {"n": [1, None, -3]}


def test_without_columns_the_number_of_rows_is_told():
    tables = read(base_file(ROWS), [], batch_rows=2)
    assert [(table.num_rows, table.num_columns) for table in tables] == [(2, 0), (1, 0)]


def test_tables_are_bounded():
    tables = read(base_file(ROWS), ["n"], batch_rows=2)
    assert [table.column("n").to_pylist() for table in tables] == [[1, None], [-3]]


def test_file_without_records_gives_none():
    assert read(base_file([]), ["n"]) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "found 0 bytes", id="empty"),
        pytest.param(base_file(ROWS)[:-1], "expected HFile trailer", id="cut"),
        pytest.param(
            base_file(ROWS, info=info("KEY_VALUE_VERSION", b"\x00\x00\x00\x01")),
            "expected an Avro schema in its file info",
            id="no-schema",
        ),
        pytest.param(
            base_file(ROWS).replace(b'"long"', b'"lang"'), "not readable as HFile", id="schema"
        ),
        pytest.param(
            base_file(ROWS).replace(b'"long"', b'"l\xffng"'), "can't decode byte", id="not-utf-8"
        ),
        pytest.param(
            hfile(
                [block(b"DATABLK*", entry(b"k", b"\x09"), NONE)],
                entry_count=1,
                info=info("schema", json.dumps(SCHEMA).encode()),
            ),
            "record 0",
            id="value",
        ),
    ],
)
def test_damaged_file_is_named(content, says):
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: .*{says}"):
        read(content, ["n"])


def test_unreadable_codec_is_refused():
    with pytest.raises(UnsupportedTableError, match=f"{PATH}: HFile compression codec 'snappy'"):
        read(base_file(ROWS, codec=3), ["n"])


def test_missing_file_is_named():
    with pytest.raises(MissingFileError, match=f"{PATH} is not on the storage any more"):
        list(read_base_file(MemoryStorage({}), PATH, ["n"], 2))
