"""A decision takes the winner of each pair, and fills it from the loser."""

from typing import Any

import numpy as np

from hudi_pyspark.reading.merge.decision import Decision
from tests.reading.log_records.log_files import records_of


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
