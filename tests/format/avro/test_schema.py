"""Avro schema JSON, and the Arrow schema that it describes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptAvroError, UnsupportedTypeError
from hudi_pyspark.format.avro.schema import (
    AvroFixed,
    AvroPrimitive,
    AvroRecord,
    AvroReference,
    AvroUnion,
    LogicalType,
    Primitive,
    arrow_schema,
    parse_schema,
)
from hudi_pyspark.format.nested_types import is_variant, vector_element
from hudi_pyspark.table.schema import as_shown


def record(*fields: dict[str, Any], **attributes: Any) -> str:
    return json.dumps({"type": "record", "name": "r", "fields": list(fields), **attributes})


def column(kind: Any, **attributes: Any) -> str:
    return record({"name": "c", "type": kind, **attributes})


def logical(kind: str, name: str, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **attributes}


def fixed(size: int, name: str | None = None, **attributes: Any) -> dict[str, Any]:
    extra = {} if name is None else {"logicalType": name}
    return {"type": "fixed", "name": "f", "size": size, **extra, **attributes}


UTC_MICROS = pa.timestamp("us", tz="UTC")
UTC_MILLIS = pa.timestamp("ms", tz="UTC")
STRUCT = {"type": "record", "name": "s", "fields": [{"name": "x", "type": ["null", "int"]}]}


@pytest.mark.parametrize(
    ("kind", "expected", "nullable"),
    [
        pytest.param("null", pa.null(), True, id="null"),
        pytest.param("boolean", pa.bool_(), False, id="boolean"),
        pytest.param("int", pa.int32(), False, id="int"),
        pytest.param("long", pa.int64(), False, id="long"),
        pytest.param("float", pa.float32(), False, id="float"),
        pytest.param("double", pa.float64(), False, id="double"),
        pytest.param("bytes", pa.binary(), False, id="bytes"),
        pytest.param("string", pa.string(), False, id="string"),
        pytest.param(
            {"type": "string", "avro.java.string": "String"}, pa.string(), False, id="java"
        ),
        pytest.param({"type": {"type": "long"}}, pa.int64(), False, id="type-in-type"),
        pytest.param(
            {"type": "enum", "name": "e", "symbols": ["A"]}, pa.string(), False, id="enum"
        ),
        pytest.param(fixed(3), pa.binary(), False, id="fixed"),
        pytest.param(fixed(12, "duration"), pa.binary(), False, id="duration"),
        pytest.param(logical("string", "uuid"), pa.string(), False, id="uuid"),
        pytest.param(fixed(16, "uuid"), pa.string(), False, id="uuid-fixed"),
        pytest.param(fixed(15, "uuid"), pa.binary(), False, id="uuid-of-wrong-size"),
        pytest.param(logical("int", "date"), pa.date32(), False, id="date"),
        pytest.param(logical("long", "date"), pa.int64(), False, id="date-on-wrong-type"),
        pytest.param(logical("int", "time-millis"), pa.int32(), False, id="time-millis"),
        pytest.param(logical("long", "time-micros"), pa.int64(), False, id="time-micros"),
        pytest.param(logical("long", "timestamp-millis"), UTC_MILLIS, False, id="ts-millis"),
        pytest.param(logical("long", "timestamp-micros"), UTC_MICROS, False, id="ts-micros"),
        pytest.param(
            logical("long", "local-timestamp-millis"), pa.timestamp("ms"), False, id="local-millis"
        ),
        pytest.param(
            logical("long", "local-timestamp-micros"), pa.timestamp("us"), False, id="local-micros"
        ),
        pytest.param(logical("long", "made-up"), pa.int64(), False, id="unknown-logical-type"),
        pytest.param(
            logical("bytes", "decimal", precision=38, scale=38),
            pa.decimal128(38, 38),
            False,
            id="decimal-bytes",
        ),
        pytest.param(
            fixed(5, "decimal", precision=10), pa.decimal128(10, 0), False, id="decimal-fixed"
        ),
        pytest.param(
            fixed(4, "decimal", precision=10), pa.binary(), False, id="decimal-too-wide-for-fixed"
        ),
        pytest.param(
            logical("bytes", "decimal", precision=2, scale=3),
            pa.binary(),
            False,
            id="scale-too-large",
        ),
        pytest.param(
            logical("bytes", "decimal"), pa.binary(), False, id="decimal-without-precision"
        ),
        pytest.param(STRUCT, pa.struct([pa.field("x", pa.int32())]), False, id="record"),
        pytest.param(
            {"type": "array", "items": "int"},
            pa.list_(pa.field("element", pa.int32(), nullable=False)),
            False,
            id="array",
        ),
        pytest.param(
            {"type": "array", "items": ["null", "int"]},
            pa.list_(pa.field("element", pa.int32())),
            False,
            id="array-of-nullable",
        ),
        pytest.param(
            {"type": "map", "values": "string"},
            pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False)),
            False,
            id="map",
        ),
        pytest.param(["null", "int"], pa.int32(), True, id="null-first"),
        pytest.param(["int", "null"], pa.int32(), True, id="null-last"),
        pytest.param(["int"], pa.int32(), False, id="one-branch"),
        pytest.param(["null"], pa.null(), True, id="only-null"),
        pytest.param(["int", "long"], pa.int64(), False, id="int-long"),
        pytest.param(["double", "null", "float"], pa.float64(), True, id="float-double"),
        pytest.param(
            ["int", "null", "string"],
            pa.struct([("member0", pa.int32()), ("member1", pa.string())]),
            True,
            id="general-union",
        ),
        pytest.param(
            ["int", "string"],
            pa.struct([("member0", pa.int32()), ("member1", pa.string())]),
            False,
            id="general-union-without-null",
        ),
    ],
)
def test_arrow_type_is_that_of_spark(kind, expected, nullable):
    (field,) = arrow_schema(parse_schema(column(kind)))
    assert field.equals(pa.field("c", expected, nullable=nullable))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param(logical("long", "timestamp-nanos"), "'c' .*timestamp-nanos", id="nanos"),
        pytest.param(
            {"type": "array", "items": logical("long", "local-timestamp-nanos")},
            "'c.element' .*local-timestamp-nanos",
            id="nested",
        ),
        pytest.param(
            logical("bytes", "decimal", precision=39),
            "'c' is a decimal of 39 digits",
            id="39-digits",
        ),
        pytest.param({**STRUCT, "logicalType": "variant"}, "'c' is a variant of", id="variant"),
        pytest.param(["null", "r"], "'c' .*'r, in itself'", id="recursive"),
    ],
)
def test_type_without_counterpart_is_refused_by_column_name(kind, message):
    schema = parse_schema(column(kind))
    with pytest.raises(UnsupportedTypeError, match=message):
        arrow_schema(schema)


def test_blob_is_an_ordinary_record():
    plain = arrow_schema(parse_schema(column(STRUCT)))
    assert arrow_schema(parse_schema(column({**STRUCT, "logicalType": "blob"}))) == plain


@pytest.mark.parametrize(
    ("element", "kind"),
    [("FLOAT", pa.float32()), ("DOUBLE", pa.float64()), ("INT8", pa.int8())],
)
def test_vector_is_stored_as_bytes_and_becomes_a_list_of_its_elements(element, kind):
    avro = parse_schema(column({**fixed(8, "vector"), "elementType": element}))
    assert arrow_schema(avro).field("c").type == pa.binary()
    assert as_shown(arrow_schema(avro).field("c")).type == pa.list_(kind)


def variant(*fields):
    parts = [{"name": name, "type": "bytes"} for name in fields]
    return {"type": "record", "name": "v", "fields": parts, "logicalType": "variant"}


@pytest.mark.parametrize(
    "fields",
    [("metadata", "value"), ("value", "metadata", "typed_value"), ("metadata", "typed_value")],
)
def test_variant_keeps_its_stored_fields_and_is_marked(fields):
    kind = arrow_schema(parse_schema(column(["null", variant(*fields)]))).field("c").type
    assert kind.names == list(fields)
    assert is_variant(kind)


def test_struct_with_the_fields_of_a_variant_is_none():
    plain = {**variant("metadata", "value")}
    del plain["logicalType"]
    assert not is_variant(arrow_schema(parse_schema(column(plain))).field("c").type)


def test_vector_of_unknown_elements_is_refused_by_column_name():
    avro = parse_schema(column({**fixed(8, "vector"), "elementType": "INT4"}))
    with pytest.raises(UnsupportedTypeError, match="'c' is a vector of INT4"):
        arrow_schema(avro)


def test_column_of_another_type_is_no_vector():
    avro = parse_schema(column("long"))
    assert vector_element(arrow_schema(avro).field("c")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "not valid JSON", id="no-json"),
        pytest.param("[" * 100_000, "not valid JSON", id="deep-json"),
        pytest.param("17", "expected an Avro type, found 17", id="number"),
        pytest.param(
            column("strnig"), "field 'c': the Avro schema has no type 'strnig'", id="typo"
        ),
        pytest.param(column([]), "cannot be empty", id="empty-union"),
        pytest.param(column(["int", ["null", "long"]]), "contain a union", id="union-in-union"),
        pytest.param(column(["null", "null"]), "null more than once", id="two-nulls"),
        pytest.param(column({"type": "array"}), "'items'", id="array-without-items"),
        pytest.param(column({}), "'type'", id="no-type"),
        pytest.param(column(fixed(-1)), "size of a fixed type, found -1", id="negative-size"),
        pytest.param(column({"type": "enum", "name": "e"}), "symbols", id="enum-without-symbols"),
        pytest.param(column({"type": "fixed", "size": 3}), "named type", id="fixed-without-name"),
        pytest.param(record({"type": "int"}), "field with a name", id="field-without-name"),
        pytest.param('{"type": "record", "name": "r"}', "fields of a record", id="no-fields"),
        pytest.param(
            record({"name": "a", "type": "int"}, {"name": "a", "type": "int"}), "twice", id="twice"
        ),
    ],
)
def test_text_that_is_no_schema_is_refused(text, message):
    with pytest.raises(CorruptAvroError, match=message):
        parse_schema(text)


@pytest.mark.parametrize(
    "item",
    [
        pytest.param("null", id="nulls"),
        pytest.param(fixed(0), id="fixed-of-no-bytes"),
        pytest.param({"type": "record", "name": "e", "fields": []}, id="records-without-fields"),
        pytest.param(
            {"type": "record", "name": "n", "fields": [{"name": "x", "type": "null"}]},
            id="records-of-nulls",
        ),
    ],
)
def test_array_of_items_that_take_no_bytes_is_refused(item):
    with pytest.raises(UnsupportedTypeError, match=r"'c.value' has items that take no bytes"):
        parse_schema(column({"type": "map", "values": {"type": "array", "items": item}}))


def test_schema_that_is_no_record_is_refused():
    with pytest.raises(UnsupportedTypeError, match="expected the Avro schema of a record"):
        parse_schema('"string"')


def test_reference_resolves_in_the_namespace_around_it():
    inner = {"type": "fixed", "name": "f", "size": 2}
    schema = parse_schema(
        record({"name": "a", "type": inner}, {"name": "b", "type": "f"}, namespace="one.two")
    )
    assert [field.type for field in schema.fields] == [AvroFixed("one.two.f", 2)] * 2


def test_same_name_in_two_namespaces_gives_two_types():
    fields = [
        {"name": space, "type": [fixed(size, namespace=f"r.{space}"), "null"]}
        for space, size in [("a", 2), ("b", 3)]
    ]
    again = {"name": "again", "type": "r.a.f"}
    a, b, reference = (field.type for field in parse_schema(record(*fields, again)).fields)
    assert isinstance(a, AvroUnion)
    assert a.members == (AvroFixed("r.a.f", 2),)
    assert isinstance(b, AvroUnion)
    assert b.members == (AvroFixed("r.b.f", 3),)
    assert reference == AvroFixed("r.a.f", 2)


def test_name_with_dots_brings_its_own_namespace():
    inner = {"type": "record", "name": "x.y.s", "namespace": "ignored", "fields": []}
    schema = parse_schema(record({"name": "a", "type": inner}, {"name": "b", "type": "x.y.s"}))
    assert schema.fields[0].type == schema.fields[1].type == AvroRecord("x.y.s", ())


def test_type_that_contains_itself_leaves_a_reference():
    (field,) = parse_schema(column(["null", "r"])).fields
    assert isinstance(field.type, AvroUnion)
    assert field.type.members == (AvroReference("r"),)


def test_field_keeps_its_default():
    without, null = parse_schema(
        record(
            {"name": "a", "type": "int", "aliases": ["old"], "doc": "ignored"},
            {"name": "b", "type": ["null", "int"], "default": None},
        )
    ).fields
    assert without.default is None
    assert null.default is None


def test_schema_can_be_a_dictionary_key():
    text = record({"name": "a", "type": {"type": "map", "values": "int"}, "default": {"x": 1}})
    assert {parse_schema(text): 1}[parse_schema(text)] == 1


def test_decimal_keeps_precision_and_scale():
    (field,) = parse_schema(column(logical("bytes", "decimal", precision=7, scale=2))).fields
    assert field.type == AvroPrimitive(Primitive.BYTES, LogicalType("decimal", 7, 2))


def records_inside_records(count: int) -> str:
    """A schema in which each record has the one before it twice."""
    fields = [{"name": "f0", "type": {"type": "record", "name": "r0", "fields": []}}]
    for number in range(1, count):
        inside = [{"name": name, "type": f"r{number - 1}"} for name in "ab"]
        kind = {"type": "record", "name": f"r{number}", "fields": inside}
        fields.append({"name": f"f{number}", "type": kind})
    return json.dumps({"type": "record", "name": "r", "fields": fields})


def test_types_that_multiply_inside_each_other_are_refused_before_they_fill_the_memory():
    with pytest.raises(UnsupportedTypeError, match=r"131071 types, nested 17 deep, at 'f16'"):
        parse_schema(records_inside_records(60))


def test_types_may_share_parts_as_long_as_they_are_few():
    assert len(parse_schema(records_inside_records(14)).fields) == 14


def test_wide_schema_is_refused_before_its_end():
    fields = [{"name": f"c{i}", "type": ["null", "string"]} for i in range(100_000)]
    with pytest.raises(UnsupportedTypeError, match="100002 types, nested 2 deep, at 'c33333'"):
        parse_schema(json.dumps({"type": "record", "name": "r", "fields": fields}))


def test_half_of_a_character_is_no_json():
    text = json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": "\ud83d", "type": "int"}]}
    )
    with pytest.raises(CorruptAvroError, match=r"not valid JSON.*surrogates not allowed"):
        parse_schema(text)
