import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from verification.histories.flink import FLINK, job
from verification.histories.history import (
    CHANGE,
    COMMIT,
    FAILS,
    Column,
    History,
    Step,
    StepKind,
    from_json,
    to_json,
)
from verification.histories.writers import history_of

COLUMNS = (Column("id", "int"), Column("p", "string"), Column("when", "millis"))
OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "",
    "write.batch.size": "0.002",
}
PATH = Path("/data/t")


@pytest.fixture(scope="module")
def histories() -> list[History]:
    return [history_of(1, number, FLINK) for number in range(150)]


def test_json_text_keeps_a_history_as_it_is(histories: list[History]) -> None:
    for history in histories:
        assert from_json(json.loads(json.dumps(to_json(history)))) == history


def test_the_same_seed_gives_the_same_history() -> None:
    assert history_of(5, 3, FLINK) == history_of(5, 3, FLINK)
    assert history_of(5, 3, FLINK) != history_of(6, 3, FLINK)


def test_histories_have_steps_of_every_kind_that_flink_can_do(histories: list[History]) -> None:
    assert {step.kind for step in _steps(histories)} == {
        StepKind.UPSERT,
        StepKind.INSERT,
        StepKind.BULK_INSERT,
        StepKind.INSERT_OVERWRITE,
        StepKind.INSERT_OVERWRITE_TABLE,
        StepKind.COMPACT,
        StepKind.CLUSTER,
    }


def test_jobs_have_a_value_per_column_and_rows_of_every_kind(histories: list[History]) -> None:
    kinds = set()
    for step in _steps(histories):
        assert {len(row) for row in step.rows} <= {len(step.columns)}
        kinds |= {row[1] for row in step.rows if step.columns[:2] == (COMMIT, CHANGE)}
    assert kinds == {"+I", "-U", "+U", "-D"}


def test_every_step_makes_a_job(histories: list[History]) -> None:
    modes = set()
    for history in histories:
        for step in history.steps:
            made = job(history, step, PATH)
            assert json.loads(json.dumps(made)) == made
            modes.add(made.get("mode"))
    assert modes == {"stream", "batch", "fail", None}


def test_the_rows_of_a_commit_are_sent_with_their_kinds() -> None:
    rows = ((1, "-D", 7, "a", None), (0, "+I", 7, "a", "2024-01-01T00:00:00"))
    step = Step(StepKind.UPSERT, (COMMIT, CHANGE, *COLUMNS), rows)
    made = job(_history(step), step, PATH)
    assert made["commits"] == [[["+I", 7, "a", "2024-01-01T00:00:00"]], [["-D", 7, "a", None]]]
    assert made["insert"] == "INSERT INTO t SELECT `id`, `p`, `when` FROM changes"
    assert made["mode"] == "stream"


def test_rows_without_kinds_are_one_commit_of_inserts() -> None:
    step = Step(StepKind.UPSERT, COLUMNS, ((7, "a", None), (8, "b", None)), text=FAILS)
    made = job(_history(step), step, PATH)
    assert made["commits"] == [[["+I", 7, "a", None], ["+I", 8, "b", None]]]
    assert made["mode"] == "fail"


def test_a_table_is_declared_in_the_names_of_flink() -> None:
    step = Step(StepKind.UPSERT, COLUMNS, ((7, "a", None),), {"write.batch.size": "0.0005"})
    ddl = job(_history(step), step, PATH)["ddl"]
    assert ddl.startswith(
        "CREATE TABLE t (`id` INT, `p` STRING, `when` TIMESTAMP(3), "
        "PRIMARY KEY (`id`) NOT ENFORCED) PARTITIONED BY (`p`) WITH ("
    )
    for pair in (
        "'path' = 'file:///data/t'",
        "'table.type' = 'MERGE_ON_READ'",
        "'precombine.field' = 'no_precombine'",
        "'write.batch.size' = '0.0005'",
    ):
        assert pair in ddl


@pytest.mark.parametrize(
    ("kind", "row", "literal"),
    [
        ("int", (7, 2), "2"),
        ("date", (7, "2024-01-02"), "DATE '2024-01-02'"),
        ("string", (7, "d e"), "'d e'"),
    ],
)
def test_a_partition_is_overwritten_by_its_value(
    kind: str, row: tuple[object, ...], literal: str
) -> None:
    step = Step(
        StepKind.INSERT_OVERWRITE, (Column("id", "int"), Column("p", kind)), (row,), text="p"
    )
    made = job(_history(step), step, PATH)
    assert made["mode"] == "batch"
    assert made["insert"] == (
        f"INSERT OVERWRITE t PARTITION (`p` = {literal}) SELECT `id` FROM changes"
    )


def _history(step: Step) -> History:
    return History("h", "flink-0.14.0", OPTIONS, (step,))


def _steps(histories: list[History]) -> Iterator[Step]:
    for history in histories:
        yield from history.steps
