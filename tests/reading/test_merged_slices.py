"""A merge is resumed with later log files: same rows as a new merge, and only these files read."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable, thresholds
from hudi_pyspark.columns.arrays import nbytes_of
from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.reading import merged_slices, read_slice
from hudi_pyspark.reading.kept_merges import KeptMerge
from hudi_pyspark.reading.merge.outcome import OutcomesInMemory
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from hudi_pyspark.reading.merged_slices import resume_slice
from hudi_pyspark.table.file_group import LogFile
from hudi_pyspark.table.merge_mode import MergeCache
from tests.growing_table import commits_of, table_at
from tests.reading.log_records.log_files import (
    KEY,
    data_block,
    delete_block,
    rollback_block,
)
from tests.reading.random_slices import COLUMNS, RandomSlice
from tests.reading.slices_in_memory import (
    AVRO,
    BASE_PATH,
    FILES,
    LOG_PATHS,
    LOGS,
    RemoteFiles,
    base_content,
    keyed,
    read_files,
    rows,
    task,
    upsert,
)
from tests.sampling import SAMPLED

THIRD = "sf/.f1-0_004.log.1_0-1-0"


@pytest.fixture
def storage():
    return RemoteFiles(FILES)


@pytest.fixture
def store():
    return OutcomesInMemory()


def written(storage, path, instant, content):
    """Write a log file."""
    size = len(content)
    storage.files[path] = content
    return LogFile(
        path, "f1-0", instant, 1, "0-1-0", size, size, committed_by=instant, modified_ms=1
    )


def with_third(storage, content):
    """Add a log file, and return the log files of the slice."""
    return (*LOGS, written(storage, THIRD, "004", content))


def resumes(logs, storage, store, **options):
    asked = task(logs=logs, until="004", **options)
    kept_merge = KeptMerge.of(asked, storage, store)
    assert kept_merge is not None
    return resume_slice(asked, storage, kept_merge) is not None


def test_only_the_later_log_file_is_read(storage, store):
    rows(task(logs=LOGS[:1]), storage, store)
    read_files(storage)
    assert rows(task(), storage, store) == [("a", "log"), ("c", "base c")]
    assert read_files(storage)[1] == [LOG_PATHS[1]]


def test_keys_of_the_base_file_are_read_at_most_once_more(storage, store):
    rows(task(logs=LOGS[:1], columns=()), storage, store)
    rows(task(columns=()), storage, store)
    read_files(storage)
    logs = with_third(storage, upsert("c", 12, "004"))
    tables = list(read_slice.read_slice(task(logs=logs, columns=(), until="004"), storage, store))
    assert sum(table.num_rows for table in tables) == 2
    assert read_files(storage)[0] == 0


def test_base_row_that_a_delete_hid_returns_if_a_lower_record_follows(storage, store):
    """A delete without ordering value beats all records before it, and a later row replaces it."""
    delete = written(storage, LOG_PATHS[1], "003", delete_block([("b", None)], instant="003"))
    logs = (LOGS[0], delete)
    assert rows(task(logs=logs), storage, store) == [("a", "log"), ("c", "base c")]
    lower = written(storage, THIRD, "004", upsert("b", 1, "004", v="lower"))
    assert resumes((*logs, lower), storage, store)
    found = rows(task(logs=(*logs, lower), until="004"), storage, store)
    assert found == [("a", "log"), ("b", "base b"), ("c", "base c")]


PARTIAL = data_block(
    AVRO,
    [{"_hoodie_record_key": "a", "ts": 20, "v": "new", "p": "sf"}],
    instant="004",
    more={HeaderKey.IS_PARTIAL: "true"},
)
ANEW = {
    "a rollback of a commit that counted": rollback_block("002", instant="004"),
    "an instant that was used before": upsert("b", 20, "002"),
    "a log compaction": data_block(
        AVRO,
        [{"_hoodie_record_key": "a", "ts": 20, "v": "new", "p": "sf"}],
        instant="004",
        more={HeaderKey.COMPACTED_BLOCK_TIMES: "003,002"},
    ),
    "a partial update": PARTIAL,
}


@pytest.mark.parametrize("content", ANEW.values(), ids=list(ANEW))
def test_what_changes_earlier_blocks_is_merged_anew(storage, store, content):
    rows(task(), storage, store)
    logs = with_third(storage, content)
    assert not resumes(logs, storage, store)
    asked = task(logs=logs, until="004")
    assert rows(asked, storage, store) == rows(asked, storage, None)


def test_plain_records_resume_the_merge(storage, store):
    rows(task(), storage, store)
    logs = with_third(storage, upsert("z", 20, "004"))
    assert resumes(logs, storage, store)


@pytest.mark.parametrize("columns", [("v",), ("_hoodie_record_key", "v")])
def test_later_file_without_a_block_that_counts_changes_no_positions(storage, store, columns):
    """Positions identify the records before, and no record says so of those that follow."""
    row = {"_hoodie_record_key": "a", "ts": 20, "v": "log", "p": "sf"}
    first = written(
        storage, LOG_PATHS[0], "002", data_block(AVRO, [row], instant="002", positions=[0])
    )
    later = written(storage, THIRD, "009", upsert("b", 30, "009"))
    rows(task(logs=(first,), columns=columns), storage, store)
    assert resumes((first, later), storage, store, columns=columns)
    found = rows(task(logs=(first, later), until="004", columns=columns), storage, store)
    assert found == rows(task(logs=(first,), columns=columns), storage, None)


def test_file_that_sorts_before_others_is_merged_anew(storage, store):
    rows(task(), storage, store)
    first, second, third = with_third(storage, upsert("z", 20, "004"))
    assert not resumes((first, third, second), storage, store)


def test_earlier_file_that_changed_is_merged_anew(storage, store):
    rows(task(), storage, store)
    first, second, third = with_third(storage, upsert("z", 20, "004"))
    assert not resumes((first, replace(second, write_token="0-2-0"), third), storage, store)


def test_slice_with_many_bytes_of_later_records_is_merged_anew(storage, store, monkeypatch):
    rows(task(), storage, store)
    logs = with_third(storage, upsert("z", 20, "004"))
    monkeypatch.setattr(thresholds, "OUTCOME_BYTES", 10)
    assert not resumes(logs, storage, store)


def test_small_file_with_many_bytes_of_rows_is_not_held_in_memory(storage, monkeypatch):
    many = [{KEY: f"{n:03}", "ts": 10, "v": "base", "p": "sf"} for n in range(300)]
    storage.files[BASE_PATH] = base_content(many)
    found = rows(task(), storage, None)
    assert len(found) == 301
    assert read_files(storage)[0] == 1
    monkeypatch.setattr(thresholds, "OUTCOME_BYTES", 3_000)  # more than the log's, fewer than these
    assert rows(task(), storage, None) == found
    assert read_files(storage)[0] == 2  # begun as a whole, then for the keys and the columns


def test_log_with_many_bytes_is_merged_while_the_base_file_is_read_once(storage, monkeypatch):
    expected = rows(task(), storage, None)
    read_files(storage)
    monkeypatch.setattr(thresholds, "OUTCOME_BYTES", 10)
    assert rows(task(), storage, None) == expected
    assert read_files(storage)[0] == 1


@pytest.mark.parametrize("has_store", [True, False])
def test_larger_base_file_is_opened_once_for_its_keys_and_columns(
    storage, store, monkeypatch, has_store
):
    expected = rows(task(), storage, None)
    read_files(storage)
    monkeypatch.setattr(thresholds, "SMALL_BASE_FILE", 0)
    assert rows(task(), storage, store if has_store else None) == expected
    assert read_files(storage)[0] == 1


def test_skipped_damage_is_reported_at_each_read(storage, store):
    rows(task(), storage, store)
    logs = with_third(storage, upsert("z", 20, "004"))
    assert not resumes(logs, storage, store, on_damage="warn")


def test_outcome_without_room_for_columns_still_resumes_the_merge(storage, store, monkeypatch):
    rows(task(), storage, store)
    kept_merge = KeptMerge.of(task(), storage, store)
    assert kept_merge is not None
    kept = kept_merge.find()
    assert kept is not None
    assert kept.winners is not None
    most = nbytes_of(kept) - kept.outcome.records.nbytes + 10
    assert (kept.within(most) or kept).outcome.records.num_columns == 0
    monkeypatch.setattr(thresholds, "OUTCOME_BYTES", most)
    kept_merge.put(kept.outcome, kept.winners)
    logs = with_third(storage, upsert("z", 20, "004"))
    assert resumes(logs, storage, store, columns=())


@SAMPLED
@pytest.mark.parametrize("small_file", [0, 1 << 20], ids=["read twice", "read once"])
def test_random_slices_have_the_rows_of_a_new_merge(is_whole, small_file, tmp_path, monkeypatch):
    are_resumed = set()

    def recorded(asked, storage, kept_merge):
        has_earlier_merge = kept_merge.find_earlier() is not None
        merged = resume_slice(asked, storage, kept_merge)
        if has_earlier_merge:
            are_resumed.add(merged is not None)
        return merged

    monkeypatch.setattr(read_slice, "resume_slice", recorded)
    monkeypatch.setattr(thresholds, "SMALL_BASE_FILE", small_file)
    for seed in range(4000 if is_whole else 60):
        check_random_slice(Random(seed), tmp_path / f"{seed}")
    assert are_resumed == {True, False}


def check_random_slice(random, folder):
    grown = RandomSlice(random)
    storage = RemoteFiles({})
    storage.files = grown.files  # and the files that it gets later
    store = random.choice([OutcomesInMemory(), OutcomesOnDisk(folder)])
    for _ in range(random.randint(2, 10)):
        instant = grown.grow()
        for _ in range(random.randint(0, 3)):
            columns = random.choice(COLUMNS)
            until = instant
            logs = grown.logs
            if random.random() < 0.1:
                until = f"{random.randint(2, grown.last_number):03}"
            if random.random() < 0.1:
                logs = logs[: random.randint(1, len(logs))]
            asked = grown.task(columns, until, logs)
            assert answer(asked, storage, store) == answer(asked, storage, None)


def answer(asked, storage, store):
    try:
        tables = list(read_slice.read_slice(asked, storage, store))
    except HudiError as error:
        return type(error).__name__
    if not asked.shared.planned_columns.result.names:
        return sum(table.num_rows for table in tables)
    return sorted(map(repr, pa.concat_tables(tables).to_pylist())) if tables else []


GROWING = [
    "v6_mor_part_basic",
    "v8_mor_nbcc",
    "v9_mor_nonpart_commit_time",
    "v6_mor_failed_rolled_back",
    "v9_mor_compaction_inline",
    "x_v9_mor_virtual_composite",  # its keys are made of two fields
]


@pytest.mark.parametrize("merge_cache", ["memory", "disk"])
@pytest.mark.parametrize("case", GROWING)
def test_table_that_is_read_after_each_commit(case, merge_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(thresholds, "SMALL_BASE_FILE", 0)
    instants = [*commits_of(case)]
    growing = table_at(case, instants[0], tmp_path)
    table = HudiTable(str(growing.path))
    options = {"merge_cache": merge_cache, "merge_cache_folder": str(tmp_path / "kept")}
    for instant in instants:
        growing.grow(instant)
        table = table.refresh()
        for columns in (table.schema.names[-1:], None):
            expected = table.scan(columns, merge_cache="off").to_arrow().to_pylist()
            found = table.scan(columns, **options).to_arrow().to_pylist()
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), instant


def test_refreshed_table_and_one_of_the_same_path_know_what_was_merged(tmp_path, monkeypatch):
    case = "v6_mor_part_basic"
    instants = [*commits_of(case)]
    growing = table_at(case, instants[-2], tmp_path)
    table = HudiTable(str(growing.path))
    assert table.refresh() is table
    table.scan().to_arrow()
    growing.grow()
    later = table.refresh()
    assert later is not table
    assert later.last_instant > table.last_instant
    resumed = []

    def recorded(*arguments):
        merged = resume_slice(*arguments)
        resumed.append(merged is not None)
        return merged

    monkeypatch.setattr(read_slice, "resume_slice", recorded)
    HudiTable(str(growing.path)).scan().to_arrow()
    later.scan().to_arrow()
    assert any(resumed)


def test_disk_keeps_all_winners_only_if_a_quarter_of_them_is_new(storage, tmp_path):
    folder: dict[str, Any] = {"merge_cache": MergeCache.DISK, "merge_cache_folder": str(tmp_path)}
    content = data_block(
        AVRO,
        [{"_hoodie_record_key": f"n{n}", "ts": 20, "v": "new", "p": "sf"} for n in range(20)],
        instant="002",
    )
    storage.identity = "reader"
    many = written(storage, LOG_PATHS[0], "002", content)
    rows(task(logs=(many,), **folder), storage, None)
    assert len(files_in(tmp_path)) == 1
    few = written(storage, LOG_PATHS[1], "003", upsert("n1", 30, "003", v="newest"))
    assert ("n1", "newest") in rows(task(logs=(many, few), **folder), storage, None)
    assert len(files_in(tmp_path)) == 2  # the first file has the winners
    logs = (many, few, written(storage, THIRD, "004", upsert("n2", 30, "004", v="third")))
    read_files(storage)
    assert ("n2", "third") in rows(task(logs=logs, until="004", **folder), storage, None)
    assert LOG_PATHS[0] not in read_files(storage)[1]
    half = [{"_hoodie_record_key": f"m{n}", "ts": 20, "v": "new", "p": "sf"} for n in range(8)]
    later = written(storage, THIRD, "004", data_block(AVRO, half, instant="004"))
    rows(task(logs=(many, few, later), until="004", **folder), storage, None)
    # The last file has the winners, instead of the first file; the keys of base rows have a file.
    assert len(files_in(tmp_path)) == 4


@pytest.fixture
def on_disk(storage, tmp_path):
    """Options of a task whose outcome is kept on disk."""
    storage.identity = "reader"
    return {"merge_cache": MergeCache.DISK, "merge_cache_folder": str(tmp_path)}


def test_query_for_a_key_resumes_with_the_records_of_all_keys(storage, store):
    rows(task(), storage, store)
    records = [{"_hoodie_record_key": key, "ts": 20, "v": "third", "p": "sf"} for key in ("a", "c")]
    logs = with_third(storage, data_block(AVRO, records, instant="004"))
    assert rows(keyed("a", logs=logs, until="004"), storage, store) == [("a", "third")]
    merged = rows(task(logs=logs, until="004"), storage, store)
    assert merged == [("a", "third"), ("c", "third")]


def test_query_of_more_columns_leaves_the_winners_on_disk(storage, on_disk):
    rows(task(logs=LOGS[:1], columns=(), **on_disk), storage, None)
    rows(task(logs=LOGS[:1], **on_disk), storage, None)
    assert resumes(LOGS, storage, None, **on_disk)


def test_only_keys_and_ordering_values_of_base_rows_are_kept(storage, store):
    rows(task(logs=LOGS[:1]), storage, store)
    rows(task(), storage, store)
    kept_merge = KeptMerge.of(task(), storage, store)
    assert kept_merge is not None
    base_keys = kept_merge.find_base_keys(3, by_position=False)
    assert base_keys is not None
    (base_rows,) = base_keys
    assert base_rows.schema.names == ["_hoodie_record_key", "ts"]


def test_keys_of_base_rows_on_disk_are_of_all_outcomes(storage, on_disk, monkeypatch):
    def insert(key, instant, path):
        return written(storage, path, instant, upsert(key, 20, instant, v="new"))

    first = insert("x", "002", LOG_PATHS[0])
    rows(task(logs=(first,), **on_disk), storage, None)
    second = insert("y", "003", LOG_PATHS[1])
    rows(task(logs=(first, second), **on_disk), storage, None)

    monkeypatch.setattr(merged_slices, "read_identities", None)  # which is not needed
    logs = (first, second, insert("c", "004", THIRD))
    found = rows(task(logs=logs, until="004", **on_disk), storage, None)
    monkeypatch.undo()
    assert ("c", "new") in found
    assert found == rows(task(logs=logs, until="004"), storage, None)


def test_base_rows_of_another_number_are_not_used(storage, on_disk):
    first = written(storage, LOG_PATHS[0], "002", upsert("x", 20, "002", v="new"))
    rows(task(logs=(first,), **on_disk), storage, None)
    second = written(storage, LOG_PATHS[1], "003", upsert("c", 20, "003", v="new"))
    later = task(logs=(first, second), **on_disk)
    wrong = pa.table({"_hoodie_record_key": ["z"], "ts": pa.array([1], pa.int64())})
    kept_merge = KeptMerge.of(later, storage, None)
    assert kept_merge is not None
    kept_merge.put_base_keys(1, (wrong,), by_position=False)
    assert rows(later, storage, None) == rows(task(logs=(first, second)), storage, None)


def files_in(folder: Path):
    return [path for path in folder.rglob("*") if path.is_file()]
