"""Hosts are connected to once, before the first request, and not past a proxy."""

import pickle
import socket

import pytest

from hudi_pyspark import StorageError
from hudi_pyspark.storage.connection import reach_endpoint
from hudi_pyspark.storage.hosts import connection_problem
from hudi_pyspark.storage.stores import store_of
from hudi_pyspark.storage.table_storage import ArrowStorage


@pytest.fixture(autouse=True)
def _without_a_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def connected(monkeypatch):
    """The addresses that are connected to, none of which answers."""
    found = []

    def refuse(address, _seconds):
        found.append(address)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    return found


@pytest.mark.parametrize(
    ("uri", "options", "address"),
    [
        ("gs://lake/t", {"access_token": "t", "endpoint_override": "name:4443"}, ("name", 4443)),
        ("gs://lake/t", {"access_token": "t", "endpoint_override": "http://name"}, ("name", 80)),
        ("gs://lake/t", {"access_token": "t", "endpoint_override": "[::1]"}, ("::1", 443)),
        (
            "abfss://box@acme.dfs.core.windows.net/t",
            {"account_key": "a2V5"},
            ("acme.blob.core.windows.net", 443),
        ),
        (
            "abfss://box@lake.dfs.fabric.microsoft.com/t",
            {"account_key": "a2V5"},
            ("lake.blob.fabric.microsoft.com", 443),
        ),
        (
            "az://box/t",
            {"account_key": "a2V5", "account_name": "x", "blob_storage_authority": ".blob.y.z"},
            ("x.blob.y.z", 443),
        ),
        (
            "az://box/t",
            {
                "account_key": "a2V5",
                "account_name": "x",
                "blob_storage_authority": "name",
                "blob_storage_scheme": "http",
            },
            ("name", 80),
        ),
        ("webhdfs://u@name/t", {}, ("name", 9870)),
        ("webhdfs://name:1/t", {"host": "other", "port": "2"}, ("other", 2)),
    ],
)
def test_host_is_that_of_path_and_settings(connected, uri, options, address):
    if uri.startswith("webhdfs"):
        pytest.importorskip("requests")
    storage = ArrowStorage.parse(uri, {**options, "attempts": 1})
    assert connected == []
    with pytest.raises(StorageError, match=r"cannot be reached: refused\. Check the path, or the"):
        storage.list_directory("")
    assert connected == [address]


def test_connection_that_fails_is_made_as_often_as_a_request(connected, clock):
    storage = ArrowStorage.parse("abfss://box@acme.dfs.core.windows.net/t", {"account_key": "a2V5"})
    with pytest.raises(StorageError, match=r"5 attempts"):
        storage.list_directory("")
    assert len(connected) == 5
    assert clock.now < 4


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_nothing_connects_past_a_proxy(connected, monkeypatch, variable):
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    reach_endpoint(store_of("abfs"), {"account_name": "acme"})
    reach_endpoint(store_of("gs"), {"endpoint_override": "name"})
    ArrowStorage.parse("gs://lake/t")  # credentials of the machine are not asked for, either
    assert connected == []


def test_gcs_and_s3_without_an_endpoint_are_left_to_their_clients(connected):
    reach_endpoint(store_of("gs"), {"access_token": "t"})
    reach_endpoint(store_of("s3"), {"endpoint_override": "name:1"})
    assert connected == []


def test_requests_after_the_first_connect_no_more():
    pytest.importorskip("requests")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        place = f"webhdfs://127.0.0.1:{server.getsockname()[1]}/t"
        first = ArrowStorage.parse(place).files
        for connection in (first, pickle.loads(pickle.dumps(first))):  # as in a task
            for _ in range(3):
                assert connection.request(lambda _: "answer", place) == "answer"
            server.accept()[0].close()
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_problem_names_host_and_port():
    assert connection_problem("http://127.0.0.1:1/path", 80, 1).startswith(
        "127.0.0.1:1 cannot be reached:"
    )
    too_long = "a" * 64
    assert connection_problem(too_long, 80, 1).startswith(f"{too_long}:80 cannot be reached:")
