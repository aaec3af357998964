"""Outcomes of merges in files of a local folder, for all processes of one user.

A file has parts, the masks and each column as streams of Arrow; a header in JSON, which lists them
with length and checksum; and an end of fixed length, with those of the header. Each part is read by
itself and compared with its checksum. The files are read and not mapped, since a page that the disk
cannot deliver would end the process.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, ClassVar

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.merge.outcome import MergeOutcome
from hudi_pyspark.tasks import ReadSettings

OUTCOME_FORMAT = 2
"""Layout of these files. What they have of a merge depends on the version of the package."""

_ON_DISK = 4 << 30
_TAIL = struct.Struct("<II8s")  # length of the header, its checksum, magic
_MAGIC = b"hudi-py\n"
_DROPPED, _KEPT = 0, 1  # places of the masks among the parts; columns follow
_log = logger(__name__)
_warned: set[Path] = set()


@dataclass(frozen=True, slots=True)
class OutcomesOnDisk:
    """Outcomes in a folder that belongs to this user alone, the least recently used removed first.

    Whatever is wrong with the folder or a file counts as an outcome that is not there, and is
    logged once in a process.
    """

    is_shared: ClassVar[bool] = True

    folder: Path
    most_bytes: int = _ON_DISK

    @classmethod
    def of(cls, settings: ReadSettings, environment: Mapping[str, str]) -> OutcomesOnDisk:
        """Return the outcomes of a process: see `cache_folder`."""
        folder = cache_folder(settings.merge_cache_folder, environment)
        return cls(folder, settings.merge_cache_bytes or _ON_DISK)

    def find(self, key: str, names: Collection[str] | None) -> MergeOutcome | None:
        path = self._path(key)
        try:
            self._check_owner()
            with path.open("rb") as file:
                outcome = _read(file, key, names)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, struct.error, pa.ArrowException) as error:
            _warn_once(self.folder, f"{path.name} is not used: {error}")
            return None
        with suppress(OSError):  # the folder may be read-only
            os.utime(path)
        return outcome

    def has(self, key: str) -> bool:
        """Return whether a file has the name of an outcome."""
        return self._path(key).exists()

    def keep(self, key: str, outcome: MergeOutcome) -> None:
        if outcome.nbytes > self.most_bytes:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_owner()
            self._write(key, outcome)
            self._remove(self.most_bytes)
        except (OSError, pa.ArrowException) as error:
            _warn_once(self.folder, f"outcomes of merges are not kept: {error}")

    def files(self) -> list[tuple[int, int, Path]]:
        """List time of the last use (ns since the epoch), size in bytes and path of all files."""
        listed = []
        with suppress(OSError):
            self._check_owner()
            for entry in os.scandir(self.folder):
                with suppress(FileNotFoundError):  # another process has removed it
                    state = entry.stat(follow_symlinks=False)
                    listed.append((state.st_mtime_ns, state.st_size, Path(entry.path)))
        return listed

    def clear(self) -> None:
        """Remove all files, also those of other versions of this package."""
        self._remove(-1)  # empty ones, too

    def _path(self, key: str) -> Path:
        return self.folder / f"{OUTCOME_FORMAT}-{key}"

    def _check_owner(self) -> None:
        """Raise PermissionError where the folder is another user's, or open to others."""
        state = self.folder.lstat()
        user = os.geteuid() if hasattr(os, "geteuid") else state.st_uid
        if state.st_uid != user or (os.name == "posix" and state.st_mode & 0o077):
            raise PermissionError(f"{self.folder} does not belong to this user alone (mode 0700)")

    def _remove(self, most: int) -> None:
        """Remove files, those used least recently first, until the others have that many bytes."""
        files = sorted(self.files())
        size = sum(length for _, length, _ in files)
        for _, length, path in files:
            if size <= most:
                return
            with suppress(FileNotFoundError):
                path.unlink()
            size -= length

    def _write(self, key: str, outcome: MergeOutcome) -> None:
        """Write a file beside its place, with mode 0600, and rename it: none sees half of one."""
        number, beside = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(number, "wb") as file:
                _store(file, key, outcome)
            Path(beside).replace(self._path(key))
        except (OSError, pa.ArrowException):
            Path(beside).unlink(missing_ok=True)
            raise


def cache_folder(named: str, environment: Mapping[str, str]) -> Path:
    """Return the folder of this user's outcomes, in a named folder or the usual one.

    The usual one is a local folder of Spark, which is gone with its application, or else that for
    caches of this user.
    """
    local = environment.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    caches = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    user = os.geteuid() if hasattr(os, "geteuid") else ""
    return Path(named or local or caches, f"hudi-py-merges-{user}")


class _Part:
    """A stream of Arrow on its way into a file, with its length and checksum so far."""

    closed = False

    def __init__(self, file: IO[bytes], table: pa.Table) -> None:
        self._file = file
        self.length = self.checksum = 0
        with pa.ipc.new_stream(self, table.schema) as stream:
            stream.write_table(table)

    def write(self, octets: bytes | pa.Buffer) -> int:
        self.checksum = zlib.crc32(octets, self.checksum)
        self.length += len(octets)
        return self._file.write(octets)

    def flush(self) -> None:
        """Do nothing: the file is closed before it gets its name."""


def _store(file: IO[bytes], key: str, outcome: MergeOutcome) -> None:
    kept = np.empty(0, np.bool_) if outcome.kept is None else outcome.kept
    tables = [pa.table({"": pa.array(mask, pa.bool_())}) for mask in (outcome.dropped, kept)]
    tables += [outcome.records.select([name]) for name in outcome.records.schema.names]
    parts = [_Part(file, table) for table in tables]
    header = json.dumps(
        {
            "key": key,
            "count": outcome.count,
            "seen": outcome.seen,
            "counted": outcome.counted,
            "versions": outcome.versions,
            "is_whole": outcome.kept is not None,
            "columns": outcome.records.schema.names,
            "parts": [[part.length, part.checksum] for part in parts],
        }
    ).encode()
    file.write(header)
    file.write(_TAIL.pack(len(header), zlib.crc32(header), _MAGIC))


def _read(file: IO[bytes], key: str, names: Collection[str] | None) -> MergeOutcome:
    """Read an open file; ValueError, OSError, struct.error or ArrowException if it is damaged."""
    end = os.fstat(file.fileno()).st_size - _TAIL.size
    length, checksum, magic = _TAIL.unpack(_bytes(file, end, _TAIL.size))
    if magic != _MAGIC:
        raise ValueError("it is no outcome of a merge")
    header = json.loads(_checked(file, end - length, length, checksum))
    if header["key"] != key:
        raise ValueError("it has another name than it was written with")
    begins = accumulate((size for size, _ in header["parts"]), initial=0)
    parts = [(begin, *part) for begin, part in zip(begins, header["parts"], strict=False)]

    def column(place: int) -> pa.Table:
        return pa.ipc.open_stream(_checked(file, *parts[place])).read_all()

    def mask(place: int) -> Mask:
        return np.array(column(place).column(0), np.bool_)

    chosen = [
        column(place)
        for place, name in enumerate(header["columns"], _KEPT + 1)
        if names is None or name in names
    ]
    records = pa.Table.from_arrays(
        [table.column(0) for table in chosen], schema=pa.schema(t.schema.field(0) for t in chosen)
    )
    return MergeOutcome(
        dropped=mask(_DROPPED),
        kept=mask(_KEPT) if header["is_whole"] else None,
        records=records,
        count=header["count"],
        seen=tuple(header["seen"]),
        counted=tuple(header["counted"]),
        versions=tuple(header["versions"]),
    )


def _checked(file: IO[bytes], begin: int, length: int, checksum: int) -> bytes:
    octets = _bytes(file, begin, length)
    if zlib.crc32(octets) != checksum:
        raise ValueError("a checksum differs")
    return octets


def _bytes(file: IO[bytes], begin: int, length: int) -> bytes:
    # A damaged length may be any number.
    if begin < 0 or begin + length > os.fstat(file.fileno()).st_size:
        raise ValueError("a part of it is missing")
    file.seek(begin)
    return file.read(length)  # less if it is cut now


def _warn_once(folder: Path, problem: str) -> None:
    if folder not in _warned:
        _warned.add(folder)
        _log.warning("merge cache %s: %s", folder, problem)
