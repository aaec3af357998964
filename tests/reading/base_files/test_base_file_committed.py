"""Base files whose size is not the one that their commit recorded."""

import io
import logging
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptBaseFileError
from hudi_pyspark.reading.base_files.base_file import SizeCheckedStorage, read_base_file
from hudi_pyspark.table.file_group import BaseFile
from hudi_pyspark.table.on_damage import OnDamage
from tests.damage import unpack
from tests.memory_storage import MemoryStorage
from tests.reading.base_files.hfile_of_records import ROWS, base_file

NAME = "f1-0_0-1-0_001.parquet"
PATH = f"p=1/{NAME}"


def parquet(file_names, **options):
    octets = io.BytesIO()
    rows = pa.table({"_hoodie_file_name": file_names, "a": range(len(file_names))})
    pq.write_table(rows, octets, **options)
    return octets.getvalue()


def rows_of(content, path=PATH, size=99, on_damage=OnDamage.FAIL):
    base = BaseFile(path, "f1-0", "001", len(content), committed_size=size)
    storage = SizeCheckedStorage(MemoryStorage({path: content}), base, on_damage)
    return sum(table.num_rows for table in read_base_file(storage, path, ["a"], 10))


def test_file_of_the_committed_size_is_read():
    content = parquet(["another.parquet"])
    assert rows_of(content, size=len(content)) == 1


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_file_of_an_unknown_size_is_read(size):
    assert rows_of(parquet(["another.parquet"]), size=size) == 1


@pytest.mark.parametrize("group_rows", [1, 3])
def test_file_that_was_rewritten_in_place_is_read(group_rows):
    assert rows_of(parquet([NAME] * 3, row_group_size=group_rows)) == 3


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(parquet(["another.parquet"]), id="of another file"),
        pytest.param(parquet([NAME, NAME, "z.parquet"], row_group_size=2), id="partly of another"),
        pytest.param(parquet([NAME, None]), id="with a null"),
        pytest.param(parquet([NAME], write_statistics=False), id="without statistics"),
        pytest.param(parquet(pa.array([], pa.string())), id="without rows"),
    ],
)
def test_file_whose_rows_do_not_name_it_is_refused(content):
    with pytest.raises(
        CorruptBaseFileError, match=f"has {len(content)} bytes, but its commit says 99:"
    ):
        rows_of(content)


def test_file_without_meta_columns_is_refused():
    octets = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), octets)
    with pytest.raises(CorruptBaseFileError, match="another file has taken its place"):
        rows_of(octets.getvalue())


def test_orc_file_of_another_size_is_refused():
    octets = io.BytesIO()
    orc.write_table(pa.table({"a": [1]}), octets)
    with pytest.raises(CorruptBaseFileError, match="its commit says 99:"):
        rows_of(octets.getvalue(), "f1-0_0-1-0_001.orc")


def test_hfile_of_another_size_is_refused():
    content = base_file(ROWS)
    path = "f1-0_0-1-0_001.hfile"
    assert rows_of(content, path, len(content)) == len(ROWS)
    with pytest.raises(CorruptBaseFileError, match="its commit says 99:"):
        rows_of(content, path)


@pytest.mark.parametrize("is_local", [True, False])
def test_lance_file_of_another_size_is_refused(is_local, tmp_path, monkeypatch):
    lance = pytest.importorskip("lance.file")
    path = "f1-0_0-1-0_001.lance"
    with lance.LanceFileWriter(str(tmp_path / path), pa.schema([("a", pa.int64())])) as writer:
        writer.write_batch(pa.table({"a": [1]}))
    content = (tmp_path / path).read_bytes()
    monkeypatch.setattr(MemoryStorage, "is_local", is_local)
    assert rows_of(content, path, len(content)) == 1
    with pytest.raises(CorruptBaseFileError, match="its commit says 99:"):
        rows_of(content, path)


def test_on_damage_reads_what_is_there(caplog):
    caplog.set_level(logging.WARNING)
    assert rows_of(parquet(["another.parquet"]), on_damage=OnDamage.IGNORE) == 1
    assert not caplog.messages
    assert rows_of(parquet(["another.parquet"]), on_damage=OnDamage.WARN) == 1
    (message,) = caplog.messages
    assert NAME in message


@pytest.fixture
def replaced(tmp_path):
    """A table in which the larger of two base files has taken the place of the smaller one."""
    table = unpack("v6_mor_part_basic", tmp_path)
    files = sorted(table.glob("*/*_*.parquet"), key=lambda path: path.stat().st_size)
    shutil.copy(files[-1], files[0])
    return table


@pytest.mark.parametrize("use_metadata_table", [True, False])
def test_rows_of_a_file_in_another_place_are_never_read(replaced, use_metadata_table):
    scan = HudiTable(replaced).scan(use_metadata_table=use_metadata_table)
    for ask in (scan.to_arrow, scan.count):
        with pytest.raises(CorruptBaseFileError, match="another file has taken its place"):
            ask()


def test_duckdb_does_not_read_a_file_in_another_place_itself(replaced):
    duckdb = pytest.importorskip("duckdb")
    scan = HudiTable(replaced).scan(query_type="read_optimized")
    database = scan.to_duckdb("t", duckdb.connect(), merge_first=True)
    with pytest.raises(duckdb.Error, match="another file has taken its place"):
        database.execute("SELECT * FROM t").fetchall()
