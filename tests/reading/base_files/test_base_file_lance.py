import importlib.util
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_pyspark.errors import (
    CorruptBaseFileError,
    MissingFileError,
    PathOutsideTableError,
    UnsupportedTableError,
)
from hudi_pyspark.format.data_files import check_readable
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.confined_storage import ConfinedStorage
from tests.memory_storage import MemoryStorage

PATH = "f1-0_0-1-0_001.lance"
TABLE = pa.table({"a": list(range(10)), "b": [f"n{i}" for i in range(10)]})


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A Lance file; without the extra `lance` its tests are left out."""
    lance = pytest.importorskip("lance.file")
    path = tmp_path_factory.mktemp("lance") / "t.lance"
    with lance.LanceFileWriter(str(path), TABLE.schema) as writer:
        writer.write_batch(TABLE)
    return path.read_bytes()


def read(content: bytes, columns, batch_rows: int = 100) -> list[pa.Table]:
    return list(read_base_file(MemoryStorage({PATH: content}), PATH, columns, batch_rows))


def test_columns_come_in_the_order_asked_for_without_those_that_the_file_lacks(content):
    (table,) = read(content, ["b", "new", "a"])
    assert table.equals(TABLE.select(["b", "a"]))


def test_tables_are_bounded_and_in_file_order(content):
    tables = read(content, ["a"], batch_rows=4)
    assert [table.column("a").to_pylist() for table in tables] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]


def test_without_columns_the_number_of_rows_is_told(content):
    tables = read(content, ["new"], batch_rows=6)
    assert [(table.num_rows, table.num_columns) for table in tables] == [(6, 0), (4, 0)]


def test_local_file_is_read_where_it_is(content, tmp_path, monkeypatch):
    (tmp_path / PATH).write_bytes(content)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", None)
    (table,) = read_base_file(ArrowStorage.parse(str(tmp_path)), PATH, ["a", "b"], 100)
    assert table.equals(TABLE)


def test_file_outside_of_the_table_is_not_opened(content, tmp_path):
    (tmp_path / "out.lance").write_bytes(content)
    (tmp_path / "t").mkdir()
    storage = ConfinedStorage(ArrowStorage.parse(str(tmp_path / "t")))
    with pytest.raises(PathOutsideTableError):
        list(read_base_file(storage, "../out.lance", ["a"], 100))


def test_damaged_file_is_named(content):
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: not readable as Lance"):
        read(content[:-3], ["a"])


@pytest.mark.usefixtures("content")
def test_missing_file_is_named():
    with pytest.raises(MissingFileError, match=f"{PATH} is not on the storage any more"):
        list(read_base_file(MemoryStorage({}), PATH, ["a"], 2))


def test_without_the_library_the_extra_is_named_at_plan_time(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UnsupportedTableError, match="pip install pylance"):
        check_readable(str(Path("p=1") / PATH))
