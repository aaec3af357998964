"""Settings of a storage by all their names, and tables that are read through them."""

import pickle

import pyarrow.fs as pafs
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.options import (
    file_system_arguments,
    from_environment,
    secret_values,
    storage_options_of,
)
from hudi_pyspark.storage.stores import store_of
from hudi_pyspark.storage.stores.s3 import S3
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it


@pytest.fixture
def s3(golden_table):
    with serve(golden_table(MOR).parent) as server:
        yield server


@pytest.mark.parametrize(
    ("scheme", "given", "arguments"),
    [
        pytest.param(
            "s3",
            {"access_key": "a", "region": "r"},
            {"access_key": "a", "region": "r"},
            id="pyarrow",
        ),
        pytest.param(
            "s3",
            {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "s", "fs.s3a.endpoint": "http://h:1"},
            {"access_key": "a", "secret_key": "s", "endpoint_override": "http://h:1"},
            id="hadoop",
        ),
        pytest.param("s3", {"fs.s3.awsAccessKeyId": "a"}, {"access_key": "a"}, id="hadoop-old"),
        pytest.param(
            "s3",
            {"s3.access-key-id": "a", "s3.session-token": "t", "s3.connect-timeout": "2.5"},
            {"access_key": "a", "session_token": "t", "connect_timeout": 2.5},
            id="pyiceberg",
        ),
        pytest.param(
            "s3",
            {"fs.s3a.path.style.access": "true"},
            {"force_virtual_addressing": False},
            id="path-style",
        ),
        pytest.param(
            "s3",
            {"force_virtual_addressing": True},
            {"force_virtual_addressing": True},
            id="virtual",
        ),
        pytest.param(
            "gs",
            {"gcs.project-id": "p", "anonymous": True},
            {"project_id": "p", "anonymous": True},
            id="gs",
        ),
        pytest.param("abfs", {"adls.account-key": "k"}, {"account_key": "k"}, id="azure"),
        pytest.param(
            "s3",
            {
                "AWS_ACCESS_KEY_ID": "a",
                "aws_secret_access_key": "s",
                "AWS_SESSION_TOKEN": "t",
                "aws_region": "r",
                "AWS_ENDPOINT_URL": "http://h:1",
                "AWS_ALLOW_HTTP": "true",
                "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
                "aws_virtual_hosted_style_request": "false",
                "timeout": "30s",
            },
            {
                "access_key": "a",
                "secret_key": "s",
                "session_token": "t",
                "region": "r",
                "endpoint_override": "http://h:1",
                "force_virtual_addressing": False,
                "request_timeout": 30,
            },
            id="delta-rs-s3",
        ),
        pytest.param(
            "s3",
            {"access_key_id": "a", "secret_access_key": "s", "endpoint": "h", "token": "t"},
            {"access_key": "a", "secret_key": "s", "endpoint_override": "h", "session_token": "t"},
            id="polars-s3",
        ),
        pytest.param("s3", {"aws_skip_signature": "true"}, {"anonymous": True}, id="polars-public"),
        pytest.param("gs", {"google_skip_signature": True}, {"anonymous": True}, id="polars-gs"),
        pytest.param(
            "abfs",
            {
                "AZURE_STORAGE_ACCOUNT_NAME": "n",
                "azure_storage_access_key": "k",
                "azure_storage_tenant_id": "t",
                "azure_client_id": "i",
                "azure_storage_client_secret": "s",
            },
            {
                "account_name": "n",
                "account_key": "k",
                "tenant_id": "t",
                "client_id": "i",
                "client_secret": "s",
            },
            id="delta-rs-azure",
        ),
        pytest.param("abfs", {"azure_storage_sas_key": "s"}, {"sas_token": "s"}, id="azure-sas"),
        pytest.param("abfs", {"aws_region": "r"}, {}, id="meant-for-another-storage"),
        pytest.param(
            "hdfs", {"hdfs.user": "u", "port": "8021"}, {"user": "u", "port": 8021}, id="hdfs"
        ),
    ],
)
def test_names_that_people_know_become_arguments(scheme, given, arguments):
    assert file_system_arguments(store_of(scheme), given, {}) == arguments


@pytest.mark.parametrize("scheme", ["s3", "gs"])  # Azure's have grown with each release
def test_every_setting_is_an_argument_of_pyarrows_file_system(scheme):
    system = {"s3": pafs.S3FileSystem, "gs": pafs.GcsFileSystem}[scheme]
    signature = (system.__doc__ or "").partition("\n")[0]
    names = [setting.argument for setting in store_of(scheme).settings]
    assert [name for name in names if f"{name}=" not in signature] == []


def test_given_settings_go_before_those_of_the_environment():
    environment = {"fs.s3a.access.key": "theirs", "fs.s3a.endpoint.region": "r", "fs.gs.x": "?"}
    arguments = file_system_arguments(S3, {"access_key": "mine"}, environment)
    assert arguments == {"access_key": "mine", "region": "r"}


def test_environment_has_hudis_names():
    environment = {
        "HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key": "a",
        "HOODIE_ENV_hoodie_DOT_metadata_DOT_enable": "false",
        "HOODIE_OTHER": "x",
        "HOME": "/root",
    }
    assert from_environment(environment) == {
        "fs.s3a.access.key": "a",
        "hoodie.metadata.enable": "false",
    }


def test_storage_options_are_told_from_read_options():
    options = {"path": "p", "as_of": "1", "Storage.access_key": "a", "fs.s3a.secret.key": "s"}
    assert storage_options_of(options) == {"access_key": "a", "fs.s3a.secret.key": "s"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"acess_key": "very-secret"},
            "unknown storage option 'acess_key' for s3; did you mean access_key",
        ),
        ({"acces_key_id": "a"}, "did you mean access_key_id"),
        ({"anonymous": "perhaps"}, "option anonymous: give true or false"),
        ({"connect_timeout": "soon"}, "option connect_timeout: give a number"),
        (
            {"access_key": "very-secret", "fs.s3a.access.key": "other"},
            r"access_key is set twice with different values \(access_key, fs.s3a.access.key\)",
        ),
    ],
)
def test_wrong_settings_are_refused_without_telling_secrets(given, problem):
    with pytest.raises(InvalidOptionError, match=problem) as caught:
        file_system_arguments(S3, given, {})
    assert "very-secret" not in str(caught.value)


def test_setting_that_only_hadoop_has_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match=r"fs\.s3a\.threads\.max is ignored"):
        assert file_system_arguments(S3, {"fs.s3a.threads.max": "9"}, {}) == {}


@pytest.mark.parametrize(
    "name", ["google_service_account", "GOOGLE_SERVICE_ACCOUNT_KEY", "application_credentials"]
)
def test_key_of_a_google_service_account_is_refused_rather_than_ignored(name):
    with pytest.raises(InvalidOptionError, match="GOOGLE_APPLICATION_CREDENTIALS") as caught:
        file_system_arguments(store_of("gs"), {name: "very-secret"}, {})
    assert "very-secret" not in str(caught.value)


def test_names_of_delta_rs_need_no_mark_among_read_options():
    options = {"path": "p", "AWS_REGION": "r", "azure_storage_account_name": "n"}
    assert storage_options_of(options) == {"aws_region": "r", "azure_storage_account_name": "n"}


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        ("s3", "aws_secret_access_key"),
        ("abfs", "azure_storage_access_key"),
        ("abfs", "access_key"),
        ("abfs", "SAS_key"),
        ("s3", "what_no_store_knows"),
    ],
)
def test_secrets_are_known_by_every_name(scheme, name):
    assert secret_values(store_of(scheme), {name: "very-secret"}) == ["very-secret"]


def test_names_of_keys_are_no_secrets():
    assert secret_values(S3, {"access_key": "AKID", "region": "r"}) == []


def test_scheme_that_nothing_reaches_is_refused():
    with pytest.raises(InvalidOptionError, match="viewfs:// is not supported"):
        ArrowStorage.parse("viewfs://x/t", {"user": "u"})


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_table_is_read_from_s3_with_given_settings(s3, scheme):
    options = {
        "fs.s3a.endpoint": s3.endpoint,
        "access_key": "AKID",
        "secret_key": "secret",
        "region": "eu-north-1",
    }
    scan = HudiTable(f"{scheme}://lake/{MOR}", storage_options=options).scan()
    # An executor gets a pickled copy of the tasks and of the storage.
    tasks, storage = pickle.loads(pickle.dumps((scan.plan(), scan.storage)))
    assert sum(t.num_rows for task in tasks for t in read_task(task, storage)) == ROWS
    assert s3.credentials == {"AKID eu-north-1"}


def test_table_is_read_from_s3_with_settings_of_the_environment(s3, monkeypatch):
    monkeypatch.setenv("HOODIE_ENV_fs_DOT_s3a_DOT_endpoint", s3.endpoint)
    monkeypatch.setenv("HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key", "FROMENV")
    monkeypatch.setenv("HOODIE_ENV_fs_DOT_s3a_DOT_secret_DOT_key", "secret")
    monkeypatch.setenv("HOODIE_ENV_fs_DOT_s3a_DOT_endpoint_DOT_region", "us-east-2")
    assert HudiTable(f"s3a://lake/{MOR}").scan().count() == ROWS
    assert s3.credentials == {"FROMENV us-east-2"}


def test_folder_elsewhere_is_reached_with_the_same_settings(s3):
    storage = ArrowStorage.parse(
        f"s3://lake/{MOR}", {"endpoint_override": s3.endpoint, "anonymous": True}
    )
    assert storage.at(f"s3a://lake/{MOR}/.hoodie").read_bytes("hoodie.properties")
    assert s3.credentials == {"anonymous"}


def test_azure_account_comes_from_the_host():
    storage = ArrowStorage.parse(
        "abfss://box@acme.dfs.core.windows.net/lake/t", {"account_key": "a2V5"}
    )
    known = pafs.AzureFileSystem("acme", account_key="a2V5")
    assert storage.filesystem.equals(known)
    assert (storage.base_path, storage.describe("x")) == ("box/lake/t", "abfss://box/lake/t/x")


def test_table_is_read_through_a_file_system_of_pyarrow(golden_table):
    inside = pafs.SubTreeFileSystem(str(golden_table(MOR).parent), pafs.LocalFileSystem())
    assert HudiTable(MOR, filesystem=inside).scan().count() == ROWS


def test_table_is_read_through_a_file_system_of_fsspec(golden_table):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(golden_table(MOR)), "/lake/", recursive=True)
    scan = HudiTable(f"memory:///lake/{MOR}", filesystem=memory).scan()
    assert scan.count() == ROWS
    assert pickle.loads(pickle.dumps(scan.storage)).list_directory(".hoodie") != []
    with pytest.raises(UnsupportedQueryError, match="file system object"):
        scan.to_spark(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["", "memory://"])
def test_metadata_table_is_on_the_file_system_of_its_table(scheme, golden_table):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(golden_table(MOR)), "/elsewhere/", recursive=True)
    scan = HudiTable(f"{scheme}/elsewhere/{MOR}", filesystem=memory).scan()
    assert "listing    metadata table" in scan.explain()


def test_file_system_and_options_are_refused_together():
    with pytest.raises(InvalidOptionError, match="not both"):
        HudiTable("t", filesystem=pafs.LocalFileSystem(), storage_options={"region": "x"})
