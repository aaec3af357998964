"""The operations that the reader needs from a file system, and careful ways to call them."""

import re
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import IO, Protocol, TypeVar
from urllib.parse import unquote

import pyarrow as pa

_T = TypeVar("_T")
_R = TypeVar("_R")
_SEPARATOR = re.compile(r"[/\\]")
_THREADS = 16
_QUICK_CALL = 0.001  # seconds of a call that reads from a local storage
_FIRST_CALLS = 0.005  # seconds in addition, in which a first call may import modules


@dataclass(slots=True, unsafe_hash=True)
class FileInfo:
    """One file or folder directly in a listed folder.

    Not frozen, because creating frozen instances takes longer. Treat as immutable.
    """

    name: str  # without the folder
    is_directory: bool
    size: int  # bytes; 0 for a folder
    modified_ms: int  # milliseconds since the epoch, UTC; 0 if the storage does not record it


class Storage(Protocol):
    """The operations that the reader needs from a file system.

    Paths are relative to the table's base path, use ``/`` and are raw: nothing is URL-decoded.
    Implementations are picklable, since scan tasks take them to the executors. If the files are on
    another machine, all operations raise StorageError when that machine fails or refuses.
    """

    @property
    def is_local(self) -> bool:
        """Whether reading needs no request to another machine, so that reading twice is cheap."""

    @property
    def identity(self) -> str:
        """A digest of the settings and credentials that read the files; "" if they are unknown.

        What was read with one identity is never shown to a reader with another identity.
        """

    def list_directory(self, directory: str) -> list[FileInfo]:
        """List the files and folders directly in a folder, in any order; [] if there is none.

        Raises:
            CorruptTableError: no folder can have the path, or the path leads through a file.
            StorageError: the machine with the files fails or refuses.
        """

    def list_file_names(self, directory: str) -> list[str]:
        """List the names of the files directly in a folder, in any order; [] if there is none.

        A local storage answers without looking at each file, so this is faster than
        `list_directory`.

        Raises:
            CorruptTableError: no folder can have the path, or the path leads through a file.
            StorageError: the machine with the files fails or refuses.
        """
        return [entry.name for entry in self.list_directory(directory) if not entry.is_directory]

    def read_bytes(self, path: str) -> bytes:
        """Read a whole file.

        Raises:
            FileNotFoundError: the file does not exist.
            CorruptTableError: no file can have the path, or the path leads through a file.
        """

    def open_input(self, path: str) -> pa.NativeFile | IO[bytes]:
        """Open a file for random access.

        Raises:
            FileNotFoundError: the file does not exist.
            CorruptTableError: no file can have the path, the path leads through a file, or the file
                is not the committed one.
        """

    def describe(self, path: str) -> str:
        """Return the absolute path or URI by which users know a path, for messages."""

    def at(self, location: str, *, is_given: bool = False) -> "Storage":
        """Return the storage of another folder.

        Args:
            location: absolute path or URI; it is not URL-decoded.
            is_given: whether the user named the location, rather than a file of the table.

        Raises:
            PathOutsideTableError: the location is in another store, and the user did not name it.
        """


def rises(path: str) -> bool:
    """Return whether a path contains ``..`` on any file system.

    Some file systems take a backslash for a separator, and some decode percent signs.
    """
    texts = path, unquote(path)
    return any(".." in text and ".." in _SEPARATOR.split(text) for text in texts)


def list_nonempty(storage: Storage, folder: str) -> list[FileInfo]:
    """List a folder that should have entries, and once more if a remote storage lists none.

    A store, or a proxy in front of it, may answer without a list, which looks like an empty folder.
    A folder that does not exist has no entries.
    """
    entries = storage.list_directory(folder)
    return entries if entries or storage.is_local else storage.list_directory(folder)


def read_together(
    read: Callable[[_T], _R], items: Collection[_T], *, is_local: bool = False
) -> list[tuple[_T, _R]]:
    """Call a function that reads from a storage for all items, on 16 threads.

    Local reads of less than a millisecond each are made one after the other: threads would mostly
    wait for the interpreter lock. A file system on another machine may be mounted like a local one,
    so the calls are timed.

    Args:
        read: its first error is raised.
        items: one argument for each call.
        is_local: whether the storage is local.

    Returns:
        Pairs of an item and its result, in the order of the items.
    """
    arguments = list(items)
    is_local = is_local or len(arguments) == 1  # for one call a thread is no help
    results: list[_R] = []
    deadline = perf_counter() + _FIRST_CALLS
    while is_local and len(results) < len(arguments) and perf_counter() <= deadline:
        results.append(read(arguments[len(results)]))
        deadline += _QUICK_CALL
    remaining = arguments[len(results) :]
    if remaining:
        # Handing an item to a thread takes longer than reading a small local file.
        size = 1 + len(remaining) // (4 * _THREADS)
        parts = (remaining[first : first + size] for first in range(0, len(remaining), size))
        with ThreadPoolExecutor(_THREADS) as pool:
            results += chain.from_iterable(pool.map(lambda part: [*map(read, part)], parts))
    return list(zip(arguments, results, strict=True))
