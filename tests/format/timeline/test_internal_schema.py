import json

import pytest

from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.format.timeline.internal_schema import (
    InternalField,
    InternalSchema,
    ListPart,
    MapPart,
    StructPart,
    parse_internal_schema,
    parse_schema_history,
)


def column(field_id, name, kind="int"):
    return {"id": field_id, "name": name, "optional": True, "type": kind}


def schema(version, *fields):
    return {"max_column_id": 9, "version_id": version, "type": "record", "fields": list(fields)}


# As Apache Hudi writes it.
NESTED = schema(
    20240229010203004,
    column(0, "id", "string"),
    column(1, "s", {"type": "record", "fields": [column(2, "x"), column(3, "y", "decimal(9, 2)")]}),
    column(
        4,
        "l",
        {
            "type": "array",
            "element_id": 5,
            "element": {"type": "record", "fields": [column(6, "z")]},
            "element_optional": True,
        },
    ),
    column(
        7,
        "m",
        {
            "type": "map",
            "key_id": 8,
            "key": "string",
            "value_id": 9,
            "value": {"type": "array", "element_id": 10, "element": "int"},
            "value_optional": True,
        },
    ),
)
PARSED = InternalSchema(
    20240229010203004,
    StructPart(
        (
            InternalField(0, "id", None),
            InternalField(
                1, "s", StructPart((InternalField(2, "x", None), InternalField(3, "y", None)))
            ),
            InternalField(4, "l", ListPart(StructPart((InternalField(6, "z", None),)))),
            InternalField(7, "m", MapPart(ListPart(None))),
        )
    ),
)


@pytest.mark.parametrize("encode", [str, str.encode], ids=["text", "bytes"])
def test_schema_with_nested_columns(encode):
    assert parse_internal_schema(encode(json.dumps(NESTED)), path="c") == PARSED


def test_fields_are_found_by_id_and_by_name():
    root = PARSED.root
    assert root.by_id()[4] is root.by_name()["l"] is root.fields[2]
    assert 2 not in root.by_id()  # that one is inside of s
    assert "x" not in root.by_name()


def test_history_is_sorted_by_version_as_a_number():
    written = {"schemas": [schema(100, column(0, "b")), schema(0), schema(20, column(0, "a"))]}
    found = parse_schema_history(json.dumps(written).encode(), path="h")
    assert [version.version_id for version in found] == [0, 20, 100]
    assert [version.root.by_id()[0] for version in found[1:]] == [
        InternalField(0, "a", None),
        InternalField(0, "b", None),
    ]


BAD_SCHEMAS = [
    pytest.param("", id="nothing"),
    pytest.param("[]", id="no-object"),
    pytest.param("{}", id="no-members"),
    pytest.param(json.dumps(schema("next")), id="version-is-no-number"),
    pytest.param(json.dumps(schema(1, {"id": 0, "name": "a"})), id="no-type"),
    pytest.param(json.dumps(schema(1, column(0, "a", {"type": "set"}))), id="unknown-type"),
    pytest.param(json.dumps(schema(1, column(0, "a", 7))), id="type-is-a-number"),
]


@pytest.mark.parametrize("text", BAD_SCHEMAS)
def test_anything_else_is_a_corrupt_timeline(text):
    with pytest.raises(CorruptTimelineError, match="c: not an internal schema"):
        parse_internal_schema(text, path="c")


@pytest.mark.parametrize("text", [*BAD_SCHEMAS, pytest.param('{"schemas": [{}]}', id="bad-item")])
def test_history_of_anything_else_is_a_corrupt_timeline(text):
    with pytest.raises(CorruptTimelineError, match="h: not an internal schema"):
        parse_schema_history(text.encode(), path="h")
