"""A lock that is free in a forked process, even if a thread held it during the fork."""

import os
from threading import Lock
from weakref import WeakSet


class ForkSafeLock:
    """A lock for ``with``. A fork copies plain locks, but not the threads that release them."""

    def __init__(self) -> None:
        self._lock = Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock, whoever holds it."""
        self._lock = Lock()


_locks: WeakSet[ForkSafeLock] = WeakSet()


def _renew_all() -> None:
    for lock in _locks:
        lock.renew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_all)
