import json

import pytest

from verification.histories.generation import random_history, table_versions
from verification.histories.history import StepKind, from_json, to_json


@pytest.mark.parametrize("hudi", ["0.15.0", "1.0.2", "1.2.0"])
def test_json_text_keeps_a_history_as_it_is(hudi: str) -> None:
    for number in range(20):
        history = random_history(1, number, hudi)
        assert from_json(json.loads(json.dumps(to_json(history)))) == history


def test_the_same_seed_gives_the_same_history() -> None:
    assert random_history(5, 3, "1.2.0") == random_history(5, 3, "1.2.0")
    assert random_history(5, 3, "1.2.0") != random_history(6, 3, "1.2.0")


@pytest.mark.parametrize(
    ("hudi", "versions"), [("0.15.0", {6}), ("1.0.2", {6, 8}), ("1.2.0", {6, 8, 9})]
)
def test_a_release_is_asked_for_table_versions_that_it_writes(
    hudi: str, versions: set[int]
) -> None:
    assert set(table_versions(hudi)) == versions


def test_histories_have_steps_of_every_kind() -> None:
    histories = [random_history(1, number, "1.2.0") for number in range(150)]
    assert {step.kind for history in histories for step in history.steps} == set(StepKind)


def test_rows_have_a_value_per_column() -> None:
    for number in range(50):
        for step in random_history(2, number, "1.2.0").steps:
            assert {len(row) for row in step.rows} <= {len(step.columns)}
