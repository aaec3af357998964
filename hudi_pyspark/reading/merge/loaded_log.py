"""Log records of a slice, loaded into memory or, past a limit, onto local disk.

On disk the records are in buckets by a hash of their key, or by their position in the base file if
positions identify them. The base rows go to buckets of the same kind. All records of a key are in
one bucket, in order of arrival, so the slice is merged some buckets at a time, and each pass is a
merge like any other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.columns.arrays import RowNumbers, as_one_array, nbytes_of
from hudi_pyspark.errors import SpillError
from hudi_pyspark.format.hashes import xxhash64
from hudi_pyspark.reading.log_records.records import LogRecords
from hudi_pyspark.reading.merge.fold import fold_log
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.format.log.log_block import LogBlock
    from hudi_pyspark.reading.log_records.decoder import LogDecoder
    from hudi_pyspark.tasks import ReadSettings

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", LogRecords, pa.Table)
_MergePass: TypeAlias = Callable[[Iterable[pa.Table], LogRecords], Iterator[_T]]
DEFAULT_MEMORY = 1 << 30
_MEGABYTE = 1 << 20
_COMPRESSION = "lz4"
BUCKETS = 256
_TO_BUCKET = np.uint64(56)


def load_log(blocks: Sequence[LogBlock], decoder: LogDecoder, memory: MemoryLimits) -> LoadedLog:
    """Decode a slice's log records into memory, or onto local disk if they are too many.

    Args:
        blocks: of the slice, oldest first.
        decoder: of the blocks.
        memory: how much of the records may be in memory.

    Returns:
        The records; the caller closes them.

    Raises:
        CorruptTableError: a block cannot be decoded.
        SpillError: the disk is full.
    """
    parts = decoder.decode(blocks)
    first_parts, nbytes = next(_group(parts, memory.records), ([], 0))
    if nbytes < memory.records:
        return LogInMemory(decoder.concatenate(first_parts), nbytes)
    by_position = all(part.positions is not None for part in first_parts if len(part))
    with ExitStack() as on_error:
        file = on_error.enter_context(closing(SpillFile(memory.folder)))
        log = LogOnDisk(file, decoder, memory, by_position=by_position)
        if not log.add(chain(_drain(first_parts), parts)):
            # A later block lacks usable positions, so keys identify all records.
            file.clear()
            by_key = replace(decoder, positions_of=None)
            log = LogOnDisk(file, by_key, memory, by_position=False)
            log.add(by_key.decode(blocks))
        on_error.pop_all()
        return log


@dataclass(frozen=True, slots=True)
class LogInMemory:
    """Log records of a slice that is merged in one pass."""

    records: LogRecords
    nbytes: int  # of the records, as they were decoded

    @property
    def by_position(self) -> bool:
        """Whether positions identify the records, or their keys."""
        return self.records.positions is not None

    def merge(self, base: Iterable[pa.Table], merge_pass: _MergePass[_T]) -> Iterator[_T]:
        """Merge base rows, in file order, with the log records in one call of ``merge_pass``."""
        return merge_pass(base, self.records)

    def close(self) -> None:
        """Do nothing: the records go when nothing refers to them."""


@dataclass(frozen=True)
class LogOnDisk:
    """Log records of a slice in a spill file, in buckets by their keys or by their positions."""

    file: SpillFile  # closed with this object
    decoder: LogDecoder  # of the records
    memory: MemoryLimits  # how much of them may be in memory
    by_position: bool  # whether positions identify the records, or their keys

    @cached_property
    def _buckets(self) -> Buckets:
        return Buckets(self.file, BUCKETS)

    def add(self, parts: Iterable[LogRecords]) -> bool:
        """Put records into their buckets; False if some lack the position that identifies them.

        Raises:
            SpillError: the disk is full.
        """
        return all(self._add(group) for group, _ in _group(parts, self.memory.group))

    def _add(self, parts: Sequence[LogRecords]) -> bool:
        # A separate function, so its records are freed before the next group is decoded.
        log = self.decoder.concatenate(parts)
        if not self.by_position:
            by_key = replace(log, positions=None)
            self._buckets.add(by_key.to_spill_table(), key_buckets(log.keys))
        elif log.positions is not None:
            self._buckets.add(log.to_spill_table(), log.positions % BUCKETS)
        return not self.by_position or log.positions is not None or not len(log)

    def merge(self, base: Iterable[pa.Table], merge_pass: _MergePass[_T]) -> Iterator[_T]:
        """Merge base rows, in file order, with the log records: one call for some buckets.

        Raises:
            SpillError: the disk is full.
        """
        count = self._count_passes()
        base_rows = self._spill(base, count)
        for number in range(count):
            buckets = range(number, BUCKETS, count)
            if not (self._buckets.are_empty(buckets) and base_rows.are_empty([number])):
                # A variable would keep these log records while the next ones are loaded.
                yield from merge_pass(base_rows.tables([number]), self._load(buckets, count))

    def close(self) -> None:
        """Remove the spill file."""
        self.file.close()

    def _count_passes(self) -> int:
        """Choose the least power of two with which each pass fits into memory."""
        sizes = self._buckets.sizes()
        count = 1
        while count < BUCKETS and sizes.reshape(-1, count).sum(0).max() > self.memory.one_pass:
            count *= 2
        return count

    def _spill(self, base: Iterable[pa.Table], count: int) -> Buckets:
        buckets = Buckets(self.file, count)
        rows_before = 0
        for group, _ in _group(base, self.memory.group):
            table = pa.concat_tables(group)
            if self.by_position:
                numbers = np.arange(rows_before, rows_before + table.num_rows)
            else:
                numbers = key_buckets(as_one_array(table.column(RECORD_KEY_COLUMN)))
            buckets.add(table, numbers % count)
            rows_before += table.num_rows
        return buckets

    def _load(self, buckets: Sequence[int], count: int) -> LogRecords:
        """Load the records of a pass, folded early if a few keys have very many records."""
        decoder = self.decoder
        parts: list[LogRecords] = []
        size = 0
        limit = self.memory.records
        for table in self._buckets.tables(buckets):
            parts.append(LogRecords.from_spill_table(table, decoder.schema, decoder.column_sets))
            size += nbytes_of(parts[-1])
            if size > limit and not decoder.rule.folds_base_rows:
                folded = fold_log(decoder.concatenate(parts), decoder.rule)
                parts = [folded.without_unused_rows()]
                size = nbytes_of(parts[0])
                limit = max(limit, 2 * size)
        log = decoder.concatenate(parts)
        if log.positions is None:
            return log
        # A pass has one of `count` base rows, and numbers them from 0.
        return replace(log, positions=log.positions // count)


LoadedLog: TypeAlias = LogInMemory | LogOnDisk


def _drain(parts: list[LogRecords]) -> Iterator[LogRecords]:
    """Yield the parts in order, and remove each from the list."""
    parts.reverse()
    while parts:
        yield parts.pop()


def _group(tables: Iterable[_Sized], size: int) -> Iterator[tuple[list[_Sized], int]]:
    """Yield tables in groups of at least ``size`` bytes, of which the last may have fewer.

    Each group comes with its bytes.
    """
    group = []
    nbytes = 0
    for table in tables:
        group.append(table)
        nbytes += nbytes_of(table)
        if nbytes >= size:
            yield group, nbytes
            group = []
            nbytes = 0
    if group:
        yield group, nbytes


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Memory that the log records of a slice may take, divided among the steps of a merge."""

    total: int  # bytes
    folder: str  # for spill files; on a local disk. "" for that of temporary files

    @classmethod
    def of(cls, settings: ReadSettings, environment: Mapping[str, str]) -> MemoryLimits:
        """Return the limits of a Python process.

        The default memory is a third of that which Spark allows a Python worker
        (``spark.executor.pyspark.memory``), and at most 1 GiB. The default folder is a local folder
        of Spark, or else the folder for temporary files.

        Args:
            settings: may name other limits.
            environment: variables of the process.
        """
        total = settings.merge_memory
        folder = settings.spill_folder
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
            f"log records cannot be written to {place}: {error}",
            advice=(
                "Name another local folder with hoodie.memory.spillable.map.path, or allow more "
                "memory with hoodie.memory.merge.max.size"
            ),
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
