import pyarrow as pa

from verification.histories.generation import PARTITION_FIELDS
from verification.histories.history import StepKind
from verification.histories.rust import RUST, SPARK_RELEASE, keys_of, rows_of, settings_of
from verification.histories.writers import history_of

HISTORIES = [history_of(1, number, RUST) for number in range(60)]


def test_the_same_seed_gives_the_same_history() -> None:
    assert history_of(5, 3, RUST) == history_of(5, 3, RUST)
    assert history_of(5, 3, RUST) != history_of(6, 3, RUST)


def test_hudi_rs_and_spark_write_one_table_in_turns() -> None:
    assert {step.hudi for history in HISTORIES for step in history.steps} == {"", SPARK_RELEASE}
    assert {history.hudi for history in HISTORIES} == {RUST}
    assert not any(history.steps[0].hudi for history in HISTORIES)  # hudi-rs creates the table


def test_rows_become_arrow_with_their_types_and_keys_that_are_never_null() -> None:
    for history in HISTORIES:
        for step in history.steps:
            rows = rows_of(step)
            rows.validate(full=True)
            assert rows.num_rows == len(step.rows)
            assert not step.rows or not rows.schema.field("id").nullable


def test_deletes_name_the_partition_path_as_the_table_spells_it() -> None:
    spelled = set()
    for history in HISTORIES:
        for step in history.steps:
            if step.kind is StepKind.DELETE:
                keys = keys_of(history, step)
                assert keys.schema.types == [pa.string(), pa.string()]
                spelled |= {path.partition("=")[0] for path in keys["path"].to_pylist()}
    assert {"", "p", "q", "a", "bc"} <= spelled


def test_settings_name_the_columns_of_the_table() -> None:
    for history in HISTORIES:
        settings = settings_of(history)
        assert settings["keys"] == "id"
        assert settings["ordering"] in ("", "ts")
        assert tuple(filter(None, settings["partitions"].split(","))) in PARTITION_FIELDS.values()
