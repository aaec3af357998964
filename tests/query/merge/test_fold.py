"""Folding by rounds: each key's records meet in their order, whatever the other keys do."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.query.log_records.column_sets import ALL_COLUMNS
from hudi_pyspark.query.log_records.ordering import OrderingValues
from hudi_pyspark.query.log_records.records import Records
from hudi_pyspark.query.merge.decision import Decision
from hudi_pyspark.query.merge.fold import fold_in_rounds


def records_of(texts: list[str]) -> Records:
    return Records.of_rows(pa.table({"v": texts}), OrderingValues((), len(texts)))


def join(older: Records, newer: Records) -> Records:
    """A merge that tells who met whom, and in which order."""
    pairs = zip(older.rows["v"].to_pylist(), newer.rows["v"].to_pylist(), strict=True)
    return records_of([f"({one}{other})" for one, other in pairs])


def folded(codes: list[int], texts: str) -> dict[int, str]:
    state, keys = fold_in_rounds(
        np.array(codes, np.int64), lambda places: records_of([texts[i] for i in places]), join
    )
    return dict(zip(keys.tolist(), state.rows["v"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("codes", "texts", "expected"),
    [
        pytest.param([], "", {}, id="nothing"),
        pytest.param([0], "a", {0: "a"}, id="one-record-meets-none"),
        pytest.param([0, 0, 0], "abc", {0: "((ab)c)"}, id="oldest-first"),
        pytest.param([0, 1, 0, 1], "abcd", {0: "(ac)", 1: "(bd)"}, id="interleaved"),
        pytest.param(
            [2, 0, 1, 0, 2, 0],
            "abcdef",
            {0: "((bd)f)", 1: "c", 2: "(ae)"},
            id="keys-of-different-length",
        ),
    ],
)
def test_each_key_is_folded_oldest_to_newest(codes, texts, expected):
    assert folded(codes, texts) == expected


def test_a_round_merges_all_keys_that_still_have_a_record():
    sizes = []

    def merge(older, newer):
        sizes.append(len(older))
        return join(older, newer)

    codes = np.array([0, 1, 2, 0, 1, 0], np.int64)
    fold_in_rounds(codes, lambda places: records_of([str(i) for i in places]), merge)
    assert sizes == [2, 1]


# Records


def test_records_side_by_side_keep_their_order():
    both = Records.concat([records_of(["a", "b"]), records_of(["c"])])
    assert both.take(np.array([2, 0])).rows["v"].to_pylist() == ["c", "a"]


def test_base_rows_are_whole_rows_and_no_deletes():
    base = records_of(["a"])
    assert (base.has_row.tolist(), base.marks.is_delete.tolist()) == ([True], [False])
    assert base.marks.columns.tolist() == [ALL_COLUMNS]
    assert not base.marks.is_commit_time_delete.any()


def decided(newer_wins: list[bool], **changes: Any) -> list[str]:
    count = len(newer_wins)
    older, newer = records_of(["old"] * count), records_of(["new"] * count)
    decision = Decision(
        newer_wins=np.array(newer_wins),
        filled={name: np.array(mask) for name, mask in changes.get("filled", {}).items()},
        is_delete=np.zeros(count, np.bool_),
        columns=older.marks.columns,
    )
    texts: list[str] = decision.apply(older, newer).rows["v"].to_pylist()
    return texts


def test_decision_takes_the_winner_of_each_pair():
    assert decided([True, False]) == ["new", "old"]


def test_decision_fills_from_the_loser_of_each_pair():
    found = decided([True, True, False, False], filled={"v": [True, False, True, False]})
    assert found == ["old", "new", "new", "old"]


def test_decision_without_row_leaves_only_the_delete():
    older, newer = records_of(["old"] * 2), records_of(["new"] * 2)
    yes = np.ones(2, np.bool_)
    decision = Decision(yes, {}, yes, older.marks.columns, without_row=np.array([True, False]))
    assert decision.apply(older, newer).has_row.tolist() == [False, True]
