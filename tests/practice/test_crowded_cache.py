"""A folder of very many outcomes: each further one costs the same, and the folder keeps its bound.

Cost is counted by the calls to the operating system that depend on the number of files: a listing
has an entry for each.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.reading.merge import outcome_files
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from tests.damage import unpack
from tests.emptied_state import empty
from tests.reading.merge.kept_outcomes import folder_in, outcome_of, same

MANY = 50_000


class Listing:
    """As of `os.scandir`: to be iterated within ``with`` or without it."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __enter__(self) -> "Listing":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Calls:
    """Counts entries of listings."""

    def __init__(self) -> None:
        self.entries = 0
        self._scandir = os.scandir

    def scandir(self, folder: Any = ".") -> Listing:
        with self._scandir(folder) as found:
            listing = [*found]
        self.entries += len(listing)
        return Listing(listing)


@pytest.fixture
def calls(monkeypatch) -> Calls:
    counted = Calls()
    monkeypatch.setattr("hudi_pyspark.reading.merge.outcome_files.os.scandir", counted.scandir)
    return counted


@pytest.fixture(autouse=True)
def _first_look_is_late(monkeypatch):
    monkeypatch.setattr("hudi_pyspark.reading.merge.outcome_files.random.randrange", lambda _: 0)
    empty(monkeypatch, "uses of folders", "warnings of folders")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory) -> OutcomesOnDisk:
    store = OutcomesOnDisk(folder_in(tmp_path_factory.mktemp("crowded")))
    store.folder.mkdir(mode=0o700, parents=True)
    for number in range(MANY):
        os.close(os.open(f"{store.folder}/6-{number:064}", os.O_CREAT, 0o600))
    return store


def test_outcome_is_kept_without_a_look_at_the_others(crowded, calls):
    for number in range(100):
        crowded.put(f"key{number}", outcome_of())
        assert same(crowded.find(f"key{number}", None), outcome_of())
    assert calls.entries == 0


def test_queries_of_a_table_beside_very_many_outcomes(crowded, calls, tmp_path):
    path = unpack("v9_mor_clustering", tmp_path)
    parent = str(crowded.folder.parent)
    options: dict[str, Any] = {"merge_cache": "disk", "merge_cache_folder": parent}
    table = HudiTable(path)
    expected = table.scan(merge_cache="off").to_arrow().num_rows
    calls.entries = 0
    for _ in range(2):
        scan = table.scan(**options)
        scan._plan_groups()
        assert scan.to_arrow().num_rows == expected
    assert calls.entries < MANY  # the table itself is listed
    assert len(os.listdir(crowded.folder)) > MANY  # noqa: PTH208


def test_entries_that_are_looked_at_grow_with_the_outcomes_that_are_kept(tmp_path, calls):
    store = OutcomesOnDisk(tmp_path / "kept", 1 << 20)
    for number in range(1500):
        store.put(f"key{number}", outcome_of())
        if number % 100 == 0:
            assert sum(size for _, size, _ in store.files()) <= store.most_bytes
            calls.entries = 0 if number < 1000 else calls.entries
    newest = [store.find(f"key{number}", None) is not None for number in range(1300, 1500)]
    assert all(newest)
    # Sixteen looks while as many files are written as the folder holds, and those of this test.
    assert calls.entries <= 600 * 16 + 7 * len(store.files())


def test_least_recently_used_go_first_in_small_steps(tmp_path):
    store = OutcomesOnDisk(tmp_path / "kept", 100_000)
    store.put("used", outcome_of())
    for number in range(200):
        store.put(f"key{number}", outcome_of())
        assert store.find("used", None) is not None
    assert sum(size for _, size, _ in store.files()) <= store.most_bytes


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from tests.reading.merge.kept_outcomes import outcome_of
store = OutcomesOnDisk(Path({folder!r}), {most})
for number in range(200):
    store.put(f"{{sys.argv[1]}}-{{number}}", outcome_of())
"""


def test_processes_that_write_at_a_time_keep_the_bound(tmp_path):
    store = OutcomesOnDisk(tmp_path / "kept", 30_000)
    root = str(Path(__file__).parents[2])
    code = _WRITER.format(root=root, folder=str(store.folder), most=store.most_bytes)
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(number)], stderr=subprocess.PIPE)
        for number in range(3)
    ]
    found = [(process.communicate()[1], process.returncode) for process in running]
    assert found == [(b"", 0)] * 3
    size = sum(size for _, size, _ in store.files())
    assert 0 < size <= store.most_bytes * (1 + 3 / 16)


def test_processes_that_end_after_one_outcome_look_by_chance(tmp_path, monkeypatch):
    store = OutcomesOnDisk(tmp_path / "kept", 60_000)
    numbers = Random(1)
    monkeypatch.setattr(
        "hudi_pyspark.reading.merge.outcome_files.random.randrange", numbers.randrange
    )
    for number in range(400):
        outcome_files._uses.clear()  # as in a new process
        store.put(f"key{number}", outcome_of())
        assert sum(size for _, size, _ in store.files()) <= store.most_bytes * (1 + 3 / 16)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_makes_room_for_a_later_outcome(number, tmp_path, monkeypatch):
    store = OutcomesOnDisk(tmp_path / "kept")
    for place in range(10):
        store.put(f"key{place}", outcome_of())
    store.find("key0", None)
    full = sum(size for _, size, _ in store.files())
    write = outcome_files._store

    def write_if_there_is_room(file, facts, tables):
        if sum(size for _, size, _ in store.files()) + 2000 > full:
            raise OSError(number, os.strerror(number))
        write(file, facts, tables)

    monkeypatch.setattr(outcome_files, "_store", write_if_there_is_room)
    store.put("new", outcome_of())
    assert store.find("new", None) is None
    store.put("new", outcome_of())
    assert same(store.find("new", None), outcome_of())
    assert store.find("key0", None) is not None
    assert store.find("key1", None) is None
    assert len(store.files()) >= 8


def test_outcome_that_is_larger_than_the_disk_leaves_others(tmp_path, monkeypatch):
    store = OutcomesOnDisk(tmp_path / "kept")
    for place in range(16):
        store.put(f"key{place}", outcome_of())

    def fail(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(outcome_files, "_store", fail)
    store.put("large", outcome_of(100_000))
    assert len(store.files()) in (7, 8)


def test_other_failure_removes_nothing(tmp_path, monkeypatch):
    store = OutcomesOnDisk(tmp_path / "kept")
    store.put("key", outcome_of())

    def fail(*_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(outcome_files, "_store", fail)
    store.put("other", outcome_of())
    assert len(store.files()) == 1
