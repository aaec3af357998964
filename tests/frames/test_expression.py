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

from hudi_pyspark.filter.predicate import holds
from hudi_pyspark.frames.expression import columns_of, parse_expression, pruning
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
