"""Limit the memory of a merge, and put rows on local disk past the limit."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import RowNumbers
from hudi_pyspark.errors import SpillError
from hudi_pyspark.format.hashes import xxhash64

DEFAULT_MEMORY = 1 << 30
_MEGABYTE = 1 << 20
_COMPRESSION = "lz4"
BUCKETS = 256
_TO_BUCKET = np.uint64(56)


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Memory that the log records of a slice may take, divided among the steps of a merge."""

    total: int  # bytes
    folder: str  # for spill files; on a local disk. "" for that of temporary files

    @classmethod
    def resolve(cls, total: int, folder: str, environment: Mapping[str, str]) -> "MemoryLimits":
        """Return the limits of a Python process, by the options and its environment.

        Args:
            total: bytes; 0 means a third of the memory that Spark allows a Python worker
                (``spark.executor.pyspark.memory``), and at most 1 GiB.
            folder: for the spill file; "" means a local folder of Spark, or else the folder for
                temporary files.
            environment: variables of the process.
        """
        worker = int(environment.get("PYSPARK_EXECUTOR_MEMORY_MB", "-1")) * _MEGABYTE
        if not total:
            total = min(worker // 3, DEFAULT_MEMORY) if worker > 0 else DEFAULT_MEMORY
        spark_folders = [f for f in environment.get("SPARK_LOCAL_DIRS", "").split(",") if f]
        if not folder and spark_folders:
            folder = spark_folders[os.getpid() % len(spark_folders)]  # on several disks, maybe
        return cls(total, folder)

    @property
    def files(self) -> int:
        """Bytes of log files up to which all files are loaded whole, which is faster."""
        return self.total // 8

    @property
    def records(self) -> int:
        """Bytes of log records that are merged in memory; the merge takes as much again."""
        return self.total // 2

    @property
    def one_pass(self) -> int:
        """Bytes of log records that one pass holds after spilling."""
        return self.total // 4

    @property
    def group(self) -> int:
        """Bytes of rows that go to disk together."""
        return self.total // 16


@dataclass(frozen=True, slots=True)
class Span:
    """Place of a table in a spill file."""

    offset: int
    length: int
    nbytes: int  # in memory


class SpillFile:
    """A file without a name: it is gone when it is closed or its process ends, however it ends.

    Args:
        folder: in which it is, as `MemoryLimits.folder`.

    Raises:
        SpillError: the folder cannot be written.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        try:
            if folder:
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103  (a text, and stays one)
            # A machine may have no folder for temporary files, which raises an OSError.
            self._file = tempfile.TemporaryFile(dir=folder or None)  # noqa: SIM115  (closed by its owner)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, table: pa.Table) -> Span:
        """Append a table, and return its place.

        Raises:
            SpillError: the disk is full. It names the options for another folder and more memory.
        """
        content = table_bytes(table, compression=_COMPRESSION)
        try:
            offset = self._file.seek(0, os.SEEK_END)
            self._file.write(content)
        except OSError as error:
            raise self._failed(error) from error
        return Span(offset, len(content), table.nbytes)

    def read(self, span: Span) -> pa.Table:
        """Read the table at a place."""
        self._file.seek(span.offset)
        return pa.ipc.open_stream(self._file.read(span.length)).read_all()

    def clear(self) -> None:
        """Remove all tables."""
        self._file.truncate(0)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _failed(self, error: OSError) -> SpillError:
        place = self._folder or "the folder for temporary files"
        return SpillError(
            f"log records cannot be written to {place}: {error}. Name another local folder "
            "with hoodie.memory.spillable.map.path, or allow more memory with "
            "hoodie.memory.merge.max.size"
        )


def table_bytes(table: pa.Table, compression: str | None = None) -> pa.Buffer:
    """Return a table as an Arrow stream."""
    octets = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(octets, table.schema, options=options) as stream:
        stream.write_table(table)
    return octets.getvalue()


class Buckets:
    """Rows on disk in numbered buckets; rows of one bucket keep their order."""

    def __init__(self, file: SpillFile, count: int) -> None:
        self._file = file
        self._spans: list[list[Span]] = [[] for _ in range(count)]

    def add(self, table: pa.Table, buckets: RowNumbers) -> None:
        """Write rows to buckets; ``buckets`` has the number of each row's bucket.

        Raises:
            SpillError: the disk is full.
        """
        order = np.argsort(buckets, kind="stable")
        rows = table.take(pa.array(order))
        ends = np.cumsum(np.bincount(buckets, minlength=len(self._spans)))
        for spans, start, end in zip(self._spans, [0, *ends[:-1]], ends, strict=True):
            if start < end:
                spans.append(self._file.write(rows.slice(start, end - start)))

    def are_empty(self, buckets: Sequence[int]) -> bool:
        """Say whether no rows are in some buckets."""
        return not any(self._spans[bucket] for bucket in buckets)

    def sizes(self) -> RowNumbers:
        """Return the bytes in memory of each bucket's rows."""
        return np.array([sum(span.nbytes for span in spans) for spans in self._spans], np.int64)

    def tables(self, buckets: Sequence[int]) -> Iterator[pa.Table]:
        """Read the rows of some buckets, bucket by bucket."""
        for bucket in buckets:
            yield from map(self._file.read, self._spans[bucket])


def key_buckets(keys: pa.Array) -> RowNumbers:
    """Return evenly spread bucket numbers, equal for equal keys; a null counts as ""."""
    texts = keys.cast(pa.binary()).fill_null(b"").to_pylist()
    return (xxhash64(texts, 0) >> _TO_BUCKET).astype(np.int64)
