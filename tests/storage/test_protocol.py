"""Reads of many files: in threads, or one after the other if they are quick."""

from __future__ import annotations

import threading

import pytest

from hudi_pyspark.storage import protocol
from hudi_pyspark.storage.protocol import read_together
from tests.storage.clock import Clock


class Reads:
    """Takes some time for each read, and notes which thread reads."""

    def __init__(self, monkeypatch, seconds: float) -> None:
        self.clock = Clock()
        self.seconds = seconds
        self.threads: list[int] = []
        monkeypatch.setattr(protocol, "perf_counter", self.clock.monotonic)

    def __call__(self, item: int) -> int:
        self.threads.append(threading.get_ident())
        self.clock.sleep(self.seconds)
        return -item

    @property
    def here(self) -> int:
        return self.threads.count(threading.get_ident())


def test_quick_local_reads_are_made_one_after_the_other(monkeypatch):
    read = Reads(monkeypatch, seconds=0.0005)
    assert read_together(read, range(100), is_local=True) == [(n, -n) for n in range(100)]
    assert read.here == 100


@pytest.mark.parametrize(("seconds", "is_local"), [(0.002, True), (0.0005, False)])
def test_slow_or_remote_reads_are_made_on_threads(monkeypatch, seconds, is_local):
    read = Reads(monkeypatch, seconds)
    assert read_together(read, range(100), is_local=is_local) == [(n, -n) for n in range(100)]
    assert read.here == (6 if is_local else 0)  # until the average shows that they are slow


@pytest.mark.parametrize("is_local", [True, False])
def test_no_items_have_no_results(monkeypatch, is_local):
    assert read_together(Reads(monkeypatch, 1.0), [], is_local=is_local) == []
