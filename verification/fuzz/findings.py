"""What counts as a finding: an error without a name, too much memory, too much time."""

from __future__ import annotations

import hashlib
import resource
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import PROJECT
from verification.fuzz.targets import Target

# Beyond ten times the input: Arrow, numpy and Python take some for themselves.
_FREE_MEMORY = 32 << 20
_FREE_SECONDS = 5.0
_SECONDS_PER_BYTE = 1e-4


class TooMuchMemory(Exception):
    """The peak of the process rose by more than ten times the input."""


class TooMuchTime(Exception):
    """Parsing took longer than any input of that size may take."""


@dataclass
class Findings:
    """Findings of one target, one for each place where an error was raised."""

    target: Target
    folder: Path  # where inputs of findings go
    places: set[str] = field(default_factory=set)
    accepted: int = 0

    def run(self, data: bytes) -> None:
        """Parse some bytes, and keep them if they are a finding."""
        try:
            self.accepted += run_checked(self.target, data)
        except Exception as error:  # noqa: BLE001  (whatever has no name is a finding)
            self._keep(data, error)

    def _keep(self, data: bytes, error: Exception) -> None:
        place = place_of(error)
        if place in self.places:
            return
        self.places.add(place)
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / hashlib.sha256(data).hexdigest()[:16]
        file.write_bytes(data)
        text = "".join(traceback.format_exception(error))
        file.with_suffix(".txt").write_text(text, encoding="utf-8", errors="backslashreplace")


def run_checked(target: Target, data: bytes) -> bool:
    """Parse some bytes; returns whether they were accepted.

    Raises:
        TooMuchMemory, TooMuchTime: see the classes.
        Exception: any error that the target may not raise.
    """
    before = _peak()
    start = time.perf_counter()
    accepted = target.run(data)
    seconds = time.perf_counter() - start
    rise = _peak() - before
    if rise > _FREE_MEMORY + 10 * len(data):
        raise TooMuchMemory(f"{rise >> 20} MiB for {len(data)} bytes")
    if seconds > _FREE_SECONDS + _SECONDS_PER_BYTE * len(data):
        raise TooMuchTime(f"{seconds:.1f} s for {len(data)} bytes")
    return accepted


def place_of(error: Exception) -> str:
    """Return the class of an error and the innermost line of this project that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [f for f in frames if f.filename.startswith(str(PROJECT))]
    return f"{type(error).__name__} {mine[-1].filename}:{mine[-1].lineno}" if mine else repr(error)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
