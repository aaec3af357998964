"""Base rows that are deletes by flag or operation; rows are those of Apache Hudi 1.2.0.

A bulk insert wrote base rows with ordering value 5: ``t`` with the flag, ``f`` and ``n`` without
it, ``o`` and ``p`` with the operations D and d. Two upserts have smaller and greater values.
"""

from pathlib import Path

import pytest

from tests.golden.case import load_cases
from tests.golden.run import run_case

CASES = load_cases(Path(__file__).parent / "flagged_base_rows")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_flagged_base_rows_are_merged_as_the_payload_class_does(case):
    (outcome,) = run_case(case)
    assert outcome.problems == ()


def test_only_partial_updates_delete_by_the_flag_of_a_base_row():
    ids = {case.name: case.query("snapshot").expected_rows()["id"].to_pylist() for case in CASES}
    lost = {name: {"t0", "t1", "t7"} - set(kept) for name, kept in ids.items()}
    assert {name for name, keys in lost.items() if keys} == {
        "PartialUpdateAvroPayload_v6",
        "PartialUpdateAvroPayload_v8",
    }
