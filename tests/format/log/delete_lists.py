"""Content of delete blocks, as Apache Hudi writes it."""

import struct

import fastavro

# As in HoodieDeleteRecordList.avsc of Hudi 1.2.0.
PRIMITIVES = {
    "Boolean": "boolean",
    "Int": "int",
    "Long": "long",
    "Float": "float",
    "Double": "double",
    "Bytes": "bytes",
    "String": "string",
    "Date": "int",
    "Decimal": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
    "TimeMicros": "long",
    "TimestampMicros": "long",
}


def wrapper_type(name: str, value_type: object) -> dict[str, object]:
    fields = [{"name": "value", "type": value_type}]
    return {"type": "record", "name": f"{name}Wrapper", "fields": fields}


ITEMS = [f"{name}Wrapper" for name in PRIMITIVES]
LISTS = {"type": "array", "items": ["null", *ITEMS, wrapper_type("LocalDate", "int")]}
ARRAY_WRAPPER = {
    "type": "record",
    "name": "ArrayWrapper",
    "fields": [{"name": "wrappedValues", "type": ["null", LISTS]}],
}
WRAPPERS = [wrapper_type(name, value_type) for name, value_type in PRIMITIVES.items()]
DELETE = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "fields": [
        {"name": "recordKey", "type": ["null", "string"], "default": None},
        {"name": "partitionPath", "type": ["null", "string"], "default": None},
        {"name": "orderingVal", "type": ["null", *WRAPPERS, ARRAY_WRAPPER], "default": None},
    ],
}
DELETE_LIST = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieDeleteRecordList",
        "namespace": "org.apache.hudi.avro.model",
        "fields": [{"name": "deleteRecordList", "type": {"type": "array", "items": DELETE}}],
    }
)


def wrapped(name: str, value: object):
    return f"org.apache.hudi.avro.model.{name}Wrapper", {"value": value}


def array_of(*items: object):
    return "org.apache.hudi.avro.model.ArrayWrapper", {"wrappedValues": list(items)}


def content(version: int, payload: bytes) -> bytes:
    return struct.pack(">ii", version, len(payload)) + payload
