"""Stream Parquet base files as Arrow tables: row groups, pages and columns that may be needed.

The footer rules out row groups (`RowGroupFilter`); of a row group, `page_reads` reads the pages of
a few record keys; all else is read by pyarrow.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from math import isnan
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark import thresholds
from hudi_pyspark.arrow_values import to_arrow
from hudi_pyspark.columns.arrays import Mask, rename_columns
from hudi_pyspark.columns.nested_fields import leaf_paths, narrow_fields
from hudi_pyspark.columns.schema_evolution import is_as_declared
from hudi_pyspark.errors import CorruptBaseFileError, MissingFileError
from hudi_pyspark.filter.evaluation import ColumnBounds, may_match
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.nested_types import find_field
from hudi_pyspark.format.parquet.checked_file import (
    check_row_count,
    chunk_begin,
    chunk_bounds,
    chunk_statistics,
    open_parquet,
    unknown_type_error,
)
from hudi_pyspark.format.parquet.legacy_calendar import LegacyCalendar, widen_bounds, with_instants
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.base_files.key_texts import shows_texts
from hudi_pyspark.reading.base_files.page_reads import PagedFile, is_among, read_keyed_rows
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import fetch_end
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

_BLOOM_FILTER = b"org.apache.hudi.bloomfilter"
_BLOOM_FILTER_KIND = b"hoodie_bloom_filter_type_code"
_FIRST_KEY, _LAST_KEY = b"hoodie_min_record_key", b"hoodie_max_record_key"
_BUFFER = 1 << 16  # bytes of a column that are read from a local file at once
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class RowGroupFilter:
    """Leaves out row groups of a base file by what its footer says of their rows."""

    predicate: Predicate | None = None  # only rows for which it is true are needed; None for all
    types: pa.Schema | None = None  # types in which the predicate compares
    # Column to its name in the file, for columns that come from the file; None: the same names.
    stored_names: Mapping[str, str] | None = None
    record_keys: tuple[str, ...] | None = None  # only rows with these keys are needed; None for all
    key_texts: tuple[str, ...] = ()  # key fields of whose values the keys have the texts, if any
    byte_range: tuple[int, int] | None = None  # begin and end of a part of the file; None for all
    dropped: Mask | None = None  # by row number, as many as the file has; None to keep all rows

    def choose(
        self,
        file: pq.ParquetFile,
        names: Mapping[str, str] = MappingProxyType({}),
        *,
        is_legacy: bool = False,
    ) -> tuple[list[int], Sequence[str] | None]:
        """Choose the row groups to read.

        Args:
            file: the open file.
            names: column to the name that the file has instead.
            is_legacy: whether the bounds in the footer are dates of Spark's legacy calendar.

        Returns:
            The row groups in file order, and the record keys that may be in them; None for any key.
        """
        metadata = file.metadata
        groups = list(range(metadata.num_row_groups))
        if self.byte_range is not None:
            begin, end = self.byte_range
            groups = [g for g in groups if begin <= _middle(metadata.row_group(g)) < end]
        keys = self._keys_in(file)
        if keys is not None and not keys:
            return [], keys
        predicate = self.predicate
        types = self.types
        if predicate is None or types is None:
            return groups, keys
        # Dotted paths of the leaf columns to their ordinals, without paths of two leaf columns.
        paths = [file.schema.column(i).path for i in range(len(file.schema))]
        counts = Counter(paths)
        columns = {path: i for i, path in enumerate(paths) if counts[path] == 1}
        schema = file.schema_arrow  # pyarrow converts it anew each time

        def bounds_of(name: str, group: int) -> ColumnBounds | None:
            stored = self._stored_name(name)
            if stored is None:
                return None
            head, dot, tail = stored.partition(".")
            stored = names.get(stored, f"{names.get(head, head)}{dot}{tail}")
            if stored not in columns:
                return None
            field, declared = find_field(schema, stored), find_field(types, name)
            # A column that is promoted on the way may have another order afterwards.
            if field is None or declared is None or not is_as_declared(field.type, declared):
                return None
            statistics = chunk_statistics(metadata, group, columns[stored])
            if statistics is None:
                return None
            bounds = _bounds(statistics, metadata.row_group(group).num_rows, field.type)
            if is_legacy:
                low, high = widen_bounds(bounds.low, bounds.high)
                return replace(bounds, low=low, high=high)
            return bounds

        return [g for g in groups if may_match(predicate, partial(bounds_of, group=g))], keys

    def _keys_in(self, file: pq.ParquetFile) -> Sequence[str] | None:
        """Return the needed record keys that may be in a file, by its footer; None for any key."""
        if self.record_keys is None or (self.key_texts and not shows_texts(file, self.key_texts)):
            return None
        footer = file.metadata.metadata or {}
        keys: Sequence[str] = self.record_keys
        first, last = footer.get(_FIRST_KEY, b""), footer.get(_LAST_KEY, b"")
        # Only ASCII keys are left out: Java does not sort other strings by bytes.
        if first and last and first.isascii() and last.isascii():
            keys = [key for key in keys if not key.isascii() or first <= key.encode() <= last]
        if _BLOOM_FILTER not in footer or not keys:
            return keys
        filter_type = footer.get(_BLOOM_FILTER_KIND, b"SIMPLE").decode()
        try:
            bloom = BloomFilter.parse(footer[_BLOOM_FILTER].decode(), filter_type)
        except BloomFilterError:
            return keys
        return list(compress(keys, bloom.may_contain(keys)))

    def _stored_name(self, name: str) -> str | None:
        """Return the dotted path in the file; None if the values come from elsewhere."""
        if self.stored_names is None:
            return name
        head, dot, tail = name.partition(".")
        if name in self.stored_names:
            return self.stored_names[name]
        stored = self.stored_names.get(head)
        return f"{stored}{dot}{tail}" if stored is not None else None


def _middle(row_group: pq.RowGroupMetaData) -> int:
    """Return the byte that decides which part of the file a row group belongs to."""
    size = sum(row_group.column(i).total_compressed_size for i in range(row_group.num_columns))
    return chunk_begin(row_group.column(0)) + int(size) // 2


def _bounds(statistics: pq.Statistics, rows: int, data_type: pa.DataType) -> ColumnBounds:
    nulls = statistics.null_count if statistics.has_null_count else None
    low = high = None
    if statistics.has_min_max:
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            low, high = chunk_bounds(statistics, data_type)
    is_float = pa.types.is_floating(data_type)
    if is_float and low is not None and high is not None and isnan(low.as_py() + high.as_py()):
        low = high = None  # parquet-mr marks a NaN with such bounds
    return ColumnBounds.of(low, high, may_be_null=nulls != 0, may_have_value=nulls != rows)


@contextmanager
def open_parquet_file(
    storage: Storage, path: str, *, verify_checksums: bool = True
) -> Iterator[PagedFile]:
    """Open a Parquet base file, and close it at the end of the ``with`` block.

    Raises:
        MissingFileError: the file is gone.
        CorruptBaseFileError: it cannot be decoded.
        UnsupportedTypeError: it has types that this pyarrow does not know.
    """
    place = storage.describe(path)
    with ExitStack() as opened:
        with named_errors(place):
            file = opened.enter_context(storage.open_input(path))
            fetch_end(file)
            parquet = open_parquet(
                file,
                verify_checksums=verify_checksums,
                coerce_int96_timestamp_unit="us",
                pre_buffer=False,  # would fetch ranges of a Python file in turn: see `prefetch`
                buffer_size=_BUFFER if storage.is_local else 0,
            )
        yield PagedFile(file, parquet, place)


@contextmanager
def named_errors(place: str) -> Iterator[None]:
    """Raise what the readers of a Parquet file raise as errors that name the file.

    Raises:
        MissingFileError, CorruptBaseFileError, UnsupportedTypeError: as `open_parquet_file`.
    """
    try:
        yield
    except MemoryError:  # pyarrow's MemoryError is an ArrowException
        raise
    except FileNotFoundError as error:
        raise MissingFileError.since_planning(place) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        problem = f"not readable as Parquet: {error}"
        raise unknown_type_error(error, place) or CorruptBaseFileError(place, problem) from error


def read_parquet_rows(
    file: PagedFile,
    columns: Sequence[str],
    batch_rows: int,
    row_groups: RowGroupFilter,
    *,
    fields: pa.Schema,
) -> Iterator[pa.Table]:
    """Stream rows of a Parquet file, within the ``with`` block of `open_parquet_file`.

    Other arguments are as for `read_base_file`.

    Raises:
        CorruptBaseFileError, UnsupportedTypeError: as `open_parquet_file`.
        UnsupportedTableError: the file has instants before 1900 in an unknown time zone.
        SchemaEvolutionError: it has a requested column under several names.
    """
    with named_errors(file.place):
        parquet = file.parquet
        schema_in_file = parquet.schema_arrow  # pyarrow converts it anew each time
        schema = with_instants(schema_in_file, parquet.schema)
        names = match_names(columns, schema.names, place=file.place)
        stored_names = list(names.values())
        calendar = LegacyCalendar.of(parquet, file.place)
        groups, keys = row_groups.choose(parquet, names, is_legacy=calendar is not None)
        _log.debug(
            "%s: %d of %d row groups, columns %s",
            file.place, len(groups), parquet.metadata.num_row_groups, stored_names,
        )  # fmt: skip
        stored = pa.schema([schema_in_file.field(name) for name in stored_names])
        target = pa.schema([schema.field(name) for name in stored_names])
        narrowed = narrow_fields(stored, fields)
        leaves = stored_names if narrowed.equals(stored) else leaf_paths(parquet, narrowed)
        for table in _read_row_groups(
            file,
            groups,
            stored_names,
            leaves=leaves,
            batch_rows=_rows_at_once(parquet.metadata, groups, leaves, batch_rows),
            keys=keys_as_stored(keys, schema_in_file),
            all_dropped=row_groups.dropped,
        ):
            if not stored_names:
                yield table
                continue
            # Rows that were picked from pages have all nested fields, not only the narrowed ones.
            rows = table.select(stored_names)
            rows_schema = narrow_fields(target, rows.schema)
            if not rows.schema.equals(rows_schema, check_metadata=True):
                rows = rows.cast(rows_schema)
            yield rename_columns(rows if calendar is None else calendar.to_gregorian(rows), names)


def keys_as_stored(keys: Sequence[str] | None, schema: pa.Schema) -> pa.Array | None:
    """Return record keys as an array; None for all keys, or if a file of that schema has none."""
    array = None if keys is None else pa.array(keys, pa.string())
    if array is None or len(schema.get_all_field_indices(RECORD_KEY_COLUMN)) != 1:
        return None
    return array if schema.field(RECORD_KEY_COLUMN).type == array.type else None


def _rows_at_once(
    metadata: pq.FileMetaData, groups: Sequence[int], leaves: Sequence[str], most: int
) -> int:
    """Return the rows of a table: ``most``, or fewer if these would take too much memory."""
    row_groups = [metadata.row_group(group) for group in groups]
    if sum(row_group.total_byte_size for row_group in row_groups) <= thresholds.TABLE_BYTES:
        return most
    chunks = [row_group.column(i) for row_group in row_groups for i in range(metadata.num_columns)]
    size = sum(
        chunk.total_uncompressed_size for chunk in chunks if is_among(leaves, chunk.path_in_schema)
    )
    rows = sum(row_group.num_rows for row_group in row_groups)
    return max(1, min(most, int(rows * thresholds.TABLE_BYTES // max(size, 1))))


def _read_row_groups(
    file: PagedFile,
    groups: Sequence[int],
    columns: Sequence[str],
    *,
    leaves: Sequence[str],
    batch_rows: int,
    keys: pa.Array | None,
    all_dropped: Mask | None,
) -> Iterator[pa.Table]:
    """Read leaves of columns in file order; rows with other keys may be missing.

    The rows of ``all_dropped``, by row number in the file, are left out; None to leave out none.

    What a read fetches from another machine stays in memory until its end, so such a read has the
    columns of one row group.
    """
    metadata = file.parquet.metadata
    masks: Sequence[Mask] = []  # per row group of the file
    if all_dropped is not None:
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        masks = np.split(all_dropped, np.cumsum(counts)[:-1])
    if keys is not None or file.is_remote:
        parts = [[group] for group in groups]
    else:
        parts = [list(groups)] if groups else []
    for at_once in parts:
        dropped = np.concatenate([masks[group] for group in at_once]) if masks else None
        if keys is not None:
            picked = read_keyed_rows(file, at_once[0], columns, keys, dropped)
            if picked is not None:
                for start in range(0, picked.num_rows, batch_rows):
                    yield picked.slice(start, batch_rows)
                continue
        file.prefetch(at_once, leaves)
        count = 0
        # Slices are read in parallel, by Spark's tasks or by threads. Threads for the columns of
        # one slice would only compete with them.
        for batch in file.parquet.iter_batches(batch_rows, at_once, leaves, use_threads=False):
            table = pa.Table.from_batches([batch])
            is_dropped = dropped[count : count + len(batch)] if dropped is not None else None
            count += len(batch)
            yield table if is_dropped is None else _without(table, is_dropped)
        check_row_count(metadata, at_once, count)


def _without(table: pa.Table, dropped: Mask) -> pa.Table:
    if not table.num_columns:  # then Arrow's filter loses the number of rows
        return table.slice(0, table.num_rows - int(dropped.sum()))
    return table.filter(to_arrow(~dropped)) if dropped.any() else table
