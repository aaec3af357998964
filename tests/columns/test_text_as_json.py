"""Arrow columns to JSON text, against `json.dumps` of the same Python values."""

import datetime as dt
import decimal
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.columns.text import json_text
from tests.columns.json_oracle import json_value

UTC = dt.timezone.utc
NUMBERS = pa.list_(pa.int32())
PERSON = pa.struct([("name", pa.string()), ("born", pa.date32())])
COUNTS = pa.map_(pa.string(), pa.int64())


def texts(values, kind):
    return json_text(pa.array(values, kind)).to_pylist()


def dumped(values, kind):
    """What Python says of the values."""
    return [
        json.dumps(json_value(v, kind), ensure_ascii=False, separators=(",", ":")) for v in values
    ]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        pytest.param(pa.bool_(), True, "true", id="boolean"),
        pytest.param(pa.int32(), -5, "-5", id="int"),
        pytest.param(pa.int64(), 2**63 - 1, "9223372036854775807", id="long"),
        pytest.param(pa.float64(), 0.1, "0.1", id="double"),
        pytest.param(pa.float64(), 1e22, "1e+22", id="double-large"),
        pytest.param(pa.float64(), -0.0, "-0.0", id="double-negative-zero"),
        pytest.param(pa.float64(), float("nan"), '"NaN"', id="double-nan"),
        pytest.param(pa.float64(), float("inf"), '"Infinity"', id="double-infinity"),
        pytest.param(pa.float64(), -float("inf"), '"-Infinity"', id="double-negative-infinity"),
        pytest.param(pa.float32(), 0.1, "0.1", id="float-by-its-own-digits"),
        pytest.param(pa.float32(), float("nan"), '"NaN"', id="float-nan"),
        pytest.param(pa.string(), 'a"b\\c', r'"a\"b\\c"', id="string-quotes"),
        pytest.param(pa.string(), "a\nb\tc\r", r'"a\nb\tc\r"', id="string-white-space"),
        pytest.param(pa.string(), "\x00\x08\x1f", r'"\u0000\b\u001f"', id="string-control"),
        pytest.param(pa.string(), "é漢😀\u2028", '"é漢😀\u2028"', id="string-unicode"),
        pytest.param(pa.string(), "null", '"null"', id="string-null-word"),
        pytest.param(pa.binary(), b"xy\xff", '"eHn/"', id="binary"),
        pytest.param(pa.binary(), b"", '""', id="binary-empty"),
        pytest.param(pa.date32(), dt.date(2024, 1, 31), '"2024-01-31"', id="date"),
        pytest.param(pa.date32(), dt.date(1969, 12, 31), '"1969-12-31"', id="date-before-1970"),
        pytest.param(pa.date32(), dt.date(1, 1, 1), '"0001-01-01"', id="date-first"),
        pytest.param(
            pa.timestamp("us", "UTC"),
            dt.datetime(2024, 1, 31, 1, 2, 3, 4, tzinfo=UTC),
            '"2024-01-31T01:02:03.000004Z"',
            id="timestamp",
        ),
        pytest.param(
            pa.timestamp("us", "UTC"),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            '"1969-12-31T23:59:59.999999Z"',
            id="timestamp-before-1970",
        ),
        pytest.param(
            pa.timestamp("us"),
            dt.datetime(2024, 1, 31, 1, 2, 3),  # noqa: DTZ001  (a wall-clock time)
            '"2024-01-31T01:02:03.000000"',
            id="timestamp-without-zone",
        ),
        pytest.param(PERSON, {"name": "a", "born": None}, '{"name":"a","born":null}', id="struct"),
        pytest.param(pa.struct([]), {}, "{}", id="struct-empty"),
        pytest.param(pa.struct([('a"b', NUMBERS)]), {'a"b': []}, r'{"a\"b":[]}', id="struct-name"),
        pytest.param(NUMBERS, [1, None, 3], "[1,null,3]", id="list"),
        pytest.param(NUMBERS, [], "[]", id="list-empty"),
        pytest.param(COUNTS, [("a", 1), ('"', None)], r'{"a":1,"\"":null}', id="map"),
        pytest.param(COUNTS, [], "{}", id="map-empty"),
    ],
)
def test_each_type_has_one_form(kind, value, text):
    assert texts([value, None, value], kind) == [text, "null", text]


@pytest.mark.parametrize(
    ("digits", "kind", "text"),
    [
        ("12.50", pa.decimal128(10, 2), "12.50"),
        ("-0.01", pa.decimal128(10, 2), "-0.01"),
        ("0", pa.decimal128(20, 8), "0.00000000"),
        ("0.00000001", pa.decimal128(20, 8), "0.00000001"),
        ("-0.0000001", pa.decimal128(20, 8), "-0.00000010"),
        ("12345678901234567890123456789012345678", pa.decimal128(38, 0), None),
        ("0." + "0" * 37 + "1", pa.decimal128(38, 38), None),
    ],
)
def test_decimals_are_plain_numbers_of_their_scale(digits, kind, text):
    ordinary = decimal.Decimal(0)
    assert texts([decimal.Decimal(digits), None, ordinary], kind)[:2] == [text or digits, "null"]


def test_years_of_five_digits_are_written_out():
    days = pa.array([2_932_896, 2_932_897], pa.int32()).cast(pa.date32())
    assert json_text(days).to_pylist() == ['"9999-12-31"', '"10000-01-01"']
    micros = pa.array([253_402_300_800_000_000]).cast(pa.timestamp("us", "UTC"))
    assert json_text(micros).to_pylist() == ['"10000-01-01T00:00:00.000000Z"']


def test_text_of_a_year_does_not_depend_on_other_rows():
    days = pa.array([-721_294, None, 100_000_000], pa.int32()).cast(pa.date32())
    assert json_text(days).to_pylist() == ['"-0005-03-02"', "null", '"275760-09-13"']
    assert json_text(days[:1]).to_pylist() == ['"-0005-03-02"']


def test_nulls_at_each_level_are_told_apart():
    kind = pa.struct([("people", pa.list_(PERSON)), ("by", pa.map_(pa.string(), NUMBERS))])
    values: list[object] = [
        None,
        {"people": None, "by": None},
        {"people": [], "by": []},
        {"people": [None, {"name": None, "born": None}], "by": [("a", None), ("b", [None])]},
    ]
    assert texts(values, kind) == [
        "null",
        '{"people":null,"by":null}',
        '{"people":[],"by":{}}',
        '{"people":[null,{"name":null,"born":null}],"by":{"a":null,"b":[null]}}',
    ]


def test_a_null_struct_hides_the_values_below_it():
    masked = pa.StructArray.from_arrays(
        [pa.array([1, 2])], names=["a"], mask=pa.array([False, True])
    )
    assert json_text(masked).to_pylist() == ['{"a":1}', "null"]


def test_columns_without_rows_or_without_type_have_texts():
    assert texts([], COUNTS) == []
    assert texts([], pa.struct([("a", NUMBERS)])) == []
    assert texts([None, None], pa.null()) == ["null", "null"]


def scalars():
    moments = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))  # noqa: DTZ001
    return st.sampled_from(
        [
            (pa.bool_(), st.booleans()),
            (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
            (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
            (pa.float64(), st.floats()),
            (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
            (pa.binary(), st.binary()),
            (pa.date32(), st.dates()),
            (pa.timestamp("us"), moments),
            (pa.timestamp("us", "UTC"), moments.map(lambda at: at.replace(tzinfo=UTC))),
        ]
    )


def nested(inner):
    names = st.lists(st.text('ab"\\é', max_size=3), unique=True, max_size=3)
    return st.one_of(
        inner.map(lambda i: (pa.list_(i[0]), st.lists(st.none() | i[1], max_size=3))),
        inner.map(
            lambda i: (
                pa.map_(pa.string(), i[0]),
                st.dictionaries(st.text('xy"\n', max_size=2), st.none() | i[1], max_size=3).map(
                    lambda entries: list(entries.items())
                ),
            )
        ),
        st.tuples(names, st.lists(inner, min_size=3, max_size=3)).map(
            lambda pair: (
                pa.struct([(n, i[0]) for n, i in zip(*pair, strict=False)]),
                st.fixed_dictionaries({n: st.none() | i[1] for n, i in zip(*pair, strict=False)}),
            )
        ),
    )


@pytest.mark.property
@given(kind=st.recursive(scalars(), nested, max_leaves=4), data=st.data())
def test_any_column_and_any_part_of_it_reads_as_python_dumps_it(kind, data):
    arrow_type, values_of = kind
    values = data.draw(st.lists(st.none() | values_of, max_size=5))
    begin = data.draw(st.integers(0, len(values)))
    column = pa.array(values, arrow_type)
    expected = dumped(values, arrow_type)
    assert json_text(column).to_pylist() == expected
    assert json_text(column.slice(begin, 2)).to_pylist() == expected[begin : begin + 2]
