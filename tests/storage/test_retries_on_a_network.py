"""Reads through a network that fails: the right rows, or an error by name, and never fewer rows."""

import itertools
import logging
import pickle

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hudi_pyspark import CorruptTableError, HudiTable, StorageAccessError, StorageError, thresholds
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.file_systems import OpenFile
from hudi_pyspark.storage.remote_file import (
    HOLE,
    RemoteFile,
    coalesce,
    fetch_end,
    prefetch,
    read_files,
)
from hudi_pyspark.storage.retries import RetryPolicy
from tests.storage.faulty_proxy import FAULTS, NONE, always, fail_between, sometimes
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it
SECRET = "very-secret-key"


@pytest.fixture
def s3(golden_table):
    with serve(golden_table(MOR).parent) as server:
        yield server


pytestmark = pytest.mark.usefixtures("clock")


def options(endpoint, **more):
    return {
        "endpoint_override": endpoint,
        "access_key": "AKID",
        "secret_key": SECRET,
        "region": "eu-north-1",
        "request_timeout": "1",
        **more,
    }


def table(proxy, **more):
    return HudiTable(f"s3://lake/{MOR}", storage_options=options(proxy.endpoint, **more))


@pytest.mark.parametrize("fault", FAULTS)
def test_each_request_that_fails_once_is_made_again(s3, fault):
    def every_third(request, _):
        return fault if request % 3 == 0 else NONE

    # A delay costs its time-out, so that only some requests have one.
    faults = every_third if fault != "delay" else lambda r, _: fault if r in (2, 5) else NONE
    with fail_between(s3.endpoint, faults) as proxy:
        # Requests of other threads may make those of one file the third ones, again and again.
        assert table(proxy, attempts=12).scan().count() == ROWS
    assert set(proxy.failed) == {fault}


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_a_network_that_works(s3, seed):
    expected = HudiTable(f"s3://lake/{MOR}", storage_options=options(s3.endpoint)).scan().to_arrow()
    with fail_between(s3.endpoint, sometimes(0.1, seed)) as proxy:
        found = table(proxy, attempts=12).scan().to_arrow()
    key = [("_hoodie_record_key", "ascending")]
    assert found.sort_by(key).equals(expected.sort_by(key))
    assert found.num_rows == ROWS


@pytest.mark.parametrize("fault", ["503", "429", "500", "reset", "cut"])
def test_file_that_cannot_be_read_is_an_error_of_the_storage(s3, fault):
    scan = HudiTable(f"s3://lake/{MOR}", storage_options=options(s3.endpoint)).scan()
    tasks = scan.plan()
    with fail_between(s3.endpoint, always(fault, only_files=True)) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint, attempts=3))
        with pytest.raises(StorageError, match=r"s3://lake/.*\(3 attempts\)") as caught:
            list(read_task(tasks[0], storage))
    assert str(caught.value).startswith("[HUDI_STORAGE] ")
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


@pytest.mark.parametrize("fault", ["503", "reset"])
def test_folder_that_cannot_be_listed_is_not_empty(s3, fault):
    with fail_between(s3.endpoint, always(fault)) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint, attempts=2))
        with pytest.raises(StorageError, match="2 attempts"):
            storage.list_directory(".hoodie")
        with pytest.raises(StorageError, match="2 attempts"):
            HudiTable(f"s3://lake/{MOR}", storage_options=options(proxy.endpoint, attempts=2))


def test_store_that_answers_too_late_is_asked_again_and_given_up(s3):
    with fail_between(s3.endpoint, always("delay")) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint, attempts=2))
        with pytest.raises(StorageError, match=r"Timeout was reached.*2 attempts"):
            storage.read_bytes(".hoodie/hoodie.properties")


def test_refusal_is_an_error_at_once(s3):
    with fail_between(s3.endpoint, always("403")) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint))
        with pytest.raises(StorageAccessError, match="Check the storage options") as caught:
            storage.read_bytes(".hoodie/hoodie.properties")
    assert proxy.requests == 2  # the second one asks why
    assert SECRET not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_file_that_disappears_while_it_is_read_is_missing(s3):
    with fail_between(s3.endpoint, always("404", only_files=True)) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint))
        with pytest.raises(FileNotFoundError, match=r"hoodie\.properties"):
            storage.read_bytes(".hoodie/hoodie.properties")


@pytest.mark.parametrize("missing", [1, 40])
def test_fewer_bytes_than_asked_for_are_never_taken(missing):
    class Short(MemoryFileSystem):  # type: ignore[misc]
        def cat_file(self, path, start=None, end=None, **more):
            return super().cat_file(path, start, end, **more)[:-missing]

    files = Short(skip_instance_cache=True)
    files.pipe("/short/f", b"0123456789" * 10)
    storage = ArrowStorage.on(files, "memory:///short")
    with pytest.raises(StorageError, match=rf"{100 - missing} of 100 bytes came"):
        storage.read_bytes("f")


def test_messages_of_a_store_are_shown_without_secrets(caplog):
    caplog.set_level(logging.DEBUG, "hudi_pyspark")

    def fail():
        raise OSError(f"cannot sign with {SECRET}")

    with pytest.raises(StorageError, match=r"cannot sign with \*\*\*"):
        RetryPolicy(2, [SECRET]).run(fail, "s3://lake/t")
    assert "attempt 1 failed" in caplog.text
    assert SECRET not in caplog.text


def test_urls_of_webhdfs_are_shown_without_user_and_token():
    url = "http://h:1/webhdfs/v1/t?op=OPEN&user.name=root&delegation=IAAHc2VjcmV0&doas=me&offset=0"

    def fail():
        raise OSError(f"Max retries exceeded with url: {url} (refused)")

    with pytest.raises(StorageError) as caught:
        RetryPolicy(1).run(fail, "webhdfs://h:1/t")
    shown = "op=OPEN&user.name=***&delegation=***&doas=***&offset=0 (refused)"
    assert shown in str(caught.value)


def test_local_failures_stay_what_they_are(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as caught:
        ArrowStorage.parse(str(tmp_path)).read_bytes("folder")
    assert not isinstance(caught.value, StorageError)


def test_ranges_are_fetched_together_and_read_from_memory(s3, golden_table):
    name = ".hoodie/hoodie.properties"
    content = (golden_table(MOR) / name).read_bytes()
    with fail_between(s3.endpoint, always(NONE)) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint))
        with storage.open_input(name) as file:
            opening = proxy.requests
            prefetch(file, [(20, 30), (0, 10), (5, 12)])
            for begin, end in [(0, 12), (3, 10), (25, 30)]:
                file.seek(begin)
                assert file.read(end - begin) == content[begin:end]
            assert proxy.requests == opening + 1


def test_end_of_a_file_is_fetched_once_and_stays():
    content = bytes(range(250)) * 4_000
    requests = []
    files = object()

    def read_range(begin, end):
        requests.append((begin, end))
        return content[begin:end]

    opened = OpenFile(len(content), None, read_range)
    file = RemoteFile(lambda request: request(files), files, opened, "f")  # type: ignore[arg-type]
    fetch_end(file)
    begin = 1_000_000 - (512 << 10)
    prefetch(file, [(10, 20), (begin, begin + 5), (999_990, 1_000_000)])
    for start, end in [(begin, begin + 5), (999_000, 1_000_000), (10, 20)]:
        file.seek(start)
        assert file.read(end - start) == content[start:end]
    assert requests == [(begin, 1_000_000), (10, 20)]


def test_files_come_in_order_and_the_missing_one_is_named(s3):
    storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(s3.endpoint))
    name = ".hoodie/hoodie.properties"
    files = read_files(storage, [name, name, "lost", name])
    assert next(files) == next(files) == storage.read_bytes(name)
    with pytest.raises(FileNotFoundError, match="lost"):
        next(files)


@pytest.mark.parametrize(
    ("spans", "largest", "ranges"),
    [
        ([], None, []),
        ([(5, 9), (0, 2)], None, [(0, 9)]),
        ([(0, 2), (3, 4)], None, [(0, 4)]),
        ([(0, 2), (9, 12)], None, [(0, 2), (9, 12)]),
        ([(0, 8), (2, 3), (8, 12)], None, [(0, 12)]),
        ([(0, 8), (8, 12)], 10, [(0, 8), (8, 12)]),
        ([(0, 8), (6, 12)], 10, [(0, 12)]),  # an overlap is fetched once, however long
    ],
)
def test_neighbours_are_one_request(spans, largest, ranges):
    unit = HOLE // 5
    spans, ranges = (
        [(begin * unit, end * unit) for begin, end in each] for each in (spans, ranges)
    )
    assert coalesce(spans, largest=largest and largest * unit) == ranges


def test_answers_that_are_shorter_than_asked_are_asked_for_again(s3):
    def two_of_five(number, request):
        return "short" if request.kind == "GET" and number % 5 < 2 else NONE

    with fail_between(s3.endpoint, two_of_five) as proxy:
        assert table(proxy, attempts=12).scan().count() == ROWS
    assert "short" in proxy.failed


def test_answers_that_are_always_too_short_are_an_error_of_the_storage(s3):
    with fail_between(s3.endpoint, always("short", only_files=True)) as proxy:
        storage = ArrowStorage.parse(f"s3://lake/{MOR}", options(proxy.endpoint, attempts=2))
        with pytest.raises(StorageError, match=r"fewer than \d+ bytes came.*2 attempts"):
            storage.read_bytes(".hoodie/hoodie.properties")


@pytest.mark.parametrize("last", [0xA6, 0xA7, 0xA8])
def test_last_byte_of_a_file_may_be_any(tmp_path, last):
    content = b"0123456789" + bytes([last])
    (tmp_path / "t").mkdir()
    (tmp_path / "t/f").write_bytes(content)
    with serve(tmp_path) as server:
        storage = ArrowStorage.parse("s3://lake/t", options(server.endpoint))
        assert storage.read_bytes("f") == content


WIDE = pytest.mark.parametrize(
    ("name", "use_metadata_table", "answer"),
    [
        (MOR, False, "empty"),
        pytest.param(MOR, True, "html", marks=pytest.mark.servers),
        pytest.param("v6_mor_part_basic", False, "html", marks=pytest.mark.servers),
        pytest.param("v6_mor_part_basic", True, "empty", marks=pytest.mark.servers),
    ],
)


# Neither may count as an empty folder, wherever it comes: the timeline, the folders of the metadata
# table, those of partitions, with and without metadata table.
@WIDE
def test_each_listing_may_be_answered_once_without_a_list(
    golden_table, name, use_metadata_table, answer
):
    folder = golden_table(name).parent
    expected = HudiTable(str(folder / name)).scan().count()

    def read(faults):
        with fail_between(server.endpoint, faults) as proxy:
            table = HudiTable(f"s3://lake/{name}", storage_options=options(proxy.endpoint))
            assert table.scan(use_metadata_table=use_metadata_table).count() == expected
            return proxy

    def remember(_, request):
        if request.kind == "LIST":
            listed.add(request.path)
        return NONE

    with serve(folder) as server:
        listed: set[str] = set()
        read(remember)
        listed = {path for path in listed if (folder / path).is_dir()}
        assert len(listed) >= 2
        for path in sorted(listed):
            lost = [path]

            def lose(_, request, lost=lost):
                is_one = request.kind == "LIST" and request.path in lost
                return answer if is_one and lost.pop() else NONE

            read(lose)
            assert not lost


@pytest.mark.parametrize("answer", ["empty", "html"])
def test_timeline_without_a_list_is_no_empty_table(s3, answer):
    with (
        fail_between(s3.endpoint, always(answer)) as proxy,
        pytest.raises((StorageError, CorruptTableError)),
    ):
        table(proxy)
    lists = lambda _, request: answer if request.kind == "LIST" else NONE  # noqa: E731
    with (
        fail_between(s3.endpoint, lists) as proxy,
        pytest.raises(StorageError, match="the store lists nothing here"),
    ):
        table(proxy)


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(thresholds, "LISTING_PAGE", 4)
    return 4


@WIDE
def test_each_page_of_a_listing_may_be_lost_once(
    golden_table, small_pages, name, use_metadata_table, answer
):
    folder = golden_table(name).parent
    expected = HudiTable(str(folder / name)).scan().to_arrow().sort_by("_hoodie_record_key")

    def read(faults):
        with fail_between(server.endpoint, faults) as proxy:
            table = HudiTable(f"s3://lake/{name}", storage_options=options(proxy.endpoint))
            scan = table.scan(use_metadata_table=use_metadata_table)
            assert scan.to_arrow().sort_by("_hoodie_record_key").equals(expected)

    with serve(folder) as server:
        server.page = small_pages
        pages = []

        def remember(_, request):
            if request.is_next_page:
                pages.append(request.path)
            return NONE

        read(remember)
        assert len(pages) >= 2
        for lost in sorted({pages.index(path) for path in pages}):  # the first of each folder
            seen = itertools.count()

            def lose(_, request, lost=lost, seen=seen):
                return answer if request.is_next_page and next(seen) == lost else NONE

            read(lose)


def test_full_pages_cost_one_listing_more(tmp_path, small_pages):
    with serve(tmp_path) as server:
        server.page = small_pages
        for entries, requests in [(2, 1), (3, 2), (4, 2), (5, 2), (8, 4), (9, 3)]:
            (folder := tmp_path / f"t/{entries}").mkdir(parents=True)
            for number in range(entries):
                (folder / f"f{number}").touch()
            with fail_between(server.endpoint, always(NONE)) as proxy:
                storage = ArrowStorage.parse("s3://lake/t", options(proxy.endpoint))
                assert len(storage.list_directory(str(entries))) == entries
            assert proxy.requests == requests, entries


def test_page_that_is_lost_in_the_second_listing_alone_is_noticed(tmp_path, small_pages):
    (tmp_path / "t").mkdir()
    for number in range(8):
        (tmp_path / f"t/f{number}").touch()
    lost = iter(["", "", "", "empty", "", "", "", ""])
    with serve(tmp_path) as server:
        server.page = small_pages
        with fail_between(server.endpoint, lambda *_: next(lost)) as proxy:
            storage = ArrowStorage.parse("s3://lake/t", options(proxy.endpoint))
            assert len(storage.list_directory("")) == 8
    assert proxy.requests == 8
