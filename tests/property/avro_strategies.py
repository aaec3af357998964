"""Random Avro schemas, values for them, and what Arrow must make of the values."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import itertools
from typing import Any

import fastavro
import numpy as np
from hypothesis import strategies as st

from tests.format.log.log_writer import avro_records

Schema = Any
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

texts = st.text(st.characters(codec="utf-8"), max_size=6)
bytestrings = st.binary(max_size=20)
longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70)
ints = st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70)
timestamps = st.datetimes(timezones=st.just(dt.timezone.utc))
dates = st.dates()
floats: st.SearchStrategy[Any] = st.floats(width=32, allow_nan=False)

PLAIN: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", ints),
    ("long", longs),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", bytestrings),
    ("string", texts),
    ({"type": "string", "avro.java.string": "String"}, texts),
    ({"type": "string", "logicalType": "uuid"}, st.uuids()),
    ({"type": "int", "logicalType": "date"}, dates),
    ({"type": "int", "logicalType": "time-millis"}, st.integers(0, 86_399_999)),
    ({"type": "long", "logicalType": "time-micros"}, st.integers(0, 86_399_999_999)),
    ({"type": "long", "logicalType": "timestamp-micros"}, timestamps),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        timestamps.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    ),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, st.datetimes()),
]

# At most one branch per Python type, so that a decoded value shows its branch.
BRANCHES: dict[type, list[Schema]] = {
    bool: ["boolean"],
    int: ["int", "long"],
    float: ["double", "float"],
    str: ["string"],
    bytes: ["bytes"],
}


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    largest = 10**precision - 1
    return st.integers(-largest, largest).map(
        lambda unscaled: decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=50))
    )


@st.composite
def decimal_types(draw: st.DrawFn, names: itertools.count[int]) -> Any:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
    if draw(st.booleans()):
        return {"type": "bytes", **logical}, decimals(precision, scale)
    least = ((10**precision).bit_length() + 8) // 8
    size = draw(st.integers(least, 20) if least < 20 else st.just(least))
    fixed = {"type": "fixed", "name": f"Fixed{next(names)}", "size": size, **logical}
    return fixed, decimals(precision, scale)


@st.composite
def named_types(draw: st.DrawFn, names: itertools.count[int]) -> Any:
    if draw(st.booleans()):
        size = draw(st.integers(0, 17))
        fixed = {"type": "fixed", "name": f"Fixed{next(names)}", "size": size}
        return fixed, st.binary(min_size=size, max_size=size)
    symbols = draw(st.sampled_from([["A"], ["A", "B", "C"]]))
    enum = {"type": "enum", "name": f"Enum{next(names)}", "symbols": symbols}
    return enum, st.sampled_from(symbols)


@st.composite
def types(draw: st.DrawFn, names: itertools.count[int], depth: int) -> Any:
    """A schema, and a strategy for its values as fastavro takes them."""
    leaves = [st.sampled_from(PLAIN), decimal_types(names), named_types(names)]
    if depth == 0:
        return draw(st.one_of(leaves))
    parts = [optional_types, union_types, array_types, map_types, record_types]
    return draw(st.one_of([*leaves, *(part(names, depth - 1) for part in parts)]))


@st.composite
def optional_types(draw: st.DrawFn, names: itertools.count[int], depth: int) -> Any:
    kind, values = draw(
        types(names, depth).filter(lambda t: t[0] != "null" and not isinstance(t[0], list))
    )
    form = draw(st.sampled_from(["null first", "null last", "alone"]))
    if form == "alone":
        return [kind], values
    union = ["null", kind] if form == "null first" else [kind, "null"]
    return union, st.none() | values


@st.composite
def union_types(draw: st.DrawFn, names: itertools.count[int], depth: int) -> Any:
    del names, depth
    values: st.SearchStrategy[Any]
    if draw(st.booleans()):
        pair, values = draw(
            st.sampled_from(
                [
                    (["int", "long"], longs),
                    (["float", "double"], floats),
                ]
            )
        )
        branches = list(pair)
    else:
        kinds = draw(st.lists(st.sampled_from(list(BRANCHES)), min_size=2, unique=True))
        branches = [draw(st.sampled_from(BRANCHES[kind])) for kind in kinds]
        by_schema = {schema: values for schema, values in PLAIN if isinstance(schema, str)}
        values = st.one_of([by_schema[branch] for branch in branches])
    if draw(st.booleans()):
        branches.insert(draw(st.integers(0, len(branches))), "null")
        values = st.none() | values
    return branches, values


@st.composite
def array_types(draw: st.DrawFn, names: itertools.count[int], depth: int) -> Any:
    kind, values = draw(types(names, depth).filter(lambda t: not has_no_bytes(t[0])))
    return {"type": "array", "items": kind}, st.lists(values, max_size=4)


def has_no_bytes(schema: Schema) -> bool:
    """Whether values of the type take no bytes; arrays of them are refused."""
    if not isinstance(schema, dict):
        return bool(schema == "null")
    match schema["type"]:
        case "record":
            return all(has_no_bytes(field["type"]) for field in schema["fields"])
        case "fixed":
            return bool(schema["size"] == 0)
    return False


@st.composite
def map_types(draw: st.DrawFn, names: itertools.count[int], depth: int) -> Any:
    kind, values = draw(types(names, depth))
    return {"type": "map", "values": kind}, st.dictionaries(texts, values, max_size=3)


@st.composite
def record_types(draw: st.DrawFn, names: itertools.count[int], depth: int) -> Any:
    fields = draw(st.lists(types(names, depth), max_size=4))
    schema = {
        "type": "record",
        "name": f"Record{next(names)}",
        "fields": [{"name": f"f{i}", "type": kind} for i, (kind, _) in enumerate(fields)],
    }
    return schema, st.fixed_dictionaries({f"f{i}": v for i, (_, v) in enumerate(fields)})


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> tuple[Schema, list[Any]]:
    """A record's schema and some records."""
    schema, values = draw(record_types(itertools.count(), 3))
    return schema, draw(st.lists(values, min_size=least, max_size=5))


def encode(schema: Schema, records: list[Any]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The records as fastavro encodes them, and where each begins and ends."""
    encoded = avro_records(schema, records)
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return b"".join(encoded), offsets[:-1], offsets[1:]


def decode(schema: Schema, raw: bytes, count: int) -> list[Any]:
    """The records as fastavro decodes them, in the form of `pyarrow.Table.to_pylist`."""
    stream = io.BytesIO(raw)
    return [arrow_value(schema, fastavro.schemaless_reader(stream, schema)) for _ in range(count)]


def arrow_value(schema: Schema, value: Any) -> Any:
    """What Arrow shows for a value that fastavro decoded."""
    if isinstance(schema, list):
        return _union_value(schema, value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind in ("record", "array", "map"):
        return _nested_value(kind, schema, value)
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if logical == "uuid":
        return str(value)
    if logical in ("time-millis", "time-micros"):
        unit = dt.timedelta(milliseconds=1) if logical == "time-millis" else dt.timedelta.resolution
        return (dt.datetime.combine(EPOCH.date(), value, dt.timezone.utc) - EPOCH) // unit
    return value


def _nested_value(kind: str, schema: Schema, value: Any) -> Any:
    if kind == "record":
        return {f["name"]: arrow_value(f["type"], value[f["name"]]) for f in schema["fields"]}
    if kind == "array":
        return [arrow_value(schema["items"], item) for item in value]
    return [(key, arrow_value(schema["values"], item)) for key, item in value.items()]


def _union_value(union: list[Schema], value: Any) -> Any:
    members = [member for member in union if member != "null"]
    if value is None:
        return None
    if len(members) == 1:
        return arrow_value(members[0], value)
    if set(members) in ({"int", "long"}, {"float", "double"}):
        return value
    chosen = next(m for m in members if m in BRANCHES[type(value)])
    return {f"member{i}": value if m == chosen else None for i, m in enumerate(members)}
