"""Shredded variants that pyarrow builds, and what variants say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.format.nested_types import VARIANT
from tests.columns.variant_oracle import decoded_in

NEEDS_PYARROW_22 = pytest.mark.skipif(
    int(pa.__version__.partition(".")[0]) < 22, reason="pyarrow 22 is the first that reads VARIANT"
)


def metadata(*names: str) -> bytes:
    """Return a dictionary of names, in the given order."""
    texts = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    width = 1 + (max(ends[-1], len(names)) > 255)
    numbers = b"".join(number.to_bytes(width, "little") for number in [len(names), *ends])
    return bytes([(width - 1) << 6 | 1]) + numbers + b"".join(texts)


def variants(
    groups: list[Any], typed: pa.DataType, names: bytes | None = metadata()
) -> pa.StructArray:
    """Return shredded variants of the same metadata; None for a null."""
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed)])
    return pa.array([g if g is None else {"metadata": names, **g} for g in groups], kind)


def group(typed: pa.DataType) -> pa.StructType:
    return pa.struct([("value", pa.binary()), ("typed_value", typed)])


def trees(array: pa.Array) -> list[object]:
    array.validate(full=True)
    assert array.type.equals(VARIANT, check_metadata=True)
    return [decoded_in(row) if row else None for row in array.to_pylist()]
