"""Avro schemas whose records are fuzzed: every type, and some of them inside each other."""

from __future__ import annotations

import json
from typing import Any

from hudi_pyspark.format.avro.schema import parse_schema


def _list(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _map(value: Any) -> dict[str, Any]:
    return {"type": "map", "values": value}


def _record(name: str, *types: Any) -> dict[str, Any]:
    fields = [{"name": f"g{i}", "type": kind} for i, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}
_FIXED_DECIMAL = {
    "type": "fixed", "name": "d", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 3,
}  # fmt: skip
_UUID = {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}
_ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
_MILLIS = {"type": "long", "logicalType": "timestamp-millis"}

SCHEMAS = (
    _record("r", "string", "long", "double", "boolean"),
    _record("r", ["null", "string"], ["null", "int"], ["bytes", "null"], "float"),
    _record("r", _DECIMAL, ["null", _FIXED_DECIMAL], _UUID, _ENUM, _MILLIS),
    _record("r", _list("long"), _map("string"), _list(["null", "string"])),
    _record(
        "r", _list(_record("p", "int", _map(_list("string")))), ["null", _record("q", "string")]
    ),
    _record("r", ["int", "long", "null"], ["null", "string", "double", _record("s", "boolean")]),
    _record("r", "null", _map(_record("empty")), _list(_list("int"))),
)
SAMPLES = tuple(parse_schema(json.dumps(schema)) for schema in SCHEMAS)
