import json
import math
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from verification.histories.column_types import TYPES
from verification.histories.history import (
    LAGS,
    OF_GOLDEN_TABLES,
    History,
    Step,
    StepKind,
    from_json,
    to_json,
)
from verification.histories.spark_generation import table_versions
from verification.histories.writers import history_of

SUCCESSIVE = "0.15.0+1.0.2+1.2.0"
PAYLOAD = "hoodie.datasource.write.payload.class"
DATABASE_COLUMNS = {"Op", "_change_operation_type", "_event_seq", "_event_lsn"}


@pytest.mark.parametrize("hudi", ["0.15.0", "1.0.2", "1.2.0", SUCCESSIVE])
def test_json_text_keeps_a_history_as_it_is(hudi: str) -> None:
    for number in range(20):
        history = history_of(1, number, hudi)
        assert from_json(json.loads(json.dumps(to_json(history)))) == history


def test_the_same_seed_gives_the_same_history() -> None:
    assert history_of(5, 3, "1.2.0") == history_of(5, 3, "1.2.0")
    assert history_of(5, 3, "1.2.0") != history_of(6, 3, "1.2.0")


@pytest.mark.parametrize(
    ("hudi", "versions"), [("0.15.0", {6}), ("1.0.2", {6, 8}), ("1.2.0", {6, 8, 9})]
)
def test_a_release_is_asked_for_table_versions_that_it_writes(
    hudi: str, versions: set[int]
) -> None:
    assert set(table_versions(hudi)) == versions


def test_histories_have_steps_of_every_kind() -> None:
    assert {step.kind for step in _steps()} == set(StepKind) - OF_GOLDEN_TABLES


def test_rows_have_a_value_per_column() -> None:
    for number in range(50):
        for step in history_of(2, number, "1.2.0").steps:
            assert {len(row) for row in step.rows} <= {len(step.columns)}


def test_releases_write_one_table_after_each_other() -> None:
    histories = [history_of(1, number, SUCCESSIVE) for number in range(60)]
    for history in histories:
        releases = [step.hudi for step in history.steps]
        assert list(dict.fromkeys(releases)) == SUCCESSIVE.split("+")
        assert sorted(releases) == releases
    versions = {s.options.get("hoodie.write.table.version") for h in histories for s in h.steps}
    assert versions == {None, "6", "8", "9"}


def test_metadata_tables_are_dropped_built_and_lag_at_the_end() -> None:
    steps = [history_of(1, number, "1.2.0").steps for number in range(150)]
    switches = {step.options.get("hoodie.metadata.enable") for of in steps for step in of}
    assert switches == {None, "true", "false"}
    lagging = {len(of) - n for of in steps for n, step in enumerate(of) if step.text == LAGS}
    assert lagging == {1}


def _values(kind: str, count: int = 600) -> list[Any]:
    random = Random(3)
    return [TYPES[kind].to_python(TYPES[kind].draw(random)) for _ in range(count)]


@cache
def _histories() -> list[History]:
    return [history_of(1, number, "1.2.0") for number in range(400)]


def _steps() -> Iterator[Step]:
    for history in _histories():
        yield from history.steps


def test_floats_are_drawn_with_the_values_that_compare_oddly() -> None:
    for kind in ("float", "double"):
        values = _values(kind)
        assert any(math.isnan(value) for value in values)
        assert {math.inf, -math.inf} <= {*values}
        assert any(value == 0 and math.copysign(1, value) < 0 for value in values)


def test_text_and_bytes_are_drawn_to_twenty_thousand() -> None:
    for kind in ("string", "binary"):
        lengths = {len(value) for value in _values(kind)}
        assert {0, 4095, 4096, 4097, 20_000} <= lengths


def test_days_and_moments_are_drawn_around_changes_of_the_calendar() -> None:
    for kind in ("date", "timestamp"):
        years = {value.year for value in _values(kind)}
        assert {1, 1001, 1582, 1883, 1899, 1900, 1969, 1970, 9999} <= years


@pytest.mark.parametrize(
    ("kind", "digits", "scale"),
    [("digit", 1, 0), ("digits", 18, 9), ("all_digits", 38, 0), ("all_decimals", 38, 38)],
)
def test_decimals_are_drawn_at_the_ends_of_their_digits(kind: str, digits: int, scale: int) -> None:
    assert TYPES[kind].declared == f"decimal({digits},{scale})"
    unscaled = {(v.as_tuple().sign, v.as_tuple().digits) for v in _values(kind)}
    assert {(0, (9,) * digits), (1, (9,) * digits)} <= unscaled
    assert {-value.as_tuple().exponent for value in _values(kind)} == {scale}


def test_tables_have_a_record_index_beside_any_index_and_keys_in_several_partitions() -> None:
    kinds = set()
    repeated = 0
    for history in _histories():
        if history.options.get("hoodie.metadata.record.index.enable") == "true":
            kinds.add(history.options["hoodie.index.type"])
        places: dict[Any, set[Any]] = {}
        for step in history.steps:
            names = [column.name for column in step.columns]
            for row in step.rows:
                values = dict(zip(names, row, strict=True))
                partition = tuple(values[name] for name in history.partition_fields)
                places.setdefault(values["id"], set()).add(partition)
        repeated += sum(len(of_key) > 2 for of_key in places.values()) > 2
    assert {"SIMPLE", "BLOOM", "BUCKET", "RECORD_INDEX"} <= kinds
    assert repeated > 5


def test_columns_are_dropped_and_added_again_in_other_types_and_cases() -> None:
    kept = 0
    retyped = 0
    recased = 0
    for history in _histories():
        dropped: dict[str, str] = {}
        before: dict[str, str] = {}
        for step in history.steps:
            if not step.columns:
                continue
            now = {column.name: column.type for column in step.columns}
            dropped |= {name: kind for name, kind in before.items() if name not in now}
            for name in now.keys() - before.keys():
                kept += dropped.get(name) == now[name]
                retyped += name in dropped and dropped[name] != now[name]
                recased += name not in dropped and name.lower() in dropped
            before = now
    assert min(kept, retyped, recased) > 1


def test_tables_change_their_type_and_their_version_both_ways() -> None:
    texts = " ".join(step.text for step in _steps() if not step.rows)
    assert "MERGE_ON_READ" in texts
    assert "COPY_ON_WRITE" in texts
    assert "upgrade_table" in texts
    assert "downgrade_table" in texts


def test_indexes_are_switched_on_and_off_and_dropped() -> None:
    for name in ("index.column.stats", "index.partition.stats", "index.bloom.filter"):
        option = f"hoodie.metadata.{name}.enable"
        assert {step.options.get(option) for step in _steps()} >= {"true", "false"}
    assert any(step.text.startswith("DROP INDEX") for step in _steps())


def test_another_process_compacts_with_other_settings() -> None:
    steps = [step for step in _steps() if step.is_elsewhere]
    assert {step.kind for step in steps} == {StepKind.COMPACT}
    assert len({step.options["hoodie.parquet.compression.codec"] for step in steps}) == 3


def test_sessions_write_in_both_calendars_and_in_other_zones() -> None:
    options = [history.options for history in _histories()]
    modes = {o["spark.sql.parquet.datetimeRebaseModeInWrite"] for o in options}
    assert modes == {"CORRECTED", "LEGACY"}
    assert len({o.get("spark.sql.session.timeZone") for o in options}) == 5


def test_keys_and_ordering_values_may_be_long_and_rows_wide_or_empty() -> None:
    rows = [
        dict(zip((column.name for column in step.columns), row, strict=True))
        for step in _steps()
        for row in step.rows
    ]
    assert max(len(str(row["id"])) for row in rows) > 20_000
    assert max(len(str(row["ts"])) for row in rows) > 5_000
    assert max(len(str(row["p"])) for row in rows) == 200
    assert max(len(row) for row in rows) > 150
    data = ([v for name, v in row.items() if name[1:2].isdigit()] for row in rows)
    assert any(len(values) > 2 and not any(v is not None for v in values) for values in data)


def test_payload_columns_come_with_the_first_change_or_with_the_load() -> None:
    payloads = set()
    for number in range(300):
        history = history_of(59, number, "1.0.2")
        payload = history.options.get(PAYLOAD, "").rpartition(".")[2]
        first, *later = [step for step in history.steps if step.columns]
        names = [{c.name for c in step.columns} & DATABASE_COLUMNS for step in (first, *later)]
        assert not any(names) or "Dms" in payload or "Debezium" in payload
        if later and any(names):
            assert names[0] in (set(), names[1])
            assert names[0] or first.kind in (StepKind.BULK_INSERT, StepKind.BOOTSTRAP)
            payloads.add((payload, bool(names[0])))
    assert len(payloads) == 6  # three classes, each with and without its columns at first
