"""Reading of several tasks at the same time, by threads."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    Item: TypeAlias = pa.Table | BaseException | None  # None: one of the threads has ended

_Task = TypeVar("_Task")


def read_in_parallel(
    tasks: Sequence[_Task], read: Callable[[_Task], Iterable[pa.Table]], threads: int
) -> Iterator[pa.Table]:
    """Yield the rows of all tasks, in mixed order; the first error of any ends it."""
    # Threads help, since Arrow and numpy release the interpreter lock. At most two tables per
    # thread wait to be taken.
    count = min(threads, len(tasks))
    if count <= 1:
        for task in tasks:
            yield from read(task)
        return
    readers = _Readers(tasks, read, count)
    try:
        yield from readers.tables()
    finally:
        readers.stop()


class _Readers(Generic[_Task]):
    """Threads that share a list of tasks."""

    def __init__(
        self, tasks: Sequence[_Task], read: Callable[[_Task], Iterable[pa.Table]], count: int
    ) -> None:
        self._remaining = iter(tasks)
        self._read_task = read
        self._waiting: queue.Queue[Item] = queue.Queue(2 * count)
        self._lock = threading.Lock()
        self._is_stopped = False
        self._running = count
        for number in range(count):
            threading.Thread(target=self._read, name=f"hudi-read-{number}", daemon=True).start()

    def tables(self) -> Iterator[pa.Table]:
        """Yield the tables of all tasks."""
        while self._running:
            item = self._take()
            if isinstance(item, BaseException):
                raise item
            if item is not None:
                yield item

    def stop(self) -> None:
        """Stop the threads, wait for them, and discard the tables that they have read."""
        self._is_stopped = True
        while self._running:
            self._take()  # makes room for one that waits to put something

    def _take(self) -> Item:
        item = self._waiting.get()
        self._running -= item is None
        return item

    def _read(self) -> None:
        try:
            while (task := self._next()) is not None:
                for table in self._read_task(task):
                    self._waiting.put(table)
                    if self._is_stopped:
                        break
        except BaseException as error:  # noqa: BLE001  (raised where the rows are taken)
            self._waiting.put(error)
        finally:
            self._waiting.put(None)

    def _next(self) -> _Task | None:
        with self._lock:
            return None if self._is_stopped else next(self._remaining, None)
