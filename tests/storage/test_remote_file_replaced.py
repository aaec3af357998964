"""Objects that are replaced while they are read: rows of one version, or an error that says so.

Writers of Hudi never replace a data file. A restore from a backup, or a replication, may.
"""

import io
import os
import shutil
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptTableError, MissingFileError
from hudi_pyspark.storage import ArrowStorage, remote_file
from hudi_pyspark.storage.file_systems import OpenFile
from hudi_pyspark.storage.remote_file import RemoteFile
from tests.contracts.served_storage import MOR
from tests.storage import servers
from tests.storage.faulty_proxy import NONE, fail_between
from tests.storage.s3_server import serve

CONTENT = bytes(range(256)) * 64
ROWS = 18  # that Apache Hudi reads from MOR
SERVERS = {"gcs": "fake_gcs", "azurite": "azurite"}

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def s3(tmp_path):
    with serve(tmp_path) as server:
        yield server


def options(endpoint):
    return {"endpoint_override": endpoint, "access_key": "AKID", "secret_key": "very-secret-key"}


def storage_of(endpoint):
    return ArrowStorage.parse("s3://lake/t", {**options(endpoint), "region": "eu-north-1"})


@pytest.mark.parametrize("later", [CONTENT[:100], CONTENT * 2, CONTENT[::-1]])
def test_file_that_is_opened_again_must_be_the_same(s3, tmp_path, later):
    """A request fails, so the file is opened again: its size, or its ETag, is another."""
    (tmp_path / "t").mkdir()
    path = tmp_path / "t/f.bin"
    path.write_bytes(CONTENT)
    left: list[str] = []
    with fail_between(s3.endpoint, lambda *_: left.pop() if left else NONE) as proxy:
        with storage_of(proxy.endpoint).open_input("f.bin") as file:
            assert file.read(10) == CONTENT[:10]
            path.write_bytes(later)
            left += ["500"]
            file.seek(5_000)
            with pytest.raises(CorruptTableError, match=r"t/f\.bin was replaced while it was read"):
                file.read(100)
        with storage_of(proxy.endpoint).open_input("f.bin") as file:
            left += ["500", "reset"]
            assert file.read() == later


def test_shorter_file_is_noticed_without_another_failure(s3, tmp_path):
    (tmp_path / "t").mkdir()
    path = tmp_path / "t/f.bin"
    path.write_bytes(CONTENT)
    with storage_of(s3.endpoint).open_input("f.bin") as file:
        assert file.read(10) == CONTENT[:10]
        path.write_bytes(CONTENT[:1_000])
        file.seek(5_000)
        with pytest.raises(CorruptTableError, match="was replaced while it was read"):
            file.read(100)


def test_object_of_equal_size_and_time_is_noticed_by_its_tag(s3, tmp_path, monkeypatch):
    """Ranges that are ten seconds apart, without any failure."""
    (tmp_path / "t").mkdir()
    path = tmp_path / "t/f.bin"
    path.write_bytes(CONTENT)
    written = path.stat().st_mtime_ns
    seconds = 0.0
    monkeypatch.setattr(remote_file, "time", SimpleNamespace(monotonic=lambda: seconds))
    kinds: list[str] = []

    def count(_, request):
        kinds.append(request.kind)
        return NONE

    with (
        fail_between(s3.endpoint, count) as proxy,
        storage_of(proxy.endpoint).open_input("f.bin") as file,
    ):
        assert file.read(10) == CONTENT[:10]
        seconds += 10
        assert file.read(10) == CONTENT[10:20]
        assert kinds == ["HEAD", "GET", "GET"]
        path.write_bytes(CONTENT[::-1])
        os.utime(path, ns=(written, written))
        seconds += 0.1
        for _ in range(2):  # the file does not count as the one that was opened from then on
            with pytest.raises(CorruptTableError, match=r"t/f\.bin was replaced while it was read"):
                file.read(10)


def test_time_of_change_counts_where_a_store_has_no_tag():
    class Files:
        def __init__(self):
            self.time = 1

        def open(self, _):
            def fail(_begin, _end):
                raise ConnectionError("reset")

            return OpenFile(100, self.time, fail)

    files: Any = Files()

    def twice(request):
        with pytest.raises(ConnectionError):
            request(files)
        files.time = 2
        return request(files)

    file = RemoteFile(twice, files, files.open("f"), "f")
    with pytest.raises(CorruptTableError, match="f was replaced"):
        file.read(10)


def rewritten(content, compression):
    """The same rows as another writer would write them."""
    table = pq.read_table(io.BytesIO(content))
    sink = io.BytesIO()
    pq.write_table(table, sink, compression=compression, use_dictionary=False)
    return sink.getvalue()


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_base_file_that_is_replaced_before_a_failure_is_read_anew(
    s3, tmp_path, golden_table, compression, caplog
):
    """The new file has the rows of the old one, by another writer."""
    path = shutil.copytree(golden_table(MOR), tmp_path / "table")
    base = max(p for p in path.rglob("*.parquet") if ".hoodie" not in p.parts)
    replaced: list[bytes] = []

    def replace(_, request):
        if request.kind != "GET" or not request.path.endswith(base.name) or replaced:
            return NONE
        replaced.append(base.read_bytes())
        base.write_bytes(rewritten(replaced[0], compression))
        return "500"

    with fail_between(s3.endpoint, replace) as proxy:
        place = {**options(proxy.endpoint), "region": "eu-north-1"}
        scan = HudiTable("s3://lake/table", storage_options=place).scan(use_metadata_table=False)
        found = scan.to_arrow()
    assert proxy.failed == ["500"]
    assert "was replaced while it was read" in caplog.text
    assert found.num_rows == len(set(found["_hoodie_record_key"].to_pylist())) == ROWS


@contextmanager
def storage_with_file(kind, folder):
    """Serve a file by a server of a store, and give the storage that reads it."""
    served = servers.moto() if kind == "moto" else getattr(servers, SERVERS[kind])(folder)
    with served as server:
        if kind == "moto":
            files = pafs.S3FileSystem(allow_bucket_creation=True, **server.options)
            files.create_dir("lake")
        yield ArrowStorage.parse(server.write({"f.bin": CONTENT}), server.options)


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["moto", "gcs", "azurite"])
@pytest.mark.parametrize("later", [CONTENT[:100], CONTENT * 2])
def test_servers_of_stores(kind, later, tmp_path):
    """GCS reads the version that was opened, and no other; S3 and Azure the present one."""
    with storage_with_file(kind, tmp_path) as storage, storage.open_input("f.bin") as file:
        assert file.read(10) == CONTENT[:10]
        with storage.filesystem.open_output_stream(f"{storage.base_path}/f.bin") as sink:
            sink.write(later)
        file.seek(5_000)
        if kind != "gcs" and len(later) > len(CONTENT):
            assert file.read(100) == later[5_000:5_100]  # as it was, up to its own end
            return
        with pytest.raises((CorruptTableError, MissingFileError), match="was replaced"):
            file.read(100)


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["moto", "gcs", "azurite"])
def test_servers_of_stores_show_another_content_of_the_same_size(kind, tmp_path, monkeypatch):
    """The ETag of S3 and Azure is another one, at the next look ten seconds later."""
    seconds = 0.0
    monkeypatch.setattr(remote_file, "time", SimpleNamespace(monotonic=lambda: seconds))
    with storage_with_file(kind, tmp_path) as storage, storage.open_input("f.bin") as file:
        assert file.read(10) == CONTENT[:10]
        seconds += 11
        assert file.read(10) == CONTENT[10:20]
        with storage.filesystem.open_output_stream(f"{storage.base_path}/f.bin") as sink:
            sink.write(CONTENT[::-1])
        seconds += 11
        with pytest.raises((CorruptTableError, MissingFileError), match="was replaced"):
            file.read(10)
