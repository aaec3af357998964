import struct
from decimal import Decimal

import pytest

from hudi_pyspark.errors import CorruptLogBlockError, UnsupportedTableError
from hudi_pyspark.format.log.kryo import KryoDelete, parse_deletes
from tests.format.log.kryo_samples import ONE_DELETE, TWO_DELETES, TWO_KEYS, ascii_text


def keys(payload: bytes) -> list[KryoDelete]:
    return parse_deletes(memoryview(payload), 1, path="f.log", offset=7)


def deletes(payload: bytes) -> list[KryoDelete]:
    return parse_deletes(memoryview(payload), 2, path="f.log", offset=7)


def key_named(text: bytes) -> bytes:
    """One HoodieKey whose record key is the given string, as Kryo writes it."""
    head = TWO_KEYS[: TWO_KEYS.index(b"\x6b\xb1")].replace(b"\xbb\1\3", b"\xbb\1\2")
    return head + text


def test_hoodie_keys_share_their_partition_path():
    assert keys(TWO_KEYS) == [
        KryoDelete("k1", partition_path="p1"),
        KryoDelete("k2", partition_path="p1"),
    ]


def test_delete_records_have_the_java_class_of_their_ordering_value():
    assert deletes(TWO_DELETES) == [
        KryoDelete("k1", "int", 0, "p1"),
        KryoDelete("k2", "long", 7, "p1"),
    ]


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        pytest.param(b"\0", None, id="null"),
        pytest.param(b"\2\x0e", ("int", 7), id="int"),
        pytest.param(b"\2\x0d", ("int", -7), id="negative-int"),
        pytest.param(b"\x09" + b"\xff" * 9, ("long", -(2**63)), id="long-of-nine-bytes"),
        pytest.param(b"\4" + struct.pack(">f", 1.5), ("float", 1.5), id="float"),
        pytest.param(b"\x0a" + struct.pack(">d", -0.1), ("double", -0.1), id="double"),
        pytest.param(b"\5\1", ("boolean", True), id="boolean"),
        pytest.param(b"\3\1" + ascii_text("zz"), ("String", "zz"), id="string"),
        pytest.param(b"\3\5", ("String", "p1"), id="string-met-before"),
        pytest.param(b"\3\0", None, id="null-string"),
        pytest.param(
            b"\1\3" + ascii_text("java.math.BigDecimal") + b"\1\3\xff\x85\4",
            ("java.math.BigDecimal", Decimal("-1.23")),
            id="decimal",
        ),
        pytest.param(
            b"\1\3" + ascii_text("java.sql.Date") + b"\1\x80\xb8\x99\x29",
            ("java.sql.Date", 86400000),
            id="date",
        ),
        pytest.param(
            b"\1\3" + ascii_text("java.sql.Date") + b"\1" + b"\xff" * 9,
            ("java.sql.Date", -1),
            id="date-before-1970",
        ),
    ],
)
def test_ordering_values_are_read_by_class(octets, expected):
    (delete,) = deletes(ONE_DELETE + octets)
    java_class, value = expected or ("", None)
    assert delete == KryoDelete("k1", java_class, value, "p1")


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        pytest.param(b"\x81", "", id="empty"),
        pytest.param(b"\x82k", "k", id="one-letter"),
        pytest.param(b"\x83\xc3\xa9x", "éx", id="two-byte-letter"),
        pytest.param(b"\x82\xe2\x82\xac", "€", id="three-byte-letter"),
        pytest.param(b"\x83\xed\xa0\xbd\xed\xb8\x80", "😀", id="surrogate-pair"),
        pytest.param(b"\xc2\1" + "é".encode() * 65, "é" * 65, id="length-of-two-bytes"),
    ],
)
def test_strings_count_utf_16_units(octets, expected):
    (key,) = keys(key_named(octets))
    assert key.record_key == expected


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        pytest.param(b"", "expected 1 more bytes at byte 0", id="empty"),
        pytest.param(TWO_KEYS[:-1], "expected 1 more bytes", id="cut"),
        pytest.param(TWO_KEYS + b"\0", "expected the end", id="bytes-after-the-array"),
        pytest.param(
            TWO_DELETES, r"expected class \[Lorg.*HoodieKey;, found \[L", id="other-class"
        ),
        pytest.param(b"\0", "expected class .*, found None", id="null-array"),
        pytest.param(b"\x0c", "expected a known class, found number 12", id="unknown-class"),
        pytest.param(b"\1\5", "expected the number of an earlier class, found 5", id="class-name"),
        pytest.param(
            key_named(b"")[:-1] + b"\x20",
            "expected the number of an earlier object, found 30",
            id="no-object",
        ),
        pytest.param(
            key_named(b"")[:-1] + b"\3",
            "expected the number of an earlier object, found 1",
            id="wrong-type",
        ),
        pytest.param(key_named(b"\x80"), "expected a string, found null", id="null-text"),
        pytest.param(
            key_named(b"\x82\xff\xff\xff"), "expected text, found invalid", id="not-utf-8"
        ),
    ],
)
def test_bytes_that_are_no_such_array_are_refused(payload, problem):
    with pytest.raises(CorruptLogBlockError, match=rf"f\.log at byte 7: {problem}"):
        keys(payload)


def test_ordering_value_of_another_class_is_named():
    with pytest.raises(
        UnsupportedTableError, match=r"byte 7 .* class java\.time\.Instant; supported"
    ):
        deletes(ONE_DELETE + b"\1\3" + ascii_text("java.time.Instant"))
