"""Literals at the ends of their types, in each spelling of a filter: an answer or a named error."""

import pickle
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from math import inf, nan

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_pyspark.errors import HudiError, InvalidOptionError
from hudi_pyspark.filter.evaluation import ColumnBounds, holds, may_match
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.frames.expression import predicate_of

_EARLIEST = timezone(timedelta(hours=14))
_LATEST = timezone(timedelta(hours=-12))
# For each type of a column: its least and its greatest value, and null.
ENDS = {
    "tiny": pa.array([-(2**7), 2**7 - 1, None], pa.int8()),
    "long": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
    "single": pa.array([-inf, nan, None], pa.float32()),
    "double": pa.array([-inf, nan, None], pa.float64()),
    "wide": pa.array([Decimal(-(10**38) + 1), Decimal(10**38 - 1), None], pa.decimal128(38, 0)),
    "parts": pa.array([Decimal("-0." + "9" * 38), Decimal(0), None], pa.decimal128(38, 38)),
    "moment": pa.array([-(2**63) + 1, 2**63 - 1, None], pa.timestamp("us", "UTC")),
    "clock": pa.array([-(2**63) + 1, 2**63 - 1, None], pa.timestamp("us")),
    "day": pa.array([-(2**31), 2**31 - 1, None], pa.date32()),
    "text": pa.array(["", "\U0010ffff", None], pa.string()),
    "octets": pa.array([b"", b"\xff", None], pa.binary()),
    "flag": pa.array([False, True, None], pa.bool_()),
    "inner": pa.nulls(3, pa.struct({"a": pa.int32()})),
}
ROWS = pa.table(ENDS)
VALUES = [
    *(0, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**38, 10**76, 10**77, 10**309),
    *(10**641, 10**5000, -(10**5000)),
    *(1.5, -0.0, 1e308, 5e-324, inf, nan),
    *map(Decimal, ("NaN", "sNaN", "Infinity", "1e400", "1e-400", "0e-400", "0e400", "1E+999999")),
    *(date.min, date.max, datetime.min, datetime.max),  # noqa: DTZ901  (local times)
    *(datetime.min.replace(tzinfo=_EARLIEST), datetime.max.replace(tzinfo=_LATEST)),
    *("", "a", "\0", "\ud800", "9999-99-99", "999999-12-31", "-999999-01-01 00:00:00Z", b"\xff"),
    *(True, None, [1], object(), timedelta(1)),
]
TEXTS = [
    *("1e309", "-1e309", "1e-400", "0e999999", "1e99999999999999999999", f"0.{'0' * 400}1"),
    *(f"1.{'9' * 80}", "9" * 39, "9" * 641, "9" * 5000, f"-{'9' * 5000}", f"{'9' * 400}e5"),
    *(f"DATE '{day}'" for day in ("9999-99-99", "999999-12-31", "-999999-01-01", "5881580-07-11")),
    "TIMESTAMP '294247-01-10 04:00:54.775807Z'",  # the last microsecond that 64 bits have
    "TIMESTAMP '294247-01-10 04:00:54.775808Z'",
    "TIMESTAMP '-290308-12-21 19:59:05'",
    "TIMESTAMP '9999-12-31 23:59:59-23:59'",
    "TIMESTAMP '0001-01-01 00:00:00+23:59'",
    "TIMESTAMP '2024-01-01 00:00:00+24:00'",
    *("'999999-12-31'", "'294247-01-10 04:00:54.775807'", "'\ud800'", "X'zz'", "X''", "true"),
]
FORMS = [
    *("{} = {}", "{} < {}", "{} <=> {}", "{} LIKE {}", "{} NOT LIKE {}", "{} IN ({}, 1)"),
    *("{} IN ({}, 1.5, 1e0)", "{} BETWEEN {} AND 1"),
]


def is_named_or_answered(make):
    """Make a predicate and use it as scans do; only errors of this package may be raised."""
    try:
        predicate = make()
        holds(predicate, ROWS)
        may_match(predicate, bounds_of)
        pickle.loads(pickle.dumps(predicate))
        return str(predicate)
    except HudiError as error:
        return str(error)


def bounds_of(name):
    values = ENDS[name]
    if pa.types.is_struct(values.type):
        return None
    return ColumnBounds.of(values[0], values[1], may_be_null=True)


@pytest.mark.parametrize("name", ENDS)
def test_texts(name):
    for form, text in product(FORMS, TEXTS):
        written = form.format(name, text)
        assert is_named_or_answered(lambda written=written: parse_filter(written, ROWS.schema))


@pytest.mark.parametrize("name", ENDS)
def test_tuples(name):
    for value in VALUES:
        conditions = [(name, sign, value) for sign in ("=", "!=", "<", ">=")]
        conditions += [(name, "in", [value]), (name, "not in", [value, 1])]
        for each in conditions:
            assert is_named_or_answered(lambda each=each: predicate_of([each], ROWS.schema))


@pytest.mark.parametrize("name", ENDS)
def test_expressions(name):
    column = pc.field(name)
    for value in VALUES:
        for make in (lambda v: column == v, lambda v: column > v, lambda v: column.isin([v])):
            try:
                condition = make(value)
            except (TypeError, ValueError, OverflowError, pa.ArrowException):
                continue  # pyarrow makes no expression of it
            assert is_named_or_answered(lambda c=condition: predicate_of(c, ROWS.schema))


@pytest.mark.parametrize("digits", [20, 641, 5000])
def test_whole_number_that_pyarrow_lacks_is_refused_in_tuples(digits):
    value = 10**digits
    for condition in (("wide", "=", value), ("wide", "in", [1, value])):
        with pytest.raises(InvalidOptionError, match=r"more than 64 bits.*as text"):
            predicate_of([condition], ROWS.schema)


def test_condition_that_python_cannot_show_is_refused_by_name():
    with pytest.raises(InvalidOptionError, match="a tuple with a number of very many digits"):
        predicate_of(("wide", "near", 10**5000), ROWS.schema)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tiny LIKE 1", "column 'tiny' of type int8 is not text"),
        ("moment NOT LIKE TIMESTAMP '294247-01-10 04:00:54.775807Z'", "'moment' of type"),
        ("text LIKE 1", "put the text in quotes"),
    ],
)
def test_like_compares_texts_alone(text, problem):
    with pytest.raises(InvalidOptionError, match=problem):
        parse_filter(text, ROWS.schema)
