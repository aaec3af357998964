"""A slice is merged once: later queries read what its merge decided, and get the same rows."""

import io
import logging
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, thresholds
from hudi_pyspark.columns.arrays import nbytes_of
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.reading.kept_merges import KeptMerge, count_merged
from hudi_pyspark.reading.merge.outcome import KeptOutcome, Outcome, OutcomesInMemory
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from hudi_pyspark.reading.merge.whole_records import MergeDecision
from hudi_pyspark.reading.read_slice import read_slice
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.merge_mode import MergeCache, RecordMergeMode
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.tasks import PartitionValues
from tests.conftest import GOLDEN
from tests.emptied_state import empty
from tests.golden.case import load_case
from tests.reading.log_records.log_files import KEY, delete_block, rollback_block, wrapped
from tests.reading.slices_in_memory import (
    BASE,
    BASE_PATH,
    DELETE,
    FILES,
    LOG_PATHS,
    LOGS,
    MERGED,
    TABLE,
    RemoteFiles,
    base_content,
    keyed,
    log_file,
    read_files,
    rows,
    task,
    upsert,
)
from tests.sampling import SAMPLED


@pytest.fixture
def storage():
    return RemoteFiles(FILES)


@pytest.fixture
def store():
    return OutcomesInMemory()


def test_slice_without_log_files_has_no_merge_to_keep(storage, store):
    merged = task()  # in the plan of its query, another slice may have no log file
    base_only = replace(merged, file_slice=replace(merged.file_slice, log_files=()))
    assert KeptMerge.of(base_only, storage, store) is None


def test_store_is_asked_for_the_version_of_a_file_without_a_listed_time(storage, store):
    listed = task()
    base = replace(BASE, modified_ms=0)
    half_listed = replace(listed, file_slice=replace(listed.file_slice, base_file=base))
    assert count_merged([listed, half_listed], storage, store) == (0, 2)
    for scan_task, requests in ((listed, 0), (half_listed, 1)):
        merge = KeptMerge.of(scan_task, storage, store)
        assert merge is not None
        merge.find()
        assert len(storage.opened) == requests


def test_second_query_reads_no_log_file(storage, store):
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    assert rows(task(), storage, store) == MERGED
    assert read_files(storage) == (1, [])


def test_rows_are_counted_without_any_file(storage, store):
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    tables = list(read_slice(task(columns=(), batch_rows=1), storage, store))
    assert [table.num_rows for table in tables] == [1, 1]
    assert read_files(storage) == (0, [])


def appended(storage, block):
    """Append a block to the last log file; return the log files of the slice."""
    storage.files[LOG_PATHS[1]] += block
    size = len(storage.files[LOG_PATHS[1]])
    return LOGS[0], log_file(LOG_PATHS[1], "003", size=size, committed_size=size)


def test_log_file_that_grew_is_another_one(storage, store):
    assert rows(task(), storage, store) == MERGED
    logs = appended(storage, upsert("c", 12, "003", v="appended"))
    assert rows(task(logs=logs), storage, store) == [("a", "log"), ("c", "appended")]


NEW = upsert("n", 12, "003", v="new")
# Content of the last log file, its later content, and the rows of the slice then.
CHANGES_OF_THE_LAST_FILE = {
    "a block was appended": (DELETE, DELETE + NEW, [*MERGED, ("n", "new")]),
    "a rollback of an earlier file's commit was appended": (
        DELETE,
        DELETE + rollback_block("002", instant="003"),
        [("a", "base a"), ("c", "base c")],
    ),
    "a rollback of an earlier block in the file was appended": (
        DELETE,
        DELETE + rollback_block("003", instant="004") + NEW,
        [("a", "log"), ("b", "base b"), ("c", "base c"), ("n", "new")],
    ),
    "a block of an earlier instant was appended": (
        DELETE,
        DELETE + upsert("b", 13, "002", v="again"),
        [("a", "log"), ("b", "again"), ("c", "base c")],
    ),
    "it was cut after a block": (DELETE + NEW, DELETE, MERGED),
    "another file took its name": (
        DELETE,
        delete_block([("c", wrapped("Long", 12))], instant="003"),
        [("a", "log"), ("b", "base b")],
    ),
    "another, longer file took its name": (
        DELETE,
        delete_block([("c", wrapped("Long", 12))], instant="003") + NEW,
        [("a", "log"), ("b", "base b"), ("n", "new")],
    ),
    "a torn block became whole": (DELETE + NEW[:-5], DELETE + NEW, [*MERGED, ("n", "new")]),
    "foreign bytes were appended, so that the last block does not count": (
        DELETE + NEW,
        DELETE + NEW + b"foreign bytes",
        MERGED,
    ),
}


@pytest.mark.parametrize("is_on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    CHANGES_OF_THE_LAST_FILE.values(),
    ids=list(CHANGES_OF_THE_LAST_FILE),
)
def test_last_log_file_that_changed_is_another_one(earlier, later, expected, is_on_disk, tmp_path):
    store = OutcomesOnDisk(tmp_path / "kept") if is_on_disk else OutcomesInMemory()
    storage = RemoteFiles(dict(FILES))
    storage.identity = "reader"
    for modified_ms, content in enumerate((earlier, later), 1):
        storage.files[LOG_PATHS[1]] = content
        # Only the first block is within what commits vouch for.
        last = log_file(LOG_PATHS[1], "003", size=len(content), committed_size=len(DELETE))
        asked = task(logs=(LOGS[0], last))
        _, last = asked.file_slice.log_files
        logs = (LOGS[0], replace(last, modified_ms=modified_ms))
        asked = replace(asked, file_slice=replace(asked.file_slice, log_files=logs))
        found = rows(asked, storage, store)
    assert found == expected


def test_merge_of_some_keys_is_not_kept_and_uses_what_is(storage, store):
    for _ in range(2):
        assert rows(keyed("c", "z"), storage, store) == [("c", "base c")]
        assert read_files(storage)[1] == list(LOG_PATHS)
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    assert rows(keyed("c", "z"), storage, store) == [("c", "base c")]
    assert rows(keyed("a", "b"), storage, store) == [("a", "log")]
    assert read_files(storage)[1] == []


def test_query_for_keys_need_not_read_the_record_key_of_a_merged_slice(storage, store):
    assert rows(task(), storage, store) == MERGED
    predicate = parse_filter("v = 'base c'", TABLE)
    by_value = task(columns=("v",)).with_plan(predicate=predicate, record_keys=("c", "z"))
    assert rows(by_value, storage, store) == [("base c",)]


def test_columns_that_a_query_for_keys_decodes_are_those_of_all_records_and_kept(storage, store):
    assert rows(task(columns=()), storage, store) == [(), ()]
    assert rows(keyed("a", "b"), storage, store) == [("a", "log")]
    read_files(storage)
    assert rows(keyed("a", "b"), storage, store) == [("a", "log")]
    assert rows(task(), storage, store) == MERGED
    assert read_files(storage)[1] == []


def test_merge_of_all_keys_of_the_base_file_is_not_that_of_the_slice(storage, store):
    logs = appended(storage, upsert("n", 12, "003", v="new"))
    assert rows(keyed("a", "b", "c", logs=logs), storage, store) == MERGED
    assert rows(task(logs=logs), storage, store) == [*MERGED, ("n", "new")]


def test_record_key_finds_its_pages_in_a_merged_slice(store):
    octets = io.BytesIO()
    table = pa.Table.from_pylist(
        [{KEY: f"{n:05}", "ts": n, "v": f"{n:0900}", "p": "sf"} for n in range(60_000)],
        schema=TABLE,
    )
    pq.write_table(
        table, octets, row_group_size=30_000, write_page_index=True, use_dictionary=False
    )
    changed = upsert("40001", 99_999, "002", v="log")
    storage = RemoteFiles({BASE_PATH: octets.getvalue(), LOG_PATHS[0]: changed})
    logs = (log_file(LOG_PATHS[0], "002", size=len(changed), committed_size=len(changed)),)
    rows(task(logs=logs), storage, store)
    found = rows(keyed("40000", "40001", "40002", logs=logs), storage, store)
    assert [(key, int(v)) for key, v in found if v != "log"] == [("40000", 40000), ("40002", 40002)]
    assert ("40001", "log") in found


def stop_after_first_rows(asked, storage, store):
    tables = read_slice(asked, storage, store)
    next(tables)
    tables.close()  # type: ignore[attr-defined]
    read_files(storage)


def test_unfinished_read_keeps_what_was_merged_before_its_first_row(storage, store):
    stop_after_first_rows(task(batch_rows=1), storage, store)
    assert rows(task(), storage, store) == MERGED
    assert read_files(storage)[1] == []


def test_unfinished_read_of_rows_that_are_made_of_two_keeps_nothing(storage, store):
    asked = task(batch_rows=1)
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    rule = replace(asked.shared.rule, mode=RecordMergeMode.CUSTOM, payload_class=payload)
    asked = asked.with_plan(rule=rule)
    stop_after_first_rows(asked, storage, store)
    assert rows(asked, storage, store) == MERGED
    assert read_files(storage)[1] == list(LOG_PATHS)


@pytest.mark.parametrize("option", [{"merge_cache": MergeCache.OFF}, {"verify_checksums": False}])
def test_other_options_have_no_part_in_it(storage, store, option):
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    assert rows(task(**option), storage, store) == MERGED
    assert read_files(storage)[1] == list(LOG_PATHS)


def test_other_partition_values_have_no_part_in_it(storage, store):
    asked = task(columns=(KEY, "p"))
    assert rows(asked, storage, store) == [("a", "sf"), ("c", "sf")]
    read_files(storage)
    (column,) = asked.partition.values
    other = replace(asked, partition=PartitionValues((column._replace(value=pa.scalar("la")),)))
    rows(other, storage, store)
    assert read_files(storage)[1] == list(LOG_PATHS)


def test_pruning_of_row_groups_leaves_row_numbers_right(store, caplog):
    octets = io.BytesIO()
    table = pa.Table.from_pylist(
        [{KEY: f"{n:03}", "ts": n, "v": f"{n:03}", "p": "sf"} for n in range(100)], schema=TABLE
    )
    pq.write_table(table, octets, row_group_size=10)
    changed = upsert("042", 999, "002", v="log") + upsert("050", 999, "002", v="log")
    files = {BASE_PATH: octets.getvalue(), LOG_PATHS[0]: changed}
    storage = RemoteFiles(files)
    logs = (log_file(LOG_PATHS[0], "002", size=len(changed), committed_size=len(changed)),)
    rows(task(logs=logs), storage, store)
    scan_task = task(logs=logs)
    predicate = parse_filter("v >= '041' AND v < '052'", TABLE)
    scan_task = replace(scan_task, shared=replace(scan_task.shared, predicate=predicate))
    with caplog.at_level(logging.DEBUG, "hudi_pyspark.reading.base_files.parquet"):
        found = rows(scan_task, storage, store)
    assert [key for key, _ in found] == [f"{n:03}" for n in range(41, 52) if n not in {42, 50}]
    assert "2 of 10 row groups" in caplog.text


def test_columns_that_are_not_kept_come_from_the_log_once(storage, store):
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    for count in (1, 0):
        assert rows(task(columns=("ts", "v")), storage, store) == [(10, "base c"), (11, "log")]
        assert read_files(storage) == (1, count * list(LOG_PATHS))
    assert rows(task(columns=(KEY, "ts")), storage, store) == [("a", 11), ("c", 10)]
    assert read_files(storage) == (1, [])


def test_each_instant_has_its_outcome(storage, store):
    before = [("a", "log"), ("b", "base b"), ("c", "base c")]
    for _ in range(2):
        assert rows(task(), storage, store) == MERGED
        assert rows(task(until="002"), storage, store) == before
    read_files(storage)
    # The same blocks count, although the query sees more commits.
    assert rows(task(until="002999"), storage, store) == before
    assert read_files(storage)[1] == []
    assert rows(task(until="001"), storage, store) == [(key, f"base {key}") for key in "abc"]


def test_slice_of_log_files_alone_is_kept(storage, store):
    for _ in range(2):
        assert rows(task(base=None), storage, store) == [("a", "log")]
    assert read_files(storage)[1] == list(LOG_PATHS)  # once


def test_log_file_that_another_commit_wrote_is_another_one(storage, store):
    assert rows(task(), storage, store) == MERGED
    storage.files[LOG_PATHS[0]] = upsert("a", 11, "002", v="new")
    logs = (replace(LOGS[0], committed_by="0021"), LOGS[1])
    assert rows(task(logs=logs), storage, store) == [("a", "new"), ("c", "base c")]


@pytest.mark.parametrize("change", [{"path": "other.orc"}, {"bootstrap_source": "file:/source"}])
def test_base_files_of_other_formats_and_of_bootstraps_are_merged_each_time(storage, store, change):
    merged = task()
    assert KeptMerge.of(merged, storage, store) is not None
    base_file = merged.file_slice.base_file
    assert base_file is not None
    base_file = replace(base_file, **change)
    other = replace(merged, file_slice=replace(merged.file_slice, base_file=base_file))
    assert KeptMerge.of(other, storage, store) is None


def test_storage_without_a_name_for_its_reader_shares_no_outcome(storage, store):
    storage.identity = ""
    assert KeptMerge.of(task(), storage, store) is not None

    class SharedOutcomes(OutcomesInMemory):
        is_shared = True

    assert KeptMerge.of(task(), storage, SharedOutcomes()) is None
    storage.identity = "a reader"
    assert KeptMerge.of(task(), storage, SharedOutcomes()) is not None


def test_largest_outcome_that_is_kept(storage, store, monkeypatch):
    kept = KeptMerge.of(task(), storage, store)
    assert kept is not None
    most_bytes = nbytes_of(outcome_of(9))
    monkeypatch.setattr(thresholds, "OUTCOME_BYTES", most_bytes)
    kept.put(outcome_of(9))
    found = kept.find()
    assert found is not None
    assert found.outcome.records.num_columns
    kept.put(outcome_of(10))  # another decision: its columns are left out
    found = kept.find()
    assert found is not None
    assert (found.outcome.records.num_columns, found.outcome.record_count) == (0, 10)
    monkeypatch.setattr(thresholds, "OUTCOME_BYTES", nbytes_of(found) - 1)
    assert kept_of(10).within(nbytes_of(found) - 1) is None


@pytest.mark.parametrize("on_damage", [OnDamage.WARN, OnDamage.IGNORE])
def test_damaged_log_is_read_each_time(storage, store, on_damage):
    lost = (LOGS[0], log_file(LOG_PATHS[1], "003", committed_size=10_000))
    for _ in range(2):
        assert rows(task(logs=lost, on_damage=on_damage), storage, store) == MERGED
        assert read_files(storage)[1] == list(LOG_PATHS)


def test_log_file_that_no_listing_has_is_never_kept(storage, store):
    lost = log_file(LOG_PATHS[1], "003", is_listed=False, committed_by="003")
    before = task(logs=(LOGS[0], lost), until="002")
    for _ in range(2):
        rows(before, storage, store)
        assert read_files(storage)[1] == [LOG_PATHS[0]]


def test_rows_of_several_records_are_merged_again_for_more_columns(storage, store):
    def partial_update(columns):
        planned = task(columns=columns)
        rule = replace(
            planned.shared.rule,
            mode=RecordMergeMode.COMMIT_TIME_ORDERING,
            partial_update_mode="IGNORE_DEFAULTS",
        )
        return replace(
            planned, shared=replace(planned.shared, rule=rule, outcome_key_basis="other")
        )

    assert rows(partial_update((KEY, "v")), storage, store) == MERGED
    read_files(storage)
    assert rows(partial_update((KEY,)), storage, store) == [("a",), ("c",)]
    assert read_files(storage)[1] == []
    assert rows(partial_update((KEY, "ts")), storage, store) == [("a", 11), ("c", 10)]
    assert read_files(storage)[1] == list(LOG_PATHS)
    assert rows(partial_update((KEY, "ts", "v")), storage, store) == [
        ("a", 11, "log"),
        ("c", 10, "base c"),
    ]
    assert read_files(storage)[1] == []


def test_columns_of_two_merges_stand_side_by_side_whatever_the_batches(store):
    keys = [f"{n:02}" for n in range(40)]
    table = [{KEY: key, "ts": 10, "v": f"base {key}", "p": "sf"} for key in keys]
    changed = b"".join(upsert(key, 11, "002", v=f"log {key}") for key in reversed(keys[::3]))
    storage = RemoteFiles({BASE_PATH: base_content(table), LOG_PATHS[0]: changed})
    logs = (log_file(LOG_PATHS[0], "002", size=len(changed), committed_size=len(changed)),)

    def merged(columns, batch_rows):
        planned = task(columns=columns, logs=logs, batch_rows=batch_rows)
        rule = replace(planned.shared.rule, partial_update_mode="IGNORE_DEFAULTS")
        shared = replace(planned.shared, rule=rule, outcome_key_basis="other")
        return rows(replace(planned, shared=shared), storage, store)

    merged((KEY,), 7)
    merged(("v",), 3)
    read_files(storage)
    kinds = ["log", "base", "base"]
    assert merged((KEY, "v"), 100) == [(k, f"{kinds[n % 3]} {k}") for n, k in enumerate(keys)]
    assert read_files(storage)[1] == []


def test_file_with_other_rows_is_merged_anew(storage, store):
    assert rows(task(), storage, store) == MERGED
    more = [{KEY: key, "ts": 10, "v": f"base {key}", "p": "sf"} for key in "zabc"]
    storage.files[BASE_PATH] = base_content(more)
    for _ in range(2):
        assert rows(task(), storage, store) == [*MERGED, ("z", "base z")]
    assert read_files(storage)[1] == 2 * list(LOG_PATHS)  # at first, and anew once


def test_local_files_are_known_by_their_states_and_must_be_readable(tmp_path, monkeypatch):
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    files = ArrowStorage.parse(str(tmp_path))
    memory = OutcomesInMemory()
    known = KeptMerge.of(task(), files, memory)
    assert known is not None
    # Written in place with as many bytes, and the times of the original.
    state = (tmp_path / BASE_PATH).stat()
    with (tmp_path / BASE_PATH).open("r+b") as same:
        same.write(b"PAR0")
    os.utime(tmp_path / BASE_PATH, ns=(state.st_atime_ns, state.st_mtime_ns))
    other = KeptMerge.of(task(), files, memory)
    assert other is not None
    assert other.digests != known.digests
    monkeypatch.setattr("os.access", lambda path, _mode: not path.endswith(LOG_PATHS[1]))
    assert KeptMerge.of(task(), files, memory) is None


def outcome_of(count):
    column = pa.array([0] * count, pa.uint8())
    decision = MergeDecision(np.zeros(8, np.bool_), None)
    return Outcome(decision, pa.table({"a": column}), count, (), ())


def kept_of(count):
    return KeptOutcome(outcome_of(count), ())


def test_least_recently_used_outcomes_go_first():
    store = OutcomesInMemory(100)

    def known():
        return [key for key in "abcd" if key in store._entries]

    store.put("a", kept_of(32))
    store.put("b", kept_of(32))
    store.find("a", None)
    store.put("c", kept_of(32))
    assert known() == ["a", "c"]
    store.put("c", kept_of(33))
    assert known() == ["a", "c"]
    store.put("d", kept_of(101))
    assert known() == []


def test_bytes_of_an_outcome_are_those_of_its_parts():
    plain = outcome_of(32)
    assert nbytes_of(plain) == 8 + 32
    whole = plain.decision._replace(kept_log_rows=np.ones(5, np.bool_))
    assert nbytes_of(replace(plain, decision=whole)) == 8 + 5 + 32


def test_columns_of_another_type_are_lacking():
    known = outcome_of(1)
    same = pa.field("a", pa.uint8())

    def lacking(*fields):
        return known.lacking(pa.schema(fields)).names

    assert lacking(same) == []
    assert lacking(pa.field("a", pa.int64()), pa.field("b", pa.uint8())) == ["a", "b"]
    assert lacking(same.with_metadata({"is": "other"})) == ["a"]


def test_outcome_of_another_number_of_records_replaces_the_known_one(storage, store):
    merge = KeptMerge.of(task(), storage, store)
    assert merge is not None
    merge.put(outcome_of(3))
    merge.put(replace(outcome_of(4), records=pa.table({"b": [1, 2, 3, 4]})))
    kept = store.find(merge.digests[-1], None)
    assert kept is not None
    found = kept.outcome
    assert (found.record_count, found.records.column_names) == (4, ["b"])


def test_limit_of_bytes_is_exact():
    store = OutcomesInMemory(80)
    size = nbytes_of(outcome_of(32))
    store.put("a", kept_of(32))
    store.put("b", kept_of(32))
    assert 2 * size == store.most_bytes
    assert list(store._entries) == ["a", "b"]
    store.put("b", kept_of(33))
    assert list(store._entries) == ["b"]
    store = OutcomesInMemory(2 * size - 1)
    store.put("a", kept_of(32))
    store.put("b", kept_of(32))
    assert list(store._entries) == ["b"]


@pytest.fixture
def _no_other_table(monkeypatch):
    """Tables of other tests may still be in memory, with their bounds."""
    empty(monkeypatch, "stores of outcomes")


@pytest.mark.usefixtures("_no_other_table")
def test_all_tables_of_a_process_share_one_bound():
    """The least recently used outcome goes first, whatever its table."""
    size = nbytes_of(outcome_of(32))
    stores = [OutcomesInMemory(10 * size) for _ in range(200)]

    def known():
        return {n for n, store in enumerate(stores) if store._entries}

    for store in stores:
        store.put("a", kept_of(32))
    assert known() == {*range(190, 200)}
    assert stores[190].find("a", None) is not None
    stores[0].put("a", kept_of(32))
    assert known() == {0, 190, *range(192, 200)}
    stores[5].put("a", kept_of(10 * size - 8))
    assert known() == {5}
    assert sum(store.nbytes for store in stores) == 10 * size


@pytest.mark.usefixtures("_no_other_table")
def test_table_that_is_gone_leaves_its_memory_to_others():
    size = nbytes_of(outcome_of(32))
    stores = [OutcomesInMemory(2 * size) for _ in range(2)]
    for store in stores:
        store.put("a", kept_of(32))
    del stores[0], store
    (store,) = stores
    store.put("b", kept_of(32))
    assert list(store._entries) == ["a", "b"]


def test_small_bound_of_a_table_is_its_own():
    size = nbytes_of(outcome_of(32))
    large = OutcomesInMemory(3 * size)
    small = OutcomesInMemory(1)
    for key in "abc":
        large.put(key, kept_of(32))
    small.put("a", kept_of(32))
    assert list(large._entries) == [*"abc"]
    assert list(small._entries) == []


@pytest.mark.usefixtures("_no_other_table")
def test_threads_that_put_into_many_tables_stay_within_the_bound():
    size = nbytes_of(outcome_of(32))
    stores = [OutcomesInMemory(5 * size) for _ in range(20)]

    def fill(number: int) -> None:
        for turn in range(50):
            stores[(number + turn) % 20].put(f"{number}.{turn}", kept_of(32))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fill, range(8)))
    stores[0].put("last", kept_of(32))
    assert 0 < sum(store.nbytes for store in stores) <= 5 * size


def test_copy_in_another_process_begins_empty():
    store = OutcomesInMemory(100)
    store.put("a", kept_of(1))
    assert store.find("a", None) is not None
    assert pickle.loads(pickle.dumps(store)).find("a", None) is None


CASES = [
    "v6_mor_failed_rolled_back",
    "v8_mor_savepoint_restore",
    "v8_mor_partial_merge_into",
    "v9_mor_insert_duplicates",
    "v10_lsm_mor_deletes",
    "v6_mor_payload_mysql_debezium",
    "v9_mor_schema_on_read",
    "v6_mor_no_meta_fields_complex",
]


@pytest.mark.parametrize("name", CASES)
@SAMPLED
def test_warm_table_answers_as_one_that_merges_each_time(name, is_whole, tmp_path):
    path = str(load_case(GOLDEN / name).extract(Path(tmp_path)))
    table, random = HudiTable(path), Random(name)
    names = table.schema.names
    instants = [commit.requested_time for commit in table._view.history.commits[-3:]]
    for _ in range(25 if is_whole else 12):
        columns = random.sample(names, random.randint(1, 3))
        options: dict[str, Any] = {"batch_rows": random.choice([1, 3, 1000])}
        if random.random() < 0.3 and "savepoint" not in name:
            options["as_of"] = random.choice(instants)
        warm = table.scan(columns, **options)
        cold = table.scan(columns, **options, merge_cache="off")
        assert sorted(map(repr, warm.to_arrow().to_pylist())) == sorted(
            map(repr, cold.to_arrow().to_pylist())
        ), (columns, options)
        assert warm.count() == cold.count()


def test_file_of_the_same_name_and_number_of_rows_is_merged_anew(tmp_path):
    name = "v6_mor_part_basic"  # whose log blocks name no positions of rows
    path = load_case(GOLDEN / name).extract(Path(tmp_path))
    table = HudiTable(str(path))
    expected = sorted(map(repr, table.scan(["id", "amount"]).to_arrow().to_pylist()))
    bases = table.inspect.file_slices().filter(pc.field("log_count") > 0)["base_file"]
    assert len(bases) > 0
    for base in bases.drop_null().to_pylist():
        stored = pq.read_table(path / base)
        (path / base).unlink()
        restored = stored.take(pa.array(range(stored.num_rows - 1, -1, -1)))
        pq.write_table(restored, path / base, compression=None)
    warm = HudiTable(str(path))
    warm._outcomes = table._outcomes
    found = sorted(map(repr, warm.scan(["id", "amount"]).to_arrow().to_pylist()))
    assert found == expected
