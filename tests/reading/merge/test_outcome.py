"""A slice is merged once: later queries read what its merge decided, and get the same rows."""

import io
import logging
import pickle
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptBaseFileError
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.reading.merge.outcome import MergeOutcomes
from hudi_pyspark.reading.slice_reader import read
from hudi_pyspark.table.merge_mode import MergeCache
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.reading.log_records.log_files import KEY
from tests.reading.test_slice_reader import (
    BASE_PATH,
    FILES,
    LOG_PATHS,
    LOGS,
    TABLE,
    RecordingStorage,
    base_content,
    log_file,
    task,
    upsert,
)

MERGED = [("a", "log"), ("c", "base c")]


class RemoteFiles(RecordingStorage):
    """Files without an inode; their names say that they are the same."""

    is_local = False


def rows(scan_task, storage, store):
    tables = [table.to_pylist() for table in read(scan_task, storage, store)]
    return sorted(tuple(row.values()) for part in tables for row in part)


def read_files(storage):
    """The files that were read since the last call."""
    opened = len(storage.opened)
    storage.opened.clear()
    logs = [path for path in storage.read if path in LOG_PATHS]
    storage.read.clear()
    return opened, logs


@pytest.fixture
def storage():
    return RemoteFiles(FILES)


@pytest.fixture
def store():
    return MergeOutcomes()


def test_second_query_reads_no_log_file(storage, store):
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    assert rows(task(), storage, store) == MERGED
    assert read_files(storage) == (1, [])


def test_rows_are_counted_without_any_file(storage, store):
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    tables = list(read(task(columns=(), batch_rows=1), storage, store))
    assert [table.num_rows for table in tables] == [1, 1]
    assert read_files(storage) == (0, [])


def test_log_file_that_grew_is_another_one(storage, store):
    assert rows(task(), storage, store) == MERGED
    more = upsert("c", 12, "003", v="appended")
    storage.files[LOG_PATHS[1]] += more
    size = len(storage.files[LOG_PATHS[1]])
    grown = log_file(LOG_PATHS[1], "003", size=size, committed_size=size)
    assert rows(task(logs=(LOGS[0], grown)), storage, store) == [("a", "log"), ("c", "appended")]


def keyed(*keys, **options):
    scan_task = task(**options)
    predicate = parse_filter(f"{KEY} IN ({', '.join(map(repr, keys))})", TABLE)
    shared = replace(scan_task.shared, predicate=predicate, record_keys=keys)
    return replace(scan_task, shared=shared)


def test_merge_of_some_keys_is_not_kept_and_uses_what_is(storage, store):
    for _ in range(2):
        assert rows(keyed("c", "z"), storage, store) == [("c", "base c")]
        assert read_files(storage)[1] == list(LOG_PATHS)
    assert rows(task(), storage, store) == MERGED
    read_files(storage)
    assert rows(keyed("c", "z"), storage, store) == [("c", "base c")]
    assert rows(keyed("a", "b"), storage, store) == [("a", "log")]
    assert read_files(storage)[1] == []


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


def test_unfinished_read_keeps_nothing(storage, store):
    tables = read(task(batch_rows=1), storage, store)
    next(tables)
    tables.close()  # type: ignore[attr-defined]
    read_files(storage)
    assert rows(task(), storage, store) == MERGED
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
    values = (("p", pa.scalar("la")),)
    other = replace(asked, partition=replace(asked.partition, path_values=values))
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


def test_columns_that_are_not_there_yet_are_added_by_another_merge(storage, store):
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


def test_file_with_other_rows_is_reported(storage, store):
    assert rows(task(), storage, store) == MERGED
    more = [{KEY: key, "ts": 10, "v": f"base {key}", "p": "sf"} for key in "zabc"]
    storage.files[BASE_PATH] = base_content(more)
    with pytest.raises(CorruptBaseFileError, match="other rows than when it was merged"):
        rows(task(), storage, store)


def test_least_recently_used_outcomes_go_first():
    schema, dropped = pa.schema({"a": pa.uint8()}), np.zeros(8, np.bool_)
    store = MergeOutcomes(100)

    def keep(key, count):
        column = pa.array([0] * count, pa.uint8())
        store.keep(key, schema, dropped, [pa.table({"a": column})])

    def known():
        return [key for key in "abcd" if store.find(key, schema) is not None]

    keep("a", 32)
    keep("b", 32)
    store.find("a", schema)
    keep("c", 32)
    assert known() == ["a", "c"]
    keep("d", 101)
    assert known() == []


def test_copy_in_another_process_begins_empty():
    store, schema = MergeOutcomes(100), pa.schema({})
    store.keep("a", schema, np.zeros(1, np.bool_), [])
    assert store.find("a", schema) is not None
    assert pickle.loads(pickle.dumps(store)).find("a", schema) is None


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
def test_warm_table_answers_as_one_that_merges_each_time(name, tmp_path):
    path = str(load_case(GOLDEN / name).extract(Path(tmp_path)))
    table, random = HudiTable(path), Random(name)
    names = table.schema.names
    instants = [commit.requested_time for commit in table.view.commits[-3:]]
    for _ in range(25):
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
