"""Make Arrow values, read them, and cut them out of bytes, without importing pandas.

If pandas is installed, the first call of `pyarrow.array`, of `pyarrow.scalar` or of a conversion to
NumPy imports it. That takes 0.3 s of processor time in each new process, as long as a small table.
So whatever most queries need is made here.
"""

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Offsets: TypeAlias = npt.NDArray[np.int64]
_HEX_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_LAST_OF_ASCII = 0x7F
_UUID_DASHES = (8, 13, 18, 23)


def to_arrow(
    values: npt.NDArray[Any], *, is_valid: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return numbers or flags as an array.

    Args:
        values: integers, floats or booleans; the array shares the memory of contiguous numbers.
        is_valid: one flag for each value, False for null; None if there are no nulls.
    """
    if values.dtype == np.bool_:
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values)
    validity = None
    if is_valid is not None:
        validity = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """Do what ``np.asarray(array)`` does; integers and flags without nulls need no pandas.

    Integers share the memory of the array and are read-only; flags are a copy.
    """
    is_flag = pa.types.is_boolean(array.type)
    if array.null_count or not (is_flag or pa.types.is_integer(array.type)):
        return np.asarray(array)
    numbers = np.from_dlpack(array.cast(pa.uint8()) if is_flag else array)
    return numbers.astype(np.bool_) if is_flag else numbers


def raw_bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bytes of values that have one width, a row per value; those of nulls are any."""
    width = array.type.bit_width // 8
    octets = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    return octets[array.offset * width :][: len(array) * width].reshape(-1, width)


def is_ascii(texts: pa.Array) -> bool:
    """Return whether texts or binaries have only ASCII bytes, without looking at each value."""
    if not len(texts):
        return True
    _, offsets, data = texts.buffers()
    is_large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    edges = np.frombuffer(offsets, np.int64 if is_large else np.int32)[texts.offset :]
    octets = np.frombuffer(data or b"", np.uint8)[edges[0] : edges[len(texts)]]
    return bool(octets.max(initial=0) <= _LAST_OF_ASCII)


def uuid_texts(octets: npt.NDArray[np.uint8]) -> pa.StringArray:
    """Return the usual texts of UUIDs.

    Args:
        octets: rows of 16 bytes.
    """
    text = np.full((len(octets), 36), ord("-"), np.uint8)
    places = np.delete(np.arange(36), _UUID_DASHES)
    text[:, places[0::2]] = _HEX_DIGITS[octets >> 4]
    text[:, places[1::2]] = _HEX_DIGITS[octets & 15]
    offsets = np.arange(0, 36 * len(octets) + 1, 36, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(octets), buffers)


def text_scalar(text: str) -> pa.Scalar:
    """Return a text as a scalar."""
    data = text.encode()
    buffers = [None, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), 1, buffers)[0]


def cut_values(
    source: pa.Buffer, begins: Offsets, ends: Offsets, data_type: pa.DataType
) -> pa.Array:
    """Return many ranges of a buffer as one array of strings or binaries, without a Python loop.

    Args:
        source: the bytes; below 2 GiB unless the type has 64-bit offsets.
        begins: the offset of each value, in any order.
        ends: the offset after each value.
        data_type: string, binary or a large one; texts are not validated.
    """
    if not len(begins):
        return pa.nulls(0, data_type)
    # An Arrow array has no gaps between its values. So the gaps become values as well: the slots of
    # an array over the source itself are value, gap, value, gap …, and only the values are taken.
    # Values in any order give gaps of negative length; Arrow checks only the ends of the offsets.
    is_large = pa.types.is_large_binary(data_type) or pa.types.is_large_string(data_type)
    offsets = np.empty(2 * len(begins) + 1, np.int64 if is_large else np.int32)
    offsets[0:-1:2] = begins
    offsets[1::2] = ends
    offsets[-1] = source.size
    buffers = [None, pa.py_buffer(offsets), source]
    slots = pa.Array.from_buffers(data_type, 2 * len(begins), buffers)
    return pc.take(slots, _even_slots(len(begins)), boundscheck=False)


@lru_cache(maxsize=8)
def _even_slots(count: int) -> pa.Array:
    buffer = pa.py_buffer(np.arange(0, 2 * count, 2, dtype=np.int32))
    return pa.Array.from_buffers(pa.int32(), count, [None, buffer])


def numbers_at_every_offset(data: bytes | memoryview | pa.Buffer, dtype: str) -> npt.NDArray[Any]:
    """View bytes as numbers of a type, one of which begins at every offset."""
    count = max(len(data) - np.dtype(dtype).itemsize + 1, 0)
    return np.ndarray((count,), dtype, data, strides=(1,))


ZERO = to_arrow(np.zeros(1, np.int32))[0]
"""The Integer 0, Hudi's default ordering value."""
