"""A clock that moves only where somebody sleeps, so that pauses take no time."""

from __future__ import annotations

from threading import Lock


class Clock:
    """Takes the place of the module ``time``."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self._lock = Lock()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.pauses.append(seconds)
            self.now += seconds
