"""Tables on real servers of each storage, which run on this machine."""

import pickle
import sys
import uuid
from pathlib import Path

import pytest

from hudi_pyspark import HudiTable, StorageError
from hudi_pyspark.query.task import read_task
from hudi_pyspark.storage import ArrowStorage
from tests.contracts.storage import StorageContract
from tests.storage import servers

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it


def upload(root, options, files):
    """Write files below a URI with the file system under test, and return their folder's URI."""
    location = f"{root}/{uuid.uuid4().hex}/t"
    target = ArrowStorage.parse(location, options)
    filesystem = target.filesystem
    for path, content in files.items():
        file = f"{target.base_path}/{path}"
        filesystem.create_dir(file.rpartition("/")[0], recursive=True)
        with filesystem.open_output_stream(file) as sink:
            sink.write(content)
    return location


def files_of(folder: Path):
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


class ServedContract(StorageContract):
    """What any storage must do, and a whole table, on a server."""

    @pytest.fixture
    def store(self, server):
        def build(files):
            return ArrowStorage.parse(upload(server.root, server.options, files), server.options)

        return build

    def test_table_is_read_by_tasks_in_another_process(self, server, golden_table):
        location = upload(server.root, server.options, files_of(golden_table(MOR)))
        scan = HudiTable(location, storage_options=server.options).scan()
        tasks, storage = pickle.loads(pickle.dumps((scan.plan(), scan.storage)))
        rows = [row for task in tasks for t in read_task(task, storage) for row in t.to_pylist()]
        expected = HudiTable(str(golden_table(MOR))).scan().to_arrow().to_pylist()
        by_key = lambda row: row["_hoodie_record_key"]  # noqa: E731
        assert sorted(rows, key=by_key) == sorted(expected, key=by_key)
        assert len(rows) == ROWS

    def test_times_of_files_are_known(self, server):
        location = upload(server.root, server.options, {"one": b"1"})
        (one,) = ArrowStorage.parse(location, server.options).list_directory("")
        assert one.modified_ms > 1_700_000_000_000


@pytest.fixture(scope="module")
def moto():
    with servers.moto() as server:
        import pyarrow.fs as pafs

        pafs.S3FileSystem(allow_bucket_creation=True, **server.options).create_dir("lake")
        yield server


@pytest.fixture(scope="module")
def fake_gcs(tmp_path_factory):
    with servers.fake_gcs(tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(scope="module")
def azurite(tmp_path_factory):
    with servers.azurite(tmp_path_factory.mktemp("azurite")) as server:
        yield server


class TestMoto(ServedContract):
    @pytest.fixture
    def server(self, moto):
        return moto


@pytest.mark.servers
class TestFakeGcs(ServedContract):
    @pytest.fixture
    def server(self, fake_gcs):
        return fake_gcs


@pytest.mark.servers
class TestAzurite(ServedContract):
    @pytest.fixture
    def server(self, azurite):
        return azurite


class TestMemory(ServedContract):
    @pytest.fixture
    def server(self):
        return servers.Server("memory://lake", {})


def test_hdfs_without_its_library_says_what_to_install(monkeypatch):
    monkeypatch.delenv("ARROW_LIBHDFS_DIR", raising=False)
    monkeypatch.setenv("HADOOP_HOME", "/no/such/folder")
    with pytest.raises(StorageError, match="webhdfs:// needs neither"):
        HudiTable("hdfs://127.0.0.1:1/t")


def test_webhdfs_gives_up_waiting():
    pytest.importorskip("requests")
    storage = ArrowStorage.parse("webhdfs://127.0.0.1:1/lake/t", {"user": "tests", "attempts": 1})
    assert storage.describe("f") == "webhdfs:///lake/t/f"
    with pytest.raises(StorageError, match="refused"):
        storage.list_directory("")


@pytest.mark.parametrize(("scheme", "module"), [("oss", "ossfs"), ("webhdfs", "fsspec")])
def test_missing_package_is_named_with_its_extra(scheme, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    extra = {"oss": "oss", "webhdfs": "fsspec"}[scheme]
    with pytest.raises(ImportError, match=rf"{scheme}://.*hudi-pyspark\[{extra}\]"):
        HudiTable(f"{scheme}://lake/t")
