from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types

from verification.histories import spark_writer
from verification.histories.history import Step, StepKind
from verification.histories.instants import completed_commits, table_properties
from verification.histories.spark_writer import NotPossibleError, spark_value

SPARK: Any = None  # for statements that do not name the table
RESTORE = "CALL rollback_to_savepoint(instant_time => '{saved}')"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    timeline = tmp_path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    for name in ("010_015.commit", "020_025.deltacommit", "020.deltacommit.requested"):
        (timeline / name).touch()
    (timeline / ".020_025.deltacommit.crc").touch()
    (timeline / "030.compaction.requested").touch()
    (tmp_path / ".hoodie" / "hoodie.properties").write_text("#x\nhoodie.table.type=A\nb=c=d\n")
    return tmp_path


def statement(text: str, table: Path, number: str = "") -> str:
    return spark_writer._statement(SPARK, text, table, Step(StepKind.SQL, text=number))


def test_a_statement_names_instants_that_the_table_has(table: Path) -> None:
    assert statement("{c1} {c2} {last} {plan} {path}", table) == f"010 020 020 030 {table}"
    assert statement("{chosen}", table, "3") == "020"


def test_a_statement_without_its_instant_is_not_possible(table: Path) -> None:
    with pytest.raises(NotPossibleError):
        statement(RESTORE, table)
    (table / ".hoodie" / "timeline" / "010_017.savepoint").touch()
    assert statement(RESTORE, table, "1").endswith("'010')")


def test_a_property_is_edited_and_the_others_stay(table: Path) -> None:
    spark_writer._edit_properties(table, {"hoodie.table.type": "B", "new": "1"})
    assert table_properties(table) == {"hoodie.table.type": "B", "b": "c=d", "new": "1"}


def test_a_commit_loses_its_completion_but_not_its_request(table: Path) -> None:
    spark_writer._lose(table, r"020_025\.deltacommit")
    names = {file.name for file in (table / ".hoodie" / "timeline").iterdir()}
    assert names == {"010_015.commit", "020.deltacommit.requested", "030.compaction.requested"}
    assert [commit.requested for commit in completed_commits(table)] == ["010"]


def test_values_of_json_are_those_that_spark_takes() -> None:
    inner = types.StructType(
        [types.StructField("d", types.DateType()), types.StructField("x", types.DoubleType())]
    )
    schema = types.StructType(
        [
            types.StructField("m", types.DecimalType(8, 2)),
            types.StructField("l", types.ArrayType(inner)),
            types.StructField("k", types.MapType(types.StringType(), types.BinaryType())),
        ]
    )
    day = date(1582, 10, 15)
    row = ["1.25", [["1582-10-15", "-Infinity"], {"x": 1, "d": None}, None], {"a": "00ff"}]
    expected = (Decimal("1.25"), [(day, float("-inf")), (None, 1.0), None], {"a": b"\x00\xff"})
    assert spark_value(schema, row) == expected
