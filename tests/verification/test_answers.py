from collections import Counter
from datetime import datetime, timezone

import pyarrow as pa

from tests.golden.compare import rows_of
from verification.histories.answers import Answer, HudiAnswer, difference

MOMENT = datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
KINDS = {
    "map": pa.map_(pa.string(), pa.int64()),
    "list": pa.list_(pa.struct([("a", pa.int64())])),
    "time": pa.timestamp("us", "UTC"),
    "float": pa.float64(),
}
ROW = {"map": [("b", 1), ("a", 2)], "list": [{"a": 1}], "time": MOMENT, "float": -0.0}
SPARK = {
    "map": {"type": "map", "keyType": "string", "valueType": "long"},
    "list": {
        "type": "array",
        "elementType": {"type": "struct", "fields": [{"name": "a", "type": "long"}]},
    },
    "time": "timestamp",
    "float": "double",
}


def answer(**values: object) -> Answer:
    return Answer.of(pa.Table.from_pylist([{**ROW, **values}], pa.schema(list(KINDS.items()))))


def test_answers_of_both_readers_have_one_form() -> None:
    table = pa.Table.from_pylist([ROW], pa.schema(list(KINDS.items())))
    fields = [{"name": name, "type": kind} for name, kind in SPARK.items()]
    assert HudiAnswer(table, {"type": "struct", "fields": fields}).answer() == Answer.of(table)


def test_entries_of_maps_have_no_order_but_those_of_lists_have() -> None:
    assert answer(map=[("a", 2), ("b", 1)]) == answer()
    assert answer(map=[("a", 1), ("b", 2)]) != answer()
    assert answer(list=[{"a": 1}, {"a": 2}]) != answer(list=[{"a": 2}, {"a": 1}])


def test_maps_of_golden_answers_have_an_order() -> None:
    column = pa.array([[("b", 1), ("a", 2)]], KINDS["map"])
    other = pa.array([[("a", 2), ("b", 1)]], KINDS["map"])
    assert rows_of(pa.table({"map": column})) != rows_of(pa.table({"map": other}))


def test_zeros_with_a_sign_differ_and_nan_is_nan() -> None:
    assert answer(float=0.0) != answer()
    assert answer(float=float("nan")) == answer(float=float("nan"))


def test_times_that_python_does_not_have_are_compared() -> None:
    times = pa.array([2**62, 2**62 + 1], pa.timestamp("us", "UTC"))
    found = Answer.of(pa.table({"t": times, "m": pa.array([[("a", 1)], None], KINDS["map"])}))
    assert [row[0] for row in found.rows] == [2**62, 2**62 + 1]
    nested = pa.table({"s": pa.StructArray.from_arrays([times], ["t"])})
    assert len({*Answer.of(nested).rows}) == 2


def test_rows_are_compared_as_a_multiset() -> None:
    columns = (("id", "integer"),)
    found = difference(Answer(columns, ((1,), (1,), (2,))), Answer(columns, ((2,), (1,), (3,))))
    assert (found.missing, found.extra) == (Counter([(1,)]), Counter([(3,)]))


def test_types_that_differ_are_named() -> None:
    text = difference(Answer((("id", "integer"),), ()), Answer((("id", "long"),), ())).columns
    assert text == "columns differ: ours ['id long'], Apache Hudi's ['id integer']"


def test_images_of_changes_are_compared_by_what_has_one_form() -> None:
    columns = tuple((name, "string") for name in ("op", "ts_ms", "before", "after"))
    theirs = ("i", "1", "null", '{"id": 1, "_hoodie_commit_time": "1", "d": 19753, "n": 2.50}')
    ours = ("i", "1", None, '{"id":1,"d":"2024-01-31","n":2.5}')
    names = frozenset(("id", "n"))
    assert not difference(Answer(columns, (theirs,)), Answer(columns, (ours,)), names)
    other = ("i", "1", None, '{"id":2,"d":"2024-01-31","n":2.5}')
    assert difference(Answer(columns, (theirs,)), Answer(columns, (other,)), names)


def test_images_of_one_reader_are_compared_as_text() -> None:
    columns = tuple((name, "string") for name in ("op", "ts_ms", "before", "after"))
    one, other = (Answer(columns, (("i", "1", None, text),)) for text in ('{"d":1}', '{"d":2}'))
    assert not difference(one, one)
    assert difference(one, other)
    assert not difference(one, other, frozenset())
