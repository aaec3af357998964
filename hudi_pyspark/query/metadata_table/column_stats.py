"""Bounds of the columns of data files, from the metadata table's column statistics."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.query.filter.bounds import Bounds, may_match_merged
from hudi_pyspark.query.filter.predicate import columns_of, field_type
from hudi_pyspark.query.metadata_table.index_keys import column_keys, file_key, partition_keys
from hudi_pyspark.query.metadata_table.indexes import Index
from hudi_pyspark.query.metadata_table.records import merged_values
from hudi_pyspark.table.schema import META_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hudi_pyspark.query.filter.bounds import BoundsOf
    from hudi_pyspark.query.filter.predicate import Predicate
    from hudi_pyspark.query.metadata_table.table import MetadataTable
    from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Ordinals of Hudi's ValueType, the logical type of a wrapped number or of wrapped bytes.
_DECIMAL, _DATE = 10, 12
_TIMES = {15: 1_000, 16: 1, 18: 1_000, 19: 1}  # microseconds of one unit; 18 and 19 have no zone
_ZONED = frozenset({15, 16})
# Java compares texts by UTF-16 units, Parquet by bytes: from here on the two orders differ.
_FIRST_SURROGATE = "\ud800"


def slices_within_bounds(
    metadata: MetadataTable,
    slices: Sequence[FileSlice],
    predicate: Predicate,
    kinds: Mapping[str, pa.DataType],
) -> list[FileSlice]:
    """Return the slices whose rows can pass a filter by the statistics of their files.

    Each value of a merged row is that of a record in the base file or in a log file. So a condition
    on one column rules a slice out if it does so for each of its files. A file without statistics
    keeps its slice.

    Args:
        metadata: has a partition of column statistics.
        slices: as of the latest instant; no user's merger makes up their values.
        predicate: the filter.
        kinds: type of each column that has bounds; see `columns_with_bounds`.

    Raises:
        CorruptTableError: the metadata table cannot be read.
    """
    keys = _keys(sorted(kinds), slices)
    every = [key for of_slice in keys for of_file in of_slice for key in of_file.values()]
    found = {
        key: value
        for entries in metadata.find(Index.COLUMN_STATS.value, every)
        for key, _, value in merged_values(entries)
    }

    def bounds_of(of_file: Mapping[str, str]) -> BoundsOf:
        return {
            name: column_bounds(found[key], kinds[name])
            for name, key in of_file.items()
            if key in found
        }.get

    return [
        file_slice
        for file_slice, of_slice in zip(slices, keys, strict=True)
        if may_match_merged(predicate, [bounds_of(of_file) for of_file in of_slice])
    ]


def columns_with_bounds(
    predicate: Predicate, schema: pa.Schema, not_stored: Collection[str]
) -> dict[str, pa.DataType]:
    """Return name and type of the columns of a filter that may have bounds.

    Args:
        predicate: the filter.
        schema: the table's columns.
        not_stored: columns whose values do not come from the files.
    """
    return {
        name: kind
        for name in columns_of(predicate)
        if name.partition(".")[0] not in not_stored
        and (kind := field_type(schema, name)) is not None
        and not pa.types.is_nested(kind)
    }


def is_base_alone(file_slice: FileSlice) -> bool:
    """Return whether a slice is a base file without log files."""
    return file_slice.base_file is not None and not file_slice.log_files


def _keys(names: Sequence[str], slices: Sequence[FileSlice]) -> list[list[dict[str, str]]]:
    """Return, for each file of each slice, the keys of the statistics of columns, by their name."""
    columns = column_keys(names)
    # Meta columns of log records are filled in when they are written, statistics or not.
    data_columns = {name: key for name, key in columns.items() if name not in META_COLUMNS}
    partitions = partition_keys({s.partition_path for s in slices})
    keys = []
    for file_slice in slices:
        has_bounds = columns if is_base_alone(file_slice) else data_columns
        files: list[BaseFile | LogFile] = [*file_slice.log_files]
        if file_slice.base_file is not None:
            files.append(file_slice.base_file)
        rests = [partitions[file_slice.partition_path] + file_key(file) for file in files]
        keys.append([{name: key + rest for name, key in has_bounds.items()} for rest in rests])
    return keys


def bound_value(statistics: Mapping[str, Any], bound: str) -> Any:  # noqa: ANN401  (of any type)
    """Return a minimum or maximum of a column as a Python value; None if there is none.

    Args:
        statistics: value of a record of column statistics.
        bound: ``minValue`` or ``maxValue``.
    """
    wrapper = statistics[bound]
    if wrapper is None:
        return None
    value = wrapper["value"]
    kind = statistics.get("valueType") or {}
    ordinal = kind.get("typeOrdinal", 0)
    if ordinal == _DATE and isinstance(value, int):
        return date(1970, 1, 1) + timedelta(days=value)
    if ordinal in _TIMES and isinstance(value, int):
        moment = _EPOCH + timedelta(microseconds=value * _TIMES[ordinal])
        return moment if ordinal in _ZONED else moment.replace(tzinfo=None)
    if ordinal == _DECIMAL and isinstance(value, bytes):
        scale = int((kind.get("additionalInfo") or "0,0").split(",")[1])
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale)
    return value


def column_bounds(statistics: Mapping[str, Any], kind: pa.DataType) -> Bounds:
    """Return what a record of column statistics says about a column.

    Args:
        statistics: value of a record of column statistics.
        kind: the type that the table's schema gives the column.
    """
    low = high = None
    if not _are_defaults(statistics):
        low = _typed(bound_value(statistics, "minValue"), kind)
        high = _typed(bound_value(statistics, "maxValue"), kind)
    if low is None or high is None:
        low = high = None
    nulls, values = statistics["nullCount"], statistics["valueCount"]
    # Of log records Hudi counts values that it does not compare as nulls, bytes among them.
    is_compared = not (pa.types.is_decimal(kind) or _is_bytes(kind))
    has_only_nulls = is_compared and nulls is not None and bool(values) and nulls == values
    return Bounds(low, high, may_be_null=nulls != 0, may_have_value=not has_only_nulls)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _are_defaults(statistics: Mapping[str, Any]) -> bool:
    """Return whether both bounds are 0, as Hudi writes them where a footer has none."""
    wrappers = [statistics["minValue"], statistics["maxValue"]]
    return all(wrapper is not None and _is_zero(wrapper["value"]) for wrapper in wrappers)


def _is_zero(value: object) -> bool:
    return not any(value) if isinstance(value, bytes) else value == 0


def _typed(value: object, kind: pa.DataType) -> pa.Scalar | None:
    """Return a bound in the column's type; None if it is not certain to be one in that order."""
    if value is None or not _is_certain(value, kind):
        return None
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def _is_certain(value: object, kind: pa.DataType) -> bool:
    if isinstance(value, str) and max(value, default="") >= _FIRST_SURROGATE:
        return False
    if isinstance(value, datetime) and pa.types.is_timestamp(kind):
        return (value.tzinfo is None) == (kind.tz is None)
    return any(fits(kind) and type(value) is python for fits, python in _CERTAIN)


# Without floating-point numbers: the footer of a file with a NaN has no bounds for that row group,
# and Hudi takes 0 for them, also together with the bounds of others (golden table
# x_v9_cow_ix_stats_base).
_CERTAIN: Sequence[tuple[Any, type]] = (
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_string, str),
    (pa.types.is_date, date),
    (pa.types.is_decimal, Decimal),
)
