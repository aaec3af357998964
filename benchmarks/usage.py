"""Memory and processor time of a process and its children, measured from outside."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL = 0.05  # seconds between two samples; sampling takes processor time, too
CHILDREN_EVERY = 8  # samples; listing the children costs far more than sampling them


@dataclass(slots=True)
class Usage:
    """Peak resident memory in bytes; memory that processes share counts in each of them."""

    driver: int = 0  # the process and its JVM
    workers: int = 0  # Spark's Python workers together
    total: int = 0  # both at the same moment
    cpu_seconds: float = 0.0  # of all threads of all processes

    def see(self, driver: int, workers: int) -> None:
        """Update the peaks with the current values."""
        self.driver = max(self.driver, driver)
        self.workers = max(self.workers, workers)
        self.total = max(self.total, driver + workers)


@contextmanager
def watched(pid: int) -> Iterator[Usage]:
    """Measure the usage of a process while the block runs; the result is complete at its end."""
    usage = Usage()
    stop = threading.Event()
    tree = _Tree(pid)
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
    """A process, its JVM and the JVM's Python workers."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._drivers: list[psutil.Process] = []
        self._workers: list[psutil.Process] = []
        # Also for processes that have ended, since not every parent reports their time.
        self._spent: dict[psutil.Process, float] = {}

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all processes seen so far, each up to its last sample."""
        return sum(self._spent.values())

    def find(self) -> None:
        names: dict[psutil.Process, str] = {}
        with suppress(psutil.NoSuchProcess):
            for process in self._root.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    names[process] = process.name().lower()
        # A child of any other name is a copy of the JVM that is about to start a command.
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
