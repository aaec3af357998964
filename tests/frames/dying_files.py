"""A file system that kills the first process that reads a data file, unless it is the test."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem


class DyingFiles(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Local files; the process that creates the marker dies."""

    def __init__(self, marker: str, survivor: int) -> None:
        super().__init__()
        self.marker = marker
        self.survivor = survivor

    def _open(self, path: str, *arguments: Any, **named: Any) -> Any:
        if path.endswith(".parquet") and "/.hoodie/" not in path and os.getpid() != self.survivor:
            with suppress(FileExistsError):
                Path(self.marker).touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return super()._open(path, *arguments, **named)
