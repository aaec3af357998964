"""Convert a file's columns to the reader's: matched by name or id, promoted as in Hudi.

Timestamps come first, since files declare some with another type than the table. Hudi 0.x and 1.0
labelled milliseconds as microseconds, and like Flink they left out the types of local timestamps.
The stored numbers fit the table's type, whatever the Avro schema in a footer or log block says, so
they are relabelled and not converted.

Source: ``SchemaRepair`` and ``HoodieSchemaRepair`` of Apache Hudi; golden cases
``hudi_trips_logical_types_*``, ``x_v8_mor_ty_local_units_*``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import is_ascii, uuid_texts
from hudi_pyspark.columns.arrays import any_of, is_number, repeat
from hudi_pyspark.columns.casts import convert_numbers, parse_texts, round_to_decimal
from hudi_pyspark.columns.text import java_text, widen_floats
from hudi_pyspark.columns.variant import MalformedVariantError, rebuild_variants
from hudi_pyspark.errors import CorruptTableError, SchemaEvolutionError
from hudi_pyspark.format.column_names import case_variants, match_names
from hudi_pyspark.format.nested_types import (
    TYPED_VALUE,
    counts_milliseconds,
    is_variant,
    may_be_uuid_bytes,
    replace_columns,
    with_children,
    with_entries,
    with_items,
    without_offset,
)
from hudi_pyspark.format.parquet.legacy_calendar import INT96_ZONE
from hudi_pyspark.format.timeline.internal_schema import ListPart, MapPart, StructPart

if TYPE_CHECKING:
    from hudi_pyspark.format.timeline.internal_schema import InternalField, InternalSchema, Part

_Test: TypeAlias = Callable[[pa.DataType], bool]
_UUID_BYTES = 16
_FEW_TEXTS = 500  # are validated sooner than their bytes are looked at
_Rules: TypeAlias = tuple[tuple[_Test, _Test, Callable[[pa.Array, pa.DataType], Any]], ...]


def conform(
    table: pa.Table,
    schema: pa.Schema,
    constants: Mapping[str, pa.Scalar],
    *,
    source: str,
    casts: bool = False,
) -> pa.Table:
    """Give a table exactly the columns and types of a schema.

    Args:
        table: rows of a file; its columns have the names of the schema.
        schema: of the result.
        constants: values of columns that the file lacks; other missing columns become null.
        source: of the rows, for errors: usually the path.
        casts: also convert between types that no schema evolution connects, as for a column that
            was dropped and added again; see the module `casts`.

    Raises:
        SchemaEvolutionError: a column cannot be converted.
        CorruptTableError: a shredded variant contradicts itself, or a text is not UTF-8.
    """
    stored_schema = table.schema  # pyarrow makes a new one each time
    if stored_schema.equals(schema) and not any(map(may_be_uuid_bytes, schema)):
        _check_texts(table, source)
        return table
    rules = _DECIMALS + _SCALAR_RULES + _CASTS if casts else _SCALAR_RULES
    columns = []
    for field in schema:
        index = stored_schema.get_field_index(field.name)
        if index >= 0:
            columns.append(_conform_column(table.column(index), field, source, rules))
        elif field.name in constants:
            columns.append(repeat(constants[field.name].cast(field.type), table.num_rows))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    if not columns:
        return table.select([])
    conformed = pa.Table.from_arrays(columns, schema=schema)
    _check_texts(conformed, source)
    return conformed


def _check_texts(table: pa.Table, source: str) -> None:
    """Refuse texts that are not UTF-8. Parquet files may have any bytes, which make engines crash.

    Raises:
        CorruptTableError: there is such a text.
    """
    for field, column in zip(table.schema, table.columns, strict=True):
        if not all(_is_utf8(texts) for chunk in column.chunks for texts in _texts_in(chunk)):
            raise CorruptTableError(
                f"{source}: column {field.name!r} has a text that is not UTF-8",
                advice=(
                    "Read the other columns, or write these rows again; Spark's decode() makes "
                    "texts of bytes in another encoding"
                ),
            )


def _is_utf8(texts: pa.StringArray) -> bool:
    if len(texts) > _FEW_TEXTS and is_ascii(texts):
        return True
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _texts_in(array: pa.Array) -> Iterator[pa.StringArray]:
    data_type = array.type
    if _is_text(data_type):
        yield array
    elif pa.types.is_struct(data_type):
        for place in range(data_type.num_fields):
            yield from _texts_in(array.field(place))
    elif pa.types.is_map(data_type) or pa.types.is_list(data_type):
        # A slice of an array has the items of all rows.
        begin = array.offsets[0].as_py()
        end = array.offsets[-1].as_py()
        parts = (array.keys, array.items) if pa.types.is_map(data_type) else (array.values,)
        for items in parts:
            yield from _texts_in(items.slice(begin, end - begin))


def _conform_column(
    column: pa.ChunkedArray, field: pa.Field, source: str, rules: _Rules
) -> pa.ChunkedArray:
    if column.type.equals(field.type) and not may_be_uuid_bytes(field):
        return column
    try:
        chunks = [_promote(chunk, field, rules) for chunk in column.chunks]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, _NoPromotion) as error:
        raise SchemaEvolutionError(
            f"{source}: column {field.name!r} is stored as {column.type}, which cannot be read as "
            f"{field.type} ({error})",
            advice="Read the other columns, or write these rows again with values of that type",
        ) from error
    except MalformedVariantError as error:
        raise CorruptTableError(
            f"{source}: column {field.name!r} has a shredded variant that cannot be rebuilt: "
            f"{error}",
            advice="Restore the file from a copy, or read the other columns",
        ) from error
    return pa.chunked_array(chunks, type=field.type)


class _NoPromotion(TypeError):
    """No rule converts one type to the other, or a field may be several."""


def _promote(array: pa.Array, field: pa.Field, rules: _Rules) -> pa.Array:
    """Convert an array to the type of a field by Hudi's rules of type promotion."""
    target = field.type
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    data_type = array.type
    has_uuids = may_be_uuid_bytes(field)
    if data_type.equals(target) and not has_uuids:
        return array
    if pa.types.is_null(data_type):
        return pa.nulls(len(array), target)
    if pa.types.is_struct(target) and pa.types.is_struct(data_type):
        return _promote_struct(array, target, rules)
    if pa.types.is_map(target) and pa.types.is_map(data_type):
        array = without_offset(array)
        keys = _promote(array.keys, target.key_field, rules)
        return with_entries(array, keys, _promote(array.items, target.item_field, rules), target)
    if _is_list(target) and _is_list(data_type):
        array = without_offset(array.cast(pa.list_(data_type.value_field)))
        return with_items(array, _promote(array.values, target.value_field, rules), target)
    for is_stored, is_target, convert in _UUIDS + rules if has_uuids else rules:
        if is_stored(data_type) and is_target(target):
            return convert(array, target)
    raise _NoPromotion("no rule of schema evolution")


def _promote_struct(array: pa.StructArray, target: pa.StructType, rules: _Rules) -> pa.Array:
    children = []
    names = [field.name for field in target]
    names_in_file = [field.name for field in array.type]
    if TYPED_VALUE in names_in_file and is_variant(target):
        return rebuild_variants(array)
    is_like_variant = {*names} == {"metadata", "value"} and all(_is_bytes(f.type) for f in target)
    if TYPED_VALUE in names_in_file and is_like_variant:
        raise _NoPromotion("the file has a shredded VARIANT, the table an ordinary struct")
    try:
        matched = match_names(names, names_in_file, kind="field")
    except SchemaEvolutionError as error:
        raise _NoPromotion(error.found) from error
    for field in target:
        if field.name in matched:
            child = pc.struct_field(array, [names_in_file.index(matched[field.name])])
            children.append(_promote(child, field, rules))
        else:
            children.append(pa.nulls(len(array), field.type))
    return with_children(array, children, list(target))


_is_list = any_of(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def _timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    # Instants and local times share their representation, so no zone is applied. Only INT96 is
    # finer than microseconds, and Hudi and Spark truncate it as well.
    truncated = pc.CastOptions(pa.timestamp(target.unit), allow_time_truncate=True)
    return array.cast(options=truncated).cast(target)


def _float_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    converted = convert_numbers(array, target)
    if converted.null_count > array.null_count:
        raise pa.ArrowInvalid(f"a value does not fit {target}")
    return converted


def _date_text(array: pa.Array, target: pa.DataType) -> pa.Array:
    # Apache Hudi prints such years differently from Avro and from Parquet.
    texts = pc.cast(array, target)
    if pc.any(pc.match_substring_regex(texts, "^([<-]|0000|[0-9]{5})")).as_py():
        raise _NoPromotion("a date below the year 1 or beyond 9999 has no text")
    return texts


_is_text = any_of(pa.types.is_string, pa.types.is_large_string)
_is_bytes = any_of(
    _is_text, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
)


def _uuid_text(array: pa.Array) -> pa.Array:
    """Return UUIDs as texts; a file may have the text or the 16 bytes of each.

    The type in the file does not tell: Apache Hudi writes the bytes to Parquet, and calls them a
    text.
    """
    octets = array.cast(pa.binary())
    are_bytes = pc.fill_null(pc.equal(pc.binary_length(octets), _UUID_BYTES), fill_value=False)
    texts = pc.if_else(are_bytes, None, octets).cast(pa.string())
    stored = np.frombuffer(b"".join(octets.filter(are_bytes).to_pylist()), np.uint8)
    return pc.replace_with_mask(texts, are_bytes, uuid_texts(stored.reshape(-1, _UUID_BYTES)))


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


# Each rule: tests of the stored and the target type, and the conversion. The first that fits wins.
_SCALAR_RULES: _Rules = (
    (_is_bytes, _is_bytes, pc.cast),
    (_is_bytes, _is_vector, _vector),
    (pa.types.is_timestamp, pa.types.is_timestamp, _timestamp),
    (pa.types.is_integer, pa.types.is_integer, pc.cast),
    # In Avro a local timestamp is a long with a name. Instants that became numbers are refused:
    # Apache Hudi reads microseconds from Avro but seconds from Parquet.
    (_is_local_timestamp, pa.types.is_int64, pa.Array.view),
    (pa.types.is_time, pa.types.is_integer, pc.cast),  # Spark has no type for a time of day
    (pa.types.is_integer, pa.types.is_floating, partial(pc.cast, safe=False)),
    (pa.types.is_float32, pa.types.is_float64, lambda array, _: widen_floats(array)),
    # A direct cast requires room for every integer of the type, this one only for the values.
    (pa.types.is_integer, pa.types.is_decimal, lambda a, t: a.cast(pa.decimal128(20, 0)).cast(t)),
    (pa.types.is_floating, pa.types.is_decimal, _float_to_decimal),
    (pa.types.is_decimal, pa.types.is_decimal, pc.cast),
    (pa.types.is_date, pa.types.is_date, pc.cast),
    (any_of(pa.types.is_integer, pa.types.is_boolean), pa.types.is_string, pc.cast),
    (pa.types.is_date, pa.types.is_string, _date_text),
    (pa.types.is_decimal, pa.types.is_string, pc.cast),
    (pa.types.is_floating, pa.types.is_string, lambda array, _: java_text(array)),
)

# For columns whose texts may be stored as the bytes of UUIDs.
_UUIDS: _Rules = ((_is_bytes, _is_text, lambda array, _: _uuid_text(array)),)
# They replace the rules above for decimals: a value that does not fit becomes null.
_DECIMALS: _Rules = (
    (pa.types.is_floating, pa.types.is_decimal, convert_numbers),
    (is_number, pa.types.is_decimal, round_to_decimal),
)
_is_simple = any_of(is_number, pa.types.is_boolean)
# For a column that was dropped and added again. There is no rule between times and numbers, nor
# between times, dates and text: Apache Hudi itself converts them differently from Parquet and from
# Avro, or by the session's time zone.
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
        """Map columns of a query to their names in a file; missing columns are left out.

        A column that the internal schema lacks, such as a partition column, keeps its name.

        Args:
            names: of the query's columns.
            instant: of the commit that wrote the file.
        """
        columns = self.target.root.by_name()
        file_columns = self.version_of(instant).root.by_id()
        names_in_file: dict[str, str] = {}
        for name in names:
            field = columns.get(name)
            if field is None:
                names_in_file[name] = name
            elif (stored_field := file_columns.get(field.id)) is not None:
                names_in_file[name] = stored_field.name
        return names_in_file

    def rename(self, table: pa.Table, stored_names: Mapping[str, str], instant: str) -> pa.Table:
        """Rename a file's columns and their nested fields to the names of the query.

        Args:
            table: rows of the file.
            stored_names: as the method `stored_names` returns them.
            instant: of the commit that wrote the file.

        Raises:
            SchemaEvolutionError: nested fields of the file differ in case alone.
        """
        new_columns = self.target.root.by_name()
        old_columns = self.version_of(instant).root.by_name()
        columns = {}
        names_in_file = {*table.schema.names}
        for name, stored_name in stored_names.items():
            if stored_name not in names_in_file:
                continue
            column = table.column(stored_name)
            new, old = new_columns.get(name), old_columns.get(stored_name)
            if new is not None and old is not None and new.part != old.part:
                column = _rename_column(column, new, old, instant)
            columns[name] = column
        if not columns:
            return table.select([])
        return pa.table(columns)

    def version_of(self, instant: str) -> InternalSchema:
        """Return the columns as of an instant; the oldest version for an earlier instant."""
        past = [v for v in self.versions if v.version_id <= int(instant)]
        return past[-1] if past else self.versions[0]


def stored_columns(
    schema_on_read: SchemaOnRead | None, names: Sequence[str], instant: str
) -> dict[str, str]:
    """Map columns of a query to their names in a file, as `SchemaOnRead.stored_names` does.

    Without schema on read the names are the same.
    """
    if schema_on_read is None:
        return {name: name for name in names}
    return schema_on_read.stored_names(names, instant)


def _rename_column(
    column: pa.ChunkedArray, new: InternalField, old: InternalField, instant: str
) -> pa.ChunkedArray:
    try:
        chunks = [_rename(chunk, new.part, old.part) for chunk in column.chunks]
    except SchemaEvolutionError as error:
        raise SchemaEvolutionError(
            f"in column {old.name!r}, {error.found}",
            place=f"a file of commit {instant}",
            advice="Read the other columns, or write these rows again with one of the fields",
        ) from error
    return pa.chunked_array(chunks) if chunks else column


def _rename(array: pa.Array, new: Part, old: Part) -> pa.Array:
    if isinstance(new, StructPart) and isinstance(old, StructPart):
        return _rename_struct(array, new, old)
    if isinstance(new, ListPart) and isinstance(old, ListPart):
        array = without_offset(array)
        values = _rename(array.values, new.element, old.element)
        return with_items(array, values, pa.list_(values.type))
    if isinstance(new, MapPart) and isinstance(old, MapPart):
        array = without_offset(array)
        items = _rename(array.items, new.value, old.value)
        return with_entries(array, array.keys, items, pa.map_(array.type.key_type, items.type))
    return array


def _rename_struct(array: pa.StructArray, new: StructPart, old: StructPart) -> pa.Array:
    names_in_file = [field.name for field in array.type]
    fields = []
    children = []
    is_variant_like = {field.name for field in new.fields} == {"metadata", "value"}
    if TYPED_VALUE in names_in_file and is_variant_like:
        return array  # a variant that the file shreds
    old_fields = old.by_id()
    stored_names = match_names((f.name for f in old.fields), names_in_file, kind="field")
    for field in new.fields:
        old_field = old_fields.get(field.id)
        if old_field and old_field.name in stored_names:
            child = pc.struct_field(array, [names_in_file.index(stored_names[old_field.name])])
            children.append(_rename(child, field.part, old_field.part))
            fields.append(pa.field(field.name, children[-1].type))
    if not children:
        return pa.nulls(len(array), pa.struct([]))
    return with_children(array, children, fields)


def repair_timestamps(
    table: pa.Table, columns: Iterable[pa.Field], *, in_avro: bool = False
) -> pa.Table:
    """Give the columns of a file their real timestamp types.

    Args:
        table: rows of the file.
        columns: of the table that the file belongs to.
        in_avro: the rows come from an Avro log block.
    """
    repaired = {}
    for name, data_type in mislabelled_columns(table.schema, columns, in_avro=in_avro).items():
        index = table.schema.get_field_index(name)
        parts = [part.view(data_type) for part in table.column(index).chunks]
        field = table.schema.field(index).with_type(data_type)
        repaired[index] = field, pa.chunked_array(parts, data_type)
    return replace_columns(table, repaired)


def mislabelled_columns(
    schema: pa.Schema, columns: Iterable[pa.Field], *, in_avro: bool = False
) -> dict[str, pa.DataType]:
    """Return the real types of the columns that a file declares with a wrong timestamp type.

    Args:
        schema: of the file.
        columns: of the table that the file belongs to.
        in_avro: the file is an Avro log block.
    """
    real_types = {}
    for field in columns:
        may_be_wrong = pa.types.is_timestamp(field.type) or pa.types.is_nested(field.type)
        if may_be_wrong and schema.get_field_index(field.name) >= 0:  # -1 also for duplicates
            stored_type = schema.field(field.name).type
            data_type = _real_type(stored_type, field, in_avro=in_avro)
            if data_type != stored_type:
                real_types[field.name] = data_type
    return real_types


def is_as_declared(stored_type: pa.DataType, column: pa.Field) -> bool:
    """Return whether a file has the values of a table's column as they are, without conversion."""
    is_same = stored_type == column.type and not may_be_uuid_bytes(column)
    return bool(is_same and _real_type(stored_type, column) == stored_type)


def _real_type(stored_type: pa.DataType, column: pa.Field, *, in_avro: bool = False) -> pa.DataType:
    """Return the type that a file's values really have; the stored type if it is right."""

    def repair(field: pa.Field, column: pa.Field) -> pa.Field:
        return field.with_type(_real_type(field.type, column, in_avro=in_avro))

    target = column.type
    if pa.types.is_struct(stored_type) and pa.types.is_struct(target):
        names = case_variants((f.name for f in target), (f.name for f in stored_type))
        return pa.struct(
            [repair(f, target.field(names[f.name])) if f.name in names else f for f in stored_type]
        )
    if pa.types.is_list(stored_type) and pa.types.is_list(target):
        return pa.list_(repair(stored_type.value_field, target.value_field))
    if pa.types.is_map(stored_type) and pa.types.is_map(target):
        return pa.map_(stored_type.key_field, repair(stored_type.item_field, target.item_field))
    if not pa.types.is_timestamp(target):
        return stored_type
    unit = "ms" if counts_milliseconds(column) else "us"
    is_wrong = pa.types.is_int64(stored_type) and target.tz is None
    if unit == "ms" and pa.types.is_timestamp(stored_type) and stored_type.unit == "us":
        # In log blocks Apache Hudi relabels local timestamps as well. INT96 is always labelled
        # correctly.
        is_instant = None not in (stored_type.tz, target.tz)
        is_wrong = in_avro or (is_instant and stored_type.tz != INT96_ZONE)
    return pa.timestamp(unit, target.tz) if is_wrong else stored_type
