"""HDFS of real daemons through each of its clients: over HTTP, by libhdfs and by hdfs-native."""

import itertools
import os

import pyarrow.fs as pafs
import pytest

from hudi_pyspark import (
    HudiTable,
    MissingFileError,
    StorageAccessError,
    StorageError,
    TableNotFoundError,
    register,
)
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage import ArrowStorage
from tests.contracts.served_storage import (
    MOR,
    ServedContract,
    differences_from_apache_hudi,
    files_of,
)
from tests.project.ci_java import java
from tests.storage.hdfs_daemons import JARS, LIBHDFS, READER, HdfsServer, hdfs
from tests.storage.servers import free_port

pytestmark = pytest.mark.servers
BLOCK = b"0123456789" * 1_000_000  # more than a client reads ahead


@pytest.fixture(scope="module")
def daemons(tmp_path_factory):
    with hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


@pytest.fixture
def no_data_node(daemons):
    """A function that kills the data node; it is back for the next test."""
    yield daemons.kill_data_node
    daemons.start_data_node()


@pytest.fixture(scope="module")
def libhdfs():
    """The library of Hadoop, which pyarrow loads with a JVM into this process."""
    if not (LIBHDFS / "libhdfs.so").exists():
        pytest.skip("libhdfs is missing: make test-storage, which needs a C compiler and a JDK")
    home = java.find()
    assert home is not None
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("JAVA_HOME", str(home.home))
        variables.setenv("ARROW_LIBHDFS_DIR", str(LIBHDFS))
        variables.setenv("CLASSPATH", os.pathsep.join(str(jar) for jar in JARS.glob("*.jar")))
        variables.setenv("LIBHDFS_OPTS", "-Xmx256m")
        yield


# The first test: workers of a Spark that starts later would have the variables of libhdfs.
@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["webhdfs", "hdfs"])
def test_spark_reads_the_rows_of_apache_hudi(scheme, daemons, spark, golden_table):
    pytest.importorskip("hdfs_native")
    port = daemons.http if scheme == "webhdfs" else daemons.rpc
    server = HdfsServer(f"{scheme}://127.0.0.1:{port}/lake", {}, hdfs=daemons)
    location = server.write(files_of(golden_table(MOR)))
    register(spark)
    answer = spark.read.format("hudi-py").option("task_bytes", "1").load(location).toArrow()
    assert differences_from_apache_hudi(answer) == []


class HdfsContract(ServedContract):
    """What a client of HDFS must do beyond other storages."""

    def open(self, server, location):
        return HudiTable(location, storage_options=server.options)

    def test_place_that_is_no_table_is_named_with_its_host(self, server):
        location = f"{server.root}/no/such/t"
        with pytest.raises(TableNotFoundError, match=location):
            self.open(server, location)

    def test_file_that_is_gone_is_named_with_its_host(self, server, golden_table):
        location = server.write(files_of(golden_table(MOR)))
        scan = self.open(server, location).scan()
        (base, *_) = (t.file_slice.base_file for t in scan.plan())
        server.hdfs.remove(f"{_path(location)}/{base.path}")
        with pytest.raises(MissingFileError, match=f"{location}/{base.path}"):
            scan.to_arrow()

    def test_folder_of_somebody_else_is_refused_by_name(self, server, golden_table):
        location = server.write(files_of(golden_table(MOR)))
        server.hdfs.hide(_path(location))
        with pytest.raises(StorageAccessError, match=location):
            self.open(server, location)

    def test_file_of_somebody_else_is_refused_by_name(self, server):
        location = server.write({"one": b"1"})
        server.hdfs.hide(f"{_path(location)}/one")
        with pytest.raises(StorageAccessError, match=f"{location}/one") as caught:
            ArrowStorage.parse(location, server.options).read_bytes("one")
        assert "\tat " not in str(caught.value)

    def test_folder_below_one_of_somebody_else_is_not_empty(self, server):
        location = server.write({"hidden/p/one": b"1"})
        server.hdfs.hide(f"{_path(location)}/hidden")
        with pytest.raises(StorageAccessError, match=f"{location}/hidden/p"):
            ArrowStorage.parse(location, server.options).list_directory("hidden/p")

    def test_data_node_that_dies_during_a_scan_is_named(self, server, golden_table, no_data_node):
        location = server.write(files_of(golden_table(MOR)))
        scan = self.open(server, location).scan(task_bytes="1")
        first, *others = scan.plan()
        assert others
        assert sum(t.num_rows for t in read_task(first, scan.storage)) > 0
        no_data_node()
        with pytest.raises(StorageError, match=location):
            list(itertools.chain.from_iterable(read_task(t, scan.storage) for t in others))

    def test_data_node_that_dies_during_a_file_is_named(self, server, no_data_node):
        location = server.write({"digits": BLOCK})
        storage = ArrowStorage.parse(location, {**server.options, "attempts": 2})
        with storage.open_input("digits") as file:
            assert file.read(10) == b"0123456789"
            no_data_node()
            with pytest.raises(StorageError, match=f"{location}/digits") as caught:
                file.read()
        assert READER not in str(caught.value)


class TestWebHdfs(HdfsContract):
    @pytest.fixture
    def server(self, daemons):
        pytest.importorskip("requests")
        root = f"webhdfs://127.0.0.1:{daemons.http}/lake"
        return HdfsServer(root, {"user": READER, "attempts": 2}, hdfs=daemons)


@pytest.mark.usefixtures("libhdfs")
class TestLibhdfs(HdfsContract):
    @pytest.fixture
    def server(self, daemons):
        root = f"hdfs://127.0.0.1:{daemons.rpc}/lake"
        return HdfsServer(root, {"user": READER, "attempts": 2}, hdfs=daemons)

    def test_it_is_the_client(self, server):
        storage = ArrowStorage.parse(server.root, server.options)
        assert isinstance(storage.filesystem, pafs.HadoopFileSystem)

    def test_name_node_that_is_down_has_no_empty_folders(self):
        root = f"hdfs://127.0.0.1:{free_port()}/lake"
        storage = ArrowStorage.parse(root, {"attempts": 1})
        with pytest.raises(StorageError, match=root):
            storage.list_directory("t")


@pytest.mark.usefixtures("no_libhdfs")
class TestHdfsNative(HdfsContract):
    @pytest.fixture
    def server(self, daemons, monkeypatch):
        pytest.importorskip("hdfs_native")
        monkeypatch.setenv("HADOOP_USER_NAME", READER)
        return HdfsServer(f"hdfs://127.0.0.1:{daemons.rpc}/lake", {"attempts": 2}, hdfs=daemons)


def _path(location):
    return "/" + location.partition("://")[2].partition("/")[2]
