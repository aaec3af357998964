"""Rebuild shredded variants: turn their typed columns back into the two binaries of a VARIANT.

A Parquet file may shred a VARIANT: keep parts of it in typed columns. Each place that has a value
(the top, the items of an array, the fields of an object) is then a group of two columns:

| `value`  | `typed_value` | The value is                                                          |
|----------|---------------|-----------------------------------------------------------------------|
| encoded  | null          | the encoded one                                                       |
| null     | set           | the typed one: a number, a text, a list of groups, a struct of groups |
| encoded  | a struct      | an object: some fields in the struct, the remaining ones encoded      |
| null     | null          | missing: this object lacks the field                                  |

Each group becomes an array of encoded values, null for missing ones. This goes from the leaves up,
and no step looks at single rows. Once the items of an array are encoded, their bytes are
consecutive; Arrow joins the bytes of an object's fields. Only the header in front has to be
written: it lists where the items or fields begin. Fields are listed in the order of their names, as
ids: ordinals in the dictionary of names that is the row's `metadata`. The values of an object may
have any order, so its encoded fields are copied in one piece. `metadata` has all names and stays as
it is.

If the specification leaves a choice, the bytes are those that Spark's reader writes: each number
takes as few bytes as possible. If Spark contradicts the specification, Spark decides: names are
sorted by UTF-16 instead of UTF-8, since in objects of 32 fields and more Spark searches them so.

Source: "Variant Binary Encoding" and "Variant Shredding" of Apache Parquet; `ShreddingUtils` and
`VariantBuilder` of Apache Spark 4.3, whose answers are in `tests/columns/variants`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import cut_values, raw_bytes
from hudi_pyspark.format.nested_types import TYPED_VALUE, VARIANT, without_offset

Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

_NULL = b"\0"  # the encoded null of a variant, which is a value
_OBJECT, _ARRAY = 2, 3  # basic types; primitives have 0, short texts 1
# That are rebuilt at once.
_MOST_ROWS = 1 << 14
_MOST_BYTES = 64 << 20
_DEEPEST = 100  # levels of groups
_LONGEST_SHORT_TEXT = 63  # bytes
# Makes bytes of UTF-8 compare like units of UTF-16: U+E000 to U+FFFF come last.
_AS_UTF16 = bytes.maketrans(b"\xee\xef", b"\xfe\xff")
_MOST_DIGITS = 38  # of a decimal
# Types whose values have the bytes that Arrow has, with the number of the encoded type.
_TYPES_OF_ONE_WIDTH = {
    pa.float64(): 7,
    pa.date32(): 11,
    pa.timestamp("us", "UTC"): 12,
    pa.timestamp("us"): 13,
    pa.float32(): 14,
    pa.time64("us"): 17,
    pa.timestamp("ns", "UTC"): 18,
    pa.timestamp("ns"): 19,
    pa.binary(16): 20,  # a UUID
}


class MalformedVariantError(ValueError):
    """A shredded variant contradicts itself; the text says how."""


def rebuild_variants(array: pa.StructArray) -> pa.Array:
    """Convert shredded variants to an array of the type VARIANT; nulls stay.

    Args:
        array: structs of `metadata`, and of `value`, `typed_value` or both.

    Raises:
        MalformedVariantError: the columns contradict each other, or the encoding.
        pyarrow.ArrowNotImplementedError: a variant cannot have the type of a `typed_value`.
        pyarrow.ArrowInvalid: the values are too large for one array.
    """
    names = sorted({*_shredded_names(array.type)}, key=_utf16_order)
    rows = max(1, min(_MOST_ROWS, len(array) * _MOST_BYTES // max(array.nbytes, 1)))
    slices = [_rebuild(array.slice(begin, rows), names) for begin in range(0, len(array), rows)]
    return pa.concat_arrays(slices) if slices else pa.array([], VARIANT)


def _utf16_order(name: str) -> bytes:
    return name.encode().translate(_AS_UTF16)


def _shredded_names(group: pa.DataType, depth: int = 0) -> Iterator[str]:
    """Yield the names of all fields that a group shreds, at any depth."""
    parts = {part.name: part.type for part in group} if pa.types.is_struct(group) else {}
    if depth > _DEEPEST or not {"value", TYPED_VALUE} & parts.keys():
        raise pa.ArrowNotImplementedError(
            f"a part of the variant, {depth} deep, is stored as {group}; expected value or "
            f"{TYPED_VALUE} or both, at most {_DEEPEST} deep"
        )
    typed = parts.get(TYPED_VALUE, pa.null())
    if pa.types.is_struct(typed):
        for field in typed:
            yield field.name
            yield from _shredded_names(field.type, depth + 1)
    elif pa.types.is_list(typed):
        yield from _shredded_names(typed.value_type, depth + 1)


def _rebuild(array: pa.StructArray, names: list[str]) -> pa.StructArray:
    metadata = _part(array, "metadata")
    is_null = pc.is_null(array)
    if metadata.null_count > array.null_count:
        raise MalformedVariantError("a variant without metadata")
    values = _encode(array, _Dictionaries.of(metadata, names)).fill_null(_NULL)
    return pa.StructArray.from_arrays([values, metadata], fields=list(VARIANT), mask=is_null)


def _part(group: pa.StructArray, name: str) -> pa.Array:
    """Return one of the two binaries of each group; nulls if the groups have no such column."""
    if group.type.get_field_index(name) < 0:
        return pa.nulls(len(group), pa.binary())
    return pc.cast(pc.struct_field(group, name), pa.binary())


def _encode(group: pa.StructArray, dictionaries: _Dictionaries) -> pa.Array:
    """Encode the value of each group; null if it is missing."""
    value = _part(group, "value")
    _check(_lengths(value) + np.asarray(value.is_null()) > 0)
    if group.type.get_field_index(TYPED_VALUE) < 0:
        return value
    typed = pc.struct_field(group, TYPED_VALUE)
    if pa.types.is_struct(typed.type):
        encoded = _encode_objects(typed, value, dictionaries)
    elif pa.types.is_list(typed.type):
        encoded = _encode_arrays(typed, dictionaries)
    else:
        encoded = _encode_primitives(typed)
    return pc.if_else(typed.is_valid(), encoded, value)


def _encode_primitives(array: pa.Array) -> pa.Array:
    """Encode values that have no parts; results for nulls are ignored."""
    data_type = array.type
    if data_type in _TYPES_OF_ONE_WIDTH:
        octets = raw_bytes(array)
        headers = np.full((len(array), 1), _TYPES_OF_ONE_WIDTH[data_type] << 2, np.uint8)
        return _packed(np.hstack([headers, octets]), np.full(len(array), 1 + octets.shape[1]))
    if pa.types.is_boolean(data_type):
        return pc.if_else(array, bytes([1 << 2]), bytes([2 << 2]))
    if pa.types.is_signed_integer(data_type):
        return _encode_integers(array.cast(pa.int64()).fill_null(0))
    if pa.types.is_decimal(data_type) and data_type.precision <= _MOST_DIGITS:
        return _encode_decimals(array.cast(pa.decimal128(_MOST_DIGITS, data_type.scale)))
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        return _encode_texts(array.cast(pa.binary()), is_text=pa.types.is_string(data_type))
    raise pa.ArrowNotImplementedError(f"a variant cannot have values of the type {data_type}")


def _packed(octets: Octets, lengths: Ints) -> pa.Array:
    """Return the first ``lengths[i]`` bytes of row i as a binary."""
    return _binaries(octets[np.arange(octets.shape[1]) < lengths[:, None]], lengths)


def _binaries(octets: Octets, lengths: Ints) -> pa.Array:
    """Return binaries that are consecutive in ``octets``."""
    offsets = _edges(lengths)
    if offsets[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowInvalid("variants of more than 2 GiB in one array")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(octets)]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def _edges(lengths: Ints) -> Ints:
    """Return the offsets at which consecutive parts begin, and the offset after the last part."""
    return np.append(0, np.cumsum(lengths, dtype=np.int64))


def _encode_integers(array: pa.Array) -> pa.Array:
    numbers = np.asarray(array)
    # 0, 1, 2, 3 for 1, 2, 4, 8 bytes.
    logs = np.sum([numbers != numbers.astype(kind) for kind in ("i1", "i2", "i4")], axis=0)
    headers = (3 + logs << 2).astype(np.uint8)[:, None]
    return _packed(np.hstack([headers, raw_bytes(array)]), 1 + (1 << logs))


def _encode_decimals(array: pa.Array) -> pa.Array:
    octets = raw_bytes(array)
    scale = array.type.scale
    low, high = np.ascontiguousarray(octets).view("<i8").reshape(-1, 2).T
    logs = np.full(len(array), 2)  # 0, 1, 2 for 4, 8, 16 bytes
    for log, digits in ((1, 18), (0, 9)):
        if scale <= digits:
            logs[(high == low >> 63) & (low > -(10**digits)) & (low < 10**digits)] = log
    front = np.stack([8 + logs << 2, np.full(len(array), scale)], axis=1).astype(np.uint8)
    return _packed(np.hstack([front, octets]), 2 + (4 << logs))


def _encode_texts(array: pa.Array, *, is_text: bool) -> pa.Array:
    lengths = _lengths(array)
    is_short = (lengths <= _LONGEST_SHORT_TEXT) & is_text
    octets = np.empty((len(array), 5), np.uint8)
    octets[:, 0] = np.where(is_short, lengths << 2 | 1, (16 if is_text else 15) << 2)
    octets[:, 1:] = lengths.astype("<u4")[:, None].view(np.uint8)
    return _joined(_packed(octets, np.where(is_short, 1, 5)), array)


def _lengths(array: pa.Array) -> Ints:
    return np.asarray(pc.binary_length(array).fill_null(0)).astype(np.int64)


def _joined(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, b"", null_handling="skip")


def _encode_arrays(array: pa.ListArray, dictionaries: _Dictionaries) -> pa.Array:
    lists = without_offset(array)
    places = np.asarray(lists.offsets).astype(np.int64)
    items = lists.values.slice(places[0], places[-1] - places[0])
    counts = np.diff(places)
    places = places - places[0]
    encoded = _encode(items, dictionaries.repeated(counts)).fill_null(_NULL)
    begins = _edges(_lengths(encoded))
    lists_begin = begins[places[:-1]]
    sizes = np.diff(begins[places])
    offsets = begins[:-1] - np.repeat(lists_begin, counts)
    octets, _, _ = _spans(encoded)
    return _joined(_headers(_ARRAY, counts, None, offsets, sizes), _binaries(octets, sizes))


def _encode_objects(
    typed: pa.StructArray, value: pa.Array, dictionaries: _Dictionaries
) -> pa.Array:
    count = typed.type.num_fields
    parts = [_encode(pc.struct_field(typed, [place]), dictionaries) for place in range(count)]
    lengths = np.stack([_lengths(part) for part in parts], axis=1)
    begins = np.cumsum(lengths, axis=1) - lengths
    sizes = lengths.sum(axis=1)
    ordinals = np.array([dictionaries.names.index(field.name) for field in typed.type])
    by_name = np.argsort(ordinals, kind="stable")
    rows, places = np.nonzero(lengths[:, by_name])  # no encoded value is empty
    ids, ranks = dictionaries.find(rows, ordinals[by_name][places])
    fields = np.stack([rows, ids, ranks, begins[:, by_name][rows, places]])
    # Fields that the file does not shred are encoded as an object.
    remaining = pc.if_else(typed.is_valid(), value, pa.scalar(None, pa.binary()))
    if remaining.null_count < len(remaining):
        remaining_fields, remaining_values = _fields_of(remaining, dictionaries)
        remaining_fields[3] += sizes[remaining_fields[0]]
        fields = np.hstack([fields, remaining_fields])
        fields = fields[:, np.lexsort((fields[2], fields[0]))]
        parts.append(remaining_values)
        sizes = sizes + _lengths(remaining_values)
    rows, ids, ranks, offsets = fields
    if ((np.diff(rows) == 0) & (np.diff(ranks) == 0)).any():
        raise MalformedVariantError("an object has a field twice")
    counts = np.bincount(rows, minlength=len(typed))
    return _joined(_headers(_OBJECT, counts, ids, offsets, sizes), *parts)


def _fields_of(objects: pa.Array, dictionaries: _Dictionaries) -> tuple[Ints, pa.Array]:
    """Take encoded objects apart; nulls have no fields.

    Returns:
        The fields, object by object, as four rows: the ordinal of the object, the id, the rank of
        the name, and the offset of the value from the object's first value. Then the bytes of all
        values of each object.
    """
    owners = np.flatnonzero(np.asarray(objects.is_valid()))
    octets, begins, ends = _spans(objects.drop_null())
    headers = octets[begins].astype(np.int64)
    if (headers & 3 != _OBJECT).any():
        raise MalformedVariantError("an object has a second value that is not an object")
    count_widths = np.where(headers >> 6 & 1, 4, 1)
    id_widths, offset_widths = (headers >> 4 & 3) + 1, (headers >> 2 & 3) + 1
    counts = _read(octets, begins + 1, count_widths)
    ids_begin = begins + 1 + count_widths
    offsets_begin = ids_begin + counts * id_widths
    values_begin = offsets_begin + (counts + 1) * offset_widths
    _check(values_begin <= ends)
    sizes = _read(octets, values_begin - offset_widths, offset_widths)
    _check(values_begin + sizes <= ends)
    rows, places = _numbered(counts)
    ids = _read(octets, ids_begin[rows] + places * id_widths[rows], id_widths[rows])
    widths = offset_widths[rows]
    offsets = _read(octets, offsets_begin[rows] + places * widths, widths)
    _check(offsets < sizes[rows])
    fields = np.stack([owners[rows], ids, dictionaries.ranks_of(owners[rows], ids), offsets])
    value_of_object = np.cumsum(np.asarray(objects.is_valid())) - 1
    values = _cut(octets, values_begin, values_begin + sizes)
    return fields, values.take(pa.array(value_of_object, mask=np.asarray(objects.is_null())))


def _headers(
    basic_type: int, counts: Ints, ids: Ints | None, offsets: Ints, sizes: Ints
) -> pa.Array:
    """Write the header of each array or object: its type, count, ids and offsets.

    Args:
        basic_type: array or object.
        counts: the number of items or fields in each.
        ids: of the fields, in the order of names; None for arrays.
        offsets: of each item or field, from the first value of its array or object, in bytes.
        sizes: of all values of each array or object together, in bytes.
    """
    rows, places = _numbered(counts)
    is_large = counts > 255
    offset_widths = _widths(sizes)
    if ids is None:
        ids = rows
        id_widths = np.zeros(len(counts), np.int64)
        bits = is_large << 4
    else:
        highest = np.zeros(len(counts), np.int64)
        np.maximum.at(highest, rows, ids)
        id_widths = _widths(highest)
        bits = is_large << 6 | (id_widths - 1) << 4
    count_widths = np.where(is_large, 4, 1)
    lengths = 1 + count_widths + counts * id_widths + (counts + 1) * offset_widths
    begins = _edges(lengths)[:-1]
    ids_begin = begins + 1 + count_widths
    offsets_begin = ids_begin + counts * id_widths
    octets = np.empty(int(lengths.sum()), np.uint8)
    octets[begins] = bits | (offset_widths - 1) << 2 | basic_type
    _write(octets, begins + 1, counts, count_widths)
    _write(octets, ids_begin[rows] + places * id_widths[rows], ids, id_widths[rows])
    widths = offset_widths[rows]
    _write(octets, offsets_begin[rows] + places * widths, offsets, widths)
    _write(octets, offsets_begin + counts * offset_widths, sizes, offset_widths)
    return _binaries(octets, lengths)


@dataclass(frozen=True, slots=True)
class _Dictionaries:
    """The field names in the metadata of rows; rows with equal metadata share a dictionary."""

    codes: Ints  # per row: the ordinal of its dictionary
    begins: Ints  # per dictionary: where its names begin in `ranks`
    counts: Ints  # per dictionary: how many names it has
    ranks: Ints  # per name of each dictionary: its place in the order of all names
    names: list[str]  # of shredded fields, sorted
    ranks_of_names: Ints  # per shredded name
    ids: Ints  # by dictionary and shredded name; -1 if the dictionary lacks it

    @classmethod
    def of(cls, metadata: pa.Array, names: list[str]) -> _Dictionaries:
        """Parse the metadata of each row; ``names`` are those of shredded fields, sorted."""
        encoded = metadata.dictionary_encode()
        octets, begins, ends = _spans(encoded.dictionary)
        headers = octets[begins].astype(np.int64)
        widths = (headers >> 6) + 1
        _check((headers & 15 == 1) & (begins + widths < ends))
        counts = _read(octets, begins + 1, widths)
        texts_begin = begins + 1 + widths * (counts + 2)
        _check(texts_begin <= ends)
        rows, places = _numbered(counts)
        offsets_begin = begins[rows] + 1 + widths[rows] * (places + 1)
        widths = widths[rows]
        first, last = (_read(octets, offsets_begin + at, widths) for at in (0, widths))
        _check((first <= last) & (texts_begin[rows] + last <= ends[rows]))
        in_order = np.frombuffer(_AS_UTF16, np.uint8)[octets]
        texts = _cut(in_order, texts_begin[rows] + first, texts_begin[rows] + last)
        shredded = pa.array(map(_utf16_order, names), pa.binary())
        all_ranks = pc.rank(pa.concat_arrays([texts, shredded]), tiebreaker="dense")
        ranks, ranks_of_names = np.split(np.asarray(all_ranks).astype(np.int64), [len(texts)])
        ids = np.full((len(counts), len(names)), -1)
        shared = np.flatnonzero(np.isin(ranks, ranks_of_names))
        ids[rows[shared], np.searchsorted(ranks_of_names, ranks[shared])] = places[shared]
        codes = np.asarray(encoded.indices.fill_null(0)).astype(np.int64)
        return cls(codes, _edges(counts), counts, ranks, names, ranks_of_names, ids)

    def repeated(self, counts: Ints) -> _Dictionaries:
        """Return the dictionaries of list items, given the lengths of the lists."""
        return replace(self, codes=np.repeat(self.codes, counts))

    def find(self, rows: Ints, ordinals: Ints) -> tuple[Ints, Ints]:
        """Return the id and the rank of ``names[ordinals[i]]`` in the dictionary of ``rows[i]``."""
        ids = self.ids[self.codes[rows], ordinals]
        if (ids < 0).any():
            name = self.names[ordinals[np.argmin(ids)]]
            raise MalformedVariantError(f"the metadata lacks the name of the field {name!r}")
        return ids, self.ranks_of_names[ordinals]

    def ranks_of(self, rows: Ints, ids: Ints) -> Ints:
        """Return the rank of the name with ``ids[i]`` in the dictionary of ``rows[i]``."""
        codes = self.codes[rows]
        _check(ids < self.counts[codes])
        ranks: Ints = self.ranks[self.begins[codes] + ids]
        return ranks


def _check(is_right: npt.NDArray[np.bool_]) -> None:
    if not is_right.all():
        raise MalformedVariantError("its bytes end early, or an offset points outside of them")


def _numbered(counts: Ints) -> tuple[Ints, Ints]:
    """Return for each part of each row the row's ordinal, and the part's ordinal in the row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - _edges(counts)[rows]


def _spans(binaries: pa.Array) -> tuple[Octets, Ints, Ints]:
    """Return the bytes of all binaries and some zeros, and the begin and end of each binary."""
    edges = _edges(_lengths(binaries))
    # Joined with nothing, the binaries are copied to the beginning of a buffer of their own.
    octets = np.frombuffer(_joined(binaries).buffers()[2] or b"", np.uint8)[: edges[-1]]
    return np.concatenate([octets, np.zeros(8, np.uint8)]), edges[:-1], edges[1:]


def _cut(octets: Octets, begins: Ints, ends: Ints) -> pa.Array:
    return cut_values(pa.py_buffer(octets), begins, ends, pa.binary())


def _read(octets: Octets, places: Ints, widths: Ints) -> Ints:
    """Read little-endian numbers of one to four bytes."""
    numbers = np.zeros(len(places), np.int64)
    for byte in range(int(widths.max(initial=0))):
        numbers |= np.where(widths > byte, octets[places + byte].astype(np.int64) << 8 * byte, 0)
    return numbers


def _write(octets: Octets, places: Ints, numbers: Ints, widths: Ints) -> None:
    for byte in range(int(widths.max(initial=0))):
        has_byte = widths > byte
        octets[places[has_byte] + byte] = numbers[has_byte] >> 8 * byte & 255


def _widths(numbers: Ints) -> Ints:
    """Return how many bytes each number takes: one to four."""
    return 1 + (numbers >> 8 > 0) + (numbers >> 16 > 0) + (numbers >> 24 > 0)
