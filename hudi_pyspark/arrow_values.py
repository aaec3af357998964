"""Make Arrow values, and read them, without importing pandas.

If pandas is installed, the first call of `pyarrow.array`, of `pyarrow.scalar` or of a conversion to
NumPy imports it. That takes 0.3 s of processor time in each new process, as long as a small table.
So whatever most queries need is made here.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def to_arrow(
    values: npt.NDArray[Any], *, is_valid: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return numbers or flags as an array.

    Args:
        values: integers, floats or booleans; the array shares the memory of contiguous numbers.
        is_valid: one flag for each value, False for null; None if there are no nulls.
    """
    data = _bits(values) if values.dtype == np.bool_ else np.ascontiguousarray(values)
    validity = None if is_valid is None else pa.py_buffer(_bits(is_valid))
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


def text_scalar(text: str) -> pa.Scalar:
    """Return a text as a scalar."""
    data = text.encode()
    buffers = [None, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), 1, buffers)[0]


def _bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return np.packbits(flags, bitorder="little")


ZERO = to_arrow(np.zeros(1, np.int32))[0]
"""The Integer 0, Hudi's default ordering value."""
