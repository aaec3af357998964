"""Shredded variants: files that Spark 4.3 wrote, with its answers, and shapes that it never writes.

`python -m verification.shredded_variants --keep tests/columns/variants` made the files.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.columns.variant import MalformedVariantError, rebuild_variants
from tests.columns.shredded import NEEDS_PYARROW_22, group, metadata, trees, variants
from verification.shredded_variants import differences

FILES = sorted(Path(__file__).with_name("variants").glob("*.answers.parquet"))


@NEEDS_PYARROW_22
@pytest.mark.parametrize("answers", FILES, ids=lambda path: path.name.partition(".")[0])
def test_variants_that_spark_shreds_are_those_that_spark_reads(answers):
    path = answers.with_name(answers.name.replace(".answers", ""))
    assert differences(path, pq.read_table(answers)) == []


@pytest.mark.parametrize(
    ("value", "typed", "expected"),
    [
        (True, pa.bool_(), "04"),
        (False, pa.bool_(), "08"),
        (-1, pa.int8(), "0c ff"),
        (-129, pa.int16(), "10 7fff"),
        (127, pa.int16(), "0c 7f"),
        (2**31 - 1, pa.int32(), "14 ffffff7f"),
        (-(2**63), pa.int64(), "18 0000000000000080"),
        (1.5, pa.float64(), "1c 000000000000f83f"),
        (Decimal("-1.5"), pa.decimal128(9, 1), "20 01 f1ffffff"),
        (Decimal("10000000.00"), pa.decimal128(12, 2), "24 02 00ca9a3b00000000"),
        (Decimal("9999999.99"), pa.decimal128(12, 2), "20 02 ffc99a3b"),
        (Decimal("1e-10"), pa.decimal128(18, 10), "24 0a 0100000000000000"),
        (Decimal(-(10**18)), pa.decimal128(38, 0), "28 00 00009c584c491ff2ffffffffffffffff"),
        (dt.date(1969, 12, 31), pa.date32(), "2c ffffffff"),
        (1_000_000, pa.timestamp("us", "UTC"),
         "30 40420f0000000000"),
        (1_000_000, pa.timestamp("us"), "34 40420f0000000000"),
        (1.5, pa.float32(), "38 0000c03f"),
        (b"\x00\x01", pa.binary(), "3c 02000000 0001"),
        ("é", pa.string(), "09 c3a9"),
        ("s" * 63, pa.string(), "fd" + "73" * 63),
        ("s" * 64, pa.string(), "40 40000000" + "73" * 64),
        (dt.time(0, 0, 1), pa.time64("us"), "44 40420f0000000000"),
        (1, pa.timestamp("ns", "UTC"), "48 0100000000000000"),
        (-1, pa.timestamp("ns"), "4c ffffffffffffffff"),
        (UUID(int=1).bytes, pa.binary(16), "50" + "00" * 15 + "01"),
        ([], pa.list_(group(pa.int32())), "03 00 00"),
    ],
    ids=str,
)  # fmt: skip
def test_typed_value_has_the_bytes_of_the_specification(value, typed, expected):
    array = variants([{"typed_value": value}, None, {"typed_value": value}], typed)
    octets = bytes.fromhex(expected)
    row = {"value": octets, "metadata": metadata()}
    assert rebuild_variants(array).to_pylist() == [row, None, row]


def test_missing_value_is_an_encoded_null_where_a_value_has_to_be():
    items = pa.list_(group(pa.int32()))
    array = variants([{}, {"typed_value": [{}, {"typed_value": 7}, {"value": b"\x05x"}]}], items)
    assert trees(rebuild_variants(array)) == [(0, b""), [(0, b""), (3, b"\7"), ("text", b"x")]]


def test_fields_are_listed_by_name_whatever_their_place_in_file_and_metadata():
    typed = pa.struct([(name, group(pa.string())) for name in ("b", "Z", "\uf900", "😀", "a")])
    given = {name: {"typed_value": name} for name in ("b", "Z", "\uf900", "😀", "a")}
    rest = bytes.fromhex("02 02 03 05 00 02 04") + b"\x0c\1\x0c\2"  # aa: 1, c: 2
    array = variants(
        [{"typed_value": given, "value": rest}], typed, metadata(*"Zb😀", "aa", "a", "c", "\uf900")
    )
    assert list(trees(rebuild_variants(array))[0]) == ["Z", "a", "aa", "b", "c", "😀", "\uf900"]  # type: ignore[call-overload]


@pytest.mark.parametrize("count", [1, 255, 256, 300])
@pytest.mark.parametrize("size", [0, 100, 70_000])
def test_counts_ids_and_offsets_take_the_bytes_that_they_need(count, size):
    names = sorted(f"f{number}" for number in range(count))
    typed = pa.struct([(name, group(pa.string())) for name in names])
    fields = {name: {"typed_value": name} for name in names} | {"f0": {"typed_value": "x" * size}}
    items = pa.list_(group(pa.string()))
    array = variants([{"typed_value": fields}] * 2, typed, metadata(*names))
    expected = {name: ("text", (("x" * size) if name == "f0" else name).encode()) for name in names}
    assert trees(rebuild_variants(array)) == [expected] * 2
    lists = variants([{"typed_value": list(fields.values())}] * 2, items)
    assert trees(rebuild_variants(lists)) == [list(expected.values())] * 2


def test_each_row_has_its_own_metadata():
    typed = pa.struct([("a", group(pa.int32()))])
    fields = {"a": {"typed_value": 1}}
    one = variants([{"typed_value": fields}], typed, metadata("a"))
    other = variants([{"typed_value": fields}, None], typed, metadata(*map(str, range(300)), "a"))
    assert trees(rebuild_variants(pa.concat_arrays([one, other, one]))) == [
        {"a": (3, b"\1")}, {"a": (3, b"\1")}, None, {"a": (3, b"\1")},
    ]  # fmt: skip


def test_typed_value_counts_where_a_value_that_is_no_object_stands_beside_it():
    array = variants([{"typed_value": 1, "value": b"\x0c\2"}], pa.int32())
    assert trees(rebuild_variants(array)) == [(3, b"\1")]


A = pa.struct([("a", group(pa.int32()))])
FIELD_A = {"a": {"typed_value": 1}}


@pytest.mark.parametrize(
    ("given", "names", "problem"),
    [
        ({"typed_value": FIELD_A}, metadata("b"), "lacks the name of the field 'a'"),
        ({"typed_value": FIELD_A}, b"", "bytes end early"),
        ({"typed_value": FIELD_A}, b"\2\0\0", "bytes end early"),
        ({"typed_value": FIELD_A}, b"\1\xff\0a", "bytes end early"),
        ({"typed_value": FIELD_A}, b"\1\1\0\5a", "bytes end early"),
        ({"typed_value": FIELD_A}, b"\1\2\0\1\0a", "bytes end early"),
        ({"typed_value": FIELD_A}, None, "without metadata"),
        ({"typed_value": FIELD_A, "value": b"\x0c\1"}, metadata("a"), "is not an object"),
        ({"typed_value": FIELD_A, "value": b""}, metadata("a"), "bytes end early"),
        ({"typed_value": {"a": {"value": b""}}}, metadata("a"), "bytes end early"),
        ({"typed_value": FIELD_A, "value": b"\2\xff\0"}, metadata("a"), "bytes end early"),
        ({"typed_value": FIELD_A, "value": b"\2\1\0\0\xff\0"}, metadata("a"), "bytes end early"),
        ({"typed_value": FIELD_A, "value": b"\2\1\0\1\1\0"}, metadata("a"), "bytes end early"),
        ({"typed_value": FIELD_A, "value": b"\2\1\1\0\1\0"}, metadata("a"), "bytes end early"),
        ({"typed_value": FIELD_A, "value": b"\2\1\0\0\1\0"}, metadata("a"), "a field twice"),
    ],
)  # fmt: skip
def test_variant_that_contradicts_itself_is_refused(given, names, problem):
    with pytest.raises(MalformedVariantError, match=problem):
        rebuild_variants(variants([None, given], A, names))


def deep(levels: int) -> pa.DataType:
    return pa.list_(group(deep(levels - 1))) if levels else pa.int32()


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (pa.uint8(), "a variant cannot have values of the type uint8"),
        (pa.timestamp("ms"), "a variant cannot have values of the type timestamp"),
        (pa.list_(pa.int32()), "1 deep, is stored as int32; expected value"),
        (pa.struct([("a", pa.int32())]), "1 deep, is stored as int32; expected value"),
        (
            pa.struct([("a", pa.struct([("b", pa.int32())]))]),
            "is stored as struct<b: int32>; expected",
        ),
        (deep(101), "101 deep, is stored as .* at most 100 deep"),
    ],
)
def test_shape_that_no_variant_has_is_refused(typed, problem):
    with pytest.raises(pa.ArrowNotImplementedError, match=problem):
        rebuild_variants(variants([{}], typed))


@pytest.mark.parametrize("length", [0, 3])
def test_nulls_alone_are_nulls(length):
    assert trees(rebuild_variants(variants([None] * length, A))) == [None] * length


def test_many_rows_are_rebuilt_in_slices():
    rows = [{"typed_value": {"a": {"typed_value": number}}} for number in range(40_000)]
    array = rebuild_variants(variants(rows, A, metadata("a")))
    assert len(array) == 40_000
    assert trees(array.slice(39_998)) == [
        {"a": (5, number.to_bytes(4, "little"))} for number in (39_998, 39_999)
    ]
