"""Bytes that are damaged on the way from a store, and not in it, are read once more."""

import itertools
import logging
import shutil

import pytest

from hudi_pyspark import (
    CorruptBaseFileError,
    CorruptLogBlockError,
    CorruptTableError,
    HudiTable,
    StorageError,
)
from hudi_pyspark.reading import read_task as module
from tests.storage.faulty_proxy import NONE, Request, fail_between
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
CDC = "v9_mor_cdc_data_before_after"
ROWS = 18  # that Apache Hudi reads from MOR

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def s3(golden_table, tmp_path):
    for name in (MOR, CDC):
        shutil.copytree(golden_table(name), tmp_path / name)
    with serve(tmp_path) as server:
        yield server


def options(endpoint):
    return {
        "endpoint_override": endpoint,
        "access_key": "AKID",
        "secret_key": "very-secret-key",
        "region": "eu-north-1",
    }


def rows(proxy, name=MOR, **query):
    table = HudiTable(f"s3://lake/{name}", storage_options=options(proxy.endpoint))
    return sorted(map(repr, table.scan(**query).to_arrow().to_pylist()))


def requests_of(s3, name=MOR, **query):
    """The paths of the files that a query reads, in order, and its rows."""
    paths = []

    def remember(_, request):
        if request.kind == "GET":
            paths.append(request.path)
        return NONE

    with fail_between(s3.endpoint, remember) as proxy:
        return rows(proxy, name, **query), paths


def once(path, fault):
    """The first read of a file fails."""
    left = [fault]
    return lambda _, r: left.pop() if left and r.kind == "GET" and r.path == path else NONE


def each_file(s3, fault, name=MOR, **query):
    expected, paths = requests_of(s3, name, **query)
    assert expected
    for path in sorted(set(paths)):
        with fail_between(s3.endpoint, once(path, fault)) as proxy:
            assert rows(proxy, name, **query) == expected, path
        assert proxy.failed == [fault], path


@pytest.mark.parametrize("fault", ["zeros"])
def test_each_file_of_a_snapshot_may_be_damaged_once_on_the_way(s3, fault):
    each_file(s3, fault, use_metadata_table=False)


@pytest.mark.servers
@pytest.mark.parametrize("fault", ["zeros", "tail", "short", "empty", "html"])
@pytest.mark.parametrize(
    ("name", "query"),
    [
        (MOR, {}),
        (MOR, {"on_damage": "warn"}),
        (MOR, {"on_damage": "ignore", "use_metadata_table": False}),
        (MOR, {"begin": "earliest"}),
        (CDC, {"begin": "earliest", "cdc": True}),
        (CDC, {"begin": "earliest", "cdc": True, "on_damage": "warn"}),
    ],
)
def test_each_file_of_each_query_may_be_damaged_once_on_the_way(s3, fault, name, query):
    each_file(s3, fault, name, **query)


def test_compression_on_the_way_gives_the_rows_or_is_named(s3):
    expected, paths = requests_of(s3)
    named = set()
    for path in sorted(set(paths)):
        with fail_between(s3.endpoint, once(path, "gzip")) as proxy:
            try:
                found = rows(proxy)
                message = ""
            except StorageError as error:
                found = []
                message = str(error)
        assert found == expected or "compressed by gzip" in message, path
        if message:
            named.add(path.rpartition("/")[2])
    assert "hoodie.properties" in named


def test_commit_that_is_damaged_once_on_the_way_is_inspected(s3):
    def commits(proxy):
        table = HudiTable(f"s3://lake/{MOR}", storage_options=options(proxy.endpoint))
        return table.inspect.commits()

    paths = []

    def remember(_, request):
        paths.append(request.path)
        return NONE

    with fail_between(s3.endpoint, remember) as proxy:
        expected = commits(proxy)
    last = max(path for path in paths if path.endswith("commit"))
    with fail_between(s3.endpoint, once(last, "tail")) as proxy:
        assert commits(proxy) == expected
    assert proxy.failed == ["tail"]


def is_log(path):
    return ".log." in path and "/.hoodie/" not in path


def test_damage_is_skipped_only_where_a_second_read_finds_it(s3, caplog):
    _, paths = requests_of(s3)
    log = next(path for path in paths if is_log(path) and paths.count(path) == 1)
    with fail_between(s3.endpoint, once(log, "tail")) as proxy:
        assert len(rows(proxy, on_damage="warn")) == ROWS
    assert "read once more" in caplog.text
    always = lambda _, r: "tail" if r.kind == "GET" and r.path == log else NONE  # noqa: E731
    with fail_between(s3.endpoint, always) as proxy:
        with pytest.raises(CorruptLogBlockError):
            rows(proxy)
        caplog.clear()
        rows(proxy, on_damage="warn")
    assert "read once more" in caplog.text


def test_file_that_stays_damaged_is_read_twice_and_named(tmp_path, golden_table):
    shutil.copytree(golden_table(MOR), tmp_path / MOR)
    with serve(tmp_path) as server:
        check_damaged_base_file(server, tmp_path)


def check_damaged_base_file(s3, folder):
    _, paths = requests_of(s3)
    base = next(path for path in paths if path.endswith(".parquet") and "/.hoodie/" not in path)
    (folder / base.removeprefix("/lake/")).write_bytes(b"no parquet" * 50)
    reads: list[Request] = []

    def remember(_, request):
        if request.path == base and request.kind == "GET":
            reads.append(request)
        return NONE

    with fail_between(s3.endpoint, remember) as proxy:
        with pytest.raises(CorruptTableError, match=r"\.parquet"):
            rows(proxy)
        # Twice, since bytes may be damaged on their way. Then, as its size is wrong, to learn
        # whether on_damage=warn would read what is there: its size is compared, and it is opened.
        assert len(reads) == 4


def test_good_files_cost_no_request_more(s3, caplog):
    caplog.set_level(logging.WARNING, "hudi_pyspark")
    _, paths = requests_of(s3)
    _, again = requests_of(s3, on_damage="warn")
    assert sorted(paths) == sorted(again)
    assert "once more" not in caplog.text


def test_rows_that_have_come_do_not_come_again(s3, monkeypatch):
    table = HudiTable(f"s3://lake/{MOR}", storage_options=options(s3.endpoint))
    scan = table.scan(batch_rows=1)
    (task, *_) = scan.plan()
    expected = list(module.read_task(task, scan.storage))
    whole = module._read

    for come in range(len(expected)):
        failing = iter([True])

        def read(task, storage, outcomes, come=come, failing=failing):
            fails = next(failing, False)
            yield from itertools.islice(whole(task, storage, outcomes), come if fails else None)
            if fails:
                raise CorruptBaseFileError("f.parquet", "a page is damaged")

        monkeypatch.setattr(module, "_read", read)
        found = list(module.read_task(task, scan.storage))
        assert [r for t in found for r in t.to_pylist()] == [
            r for t in expected for r in t.to_pylist()
        ]
        monkeypatch.setattr(module, "_read", whole)
