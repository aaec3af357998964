import datetime as dt
import math
import re
import struct
import uuid
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import CorruptTableError, SchemaEvolutionError
from hudi_pyspark.format.nested_types import UUID_MARK

UTC = dt.timezone.utc
DAY = dt.date(2024, 2, 29)


def conformed(column, kind: pa.DataType, constants=None):
    """One column, given the type of the reader's schema."""
    table = pa.table({"c": column})
    return conform(table, pa.schema([("c", kind)]), constants or {}, source="f.parquet").column("c")


def moment(micros):
    return dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(microseconds=micros)


def local(micros):
    return moment(micros).replace(tzinfo=None)


# (stored type, stored values, wanted type, values read): null is added to each.
PROMOTIONS = [
    pytest.param(pa.int32(), [-1, 2**31 - 1], pa.int64(), [-1, 2**31 - 1], id="int-long"),
    pytest.param(pa.int32(), [3, -1], pa.float32(), [3.0, -1.0], id="int-float"),
    pytest.param(pa.int32(), [2**31 - 1], pa.float64(), [2147483647.0], id="int-double"),
    pytest.param(pa.int64(), [2**24 + 1], pa.float32(), [16777216.0], id="long-float-rounds"),
    pytest.param(pa.int64(), [2**53 + 1], pa.float64(), [9007199254740992.0], id="long-double"),
    pytest.param(pa.int64(), [7], pa.int32(), [7], id="long-int-that-fits"),
    pytest.param(pa.int8(), [-7], pa.int32(), [-7], id="byte-int"),
    pytest.param(
        pa.float32(),
        [0.1, -0.0, math.inf, 3.4028234663852886e38, 1e-10],
        pa.float64(),
        [0.1, -0.0, math.inf, 3.4028235e38, 1e-10],
        id="float-double-by-its-text",
    ),
    pytest.param(pa.int32(), [-5], pa.string(), ["-5"], id="int-string"),
    pytest.param(pa.int64(), [5_000_000_000], pa.string(), ["5000000000"], id="long-string"),
    pytest.param(pa.float32(), [0.1, 1e10], pa.string(), ["0.1", "1.0E10"], id="float-string"),
    pytest.param(pa.float64(), [2.0, 1e-5], pa.string(), ["2.0", "1.0E-5"], id="double-string"),
    pytest.param(pa.bool_(), [True, False], pa.string(), ["true", "false"], id="boolean-string"),
    pytest.param(pa.date32(), [DAY], pa.string(), ["2024-02-29"], id="date-string"),
    pytest.param(
        pa.decimal128(9, 2), [Decimal("-1.50")], pa.string(), ["-1.50"], id="decimal-string"
    ),
    pytest.param(pa.binary(), ["é".encode()], pa.string(), ["é"], id="bytes-string"),
    pytest.param(pa.string(), ["é"], pa.binary(), ["é".encode()], id="string-bytes"),
    pytest.param(pa.large_string(), ["é"], pa.string(), ["é"], id="large-string"),
    pytest.param(pa.large_binary(), [b"\x00"], pa.binary(), [b"\x00"], id="large-bytes"),
    pytest.param(pa.binary(2), [b"ab"], pa.binary(), [b"ab"], id="fixed-bytes"),
    pytest.param(
        pa.dictionary(pa.int8(), pa.string()), ["a", "b"], pa.string(), ["a", "b"], id="dictionary"
    ),
    pytest.param(
        pa.decimal128(9, 2),
        [Decimal("1.25")],
        pa.decimal128(20, 4),
        [Decimal("1.2500")],
        id="decimal-wider",
    ),
    pytest.param(
        pa.decimal128(20, 4),
        [Decimal("1.2500")],
        pa.decimal128(9, 2),
        [Decimal("1.25")],
        id="decimal-narrower-without-loss",
    ),
    pytest.param(
        pa.int32(), [7], pa.decimal128(5, 2), [Decimal("7.00")], id="int-decimal-that-fits"
    ),
    pytest.param(
        pa.int64(), [-(2**63)], pa.decimal128(19, 0), [Decimal(-(2**63))], id="long-decimal"
    ),
    pytest.param(
        pa.float64(),
        [0.125, 2.5],
        pa.decimal128(9, 3),
        [Decimal("0.125"), Decimal("2.5")],
        id="double-dec",
    ),
    pytest.param(pa.date64(), [DAY], pa.date32(), [DAY], id="date64"),
    pytest.param(pa.time32("ms"), [dt.time(0, 0, 1)], pa.int32(), [1000], id="time-millis"),
    pytest.param(pa.time64("us"), [dt.time(0, 0, 1)], pa.int64(), [1_000_000], id="time-micros"),
    pytest.param(
        pa.timestamp("ms", "UTC"),
        [-1, 1],
        pa.timestamp("us", "UTC"),
        [moment(-1000), moment(1000)],
        id="timestamp-millis",
    ),
    pytest.param(
        pa.timestamp("ns", "UTC"),
        [1999],
        pa.timestamp("us", "UTC"),
        [moment(1)],
        id="timestamp-nanos-cut-off",
    ),
    pytest.param(
        pa.timestamp("us"), [5], pa.timestamp("us", "UTC"), [moment(5)], id="timestamp-gets-zone"
    ),
    pytest.param(
        pa.timestamp("us", "UTC"), [5], pa.timestamp("us"), [local(5)], id="timestamp-loses-zone"
    ),
    pytest.param(
        pa.timestamp("us", "Asia/Tokyo"),
        [5],
        pa.timestamp("us", "UTC"),
        [moment(5)],
        id="timestamp-of-another-zone-is-the-same-instant",
    ),
    pytest.param(
        pa.timestamp("ms"), [1], pa.timestamp("us"), [local(1000)], id="local-timestamp-millis"
    ),
    pytest.param(pa.timestamp("ms"), [-1, 2**62], pa.int64(), [-1, 2**62], id="local-millis-long"),
    pytest.param(pa.timestamp("us"), [-1, 2**62], pa.int64(), [-1, 2**62], id="local-micros-long"),
    pytest.param(pa.null(), [], pa.struct([("a", pa.int32())]), [], id="null"),
]


@pytest.mark.parametrize(("stored", "values", "wanted", "expected"), PROMOTIONS)
class TestPromotion:
    def test_top_level(self, stored, values, wanted, expected):
        column = conformed(pa.array([*values, None], stored), wanted)
        assert column.type == wanted
        assert column.to_pylist() == [*expected, None]

    def test_chunks_and_slices_keep_their_values(self, stored, values, wanted, expected):
        array = pa.array([None, *values, None], stored)
        chunks = pa.chunked_array([array[1:], array[:0], array[:1]], stored)
        assert conformed(chunks, wanted).to_pylist() == [*expected, None, None]

    def test_in_a_struct(self, stored, values, wanted, expected):
        rows = [{"a": value} for value in [*values, None]]
        array = pa.array([*rows, None], pa.struct([("a", stored)]))
        column = conformed(array, pa.struct([("a", wanted)]))
        assert column.to_pylist() == [*({"a": value} for value in [*expected, None]), None]

    def test_in_a_list(self, stored, values, wanted, expected):
        array = pa.array([[*values, None], None, [], list(values)], pa.list_(stored))
        column = conformed(array, pa.list_(wanted))
        assert column.to_pylist() == [[*expected, None], None, [], expected]

    def test_in_a_map(self, stored, values, wanted, expected):
        array = pa.array(
            [[("k", v) for v in values], None, [("n", None)]], pa.map_("string", stored)
        )
        column = conformed(array, pa.map_(pa.string(), wanted))
        assert column.to_pylist() == [[("k", v) for v in expected], None, [("n", None)]]


DEEP = pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.struct([("a", pa.int32())]))))])
DEEPER = pa.struct(
    [
        ("new", pa.string()),
        ("m", pa.map_(pa.string(), pa.list_(pa.struct([("b", pa.bool_()), ("a", pa.int64())])))),
    ]
)
DEEP_ROWS: list[Any] = [
    {"m": [("x", [{"a": 1}, None]), ("y", None)]},
    None,
    {"m": None},
    {"m": []},
    {"m": [("z", [{"a": None}]), ("w", [])]},
    {"m": [("q", [{"a": 5}])]},
]
DEEPER_ROWS: list[Any] = [
    {"new": None, "m": [("x", [{"b": None, "a": 1}, None]), ("y", None)]},
    None,
    {"new": None, "m": None},
    {"new": None, "m": []},
    {"new": None, "m": [("z", [{"b": None, "a": None}]), ("w", [])]},
    {"new": None, "m": [("q", [{"b": None, "a": 5}])]},
]


@pytest.mark.parametrize("start", range(len(DEEP_ROWS)))
@pytest.mark.parametrize("end", [3, 5, 6])
def test_fields_are_added_and_promoted_at_every_depth_of_any_slice(start, end):
    array = pa.array(DEEP_ROWS, DEEP)[start:end]
    column = conformed(array, DEEPER)
    column.validate(full=True)
    assert column.to_pylist() == DEEPER_ROWS[start:end]


def test_slice_of_a_list_of_lists():
    array = pa.array([[[9]], [[1], None], None, [[2, 3], []]], pa.list_(pa.list_(pa.int32())))
    column = conformed(array[1:], pa.list_(pa.list_(pa.int64())))
    column.validate(full=True)
    assert column.to_pylist() == [[[1], None], None, [[2, 3], []]]


@pytest.mark.parametrize(
    "stored", [pa.large_list(pa.int32()), pa.list_(pa.int32(), 2)], ids=["large", "fixed"]
)
def test_lists_of_other_layouts_become_plain_lists(stored):
    array = pa.array([[8, 9], [1, 2], None], stored)[1:]
    assert conformed(array, pa.list_(pa.int64())).to_pylist() == [[1, 2], None]


def test_names_of_list_items_and_map_entries_do_not_matter():
    stored = pa.list_(pa.field("array", pa.int32(), nullable=False))
    assert conformed(pa.array([[1]], stored), pa.list_(pa.int32())).type == pa.list_(pa.int32())


def test_map_keys_are_promoted():
    array = pa.array([[(b"a", 1)]], pa.map_(pa.binary(), pa.int32()))
    assert conformed(array, pa.map_(pa.string(), pa.int32())).to_pylist() == [[("a", 1)]]


def test_struct_fields_are_matched_by_name_and_dropped_ones_are_left_out():
    array = pa.array([{"a": 1, "gone": 2, "b": "x"}])
    wanted = pa.struct([("b", pa.string()), ("a", pa.int64())])
    assert conformed(array, wanted).to_pylist() == [{"b": "x", "a": 1}]


@pytest.mark.parametrize(
    ("stored", "values", "wanted"),
    [
        pytest.param(pa.int64(), [2**31], pa.int32(), id="long-int-overflow"),
        pytest.param(pa.float64(), [1.0], pa.float32(), id="double-float"),
        pytest.param(pa.float64(), [1.0], pa.int64(), id="double-long"),
        pytest.param(pa.string(), ["1"], pa.int64(), id="string-long"),
        pytest.param(pa.string(), ["2024-01-31"], pa.date32(), id="string-date"),
        pytest.param(pa.bool_(), [True], pa.int32(), id="boolean-int"),
        pytest.param(pa.int32(), [1], pa.bool_(), id="int-boolean"),
        pytest.param(pa.int64(), [1], pa.timestamp("us", "UTC"), id="long-timestamp"),
        pytest.param(pa.timestamp("us", "UTC"), [1], pa.int64(), id="timestamp-long"),
        pytest.param(pa.timestamp("ns"), [1], pa.int64(), id="nanoseconds-long"),
        pytest.param(pa.timestamp("us"), [1], pa.int32(), id="local-timestamp-int"),
        pytest.param(pa.timestamp("us"), [1], pa.string(), id="timestamp-string"),
        pytest.param(pa.timestamp("s"), [2**62], pa.timestamp("us"), id="timestamp-overflow"),
        pytest.param(pa.int32(), [1], pa.binary(), id="int-bytes"),
        pytest.param(pa.binary(), [b"\xff"], pa.string(), id="bytes-that-are-no-utf8"),
        pytest.param(
            pa.decimal128(5, 2), [Decimal("1.25")], pa.decimal128(5, 1), id="decimal-digits-lost"
        ),
        pytest.param(
            pa.decimal128(5, 2), [Decimal("999.99")], pa.decimal128(4, 2), id="decimal-overflow"
        ),
        pytest.param(pa.int64(), [1000], pa.decimal128(5, 2), id="long-decimal-overflow"),
        pytest.param(pa.float64(), [1e10], pa.decimal128(5, 2), id="double-decimal-overflow"),
        pytest.param(pa.float64(), [math.nan], pa.decimal128(5, 2), id="nan-decimal"),
        pytest.param(pa.list_(pa.int32()), [[1]], pa.int32(), id="list-int"),
        pytest.param(pa.list_(pa.int32()), [[1]], pa.string(), id="list-string"),
        pytest.param(pa.int32(), [1], pa.list_(pa.int32()), id="int-list"),
        pytest.param(pa.struct([("a", "i4")]), [{"a": 1}], pa.map_("i4", "i4"), id="struct-map"),
        pytest.param(pa.map_("i4", "i4"), [[(1, 2)]], pa.struct([("a", "i4")]), id="map-struct"),
        pytest.param(pa.int32(), [1], pa.struct([("a", "i4")]), id="int-struct"),
        pytest.param(pa.int32(), [1], pa.map_("i4", "i4"), id="int-map"),
        pytest.param(pa.map_("i4", "i4"), [[(1, 2)]], pa.string(), id="map-string"),
        pytest.param(pa.map_("i4", "i4"), [[(1, 2)]], pa.list_(pa.int32()), id="map-list"),
        pytest.param(pa.binary(8), [bytes(8)], pa.list_(pa.int64()), id="bytes-list-of-long"),
        pytest.param(pa.binary(7), [bytes(7)], pa.list_(pa.float32()), id="part-of-an-element"),
        pytest.param(
            pa.binary(), [bytes(8), bytes(6), bytes(6)], pa.list_(pa.float32()), id="parts-of-two"
        ),
    ],
)
def test_other_changes_are_refused_with_file_column_and_types(stored, values, wanted):
    says = f"f.parquet: column 'c' is stored as {stored}, which cannot be read as {wanted} ("
    with pytest.raises(SchemaEvolutionError, match=re.escape(says)):
        conformed(pa.array(values, stored), wanted)


def as_text(octets: list[bytes | None]) -> pa.Array:
    """Bytes as Apache Hudi writes them: called a text, whatever they are."""
    array = pa.array(octets, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


UUIDS = [bytes(range(16)), None, b"0123456789abcdef", b"\xff" * 16]


@pytest.mark.parametrize(
    "stored",
    [
        pa.array(UUIDS, pa.binary(16)),
        pa.array(UUIDS, pa.binary()),
        as_text(UUIDS),
        pa.array([octets and str(uuid.UUID(bytes=octets)) for octets in UUIDS]),
    ],
    ids=["fixed", "bytes", "text", "usual"],
)
def test_uuids_that_may_be_stored_as_bytes_are_texts(stored):
    texts = [octets and str(uuid.UUID(bytes=octets)) for octets in UUIDS]
    field = pa.field("u", pa.string(), metadata=UUID_MARK)
    offsets = pa.array(range(len(UUIDS) + 1), pa.int32())
    columns: dict[str, tuple[pa.Field, pa.Array, list[Any]]] = {
        "u": (field, stored, texts),
        "s": (
            pa.field("s", pa.struct([field])),
            pa.StructArray.from_arrays([stored], ["u"]),
            [{"u": text} for text in texts],
        ),
        "l": (
            pa.field("l", pa.list_(field)),
            pa.ListArray.from_arrays(offsets, stored),
            [[text] for text in texts],
        ),
        "m": (
            pa.field("m", pa.map_(pa.string(), field)),
            pa.MapArray.from_arrays(offsets, pa.array(["k"] * len(UUIDS)), stored),
            [[("k", text)] for text in texts],
        ),
    }
    table = pa.table({name: array for name, (_, array, _) in columns.items()})
    schema = pa.schema([field for field, _, _ in columns.values()])
    for start in range(len(UUIDS)):
        found = conform(table.slice(start), schema, {}, source="f").to_pydict()
        assert found == {name: texts[start:] for name, (_, _, texts) in columns.items()}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize(
    "octets", [b"\xff", b"caf\xe9", b"\xed\xa0\x80"], ids=["ff", "latin", "half"]
)
def test_text_that_is_not_utf8_is_refused_by_file_and_column(octets, start):
    texts = as_text([b"a", octets, None])
    offsets = pa.array([0, 1, 2, 3], pa.int32())
    keys = pa.array(["a", "b", "c"])
    for array in (
        texts,
        pa.StructArray.from_arrays([texts], ["x"]),
        pa.ListArray.from_arrays(offsets, texts),
        pa.MapArray.from_arrays(offsets, keys, texts),
    ):
        for table in (pa.table({"u": array}), pa.table({"n": [1, 2, 3], "u": array})):
            schema = pa.schema([pa.field("u", array.type)])
            with pytest.raises(CorruptTableError, match=r"f\.parquet: column 'u' .* not UTF-8"):
                conform(table.slice(start), schema, {}, source="f.parquet")


@pytest.mark.parametrize("last", [b"a", "é".encode(), b"\xe9"])
def test_the_last_of_many_texts_is_checked(last):
    table = pa.table({"u": as_text([b"a"] * 1000 + [last])})
    is_utf8 = last.decode(errors="ignore") != ""
    with nullcontext() if is_utf8 else pytest.raises(CorruptTableError, match="not UTF-8"):
        assert conform(table, table.schema, {}, source="f") is table


def test_other_bytes_that_became_text_are_utf8():
    stored = pa.table({"u": pa.array([b"abcd"], pa.binary(4)), "v": pa.array([b"a" * 16])})
    schema = pa.schema({"u": pa.string(), "v": pa.string()})
    found = conform(stored, schema, {}, source="f")
    assert found.to_pylist() == [{"u": "abcd", "v": "a" * 16}]


@pytest.mark.parametrize(
    ("element", "code"), [(pa.float32(), "f"), (pa.float64(), "d"), (pa.int8(), "b")], ids=str
)
def test_vector_is_the_list_of_its_little_endian_elements(element, code):
    vectors = [[1, -2, 3], None, [4, 5, -6]]
    width = struct.calcsize(f"<3{code}")
    stored = [v and struct.pack(f"<3{code}", *v) for v in vectors]
    for kind in (pa.binary(width), pa.binary()):
        array = pa.array(stored, kind)
        assert conformed(array, pa.list_(element)).to_pylist() == vectors
        assert conformed(array[1:], pa.list_(element)).to_pylist() == vectors[1:]
        assert conformed(array[2:], pa.list_(element)).to_pylist() == vectors[2:]


def test_refusal_of_a_nested_field_names_the_column():
    with pytest.raises(SchemaEvolutionError, match=r"column 'c' is stored as struct<a: string>"):
        conformed(pa.array([{"a": "x"}]), pa.struct([("a", pa.int32())]))


TABLE = pa.table({"b": pa.array([1, 2], pa.int32()), "a": ["x", "y"]})


def test_columns_come_in_the_order_of_the_schema_and_absent_ones_are_null():
    schema = pa.schema([("a", pa.string()), ("new", pa.list_(pa.int32())), ("b", pa.int64())])
    table = conform(TABLE, schema, {}, source="f")
    assert table.schema == schema
    assert table.to_pylist() == [{"a": "x", "new": None, "b": 1}, {"a": "y", "new": None, "b": 2}]


def test_column_names_are_matched_in_their_case():
    table = conform(TABLE, pa.schema([("A", pa.string())]), {}, source="f")
    assert table.column("A").to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        pytest.param(pa.scalar("sf"), ["sf", "sf"], id="text"),
        pytest.param(pa.scalar(None, pa.string()), [None, None], id="null"),
    ],
)
def test_absent_partition_column_is_its_constant(constant, expected):
    table = conform(TABLE, pa.schema([("p", pa.string())]), {"p": constant}, source="f")
    assert table.column("p").to_pylist() == expected


def test_constant_gets_the_type_of_the_schema():
    schema = pa.schema([("p", pa.int64())])
    table = conform(TABLE, schema, {"p": pa.scalar(7, pa.int32())}, source="f")
    assert table.column("p").equals(pa.chunked_array([pa.array([7, 7], pa.int64())]))


def test_column_of_the_file_comes_before_its_constant():
    table = conform(TABLE, pa.schema([("a", pa.string())]), {"a": pa.scalar("no")}, source="f")
    assert table.column("a").to_pylist() == ["x", "y"]


def test_table_of_the_very_schema_is_returned_as_it_is():
    assert conform(TABLE, TABLE.schema, {}, source="f") is TABLE


def test_no_columns_still_tell_the_number_of_rows():
    assert conform(TABLE, pa.schema([]), {}, source="f").num_rows == 2


def test_empty_table_gets_the_schema():
    schema = pa.schema([("b", pa.float64()), ("s", DEEPER)])
    table = conform(TABLE.slice(0, 0), schema, {}, source="f")
    assert (table.schema, table.num_rows) == (schema, 0)
    without_chunks = pa.Table.from_batches([], schema=TABLE.schema)
    assert conform(without_chunks, schema, {}, source="f").num_rows == 0


@pytest.mark.parametrize("days", [2932897, -719163, -735525])
def test_dates_of_years_that_have_several_texts_stay_dates(days):
    dates = pa.array([0, days], pa.int32()).cast(pa.date32())
    with pytest.raises(SchemaEvolutionError, match="year 1 or beyond 9999"):
        conformed(dates, pa.string())
    nearest = pa.array([-719162, 2932896], pa.int32()).cast(pa.date32())
    assert conformed(nearest, pa.string()).to_pylist() == ["0001-01-01", "9999-12-31"]


def test_shredded_variant_is_not_read_as_a_struct_of_its_binaries():
    variant = pa.array([{"metadata": b"m", "value": None, "typed_value": 1}])
    target = pa.schema([("v", pa.struct([("metadata", pa.binary()), ("value", pa.binary())]))])
    with pytest.raises(SchemaEvolutionError, match=r"f: column 'v' .*has a shredded VARIANT"):
        conform(pa.table({"v": variant}), target, {}, source="f")


def texts_of_octets(*values: bytes) -> pa.StringArray:
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


@pytest.mark.parametrize(
    "nested",
    [
        pytest.param(lambda texts: pa.ListArray.from_arrays([0, 1, 2], texts), id="list"),
        pytest.param(lambda texts: pa.MapArray.from_arrays([0, 1, 2], texts, texts), id="map"),
        pytest.param(
            lambda texts: pa.ListArray.from_arrays(
                [0, 1, 2], pa.ListArray.from_arrays([0, 1, 2], texts)
            ),
            id="list-of-lists",
        ),
    ],
)
def test_only_rows_of_a_slice_are_checked_for_utf8(nested):
    """A slice shares the items of all rows; each of many slices would check all of them again."""
    column = nested(texts_of_octets(b"a", b"\xe9"))
    assert len(conformed(column.slice(0, 1), column.type)) == 1
    with pytest.raises(CorruptTableError, match="column 'c' has a text that is not UTF-8"):
        conformed(column.slice(1, 1), column.type)
