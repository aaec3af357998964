"""Conversion of a file's columns to the reader's: matched by name or id, promoted as in Hudi."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import any_of, is_number, repeat
from hudi_pyspark.columns.casts import convert_numbers, parse_texts, round_to_decimal
from hudi_pyspark.columns.column_names import AmbiguousNamesError, match_names
from hudi_pyspark.columns.text import java_text, widen_floats
from hudi_pyspark.columns.variant import MalformedVariantError, rebuild_variants
from hudi_pyspark.errors import CorruptTableError, SchemaEvolutionError
from hudi_pyspark.format.nested_types import (
    TYPED_VALUE,
    is_variant,
    resolve_case,
    with_items,
    without_offset,
)
from hudi_pyspark.format.timeline.internal_schema import ListPart, MapPart, StructPart

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.internal_schema import InternalSchema, Part

_Test: TypeAlias = Callable[[pa.DataType], bool]
_Rules: TypeAlias = tuple[tuple[_Test, _Test, Callable[[pa.Array, pa.DataType], Any]], ...]


def conform(
    table: pa.Table,
    schema: pa.Schema,
    constants: Mapping[str, pa.Scalar],
    *,
    source: str,
    casts: bool = False,
) -> pa.Table:
    """Give a table exactly a schema; columns that the file lacks are null, or their constant.

    With ``casts``, types that no evolution leads to are converted as well, as for a column that was
    dropped and added again; see `casts`.

    Raises:
        SchemaEvolutionError: a column cannot be converted; ``source`` says where it is.
    """
    if table.schema.equals(schema):
        return table
    rules = _DECIMALS + _SCALAR_RULES + _CASTS if casts else _SCALAR_RULES
    columns = []
    for field in schema:
        index = table.schema.get_field_index(field.name)
        if index >= 0:
            columns.append(_conform_column(table.column(index), field, source, rules))
        elif field.name in constants:
            columns.append(repeat(constants[field.name].cast(field.type), table.num_rows))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    if not columns:
        return table.select([])
    return pa.Table.from_arrays(columns, schema=schema)


def _conform_column(
    column: pa.ChunkedArray, field: pa.Field, source: str, rules: _Rules
) -> pa.ChunkedArray:
    if column.type.equals(field.type):
        return column
    try:
        chunks = [_promote(chunk, field.type, rules) for chunk in column.chunks]
    except (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        AmbiguousNamesError,
        _NoPromotion,
    ) as error:
        raise SchemaEvolutionError(
            f"{source}: column {field.name!r} is stored as {column.type}, which cannot be read as "
            f"the table's type {field.type} ({error}). Read the other columns, or write these rows "
            "again with values of that type"
        ) from error
    except MalformedVariantError as error:
        raise CorruptTableError(
            f"{source}: column {field.name!r} has a shredded variant that cannot be put together: "
            f"{error}. Restore the file from a copy, or read the other columns"
        ) from error
    return pa.chunked_array(chunks, type=field.type)


class _NoPromotion(TypeError):
    """Raised where no rule leads from one type to the other."""


def _promote(array: pa.Array, target: pa.DataType, rules: _Rules) -> pa.Array:
    """Convert an array by Hudi's rules of type promotion."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    data_type = array.type
    if data_type.equals(target):
        return array
    if pa.types.is_null(data_type):
        return pa.nulls(len(array), target)
    if pa.types.is_struct(target) and pa.types.is_struct(data_type):
        return _promote_struct(array, target, rules)
    if pa.types.is_map(target) and pa.types.is_map(data_type):
        return _promote_map(array, target, rules)
    if _is_list(target) and _is_list(data_type):
        array = without_offset(array.cast(pa.list_(data_type.value_field)))
        return with_items(array, _promote(array.values, target.value_type, rules), target)
    for is_stored, is_target, convert in rules:
        if is_stored(data_type) and is_target(target):
            return convert(array, target)
    raise _NoPromotion("no rule of schema evolution")


def _promote_struct(array: pa.StructArray, target: pa.StructType, rules: _Rules) -> pa.Array:
    children = []
    stored = [field.name for field in array.type]
    if TYPED_VALUE in stored and is_variant(target):
        return rebuild_variants(array)
    if TYPED_VALUE in stored and _is_binaries_of_variant(target):
        raise _NoPromotion("the file has a shredded VARIANT, the table an ordinary struct")
    matched = match_names([field.name for field in target], stored)
    for field in target:
        if field.name in matched:
            child = pc.struct_field(array, [stored.index(matched[field.name])])
            children.append(_promote(child, field.type, rules))
        else:
            children.append(pa.nulls(len(array), field.type))
    mask = pc.is_null(array) if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)


def _is_binaries_of_variant(target: pa.StructType) -> bool:
    return {field.name for field in target} == {"metadata", "value"} and all(
        _is_bytes(field.type) for field in target
    )


def _promote_map(array: pa.MapArray, target: pa.MapType, rules: _Rules) -> pa.Array:
    array = without_offset(array)
    entries = pa.StructArray.from_arrays(
        [
            _promote(array.keys, target.key_type, rules),
            _promote(array.items, target.item_type, rules),
        ],
        fields=[target.key_field, target.item_field],
    )
    return with_items(array, entries, target)


_is_list = any_of(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def _timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    # Instants and wall-clock times share their representation, so no zone is applied; finer than
    # microseconds comes only from INT96, where Hudi and Spark drop the rest too.
    truncated = pc.CastOptions(pa.timestamp(target.unit), allow_time_truncate=True)
    return pc.cast(pc.cast(array, options=truncated), target)


def _integer_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    # A direct cast requires digits for every integer of the type; this one only for the values.
    return pc.cast(pc.cast(array, pa.decimal128(20, 0)), target)


def _float_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    converted = convert_numbers(array, target)
    if converted.null_count > array.null_count:
        raise pa.ArrowInvalid(f"a value does not fit {target}")
    return converted


def _date_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    # Apache Hudi prints such years in one way from Avro, and in another from Parquet.
    texts = pc.cast(array, target)
    if pc.any(pc.match_substring_regex(texts, "^([<-]|0000|[0-9]{5})")).as_py():
        raise _NoPromotion("a date below the year 1 or beyond 9999 has no text")
    return texts


_is_text = any_of(pa.types.is_string, pa.types.is_large_string)
_is_bytes = any_of(
    _is_text, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
)


def _is_local_timestamp(data_type: pa.DataType) -> bool:
    return data_type in (pa.timestamp("ms"), pa.timestamp("us"))


def _vector(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert fixed bytes, the little-endian elements of a vector, to lists of elements."""
    element = target.value_type.to_pandas_dtype()
    lengths = np.asarray(pc.fill_null(pc.binary_length(array.cast(pa.binary())), 0))
    width = np.dtype(element).itemsize
    if (lengths % width).any():
        raise _NoPromotion(f"vectors of {lengths.max()} bytes do not hold whole elements")
    valid = array.drop_null().cast(pa.binary())
    numbers = np.frombuffer(b"".join(valid.to_pylist()), np.dtype(element).newbyteorder("<"))
    offsets = np.concatenate(([0], np.cumsum(lengths // width))).astype(np.int32)
    mask = pc.is_null(array) if array.null_count else None
    values = pa.array(numbers.astype(element), target.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=target, mask=mask)


def _is_vector(data_type: pa.DataType) -> bool:
    is_element = any_of(pa.types.is_floating, pa.types.is_int8)
    return pa.types.is_list(data_type) and is_element(data_type.value_type)


# Tests of the stored type and of the target, and the conversion. The first rule that fits is used.
_SCALAR_RULES: _Rules = (
    (_is_bytes, _is_bytes, pc.cast),
    (_is_bytes, _is_vector, _vector),
    (pa.types.is_timestamp, pa.types.is_timestamp, _timestamp),
    (pa.types.is_integer, pa.types.is_integer, pc.cast),
    # In Avro a local timestamp is a long with a name. Instants that became numbers are refused:
    # Apache Hudi reads them in microseconds from Avro, and in seconds from Parquet.
    (_is_local_timestamp, pa.types.is_int64, lambda array, target: array.view(target)),
    (pa.types.is_time, pa.types.is_integer, pc.cast),  # Spark has no type for a time of day
    (pa.types.is_integer, pa.types.is_floating, partial(pc.cast, safe=False)),
    (pa.types.is_float32, pa.types.is_float64, lambda array, _: widen_floats(array)),
    (pa.types.is_integer, pa.types.is_decimal, _integer_to_decimal),
    (pa.types.is_floating, pa.types.is_decimal, _float_to_decimal),
    (pa.types.is_decimal, pa.types.is_decimal, pc.cast),
    (pa.types.is_date, pa.types.is_date, pc.cast),
    (any_of(pa.types.is_integer, pa.types.is_boolean), pa.types.is_string, pc.cast),
    (pa.types.is_date, pa.types.is_string, _date_text),
    (pa.types.is_decimal, pa.types.is_string, pc.cast),
    (pa.types.is_floating, pa.types.is_string, lambda array, _: java_text(array)),
)

# In place of the same rules above: what does not fit is null.
_DECIMALS: _Rules = (
    (pa.types.is_floating, pa.types.is_decimal, convert_numbers),
    (is_number, pa.types.is_decimal, round_to_decimal),
)
_is_simple = any_of(is_number, pa.types.is_boolean)
# Those of a column that was dropped and added again. Where Apache Hudi itself converts values in
# one way from Parquet and in another from Avro, or by the session's time zone, there is no rule:
# between times and numbers, and between times, dates and text.
_CASTS: _Rules = (
    (_is_text, any_of(_is_simple, pa.types.is_date), parse_texts),
    (pa.types.is_floating, pa.types.is_floating, partial(pc.cast, safe=False)),
    (_is_simple, _is_simple, convert_numbers),
)


@dataclass(frozen=True, slots=True)
class SchemaOnRead:
    """The columns of a query and all versions of the table's columns."""

    target: InternalSchema
    versions: tuple[InternalSchema, ...]  # oldest first

    def stored_names(self, names: Sequence[str], instant: str) -> dict[str, str]:
        """Map columns of a query to their names in the file of an instant, without missing ones.

        One that the internal schema does not know, such as a partition column, keeps its name.
        """
        stored = self._version_of(instant)
        names_in_file: dict[str, str] = {}
        for name in names:
            wanted = self.target.root.by_name(name)
            if wanted is None:
                names_in_file[name] = name
            elif (field := stored.by_id(wanted.id)) is not None:
                names_in_file[name] = field.name
        return names_in_file

    def rename(self, table: pa.Table, stored_names: Mapping[str, str], instant: str) -> pa.Table:
        """Rename a file's columns to the names of the query, nested fields too."""
        stored = self._version_of(instant)
        columns = {}
        for name, stored_name in stored_names.items():
            if stored_name not in table.schema.names:
                continue
            column = table.column(stored_name)
            new, old = self.target.root.by_name(name), stored.by_name(stored_name)
            if new is not None and old is not None and new.part != old.part:
                chunks = [_rename(chunk, new.part, old.part) for chunk in column.chunks]
                column = pa.chunked_array(chunks) if chunks else column
            columns[name] = column
        if not columns:
            return table.select([])
        return pa.table(columns)

    def _version_of(self, instant: str) -> StructPart:
        """Return the columns when a file was written; the oldest ones before all versions."""
        past = [v for v in self.versions if v.version_id <= int(instant)]
        return (past[-1] if past else self.versions[0]).root


def stored_columns(
    schema_on_read: SchemaOnRead | None, names: Sequence[str], instant: str
) -> dict[str, str]:
    """Map columns of a query to their names in a file; without schema on read they are the same."""
    if schema_on_read is None:
        return {name: name for name in names}
    return schema_on_read.stored_names(names, instant)


def _rename(array: pa.Array, new: Part, old: Part) -> pa.Array:
    if isinstance(new, StructPart) and isinstance(old, StructPart):
        return _rename_struct(array, new, old)
    if isinstance(new, ListPart) and isinstance(old, ListPart):
        array = without_offset(array)
        values = _rename(array.values, new.element, old.element)
        mask = pc.is_null(array) if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, values, mask=mask)
    if isinstance(new, MapPart) and isinstance(old, MapPart):
        array = without_offset(array)
        items = _rename(array.items, new.value, old.value)
        mask = pc.is_null(array) if array.null_count else None
        return pa.MapArray.from_arrays(array.offsets, array.keys, items, mask=mask)
    return array


def _rename_struct(array: pa.StructArray, new: StructPart, old: StructPart) -> pa.Array:
    in_file, names, children = [field.name for field in array.type], [], []
    if TYPED_VALUE in in_file and {field.name for field in new.fields} == {"metadata", "value"}:
        return array  # a variant that the file shreds
    for field in new.fields:
        stored = old.by_id(field.id)
        if stored is None or (name := resolve_case(stored.name, in_file)) is None:
            continue
        names.append(field.name)
        child = pc.struct_field(array, [in_file.index(name)])
        children.append(_rename(child, field.part, stored.part))
    if not children:
        return pa.nulls(len(array), pa.struct([]))
    mask = pc.is_null(array) if array.null_count else None
    return pa.StructArray.from_arrays(children, names=names, mask=mask)
