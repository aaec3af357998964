"""Peak memory of a process and its children, watched from outside."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL = 0.05  # seconds between two looks; looking costs some of what is measured
CHILDREN_EVERY = 8  # looks; finding the children costs far more than asking them


@dataclass(slots=True)
class Peak:
    """Bytes of resident memory; what processes share counts in each of them."""

    driver: int = 0  # the process and its JVM
    workers: int = 0  # Spark's Python workers together
    total: int = 0  # the two at the same moment


@contextmanager
def watched(pid: int) -> Iterator[Peak]:
    """The peak of what runs inside the block; complete when it ends."""
    peak, stop = Peak(), threading.Event()

    def watch() -> None:
        looks, tree = 0, _Tree(pid)
        while not stop.is_set():
            if looks % CHILDREN_EVERY == 0:
                tree.find()
            looks += 1
            _raise(peak, tree.now())
            stop.wait(INTERVAL)
        tree.find()
        _raise(peak, tree.now())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


class _Tree:
    """A process, its JVM and the workers below that."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._drivers: list[psutil.Process] = []
        self._workers: list[psutil.Process] = []

    def find(self) -> None:
        try:
            children = self._root.children(recursive=True)
            java = [child for child in children if child.name() == "java"]
        except psutil.NoSuchProcess:
            return
        self._drivers = [self._root, *java]
        self._workers = [child for child in children if child not in java]

    def now(self) -> Peak:
        driver, workers = _resident(self._drivers), _resident(self._workers)
        return Peak(driver, workers, driver + workers)


def _resident(processes: list[psutil.Process]) -> int:
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


def _raise(peak: Peak, now: Peak) -> None:
    peak.driver = max(peak.driver, now.driver)
    peak.workers = max(peak.workers, now.workers)
    peak.total = max(peak.total, now.total)


def higher(one: Peak, other: Peak) -> Peak:
    """The higher of two peaks, part by part."""
    result = replace(one)
    _raise(result, other)
    return result
