"""A time of change proves something only about files that are read some time after it."""

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from hudi_pyspark.reading import file_states
from hudi_pyspark.reading.file_states import UNKNOWN, FileVersions, is_settled
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.file_systems import TimeOfChange
from hudi_pyspark.table.file_group import BaseFile
from tests.memory_storage import MemoryStorage

SECOND = 10**9
NOW = 1_700_000_000 * SECOND
MINUTE = 60 * SECOND


@pytest.mark.parametrize(
    ("age", "newest_age", "expected"),
    [
        (0, 0, False),
        (MINUTE, MINUTE, False),  # the clock of the store may be behind
        (15 * MINUTE, 15 * MINUTE, False),
        (15 * MINUTE + 2 * SECOND, 15 * MINUTE + 2 * SECOND, True),
        (5 * SECOND, 4 * SECOND, False),
        (5 * SECOND, 3 * SECOND, True),  # it was not behind when it gave the newest time
        (1 * SECOND, -MINUTE, False),  # or it is ahead
        (2 * SECOND, -MINUTE, True),
        (-MINUTE, -MINUTE, False),
        (SECOND // 2, SECOND // 2, False),  # with milliseconds
        (3 * SECOND // 2, 3 * SECOND // 2, False),
        (5 * SECOND // 2, 5 * SECOND // 2, True),
    ],
)
def test_times_that_prove_something(age, newest_age, expected):
    assert is_settled(NOW - age, NOW - newest_age, NOW) == expected


def test_unknown_time_proves_nothing():
    assert not is_settled(0, NOW, NOW)


class Store(MemoryStorage):
    """A store of two files with versions; it counts how often it is asked."""

    is_local = False

    def __init__(self, *versions: object) -> None:
        super().__init__({"a": b"a", "b": b"b"})
        self.versions = dict(zip("ab", versions, strict=True))
        self.asked: list[str] = []

    def open_input(self, path: str) -> Any:
        self.asked.append(path)
        opened: Any = super().open_input(path)
        return type("File", (type(opened),), {"version": self.versions[path]})(b"")


def versions_in(store: Store, *times: int) -> FileVersions:
    files = [
        BaseFile(path, "f", "001", 1, modified_ms=ms) for path, ms in zip("ab", times, strict=True)
    ]
    return FileVersions(files, store)


def test_only_files_whose_times_prove_nothing_are_asked_for():
    store = Store("tag a", "tag b")
    versions = versions_in(store, 1, 0)
    assert versions.before_reading(1) == ()
    assert versions.before_reading(2) == ("", "tag b")
    assert versions.before_reading(2) == ("", "tag b")
    assert store.asked == ["b"]


def test_version_that_was_kept_is_compared_even_if_the_time_proves_something_by_now():
    store = Store("tag a", "tag b")
    assert versions_in(store, 1, 1).are_still(("", "tag b"))
    assert not versions_in(store, 1, 1).are_still(("", "tag of another file"))
    assert versions_in(store, 1, 1).are_still(())
    assert store.asked == ["b", "b"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [(None, UNKNOWN), (TimeOfChange(1), str(TimeOfChange(1)))],
    ids=["none", "old"],
)
def test_store_that_has_no_tags(version, expected):
    assert versions_in(Store("tag", version), 0, 0).before_reading(2) == ("tag", expected)


@pytest.mark.parametrize("seconds", [0, 9999], ids=["new", "future"])
def test_time_of_change_proves_nothing_yet(seconds):
    version = TimeOfChange(int(time.time() + seconds) * 1000)
    assert versions_in(Store("tag", version), 0, 0).before_reading(2) == ("tag", UNKNOWN)


def test_file_that_is_gone_has_no_version():
    store = Store("tag", "tag")
    del store.files["b"]
    assert versions_in(store, 0, 0).before_reading(2) == (UNKNOWN, UNKNOWN)


@pytest.fixture
def local(tmp_path):
    for path in "ab":
        (tmp_path / path).write_bytes(b"1")
    return ArrowStorage.parse(str(tmp_path))


@pytest.fixture
def slept(monkeypatch) -> list[float]:
    seconds: list[float] = []
    clock = SimpleNamespace(time_ns=time.time_ns, sleep=seconds.append)
    monkeypatch.setattr(file_states, "time", clock)
    return seconds


def test_local_file_is_read_after_the_tick_in_which_it_was_written(local, slept):
    assert versions_in(local, 0, 0).before_reading(2) == ()
    assert len(slept) <= 1
    assert all(0 < seconds <= 0.02 for seconds in slept)
    time.sleep(0.02)
    slept.clear()
    assert versions_in(local, 0, 0).before_reading(2) == ()
    assert slept == []


@pytest.mark.parametrize("unit", [SECOND, 2 * SECOND, 10**6], ids=["1 s", "2 s", "1 ms"])
def test_local_file_with_a_coarse_time_is_read_later(unit, local, slept, monkeypatch):
    def stat(place):
        state = os.stat(place)  # noqa: PTH116
        changed = state.st_ctime_ns // unit * unit
        names = {"st_ino": 1, "st_size": 1, "st_mtime_ns": changed, "st_ctime_ns": changed}
        return SimpleNamespace(**names)

    names = {"access": os.access, "R_OK": os.R_OK, "stat": stat, "name": os.name}
    monkeypatch.setattr(file_states, "os", SimpleNamespace(**names))
    assert versions_in(local, 0, 0).before_reading(2) == (UNKNOWN, UNKNOWN)
    later = time.time_ns() + 20 * MINUTE
    monkeypatch.setattr("hudi_pyspark.reading.file_states.time.time_ns", lambda: later)
    assert versions_in(local, 0, 0).before_reading(2) == ()
    assert slept == []


def test_local_file_of_the_future_proves_nothing(local, monkeypatch, slept):
    past = time.time_ns() - MINUTE
    monkeypatch.setattr("hudi_pyspark.reading.file_states.time.time_ns", lambda: past)
    assert versions_in(local, 0, 0).before_reading(2) == (UNKNOWN, UNKNOWN)
    assert slept == []


def test_windows_has_the_time_of_creation_where_others_have_that_of_the_last_change(
    local, monkeypatch
):
    file = BaseFile("a", "f", "001", 1)
    state = SimpleNamespace(st_ino=1, st_size=2, st_mtime_ns=3, st_ctime_ns=4)
    for name, expected in (("posix", (1, 2, 3, 4)), ("nt", (1, 2, 4, 3))):
        names = {"access": os.access, "R_OK": os.R_OK, "stat": lambda _: state, "name": name}
        monkeypatch.setattr(file_states, "os", SimpleNamespace(**names))
        assert FileVersions([file], local).states == [expected]
