import re
from pathlib import Path

import pytest

from tests.golden.case import Case, load_case, load_cases
from verification.generate import cases
from verification.generate.cases import TableCase, Target, WrittenTable
from verification.histories.history import OF_GOLDEN_TABLES, Column, StepKind
from verification.histories.instants import Instant

TESTS = Path(__file__).parents[1]
STORED = {case.name: case for case in load_cases(TESTS / "golden_extra")}
TABLES = {
    case.folder_of(target): (case, target)
    for case in cases.load_cases("golden_extra")
    for target in map(Target.parse, case.targets)
}
# Of steps that are not recorded: Flink wrote one, and others are histories that were found.
WITHOUT_STEPS = {
    "x_v6_cow_rg_cdc_flink",
    "x_v6w120_mor_rg_downgraded_archived",
    "x_v6w120_mor_sl_downgraded",
    "x_v9_cow_sl_was_mor",
    "x_v9_mor_sl_was_cow",
}
# Kept elsewhere, or the other form of a table that is kept.
ELSEWHERE = {"x_v9_mor_evo_not_null_nested", "x_v9_mor_evo_decimals_beyond_avro"}
# Some of their commits are not on the active timeline any more.
ARCHIVED = ("rg_archived", "sl_beyond_savepoint")


def test_every_table_can_be_written_again() -> None:
    assert set(STORED) - WITHOUT_STEPS == set(TABLES) - ELSEWHERE


@pytest.mark.parametrize("name", sorted(set(STORED) & set(TABLES)))
def test_a_case_describes_its_table(name: str) -> None:
    stored = STORED[name].facts
    case, target = TABLES[name]
    assert stored["description"] == case.description
    assert stored["features"] == list(case.features)
    assert stored["table_type"] == case.type
    assert stored["hudi_version"] == target.release


@pytest.mark.parametrize("name", sorted(set(STORED) & set(TABLES)))
def test_a_case_asks_the_queries_of_its_table(name: str) -> None:
    case, target = TABLES[name]
    if case.name in ARCHIVED:
        pytest.skip("the instants of its queries are archived")
    commits = _commits(STORED[name])
    asked = {
        query["name"]: query["options"]
        for query in cases.queries_of(WrittenTable(case, target, commits, commits))
    }
    assert asked == {query.name: query.options for query in STORED[name].queries}


def _commits(stored: Case) -> list[Instant]:
    found = [re.fullmatch(r"(\d+)(?:_(\d+))?\.(\w+)", text) for text in stored.facts["timeline"]]
    instants = [Instant(m[1], m[2] or m[1], m[3]) for m in found if m]
    return [i for i in instants if i.action in ("commit", "deltacommit", "replacecommit")]


def test_histories_of_cases_have_a_value_per_column() -> None:
    kinds = set()
    for case, target in TABLES.values():
        for step in cases.history_of(case, target).steps:
            assert {len(row) for row in step.rows} <= {len(step.columns)}
            kinds.add(step.kind)
    assert {*OF_GOLDEN_TABLES, StepKind.SQL, StepKind.DELETE_PARTITION} <= kinds


def test_tables_of_trusted_indexes_are_those_of_their_cases() -> None:
    folder = TESTS / "practice" / "trusted_indexes"
    found = {case.name: case for case in cases.load_cases("trusted_indexes")}
    assert {path.name for path in folder.iterdir()} == set(found)
    for name, case in found.items():
        facts = load_case(folder / name).facts
        assert (facts["description"], facts["table_type"]) == (case.description, case.type)


def test_tables_of_other_writers_are_those_of_their_cases() -> None:
    for case in cases.load_cases("other_writers"):
        target = Target.parse(case.targets[0])
        facts = load_case(TESTS / "golden" / case.folder_of(target)).facts
        assert (facts["description"], facts["writer"]) == (case.description, target.writer)
        assert len(facts["steps"]) == len(cases.history_of(case, target).steps)


def test_columns_are_parsed_with_their_nested_types() -> None:
    text = "id int, d decimal(8,2), s struct<a:int,b:array<string>>, tip double not null"
    assert cases.columns_of(text) == (
        Column("id", "int"),
        Column("d", "decimal(8,2)"),
        Column("s", "struct<a:int,b:array<string>>"),
        Column("tip", "double not null"),
    )


def test_options_of_a_target_name_its_version_and_its_merge() -> None:
    case = TableCase("n", "", "MERGE_ON_READ", ("1.2.0:9", "1.2.0:6"), merge="EVENT_TIME_ORDERING")
    newest = cases.history_of(case, Target("1.2.0", 9)).options
    older = cases.history_of(case, Target("1.2.0", 6)).options
    assert newest["hoodie.write.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert "hoodie.write.table.version" not in newest
    assert older["hoodie.write.table.version"] == "6"
    assert older["hoodie.datasource.write.payload.class"].endswith("DefaultHoodieRecordPayload")
