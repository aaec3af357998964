"""Print Arrow columns, all rows at once: as JSON, or as Java prints values.

In JSON no field is left out, and null is ``null``; decimals are numbers in plain notation, dates
``YYYY-MM-DD``, timestamps ISO 8601 with microseconds (UTC ones end in Z), binary base64. Numbers
that JSON lacks are the texts ``NaN``, ``Infinity`` and ``-Infinity``, as in Spark.
"""

import base64
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
_CONTROL = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]"
# Java switches to computerised scientific notation outside [10^-3, 10^7).
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


def json_text(values: pa.Array) -> pa.Array:
    """Return the JSON text of each value; ``null`` for a null."""
    convert = next(convert for fits, convert in _CONVERSIONS if fits(values.type))
    return pc.if_else(pc.is_valid(values), convert(values), "null")


def plain_text(values: pa.Array) -> pa.Array:
    """Return values as JSON, but texts without quotes; null stays null.

    Args:
        values: of any type that a column of a table may have.

    Raises:
        pyarrow.ArrowException: of another type of Arrow.
    """
    texts = json_text(values).to_pylist()
    bare = [text[1:-1] if text.startswith('"') else text for text in texts]
    return pc.if_else(values.is_valid(), pa.array(bare, pa.string()), None)


def cell_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return the values of a column as people read them in a cell of a table.

    Args:
        column: of any type that a column of a table may have.

    Returns:
        Texts as they are, lists of texts with commas, and other values as `plain_text` has them.
        None for null and for an empty list of texts.

    Raises:
        pyarrow.ArrowException: of another type of Arrow.
    """
    kind = column.type
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        return [", ".join(map(str, texts or ())) or None for texts in column.to_pylist()]
    if pa.types.is_string(kind):
        return list(column.to_pylist())
    return [text for chunk in column.chunks for text in plain_text(chunk).to_pylist()]


def _number(values: pa.Array) -> pa.Array:
    """Print floats as Python does, and those that JSON lacks as texts with Spark's words."""
    if pa.types.is_float32(values.type):
        # The shortest digits that identify the float, not those of the widened double.
        values = values.cast(pa.string()).cast(pa.float64())
    numbers = map(json.dumps, values.to_pylist())
    texts = [f'"{text}"' if text in _NOT_FINITE else text for text in numbers]
    return pa.array(texts, pa.string())


def _decimal(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    if pc.any(pc.match_substring(texts, "E")).as_py():
        plain = [None if v is None else format(v, "f") for v in values.to_pylist()]
        return pa.array(plain, pa.string())
    return texts


def _string(values: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(values, _CONTROL)).as_py():
        texts = [json.dumps(value, ensure_ascii=False) for value in values.to_pylist()]
        return pa.array(texts, pa.string())
    for raw, escape in _ESCAPES:
        values = pc.replace_substring(values, raw, escape)
    return _quoted(values)


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _timestamp(values: pa.Array) -> pa.Array:
    zone = "Z" if values.type.tz else ""
    text = pc.replace_substring(_time(values), " ", "T")
    return pc.binary_join_element_wise('"', text, zone, '"', "")


def _time(values: pa.Array) -> pa.Array:
    """Print dates, or timestamps in UTC with microseconds, of any year."""
    is_date = pa.types.is_date(values.type)
    plain = values.cast(pa.date32() if is_date else pa.timestamp("us"))
    texts = plain.cast(pa.string())
    is_far = pc.starts_with(texts, "<")  # a year that Arrow does not print; it has five digits
    if pc.any(is_far).as_py():
        times = np.asarray(plain.fill_null(0).view(pa.int32() if is_date else pa.int64()))
        shown = np.datetime_as_string(times.astype(f"datetime64[{'D' if is_date else 'us'}]"))
        spaced = pc.replace_substring(pa.array(shown, pa.string()), "T", " ")
        texts = pc.if_else(is_far, spaced, texts)  # NumPy prints the year -5 as -005
    return texts


def scalar_text(value: pa.Scalar) -> str:
    """Print a value as `str` prints its Python value, and dates and timestamps of any year."""
    data_type = value.type
    if not pa.types.is_date(data_type) and not pa.types.is_timestamp(data_type):
        return str(value.as_py())
    zone = "+00:00" if getattr(data_type, "tz", None) else ""
    return str(_time(pa.repeat(value, 1))[0]).removesuffix(".000000") + zone


def _binary(values: pa.Array) -> pa.Array:
    encoded = [None if v is None else base64.b64encode(v).decode() for v in values.to_pylist()]
    return _quoted(pa.array(encoded, pa.string()))


def _struct(values: pa.StructArray) -> pa.Array:
    parts: list[pa.Array | str] = []
    for index, field in enumerate(values.type):
        text = json_text(pc.struct_field(values, [index]))
        label = json.dumps(field.name, ensure_ascii=False)
        parts.append(pc.binary_join_element_wise(f"{label}:", text, ""))
    inner = pc.binary_join_element_wise(*(parts or [pa.repeat("", len(values))]), ",")
    return pc.binary_join_element_wise("{", inner, "}", "")


def _map(values: pa.MapArray) -> pa.Array:
    entry = pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])
    entries = values.cast(pa.list_(entry))
    keys, items = map(json_text, entries.flatten().flatten())
    return _joined(entries, pc.binary_join_element_wise(keys, items, ":"), "{", "}")


def _joined(values: pa.Array, texts: pa.Array, opening: str, closing: str) -> pa.Array:
    """Join the texts of all items into one text per list."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, texts)
    return pc.binary_join_element_wise(opening, pc.binary_join(lists, ","), closing, "")


# The first that fits is used; its results for nulls are ignored.
_CONVERSIONS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], pa.Array]], ...] = (
    (pa.types.is_floating, _number),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_string, _string),
    (pa.types.is_date, lambda values: _quoted(_time(values))),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_binary, _binary),
    (pa.types.is_struct, _struct),
    (pa.types.is_map, _map),
    (pa.types.is_list, lambda values: _joined(values, json_text(values.flatten()), "[", "]")),
    (lambda _: True, lambda values: values.cast(pa.string())),
)


def spark_value_text(values: pa.Array) -> pa.Array:
    """Print values as Java prints Spark's, for record keys and delete markers.

    Dates are days since the epoch, timestamps microseconds, floats and doubles ``1.0`` or
    ``1.0E10``. Bytes and nested values become null: Java prints their address in memory.
    """
    data_type = values.type
    if pa.types.is_floating(data_type):
        encoded = values.dictionary_encode()  # a column of delete markers has few values
        return java_text(encoded.dictionary).take(encoded.indices)
    if pa.types.is_date(data_type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(data_type):
        values = values.cast(pa.timestamp("us", data_type.tz)).cast(pa.int64())
    elif pa.types.is_nested(data_type) or pa.types.is_binary(data_type):
        return pa.nulls(len(values), pa.string())
    return values.cast(pa.string())


def java_text(array: pa.Array) -> pa.Array:
    """Print floats or doubles as Java prints them, for columns whose type became string."""
    if pa.types.is_float32(array.type):
        digits = map(repr, widen_floats(array).to_pylist())  # fewer than the double has
    else:
        digits = map(_double_digits, array.to_pylist())
    pairs = zip(array.to_pylist(), digits, strict=True)
    texts = [None if v is None else _java_text(v, d) for v, d in pairs]
    return pa.array(texts, pa.string())


@np.errstate(under="ignore", invalid="ignore")  # the caller may have let NumPy raise
def widen_floats(array: pa.Array) -> pa.Array:
    """Convert floats to doubles through the text that Java up to 18 prints.

    So 0.1f becomes 0.1, not 0.10000000149011612. Java 19 and later print the fewest digits that
    identify a float. Earlier releases, with which Apache Hudi is built and tested, print other
    digits for the smallest floats and for whole numbers beyond 2**25, and so does this function.
    They also do so for some powers of two and some floats near 10**25; here these have the fewest
    digits.

    Source: ``Float.toString`` of Java 17, compared for twenty million floats.
    """
    shortest = pc.cast(pc.cast(array, pa.string()), pa.float64())
    floats = np.asarray(pc.fill_null(array, 0)).astype(np.float64)
    sizes = np.abs(floats)
    exponents = np.frexp(floats)[1] - 1
    is_whole = (exponents > _FLOAT_BITS) & (exponents < _LONG_BITS)
    is_tiny = (sizes > 0) & (sizes < np.finfo(np.float32).tiny)
    if not (is_whole | is_tiny).any():
        return shortest
    values = np.asarray(pc.fill_null(shortest, 0)).copy()
    steps = [10 ** _lost_digits(e - _FLOAT_BITS - 1) for e in range(_FLOAT_BITS + 1, _LONG_BITS)]
    step = np.array(steps)[exponents[is_whole] - _FLOAT_BITS - 1]
    whole = (sizes[is_whole].astype(np.int64) + step // 2) // step * step
    values[is_whole] = np.copysign(whole, floats[is_whole])
    nearest = np.array([float(f"{value:.1e}") for value in floats[is_tiny]])
    is_shortest = (nearest.astype(np.float32) != floats[is_tiny]) | (sizes[is_tiny] == _TENTH)
    values[is_tiny] = np.where(is_shortest, values[is_tiny], nearest)
    return pc.if_else(array.is_valid(), pa.array(values), None)


def _lost_digits(exponent: int) -> int:
    """Return how many digits a power of two has beyond the first."""
    return int(exponent * math.log10(2))


_FLOAT_BITS, _DOUBLE_BITS, _LONG_BITS = 24, 53, 63
_TENTH = float(np.float32(1e-43))  # Java takes it for a larger number at first


def _double_digits(value: float | None) -> str:
    """Return the digits of a double as Java prints them."""
    if value is None or not math.isfinite(value):
        return ""
    exponent = math.frexp(value)[1] - 1
    if _DOUBLE_BITS < exponent < _LONG_BITS:
        step = 10 ** _lost_digits(exponent - _DOUBLE_BITS - 1)
        return str((abs(int(value)) + step // 2) // step * step)
    # Java prints at least two digits, the nearest ones: 4.9E-324 where Python has 5e-324.
    nearest = f"{value:.1e}"
    return nearest if float(nearest) == value else repr(value)


def _java_text(value: float, shortest: str) -> str:
    """Format a value as Java does, given the shortest digits as Python prints them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    # The significant digits without zeros at the ends, and the exponent of the first digit.
    mantissa, _, exponent_text = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(exponent_text or 0) + len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    if _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"
