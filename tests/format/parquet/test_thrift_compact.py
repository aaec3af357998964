import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.format.parquet.thrift_compact import (
    ThriftError,
    ThriftList,
    ThriftStruct,
    ThriftType,
    parse_struct,
    struct_bytes,
    varint_bytes,
)


# Bytes by hand, from the protocol's description.
@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (b"\x00", {}),
        (b"\x15\x0a\x00", {1: (ThriftType.I32, 5)}),
        (b"\x15\x09\x00", {1: (ThriftType.I32, -5)}),
        (b"\x11\x12\x00", {1: (ThriftType.TRUE, True), 2: (ThriftType.FALSE, False)}),
        (b"\x18\x02hi\x00", {1: (ThriftType.BINARY, b"hi")}),
        (b"\x06\x80\x02\xd8\x04\x00", {128: (ThriftType.I64, 300)}),
        (b"\x17" + struct.pack("<d", 1.5) + b"\x00", {1: (ThriftType.DOUBLE, 1.5)}),
        (b"\x13\x7f\x00", {1: (ThriftType.BYTE, 127)}),
        (b"\x19\x25\x02\x04\x00", {1: (ThriftType.LIST, ThriftList(ThriftType.I32, (1, 2)))}),
        (
            b"\x19\xf5\x10" + b"\x02" * 16 + b"\x00",
            {1: (ThriftType.LIST, ThriftList(ThriftType.I32, (1,) * 16))},
        ),
        (b"\x2c\x15\x02\x00\x00", {2: (ThriftType.STRUCT, ThriftStruct({1: (ThriftType.I32, 1)}))}),
    ],
)
def test_struct(data, fields):
    parsed, end = parse_struct(b"??" + data + b"?", 2)
    assert parsed == fields
    assert end == 2 + len(data)
    assert struct_bytes(parsed) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x15",
        b"\x15\x80",
        b"\x18\x05hi",
        b"\x18\x05hi\x00",
        b"\x1b\x00\x00",  # a map, which Parquet's metadata has none of
        b"\x1e\x00",
        b"\x17\x00\x00",
        b"\x19\x2c\x00",
        b"\x1c" * 100 + b"\x00" * 101,
    ],
)
def test_what_is_no_struct_is_refused(data):
    with pytest.raises(ThriftError):
        parse_struct(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_struct_or_refused(data):
    try:
        fields, end = parse_struct(data)
    except ThriftError:
        return
    assert 0 < end <= len(data)
    assert parse_struct(struct_bytes(fields))[0] == fields


def test_fields_are_asked_for_by_type():
    fields = ThriftStruct(
        {
            1: (ThriftType.I32, 5),
            2: (ThriftType.STRUCT, ThriftStruct()),
            3: (ThriftType.LIST, ThriftList(ThriftType.STRUCT, (ThriftStruct(),))),
            4: (ThriftType.LIST, ThriftList(ThriftType.I32, (1,))),
        }
    )
    assert fields.integer(1) == 5
    assert fields.struct(2) == {}
    assert fields.structs(3) == ({},)
    assert fields.list(4).items == (1,)
    for ask in (fields.integer, fields.struct, fields.list, fields.structs):
        with pytest.raises(ThriftError, match="field 9"):
            ask(9)
    with pytest.raises(ThriftError, match="field 2 is not an integer"):
        fields.integer(2)
    with pytest.raises(ThriftError, match="field 4 is not a list of structs"):
        fields.structs(4)


@pytest.mark.parametrize(("value", "data"), [(0, b"\x00"), (127, b"\x7f"), (300, b"\xac\x02")])
def test_varint(value, data):
    assert varint_bytes(value) == data
