"""Bounds of the columns of data files, from the metadata table's column statistics."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, RowNumbers, as_one_array, is_true
from hudi_pyspark.columns.nested_fields import nullable
from hudi_pyspark.exact_decimals import scaled_decimal
from hudi_pyspark.filter.evaluation import ColumnBounds, may_match_merged
from hudi_pyspark.filter.predicate import Predicate, columns_of
from hudi_pyspark.format.nested_types import counts_milliseconds, find_field, may_be_uuid_bytes
from hudi_pyspark.format.parquet.legacy_calendar import widen_bounds
from hudi_pyspark.metadata_table.records import column_keys, file_key, partition_keys
from hudi_pyspark.table.file_group import FileSlice, LogFile
from hudi_pyspark.table.meta_columns import META_COLUMNS

if TYPE_CHECKING:
    from decimal import Decimal

    from hudi_pyspark.metadata_table.slices import Entries
    from hudi_pyspark.table.commit_history import CommitHistory

# Ordinals of Hudi's ValueType, the logical type of a wrapped number or of wrapped bytes.
_DECIMAL, _DATE = 10, 12
_TIMES = {15: ("ms", "UTC"), 16: ("us", "UTC"), 18: ("ms", None), 19: ("us", None)}
_IN_MILLIS = [15, 18]
_LOCAL_MICROS = [19]
# Java compares texts by UTF-16 units, Parquet by bytes: the orders differ in these characters.
_BEYOND_SURROGATES = r"[\x{E000}-\x{10FFFF}]"
_DIGITS = re.compile(r"[0-9]+,(?P<scale>-?[0-9]{1,3})")  # precision and scale, as Hudi notes them
_FIELD = "ColumnStatsMetadata"
_NO_STATISTICS = pa.Table.from_batches([], pa.schema({"key": pa.string(), _FIELD: pa.struct([])}))
_FIELDS = {
    **dict.fromkeys(("minValue", "maxValue"), pa.null()),
    **dict.fromkeys(("nullCount", "valueCount", "typeOrdinal"), pa.int64()),
    **dict.fromkeys(("isDeleted", "isTightBound"), pa.bool_()),
    "additionalInfo": pa.string(),
}


@dataclass(eq=False, slots=True)
class BoundsCache:
    """The bounds of columns in the files of some slices, read from the metadata table once.

    `MetadataTable.bounds_of` keeps them for the next filter of the same slices.
    """

    slices: Sequence[FileSlice]
    history: CommitHistory  # of the table whose slices they are
    find: Callable[[Sequence[str]], Iterator[list[Entries]]]  # finds statistics by their keys
    files: RowNumbers = field(init=False)  # ordinal of each file's slice
    has_rows: Mask | None = field(default=None, init=False)  # of each file
    columns: dict[str, ColumnBounds] = field(default_factory=dict, init=False)

    def may_match(self, predicate: Predicate, fields: Mapping[str, pa.Field]) -> list[bool]:
        """Return, for each slice, whether its rows can pass a filter by its files' statistics.

        Each value of a merged row is that of a record in the base file or in a log file. So a
        condition on one column rules a slice out if it does so for each of its files. A file
        without statistics keeps its slice.

        Args:
            predicate: the filter.
            fields: the columns that decide, by the names in the filter; see `columns_with_bounds`.

        Raises:
            HudiError: the index cannot be read; the caller then keeps all slices.
        """
        self._add({name: fields[name] for name in sorted(fields) if name not in self.columns})
        columns = {name: self.columns[name] for name in fields}
        return list(may_match_merged(predicate, columns, self.files, len(self.slices)))

    def _add(self, fields: Mapping[str, pa.Field]) -> None:
        """Read the bounds of more columns, in each of the files."""
        if not fields:
            return
        self.files, keys = _keys(list(fields), self.slices)
        by_slice = self.find(pa.concat_arrays([*keys.values()]).drop_null().to_pylist())
        found_keys, statistics = newest_statistics(
            [entries for parts in by_slice for entries in parts]
        )
        for name, of_column in keys.items():
            rows = pc.index_in(of_column, value_set=found_keys)
            bounds = bounds_of_files(statistics.take(rows), fields[name])
            if self.has_rows is None:
                is_known = np.asarray(bounds.low.is_valid())
                self.has_rows = _have_rows(self.history, self.slices, self.files, is_known)
            self.columns[name] = replace(
                bounds,
                may_be_null=bounds.may_be_null & self.has_rows,
                may_have_value=bounds.may_have_value & self.has_rows,
            )


def _have_rows(
    history: CommitHistory, slices: Sequence[FileSlice], slice_of_file: RowNumbers, is_known: Mask
) -> Mask:
    """Return, for each file, whether it may have rows. A log of deletes has no rows and no bounds.

    A log file with rows may lack bounds as well, so its commit decides. If no file of the slice has
    bounds, the commit is not read: its answer would change nothing.
    """
    is_in_doubt = ~is_known & np.isin(slice_of_file, slice_of_file[is_known])
    has_rows = np.ones(len(slice_of_file), np.bool_)
    if not is_in_doubt.any():
        return has_rows
    files = [file for file_slice in slices for file in file_slice.files]
    logs = {n: f for n in np.flatnonzero(is_in_doubt) if isinstance(f := files[n], LogFile)}
    times = {log.instant_time for log in logs.values() if not log.is_deletes}
    metadata_of = history.metadata_of(sorted(times & history.committed.times))
    deleted = {
        stat.path
        for metadata in metadata_of.values()
        if metadata.operation_type.is_delete
        for _, stat in metadata.all_stats()
        if stat.num_deletes and not stat.num_writes
    }
    has_rows[[n for n, log in logs.items() if log.is_deletes or log.path in deleted]] = False
    return has_rows


def newest_statistics(layers: Sequence[Entries]) -> tuple[pa.Array, pa.Array]:
    """Return each key once, with its valid statistics or null.

    Statistics that are not tight extend older ones. They are rare, and become null.
    """
    keyed = ((e, pa.table({"key": e.keys})) for e in reversed(layers))
    tables = [e.decode([_FIELD]) if e.hfile else deleted for e, deleted in keyed]
    # Schemas of releases differ. Arrow concatenates their structs only if all fields may be null.
    nullable_tables = [t.cast(pa.schema([nullable(field) for field in t.schema])) for t in tables]
    table = pa.concat_tables([_NO_STATISTICS, *nullable_tables], promote_options="permissive")
    keys = as_one_array(table["key"])
    statistics = as_one_array(table[_FIELD])
    encoded = keys.dictionary_encode()
    unique = encoded.dictionary
    codes = np.asarray(encoded.indices)
    count = np.bincount(codes, minlength=len(unique))
    rows = np.zeros(len(unique), np.int64)
    rows[codes[::-1]] = np.arange(len(codes))[::-1]  # first row of each key
    fields = _fields_of(statistics.take(rows))
    holds = (count == 1) | is_true(fields["isTightBound"].fill_null(True))  # noqa: FBT003
    holds &= ~is_true(fields["isDeleted"])
    return unique, statistics.take(pc.if_else(pa.array(holds), pa.array(rows), None))


def columns_with_bounds(
    predicate: Predicate, schema: pa.Schema, not_stored: Collection[str]
) -> dict[str, pa.Field]:
    """Return the columns of a filter that may have bounds, by their names in it.

    Args:
        predicate: the filter.
        schema: of the table.
        not_stored: columns that files need not hold, and so have no statistics.
    """
    return {
        name: field
        for name in columns_of(predicate)
        if name.partition(".")[0] not in not_stored
        and (field := find_field(schema, name)) is not None
        and not pa.types.is_nested(field.type)
        and not may_be_uuid_bytes(field)
    }


def is_base_alone(file_slice: FileSlice) -> bool:
    """Return whether a slice is a base file without log files."""
    return file_slice.base_file is not None and not file_slice.log_files


def _keys(
    names: Sequence[str], slices: Sequence[FileSlice]
) -> tuple[RowNumbers, dict[str, pa.StringArray]]:
    """Return each file's slice, by ordinal, and for each column the keys of statistics or null."""
    partitions = partition_keys({s.partition_path for s in slices})
    files = []
    key_suffixes = []
    is_base_only = []
    for number, file_slice in enumerate(slices):
        of_slice = file_slice.files
        files += [number] * len(of_slice)
        partition = partitions[file_slice.partition_path]
        key_suffixes += [partition + file_key(file) for file in of_slice]
        is_base_only += [is_base_alone(file_slice)] * len(of_slice)
    all_keys = pa.array(key_suffixes, pa.string())
    # Writers fill in the meta columns of log records, whatever the statistics say.
    no_key = pa.scalar(None, pa.string())
    base_keys = pc.if_else(pa.array(is_base_only, pa.bool_()), all_keys, no_key)
    keys = {
        name: pc.binary_join_element_wise(
            hashed, base_keys if name in META_COLUMNS else all_keys, ""
        )
        for name, hashed in column_keys(names).items()
    }
    return np.array(files, np.int64), keys


def bounds_of_files(statistics: pa.StructArray, field: pa.Field) -> ColumnBounds:
    """Return the bounds of a column in some files; a file without statistics has none.

    Null counts prove that there is no null, and never that there is nothing else: Hudi also counts
    values as nulls that it does not compare, or that have no statistics in the file's footer. They
    prove nothing if the file has another type, since some of its values may become null.
    """
    parts = _fields_of(statistics)
    ordinals = np.asarray(parts["typeOrdinal"].cast(pa.int64()).fill_null(0))
    wrappers = [_branches(parts[name]) for name in ("minValue", "maxValue")]
    # Minimum and maximum are both 0 if a footer has neither.
    are_defaults = np.logical_and(*(_are_zero(of, len(statistics)) for of in wrappers))
    low, high = (
        _values(branches, are_defaults, ordinals, parts["additionalInfo"], field.type)
        for branches in wrappers
    )
    low, high = widen_bounds(low, high)  # the statistics do not name their file's calendar
    may_be_null = ~is_true(pc.equal(parts["nullCount"], 0))
    if pa.types.is_string(field.type) or pa.types.is_binary(field.type):
        # Parquet writes no statistics if minimum and maximum take more than 4,096 bytes. Hudi
        # counts all values of such a row group as nulls, and takes the bounds of other row groups.
        low, high = (pc.if_else(pa.array(may_be_null), None, of) for of in (low, high))
    elif pa.types.is_floating(field.type):
        for branch in wrappers[0]:
            if not pa.types.is_floating(branch.type):
                may_be_null = may_be_null | np.asarray(branch.is_valid())
    else:
        may_be_null = may_be_null | ~np.asarray(pc.and_(low.is_valid(), high.is_valid()))
    in_millis = counts_milliseconds(field)
    if in_millis or (pa.types.is_timestamp(field.type) and field.type.tz is None):
        # See `repair_timestamps`: other files may be read in another unit than their statistics.
        is_known = np.isin(ordinals, _IN_MILLIS if in_millis else _LOCAL_MICROS)
        low, high = (pc.if_else(pa.array(is_known), of, None) for of in (low, high))
        may_be_null = may_be_null | ~is_known
    return ColumnBounds(low, high, may_be_null, np.ones(len(statistics), np.bool_))


def _fields_of(statistics: pa.StructArray) -> dict[str, pa.Array]:
    """Return the fields of statistics and of their types; null for fields that a writer lacks."""
    fields = dict(zip(statistics.type.names, statistics.flatten(), strict=True))
    if (kinds := fields.get("valueType")) is not None:
        fields |= dict(zip(kinds.type.names, kinds.flatten(), strict=True))
    return {
        name: fields[name] if name in fields else pa.nulls(len(statistics), data_type)
        for name, data_type in _FIELDS.items()
    }


def _branches(wrapper: pa.Array) -> list[pa.Array]:
    """Return the values of a bound, one array for each branch of the union that has values."""
    branches = wrapper.flatten() if pa.types.is_struct(wrapper.type) else []
    fields = ((b, b.type.get_field_index("value")) for b in branches if b.null_count < len(b))
    return [branch.flatten()[index] for branch, index in fields if index >= 0]


def _values(
    branches: Sequence[pa.Array],
    are_defaults: Mask,
    ordinals: RowNumbers,
    infos: pa.Array,
    data_type: pa.DataType,
) -> pa.Array:
    """Return bounds in the type of the column; null for bounds that may differ in its order."""
    merged = pa.nulls(len(ordinals), data_type)
    for ordinal in np.unique(ordinals).tolist():
        is_meant = (ordinals == ordinal) & ~are_defaults
        for branch in branches:
            values = pc.if_else(pa.array(is_meant), branch, None)
            with suppress(pa.ArrowInvalid):  # if one value does not fit, none is used
                merged = pc.coalesce(merged, _certain(_logical(values, ordinal, infos), data_type))
    return merged


def _logical(values: pa.Array, ordinal: int, infos: pa.Array) -> pa.Array:
    """Return wrapped values in the logical type that the ordinal names."""
    if ordinal == _DECIMAL and pa.types.is_binary(values.type):
        scaled = zip(values.to_pylist(), infos.to_pylist(), strict=True)
        return pa.array([_decimal(of, info) for of, info in scaled])
    if not pa.types.is_integer(values.type):
        return values
    if ordinal == _DATE:
        return values.cast(pa.int32()).cast(pa.date32())
    if ordinal in _TIMES:
        return values.cast(pa.int64()).cast(pa.timestamp(*_TIMES[ordinal]))
    return values


def _certain(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Cast values to the type of a column; null if they may have another order in it."""
    zoned, is_zoned = (getattr(of, "tz", None) is not None for of in (values.type, data_type))
    is_certain = any(is_one(values.type) and is_one(data_type) for is_one in _CERTAIN)
    if zoned != is_zoned or not is_certain:
        return pa.nulls(len(values), data_type)
    if pa.types.is_string(data_type):
        return pc.if_else(pc.match_substring_regex(values, _BEYOND_SURROGATES), None, values)
    return values.cast(data_type)


def _are_zero(branches: Sequence[pa.Array], count: int) -> Mask:
    """Return a mask of the files whose bound is 0."""
    is_zero = np.zeros(count, np.bool_)
    for values in branches:
        if pa.types.is_binary(values.type):
            is_zero |= is_true(pc.match_substring_regex(values, r"^\x00*$"))
        elif pa.types.is_boolean(values.type):
            is_zero |= is_true(pc.invert(values))
        elif not pa.types.is_string(values.type):
            is_zero |= is_true(pc.equal(values, 0))
    return is_zero


def bound_value(statistics: Mapping[str, Any], bound: str) -> pa.Scalar | None:
    """Return a minimum or maximum of a column; None if there is none."""
    if statistics[bound] is None:
        return None
    kind = statistics.get("valueType") or {}
    value = pa.array([statistics[bound]["value"]])
    info = pa.array([kind.get("additionalInfo")])
    return _logical(value, kind.get("typeOrdinal", 0), info)[0]


def _decimal(unscaled: bytes | None, info: str | None) -> Decimal | None:
    """Return a decimal by its digits, and the precision and scale that the statistics note."""
    noted = _DIGITS.fullmatch(info or "")
    if unscaled is None or noted is None:
        return None
    return scaled_decimal(int.from_bytes(unscaled, "big", signed=True), int(noted["scale"]))


# Floating-point numbers are missing here: the footer of a file with a NaN has no bounds for that
# row group, and Hudi takes 0 for them, even beside bounds of other row groups (golden table
# x_v9_cow_ix_stats_base).
_CERTAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_decimal,
)
