"""Keep outcomes of merges in files of a local folder, for all processes of one user.

    parts     Arrow streams. Of an outcome: dropped base rows, kept log rows, each column of the
              records, winners. Of a base file: what identifies its rows to log records
    header    JSON: what the file holds, with length and checksum of each part
    tail      of fixed length: length and checksum of the header, magic

A part is read when it is needed, and compared with its checksum. So each byte of a file is covered
by a checksum or the magic, unlike in a zip file, whose directory is not. Files are read and not
mapped, since a page that the disk cannot deliver would end the process.

A folder may have very many files, so nothing looks at all of them for each outcome. A process looks
after it has written a sixteenth of what the folder may hold, and then removes files. The first look
comes at a random time, so that short-lived processes look as often for all the bytes that they
write.
"""

from __future__ import annotations

import errno
import json
import os
import random
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import Mask, as_one_array, nbytes_of
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.merge.loaded_log import table_bytes
from hudi_pyspark.reading.merge.outcome import (
    BaseKeys,
    KeptOutcome,
    Outcome,
    Resumed,
)
from hudi_pyspark.reading.merge.whole_records import MergeDecision, Winners
from hudi_pyspark.tasks import ReadSettings

OUTCOME_FORMAT = 7
"""Layout of these files. Their keys depend on the version of the package."""

DAMAGE = (OSError, ValueError, struct.error, pa.ArrowException)
"""What reading a damaged file may raise."""

_ON_DISK = 4 << 30
_TAIL = struct.Struct("<II8s")  # length of the header, its checksum, magic
_MAGIC = b"hudi-py\n"
_DROPPED, _KEPT = 0, 1  # places of the masks among the parts; columns follow
# To write all winners for each commit costs more than to fold a few records again.
_LEAST_GROWTH = 0.25
_IN_USE = 3600  # seconds since the last use
_LOOKS = 16  # while as many bytes are written as a folder may hold
_FULL_DISK = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_log = logger(__name__)
_warned: set[Path] = set()
_Kept = TypeVar("_Kept")
_Facts: TypeAlias = Mapping[str, object]  # of the header


@dataclass(slots=True)
class _FolderUse:
    """What a process knows of a folder without a look at its files. Threads may lose an update."""

    unseen: int  # bytes that were written since the last look, or were refused for lack of room
    in_use: int = 0  # bytes of files that had been used lately, at the last look


_uses: dict[Path, _FolderUse] = {}


@dataclass(frozen=True, slots=True)
class OutcomesOnDisk:
    """Outcomes in a folder that belongs to this user alone; the least recently used go first.

    If anything is wrong with the folder or a file, there is no outcome. A process logs one warning
    per folder.
    """

    is_shared: ClassVar[bool] = True

    folder: Path
    most_bytes: int = _ON_DISK

    @classmethod
    def of(cls, settings: ReadSettings, environment: Mapping[str, str]) -> OutcomesOnDisk | None:
        """Return the store that the settings name, else the usual one; see `cache_folder`.

        None if there is no folder: then no outcome is kept.
        """
        folder = cache_folder(settings.merge_cache_folder, environment)
        return cls(folder, settings.merge_cache_bytes or _ON_DISK) if folder is not None else None

    def find(
        self, key: str, names: Collection[str] | None, *, to_resume: bool = False
    ) -> KeptOutcome | None:
        return self._load(key, partial(_read_outcome, names=names, to_resume=to_resume))

    def find_base_keys(self, key: str, /) -> BaseKeys | None:
        return self._load(key, _read_base_keys)

    def _load(self, key: str, read: Callable[[_StoredParts], _Kept | None]) -> _Kept | None:
        path = self._path(key)
        try:
            self._check_owner()
            with path.open("rb") as file:
                kept = read(_StoredParts.of(file, key))
        except FileNotFoundError:
            return None
        except DAMAGE as error:
            _warn_once(self.folder, f"{path.name} is not used: {error}")
            return None
        with suppress(OSError):  # the folder may be read-only
            os.utime(path)
        return kept

    def has_file(self, key: str) -> bool:
        """Say whether an outcome has a file, without a look into the file."""
        return os.path.exists(self._path(key))  # noqa: PTH110  (for many keys)

    def put(self, key: str, kept: KeptOutcome, resumed: Resumed | None = None) -> None:
        if resumed is not None and resumed.growth < _LEAST_GROWTH:
            kept = replace(kept, winners=None)
            resumed = None  # its file stays: the next merge is resumed from it once more
        is_kept = self._keep(key, nbytes_of(kept), partial(_parts_of_outcome, kept))
        if is_kept and resumed is not None:
            with suppress(OSError):
                self._path(resumed.key).unlink(missing_ok=True)

    def put_base_keys(self, key: str, base_keys: BaseKeys, /) -> None:
        nbytes = nbytes_of(base_keys)
        if self._has_room(nbytes):
            self._keep(key, nbytes, partial(_parts_of_base_keys, base_keys))

    def _keep(
        self, key: str, nbytes: int, make_parts: Callable[[], tuple[_Facts, list[pa.Table]]]
    ) -> bool:
        """Write a file, and return whether that worked."""
        if nbytes > self.most_bytes:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_owner()
            facts, tables = make_parts()
            size = self._write(key, facts, tables)
            self._remove_in_time(size)
        except FileNotFoundError as error:
            _log.debug("%s: another process has removed it", error.filename)
        except (OSError, pa.ArrowException) as error:
            _warn_once(self.folder, f"outcomes of merges are not kept: {error}")
            if isinstance(error, OSError) and error.errno in _FULL_DISK:
                self._make_room_on_disk(nbytes)
        else:
            return True
        return False

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
        """Remove all files, even empty files and files of other versions of this package."""
        self._remove(self._look(), -1)

    def _has_room(self, nbytes: int) -> bool:
        """Return whether base keys leave half of the space to files that were used lately.

        Otherwise the base keys of a large table would remove each other at each commit.
        """
        if self._use.unseen + nbytes >= self._bytes_per_look:
            self._look()
        use = self._use
        has_room = use.in_use + use.unseen + nbytes <= self.most_bytes // 2
        use.unseen += 0 if has_room else nbytes
        return has_room

    @property
    def _bytes_per_look(self) -> int:
        return self.most_bytes // _LOOKS

    @property
    def _use(self) -> _FolderUse:
        first_look = _FolderUse(random.randrange(self._bytes_per_look + 1))
        return _uses.setdefault(self.folder, first_look)

    def _path(self, key: str) -> Path:
        return self.folder / f"{OUTCOME_FORMAT}-{key}"

    def _check_owner(self) -> None:
        """Raise PermissionError if the folder is another user's, or open to other users."""
        state = self.folder.lstat()
        user = os.geteuid() if hasattr(os, "geteuid") else state.st_uid
        if state.st_uid != user or (os.name == "posix" and state.st_mode & 0o077):
            raise PermissionError(f"{self.folder} does not belong to this user alone (mode 0700)")

    def _look(self) -> list[tuple[int, int, Path]]:
        """List all files as `files` does, least recently used first."""
        files = sorted(self.files())
        since = time.time_ns() - _IN_USE * 10**9
        in_use = sum(size for last_use, size, _ in files if last_use > since)
        _uses[self.folder] = _FolderUse(0, in_use)
        return files

    def _remove_in_time(self, written: int) -> None:
        """Remove files if a look is due after an outcome was written.

        What may be written until the next look has room then, so that the bound holds.
        """
        use = self._use
        per_look = self._bytes_per_look
        use.unseen += written
        if use.unseen >= per_look:
            # A large outcome is followed by a look in any case.
            self._remove(self._look(), self.most_bytes - (per_look if written < per_look else 0))

    def _make_room_on_disk(self, nbytes: int) -> None:
        """Remove files after an outcome of so many bytes met a full disk; the next may be kept."""
        with suppress(OSError):
            files = self._look()
            size = sum(length for _, length, _ in files)
            # A file is larger than what it has in memory. If an outcome is larger than the disk, no
            # more than half of the others go with it.
            self._remove(files, size - max(size // 8, min(2 * nbytes, size // 2)) - 1)

    def _remove(self, files: Sequence[tuple[int, int, Path]], most: int) -> None:
        """Remove the first files until the rest has at most ``most`` bytes."""
        size = sum(length for _, length, _ in files)
        for _, length, path in files:
            if size <= most:
                return
            with suppress(FileNotFoundError):
                path.unlink()
            size -= length

    def _write(self, key: str, facts: _Facts, tables: Sequence[pa.Table]) -> int:
        """Write a file beside its place, with mode 0600, and rename it: nobody sees half a file.

        Returns:
            The size of the file in bytes.
        """
        number, beside = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(number, "wb") as file:
                _store(file, {"key": key, **facts}, tables)
                size = file.tell()
            Path(beside).replace(self._path(key))
        except (OSError, pa.ArrowException):
            Path(beside).unlink(missing_ok=True)
            raise
        return size


def cache_folder(named: str, environment: Mapping[str, str]) -> Path | None:
    """Return the folder of this user's outcomes; None if there is no place for it.

    Args:
        named: parent folder from the options. "" means a local folder of Spark, which is gone with
            its application, or else the user's folder for caches. A user of a container or of a
            service may have no home folder, and so no folder for caches.
        environment: variables of the process.
    """
    local = environment.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    parent = named or local or environment.get("XDG_CACHE_HOME") or _home_caches()
    user = os.geteuid() if hasattr(os, "geteuid") else ""
    return Path(parent, f"hudi-py-merges-{user}") if parent else None


def _home_caches() -> str:
    try:
        return str(Path.home() / ".cache")
    except RuntimeError:  # neither HOME nor an entry of the user tells it
        return ""


def _parts_of_outcome(kept: KeptOutcome) -> tuple[_Facts, list[pa.Table]]:
    outcome = kept.outcome
    dropped, kept_rows = outcome.decision
    masks = dropped, np.empty(0, np.bool_) if kept_rows is None else kept_rows
    tables = [pa.table({"": to_arrow(mask)}) for mask in masks]
    tables += [outcome.records.select([name]) for name in outcome.records.schema.names]
    compacted = None
    if kept.winners is not None:
        compacted = kept.winners.compacted_instants
        tables.append(kept.winners.to_table())
    facts = {
        "versions": kept.versions,
        "record_count": outcome.record_count,
        "block_instants": outcome.block_instants,
        "counting_instants": outcome.counting_instants,
        "is_whole": kept_rows is not None,
        "columns": outcome.records.schema.names,
        "compacted_instants": compacted,  # null if the merge cannot be resumed
    }
    return facts, tables


def _parts_of_base_keys(base_keys: BaseKeys) -> tuple[_Facts, list[pa.Table]]:
    facts = {"versions": base_keys.versions, "row_count": base_keys.row_count}
    return facts, [pa.concat_tables(base_keys.tables)] if base_keys.tables else []


def _store(file: IO[bytes], facts: _Facts, tables: Sequence[pa.Table]) -> None:
    parts = []
    for table in tables:
        octets = table_bytes(table)
        parts.append([len(octets), zlib.crc32(octets)])
        file.write(octets)
    header = json.dumps({**facts, "parts": parts}).encode()
    file.write(header)
    file.write(_TAIL.pack(len(header), zlib.crc32(header), _MAGIC))


@dataclass(frozen=True, slots=True)
class _StoredParts:
    """An open file; each part is read and checked when it is asked for, or raises `DAMAGE`."""

    file: IO[bytes]
    header: Mapping[str, Any]

    @classmethod
    def of(cls, file: IO[bytes], key: str) -> _StoredParts:
        """Read the header.

        Raises:
            one of `DAMAGE`: the file is damaged, or is that of another key.
        """
        end = file.seek(0, os.SEEK_END) - _TAIL.size
        file.seek(end)
        length, checksum, magic = _TAIL.unpack(file.read())
        if magic != _MAGIC:
            raise ValueError("not a merge outcome (bad magic)")
        # A damaged length leads in front of the file, which cannot be sought: no memory is asked
        # for.
        header = json.loads(_checked(file, end - length, length, checksum))
        if header["key"] != key:
            raise ValueError("key mismatch")
        return cls(file, header)

    @property
    def count(self) -> int:
        return len(self.header["parts"])

    def table(self, place: int) -> pa.Table:
        parts = self.header["parts"]
        begin = sum(length for length, _ in parts[:place])
        return pa.ipc.open_stream(_checked(self.file, begin, *parts[place])).read_all()

    def mask(self, place: int) -> Mask:
        return to_numpy(as_one_array(self.table(place).column(0)))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self.header[name])


def _checked(file: IO[bytes], begin: int, length: int, checksum: int) -> bytes:
    file.seek(begin)
    octets = file.read(length)  # fewer, if the file has been cut by now
    if zlib.crc32(octets) != checksum:
        raise ValueError("checksum mismatch")
    return octets


def _read_outcome(
    stored: _StoredParts, names: Collection[str] | None, *, to_resume: bool
) -> KeptOutcome | None:
    """Return the outcome of a file; None if a merge is to be resumed from it and cannot be."""
    header = stored.header
    is_resumable = header["compacted_instants"] is not None
    if to_resume and not is_resumable:
        return None
    columns = [
        stored.table(place)
        for place, name in enumerate(header["columns"], _KEPT + 1)
        if names is None or name in names
    ]
    schema = pa.schema(column.schema.field(0) for column in columns)
    outcome = Outcome(
        MergeDecision(stored.mask(_DROPPED), stored.mask(_KEPT) if header["is_whole"] else None),
        pa.Table.from_arrays([column.column(0) for column in columns], schema=schema),
        header["record_count"],
        stored.texts("block_instants"),
        stored.texts("counting_instants"),
    )
    winners = None
    if to_resume:
        table = stored.table(stored.count - 1)
        winners = Winners.from_table(table, stored.texts("compacted_instants"))
    return KeptOutcome(outcome, stored.texts("versions"), winners)


def _read_base_keys(stored: _StoredParts) -> BaseKeys:
    tables = tuple(stored.table(place) for place in range(stored.count))
    return BaseKeys(stored.header["row_count"], tables, stored.texts("versions"))


def _warn_once(folder: Path, problem: str) -> None:
    if folder not in _warned:
        _warned.add(folder)
        _log.warning("merge cache %s: %s", folder, problem)
