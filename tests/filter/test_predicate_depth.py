"""Conditions with any number of terms and any depth of brackets."""

import pickle
import sys

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.filter.evaluation import ColumnBounds, holds, may_match
from hudi_pyspark.filter.predicate import Or, columns_of, conjuncts, negate
from hudi_pyspark.filter.sql_text import parse_filter

ROWS = pa.table({"a": [1, 2, None, 4], "b": ["x", "y", "z", None]})


def chosen(text):
    return holds(parse_filter(text, ROWS.schema), ROWS).tolist()


@pytest.mark.parametrize("count", [1, 200, 10_000])
def test_brackets_of_any_number_change_nothing(count):
    assert chosen("(" * count + "a = 1" + ")" * count) == [True, False, False, False]


def test_left_deep_chain_becomes_one_level():
    text = "a = 1"
    for number in range(2, 1500):
        text = f"({text}) OR (a = {number} AND b = 'y')"
    predicate = parse_filter(text, ROWS.schema)
    assert isinstance(predicate, Or)
    assert len(predicate.parts) == 1499
    assert chosen(text) == [True, True, False, False]


def test_ten_thousand_terms_are_answered():
    assert chosen(" OR ".join(f"a = {n}" for n in range(4, 10_004))) == [False, False, False, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NOT (a = 1 OR b = 'y')", [False, False, False, False]),
        ("NOT (a = 1 AND b = 'x')", [False, True, True, True]),
        ("NOT NOT (a = 1)", [True, False, False, False]),
        ("NOT a = 1 AND b = 'y'", [False, True, False, False]),
        ("a = 1 OR a = 2 AND b = 'y'", [True, True, False, False]),
        ("(a = 1 OR a = 2) AND b = 'y'", [False, True, False, False]),
        ("a BETWEEN 1 AND 2 AND NOT (b = 'x')", [False, True, False, False]),
        # A null equals nothing, is different from each value by <=>, and is in no list.
        ("NOT (a <=> 1)", [False, True, True, True]),
        ("NOT a <=> 1 AND b = 'z'", [False, False, True, False]),
        ("NOT (a IN (1) AND a IN (2))", [True, True, False, True]),
        ("NOT (b IS NULL OR b LIKE 'x%')", [False, True, True, False]),
    ],
)
def test_operators_bind_as_in_sql(text, expected):
    assert chosen(text) == expected


WIDE = pa.table({"n": pa.array([*range(40), None])})


def nested(seed, depth):
    """Return a condition that nests AND, OR and NOT, and for which of WIDE's rows it is true.

    The rows are computed with NumPy alone: 1 is true, 0 false and -1 null.
    """
    dice = np.random.default_rng(seed)
    numbers = np.array([*range(40), -1])
    text = "n = 7"
    truth = np.where(numbers < 0, -1, numbers == 7)
    for _ in range(depth):
        value = int(dice.integers(40))
        sign, compared = [("<", numbers < value), (">=", numbers >= value)][dice.integers(2)]
        other = np.where(numbers < 0, -1, compared)
        if dice.random() < 0.3:
            text = f"NOT ({text})"
            truth = np.where(truth < 0, -1, 1 - truth)
        is_right = dice.random() < 0.5
        operator = ["AND", "OR"][dice.integers(2)]
        text = (
            f"n {sign} {value} {operator} ({text})"
            if is_right
            else f"({text}) {operator} n {sign} {value}"
        )
        decisive = operator == "OR"
        decided = (truth == decisive) | (other == decisive)
        unknown = ~decided & ((truth < 0) | (other < 0))
        truth = np.where(decided, decisive, np.where(unknown, -1, not decisive))
    return text, truth == 1


@pytest.mark.parametrize(("seed", "depth"), [(0, 2_500), (1, 400), (2, 401), (3, 402), (4, 403)])
def test_condition_of_any_depth_is_answered(seed, depth):
    text, expected = nested(seed, depth)
    predicate = parse_filter(text, WIDE.schema)
    negated = negate(predicate)
    # What a read does with a predicate: to executors and back, to text and back, and by bounds.
    for again in (
        predicate,
        pickle.loads(pickle.dumps(predicate)),
        parse_filter(str(predicate), WIDE.schema),
        negate(negated),
    ):
        assert holds(again, WIDE).tolist() == expected.tolist()
        assert again == predicate
        assert hash(again) == hash(predicate)
    assert predicate != negated
    assert columns_of(predicate) == {"n"}
    assert conjuncts(predicate)


def test_tested_depth_exceeds_the_limit_of_recursion():
    text, _ = nested(seed=0, depth=2_500)
    assert str(parse_filter(text, WIDE.schema)).count("(") > sys.getrecursionlimit()


@pytest.mark.parametrize("seed", range(40))
def test_bounds_never_lose_a_row_of_a_deep_condition(seed):
    text, expected = nested(seed, depth=3 + seed)
    predicate = parse_filter(text, WIDE.schema)
    for number, is_wanted in enumerate(expected[:-1]):
        bounds = ColumnBounds.of(pa.scalar(number), pa.scalar(number))
        assert (
            may_match(predicate, {"n": bounds}.get) == is_wanted
        )  # of one value nothing is unsure


def test_deep_filter_is_planned_explained_and_read(golden_table):
    table = HudiTable(str(golden_table("v9_mor_compaction_inline")))
    all_rows = table.scan(["ts"]).to_arrow()
    text, _ = nested(1, depth=2_000)
    text = text.replace("n ", "ts ")
    scan = table.scan(["ts"], filter=text)
    mask = holds(parse_filter(text, all_rows.schema), all_rows)
    assert sorted(scan.to_arrow()["ts"].to_pylist()) == sorted(
        all_rows.filter(pa.array(mask))["ts"].to_pylist()
    )
    assert scan.explain().count("ts ") > 2_000


def test_filter_of_thousands_of_levels_is_answered():
    count = 3_001  # NOT of NOT of … of a condition that is false for 3
    text = "".join(f"(n = 3 AND NOT (n = {20 + number % 20} OR " for number in range(count))
    found = holds(parse_filter(f"{text}n > 9{'))' * count}", WIDE.schema), WIDE)
    assert found.nonzero()[0].tolist() == [3]


@pytest.mark.parametrize("text", ["(a = 1", "((a = 1)", "a = 1)", "NOT", "a = 1 OR", "()"])
def test_incomplete_conditions_are_refused(text):
    with pytest.raises(InvalidOptionError, match="expected"):
        parse_filter(text, ROWS.schema)
