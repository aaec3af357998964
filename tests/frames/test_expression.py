"""What a scan leaves out for a condition of another engine never has a row that it wants."""

from datetime import datetime, timezone
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark import HudiTable, InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.filter.evaluation import holds
from hudi_pyspark.frames.expression import columns_of, parse_expression, predicate_of, pruning
from tests.frames.conditions import PYARROW, TABLE, random_condition

FIELD = pc.field
SCHEMA = pa.schema([*TABLE.schema, ("r", pa.struct([("x", pa.int64()), ("a.b", pa.int64())]))])


def implied(expression: pc.Expression) -> str:
    parsed = parse_expression(expression)
    assert parsed is not None
    return str(pruning(parsed, SCHEMA))


@pytest.mark.property
@given(st.integers(0, 2**32))
def test_no_row_is_left_out_for_which_an_expression_is_true(seed):
    numbered = TABLE.append_column("row", pa.array(range(TABLE.num_rows)))
    expression = random_condition(TABLE, Random(seed))(PYARROW)
    try:
        wanted = numbered.filter(expression)["row"].to_numpy()
    except pa.ArrowException:  # pyarrow refuses it: 2.5 for a column of whole numbers
        return
    parsed = parse_expression(expression)
    assert parsed is not None
    predicate = pruning(parsed, TABLE.schema)
    kept = np.ones(len(TABLE), bool) if predicate is None else holds(predicate, TABLE)
    assert kept[wanted].all(), (expression, predicate)


def test_most_expressions_leave_out_rows():
    conditions = [random_condition(TABLE, Random(seed)) for seed in range(300)]
    parsed = [parse_expression(condition(PYARROW)) for condition in conditions]
    known = [each for each in parsed if each is not None and pruning(each, TABLE.schema)]
    assert len(known) > 180


@pytest.mark.parametrize(
    ("expression", "predicate"),
    [
        (FIELD("i") > 5, "i > 5"),
        (pc.scalar(5) > FIELD("i"), "i < 5"),
        ((FIELD("i") > 5) & (FIELD("i") / 2 > 5), "i > 5"),
        ((FIELD("i") > 5) | (FIELD("i") / 2 > 5), "None"),
        (~((FIELD("i") > 5) | FIELD("f").is_nan()), "i <= 5"),
        (~FIELD("b"), "b = False"),
        (FIELD("s").isin(["x", None]), "s IN ('x') OR s IS NULL"),
        (~FIELD("s").isin(["x"]), "s NOT IN ('x') OR s IS NULL"),
        (pc.starts_with(FIELD("s"), "a%_\\"), r"s LIKE 'a\%\_\\%'"),
        (pc.starts_with(FIELD("s"), "a", ignore_case=True), "None"),
        (FIELD("r", "x") == 1, "r.x = 1"),
        (FIELD("r", "a.b") == 1, "None"),
        (FIELD("nope") == 1, "None"),
        (
            FIELD("t") >= datetime(2020, 1, 1, tzinfo=timezone.utc),
            "t >= '2020-01-01 00:00:00+00:00'",
        ),
        (FIELD("t") >= pa.scalar(1, pa.timestamp("ns", "UTC")), "None"),
        (FIELD("n") >= pa.scalar(0, pa.timestamp("us", "UTC")), "None"),
        (FIELD("m") > Decimal("1.1"), "m > 1.10"),
        (FIELD("m") > Decimal("1.111"), "None"),
        (FIELD("f") > 1, "f > 1.0"),
        (FIELD("g") > 2**24 + 1, "None"),
        (FIELD("g") == 0.1, "None"),  # polars rounds it, and pyarrow does not
        (~(FIELD("f") > 1), "None"),  # true of NaN
        (~(FIELD("f") < 1), "f >= 1.0"),
        (FIELD("f").isin([0.0]), "None"),
        (FIELD("l").isin([2.0**53]), "None"),  # to pyarrow 2**53 + 1 is not in the list
        (~(FIELD("l").isin([2.0**53])), "None"),
        (FIELD("f").is_null(nan_is_null=True), "None"),
        (FIELD("i") == pa.scalar(None, pa.int32()), "None"),
        (FIELD("i") == FIELD("l"), "None"),
    ],
    ids=str,
)
def test_expression_leaves_out_what_is_understood_of_it(expression, predicate):
    assert implied(expression) == predicate


def test_columns_of_an_expression_are_found_inside_functions():
    expression = pc.if_else(FIELD("b"), FIELD("i"), FIELD("r", "x")) > pc.sqrt(FIELD("f"))
    assert columns_of(parse_expression(expression), SCHEMA) == {"b", "i", "r", "f"}


def test_expression_that_names_columns_by_place_needs_all():
    assert parse_expression(FIELD(0) == 1) is None
    assert columns_of(None, SCHEMA) == set(SCHEMA.names)


@pytest.mark.property
@given(st.integers(0, 2**32))
def test_predicate_of_an_expression_has_its_rows_or_is_refused(seed):
    numbered = TABLE.append_column("row", pa.array(range(TABLE.num_rows)))
    expression = random_condition(TABLE, Random(seed))(PYARROW)
    try:
        wanted = numbered.filter(expression)["row"].to_pylist()
        predicate = predicate_of(expression, TABLE.schema)
    except (pa.ArrowException, InvalidOptionError):
        return
    assert np.flatnonzero(holds(predicate, TABLE)).tolist() == wanted, (expression, predicate)


def has_exact_predicate(condition) -> bool:
    try:
        predicate_of(condition, TABLE.schema)
    except InvalidOptionError:
        return False
    return True


def test_most_expressions_have_an_exact_predicate():
    conditions = [random_condition(TABLE, Random(seed))(PYARROW) for seed in range(300)]
    assert sum(has_exact_predicate(condition) for condition in conditions) > 150


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        (("i", "=", 1), "i = 1"),
        ([("i", ">=", 1), ("s", "!=", "a")], "i >= 1 AND s != 'a'"),
        ([[("i", "<", 1)], [("s", "==", "a")]], "i < 1 OR s = 'a'"),
        ([("s", "in", ["a"])], "s IN ('a') AND s IS NOT NULL"),
        ([("s", "not in", {"a"})], "s NOT IN ('a') OR s IS NULL"),  # a null is in no list
        (FIELD("I") == 1, "i = 1"),
        (FIELD("R", "X") == 1, "r.x = 1"),
        ([("r.x", "=", 1)], "r.x = 1"),
        (FIELD("f") > 1, "f > 1.0 AND f <= inf"),  # of NaN it is false
        (~(FIELD("f") >= 1), "f < 1.0 OR f > inf"),
        (~(FIELD("s").isin(["a", None])), "s NOT IN ('a') AND s IS NOT NULL"),
    ],
    ids=str,
)
def test_expression_and_tuples_become_one_predicate(condition, predicate):
    assert str(predicate_of(condition, SCHEMA)) == predicate


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (FIELD("i") / 2 > 5, r"the part about i \(int32\) cannot be done exactly"),
        (
            (FIELD("i") > 5) & (FIELD("i") == FIELD("l")),
            r"about i \(int32\) and l \(int64\) cannot",
        ),
        (FIELD("s") == 5, "Compare a column with a literal of its type"),
        (FIELD("f").isin([0.0]), "write the filter as text"),  # not -0.0
        (FIELD("l").isin([2.0**53]), "write the filter as text"),
        (FIELD("i") == pa.scalar(None, pa.int32()), "cannot be done exactly"),
        (pc.is_in(FIELD("s"), pa.array(["a", None]), skip_nulls=True), "cannot be done exactly"),
        (pc.scalar(value=True), "the part about no column"),
        (FIELD("r", "a.b") == 1, "no column 'r.a'"),
        (FIELD("region") == "x", "no column 'region'; it has i, l"),
        (("reg", "=", 1), "no column 'reg'"),
        ([("i", "~", 1)], r"filter is \[\('i', '~', 1\)\]; give text as in a WHERE clause"),
        ([], r"filter is \[\]; give text"),
        (len, "give text as in a WHERE clause, an expression of pyarrow.compute, or tuples"),
    ],
    ids=str,
)
def test_condition_without_an_exact_predicate_is_refused_by_name(condition, message):
    with pytest.raises(InvalidOptionError, match=message):
        predicate_of(condition, SCHEMA)


def test_filter_of_a_scan_takes_expressions_and_tuples(golden_table):
    table = HudiTable(golden_table("v9_mor_compaction_inline"))
    everything = table.scan().to_arrow()
    key = everything["_hoodie_record_key"][0].as_py()
    wanted = everything.filter(FIELD("_hoodie_record_key") == key).to_pylist()
    column = "_HOODIE_record_key"
    for condition in (FIELD(column) == key, (column, "=", key), [[(column, "in", [key])]]):
        scan = table.scan(filter=condition)
        assert scan.to_arrow().to_pylist() == wanted
        assert table.dataset(filter=condition).count_rows() == len(wanted)
    with pytest.raises(UnsupportedQueryError, match="a filter that is not text"):
        scan.to_spark(None)  # type: ignore[arg-type]
