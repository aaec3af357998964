"""Paths and URIs, and the file systems behind them."""

import os
from importlib.util import find_spec
from unittest.mock import Mock

import pyarrow.fs as pafs
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.locations import Location, same_store, without_secrets


@pytest.mark.parametrize(
    ("uri", "kind", "authority", "path"),
    [
        ("/a/x%2Fy/", "", "", "/a/x%2Fy"),
        ("file:///a/t", "", "", "/a/t"),
        ("/Volumes/main/default/lake/t", "", "", "/Volumes/main/default/lake/t"),
        ("dbfs:/Volumes/main/default/lake/t/", "", "", "/Volumes/main/default/lake/t"),
        ("dbfs:///Volumes/main/default/lake/t", "", "", "/Volumes/main/default/lake/t"),
        ("s3://lake/a%20b/t/", "s3", "lake", "lake/a b/t"),
        ("s3a://lake", "s3", "lake", "lake"),
        ("s3n://lake/t", "s3", "lake", "lake/t"),
        ("gs://lake/t", "gs", "lake", "lake/t"),
        ("abfss://box@acme.dfs.core.net/t", "abfs", "box@acme.dfs.core.net", "box/t"),
        ("abfs://acme.dfs.core.windows.net/box/t", "abfs", "acme.dfs.core.windows.net", "box/t"),
        ("wasbs://box@acme.blob.core.net/t", "abfs", "box@acme.blob.core.net", "box/t"),
        ("az://box/t", "abfs", "box", "box/t"),
        ("hdfs://name:8020/t", "hdfs", "name:8020", "/t"),
        ("hdfs:///t", "hdfs", "", "/t"),
        ("webhdfs://name:9870/a/t/", "webhdfs", "name:9870", "/a/t"),
        ("oss://lake/t", "oss", "lake", "lake/t"),
        ("S3A://Lake/T", "s3", "Lake", "Lake/T"),
        ("FILE:///a/T", "", "", "/a/T"),
        ("DBFS:/Volumes/main/default/lake/t", "", "", "/Volumes/main/default/lake/t"),
        ("/A:/b", "", "", "/A:/b"),
        ("memory://lake/t", "memory", "lake", "/lake/t"),
        ("memory:///lake/t", "memory", "", "/lake/t"),
    ],
)  # fmt: skip
def test_uri_means_a_place_in_a_store(uri, kind, authority, path):
    found = Location.parse(uri)
    assert (found.kind, found.authority, found.path) == (kind, authority, path)


@pytest.mark.parametrize(
    "name",
    ["orders", "my orders", "a%20b", "50%", "ü#?;"],
)
@pytest.mark.parametrize("start", ["file:{}", "file://{}", "file://localhost{}"])
def test_local_path_has_several_spellings(tmp_path, name, start):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "f").write_bytes(b"1")
    encoded = folder.as_uri().removeprefix("file://")
    for path in (str(folder), encoded):
        assert ArrowStorage.parse(start.format(path)).read_bytes("f") == b"1"
    assert ArrowStorage.parse(folder.as_uri()).base_path == str(folder)


def test_folder_that_is_written_so_goes_before_the_decoded_one(tmp_path):
    for name in ("a b", "a%20b"):
        (tmp_path / name).mkdir()
    assert ArrowStorage.parse(f"file://{tmp_path}/a%20b").base_path == f"{tmp_path}/a%20b"
    assert ArrowStorage.parse(f"{tmp_path}/a%20b").base_path == f"{tmp_path}/a%20b"


def test_file_of_another_machine_is_refused():
    with pytest.raises(InvalidOptionError, match=r"the host nas.*give file:///share/t, or "):
        Location.parse("file://nas/share/t")


def test_links_in_a_circle_and_a_path_with_nul_are_named(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "loop", tmp_path / "loop" / "t"):
        with pytest.raises(InvalidOptionError, match=r"loop.*Too many levels of symbolic links"):
            ArrowStorage.parse(str(path))
    with pytest.raises(InvalidOptionError, match="cannot be followed: embedded null"):
        ArrowStorage.parse("/a\0b")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("x" * 256, "File name too long", id="name"),
        pytest.param("x/" * 2500, "File name too long", id="path"),
        pytest.param(os.fsdecode(b"a\xff"), "surrogates not allowed", id="not-utf-8"),
    ],
)
def test_path_that_arrow_cannot_open_is_named(tmp_path, name, problem):
    with pytest.raises(InvalidOptionError, match=f"cannot be followed: .*{problem}"):
        HudiTable(tmp_path / name)


def test_path_may_be_bytes(golden_table):
    table = golden_table("v9_mor_compaction_inline")
    assert HudiTable(os.fsencode(table)).path == str(table)


@pytest.mark.parametrize("uri", ["dbfs:/FileStore/t", "dbfs:/mnt/lake", "dbfs:/Volumes"])
def test_dbfs_that_only_the_jvm_reaches_is_refused(uri):
    with pytest.raises(InvalidOptionError, match="/Volumes/catalog/schema/volume"):
        Location.parse(uri)


@pytest.mark.parametrize("uri", ["dbfs:{}/t", "{}/t"])
def test_volume_is_a_local_folder(tmp_path, monkeypatch, uri):
    # A volume is mounted under /Volumes; the test has none, so that it looks at another folder.
    monkeypatch.setattr("hudi_pyspark.storage.locations._VOLUMES", f"{tmp_path}/")
    (tmp_path / "t").mkdir()
    (tmp_path / "t/f").write_bytes(b"1")
    storage = ArrowStorage.parse(uri.format(tmp_path))
    assert storage.is_local
    assert storage.read_bytes("f") == b"1"


@pytest.mark.parametrize(
    ("uri", "options", "known"),
    [
        (
            "wasbs://box@acme.blob.core.windows.net/t",
            {"account_key": "a2V5"},
            {"account_name": "acme"},
        ),
        (
            "abfss://box@lake.dfs.fabric.microsoft.com/t",
            {"account_key": "a2V5"},
            {
                "account_name": "lake",
                "blob_storage_authority": ".blob.fabric.microsoft.com",
                "dfs_storage_authority": ".dfs.fabric.microsoft.com",
            },
        ),
        ("az://box/t", {"account_key": "a2V5", "account_name": "acme"}, {}),
    ],
)
def test_account_of_azure_comes_from_the_host_or_from_the_options(uri, options, known):
    storage = ArrowStorage.parse(uri, options)
    assert storage.filesystem.equals(pafs.AzureFileSystem(**{**options, **known}))


def test_azure_without_an_account_says_how_to_name_it():
    with pytest.raises(InvalidOptionError, match="storage option account_name"):
        ArrowStorage.parse("az://box/t", {"account_key": "a2V5"})


def test_gcs_gets_a_token_with_its_end():
    given: dict[str, str | float] = {
        "access_token": "t",
        "credential_token_expiration": 4_000_000_000,
    }
    assert isinstance(ArrowStorage.parse("gs://lake/t", given).filesystem, pafs.GcsFileSystem)


@pytest.mark.parametrize(
    ("uri", "options", "url", "user"),
    [
        ("webhdfs://name:1/t", {"user": "u"}, "http://name:1/webhdfs/v1", "u"),
        ("webhdfs://u@name:1/t", {}, "http://name:1/webhdfs/v1", "u"),
        ("webhdfs://name/t", {}, "http://name:9870/webhdfs/v1", None),
    ],
)
def test_webhdfs_is_asked_at_the_host_of_its_uri(uri, options, url, user):
    pytest.importorskip("requests")
    storage = ArrowStorage.parse(uri, options)
    client = storage.filesystem.handler.fs
    assert (client.url, client.user) == (url, user)
    assert storage.describe("f") == f"{uri.replace('u@', '')}/f"


def test_port_of_hdfs_is_a_number():
    with pytest.raises(InvalidOptionError, match="hdfs://name:x: give host or host:port"):
        ArrowStorage.parse("hdfs://name:x/t")


@pytest.mark.parametrize(
    ("uri", "asked"),
    [("webhdfs://h:1/a/t", "webhdfs://h:1/a/t"), ("s3://lake/a/t", "s3://lake/a/t")],
)
def test_credentials_are_asked_for_by_the_uri(uri, asked):
    provider = Mock(credentials=Mock(side_effect=InvalidOptionError("asked")))
    with pytest.raises(InvalidOptionError, match="asked"):
        ArrowStorage.parse(uri, provider=provider)
    assert provider.credentials.call_args.args == (asked,)


@pytest.mark.skipif(find_spec("ossfs") is not None, reason="the package is installed")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("s3a", "s3", True), ("gcs", "gs", True), ("s3", "gs", False), ("hdfs", "hdfs", False)],
)
def test_buckets_of_one_store_share_credentials(one, other, same):
    assert same_store(one, other) is same


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3://AKID:very-secret@lake/t", "s3://lake/t"),
        ("s3://lake/t?access_key=a&secret_key=b", "s3://lake/t"),
        ("abfss://box@acme.dfs.core.windows.net/t", "abfss://box@acme.dfs.core.windows.net/t"),
        ("/a/what?b@c", "/a/what?b@c"),
    ],
)
def test_uri_is_shown_without_credentials(uri, shown):
    assert without_secrets(uri) == shown


@pytest.mark.parametrize("uri", ["s3://AKID:very-secret@lake/t", "s3://lake/t?key=very-secret"])
def test_settings_in_a_uri_are_refused_and_not_shown(uri):
    with pytest.raises(InvalidOptionError, match="give them as storage options") as caught:
        ArrowStorage.parse(uri)
    assert "very-secret" not in str(caught.value)


def test_home_folder_is_expanded_unless_a_file_has_this_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.chdir(tmp_path)
    assert Location.parse("~/orders").path == "/home/ada/orders"
    (tmp_path / "~").mkdir()
    assert Location.parse("~").path == f"{tmp_path}/~"


def test_empty_path_is_refused_rather_than_the_current_folder():
    with pytest.raises(InvalidOptionError, match="the path is empty: give the base path"):
        HudiTable("")
