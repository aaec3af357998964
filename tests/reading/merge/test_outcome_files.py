"""Outcomes in files: never a wrong one, never a failure, whatever happens to folder and files."""

import errno
import io
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, thresholds
from hudi_pyspark.columns.arrays import nbytes_of
from hudi_pyspark.planning import slice_tasks
from hudi_pyspark.planning.plan import cost
from hudi_pyspark.reading.kept_merges import merged_on_disk
from hudi_pyspark.reading.merge import outcome_files
from hudi_pyspark.reading.merge.outcome import BaseKeys, KeptOutcome, Outcome, Resumed
from hudi_pyspark.reading.merge.outcome_files import OUTCOME_FORMAT, OutcomesOnDisk, cache_folder
from hudi_pyspark.reading.merge.whole_records import MergeDecision
from hudi_pyspark.reading.read_slice import read_slice
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.tasks import ScanTask
from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case
from tests.growing_table import table_at
from tests.reading.log_records.log_files import KEY
from tests.reading.merge.kept_outcomes import OTHER, SECRET, folder_in, outcome_of, same
from tests.reading.slices_in_memory import (
    FILES,
    LOG_PATHS,
    MERGED,
    RemoteFiles,
    read_files,
    rows,
    task,
)


@pytest.fixture(autouse=True)
def _nothing_warned():
    outcome_files._warned.clear()


@pytest.fixture
def store(tmp_path):
    return OutcomesOnDisk(tmp_path / "kept")


def test_earlier_outcome_that_another_process_has_removed_is_no_problem(store, caplog):
    store.put(SECRET, outcome_of(), Resumed(OTHER, 1.0))
    assert store.find(SECRET, None) is not None
    assert caplog.text == ""


@pytest.mark.parametrize("is_whole", [True, False])
def test_outcome_comes_back_as_it_was(store, is_whole):
    outcome = outcome_of(is_whole=is_whole)
    store.put(SECRET, outcome)
    assert same(OutcomesOnDisk(store.folder).find(SECRET, None), outcome)
    assert store.find(OTHER, None) is None


def test_only_wanted_columns_are_read(store):
    store.put(SECRET, outcome_of())
    assert store.find(SECRET, ["v"]).outcome.records.schema.names == ["v"]
    none = store.find(SECRET, []).outcome
    assert (none.records.schema.names, none.record_count, none.row_count) == ([], 3, 6)


def test_base_keys_are_kept_as_long_as_half_of_the_space_is_left(store):
    tables = (pa.table({"key": ["k" * 100] * 10}), pa.table({"key": ["l"]}))
    base_keys = BaseKeys(11, tables, ("v1",))
    store.put_base_keys(SECRET, base_keys)
    found = store.find_base_keys(SECRET)
    assert found is not None
    assert (found.row_count, found.versions) == (11, ("v1",))
    assert pa.concat_tables(found.tables).equals(pa.concat_tables(tables))
    (file,) = store.files()
    tight = OutcomesOnDisk(store.folder, most_bytes=2 * (file[1] + nbytes_of(base_keys)) - 2)
    tight.put_base_keys(OTHER, base_keys)
    assert tight.find_base_keys(OTHER) is None
    old = time.time_ns() - 2 * 3600 * 10**9
    os.utime(file[2], ns=(old, old))  # so it is not in use
    tight.put_base_keys(OTHER, base_keys)
    assert tight.find_base_keys(OTHER) is not None


def test_outcome_without_columns_or_records(store):
    nothing = np.zeros(0, np.bool_)
    outcome = Outcome(MergeDecision(nothing, nothing), pa.table({}), 0, (), ())
    empty = KeptOutcome(outcome, ())
    store.put(SECRET, empty)
    assert same(store.find(SECRET, None), empty)
    no_records = pa.schema({"t": pa.list_(pa.date32())}).empty_table()
    empty = KeptOutcome(replace(outcome, records=no_records), ())
    store.put(SECRET, empty)
    assert same(store.find(SECRET, None), empty)


def test_files_are_the_users_alone(store):
    store.put(SECRET, outcome_of())
    (path,) = store.folder.iterdir()
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_folder_that_is_open_to_others_is_not_used(store, caplog):
    store.put(SECRET, outcome_of())
    store.folder.chmod(0o755)
    assert store.find(SECRET, None) is None
    store.put(OTHER, outcome_of())
    assert len(list(store.folder.iterdir())) == 1
    assert caplog.text.count("does not belong to this user alone") == 1  # one warning
    assert store.files() == []


def test_folder_of_another_user_is_not_used(store, monkeypatch):
    store.put(SECRET, outcome_of())
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert store.find(SECRET, None) is None


def test_link_to_a_folder_is_not_used(store, tmp_path):
    store.put(SECRET, outcome_of())
    (tmp_path / "link").symlink_to(store.folder)
    assert OutcomesOnDisk(tmp_path / "link").find(SECRET, None) is None


class FileInMemory(io.BytesIO):
    """A file that is cut before one of its reads, and of which nobody reads more than it has."""

    def __init__(self, content, reads=1 << 30):
        super().__init__(content)
        self.left = reads

    def read(self, size=-1):
        assert size is None or size <= len(self.getvalue()), "so much memory is asked for"
        if self.left == 0:
            self.truncate(3)
        self.left -= 1
        return super().read(size)


def written(outcome):
    file = io.BytesIO()
    facts, tables = outcome_files._parts_of_outcome(outcome)
    outcome_files._store(file, {"key": SECRET, **facts}, tables)
    return file.getvalue()


def outcome_in(file):
    stored = outcome_files._StoredParts.of(file, SECRET)
    return outcome_files._read_outcome(stored, None, to_resume=False)


def is_refused(content, reads=1 << 30):
    with pytest.raises(outcome_files.DAMAGE):
        outcome_in(FileInMemory(content, reads))
    return True


def test_any_byte_that_changes_and_any_length_that_is_cut():
    outcome = outcome_of(2)
    content = written(outcome)
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        assert is_refused(damaged), f"byte {place} of {len(content)}"
        assert is_refused(content[:place]), place
    assert same(outcome_in(FileInMemory(content)), outcome)


def test_damaged_file_is_not_used_and_named_once(store, caplog):
    outcome = outcome_of(2)
    store.put(SECRET, outcome)
    (path,) = store.folder.iterdir()
    content = path.read_bytes()
    for place in range(0, len(content), 97):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        for octets in (damaged, content[:place]):
            path.write_bytes(octets)
            assert store.find(SECRET, None) is None, f"byte {place} of {len(content)}"
    path.write_bytes(content)
    assert same(store.find(SECRET, None), outcome)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("reads", range(6))
def test_file_that_is_cut_while_it_is_read_is_not_used(reads):
    """Its length is known by then."""
    content = written(outcome_of())
    assert is_refused(content, reads)
    assert same(outcome_in(FileInMemory(content, 6)), outcome_of())


def test_file_under_the_name_of_another_is_not_used(store):
    store.put(SECRET, outcome_of())
    (path,) = store.folder.iterdir()
    path.rename(path.with_name(path.name.replace(SECRET, OTHER)))
    assert store.find(OTHER, None) is None


def test_versions_of_the_format_stand_side_by_side(store, monkeypatch):
    store.put(SECRET, outcome_of(text="old"))
    monkeypatch.setattr(outcome_files, "OUTCOME_FORMAT", OUTCOME_FORMAT + 1)
    assert store.find(SECRET, None) is None
    store.put(SECRET, outcome_of(text="new"))
    assert same(store.find(SECRET, None), outcome_of(text="new"))
    monkeypatch.undo()
    assert same(store.find(SECRET, None), outcome_of(text="old"))
    store.clear()
    assert list(store.folder.iterdir()) == []


def test_upgrade_merges_each_slice_once_more(tmp_path, monkeypatch):
    """A release may decode other values: CONTRIBUTING tells how a defect was found."""
    options: dict[str, Any] = {"merge_cache": "disk", "merge_cache_folder": str(tmp_path / "kept")}
    path = str(load_case(GOLDEN / "v8_mor_savepoint_restore").extract(tmp_path / "table"))
    HudiTable(path).scan(**options).to_arrow()
    kept = OutcomesOnDisk(folder_in(tmp_path / "kept")).files
    before = len(kept())
    HudiTable(path).scan(**options).to_arrow()
    assert len(kept()) == before > 0
    monkeypatch.setattr(slice_tasks, "__version__", "0.1.0.dev1")
    HudiTable(path).scan(**options).to_arrow()
    assert len(kept()) == 2 * before


def test_least_recently_used_files_go_first(store):
    keys = [letter * 64 for letter in "abcd"]
    for age, key in zip((40, 30, 20), keys, strict=False):
        store.put(key, outcome_of())
        os.utime(store._path(key), (time.time() - age,) * 2)
    (size,) = {length for _, length, _ in store.files()}
    store.find(keys[0], None)
    small = OutcomesOnDisk(store.folder, 3 * size)
    small.put(keys[3], outcome_of())
    assert [small.find(key, None) is not None for key in keys] == [True, False, True, True]
    OutcomesOnDisk(store.folder, size - 1).put(keys[3], outcome_of(2000))  # larger than all
    assert len(store.files()) == 3


def test_clock_that_jumps_changes_only_the_order(store):
    for key, when in ((SECRET, time.time() + 10**8), (OTHER, 0)):
        store.put(key, outcome_of())
        os.utime(store._path(key), (when, when))
    assert same(store.find(SECRET, None), outcome_of())
    (size, _) = sorted(length for _, length, _ in store.files())
    OutcomesOnDisk(store.folder, size).put("c" * 64, outcome_of())
    assert [path.name[2:3] for _, _, path in store.files()] == ["c"]


def test_all_files_can_be_removed(store, tmp_path):
    store.put(SECRET, outcome_of())
    store.clear()
    assert store.files() == []
    (store.folder / "link").symlink_to(tmp_path / "none")
    (store.folder / "empty").touch()  # by a writer that was killed
    os.utime(store.folder / "empty", (1 << 40, 1 << 40))
    assert {path.name for _, _, path in store.files()} == {"empty", "link"}
    store.clear()
    assert list(store.folder.iterdir()) == []


def test_what_a_killed_writer_left_goes_like_the_rest(store):
    store.put(SECRET, outcome_of())
    left = store.folder / "tmpabcdef"
    left.write_bytes(bytes(5000))
    os.utime(left, (1, 1))
    OutcomesOnDisk(store.folder, 5000).put(OTHER, outcome_of())
    assert not left.exists()
    assert store.find(OTHER, None) is not None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_read_only_folder(store, caplog):  # pragma: no cover  (as root)
    store.put(SECRET, outcome_of())
    store.folder.chmod(0o500)
    assert same(store.find(SECRET, None), outcome_of())
    store.put(OTHER, outcome_of())
    assert "are not kept" in caplog.text


def test_folder_that_cannot_be_made(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    store = OutcomesOnDisk(tmp_path / "file" / "kept")
    store.put(SECRET, outcome_of())
    assert "are not kept" in caplog.text
    assert store.find(SECRET, None) is None
    assert len(caplog.records) == 1


def test_outcome_is_written_in_its_folder_and_nowhere_else(store, tmp_path, monkeypatch):
    """The rename would fail between disks, and a folder for temporary files may be small."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    store.put(SECRET, outcome_of())
    assert same(store.find(SECRET, None), outcome_of())


def test_warning_names_what_failed_first(store, caplog, monkeypatch):
    def fail(*_):
        for path in store.folder.iterdir():
            path.unlink()  # another process clears the folder
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(outcome_files, "_store", fail)
    store.put(SECRET, outcome_of())
    assert "are not kept: [Errno 28] No space left" in caplog.text
    assert store.files() == []


def test_full_disk_at_every_byte(store):
    """A process may write files up to a size only: at each, there is all of an outcome or none."""
    outcome = outcome_of(2)
    store.put(SECRET, outcome)
    (size,) = {length for _, length, _ in store.files()}
    store.clear()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for most in range(0, size, 7):
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
            store.put(SECRET, outcome)
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert store.find(SECRET, None) is None
            assert store.files() == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    store.put(SECRET, outcome)
    assert same(store.find(SECRET, None), outcome)


_WRITER = """
import sys
sys.path.insert(0, {root!r})
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from tests.reading.merge.kept_outcomes import SECRET, outcome_of
from pathlib import Path
store = OutcomesOnDisk(Path({folder!r}), 1 << 20)
print("ready", flush=True)
for number in range(10**9):
    store.put(SECRET, outcome_of(1 + number % 500, text="x" * (number % 50)))
"""


def test_killed_writers_leave_all_of_an_outcome_or_none(store):
    root = str(Path(__file__).parents[3])
    random = Random(1)
    code = _WRITER.format(root=root, folder=str(store.folder))
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        found = None
        count = 0
        while found is None or count < 50:  # the first outcome takes a while
            found = store.find(SECRET, None)
            count = count + 1
            assert found is None or len(found.outcome.records) == found.outcome.record_count
        time.sleep(random.random() / 50)
        process.kill()
        process.wait()
        process.stdout.close()
        found = store.find(SECRET, None)
        assert found is not None
        numbers = found.outcome.records["n"]
        assert numbers.to_pylist() == list(range(found.outcome.record_count))
    assert outcome_files._warned == set()


def on_disk(folder, **options):
    return task(merge_cache=MergeCache.DISK, merge_cache_folder=str(folder), **options)


def test_merge_of_another_process_is_used(tmp_path):
    storage = RemoteFiles(FILES)
    assert rows(on_disk(tmp_path), storage, None) == MERGED
    read_files(storage)
    assert rows(on_disk(tmp_path), storage, None) == MERGED
    assert read_files(storage) == (1, [])
    tables = list(read_slice(on_disk(tmp_path, columns=()), storage))
    assert sum(table.num_rows for table in tables) == 2
    assert read_files(storage) == (0, [])
    assert rows(on_disk(tmp_path, columns=(KEY, "ts")), storage, None) == [("a", 11), ("c", 10)]
    assert read_files(storage) == (1, list(LOG_PATHS))


@pytest.mark.parametrize("identity", ["other", ""])
def test_reader_with_other_credentials_merges_anew(tmp_path, identity):
    storage = RemoteFiles(FILES)
    rows(on_disk(tmp_path), storage, None)
    read_files(storage)
    storage.identity = identity
    assert rows(on_disk(tmp_path), storage, None) == MERGED
    assert read_files(storage)[1] == list(LOG_PATHS)
    files = len(OutcomesOnDisk(folder_in(tmp_path)).files())
    assert files == (2 if identity else 1)  # without an identity nothing is written


def test_identity_names_all_that_reads_files(monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)

    def identity(**options):
        given = {"region": "eu-west-1", **options}
        return ArrowStorage.parse("s3://lake/t", given).identity

    keys = {"access_key": "a", "secret_key": "b"}
    known = {identity(), identity(**keys), identity(**{**keys, "secret_key": "c"})}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    known.add(identity())
    assert len(known) == 4
    assert identity(**keys) == identity(**keys)
    given = ArrowStorage.on(pafs.SubTreeFileSystem("/", pafs.LocalFileSystem()), "t")
    assert given.identity == ""
    provided = {"credentials_provider": "json:loads"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudi_pyspark.storage.connection.Connection.current", lambda _self: None)
        assert identity(**provided) == ""


def test_folders(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    user = os.geteuid()
    local = {"SPARK_LOCAL_DIRS": "/local/1,/local/2", "XDG_CACHE_HOME": "/home/caches"}
    assert cache_folder("", local) == Path(f"/local/1/hudi-py-merges-{user}")
    assert cache_folder("/mine", local) == Path(f"/mine/hudi-py-merges-{user}")
    one = {"SPARK_LOCAL_DIRS": "/local/1"}
    assert cache_folder("", one) == Path(f"/local/1/hudi-py-merges-{user}")
    del local["SPARK_LOCAL_DIRS"]
    assert cache_folder("", local) == Path(f"/home/caches/hudi-py-merges-{user}")
    assert cache_folder("", {}) == Path(f"/home/me/.cache/hudi-py-merges-{user}")


def test_options_name_folder_and_bytes(tmp_path):
    settings = replace(task().settings, merge_cache_folder=str(tmp_path), merge_cache_bytes=77)
    known = OutcomesOnDisk.of(settings, {})
    assert known is not None
    assert (known.folder, known.most_bytes) == (cache_folder(str(tmp_path), {}), 77)
    usual = OutcomesOnDisk.of(replace(settings, merge_cache_bytes=0), {})
    assert usual is not None
    assert usual.most_bytes == OutcomesOnDisk(tmp_path).most_bytes


def test_damage_in_a_folder_changes_no_answer(tmp_path, caplog):
    path = str(load_case(GOLDEN / "v8_mor_savepoint_restore").extract(tmp_path / "table"))
    options: dict[str, Any] = {"merge_cache": "disk", "merge_cache_folder": str(tmp_path)}
    table = HudiTable(path)
    expected = sorted(map(repr, table.scan(merge_cache="off").to_arrow().to_pylist()))
    folder = folder_in(tmp_path)
    random = Random(7)
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            found = table.scan(**options).to_arrow().to_pylist()
            assert sorted(map(repr, found)) == expected
            for file in folder.iterdir():
                content = bytearray(file.read_bytes())
                content[random.randrange(len(content))] ^= 1 << random.randrange(8)
                file.write_bytes(content[: random.choice([len(content), len(content) // 2])])
    assert len(caplog.records) == 1


def test_groups_of_tasks_leave_out_logs_whose_merges_lie_on_the_disk(tmp_path, monkeypatch):
    table = HudiTable(str(unpack("v9_mor_clustering", tmp_path)))
    options: dict[str, Any] = {"merge_cache": "disk", "merge_cache_folder": str(tmp_path / "kept")}
    (group,) = table.scan(**options)._plan_groups()
    merges = [task for task in group if isinstance(task, ScanTask) and task.file_slice.log_files]
    few = sum(cost(t, len(t.file_slice.log_files) if t in merges else 0) for t in group)

    def groups(**more):
        return len(table.scan(**options | more, task_bytes=few)._plan_groups())

    assert merges
    assert groups() == 2
    table.scan(**options).to_arrow()
    assert groups() == 1
    assert groups(merge_cache="off") == groups(merge_cache="memory") == 2
    assert groups(merge_cache_folder=str(tmp_path / "other")) == 2
    monkeypatch.setattr(thresholds, "SEARCHED_TASKS", len(group) - 1)
    assert groups() == 2  # of very many nothing is looked for


def test_groups_of_tasks_know_the_log_files_that_earlier_merges_cover(tmp_path):
    table = HudiTable(str(unpack("v9_mor_logblock_parquet", tmp_path)))
    folder = str(tmp_path / "kept")
    plan = table.scan(merge_cache="disk", merge_cache_folder=folder).plan()
    tasks = [each for each in plan if isinstance(each, ScanTask)]
    assert [len(each.file_slice.log_files) for each in tasks] == [4, 0, 3]
    assert merged_on_disk(tasks, table.storage) == [0, None, 0]
    for each in tasks:  # as before a commit, which adds a log file
        logs = each.file_slice.log_files[:-1]
        before = replace(each, file_slice=replace(each.file_slice, log_files=logs))
        assert list(read_task(before, table.storage))
    assert merged_on_disk(tasks, table.storage) == [3, None, 2]
    for each in tasks:
        assert list(read_task(each, table.storage))
    assert merged_on_disk(tasks, table.storage) == [4, None, 3]
    for file in folder_in(Path(folder)).iterdir():  # into the name of another layout
        file.rename(file.with_name(f"0{file.name}"))
    assert merged_on_disk(tasks, table.storage) == [0, None, 0]


def both(path, folder, *, hits):
    """The rows with and without the files, for a table at a path; counts what was found there."""
    options: dict[str, Any] = {"merge_cache": "disk", "merge_cache_folder": str(folder)}
    table = HudiTable(str(path))
    warm = [table.scan(**options), table.scan(table.schema.names[-2:], **options)]
    cold = [table.scan(merge_cache="off"), table.scan(table.schema.names[-2:], merge_cache="off")]
    for one, other in zip(warm, cold, strict=True):
        hits.append(" 0 of " not in one.explain() and "merged before" in one.explain())
        found, expected = one.to_arrow().to_pylist(), other.to_arrow().to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, expected))
        assert one.count() == len(expected)


@pytest.mark.parametrize(
    "case", ["v6_mor_failed_rolled_back", "v8_mor_nbcc", "v9_mor_compaction_inline"]
)
def test_table_that_is_deleted_and_written_again_commit_by_commit(case, tmp_path):
    instants = [
        c.requested_time for c in HudiTable(unpack(case, tmp_path / "first"))._view.history.commits
    ]
    hits: list[bool] = []
    for turn in range(2):  # the second time every file has a name that was there before
        for number, instant in enumerate(instants):
            folder = tmp_path / f"{turn}.{number}"
            growing = table_at(case, instant, folder)
            place = tmp_path / "table"
            shutil.rmtree(place, ignore_errors=True)
            growing.path.rename(place)
            both(place, tmp_path / "kept", hits=hits)
    assert any(hits)


def test_later_commit_leaves_other_slices_known(tmp_path):
    case = "v6_mor_part_basic"
    instants = [
        c.requested_time for c in HudiTable(unpack(case, tmp_path / "first"))._view.history.commits
    ]
    growing = table_at(case, instants[0], tmp_path)
    hits: list[bool] = []
    for instant in instants[1:]:
        growing.grow(instant)
        both(growing.path, tmp_path / "kept", hits=hits)
        both(growing.path, tmp_path / "kept", hits=hits)
    assert hits[-1]


def test_file_that_is_restored_in_place_with_its_times_is_merged_anew(tmp_path):
    path = unpack("v6_mor_part_basic", tmp_path)
    hits: list[bool] = []
    both(path, tmp_path / "kept", hits=hits)
    bases = HudiTable(path).inspect.file_slices()["base_file"].drop_null().to_pylist()
    for base in bases:
        file = Path(path, base)
        stored = pq.read_table(file)
        times = file.stat()
        turned = io.BytesIO()
        pq.write_table(stored.take(pa.array(range(stored.num_rows - 1, -1, -1))), turned)
        content = turned.getvalue()
        with file.open("r+b") as same:
            same.truncate(0)
            same.write(content)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert file.stat().st_ino == times.st_ino
    both(path, tmp_path / "kept", hits=hits)
