"""Base rows that are deletes by flag or operation; rows are those of Apache Hudi 1.2.0.

A bulk insert wrote base rows with ordering value 5: ``t`` with the flag, ``f`` and ``n`` without
it, ``o`` and ``p`` with the operations D and d. Two upserts have smaller and greater values.
"""

import json
from pathlib import Path

import pytest

from hudi_pyspark import HudiTable

COLUMNS = ["v", "w", "ts", "_hoodie_is_deleted"]
ANSWERS = json.loads((Path(__file__).parent / "flagged_base_rows/answers.json").read_text())


@pytest.mark.parametrize("name", ANSWERS)
def test_flagged_base_rows_are_merged_as_the_payload_class_does(practice_table, name):
    table = HudiTable(practice_table(f"flagged_base_rows/{name}"))
    rows = table.scan(["id", *COLUMNS]).to_arrow().to_pylist()
    assert {row["id"]: [row[column] for column in COLUMNS] for row in rows} == ANSWERS[name]
    assert len(rows) == len(ANSWERS[name])


def test_only_partial_updates_delete_by_the_flag_of_a_base_row():
    lost = {name: {"t0", "t1", "t7"} - set(rows) for name, rows in ANSWERS.items()}
    assert {name for name, keys in lost.items() if keys} == {
        "PartialUpdateAvroPayload_v6",
        "PartialUpdateAvroPayload_v8",
    }
