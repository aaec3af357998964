"""A file on another machine, read in ranges that fail by name and never come short."""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.storage.file_systems import FileSystem, OpenFile
from hudi_pyspark.storage.protocol import Storage

Span = tuple[int, int]  # begin and end, in bytes

HOLE = 1 << 20  # bytes that are read faster than skipped, where a read is a request
THREADS = 8  # requests at a time, of one file or for several small ones
_END = 512 << 10  # bytes, of which Hudi's default Bloom filter takes most
_MOST_AT_ONCE = 8 << 20  # bytes of a request of `prefetch`
# Seconds for which an open file counts as the one that was opened. pyarrow asks for ranges without
# the ETag, which it learns by opening a file: one request for each such time.
_TRUSTED = 10.0


class RemoteFile(io.RawIOBase):
    """A file that is opened again wherever a request fails or credentials expire."""

    def __init__(
        self,
        request: Callable[[Callable[[FileSystem], bytes]], bytes],
        filesystem: FileSystem,
        opened: OpenFile,
        path: str,
    ) -> None:
        super().__init__()
        self._request = request
        self._opened: tuple[FileSystem, OpenFile] | None = (filesystem, opened)
        self._opened_at = time.monotonic()
        self._lock = ForkSafeLock()  # for the open file; the ranges are read in parallel
        self._path = path
        self._size, self._version = opened.size, opened.version
        self._position = 0
        self._end: tuple[int, bytes] = (self._size, b"")
        self._ranges: list[tuple[int, bytes]] = []  # begins, and what was fetched from there
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
        for start, content in (self._end, *self._ranges):
            if start <= begin and end <= start + len(content):
                return content[begin - start : end - start]
        return self._fetch((begin, end))

    def prefetch(self, spans: Iterable[Span]) -> None:
        """Fetch ranges in parallel, neighbours at once; they replace those of the last call."""
        self._ranges = []  # frees them first
        ranges = coalesce((s for s in spans if s[0] < self._end[0]), most=_MOST_AT_ONCE)
        with ThreadPoolExecutor(min(THREADS, len(ranges)) or 1) as pool:
            contents = pool.map(self._fetch, ranges)
            self._ranges = [(b, c) for (b, _), c in zip(ranges, contents, strict=True)]

    def fetch_end(self) -> None:
        """Fetch the end of the file, which stays: a footer, or a small file as a whole."""
        begin = max(0, self._size - _END)
        self._end = (begin, self._fetch((begin, self._size)))

    def close(self) -> None:
        if self._opened is not None:
            self._opened[1].close()
        self._opened, self._ranges, self._end = None, [], (self._size, b"")
        super().close()

    def _fetch(self, span: Span) -> bytes:
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
        except FileNotFoundError:
            self._forget(file)
            self._open_on(filesystem)  # GCS knows no other version than the one that was opened
            raise
        except Exception:
            self._forget(file)
            raise
        if len(content) != end - begin:
            self._forget(file)
            raise ConnectionError(f"{len(content)} bytes came of {end - begin} from {begin} on")
        return content

    def _open_on(self, filesystem: FileSystem) -> OpenFile:
        with self._lock:
            is_old = time.monotonic() > self._opened_at + _TRUSTED
            if is_old or self._opened is None or self._opened[0] is not filesystem:
                opened = filesystem.open(self._path)
                if (opened.size, opened.version) != (self._size, self._version):
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
    """Raise what the storage of a file raised: C++ code between may pass on the text alone."""
    try:
        yield
    except Exception:
        if isinstance(file, RemoteFile) and file.failure is not None:
            raise file.failure from None
        raise


def prefetch(file: object, spans: Iterable[Span]) -> None:
    """Fetch ranges of a file in parallel where that saves time: where reads are requests."""
    if isinstance(file, RemoteFile):
        file.prefetch(spans)


def fetch_end(file: object) -> None:
    """Fetch the end of a file at once where reads are requests."""
    if isinstance(file, RemoteFile):
        file.fetch_end()


def read_files(storage: Storage, paths: Sequence[str]) -> Iterator[bytes]:
    """Read whole files, in parallel where reads are requests; FileNotFoundError if one is gone."""
    if storage.is_local or len(paths) < 2:
        yield from map(storage.read_bytes, paths)
        return
    with ThreadPoolExecutor(min(THREADS, len(paths))) as pool:
        yield from pool.map(storage.read_bytes, paths)


def coalesce(spans: Iterable[Span], *, hole: int = HOLE, most: int | None = None) -> list[Span]:
    """Return ranges to request, in order: holes up to ``hole`` bytes included, of ``most`` each."""
    ranges: list[Span] = []
    for begin, end in sorted(spans):
        if ranges:
            last_begin, last_end = ranges[-1]
            is_near = begin - last_end <= hole
            if begin < last_end or (is_near and (most is None or end - last_begin <= most)):
                ranges[-1] = (last_begin, max(last_end, end))
                continue
        ranges.append((begin, end))
    return ranges
