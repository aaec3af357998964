"""What every storage must do: subclasses give the fixture `store`."""

import io
import pickle
import re
from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.storage import Storage

RAW_NAMES = [
    "plain",
    "a b",
    "x%2Fy",
    "p=1",
    "p=x y%2Fz%3A%25",
    ".hidden",
    ".f1_010.log.1_0-1-0",
    "a+b&c#d?e",
    "Zürich",
]

Store = Callable[[Mapping[str, bytes]], Storage]


class StorageContract:
    """Tests of any `Storage`."""

    @pytest.fixture
    def store(self) -> Store:
        """A function that makes a storage with these files, paths relative to the base path."""
        raise NotImplementedError

    def test_listing_gives_files_and_folders_directly_in_the_folder(self, store):
        storage = store({"p/one": b"123", "p/two": b"", "p/sub/three": b"4", "other": b"5"})
        listed = [(e.name, e.is_directory, e.size) for e in storage.list_directory("p")]
        assert sorted(listed) == [("one", False, 3), ("sub", True, 0), ("two", False, 0)]
        assert sorted(storage.list_file_names("p")) == ["one", "two"]

    def test_empty_path_lists_the_base_path(self, store):
        storage = store({"one": b"1", "sub/two": b"2"})
        assert sorted(e.name for e in storage.list_directory("")) == ["one", "sub"]
        assert storage.list_file_names("") == ["one"]

    def test_missing_folder_lists_nothing(self, store):
        assert store({"one": b"1"}).list_directory("no/such/folder") == []
        assert store({"one": b"1"}).list_file_names("no/such/folder") == []

    def test_folder_whose_name_begins_alike_is_not_listed(self, store):
        storage = store({"p=1/one": b"1", "p=10/two": b"2"})
        assert [e.name for e in storage.list_directory("p=1")] == ["one"]

    @pytest.mark.parametrize("name", RAW_NAMES)
    def test_names_are_taken_literally(self, store, name):
        storage = store({f"{name}/{name}": b"content"})
        assert [e.name for e in storage.list_directory("")] == [name]
        assert [e.name for e in storage.list_directory(name)] == [name]
        assert storage.list_file_names(name) == [name]
        assert storage.read_bytes(f"{name}/{name}") == b"content"
        with storage.open_input(f"{name}/{name}") as file:
            assert file.read() == b"content"

    def test_encoded_and_decoded_names_are_different_files(self, store):
        storage = store({"a%20b": b"encoded", "a b": b"decoded"})
        assert storage.read_bytes("a%20b") == b"encoded"
        assert storage.read_bytes("a b") == b"decoded"

    def test_empty_file_is_read_as_no_bytes(self, store):
        assert store({"empty": b""}).read_bytes("empty") == b""

    def test_opened_file_is_read_at_any_position(self, store):
        with store({"digits": b"0123456789"}).open_input("digits") as file:
            assert file.seek(-3, io.SEEK_END) == 7
            assert file.read(2) == b"78"
            file.seek(1)
            assert file.read(2) == b"12"

    def test_opened_file_is_a_source_of_parquet(self, store):
        buffer = io.BytesIO()
        pq.write_table(pa.table({"id": [1, 2]}), buffer)
        with store({"t.parquet": buffer.getvalue()}).open_input("t.parquet") as file:
            assert pq.read_table(file).to_pydict() == {"id": [1, 2]}

    @pytest.mark.parametrize("path", ["missing", "sub/missing", "no/such/folder"])
    def test_missing_file_is_not_found(self, store, path):
        storage = store({"sub/one": b"1"})
        with pytest.raises(FileNotFoundError, match=re.escape(path)):
            storage.read_bytes(path)
        with pytest.raises(FileNotFoundError, match=re.escape(path)):
            storage.open_input(path)

    def test_storage_travels_to_executors(self, store):
        storage = pickle.loads(pickle.dumps(store({"p=a b/one": b"1"})))
        assert [e.name for e in storage.list_directory("p=a b")] == ["one"]
        assert storage.read_bytes("p=a b/one") == b"1"

    def test_description_ends_in_the_path(self, store):
        assert store({"one": b"1"}).describe("p=a b/x%2Fy").endswith("p=a b/x%2Fy")
