"""A slice read from files in memory: what stands in them, and what is wrong with them."""

import logging
from dataclasses import replace

import pyarrow as pa
import pytest

from hudi_pyspark.errors import (
    CorruptLogBlockError,
    CorruptTableError,
    MissingFileError,
    SchemaEvolutionError,
)
from hudi_pyspark.reading.read_slice import read_slice
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.tasks import PartitionColumn, PartitionValues, ValueSource
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import (
    KEY,
    delete_block,
)
from tests.reading.slices_in_memory import (
    BASE_PATH,
    DELETE,
    FILES,
    LOG_PATHS,
    LOGS,
    MERGED,
    TABLE,
    UPSERT,
    RecordingStorage,
    base_content,
    log_file,
    rows,
    task,
    upsert,
)


def test_base_and_log_files_are_merged():
    assert rows(task()) == MERGED


def test_slice_without_log_files_is_its_base_file():
    assert rows(task(logs=())) == [("a", "base a"), ("b", "base b"), ("c", "base c")]


def test_slice_without_base_file_is_its_log_files():
    assert rows(task(base=None)) == [("a", "log")]


def test_columns_that_only_the_merge_needs_are_not_returned():
    assert rows(task(columns=("v",))) == [("base c",), ("log",)]


def test_rows_are_counted_without_any_column():
    tables = list(read_slice(task(columns=()), MemoryStorage(FILES)))
    assert sum(table.num_rows for table in tables) == 2
    tables = list(read_slice(task(columns=(), logs=()), MemoryStorage(FILES)))
    assert sum(table.num_rows for table in tables) == 3


def test_blocks_after_the_query_do_not_count():
    assert rows(task(until="002")) == [("a", "log"), ("b", "base b"), ("c", "base c")]


def test_blocks_of_uncommitted_instants_do_not_count():
    files = {**FILES, LOG_PATHS[0]: upsert("a", 11, "0025") + UPSERT + upsert("c", 99, "0025")}
    assert rows(task(), files) == MERGED


def test_no_log_file_is_read_twice_and_the_base_only_when_asked_for():
    storage = RecordingStorage(FILES)
    tables = read_slice(task(), storage)
    assert storage.read == []
    list(tables)
    assert storage.read == list(LOG_PATHS)
    assert len(storage.opened) == 1


@pytest.mark.parametrize("logs", [(), LOGS], ids=["base-only", "merged"])
def test_stopping_early_closes_the_base_file(logs):
    storage = RecordingStorage(FILES)
    tables = read_slice(task(logs=logs, batch_rows=1), storage)
    next(tables)
    assert len(storage.opened) == 1
    tables.close()  # type: ignore[attr-defined]
    assert [file.closed for file in storage.opened] == [True]


# Damage: (name, files, log files of the slice, rows that are left, message).
DAMAGES = [
    pytest.param(
        {**FILES, LOG_PATHS[0]: UPSERT[:-3]},
        LOGS,
        [("a", "base a"), ("c", "base c")],
        f"{LOG_PATHS[0]} at byte {len(UPSERT) - 3}: the file has {len(UPSERT) - 3} bytes, but its "
        f"commit says {len(UPSERT)}",
        id="shorter-than-committed",
    ),
    pytest.param(
        {**FILES, LOG_PATHS[0]: b""},
        LOGS,
        [("a", "base a"), ("c", "base c")],
        f"{LOG_PATHS[0]} at byte 0: the file has 0 bytes, but its commit says {len(UPSERT)}",
        id="empty",
    ),
    pytest.param(
        {**FILES, LOG_PATHS[0]: UPSERT[:-1] + b"?"},
        LOGS,
        [("a", "base a"), ("c", "base c")],
        f"{LOG_PATHS[0]} at byte 0: a corrupt block within what completed commits wrote",
        id="corrupt-within-what-was-committed",
    ),
]


@pytest.mark.parametrize(("files", "logs", "left", "problem"), DAMAGES)
class TestDamage:
    def test_fails_by_default(self, files, logs, left, problem, caplog):
        with pytest.raises(CorruptLogBlockError, match=problem) as caught:
            list(read_task(task(logs=logs), MemoryStorage(files)))
        assert "on_damage=warn" in str(caught.value)
        assert caplog.messages == []  # nothing was skipped
        assert left != MERGED

    def test_is_reported_and_the_rest_is_read(self, files, logs, left, problem, caplog):
        with caplog.at_level(logging.WARNING):
            assert rows(task(logs=logs, on_damage=OnDamage.WARN), files) == left
        assert caplog.messages == [problem]

    def test_is_passed_over(self, files, logs, left, problem, caplog):
        with caplog.at_level(logging.WARNING):
            assert rows(task(logs=logs, on_damage=OnDamage.IGNORE), files) == left
        assert caplog.messages == [], problem


TORN = upsert("c", 99, "004")[:-5]


@pytest.mark.parametrize(
    "logs",
    [
        pytest.param(LOGS, id="behind-what-was-committed"),
        pytest.param(
            (log_file(LOG_PATHS[0], "002", committed_size=0), LOGS[1]), id="of-unknown-extent"
        ),
    ],
)
def test_corrupt_block_of_a_failed_write_is_skipped_and_logged(logs, caplog):
    files = {**FILES, LOG_PATHS[0]: UPSERT + TORN}
    with caplog.at_level(logging.WARNING):
        assert rows(task(logs=logs), files) == MERGED
    place = f"{LOG_PATHS[0]} at byte {len(UPSERT)}"
    assert caplog.messages == [f"skipped 1 corrupt log block of failed writes: {place}"]


def test_each_damage_of_a_file_is_one_line(caplog):
    flipped = UPSERT[:-1] + b"?"
    logs = (log_file(LOG_PATHS[0], "002", committed_size=2 * len(UPSERT)), LOGS[1])
    files = {**FILES, LOG_PATHS[0]: flipped + UPSERT[:-3]}
    with caplog.at_level(logging.WARNING):
        rows(task(logs=logs, on_damage=OnDamage.WARN), files)
    cut_off, corrupt = caplog.messages
    assert f"the file has {2 * len(UPSERT) - 3} bytes" in cut_off
    assert "at byte 0: a corrupt block" in corrupt


def test_file_that_grew_since_its_commit_is_fine():
    files = {**FILES, LOG_PATHS[0]: UPSERT + upsert("c", 99, "004")}
    assert rows(task(), files) == MERGED


@pytest.mark.parametrize(
    ("path", "logs"), [(BASE_PATH, ()), (BASE_PATH, LOGS), (LOG_PATHS[1], LOGS)]
)
def test_file_that_vanished_is_missing(path, logs):
    files = {name: content for name, content in FILES.items() if name != path}
    with pytest.raises(MissingFileError, match=f"{path} is not on the storage any more"):
        rows(task(logs=logs), files)


UNLISTED = (LOGS[0], replace(LOGS[1], is_listed=False))


def test_log_file_that_only_a_commit_knows_may_stand_in_another_file():
    appended = {BASE_PATH: FILES[BASE_PATH], LOG_PATHS[0]: UPSERT + DELETE}
    assert rows(task(logs=UNLISTED), appended) == MERGED


def test_log_file_that_only_a_commit_knows_is_missing_otherwise():
    with pytest.raises(MissingFileError, match=r"log\.1_0-1-0 was committed \(003\) but is not on"):
        rows(task(logs=UNLISTED))


def test_log_file_of_a_commit_after_the_query_may_be_missing():
    assert len(rows(task(logs=UNLISTED, until="002"))) == 3


def test_bytes_that_are_no_log_file_are_refused_whatever_is_asked_for():
    files = {**FILES, LOG_PATHS[0]: b"PAR1" + bytes(len(UPSERT))}
    with pytest.raises(CorruptLogBlockError, match="at byte 0: expected magic"):
        rows(task(on_damage=OnDamage.IGNORE), files)


def test_old_base_file_gets_the_type_of_the_table():
    old = pa.schema([(KEY, pa.string()), ("ts", pa.int32())])
    base = base_content([{KEY: "a", "ts": 10}, {KEY: "z", "ts": 3}], old)
    found = rows(task(columns=(KEY, "ts", "v")), {**FILES, BASE_PATH: base})
    assert found == [("a", 11, "log"), ("z", 3, None)]


def test_base_file_of_another_type_is_named():
    other = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.list_(pa.int64()))])
    base = base_content([{KEY: "a", "ts": 1, "v": [1]}], other)
    with pytest.raises(SchemaEvolutionError, match=f"{BASE_PATH}: column 'v' is stored as list"):
        rows(task(), {**FILES, BASE_PATH: base})


WITHOUT_P = pa.schema([field for field in TABLE if field.name != "p"])


@pytest.mark.parametrize(
    ("path", "schema", "from_path", "expected"),
    [
        pytest.param("p=la", TABLE, False, {"la"}, id="path"),
        pytest.param("p=la", WITHOUT_P, False, {"la"}, id="path-where-the-file-has-none"),
        pytest.param("p=100%25", TABLE, False, {"sf"}, id="file-where-the-path-is-not-certain"),
        pytest.param("p=100%25", TABLE, True, {"100%"}, id="path-where-asked-for"),
        pytest.param("p=100%25", WITHOUT_P, False, {"100%", "sf"}, id="path-rather-than-nothing"),
    ],
)
def test_partition_column_comes_from(path, schema, from_path, expected):
    planned = task(partition=path, columns=("p",), partition_values_from_path=from_path)
    files = {**FILES, BASE_PATH: base_content(schema=schema)}
    assert {p for (p,) in rows(planned, files)} == expected


NOWHERE = PartitionColumn("p", None, ValueSource.FILE)


def test_partition_column_without_any_value_is_corrupt():
    planned = replace(task(columns=("p",)), partition=PartitionValues((NOWHERE,)))
    files = {**FILES, BASE_PATH: base_content(schema=WITHOUT_P)}
    with pytest.raises(
        CorruptTableError, match=f"{BASE_PATH}: partition column p is not in the file"
    ):
        rows(planned, files)


@pytest.mark.parametrize(("use", "expected"), [(True, "ac"), (False, "bc")])
def test_record_positions_are_used_by_default(use, expected):
    # The position and the key disagree on purpose: each says by itself which row is deleted.
    block = delete_block([("a", None)], instant="002", positions=[1])
    files = {BASE_PATH: FILES[BASE_PATH], LOG_PATHS[0]: block}
    logs = (log_file(LOG_PATHS[0], "002", committed_size=len(block)),)
    found = rows(task(logs=logs, version=9, use_record_positions=use), files)
    assert "".join(key for key, _ in found) == expected


def test_positions_in_another_base_file_are_not_used():
    block = delete_block([("a", None)], instant="002", positions=[1], positions_base="000")
    files = {BASE_PATH: FILES[BASE_PATH], LOG_PATHS[0]: block}
    logs = (log_file(LOG_PATHS[0], "002", committed_size=len(block)),)
    assert [key for key, _ in rows(task(logs=logs, version=9), files)] == ["b", "c"]
