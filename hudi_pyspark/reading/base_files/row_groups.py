"""Choose the row groups of a Parquet base file that have to be read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from math import isnan
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.columns.timestamp_repair import is_as_declared
from hudi_pyspark.filter.evaluation import ColumnBounds, may_match
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError
from hudi_pyspark.format.nested_types import find_field
from hudi_pyspark.format.parquet.checked_file import chunk_begin, chunk_bounds, chunk_statistics
from hudi_pyspark.format.parquet.legacy_calendar import widen_bounds

_BLOOM_FILTER = b"org.apache.hudi.bloomfilter"
_BLOOM_FILTER_KIND = b"hoodie_bloom_filter_type_code"
_FIRST_KEY, _LAST_KEY = b"hoodie_min_record_key", b"hoodie_max_record_key"


@dataclass(frozen=True, slots=True)
class RowGroupFilter:
    """Leaves out row groups of a base file by what its footer says of their rows."""

    predicate: Predicate | None = None  # only rows for which it is true are needed; None for all
    types: pa.Schema | None = None  # types in which the predicate compares
    # Column to its name in the file, for columns that come from the file; None: the same names.
    stored_names: Mapping[str, str] | None = None
    record_keys: tuple[str, ...] | None = None  # only rows with these keys are needed; None for all
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
        keys = self._keys_in(metadata)
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

    def dropped_in(self, metadata: pq.FileMetaData) -> list[Mask]:
        """Return the dropped rows of each row group of the file; [] if no row is dropped."""
        if self.dropped is None:
            return []
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        return np.split(self.dropped, np.cumsum(counts)[:-1])

    def _keys_in(self, metadata: pq.FileMetaData) -> Sequence[str] | None:
        """Return the needed record keys that may be in a file, by its footer; None for any key."""
        if self.record_keys is None:
            return None
        footer = metadata.metadata or {}
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
