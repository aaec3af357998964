import pytest

from hudi_pyspark.errors import PathInsideTableError, PathNotFoundError, TableNotFoundError
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
