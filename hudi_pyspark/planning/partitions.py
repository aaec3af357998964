"""Partition columns: their values in paths or data files, and the partitions that a filter needs.

With a global index, a row may stay in its old folder although its partition value has changed.
Apache Hudi 1.x shows the value of the folder for the row, so the rows agree with pruning by path.

Some values share a folder, and the file says which of them a row has:

    __HIVE_DEFAULT_PARTITION__    null, and the empty text
    default                       up to table version 4 (Apache Hudi 0.11) null, the empty text, and
                                  the text itself
"""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import text_scalar
from hudi_pyspark.columns.arrays import Mask, any_of, is_null, is_number, repeat
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.evaluation import ColumnBounds, holds, may_match_merged
from hudi_pyspark.filter.literals import parse_date
from hudi_pyspark.filter.predicate import Predicate, columns_of, conjunction, conjuncts
from hudi_pyspark.format.nested_types import counts_milliseconds
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.tasks import PartitionColumn, PartitionValues, ValueSource

NULL_PARTITION_VALUE = "__HIVE_DEFAULT_PARTITION__"
_OLD_NULL_PARTITION_VALUE = "default"
_DATE_FOLDERS = re.compile(r"\d{4}/\d{2}/\d{2}")
# Whether a folder name shows the whole value.
_is_exact = any_of(pa.types.is_string, pa.types.is_boolean, pa.types.is_date, is_number)
_DIGITS_OF_A_DATE = 8  # as a number of days it is a year beyond 29,000
_AFTER_SLASH = "0"  # the character that follows the slash


def resolve_partition_values(
    partition_path: str,
    config: TableConfig,
    schema: pa.Schema,
    *,
    always_from_path: bool,
    read_for_merge: Collection[str] = (),
) -> PartitionValues:
    """Decide which partition columns of a partition get their values from its path.

    Args:
        partition_path: relative to the table.
        config: of the table.
        schema: of the table.
        always_from_path: whether the path gives all values.
        read_for_merge: columns whose stored values the merge needs.

    Raises:
        CorruptTableError: the path does not fit the columns, and ``always_from_path`` is set.
    """
    types = {
        name: path_type(schema.field(name))
        for name in config.partition_fields
        if schema.get_field_index(name) >= 0
    }
    try:
        values = partition_scalars(partition_path, config, types)
    except CorruptTableError:
        if always_from_path:
            raise
        values = {}
    decided = _columns_of_paths(config, schema)
    if values:
        decided -= ambiguous_columns(partition_path, config, types)
    columns = []
    for name in config.partition_fields:
        if name not in values:
            source = ValueSource.FILE
        elif always_from_path:
            # A merge may have rewritten the table's files with the columns, as nulls.
            source = ValueSource.PATH_ALONE
        elif name not in decided:
            source = ValueSource.FILE_OR_PATH
        elif shares_folder(values[name], config):
            source = ValueSource.FILE_IN_SHARED_FOLDER
        else:
            source = ValueSource.PATH if name in read_for_merge else ValueSource.PATH_ALONE
        columns.append(PartitionColumn(name, values.get(name), source))
    return PartitionValues(tuple(columns))


def shares_folder(value: pa.Scalar, config: TableConfig) -> bool:
    """Return whether rows with other values lie in the folder of this value of a column."""
    if not pa.types.is_string(value.type):
        return False
    return not value.is_valid or _is_old_null(value.as_py(), config)


def _is_old_null(text: str | None, config: TableConfig) -> bool:
    """Return whether the text of a folder may stand for null in an old table."""
    return text == _OLD_NULL_PARTITION_VALUE and config.has_old_null_folders


def keep_undecided(predicate: Predicate | None, partition: PartitionValues) -> Predicate | None:
    """Return the part of a filter that a partition's path does not decide; None if none is left."""
    parts = conjuncts(predicate)
    return conjunction([p for p in parts if not columns_of(p) <= set(partition.from_path)])


def _columns_of_paths(config: TableConfig, schema: pa.Schema) -> set[str]:
    """Return the partition columns whose folders give their values, unless `_is_ambiguous`."""
    return {
        name
        for name in config.partition_fields
        if schema.get_field_index(name) >= 0
        and name not in config.timestamp_partition_fields
        # Stored values order the records, so the stored values are also shown.
        and name not in config.ordering_fields
        and _is_exact(schema.field(name).type)
    }


def ambiguous_columns(
    partition_path: str, config: TableConfig, types: Mapping[str, pa.DataType]
) -> set[str]:
    """Return the partition columns whose folders may stand for several values.

    The path has one folder per partition column, and ``types`` has the types of those that matter.
    """
    folders = zip(config.partition_fields, _folders(partition_path, config), strict=True)
    return {n for n, text in folders if n in types and _is_ambiguous(n, text, types[n], config)}


def _is_ambiguous(name: str, folder: str, data_type: pa.DataType, config: TableConfig) -> bool:
    """Return whether a folder may stand for several texts, of which the file has one.

    It may have been made of a character or of what looks like its escape, of a value alone or with
    the column's name before it, and of a text with slashes or with hyphens.
    """
    if not pa.types.is_string(data_type):
        return False
    if not config.url_encode_partitions and "%" in folder and unquote(folder) != folder:
        return True
    is_named = _begins_with_name(name, folder)
    if config.denies_hive_style and is_named:
        return True
    text = folder[len(name) + 1 :] if is_named else folder
    is_date = _DATE_FOLDERS.fullmatch(text) is not None
    if config.slash_separated_dates:  # the writer was told that the values are dates with hyphens
        return "/" in text and not is_date
    return config.may_have_slash_dates and is_date


def _begins_with_name(name: str, folder: str) -> bool:
    """Return whether a folder begins with the name of a column and ``=``."""
    # The schema may spell the column differently from the properties and the folders.
    return folder[: len(name) + 1].lower() == f"{name}=".lower()


def path_type(field: pa.Field) -> pa.DataType:
    """Return the type in which folder names show the values of a column."""
    if pa.types.is_timestamp(field.type) and counts_milliseconds(field):
        return pa.timestamp("ms", field.type.tz)
    return field.type


def _folders(partition_path: str, config: TableConfig) -> list[str]:
    """Split a path into one folder per column; the value of a single column may have slashes."""
    if not config.partition_fields:
        return []
    is_single = len(config.partition_fields) == 1
    return [partition_path] if is_single else partition_path.split("/")


def _folder_values(
    name: str, folders: Sequence[str], data_type: pa.DataType, config: TableConfig
) -> tuple[pa.Array, Mask]:
    """Return the value of a column for each folder, and which folder names are values of its type.

    A value is null if the folder says so, or if its name is not a value of the type.
    """
    texts = [_folder_text(name, folder, data_type, config) for folder in folders]
    if pa.types.is_string(data_type) or pa.types.is_integer(data_type):
        with suppress(pa.ArrowInvalid):  # some texts are not numbers
            return pa.array(texts, pa.string()).cast(data_type), np.ones(len(texts), np.bool_)
    values = [pa.nulls(1, data_type)] * len(texts)
    is_known = np.zeros(len(texts), np.bool_)
    for place, (folder, text) in enumerate(zip(folders, texts, strict=True)):
        with suppress(CorruptTableError):
            values[place] = repeat(_cast(name, text, data_type, folder), 1)
            is_known[place] = True
    return pa.concat_arrays(values), is_known


def _folder_text(name: str, folder: str, data_type: pa.DataType, config: TableConfig) -> str | None:
    """Return the text of a column's value in the name of a folder; None if the value is null."""
    # Like Apache Hudi, go by the folder, whatever hoodie.datasource.write.hive_style_partitioning
    # says: if it denies names, `_is_ambiguous` lets the file decide.
    is_hive_style = _begins_with_name(name, folder)
    text = folder[len(name) + 1 :] if is_hive_style else folder
    if text == NULL_PARTITION_VALUE:
        return None
    if config.slash_separated_dates:  # writers replace all hyphens, also those of other texts
        text = text.replace("/", "-")
    if config.url_encode_partitions or is_hive_style:
        text = unquote(text)
    is_null = _is_old_null(text, config) and not pa.types.is_string(data_type)
    return None if is_null else text


def partition_scalars(
    partition_path: str, config: TableConfig, types: Mapping[str, pa.DataType]
) -> dict[str, pa.Scalar]:
    """Return the values of a path's partition columns, as far as ``types`` names the columns.

    A single column may span several folders (a value with slashes); otherwise there is one folder
    per column.

    Raises:
        CorruptTableError: the path does not have one folder per partition column, or a folder name
            is not a value of the type.
    """
    names = config.partition_fields
    if not names:
        return {}
    folders = _folders(partition_path, config)
    if len(folders) != len(names):
        raise CorruptTableError(
            f"partition path {partition_path!r} has {len(folders)} folders, but "
            f"hoodie.table.partition.fields names {len(names)} columns: {', '.join(names)}"
        )
    values: dict[str, pa.Scalar] = {}
    for name, folder in zip(names, folders, strict=True):
        if name in types:
            text = _folder_text(name, folder, types[name], config)
            values[name] = _cast(name, text, types[name], partition_path)
    return values


def _cast(name: str, text: str | None, target: pa.DataType, partition_path: str) -> pa.Scalar:
    if text is None:
        return pa.nulls(1, target)[0]
    try:
        if pa.types.is_timestamp(target) and text.lstrip("-").isdigit():
            # Key generators write a timestamp as its microseconds since the epoch.
            return pa.scalar(int(text), target)
        # Flink writes 20240131, and up to 0.9 no key generator into the properties.
        digits = text.lstrip("-")
        is_short = digits.isdigit() and len(digits) < _DIGITS_OF_A_DATE
        if pa.types.is_date32(target) and is_short:
            return pa.scalar(int(text), pa.int32()).cast(target)
        if pa.types.is_date32(target):
            return parse_date(text)
        return pc.cast(text_scalar(text), target)
    except (ValueError, OverflowError, pa.ArrowNotImplementedError) as error:
        raise CorruptTableError(
            f"partition path {partition_path!r}: {text!r} is not a value of type {target} for "
            f"partition column {name!r}"
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class _PathColumn:
    """What folder names say about one column. Each array has one item per folder."""

    values: pa.Array  # null if the value is null or unknown
    is_exact: Mask  # all rows below the folder have the value
    bounds: ColumnBounds  # of the rows below the folder


@dataclass(frozen=True, eq=False)
class PartitionPruner:
    """Chooses partitions by the values that their paths give to rows.

    `choose` decides about partitions, `containing` about the folders above them, which show only
    the first values, and perhaps only a part of the last one.
    """

    predicate: Predicate | None  # None chooses all partitions
    config: TableConfig
    schema: pa.Schema  # of the table
    always_from_path: bool  # the path gives all partition values

    def choose(self, partition_paths: Sequence[str]) -> list[str]:
        """Return the partitions that can have rows for which the filter is true, in their order.

        A partition stays if its path does not have one folder per partition column.
        """
        return list(compress(partition_paths, self._may_pass(partition_paths, is_below=False)))

    def containing(self, folders: Sequence[str]) -> list[str]:
        """Return the folders that may contain a partition that passes the filter, in their order.

        The folders have the same depth, and may be partitions themselves. A folder stays if its
        name does not decide.
        """
        return list(compress(folders, self._may_pass(folders, is_below=True)))

    def _may_pass(self, paths: Sequence[str], *, is_below: bool) -> Mask:
        """Decide for each path whether rows may pass: rows in its folder, or ``is_below`` it."""
        fields = self.config.partition_fields
        parts = [p for p in conjuncts(self.predicate) if not columns_of(p).isdisjoint(fields)]
        paths_folders = [_folders(path, self.config) for path in paths]
        depth = min(map(len, paths_folders), default=0) if is_below else len(fields)
        is_decided = np.array([depth == len(folders) <= len(fields) for folders in paths_folders])
        decided = list(compress(paths_folders, is_decided))
        if not parts or not decided:
            return np.ones(len(paths), np.bool_)
        usable_columns = _columns_of_paths(self.config, self.schema)
        if self.always_from_path:
            usable_columns = {*self.schema.names}
        columns = {
            name: self._column(name, [folders[place] for folders in decided], is_below=is_below)
            for place, name in enumerate(fields[:depth])
            if name in usable_columns
        }
        bounds = {name: column.bounds for name, column in columns.items()}
        values = {name: column.values for name, column in columns.items()}
        count = len(decided)
        mask = np.ones(count, np.bool_)
        for part in parts:
            mask &= may_match_merged(part, bounds, np.arange(count), count)
            if columns_of(part) <= columns.keys():
                # Bounds decide no LIKE beyond its prefix, and no negated condition.
                exact = [columns[name].is_exact for name in columns_of(part)]
                mask &= ~np.logical_and.reduce(exact) | holds(part, pa.table(values))
        if is_below:
            for place in filter(self._may_continue, range(depth - 1)):
                mask |= self._may_pass_continued(parts, place, decided, columns)
        is_decided[is_decided] = ~mask
        return ~is_decided

    def _may_continue(self, place: int) -> bool:
        """Return whether the values of a partition column may take several folders."""
        name = self.config.partition_fields[place]
        if self.schema.get_field_index(name) < 0:
            return True
        data_type = self.schema.field(name).type
        if self._may_be_slash_date(data_type):
            return True
        if self.config.url_encode_partitions:
            return False
        is_formatted = name in self.config.timestamp_partition_fields
        return is_formatted or pa.types.is_string(data_type) or not _is_exact(data_type)

    def _may_be_slash_date(self, data_type: pa.DataType) -> bool:
        """Return whether the values of a type may be dates in a folder for each of their parts."""
        is_date = pa.types.is_string(data_type) or pa.types.is_date(data_type)
        return self.config.may_have_slash_dates and is_date

    def _may_pass_continued(
        self,
        parts: Sequence[Predicate],
        place: int,
        folders: Sequence[Sequence[str]],
        columns: Mapping[str, _PathColumn],
    ) -> Mask:
        """Decide as `_may_pass` if the value at a place takes the next folder as well.

        A folder that begins with the name of the next column is not a part of the value. Nothing is
        known of the columns that follow.
        """
        name, next_name, *_ = self.config.partition_fields[place:]
        bounds = {
            n: columns[n].bounds for n in self.config.partition_fields[:place] if n in columns
        }
        if name in columns:
            joined = ["/".join(of_path[place : place + 2]) for of_path in folders]
            bounds[name] = self._column(name, joined, is_below=True).bounds
        is_named = [
            _begins_with_name(next_name, of_path[place + 1]) and not self.config.denies_hive_style
            for of_path in folders
        ]
        mask = ~np.array(is_named, np.bool_)
        for part in parts:
            mask &= may_match_merged(part, bounds, np.arange(len(folders)), len(folders))
        return mask

    def _column(self, name: str, folders: Sequence[str], *, is_below: bool) -> _PathColumn:
        data_type = path_type(self.schema.field(name))
        values, is_known = _folder_values(name, folders, data_type, self.config)
        may_continue = pa.types.is_string(data_type) and not self.config.url_encode_partitions
        if not self.always_from_path:
            is_known &= [not _is_ambiguous(name, f, data_type, self.config) for f in folders]
        place = self.config.partition_fields.index(name)
        is_plain = pa.types.is_string(data_type) and not self._may_be_slash_date(data_type)
        if is_below and self._may_continue(place) and not is_plain:
            is_known = np.zeros(len(folders), np.bool_)  # a part of a date is no date
        has_value = is_known & ~is_null(values)
        low = high = pc.if_else(pa.array(has_value), values, None)
        is_shared = np.zeros(len(folders), np.bool_)  # whether rows with other values are there
        if pa.types.is_string(data_type) and not self.always_from_path:
            is_shared = is_known & [shares_folder(value, self.config) for value in values]
        if is_shared.any():  # by null, "", and the value that the folder shows, if any
            low = pc.if_else(pa.array(is_shared & has_value), "", low)
        all_folders = np.ones(len(folders), np.bool_)
        may_be_null = ~has_value | is_shared
        if is_below:
            # If slashes are not encoded, the value may continue in the folders below.
            high = pc.binary_join_element_wise(high, _AFTER_SLASH, "") if may_continue else high
            bounds = ColumnBounds(low, high, may_be_null, all_folders)
            return _PathColumn(values, ~all_folders, bounds)
        is_null_value = is_known & ~has_value
        if is_shared.any():
            shows_null = pa.array(is_shared & is_null_value)
            low, high = (pc.if_else(shows_null, "", bound) for bound in (low, high))
        bounds = ColumnBounds(low, high, may_be_null, ~is_null_value | is_shared)
        return _PathColumn(values, is_known & ~is_shared, bounds)
