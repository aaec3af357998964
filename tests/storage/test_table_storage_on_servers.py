"""Tables on real servers of each storage, which run on this machine."""

import os
import subprocess
import sys

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, StorageError
from hudi_pyspark.storage import ArrowStorage
from tests.contracts.served_storage import ServedContract
from tests.storage import servers


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


def test_hdfs_without_its_libraries_says_what_to_install(tmp_path):
    script = "import sys; sys.modules['hdfs_native'] = None\n"
    script += "from hudi_pyspark import HudiTable; HudiTable('hdfs://127.0.0.1:1/t')"
    environment = {k: v for k, v in os.environ.items() if k != "ARROW_LIBHDFS_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**environment, "HADOOP_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    *_, said = done.stderr.strip().splitlines()
    assert said.startswith("hudi_pyspark.errors.StorageError: [HUDI_STORAGE] hdfs://127.0.0.1:1: ")
    for way in (
        "ARROW_LIBHDFS_DIR",
        "pip install hdfs-native",
        "webhdfs:// needs neither",
    ):
        assert way in said


@pytest.mark.usefixtures("no_libhdfs")
def test_user_of_hdfs_needs_libhdfs():
    pytest.importorskip("hdfs_native")
    with pytest.raises(InvalidOptionError, match=r"options user need .*HADOOP_USER_NAME"):
        HudiTable("hdfs://127.0.0.1:1/t", storage_options={"user": "reader"})


@pytest.mark.usefixtures("no_libhdfs")
def test_hdfs_without_a_host_says_what_is_missing():
    pytest.importorskip("hdfs_native")
    with pytest.raises(StorageError, match=r"fs\.defaultFS"):
        HudiTable("hdfs:///t")


def test_webhdfs_gives_up_waiting():
    pytest.importorskip("requests")
    storage = ArrowStorage.parse("webhdfs://127.0.0.1:1/lake/t", {"user": "tests", "attempts": 1})
    assert storage.describe("f") == "webhdfs://127.0.0.1:1/lake/t/f"
    with pytest.raises(StorageError, match="refused"):
        storage.list_directory("")


@pytest.mark.parametrize(("scheme", "module"), [("oss", "ossfs"), ("webhdfs", "fsspec")])
def test_missing_package_is_named(scheme, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{scheme}://.*pip install {module}"):
        HudiTable(f"{scheme}://lake/t")
