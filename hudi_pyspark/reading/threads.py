"""Read several tasks at the same time with threads."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import pyarrow as pa

_Item: TypeAlias = pa.Table | BaseException | None  # None: a thread has ended

_Task = TypeVar("_Task")


def read_in_parallel(
    tasks: Sequence[_Task], read: Callable[[_Task], Iterable[pa.Table]], threads: int, more: int = 0
) -> Iterator[pa.Table]:
    """Yield the rows of all tasks in mixed order.

    Arrow and numpy release the interpreter lock, so threads help. At most two tables per thread
    wait to be taken. The threads have ended when the iterator is closed. Raises the first error of
    a task, and ends.

    Args:
        tasks: of any type that ``read`` takes.
        read: yields the tables of a task.
        threads: how many tasks are read at a time.
        more: threads added on the second request for a table, so `head()` stays cheap.
    """
    first = min(threads, len(tasks))
    more = min(more, len(tasks) - first)
    if first + more <= 1:
        for task in tasks:
            yield from read(task)
        return
    waiting: queue.Queue[_Item] = queue.Queue(2 * (first + more))
    is_stopped = threading.Event()
    shared = (iter(tasks), threading.Lock(), read, waiting, is_stopped)
    started: list[threading.Thread] = []
    running = 0
    to_start = first
    try:
        while running or to_start:
            for _ in range(to_start):
                thread = threading.Thread(
                    target=_read_tasks, args=shared, name="hudi-read", daemon=True
                )
                thread.start()
                started.append(thread)
                running += 1
            to_start = 0
            item = waiting.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                running -= 1
            else:
                yield item
                to_start = more
                more = 0
    finally:
        is_stopped.set()
        while running:
            running -= waiting.get() is None  # makes room for a thread that waits to put an item
        # A process that ends now must not meet a thread that still frees its last table.
        for thread in started:
            thread.join()


def _read_tasks(
    remaining: Iterator[_Task],
    lock: threading.Lock,
    read: Callable[[_Task], Iterable[pa.Table]],
    waiting: queue.Queue[_Item],
    is_stopped: threading.Event,
) -> None:
    try:
        while not is_stopped.is_set():
            with lock:
                task = next(remaining, None)
            if task is None:
                break
            for table in read(task):
                waiting.put(table)
                if is_stopped.is_set():
                    break
    except BaseException as error:  # noqa: BLE001  (raised where the rows are taken)
        waiting.put(error)
    finally:
        waiting.put(None)
