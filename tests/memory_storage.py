"""A storage of a few files in memory, for tests that need no file system."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING

from hudi_pyspark.storage import FileInfo

if TYPE_CHECKING:
    from collections.abc import Mapping


class MemoryStorage:
    """Files in a mapping, for tests: ``MemoryStorage({".hoodie/hoodie.properties": b"…"})``."""

    is_local = True
    identity = "memory"

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def list_directory(self, directory: str) -> list[FileInfo]:
        prefix = f"{directory}/" if directory else ""
        entries: dict[str, FileInfo] = {}
        for path, content in self.files.items():
            if not path.startswith(prefix):
                continue
            name, slash, _ = path[len(prefix) :].partition("/")
            entries[name] = FileInfo(name, bool(slash), 0 if slash else len(content), 0)
        return list(entries.values())

    def list_file_names(self, directory: str) -> list[str]:
        return [entry.name for entry in self.list_directory(directory) if not entry.is_directory]

    def read_bytes(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def open_input(self, path: str) -> IO[bytes]:
        return io.BytesIO(self.read_bytes(path))

    def describe(self, path: str) -> str:
        return path

    def at(self, location: str, *, is_given: bool = False) -> MemoryStorage:  # noqa: ARG002
        """Return the files below a path; one that starts with ``/`` is a path like any other."""
        prefix = f"{location.rstrip('/')}/"
        below = {p[len(prefix) :]: c for p, c in self.files.items() if p.startswith(prefix)}
        return MemoryStorage(below)
