"""A file on another machine: ranges are complete or raise a named error."""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.storage.file_systems import FileSystem, OpenFile
from hudi_pyspark.storage.protocol import Storage, read_together

ByteRange = tuple[int, int]  # begin and end, in bytes from the start of the file

HOLE = 1 << 20  # bytes between two ranges that are read faster than skipped
_THREADS = 8  # requests at a time, of one file or for several small files
_END_BYTES = 512 << 10  # most of it for a Bloom filter of Hudi's default size
_LARGEST_PREFETCH = 8 << 20  # bytes of one request of `prefetch`
# pyarrow reads ranges without comparing the ETag, which it learns when it opens a file. So a file
# is opened again, with one request, if it has been open for longer than these seconds.
_TRUSTED_SECONDS = 10.0


class RemoteFile(io.RawIOBase):
    """A file that is opened again if a request fails or credentials expire."""

    def __init__(
        self,
        request: Callable[[Callable[[FileSystem], bytes]], bytes],
        filesystem: FileSystem,
        opened: OpenFile,
        path: str,
    ) -> None:
        """Wrap a file that has just been opened.

        Args:
            request: calls a function with the current file system, and again if that fails.
            filesystem: on which the file was opened.
            opened: the file.
            path: absolute inside the file system.
        """
        super().__init__()
        self._request = request
        self._opened: tuple[FileSystem, OpenFile] | None = (filesystem, opened)
        self._opened_at = time.monotonic()
        self._lock = ForkSafeLock()  # for the open file; the ranges are read in parallel
        self._path = path
        self._size = opened.size
        self.version = opened.version
        self._position = 0
        self._end: tuple[int, bytes] = (self._size, b"")
        self._prefetched: list[tuple[int, bytes]] = []  # begin of each range, and its bytes
        self.failure: Exception | None = None  # why a read failed

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        begin = self._position
        end = self._size if size is None or size < 0 else min(begin + size, self._size)
        self._position = end = max(begin, end)
        for start, content in (self._end, *self._prefetched):
            if start <= begin and end <= start + len(content):
                return content[begin - start : end - start]
        return self._fetch((begin, end))

    def prefetch(self, ranges: Iterable[ByteRange]) -> None:
        """Fetch ranges in parallel, neighbours together; frees those of the previous call."""
        self._prefetched = []  # frees memory before the next ranges come
        requests = coalesce((r for r in ranges if r[0] < self._end[0]), largest=_LARGEST_PREFETCH)
        with ThreadPoolExecutor(min(_THREADS, len(requests)) or 1) as pool:
            contents = pool.map(self._fetch, requests)
            self._prefetched = [(r[0], c) for r, c in zip(requests, contents, strict=True)]

    def fetch_end(self) -> None:
        """Fetch the end of the file, a footer or a whole small file, and keep it."""
        begin = max(0, self._size - _END_BYTES)
        self._end = (begin, self._fetch((begin, self._size)))

    def close(self) -> None:
        if self._opened is not None:
            self._opened[1].close()
        self._opened = None
        self._prefetched = []
        self._end = (self._size, b"")
        super().close()

    def _fetch(self, span: ByteRange) -> bytes:
        begin, end = span
        if begin == end:
            return b""
        try:
            return self._request(lambda filesystem: self._read_range(filesystem, begin, end))
        except (HudiError, FileNotFoundError) as error:
            self.failure = error
            raise

    def _read_range(self, filesystem: FileSystem, begin: int, end: int) -> bytes:
        file = self._open_on(filesystem)
        try:
            content = file.read_range(begin, min(end, self._size))
        except Exception as error:
            self._forget(file)
            if isinstance(error, FileNotFoundError):
                # GCS only has the version that was opened, so the file may have been replaced.
                self._open_on(filesystem)
            raise
        if len(content) != end - begin:
            self._forget(file)
            raise ConnectionError(f"{len(content)} of {end - begin} bytes came from {begin} on")
        return content

    def _open_on(self, filesystem: FileSystem) -> OpenFile:
        with self._lock:
            is_old = time.monotonic() > self._opened_at + _TRUSTED_SECONDS
            if is_old or self._opened is None or self._opened[0] is not filesystem:
                opened = filesystem.open(self._path)
                if (opened.size, opened.version) != (self._size, self.version):
                    raise CorruptTableError(f"{self._path} was replaced while it was read")
                self._opened_at = time.monotonic()
                self._opened = (filesystem, opened)
            return self._opened[1]

    def _forget(self, file: OpenFile) -> None:
        with self._lock:
            if self._opened is not None and self._opened[1] is file:
                self._opened = None


@contextmanager
def failures_of(file: object) -> Iterator[None]:
    """Raise the error of a file's storage in place of the error that its reader raised from it.

    Readers in C++ pass on only the text of an error.

    Raises:
        StorageError: the storage failed.
        FileNotFoundError: the file is gone.
        CorruptTableError: the file was replaced.
    """
    try:
        yield
    except Exception:
        if isinstance(file, RemoteFile) and file.failure is not None:
            raise file.failure from None
        raise


def prefetch(file: object, ranges: Iterable[ByteRange]) -> None:
    """Fetch ranges of a file in parallel if it is a `RemoteFile`; else do nothing."""
    if isinstance(file, RemoteFile):
        file.prefetch(ranges)


def fetch_end(file: object) -> None:
    """Fetch the last 512 KiB of a file in one request if it is a `RemoteFile`; else do nothing."""
    if isinstance(file, RemoteFile):
        file.fetch_end()


def read_files(storage: Storage, paths: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of files, in order; remote files are read in parallel.

    Raises:
        FileNotFoundError: the next file is gone.
    """
    if storage.is_local or len(paths) < 2:
        yield from map(storage.read_bytes, paths)
        return
    with ThreadPoolExecutor(min(_THREADS, len(paths))) as pool:
        yield from pool.map(storage.read_bytes, paths)


def versions_of(storage: Storage, paths: Sequence[str]) -> tuple[object, ...]:
    """Return the version of each file, as `OpenFile.version`.

    Each file costs one request, or two if the store has only times of change; the requests run in
    parallel.

    Raises:
        FileNotFoundError: a file does not exist.
    """

    def version_of(path: str) -> object:
        with storage.open_input(path) as file:
            return getattr(file, "version", None)

    return tuple(version for _, version in read_together(version_of, paths))


def coalesce(ranges: Iterable[ByteRange], *, largest: int | None = None) -> list[ByteRange]:
    """Join ranges that overlap or have at most 1 MiB between them, so that fewer requests are made.

    Args:
        ranges: in any order.
        largest: bytes up to which ranges are joined; None for no limit. Overlapping ranges are
            always joined.

    Returns:
        The joined ranges, in order.
    """
    joined: list[ByteRange] = []
    for begin, end in sorted(ranges):
        if joined:
            last_begin, last_end = joined[-1]
            is_near = begin - last_end <= HOLE
            if begin < last_end or (is_near and (largest is None or end - last_begin <= largest)):
                joined[-1] = (last_begin, max(last_end, end))
                continue
        joined.append((begin, end))
    return joined
