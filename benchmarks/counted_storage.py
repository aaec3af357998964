"""A storage that counts its requests, and what is measured of a step of a benchmark."""

from __future__ import annotations

import io
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.confined_storage import ConfinedStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from hudi_pyspark import HudiTable


class CountedFile(io.RawIOBase):
    """A file whose reads are requests."""

    def __init__(self, file: pa.NativeFile, request: Callable[[], None]) -> None:
        super().__init__()
        self._file = file
        self._request = request

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        self._request()
        return bytes(self._file.read(size if size >= 0 else None))


class CountedStorage(ArrowStorage):
    """A local storage that counts requests, each of which takes some time."""

    requests = 0
    latency = 0.0  # seconds of each
    _lock = threading.Lock()

    @classmethod
    def count(cls, table: HudiTable) -> None:
        """Count the requests of a table from now on."""
        storage = table.storage
        assert isinstance(storage, ConfinedStorage)
        object.__setattr__(storage.inner, "__class__", cls)
        CountedStorage.requests = 0

    @classmethod
    def request(cls) -> None:
        with cls._lock:
            CountedStorage.requests += 1
        time.sleep(cls.latency)

    def list_directory(self, directory: str) -> list[Any]:
        self.request()
        return super().list_directory(directory)

    def list_file_names(self, directory: str) -> list[str]:
        self.request()
        return super().list_file_names(directory)

    def open_input(self, path: str) -> Any:
        return CountedFile(super().open_input(path), self.request)

    def at(self, location: str, *, is_given: bool = False) -> ArrowStorage:
        storage = super().at(location, is_given=is_given)
        storage.__class__ = CountedStorage
        return storage


@dataclass
class Lap:
    """What a step took."""

    seconds: float = 0.0
    processor: float = 0.0  # seconds of all threads of this process
    requests: int = 0

    def __str__(self) -> str:
        return f"{self.processor:.2f} | {self.seconds:.2f} | {self.requests:,}"


@contextmanager
def lap() -> Iterator[Lap]:
    """Measure a step; its figures are there when it has ended."""
    measured = Lap()
    CountedStorage.requests = 0
    started = time.perf_counter()
    processor_before = time.process_time()
    yield measured
    measured.seconds = time.perf_counter() - started
    measured.processor = time.process_time() - processor_before
    measured.requests = CountedStorage.requests
