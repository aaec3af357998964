"""Bounds of the columns of data files, from the metadata table's column statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import any_of
from hudi_pyspark.filter.bounds import ColumnBounds, may_match_merged
from hudi_pyspark.filter.predicate import columns_of, find_field
from hudi_pyspark.format.avro.schema import counts_milliseconds
from hudi_pyspark.options.values import Index
from hudi_pyspark.planning.metadata_table.index_keys import column_keys, file_key, partition_keys
from hudi_pyspark.planning.metadata_table.records import merged_values
from hudi_pyspark.table.meta_columns import META_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy.typing as npt

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.planning.metadata_table.table import MetadataTable
    from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Ordinals of Hudi's ValueType, the logical type of a wrapped number or of wrapped bytes.
_DECIMAL, _DATE = 10, 12
_TIMES = {15: 1_000, 16: 1, 18: 1_000, 19: 1}  # microseconds of one unit; 18 and 19 have no zone
_ZONED = frozenset({15, 16})
_INSTANT_MILLIS = 15
# Java compares texts by UTF-16 units, Parquet by bytes: from here on the two orders differ.
_FIRST_SURROGATE = "\ud800"
_NOT_OF_TYPE = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)


def slices_within_bounds(
    metadata: MetadataTable,
    slices: Sequence[FileSlice],
    predicate: Predicate,
    fields: Mapping[str, pa.Field],
) -> list[FileSlice]:
    """Return the slices whose rows can pass a filter by the statistics of their files."""
    # Each value of a merged row is that of a record in the base file or in a log file. So a
    # condition on one column rules a slice out if it does so for each of its files. A file without
    # statistics keeps its slice.
    known = metadata.bounds
    if known is None or known.slices != slices:
        known = metadata.bounds = KnownBounds(slices)
    known.add(metadata, {n: fields[n] for n in sorted(fields) if n not in known.columns})
    columns = {name: known.columns[name] for name in fields}
    within = may_match_merged(predicate, columns, known.files, len(slices))
    return [file_slice for file_slice, may in zip(slices, within, strict=True) if may]


@dataclass(eq=False, slots=True)
class KnownBounds:
    """What a metadata table keeps of its statistics, for the next filter of the same slices."""

    slices: Sequence[FileSlice]
    files: npt.NDArray[np.int64] = field(init=False)  # ordinal of each file's slice
    columns: dict[str, ColumnBounds] = field(default_factory=dict, init=False)

    def add(self, metadata: MetadataTable, fields: Mapping[str, pa.Field]) -> None:
        """Read the bounds of more columns, in each of the files."""
        if not fields:
            return
        self.files, keys = _keys(list(fields), self.slices)
        wanted = [key for of_column in keys.values() for key in of_column if key]
        found = {
            key: value
            for entries in metadata.find(Index.COLUMN_STATS.value, wanted)
            for key, _, value in merged_values(entries)
        }
        for name, of_column in keys.items():
            statistics = [_in_known_unit(found.get(key), fields[name]) for key in of_column]
            self.columns[name] = bounds_of_files(statistics, fields[name].type)


def _in_known_unit(
    statistics: Mapping[str, Any] | None, field: pa.Field
) -> Mapping[str, Any] | None:
    """Return statistics, or None where a file may count milliseconds as microseconds."""
    # See `timestamp_repair`: of such a file the statistics may be in either unit.
    if statistics is None or not counts_milliseconds(field) or field.type.tz is None:
        return statistics
    ordinal = (statistics.get("valueType") or {}).get("typeOrdinal")
    return statistics if ordinal == _INSTANT_MILLIS else None


def columns_with_bounds(
    predicate: Predicate, schema: pa.Schema, not_stored: Collection[str]
) -> dict[str, pa.DataType]:
    """Return name and type of the columns of a filter that may have bounds."""
    return {
        name: field
        for name in columns_of(predicate)
        if name.partition(".")[0] not in not_stored
        and (field := find_field(schema, name)) is not None
        and not pa.types.is_nested(field.type)
    }


def is_base_alone(file_slice: FileSlice) -> bool:
    """Return whether a slice is a base file without log files."""
    return file_slice.base_file is not None and not file_slice.log_files


def _keys(
    names: Sequence[str], slices: Sequence[FileSlice]
) -> tuple[npt.NDArray[np.int64], dict[str, list[str]]]:
    """Return the files' slices, by ordinal, and keys of statistics by column, "" for none."""
    columns = column_keys(names)
    partitions = partition_keys({s.partition_path for s in slices})
    files: list[int] = []
    rests, are_alone = [], []
    for number, file_slice in enumerate(slices):
        of_slice: list[BaseFile | LogFile] = [*file_slice.log_files]
        if file_slice.base_file is not None:
            of_slice.append(file_slice.base_file)
        files += [number] * len(of_slice)
        rests += [partitions[file_slice.partition_path] + file_key(file) for file in of_slice]
        are_alone += [is_base_alone(file_slice)] * len(of_slice)
    keys = {}
    for name, column in columns.items():
        # Meta columns of log records are filled in when they are written, statistics or not.
        always = name not in META_COLUMNS
        keys[name] = [
            column + rest if always or is_alone else ""
            for rest, is_alone in zip(rests, are_alone, strict=True)
        ]
    return np.array(files, np.int64), keys


def bounds_of_files(
    statistics: Sequence[Mapping[str, Any] | None], kind: pa.DataType
) -> ColumnBounds:
    """Return the bounds of a column in some files; unknown for a file without statistics."""
    ends = [(None, None) if of is None else _ends(of, kind) for of in statistics]
    counts = [(True, True) if of is None else _counts(of, kind) for of in statistics]
    try:
        low, high = _columns(ends, kind)
    except _NOT_OF_TYPE:
        low, high = _columns([_or_none(pair, kind) for pair in ends], kind)
    may_be_null, may_have_value = (
        np.array(of_files, np.bool_) for of_files in zip(*counts, strict=True)
    )
    return ColumnBounds(low, high, may_be_null, may_have_value)


def _columns(ends: Sequence[tuple[Any, Any]], kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    return pa.array([low for low, _ in ends], kind), pa.array([high for _, high in ends], kind)


def bound_value(statistics: Mapping[str, Any], bound: str) -> Any:  # noqa: ANN401  (of any type)
    """Return a minimum or maximum of a column as a Python value; None if there is none."""
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


def _ends(statistics: Mapping[str, Any], kind: pa.DataType) -> tuple[Any, Any]:
    """Return minimum and maximum; None for both if one is not certain to be one in that order."""
    if _are_defaults(statistics):
        return None, None
    low, high = bound_value(statistics, "minValue"), bound_value(statistics, "maxValue")
    return (low, high) if _is_certain(low, kind) and _is_certain(high, kind) else (None, None)


def _or_none(ends: tuple[Any, Any], kind: pa.DataType) -> tuple[Any, Any]:
    """Return minimum and maximum, or None for both if one is not a value of the type."""
    try:
        pa.array(ends, kind)
    except _NOT_OF_TYPE:
        return None, None
    return ends


def _counts(statistics: Mapping[str, Any], kind: pa.DataType) -> tuple[bool, bool]:
    """Return whether a column may have a null, and whether it may have a value."""
    nulls, values = statistics["nullCount"], statistics["valueCount"]
    # Of log records Hudi counts values that it does not compare as nulls, bytes among them.
    is_compared = not _is_uncompared(kind)
    has_only_nulls = is_compared and nulls is not None and bool(values) and nulls == values
    return nulls != 0, not has_only_nulls


_is_uncompared = any_of(pa.types.is_decimal, pa.types.is_binary, pa.types.is_fixed_size_binary)


def _are_defaults(statistics: Mapping[str, Any]) -> bool:
    """Return whether both bounds are 0, as Hudi writes them where a footer has none."""
    wrappers = [statistics["minValue"], statistics["maxValue"]]
    return all(wrapper is not None and _is_zero(wrapper["value"]) for wrapper in wrappers)


def _is_zero(value: object) -> bool:
    return not any(value) if isinstance(value, bytes) else value == 0


def _is_certain(value: object, kind: pa.DataType) -> bool:
    if value is None:
        return False
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
