"""Faults between the reader and the servers of each object store."""

import contextlib
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from hudi_pyspark import HudiTable, StorageAccessError, StorageError
from hudi_pyspark.storage import ArrowStorage
from tests.contracts.served_storage import MOR, files_of
from tests.storage import servers
from tests.storage.faulty_proxy import NONE, always, fail_between

ROWS = 18  # that Apache Hudi reads from MOR
KEY = servers.AZURITE_KEY

pytestmark = [pytest.mark.usefixtures("clock"), pytest.mark.servers]


@dataclass(frozen=True)
class Store:
    """A store, with a table in it, that is reached through a proxy."""

    server: servers.Server
    endpoint: str  # host and port of the server
    settings: tuple[str, ...]  # that name the endpoint
    table: str

    def through(self, proxy, **more):
        """The storage options by which the proxy is asked."""
        known = self.server.options
        place = proxy.endpoint.removeprefix("http://")
        ends = {s: str(known[s]).replace(self.endpoint, place) for s in self.settings}
        return {**known, **ends, **more}


@contextlib.contextmanager
def store_of(kind, folder, content):
    if kind == "moto":
        with servers.moto() as server:
            pafs.S3FileSystem(allow_bucket_creation=True, **server.options).create_dir("lake")
            endpoint = str(server.options["endpoint_override"]).removeprefix("http://")
            yield Store(server, endpoint, ("endpoint_override",), server.write(content))
    elif kind == "gcs":
        with servers.fake_gcs(folder) as server:
            brief = replace(server, options={**server.options, "retry_time_limit": 1})
            endpoint = str(server.options["endpoint_override"])
            yield Store(brief, endpoint, ("endpoint_override",), server.write(content))
    else:
        with servers.azurite(folder) as server:
            names = ("blob_storage_authority", "dfs_storage_authority")
            endpoint = str(server.options[names[0]])
            yield Store(server, endpoint, names, server.write(content))


@pytest.fixture(
    scope="module",
    params=["moto", "gcs", "azurite"],
)
def store(request, tmp_path_factory, golden_table):
    content = {**files_of(golden_table(MOR)), "a403b forbidden/_0-401-1203_.bin": b"content"}
    with store_of(request.param, tmp_path_factory.mktemp("store"), content) as store:
        yield store


def count_rows(table, options):
    return HudiTable(table, storage_options=options).scan().count()


def read_and_list(table, options):
    """Content of a file and number of entries of a folder, whose names look like refusals."""
    storage = ArrowStorage.parse(table, options)
    content = storage.read_bytes("a403b forbidden/_0-401-1203_.bin")
    return content, len(storage.list_directory("a403b forbidden"))


def read(store, proxy, function, **more):
    """Call a function of table and options; for GCS in a process of its own.

    pyarrow holds Python's lock while its client of GCS waits for the first bytes of a file, so that
    no thread of this process, such as the proxy's, could answer.
    """
    options = store.through(proxy, **more)
    if not store.table.startswith("gs://"):
        return function(store.table, options)
    with ProcessPoolExecutor(1, get_context("spawn")) as child:
        return child.submit(function, store.table, options).result()


def rows(store, proxy, **more):
    return read(store, proxy, count_rows, **more)


@pytest.mark.parametrize("fault", ["503", "429", "500", "reset", "cut"])
def test_requests_that_fail_once_in_a_while_give_the_rows(store, fault):
    with fail_between(store.endpoint, lambda n, _: fault if n % 7 == 0 else NONE) as proxy:
        assert rows(store, proxy, attempts=12) == ROWS
    assert set(proxy.failed) == {fault}


# The clients of GCS and Azure make pauses of their own, which take their time.
@pytest.mark.parametrize("fault", ["503", "429"])
def test_store_that_throttles_for_a_minute_is_waited_for(store, clock, fault):
    if not store.table.startswith("s3://"):
        pytest.skip("takes minutes")
    with fail_between(store.endpoint, lambda *_: fault if clock.now < 60 else NONE) as proxy:
        assert rows(store, proxy) == ROWS
    assert 60 <= clock.now < 70


def test_store_that_throttles_for_ever_is_an_error_that_names_the_setting(store):
    named = pytest.raises(StorageError, match=r"raise the storage option attempts \(2 attempts\)")
    with fail_between(store.endpoint, always("503")) as proxy, named:
        rows(store, proxy, attempts=2)


def test_refusal_is_named_at_once_without_a_secret(store, clock):
    named = pytest.raises(StorageAccessError, match="Check the storage options")
    with fail_between(store.endpoint, always("403")) as proxy, named as caught:
        rows(store, proxy)
    assert clock.now == 0
    assert proxy.requests <= 2  # a missing file, or a folder of that name?
    for name, value in store.server.options.items():
        if "secret" in name or name == "account_key":
            assert str(value) not in str(caught.value)


def test_name_of_a_file_does_not_decide(store):
    left = {"GET": ["503", "503", "500"], "LIST": ["503", "500", "503"]}

    def choose(_, request):
        return left[request.kind].pop() if left.get(request.kind) else NONE

    with fail_between(store.endpoint, choose) as proxy:
        assert read(store, proxy, read_and_list) == (b"content", 1)
    assert not any(left.values())


# Azure's SDK ends the process on an answer of 200 that is not XML.
@pytest.mark.parametrize("answer", ["empty", "html"])
def test_listing_without_a_list_is_no_empty_folder(store, answer):
    if "account_key" in store.server.options:
        pytest.skip("Azure's SDK ends the process")
    left = [answer]

    def lose(_, request):
        return left.pop() if left and request.kind == "LIST" else NONE

    with fail_between(store.endpoint, lose) as proxy:
        assert rows(store, proxy) == ROWS
    assert not left


@pytest.mark.parametrize("fault", ["zeros", "short"])
def test_bytes_that_are_damaged_on_the_way_are_read_again(store, fault):
    def third_file(number, request):
        is_data = request.kind == "GET" and "/.hoodie/" not in request.path
        is_content = request.path.endswith((".parquet", "-1142", "-1198", "-1199"))
        if is_data and is_content and number % 5 == 0 and len(proxy.failed) < 1:
            return fault
        return NONE

    with fail_between(store.endpoint, third_file) as proxy:
        assert rows(store, proxy) == ROWS


def test_command_line_names_the_failure_in_one_line(store):
    with fail_between(store.endpoint, always("403")) as proxy:
        settings = {f"HOODIE_ENV_{n}": str(v) for n, v in store.through(proxy).items()}
        command = [str(Path(sys.executable).with_name("hudi-py")), "describe", store.table]
        environment = {**os.environ, **settings}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert "HUDI_STORAGE_ACCESS" in done.stderr
    assert "Traceback" not in done.stderr
    for secret in (KEY, "very-secret-key"):
        assert secret not in done.stdout + done.stderr
