"""Make record keys from key fields, as Hudi's key generators do."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import text_scalar, to_arrow, to_numpy
from hudi_pyspark.columns.arrays import RowNumbers, as_one_array, field_array
from hudi_pyspark.columns.text import spark_value_text
from hudi_pyspark.errors import CorruptTableError, SchemaEvolutionError
from hudi_pyspark.format.avro.schema import arrow_field
from hudi_pyspark.format.bucket_keys import EMPTY_PART, NULL_PART
from hudi_pyspark.format.column_names import match_names, spelled
from hudi_pyspark.format.log.log_block import LogBlock
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

MOST_SLICES = 64
"""Slices whose record keys can be numbered."""
# All numbers of slices have as many digits.
_DIGITS = 2
_FIRST = 10
_NUMBERS = to_arrow(np.arange(_FIRST, _FIRST + MOST_SLICES)).cast(pa.string())
_EMPTY = text_scalar("")


def with_record_key(table: pa.Table, key_fields: Sequence[str]) -> pa.Table:
    """Fill the record key column from key fields; () leaves the table as it is.

    Raises:
        CorruptTableError: as `record_keys`.
    """
    if not key_fields:
        return table
    keys = record_keys(table, key_fields)
    index = table.schema.get_field_index(RECORD_KEY_COLUMN)
    return table.set_column(index, table.schema.field(index), keys)


def number_keys(keys: pa.Array | pa.ChunkedArray, numbers: RowNumbers) -> pa.ChunkedArray:
    """Put a number below `MOST_SLICES` before each key, so that slices may share keys.

    Args:
        keys: record keys of several slices.
        numbers: of the slice of each key.
    """
    return pc.binary_join_element_wise(_NUMBERS.take(to_arrow(numbers)), keys, _EMPTY)


def with_numbered_keys(table: pa.Table, numbers: RowNumbers) -> pa.Table:
    """Return rows whose record keys have the numbers of their slices; see `number_keys`."""
    index = table.schema.get_field_index(RECORD_KEY_COLUMN)
    keys = number_keys(table.column(index), numbers)
    return table.set_column(index, table.schema.field(index), keys)


def split_numbered_keys(keys: pa.ChunkedArray) -> tuple[RowNumbers, pa.ChunkedArray]:
    """Return the numbers and the keys of which `number_keys` made numbered keys."""
    numbers = as_one_array(pc.utf8_slice_codeunits(keys, 0, _DIGITS)).cast(pa.int64())
    return to_numpy(numbers) - _FIRST, pc.utf8_slice_codeunits(keys, _DIGITS)


def record_keys(table: pa.Table, key_fields: Sequence[str]) -> pa.Array:
    """Make the record key of each row, as Hudi's key generators do.

    The key of one field is its text. Several fields are ``field:text`` joined by commas, with null
    and empty text spelt out. Source: Hudi's KeyGenUtils.

    Raises:
        CorruptTableError: the table lacks a key field, or all fields of a row are null or empty.
    """
    texts = [
        spark_value_text(field_array(table, spelled(name, table.schema), role="record key field"))
        for name in key_fields
    ]
    if len(texts) == 1:
        _check_named(pc.is_null(texts[0]), key_fields)
        return texts[0]
    parts = [
        pc.binary_join_element_wise(f"{name}:", _part(text), "")
        for name, text in zip(key_fields, texts, strict=True)
    ]
    is_unnamed = (pc.equal(pc.fill_null(text, ""), "") for text in texts)
    _check_named(reduce(pc.and_, is_unnamed), key_fields)
    return as_one_array(pc.binary_join_element_wise(*parts, ","))


def show_texts(block: LogBlock, key_fields: Sequence[str]) -> bool:
    """Return whether the keys of a data block have the texts of their key fields.

    All writers make the same text of texts and whole numbers. A block of partial updates may lack
    fields.

    Raises:
        CorruptLogBlockError: the header of the block has no schema, or one that cannot be parsed.
        UnsupportedTypeError: the schema has types that cannot be read.
    """
    fields = {field.name: field for field in block.avro_schema().fields}
    try:
        names = match_names(key_fields, fields)
    except SchemaEvolutionError:
        return False
    types = [arrow_field(fields[name]).type for name in names.values()]
    has_all = block.is_partial or len(names) == len(key_fields)
    return has_all and all(pa.types.is_string(t) or pa.types.is_integer(t) for t in types)


def _part(text: pa.Array) -> pa.Array:
    filled = pc.fill_null(text, NULL_PART)
    return pc.if_else(pc.equal(filled, ""), EMPTY_PART, filled)


def _check_named(unnamed: pa.Array, key_fields: Sequence[str]) -> None:
    if pc.any(unnamed).as_py():
        raise CorruptTableError(f"a record has no value in its key fields {', '.join(key_fields)}")
