"""A storage that counts its requests."""

from __future__ import annotations

import io
import threading
import time
from typing import TYPE_CHECKING, Any

from hudi_pyspark.storage import ArrowStorage

if TYPE_CHECKING:
    from collections.abc import Callable

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
        object.__setattr__(table.storage.inner, "__class__", cls)  # what confines paths wraps it
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
