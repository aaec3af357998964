"""A table does not choose the host, account, bucket or disk that is asked with secrets."""

import pytest

from hudi_pyspark import CorruptTableError, HudiTable, InvalidOptionError, PathOutsideTableError
from hudi_pyspark.storage import ArrowStorage
from tests.reading.base_files.bootstrapped_table import BOOTSTRAPPED, KEY, bootstrapped
from tests.storage import s3_server, webhdfs_server
from tests.table.bootstrap_index import INDEX, bootstrap_index

pytest.importorskip("fsspec")
TOKEN = {"token": "very-secret-token"}
KEYS = {"access_key": "A", "secret_key": "very-secret", "region": "eu-north-1"}


@pytest.fixture(params=["webhdfs", "s3", "local"])
def place(request, tmp_path):
    """The URI of a folder that is served, with its storage options."""
    if request.param == "local":
        yield str(tmp_path), {}
    elif request.param == "webhdfs":
        with webhdfs_server.serve(tmp_path) as server:
            yield server.uri, TOKEN
    else:
        with s3_server.serve(tmp_path) as server:
            yield "s3://lake", {**KEYS, "endpoint_override": server.endpoint}


@pytest.fixture
def foreign(tmp_path):
    with webhdfs_server.serve(tmp_path) as server:
        yield server


def named(folder, recorded, source):
    """A table whose properties name a base path, and its index a source file."""
    bootstrapped(folder, recorded)
    index = bootstrap_index({("p=1", "f1"): f"{source}/p=1/part-0.parquet"})
    (folder / "table" / INDEX).write_bytes(index)


def ask_everything(table, options):
    """Return the error of each way to read; the doctor raises none."""
    opened = HudiTable(f"{table}/table", storage_options=options)
    findings = {finding.message for finding in opened.doctor()}
    for read in (opened.scan().plan, opened.scan().to_arrow, opened.scan().explain):
        with pytest.raises(PathOutsideTableError, match="option bootstrap_base_path") as raised:
            read()
        assert raised.value.reason() in findings


@pytest.mark.parametrize("by", ["property", "index"])
def test_host_that_a_table_names_is_not_connected_to(place, foreign, tmp_path, by):
    uri, options = place
    evil = f"{foreign.uri}/elsewhere"  # beside the table lies no folder of that name
    named(tmp_path, evil if by == "property" else f"{uri}/source", evil)
    ask_everything(uri, options)
    assert foreign.connections == 0


@pytest.mark.parametrize("by", ["property", "index"])
@pytest.mark.parametrize("other", ["file:{}/d/p", "file://{}/d/p", "{}/d/p", "s3://other/p", "p"])
def test_no_table_on_a_server_names_a_disk_or_bucket(tmp_path, by, other):
    (tmp_path / "d/p/p=1").mkdir(parents=True)
    with s3_server.serve(tmp_path) as server:
        options = {**KEYS, "endpoint_override": server.endpoint}
        elsewhere = other.format(tmp_path)
        named(tmp_path, elsewhere if by == "property" else "s3://lake/source", elsewhere)
        ask_everything("s3://lake", options)
        assert not any("/other" in path for path in server.paths)


def test_source_in_the_store_of_the_table_is_read(place, tmp_path):
    uri, options = place
    named(tmp_path, f"{uri}/source", f"{uri}/source")
    table = HudiTable(f"{uri}/table", storage_options=options)
    found = table.scan([KEY, "id", "name", "p"], filter="p = 1").to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == BOOTSTRAPPED


def test_host_that_the_caller_names_is_asked(place, foreign, tmp_path):
    uri, options = place
    named(tmp_path, "hdfs://gone/source", "hdfs://gone/source")
    table = HudiTable(f"{uri}/table", storage_options=options)
    scan = table.scan(filter="p = 1", bootstrap_base_path=f"{foreign.uri}/source")
    assert scan.to_arrow()["id"].to_pylist() == [0, 1, 2]
    assert foreign.asked


@pytest.mark.parametrize("source", ["/d/s/../../etc", "s3://b/x", "/d/s/%2e%2e/x", "/d/s\\..\\x"])
def test_index_does_not_lead_out_of_the_folder_that_the_caller_names(tmp_path, source):
    named(tmp_path, "/d/s", source)
    table = HudiTable(str(tmp_path / "table"))
    with pytest.raises(CorruptTableError, match="is not below"):
        table.scan(bootstrap_base_path=str(tmp_path / "source")).plan()


AZURE = {"account_key": "a2V5"}
OWN = "abfss://box@acme.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("table", "options", "location", "path"),
    [
        ("webhdfs://u@n:9870/t", {}, "webhdfs://N/a b%2F", "/a b%2F"),
        ("webhdfs://n/t", {}, "webhdfs:///s", "/s"),
        ("s3a://lake/t", KEYS, "s3://lake/s", "lake/s"),
        ("gs://lake/t", {"anonymous": True}, "gs://lake/s", "lake/s"),
        (f"{OWN}/t", AZURE, "wasbs://box@acme.blob.core.windows.net/s", "box/s"),
        (f"{OWN}/t", AZURE, "abfss://box/s", "box/s"),
        ("az://box/t", {**AZURE, "account_name": "acme"}, f"{OWN}/s", "box/s"),
        ("abfs://acme.dfs.core.windows.net/box/t", AZURE, f"{OWN}/s", "box/s"),
        ("/t", {}, "file:/s", "/s"),
    ],
)  # fmt: skip
def test_other_folder_of_a_store_is_the_tables_own(table, options, location, path):
    storage = ArrowStorage.parse(table, options)
    found = storage.at(location)
    assert (found.base_path, found.files) == (path, storage.files)


@pytest.mark.parametrize(
    ("table", "options", "location"),
    [
        ("webhdfs://n/t", {}, "webhdfs://n:80/s"),
        ("webhdfs://n/t", {}, "webhdfs://n.evil/s"),
        ("webhdfs://n/t", {}, "webhdfs://n@evil/s"),
        ("webhdfs://n/t", {}, "hdfs://n/s"),
        ("webhdfs://n/t", {}, "webhdfs://n/s/../../jmx"),
        ("webhdfs://n/t", {}, "webhdfs://n/t/%2e%2e/s"),
        ("webhdfs://n/t", {}, "/etc"),
        ("s3://lake/t", KEYS, "s3://lake-2/t"),
        ("s3://lake/t", KEYS, "s3://lake/../other/t"),
        ("s3://lake/t", KEYS, "gs://lake/t"),
        ("gs://lake/t", {"anonymous": True}, "gs://lake2/t"),
        (f"{OWN}/t", AZURE, "abfss://box@acme.dfs.evil/s"),
        (f"{OWN}/t", AZURE, "abfss://box@evil.dfs.core.windows.net/s"),
        (f"{OWN}/t", AZURE, "abfss://box@evil/s"),
        (f"{OWN}/t", AZURE, "abfss://private@acme.dfs.core.windows.net/s"),
        ("az://box/t", {**AZURE, "account_name": "acme"}, "az://box@other.dfs.core.windows.net/s"),
        ("/t", {}, "webhdfs://n/s"),
        ("/t", {}, "S3://lake/s"),
    ],
)  # fmt: skip
def test_other_store_is_refused_unless_the_caller_names_it(table, options, location):
    storage = ArrowStorage.parse(table, options)
    with pytest.raises(PathOutsideTableError, match="not in its own store"):
        storage.at(location)


def test_file_of_another_machine_is_refused():
    with pytest.raises(InvalidOptionError, match="the host evil"):
        ArrowStorage.parse("/t").at("file://evil/share")


def test_data_node_gets_no_token_from_the_reader(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/f").write_bytes(b"content")
    with webhdfs_server.serve(tmp_path) as name_node, webhdfs_server.serve(tmp_path) as data_node:
        name_node.data_node = data_node.uri
        storage = ArrowStorage.parse(f"{name_node.uri}/t", TOKEN)
        assert storage.read_bytes("f") == b"content"
    assert any("very-secret-token" in asked for asked in name_node.asked)
    assert data_node.asked
    assert not any("very-secret-token" in asked for asked in data_node.asked)
