import json

import pytest

from verification.histories.generation import random_history, table_versions
from verification.histories.history import LAGS, StepKind, from_json, to_json

SUCCESSIVE = "0.15.0+1.0.2+1.2.0"


@pytest.mark.parametrize("hudi", ["0.15.0", "1.0.2", "1.2.0", SUCCESSIVE])
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
    histories = [random_history(1, number, "1.2.0") for number in range(600)]
    assert {step.kind for history in histories for step in history.steps} == set(StepKind)


def test_rows_have_a_value_per_column() -> None:
    for number in range(50):
        for step in random_history(2, number, "1.2.0").steps:
            assert {len(row) for row in step.rows} <= {len(step.columns)}


def test_releases_write_one_table_after_each_other() -> None:
    histories = [random_history(1, number, SUCCESSIVE) for number in range(60)]
    for history in histories:
        releases = [step.hudi for step in history.steps]
        assert list(dict.fromkeys(releases)) == SUCCESSIVE.split("+")
        assert sorted(releases) == releases
    versions = {s.options.get("hoodie.write.table.version") for h in histories for s in h.steps}
    assert versions == {None, "6", "8", "9"}


def test_metadata_tables_are_dropped_built_and_lag_at_the_end() -> None:
    steps = [random_history(1, number, "1.2.0").steps for number in range(150)]
    switches = {step.options.get("hoodie.metadata.enable") for of in steps for step in of}
    assert switches == {None, "true", "false"}
    lagging = {len(of) - n for of in steps for n, step in enumerate(of) if step.text == LAGS}
    assert lagging == {1}
