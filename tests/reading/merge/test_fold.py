"""Folding by rounds: each key's records meet in their order, whatever the other keys do."""

import numpy as np
import pytest

from hudi_pyspark.reading.log_records.records import Records
from hudi_pyspark.reading.merge.fold import fold_in_rounds
from tests.reading.log_records.log_files import records_of


def join(older: Records, newer: Records) -> Records:
    """A merge that records who met whom, and in which order."""
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
