import os

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

    def test_link_that_leads_nowhere_is_not_listed(self, tmp_path):
        # Hadoop, and so Apache Hudi, leaves out entries whose status cannot be read.
        write(tmp_path, {"one": b"1", "folder/two": b"2"})
        (tmp_path / "link").symlink_to(tmp_path / "one")
        (tmp_path / "link to a folder").symlink_to(tmp_path / "folder")
        (tmp_path / "link to nothing").symlink_to(tmp_path / "gone")
        (tmp_path / "link to itself").symlink_to(tmp_path / "link to itself")
        storage = ArrowStorage.parse(str(tmp_path))
        files = [e.name for e in storage.list_directory("") if not e.is_directory]
        assert sorted(files) == sorted(storage.list_file_names("")) == ["link", "one"]

    def test_base_path_is_described_without_trailing_slash(self):
        assert ArrowStorage.parse("/a/t/").describe("") == "/a/t"

    @pytest.mark.parametrize(
        ("uri", "base_path"),
        [
            ("s3://bucket/t/", "bucket/t"),
            ("s3a://bucket/t", "bucket/t"),
            ("s3n://bucket/t", "bucket/t"),
        ],
    )
    def test_hadoops_schemes_are_those_of_pyarrow(self, uri, base_path):
        storage = ArrowStorage.parse(uri, {"region": "x"})
        assert isinstance(storage.filesystem, pafs.S3FileSystem)
        assert storage.base_path == base_path
        assert storage.describe("f") == f"{uri.partition('://')[0]}://{base_path}/f"

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
        storage = ArrowStorage.on(pafs.LocalFileSystem(), f"{scheme}://bucket/t")
        other = storage.at(location, is_given=True)
        assert other.filesystem is storage.filesystem
        assert other.base_path == base_path
        assert other.describe("f").partition("://")[2] == f"{base_path}/f"

    def test_another_store_has_the_settings_that_are_meant_for_it(self):
        given = {"fs.s3a.endpoint.region": "x", "account_key": "a2V5"}
        storage = ArrowStorage.parse("abfss://box@acme.dfs.core.windows.net/t", given)
        other = storage.at("s3a://bucket/a b%2F", is_given=True)
        assert other.filesystem.equals(
            pafs.S3FileSystem(
                region="x", retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=1)
            )
        )
        assert other.base_path == "bucket/a b%2F"

    @pytest.mark.parametrize("location", ["/b/x%2Fy z", "file:/b/x%2Fy z", "file:///b/x%2Fy z/"])
    def test_another_local_folder_is_raw_text(self, location):
        assert ArrowStorage.parse("/a/t").at(location).base_path == "/b/x%2Fy z"


def test_files_in_memory_below_a_folder_are_a_storage_too():
    storage = MemoryStorage({"a/b/c": b"1", "ab/c": b"2", "/x/c": b"3"})
    assert storage.at("a/").files == {"b/c": b"1"}
    assert storage.at("/x").files == {"c": b"3"}
