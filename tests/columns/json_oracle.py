"""What a CDC image says in JSON, made of Python values one by one."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa


def json_value(value: Any, kind: pa.DataType) -> Any:
    """A value as `json.dumps` should write it; decimals stay what they are."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: json_value(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {k: json_value(v, kind.item_type) for k, v in value}
    if pa.types.is_list(kind):
        return [json_value(item, kind.value_type) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("-" if value < 0 else "") + "Infinity"
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.datetime):
        plain = value.replace(tzinfo=None).isoformat(timespec="microseconds")
        return plain + ("Z" if value.tzinfo else "")
    if isinstance(value, dt.date):
        return value.isoformat()
    return value
