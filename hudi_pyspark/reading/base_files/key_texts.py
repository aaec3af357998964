"""Whether record keys have the texts of their key fields, as the footer of a base file shows.

A filter on key fields asks for record keys by the texts of its values. A key may have another text
than the value that the reader shows: writers make text of a date in several ways, a column that is
text now may have been a number, and a writer may have had the fields in another order. Rows with
such keys would be missing. So only files are searched by such keys whose bounds agree:

================  ================================================================================
one field, text   In each row group, the least and the greatest key are the bounds of the field.
other fields      The parts of the least and of the greatest key lie within the bounds of the
                  fields. The fields are texts and whole numbers in the file.
================  ================================================================================
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.errors import SchemaEvolutionError
from hudi_pyspark.format.bucket_keys import EMPTY_PART, NULL_PART
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.parquet.checked_file import chunk_bounds, chunk_statistics
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

_is_number = re.compile(r"0|-?[1-9][0-9]*", re.ASCII).fullmatch


class _Bounds(NamedTuple):
    """The bounds of a column in a row group."""

    low: str | int
    high: str | int
    may_be_null: bool


def shows_texts(file: pq.ParquetFile, key_fields: Sequence[str]) -> bool:
    """Return whether the record keys of a file have the texts of their key fields.

    Args:
        file: the open file. False if it lacks a field, the record keys, or bounds of one of them.
        key_fields: in the order in which keys have them. Names match in any case.
    """
    schema = file.schema_arrow
    try:
        names = match_names((RECORD_KEY_COLUMN, *key_fields), schema.names)
    except SchemaEvolutionError:
        return False
    types = [schema.field(name).type for name in names.values()]
    if len(names) <= len(key_fields) or not all(map(_has_one_text, types)):
        return False
    leaves = {file.schema.column(i).path: i for i in range(len(file.schema))}
    metadata = file.metadata
    for group in range(metadata.num_row_groups):
        if metadata.row_group(group).num_rows:
            found = {name: _bounds(file, group, leaves[names[name]]) for name in names}
            bounds = {name: of for name, of in found.items() if of is not None}
            if len(bounds) < len(names) or not _agree(bounds, key_fields):
                return False
    return True


def _has_one_text(data_type: pa.DataType) -> bool:
    """Return whether all writers make the same text of the values of a type."""
    return bool(pa.types.is_string(data_type) or pa.types.is_integer(data_type))


def _bounds(file: pq.ParquetFile, group: int, leaf: int) -> _Bounds | None:
    statistics = chunk_statistics(file.metadata, group, leaf)
    if statistics is None or not statistics.has_min_max:
        return None
    with suppress(pa.ArrowException, ValueError):
        low, high = (end.as_py() for end in chunk_bounds(statistics))
        may_be_null = not statistics.has_null_count or statistics.null_count > 0
        if isinstance(low, str | int) and isinstance(high, str | int):
            return _Bounds(low, high, may_be_null)
    return None


def _agree(bounds: Mapping[str, _Bounds], key_fields: Sequence[str]) -> bool:
    keys = bounds[RECORD_KEY_COLUMN]
    if len(key_fields) > 1:
        parts = re.compile(",".join(f"{re.escape(name)}:(.*)" for name in key_fields), re.DOTALL)
        found = [parts.fullmatch(str(key)) for key in (keys.low, keys.high)]
        return all(
            match is not None
            and all(
                _is_within(text, bounds[name])
                for name, text in zip(key_fields, match.groups(), strict=True)
            )
            for match in found
        )
    name = key_fields[0]
    of_field = bounds[name]
    ends = [(keys.low, of_field.low), (keys.high, of_field.high)]
    if isinstance(of_field.low, str):
        return all(key in (end, f"{name}:{end}") for key, end in ends)
    return all(_is_within(str(key).removeprefix(f"{name}:"), of_field) for key, _ in ends)


def _is_within(text: str, bounds: _Bounds) -> bool:
    if text == NULL_PART:
        return bounds.may_be_null
    if isinstance(bounds.low, int) and isinstance(bounds.high, int):
        return _is_number(text) is not None and bounds.low <= int(text) <= bounds.high
    value = ("" if text == EMPTY_PART else text).encode()
    return str(bounds.low).encode() <= value <= str(bounds.high).encode()
