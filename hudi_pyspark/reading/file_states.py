"""Tell whether the files of a slice still are the files that a merge has read.

Apache Hudi writes no second file of one name, but a restore, a replication or a table that is
written again may. Each file has a *state*, which is part of the key of an outcome: inode, size and
times of a local file, the time of change of other files if a listing has it.

A time proves nothing about a file that was read as soon as it was written: another file may have
taken its name before the clock that gives files their times moved on. Git calls such a file "racily
clean". So a time counts if the file is read

- 20 ms later, if it is local and its time is finer than a millisecond; a reader waits that long;
- two seconds later, if it has milliseconds;
- two seconds later by the clock of the store, if it has whole seconds. That clock has reached the
  newest time among the files of the slice, and is at most 15 minutes behind the clock here: S3 and
  Azure refuse requests of a client whose clock differs more.

For any other file the store is asked for its *version*: an ETag, a generation, or a time of change,
for which the same rules hold. The outcome has the version, and whoever uses the outcome asks once
more. Without a version no outcome is kept.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hudi_pyspark.storage.file_systems import TimeOfChange
from hudi_pyspark.storage.remote_file import versions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.storage.protocol import Storage
    from hudi_pyspark.table.file_group import BaseFile, LogFile

UNKNOWN = "?"
"""The version of a file of which nothing tells whether it was replaced."""

_MILLISECOND = 10**6  # in nanoseconds, as all times here
_SECOND = 10**9
_TICK = 20 * _MILLISECOND  # at least that of a kernel, which moves the times of files on
_COARSE_TICK = 2 * _SECOND  # that of FAT, the coarsest
_MOST_SKEW = 15 * 60 * _SECOND  # of the clock of a store


def _local_state(place: str) -> tuple[int, ...]:
    if not os.access(place, os.R_OK):
        raise PermissionError(place)
    state = os.stat(place)  # noqa: PTH116  (for each read)
    # A copy may have all times of its original but that of the last change of the inode, which
    # nobody can set. Windows has the time of creation there.
    times = [state.st_mtime_ns, state.st_ctime_ns]
    if os.name == "nt":
        times.reverse()
    return (state.st_ino, state.st_size, *times)


def is_settled(changed: int, newest: int, now: int) -> bool:
    """Say whether a file that is read now would have another time if it was replaced later.

    Args:
        changed: time of change of the file, in nanoseconds; 0 if it is not known.
        newest: the newest time that the same store has given to a file.
        now: the time here.
    """
    skew = _MOST_SKEW if changed % _SECOND == 0 else 0
    clock_of_store = min(max(newest, now - skew), now)
    return 0 < changed <= clock_of_store - _COARSE_TICK


class FileVersions:
    """The states and versions of the files of a slice; each version is asked for at most once.

    Args:
        files: of the slice.
        storage: of the table.

    Raises:
        OSError: a local file is gone, or may not be read.
    """

    def __init__(self, files: Sequence[BaseFile | LogFile], storage: Storage) -> None:
        self.states: list[tuple[int, ...]]
        """What differs if another file takes the name of a file. The last number of each state is
        the time of change in nanoseconds, 0 if it is not known, as of files that a metadata table
        lists."""
        if storage.is_local:
            self.states = [_local_state(storage.describe(file.path)) for file in files]
        else:
            self.states = [(file.modified_ms * _MILLISECOND,) for file in files]
        self._paths = [file.path for file in files]
        self._times = [state[-1] for state in self.states]
        self._storage = storage
        self._proven: list[bool] | None = None  # by their states, file by file
        self._asked: dict[int, str] = {}  # place of a file to its version

    def before_reading(self, count: int) -> tuple[str, ...]:
        """Return the versions of the first files, to be kept with what is read of them afterwards.

        Call it before the files are read, since they may be replaced meanwhile.

        Returns:
            For each file a text: "" if its state is enough, `UNKNOWN` if nothing is. () if all
            states are enough.
        """
        if self._proven is None:
            self._proven = self._judge_times()
        self._ask([n for n in range(count) if not self._proven[n]])
        versions = ["" if self._proven[n] else self._asked[n] for n in range(count)]
        return tuple(versions) if any(versions) else ()

    def are_still(self, versions: Sequence[str]) -> bool:
        """Say whether the first files have the versions that an outcome was kept with."""
        self._ask([n for n, version in enumerate(versions) if version])
        return all(not version or version == self._asked[n] for n, version in enumerate(versions))

    def _judge_times(self) -> list[bool]:
        now = time.time_ns()
        newest = max(self._times, default=0)
        if not self._storage.is_local:
            return [is_settled(changed, newest, now) for changed in self._times]
        fine_times = [t for t in self._times if t % _MILLISECOND and t <= now]
        remaining = max(fine_times, default=0) + _TICK - now
        if remaining > 0:
            time.sleep(remaining / _SECOND)
        return [t in fine_times or is_settled(t, newest, now) for t in self._times]

    def _ask(self, places: Sequence[int]) -> None:
        places = [place for place in places if place not in self._asked]
        if not places:
            return
        try:
            paths = [self._paths[place] for place in places]
            versions = [] if self._storage.is_local else versions_of(self._storage, paths)
        except FileNotFoundError:  # reading the file says what is wrong
            versions = []
        now = time.time_ns()
        times = [v.ms * _MILLISECOND for v in versions if isinstance(v, TimeOfChange)]
        newest = max([*self._times, *times], default=0)
        for place in places:
            self._asked[place] = UNKNOWN
        for place, version in zip(places, versions, strict=False):
            self._asked[place] = _text_of(version, newest, now)


def _text_of(version: object, newest: int, now: int) -> str:
    if isinstance(version, TimeOfChange):
        return str(version) if is_settled(version.ms * _MILLISECOND, newest, now) else UNKNOWN
    return UNKNOWN if version is None else str(version)
