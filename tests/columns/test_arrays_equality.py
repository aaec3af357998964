import datetime as dt
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.columns.arrays import differing_rows

NAN = np.array([0x7FF8_0000_0000_0001], np.uint64).view(np.float64)[0]


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        pytest.param(pa.string(), "a", "b", id="string"),
        pytest.param(pa.string(), "", None, id="empty-string"),
        pytest.param(pa.binary(), b"\xff", b"\xfe", id="binary"),
        pytest.param(pa.binary(2), b"ab", b"ac", id="fixed"),
        pytest.param(pa.bool_(), True, False, id="bool"),
        pytest.param(pa.int32(), 0, None, id="int"),
        pytest.param(pa.int64(), 2**53, 2**53 + 1, id="long"),
        pytest.param(pa.float32(), 0.1, 0.2, id="float"),
        pytest.param(pa.float64(), 0.0, -0.0, id="signed-zeros"),
        pytest.param(pa.float64(), math.nan, 1.0, id="nan"),
        pytest.param(pa.float64(), math.nan, None, id="nan-and-null"),
        pytest.param(pa.float64(), 0.0, None, id="zero-and-null"),
        pytest.param(
            pa.decimal128(20, 2), decimal.Decimal("1.00"), decimal.Decimal("1.01"), id="decimal"
        ),
        pytest.param(pa.date32(), dt.date(1, 1, 1), dt.date(9999, 12, 31), id="date"),
        pytest.param(
            pa.timestamp("us", "UTC"),
            dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
            dt.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=dt.timezone.utc),
            id="timestamp",
        ),
        pytest.param(pa.list_(pa.int64()), [1, None], [1], id="list"),
        pytest.param(pa.struct([("x", pa.float64())]), {"x": None}, None, id="struct"),
        pytest.param(pa.map_(pa.string(), pa.int64()), [("k", 1)], [("k", 2)], id="map"),
    ],
)
def test_values_that_differ_are_found(kind, one, other):
    older = pa.table({"same": [1] * 5, "c": pa.array([one, one, other, other, None], kind)})
    newer = pa.table({"same": [1] * 5, "c": pa.array([one, other, one, other, None], kind)})
    assert differing_rows(older, newer).tolist() == [False, True, True, False, False]


def test_every_nan_is_the_same():
    assert differing_rows(pa.table({"c": [math.nan]}), pa.table({"c": [NAN]})).tolist() == [False]


def test_rows_differ_if_one_of_their_columns_does():
    older = pa.table({"a": [1, 1, 1], "b": ["x", "x", None]})
    newer = pa.table({"a": [1, 2, 1], "b": ["y", "x", None]})
    assert differing_rows(older, newer).tolist() == [True, True, False]


def test_columns_of_nulls_and_tables_without_rows_do_not_differ():
    nulls = pa.table({"c": pa.nulls(2)})
    assert differing_rows(nulls, nulls).tolist() == [False, False]
    assert differing_rows(nulls.slice(2), nulls.slice(2)).tolist() == []
