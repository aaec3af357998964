import io
import json
from typing import Any

import fastavro

from verification.histories.avro import AVRO_TYPES, avro_json, avro_schema
from verification.histories.history import History, StepKind, from_json, to_json
from verification.histories.writers import history_of

HISTORIES = [history_of(1, number, "avro-1.0.2") for number in range(120)]


def test_json_text_keeps_a_history_as_it_is() -> None:
    for history in HISTORIES[:20]:
        assert from_json(json.loads(json.dumps(to_json(history)))) == history


def test_the_same_seed_gives_the_same_history() -> None:
    assert history_of(5, 3, "avro-1.0.2") == history_of(5, 3, "avro-1.0.2")
    assert history_of(5, 3, "avro-1.0.2") != history_of(6, 3, "avro-1.0.2")


def test_histories_have_every_type_and_change_units() -> None:
    columns = {c for history in HISTORIES for step in history.steps for c in step.columns}
    assert {column.type for column in columns} == set(AVRO_TYPES)
    assert any(len(_types(history, c.name)) > 1 for history in HISTORIES for c in columns)
    kinds = {step.kind for history in HISTORIES for step in history.steps}
    assert {StepKind.UPSERT, StepKind.DELETE, StepKind.COMPACT} <= kinds
    assert {step.hudi for history in HISTORIES for step in history.steps} == {"1.0.2"}


def _types(history: History, name: str) -> set[str]:
    return {c.type for step in history.steps for c in step.columns if c.name == name}


def test_rows_are_what_avro_reads_with_their_schema() -> None:
    for history in HISTORIES[:40]:
        for step in (step for step in history.steps if step.rows):
            lines = "\n".join(json.dumps(avro_json(step.columns, row)) for row in step.rows)
            found: list[Any] = list(
                fastavro.json_reader(io.StringIO(lines), avro_schema(step.columns))
            )
            assert [row["id"] for row in found] == [row[0] for row in step.rows]
