from collections import Counter
from datetime import datetime, timezone

import pyarrow as pa

from verification.histories.compare import Answer, arrow_answer, difference, spark_cell

MOMENT = datetime(2024, 1, 2, 3, 4, 5)  # noqa: DTZ001


def test_cells_of_both_readers_have_one_form() -> None:
    kinds = {
        "map": pa.map_(pa.string(), pa.int64()),
        "list": pa.list_(pa.struct([("a", pa.int64())])),
        "time": pa.timestamp("us", "UTC"),
        "float": pa.float64(),
    }
    values = {
        "map": [("b", 1), ("a", 2)],
        "list": [{"a": 1}],
        "time": MOMENT.replace(tzinfo=timezone.utc),
        "float": -0.0,
    }
    table = pa.Table.from_pylist([values], pa.schema(list(kinds.items())))
    spark = ({"a": 2, "b": 1}, [_row(1)], MOMENT, -0.0)
    assert arrow_answer(table).rows == (tuple(spark_cell(value) for value in spark),)


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


def _row(*values: object) -> object:
    class Row(tuple[object, ...]):
        __fields__ = ("a",)

    return Row(values)
