"""Lance base files to Arrow tables, with the library of the extra ``lance``."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import CorruptBaseFileError, UnsupportedTableError
from hudi_pyspark.table.base_file_format import LANCE_MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.storage import Storage


def read_lance_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Stream a Lance file; see `read_base_file`."""
    try:
        from lance.file import LanceFileReader  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise UnsupportedTableError(f"base file {path}: {LANCE_MISSING}") from error
    with _local_file(storage, path) as local:
        try:
            names = LanceFileReader(str(local)).metadata().schema.names
            wanted = [name for name in columns if name in names]
            # The library refuses an empty list.
            reader = LanceFileReader(str(local), columns=wanted or names[:1])
            for batch in reader.read_all(batch_size=batch_rows).to_batches():
                yield pa.Table.from_batches([batch]).select(wanted)
        except (pa.ArrowInvalid, OSError, RuntimeError, ValueError) as error:
            problem = f"not readable as Lance: {error}"
            raise CorruptBaseFileError(storage.describe(path), problem) from error


@contextmanager
def _local_file(storage: Storage, path: str) -> Iterator[Path]:
    """Yield the file on this machine, copied here if need be: the library opens only paths."""
    local = Path(storage.describe(path))
    if local.is_file():
        yield local
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "base.lance"
        copy.write_bytes(storage.read_bytes(path))
        yield copy
