import pytest

from hudi_pyspark.errors import (
    CorruptTableError,
    PathInsideTableError,
    PathNotFoundError,
    TableNotFoundError,
)
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import TinyTable


def test_folder_that_is_no_table_is_named():
    with pytest.raises(TableNotFoundError, match=r"no \.hoodie/hoodie\.properties") as raised:
        open_table(MemoryStorage({"some/file": b""}))
    assert raised.type is TableNotFoundError


def test_empty_path_is_not_found():
    with pytest.raises(PathNotFoundError, match="does not exist or is empty"):
        open_table(MemoryStorage({}))


def on_disk(folder):
    for path, content in TinyTable(9).data("a/b/f").files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.mark.parametrize("inside", ["a", "a/b", ".hoodie", "a/b/"])
def test_path_inside_a_table_names_the_base_path(inside, tmp_path):
    with pytest.raises(PathInsideTableError, match=f"Load {tmp_path} and filter"):
        open_table(ArrowStorage.parse(f"{on_disk(tmp_path)}/{inside}"))


def test_path_of_a_file_is_no_table(tmp_path):
    with pytest.raises(TableNotFoundError, match="a/b/f is a file"):
        open_table(ArrowStorage.parse(str(on_disk(tmp_path) / "a/b/f")))


PROPERTIES = ".hoodie/hoodie.properties"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        pytest.param(["_delta_log/0.json", "a.parquet"], "is a Delta Lake table", id="delta"),
        pytest.param(
            ["metadata/v1.metadata.json", "data/a.parquet"], "is an Apache Iceberg", id="iceberg"
        ),
        pytest.param(
            [f"orders/{PROPERTIES}", f"sales/{PROPERTIES}", "_tmp/x"],
            "is a folder with Hudi tables below it: orders, sales. Give the path of one",
            id="folder-of-tables",
        ),
        pytest.param(
            [f"{letter}/{PROPERTIES}" for letter in "abcd"], "is .* a, b, c, …. Give", id="many"
        ),
        pytest.param(["a.parquet"], "has data files but no Hudi timeline", id="parquet"),
        pytest.param(["metadata/readme.txt"], "is not a Hudi table", id="no-iceberg"),
        pytest.param([".hoodie/temp/x"], "is not a Hudi table", id="no-timeline"),
    ],
)
def test_folder_without_a_table_is_called_what_it_is(files, problem, tmp_path):
    for name in files:
        (tmp_path / "warehouse" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "warehouse" / name).touch()
    with pytest.raises(TableNotFoundError, match=f"/warehouse {problem}"):
        open_table(ArrowStorage.parse(str(tmp_path / "warehouse")))


def test_name_that_is_mistyped_gets_the_folder_beside_it(tmp_path):
    (tmp_path / "orders").mkdir()
    with pytest.raises(PathNotFoundError, match=r"or is empty\. Give .*; did you mean orders\?$"):
        open_table(ArrowStorage.parse(str(tmp_path / "order")))


def test_empty_folder_is_not_told_to_be_itself(tmp_path):
    (tmp_path / "orders").mkdir()
    with pytest.raises(PathNotFoundError, match=r"or is empty\. Give [^;]*$"):
        open_table(ArrowStorage.parse(str(tmp_path / "orders")))


@pytest.mark.parametrize("version", [6, 9])
def test_table_without_its_properties_is_corrupt_and_says_what_was_lost(version):
    files = TinyTable(version).data("f").files
    folder = ".hoodie" if version < 8 else ".hoodie/timeline"
    lost = {path: content for path, content in files.items() if path != PROPERTIES}
    lost[f"{folder}/20240101000000000_20240101000001000.deltacommit"] = b""
    with pytest.raises(CorruptTableError, match=r"has lost its properties\. Restore the file from"):
        open_table(MemoryStorage(lost))


def test_properties_that_are_garbage_are_told_from_those_without_a_backup():
    files = {**TinyTable(9).data("f").files, PROPERTIES: b"garbage"}
    with pytest.raises(CorruptTableError, match=r"cannot be read: .*It has no \.backup\. Restore"):
        open_table(MemoryStorage(files))
    with pytest.raises(CorruptTableError, match=r"backup cannot be read: .*version\. Restore"):
        open_table(MemoryStorage({**files, f"{PROPERTIES}.backup": b""}))
