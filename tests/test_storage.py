import os
from types import SimpleNamespace

import pyarrow.fs as pafs
import pytest

from hudi_pyspark.storage import ArrowStorage
from tests.contracts.storage import StorageContract
from tests.memory_storage import MemoryStorage


def write(folder, files):
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


class TestMemoryStorage(StorageContract):
    @pytest.fixture
    def store(self):
        return MemoryStorage

    def test_later_changes_of_the_mapping_are_not_seen(self):
        files = {"one": b"1"}
        storage = MemoryStorage(files)
        files["two"] = b"2"
        assert [e.name for e in storage.list_directory("")] == ["one"]


class TestArrowStorage(StorageContract):
    @pytest.fixture(params=["{}", "{}/", "file://{}", "file:{}", "file://{}/"])
    def store(self, request, tmp_path):
        base_path = tmp_path / "a table%20of p=1"
        base_path.mkdir()

        def build(files):
            write(base_path, files)
            return ArrowStorage.parse(request.param.format(base_path))

        return build

    def test_relative_path_is_below_the_working_directory(self, tmp_path, monkeypatch):
        write(tmp_path, {"tables/t/one": b"1"})
        monkeypatch.chdir(tmp_path / "tables")
        storage = ArrowStorage.parse("./t/")
        monkeypatch.chdir(tmp_path)
        assert storage.read_bytes("one") == b"1"
        assert storage.base_path == str(tmp_path / "tables" / "t")

    @pytest.mark.parametrize(
        ("uri", "base_path"),
        [
            ("/", "/"),
            ("/a/t", "/a/t"),
            ("/a/t//", "/a/t"),
            ("file:///a/t/", "/a/t"),
            ("file:/a/t", "/a/t"),
            ("file:////a/t", "/a/t"),
            ("/a/x%2Fy z", "/a/x%2Fy z"),
            ("file:///a/x%2Fy z", "/a/x%2Fy z"),
        ],
    )
    def test_base_path_is_absolute_raw_and_without_trailing_slash(self, uri, base_path):
        assert ArrowStorage.parse(uri).base_path == base_path

    @pytest.mark.parametrize("uri", ["/a/b c/t/", "file:///a/b c/t"])
    def test_local_file_is_described_by_its_absolute_path(self, uri):
        assert ArrowStorage.parse(uri).describe("p=1/f") == "/a/b c/t/p=1/f"

    def test_base_path_is_described_without_trailing_slash(self):
        assert ArrowStorage.parse("/a/t/").describe("") == "/a/t"

    @pytest.mark.parametrize(
        ("uri", "asked"),
        [
            ("s3://bucket/t/", "s3://bucket/t/"),
            ("s3a://bucket/t", "s3://bucket/t"),
            ("s3n://bucket/t", "s3://bucket/t"),
            ("gcs://bucket/t", "gs://bucket/t"),
            ("hdfs://host/t", "hdfs://host/t"),
        ],
    )
    def test_hadoop_schemes_are_asked_for_by_their_canonical_name(self, uri, asked, monkeypatch):
        uris = []

        def from_uri(text):
            uris.append(text)
            return pafs.LocalFileSystem(), "bucket/t/"

        fake = SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri))
        monkeypatch.setattr("hudi_pyspark.storage.pafs", fake)
        storage = ArrowStorage.parse(uri)
        assert uris == [asked]
        assert storage.base_path == "bucket/t"
        assert storage.describe("f") == f"{uri.partition('://')[0]}://bucket/t/f"

    def test_modification_time_is_in_milliseconds(self, tmp_path):
        write(tmp_path, {"one": b"1"})
        os.utime(tmp_path / "one", ns=(0, 1_700_000_000_123_456_789))
        (listed,) = ArrowStorage.parse(str(tmp_path)).list_directory("")
        assert listed.modified_ms == 1_700_000_000_123

    @pytest.mark.parametrize(
        ("scheme", "location", "base_path"),
        [
            ("s3a", "s3://other/a b%2F/", "other/a b%2F"),
            ("s3", "s3a://bucket/x", "bucket/x"),
            ("gs", "gs://other", "other"),
        ],
    )
    def test_another_folder_of_the_same_store_needs_no_new_credentials(
        self, scheme, location, base_path
    ):
        storage = ArrowStorage(pafs.LocalFileSystem(), "bucket/t", scheme)
        other = storage.at(location)
        assert other.filesystem is storage.filesystem
        assert other.base_path == base_path
        assert other.describe("f") == f"{location.partition(':')[0]}://{base_path}/f"

    @pytest.mark.parametrize(
        ("location", "asked"),
        [
            ("hdfs://other/a b%2F", "hdfs://other/a%20b%252F"),
            ("s3a://bucket/x", "s3://bucket/x"),
        ],
    )
    def test_another_store_is_asked_for_by_uri(self, location, asked, monkeypatch):
        uris = []

        def from_uri(text):
            uris.append(text)
            return pafs.LocalFileSystem(), "x"

        storage = ArrowStorage.parse("/a/t")
        fake = SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri))
        monkeypatch.setattr("hudi_pyspark.storage.pafs", fake)
        storage.at(location)
        assert uris == [asked]

    @pytest.mark.parametrize("location", ["/b/x%2Fy z", "file:/b/x%2Fy z", "file:///b/x%2Fy z/"])
    def test_another_local_folder_is_raw_text(self, location):
        assert ArrowStorage.parse("/a/t").at(location).base_path == "/b/x%2Fy z"


def test_files_in_memory_below_a_folder_are_a_storage_too():
    storage = MemoryStorage({"a/b/c": b"1", "ab/c": b"2", "/x/c": b"3"})
    assert storage.at("a/").files == {"b/c": b"1"}
    assert storage.at("/x").files == {"c": b"3"}
