"""Avro records as literal bytes, and the columns that they stand for."""

from __future__ import annotations

import datetime as dt
import json
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptAvroError, UnsupportedTypeError
from hudi_pyspark.format.avro.decoder import decode_records, record_spans
from hudi_pyspark.format.avro.schema import AvroRecord, parse_schema

# Lists of few records are searched differently than lists of many.
FEW_OR_MANY = pytest.mark.parametrize("times", [1, 60], ids=["few", "many"])


def schema_of(**fields: Any) -> AvroRecord:
    columns = [{"name": name, "type": kind} for name, kind in fields.items()]
    return parse_schema(json.dumps({"type": "record", "name": "r", "fields": columns}))


def decode(
    schema: AvroRecord, *records: bytes, columns: list[str] | None = None, times: int = 1
) -> pa.Table:
    edges = np.cumsum([0, *(len(record) for record in records)])
    starts = np.tile(edges[:-1], times)
    ends = np.tile(edges[1:], times)
    return decode_records(schema, b"".join(records), starts, ends, columns)


def decode_column(kind: Any, *records: bytes, times: int = 1) -> list[Any]:
    table = decode(schema_of(c=kind), *records, times=times)
    table.validate(full=True)
    values: list[Any] = table["c"].to_pylist()
    return values


def decimal(kind: str, precision: int, scale: int, **attributes: Any) -> dict[str, Any]:
    logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return {"type": kind, **logical, **attributes}


def fixed_decimal(size: int, precision: int, scale: int) -> dict[str, Any]:
    return decimal("fixed", precision, scale, name="f", size=size)


def logical(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": name}


def varint(number: int) -> bytes:
    rest = number << 1
    out = []
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


ARRAY = {"type": "array", "items": "int"}
ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
UUID = {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}
PAIR = {
    "type": "record",
    "name": "p",
    "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}],
}
UTC = dt.timezone.utc
SMALLEST_LONG = b"\xff" * 9 + b"\x01"


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        pytest.param("null", b"", None, id="null"),
        pytest.param("boolean", b"\x01", True, id="true"),
        pytest.param("int", b"\x01", -1, id="int-1-byte"),
        pytest.param("int", b"\x80\x01", 64, id="int-2-bytes"),
        pytest.param("int", b"\xff\xff\xff\xff\x0f", -(2**31), id="int-smallest"),
        pytest.param("int", b"\x80\x00", 0, id="int-longer-than-needed"),
        pytest.param("long", b"\xfe" + b"\xff" * 8 + b"\x01", 2**63 - 1, id="long-largest"),
        pytest.param("long", SMALLEST_LONG, -(2**63), id="long-smallest"),
        pytest.param("long", b"\x80" * 8 + b"\x01", 2**55, id="long-9-bytes"),
        pytest.param("float", struct.pack("<f", -1.5), -1.5, id="float"),
        pytest.param("double", struct.pack("<d", 1e300), 1e300, id="double"),
        pytest.param("bytes", b"\x04\xff\x00", b"\xff\x00", id="bytes"),
        pytest.param("string", b"\x06\xe2\x82\xac", "€", id="string"),
        pytest.param("string", b"\x00", "", id="string-empty"),
        pytest.param(ENUM, b"\x02", "B", id="enum"),
        pytest.param(UUID, bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f", id="uuid"),
        pytest.param(logical("int", "date"), b"\x01", dt.date(1969, 12, 31), id="date"),
        pytest.param(logical("int", "time-millis"), b"\x02", 1, id="time-millis"),
        pytest.param(
            logical("long", "timestamp-millis"),
            b"\x01",
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
            id="timestamp-millis",
        ),
        pytest.param(
            logical("long", "timestamp-micros"),
            b"\x02",
            dt.datetime(1970, 1, 1, microsecond=1, tzinfo=UTC),
            id="timestamp-micros",
        ),
        pytest.param(
            logical("long", "local-timestamp-millis"),
            b"\x02",
            dt.datetime(1970, 1, 1, microsecond=1000),  # noqa: DTZ001 - local by definition
            id="local-timestamp-millis",
        ),
        pytest.param(decimal("bytes", 4, 2), b"\x02\xff", Decimal("-0.01"), id="decimal-1-byte"),
        pytest.param(
            decimal("bytes", 20, 0),
            b"\x12\x01" + bytes(8),
            Decimal(2**64),
            id="decimal-9-bytes",
        ),
        pytest.param(
            decimal("bytes", 4, 0), b"\x28" + b"\xff" * 19 + b"\xfe", Decimal(-2), id="decimal-sign"
        ),
        pytest.param(fixed_decimal(5, 10, 2), b"\xff\xff\xff\xff\x9c", Decimal(-1), id="fixed-5"),
        pytest.param(
            fixed_decimal(16, 38, 0),
            (-(10**38) + 1).to_bytes(16, "big", signed=True),
            Decimal(-(10**38) + 1),
            id="fixed-16",
        ),
        pytest.param(
            fixed_decimal(17, 38, 0),
            (10**38 - 1).to_bytes(17, "big", signed=True),
            Decimal(10**38 - 1),
            id="fixed-17",
        ),
        pytest.param(["null", "int"], b"\x00", None, id="null-first-null"),
        pytest.param(["null", "int"], b"\x02\x02", 1, id="null-first-value"),
        pytest.param(["int", "null"], b"\x02", None, id="null-last-null"),
        pytest.param(["int", "null"], b"\x00\x02", 1, id="null-last-value"),
        pytest.param(["int"], b"\x00\x02", 1, id="single-branch"),
        pytest.param(["null"], b"\x00", None, id="only-null"),
        pytest.param(["int", "null", "long"], b"\x04\x02", 1, id="promoted"),
        pytest.param(["int", "null", "long"], b"\x02", None, id="promoted-null"),
        pytest.param(
            ["int", "null", "string"], b"\x04\x02a", {"member0": None, "member1": "a"}, id="union"
        ),
        pytest.param(["int", "null", "string"], b"\x02", None, id="union-null"),
        pytest.param(PAIR, b"\x02\x02\x02a", {"x": 1, "y": "a"}, id="record"),
        pytest.param(["null", PAIR], b"\x00", None, id="record-null"),
        pytest.param(ARRAY, b"\x00", [], id="array-empty"),
        pytest.param(ARRAY, b"\x04\x02\x04\x02\x06\x00", [1, 2, 3], id="array-two-blocks"),
        pytest.param(ARRAY, b"\x03\x04\x02\x04\x02\x06\x00", [1, 2, 3], id="array-sized-block"),
        pytest.param(
            {"type": "array", "items": "boolean"}, b"\x04\0\x01\0", [False, True], id="flags"
        ),
        pytest.param(
            {"type": "array", "items": ["null", "string"]},
            b"\x04\x00\x02\x02a\x00",
            [None, "a"],
            id="array-of-nullable",
        ),
        pytest.param(
            {"type": "array", "items": ARRAY},
            b"\x06\x02\x02\x00\x00\x03\x04\x04\x06\x00\x00",
            [[1], [], [2, 3]],
            id="array-of-arrays",
        ),
        pytest.param(
            {"type": "map", "values": PAIR},
            b"\x02\x02k\x02\x00\x00",
            [("k", {"x": 1, "y": None})],
            id="map",
        ),
    ],
)
@FEW_OR_MANY
def test_value_is_decoded(kind, raw, expected, times):
    assert decode_column(kind, raw, times=times) == [expected] * times


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        pytest.param("boolean", b"\x02", r"boolean \(0 or 1\), found 2", id="boolean"),
        pytest.param("int", b"", "ends where a number should begin", id="int-missing"),
        pytest.param("int", b"\x80", "at most 1 bytes", id="int-cut"),
        pytest.param("int", b"\x80\x80\x80\x80\x10", "32 bits, found 2147483648", id="int-range"),
        pytest.param("long", b"\x80" * 10 + b"\x00", "more than 64 bits", id="long-11-bytes"),
        pytest.param("long", b"\xff" * 9 + b"\x02", "more than 64 bits", id="long-65-bits"),
        pytest.param("double", b"\x00" * 7, "at most 7 bytes.*found 8", id="double-cut"),
        pytest.param("string", b"\x04a", "at most 1 bytes.*found 2", id="string-past-end"),
        pytest.param("string", b"\x01", "at most 0 bytes.*found -1", id="string-negative"),
        pytest.param("string", b"\x02\xff", "not valid UTF-8", id="string-bad-text"),
        pytest.param(ENUM, b"\x04", "one of 2 symbols, found 2", id="enum"),
        pytest.param(["null", "int"], b"\x04", "2 branches, found 2", id="branch"),
        pytest.param(["null", "int"], b"\x01", "2 branches, found -1", id="branch-negative"),
        pytest.param(decimal("bytes", 4, 2), b"\x00", "no bytes", id="decimal-empty"),
        pytest.param(
            decimal("bytes", 2, 0), b"\x02\x64", "more than 2 digits", id="decimal-digits"
        ),
        pytest.param(
            decimal("bytes", 38, 0), b"\x20\x7f" + b"\xff" * 15, "38 digits", id="decimal-39-digits"
        ),
        pytest.param(
            decimal("bytes", 38, 0), b"\x22\x01" + bytes(16), "128 bits", id="decimal-17-bytes"
        ),
        pytest.param(
            decimal("bytes", 38, 0), b"\xa0\x1f" + bytes(2000), "128 bits", id="decimal-2000-bytes"
        ),
        pytest.param(ARRAY, b"\x04\x02", "room for, found 2", id="array-count"),
        pytest.param(ARRAY, b"\x02\x02", "ends (inside|where) a number", id="array-without-end"),
        pytest.param(
            ARRAY, SMALLEST_LONG + b"\x02\x02\x00", "found -?9223372036854775808", id="count"
        ),
        pytest.param(ARRAY, b"\x01\x04\x02\x00", "does not end where it says", id="block-size"),
        pytest.param(ARRAY, b"\x01\x10\x02\x00", "at most 2 bytes.*found 8", id="block-past-end"),
        pytest.param(ARRAY, b"\x01\x01\x02\x00", "at most 2 bytes.*found -1", id="block-negative"),
        pytest.param("int", b"\x02\x00\x00", "after the last field, found 2", id="bytes-left"),
    ],
)
@FEW_OR_MANY
def test_malformed_value_is_refused(kind, raw, message, times):
    with pytest.raises(CorruptAvroError, match=message) as caught:
        decode_column(kind, raw, times=times)
    assert (caught.value.record, caught.value.field) in [(0, "c"), (0, "c.element"), (0, "")]


@pytest.mark.parametrize(
    ("kind", "field", "good", "bad"),
    [
        pytest.param("string", "c", b"\x02a", b"\x02\xff", id="text"),
        pytest.param(["null", "boolean"], "c", b"\x00", b"\x02\x02", id="nullable"),
        pytest.param(PAIR, "c.y", b"\x00\x00", b"\x00\x04", id="record"),
        pytest.param(
            {"type": "array", "items": "string"},
            "c.element",
            b"\x00",
            b"\x02\x02\xff\x00",
            id="array",
        ),
        pytest.param(
            {"type": "map", "values": "int"}, "c.key", b"\x00", b"\x02\x02\xff\x00\x00", id="key"
        ),
        pytest.param(
            ["int", "null", "string"], "c.member1", b"\x02", b"\x04\x02\xff", id="general-union"
        ),
        pytest.param(
            decimal("bytes", 38, 0), "c", b"\x02\x00", b"\x20\x7f" + b"\xff" * 15, id="decimal"
        ),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 2, 5, 100])
def test_error_names_the_record_and_the_field(kind, field, good, bad, before):
    with pytest.raises(CorruptAvroError) as caught:
        decode_column(kind, *[good] * before, bad, good)
    assert (caught.value.record, caught.value.field) == (before, field)


def test_value_may_not_borrow_bytes_of_the_next_record():
    with pytest.raises(CorruptAvroError, match="at most 0 bytes") as caught:
        decode_column("string", b"\x02", b"\x02a")
    assert caught.value.record == 0


@pytest.mark.parametrize("kind", [["null", PAIR], {"type": "map", "values": "string"}, ENUM, ARRAY])
def test_no_records_give_an_empty_column(kind):
    assert decode_column(kind) == []


def test_nulls_and_values_keep_their_rows():
    raw = [b"\x00", b"\x02\x02a", b"\x00", b"\x02\x04bc", b"\x02\x00"]
    assert decode_column(["null", "string"], *raw) == [None, "a", None, "bc", ""]


def test_lists_of_very_different_lengths_keep_their_items():
    lengths = [0, 1000, 3, 1, *[2] * 100, 500]
    raw = [
        struct.pack("<B", 0)
        if not length
        else varint(length)
        + b"".join(b"\x02" + bytes([97 + i % 26]) for i in range(length))
        + b"\0"
        for length in lengths
    ]
    decoded = decode_column({"type": "array", "items": "string"}, *raw)
    assert decoded == [[chr(97 + i % 26) for i in range(length)] for length in lengths]


THREE = schema_of(a="string", b=["null", "long"], c="int")
ROWS = [b"\x02x\x02\x02\x04", b"\x02y\x00\x06"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        pytest.param(None, {"a": ["x", "y"], "b": [1, None], "c": [2, 3]}, id="all"),
        pytest.param(["a"], {"a": ["x", "y"]}, id="first"),
        pytest.param(["c", "a"], {"a": ["x", "y"], "c": [2, 3]}, id="schema-order"),
        pytest.param(["b", "absent"], {"b": [1, None]}, id="absent-ignored"),
    ],
)
def test_only_the_wanted_columns_are_decoded(columns, expected):
    assert decode(THREE, *ROWS, columns=columns).to_pydict() == expected


@pytest.mark.parametrize("columns", [[], ["absent"]])
def test_no_columns_still_have_rows(columns):
    table = decode(THREE, *ROWS, columns=columns)
    assert (table.num_columns, table.num_rows) == (0, 2)


def test_bytes_behind_the_last_wanted_column_are_not_looked_at():
    assert decode(THREE, b"\x02x\xff\xff", columns=["a"]).to_pydict() == {"a": ["x"]}


def test_unsupported_type_matters_only_where_it_is_wanted():
    schema = schema_of(a=logical("long", "timestamp-nanos"), b="int", c=["null", "r"])
    assert decode(schema, b"\x02\x04\x00", columns=["b"]).to_pydict() == {"b": [2]}
    with pytest.raises(UnsupportedTypeError, match="'a' has the type 'timestamp-nanos'"):
        decode(schema, b"\x02\x04\x00", columns=["a"])
    with pytest.raises(UnsupportedTypeError, match="'c' has the type 'r, in itself'"):
        decode(schema, b"\x02\x04\x00")


def test_records_may_stand_in_any_order():
    table = decode_records(
        schema_of(c="string"), b"\x02a\x02b\x02c", np.array([4, 0, 2, 0]), np.array([6, 2, 4, 2])
    )
    assert table["c"].to_pylist() == ["c", "a", "b", "a"]


@pytest.mark.parametrize("wrap", [bytes, memoryview, pa.py_buffer], ids=["bytes", "view", "buffer"])
def test_any_kind_of_buffer_will_do(wrap):
    table = decode_records(schema_of(c="string"), wrap(b"\x02a"), np.array([0]), np.array([2]))
    assert table["c"].to_pylist() == ["a"]


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 3)])
def test_span_outside_the_data_is_refused(start, end):
    with pytest.raises(CorruptAvroError, match=r"expected bytes within \[0, 2\)"):
        decode_records(schema_of(c="string"), b"\x02a", np.array([start]), np.array([end]))


def test_runs_stay_short_in_bytes(monkeypatch):
    monkeypatch.setattr(thresholds, "RUN_BYTES", 10)
    raw = [b"\x02" + bytes([97 + i]) for i in range(26)]
    table = decode(schema_of(c="string"), *raw)
    assert table["c"].to_pylist() == [chr(97 + i) for i in range(26)]
    assert table["c"].num_chunks > 4


def optional_text(size: int) -> bytes:
    return b"\x02" + varint(size) + b"a" * size


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param([optional_text(3)] * 3, id="short"),
        pytest.param([optional_text(63), optional_text(0), optional_text(1)], id="63-bytes"),
        pytest.param([optional_text(1), optional_text(64), optional_text(2)], id="64-bytes"),
        pytest.param([optional_text(300)] * 3, id="long"),
        pytest.param([optional_text(3), b"\x00", optional_text(4)], id="one-null"),
        pytest.param([b"\x00"] * 3, id="nulls"),
        pytest.param([b"\x82\x00\x02a"] * 3, id="branch-longer-than-needed"),
    ],
)
def test_optional_text_is_skipped(raw):
    records = [text + varint(number) for number, text in enumerate(raw)]
    table = decode(schema_of(c=["null", "string"], d="int"), *records, columns=["d"])
    assert table["d"].to_pylist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        pytest.param(["null", "string"], b"\x02\x04a", "at most 1 bytes.*found 2", id="text"),
        pytest.param(["null", "string"], b"\x02", "where a number should begin", id="no-length"),
        pytest.param(["null", "string"], b"\x02\x01a", "at most 1 bytes.*found -1", id="negative"),
        pytest.param(["null", "string"], b"\x04\x02a", "2 branches, found 2", id="branch"),
        pytest.param(["null", "double"], b"\x02" + bytes(7), "at most 7.*found 8", id="double"),
        pytest.param(["null", "long"], b"\x02", "where a number should begin", id="no-number"),
    ],
)
def test_value_that_is_skipped_stays_within_its_record(kind, raw, message):
    with pytest.raises(CorruptAvroError, match=message) as caught:
        decode(schema_of(c=kind, d="null"), raw, raw, columns=["d"])
    assert (caught.value.record, caught.value.field) == (0, "c")


@pytest.mark.parametrize(
    ("item", "raw", "field"),
    [
        pytest.param(ENUM, b"\x04", "c.element", id="enum"),
        pytest.param(["null", ENUM], b"\x02\x04", "c.element", id="optional"),
        pytest.param(["int", ENUM], b"\x02\x04", "c.element.member1", id="union"),
    ],
)
@FEW_OR_MANY
def test_item_that_is_skipped_has_one_of_the_symbols(item, raw, field, times):
    schema = schema_of(c={"type": "array", "items": item}, d="null")
    records = [b"\x02" + raw + b"\x00"] * times
    with pytest.raises(CorruptAvroError, match="one of 2 symbols, found 2") as caught:
        decode(schema, *records, columns=["d"])
    assert (caught.value.record, caught.value.field) == (0, field)


@FEW_OR_MANY
def test_field_of_an_item_that_is_cut_is_named(times):
    pair = {"type": "record", "name": "p", "fields": [{"name": n, "type": "double"} for n in "xy"]}
    schema = schema_of(c={"type": "array", "items": ["null", pair]})
    with pytest.raises(CorruptAvroError, match=r"at most 4 bytes.*found 8") as caught:
        decode(schema, *[b"\x02\x02" + bytes(12)] * times)
    assert (caught.value.record, caught.value.field) == (0, "c.element.y")


def spans_one_by_one(data: bytes) -> list[tuple[int, int]]:
    spans = []
    position = 0
    while position < len(data):
        begin = position + 4
        position = begin + struct.unpack_from(">i", data, position)[0]
        spans.append((begin, position))
    return spans


BEGINNING = b"\x02\x2220261124074720116"  # of each record, by which others are found


@pytest.mark.parametrize(
    "decoy",
    [
        pytest.param(b"", id="none"),
        pytest.param(BEGINNING, id="beginning-inside"),
        pytest.param(b"\0\0\0\x40" + BEGINNING, id="whole-record-inside"),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 63, 64, 1000, 40_000])
def test_spans_of_records_that_begin_alike_are_found(count, decoy, monkeypatch):
    monkeypatch.setattr(thresholds, "LEAST_CHAINS", 2)
    sizes = np.random.default_rng(count).integers(0, 90, count)
    records = [BEGINNING + (decoy if size % 7 == 0 else b"") + bytes(size) for size in sizes]
    data = b"".join(struct.pack(">i", len(record)) + record for record in records)
    starts, ends = record_spans(memoryview(data), 0, count)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == spans_one_by_one(data)


def spans_or_error(data: bytes, count: int) -> tuple[list[int], list[int]] | str:
    try:
        starts, ends = record_spans(data, 0, count)
    except CorruptAvroError as error:
        return str(error)
    return starts.tolist(), ends.tolist()


def test_records_of_which_only_the_first_two_begin_alike_are_found():
    others = [bytes([number % 256]) * 40 for number in range(5000)]
    records = [BEGINNING, BEGINNING, *others, BEGINNING, *others]
    data = b"".join(struct.pack(">i", len(record)) + record for record in records)
    starts, ends = record_spans(data, 0, len(records))
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == spans_one_by_one(data)


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 5, 2**31 - 1])
@pytest.mark.parametrize("wrong", [0, 1, 500, 999])
def test_wrong_length_has_the_same_outcome_as_one_by_one(monkeypatch, wrong, length):
    records = [BEGINNING + bytes(number % 50) for number in range(1000)]
    sizes = [length if number == wrong else len(r) for number, r in enumerate(records)]
    pairs = zip(sizes, records, strict=True)
    data = b"".join(struct.pack(">i", size) + record for size, record in pairs)
    monkeypatch.setattr(thresholds, "LEAST_CHAINS", 2)
    found = spans_or_error(data, 1000)
    monkeypatch.setattr(thresholds, "LEAST_CHAINS", 1000)
    assert found == spans_or_error(data, 1000)


@pytest.mark.parametrize("records", [[], [b""], [b"abc", b"", b"de"]])
def test_record_spans_follow_the_lengths(records):
    data = b"head" + b"".join(struct.pack(">i", len(record)) + record for record in records)
    starts, ends = record_spans(data, 4, len(records))
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    assert [data[start:end] for start, end in spans] == records


@pytest.mark.parametrize(
    ("data", "count", "record", "message"),
    [
        pytest.param(b"\0\0\0\x01a", 2, 0, "cannot hold 2 records", id="count"),
        pytest.param(b"\0\0\0\x01a", -1, 0, "cannot hold -1 records", id="negative-count"),
        pytest.param(b"\0\0\0\0\0\0\0\x02a", 2, 1, "at most 1 bytes, found length 2", id="last"),
        pytest.param(b"\0\0\0\x05a\0\0\0", 2, 0, "at most 4 bytes, found length 5", id="first"),
        pytest.param(b"\0\0\0\x05a\0\0\0\0", 2, 1, "ends before", id="no-length"),
        pytest.param(b"\xff\xff\xff\xff" * 2, 2, 0, "found length -1", id="negative"),
        pytest.param(b"\xff\xff\xff\xf0" * 3, 3, 0, "found length -16", id="backwards"),
    ],
)
def test_length_that_leaves_the_data_is_refused(data, count, record, message):
    with pytest.raises(CorruptAvroError, match=message) as caught:
        record_spans(data, 0, count)
    assert caught.value.record == record
