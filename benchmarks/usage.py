"""Memory and processor time of a process and its children, watched from outside."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL = 0.05  # seconds between two looks; looking costs some of what is measured
CHILDREN_EVERY = 8  # looks; finding the children costs far more than asking them


@dataclass(slots=True)
class Usage:
    """Bytes of resident memory at the peak; what processes share counts in each of them."""

    driver: int = 0  # the process and its JVM
    workers: int = 0  # Spark's Python workers together
    total: int = 0  # the two at the same moment
    cpu_seconds: float = 0.0  # of all threads of all processes

    def see(self, driver: int, workers: int) -> None:
        """Raise the peaks to what is there now."""
        self.driver = max(self.driver, driver)
        self.workers = max(self.workers, workers)
        self.total = max(self.total, driver + workers)


@contextmanager
def watched(pid: int) -> Iterator[Usage]:
    """What is used while the block runs; complete when it ends."""
    usage, stop, tree = Usage(), threading.Event(), _Tree(pid)
    tree.find()
    tree.look(usage)
    before = tree.cpu_seconds

    def watch() -> None:
        looks = 0
        while not stop.wait(INTERVAL):
            looks += 1
            if looks % CHILDREN_EVERY == 0:
                tree.find()
            tree.look(usage)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield usage
    finally:
        stop.set()
        thread.join()
        tree.find()
        tree.look(usage)
        usage.cpu_seconds = tree.cpu_seconds - before


class _Tree:
    """A process, its JVM and the workers below that."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._drivers: list[psutil.Process] = []
        self._workers: list[psutil.Process] = []
        # Kept for processes that have ended, too: not all of them have a parent that tells of it.
        self._spent: dict[psutil.Process, float] = {}

    @property
    def cpu_seconds(self) -> float:
        """Of all processes that were ever seen, up to when they were last looked at."""
        return sum(self._spent.values())

    def find(self) -> None:
        names: dict[psutil.Process, str] = {}
        with suppress(psutil.NoSuchProcess):
            for process in self._root.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    names[process] = process.name().lower()
        # A child of any other name is a JVM that is about to start a command: the JVM once more.
        self._drivers = [self._root, *(p for p, name in names.items() if name == "java")]
        self._workers = [p for p, name in names.items() if name.startswith("python")]

    def look(self, usage: Usage) -> None:
        usage.see(self._resident(self._drivers), self._resident(self._workers))

    def _resident(self, processes: list[psutil.Process]) -> int:
        total = 0
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
                times = process.cpu_times()
                self._spent[process] = times.user + times.system
        return total
