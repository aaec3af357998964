"""Small slices that are merged together have the rows of slices that are merged one by one."""

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptLogBlockError, MissingFileError
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.options.option import MergeType
from hudi_pyspark.reading import small_slices
from hudi_pyspark.reading.base_files.base_file import read_base_rows
from hudi_pyspark.reading.read_task import read_task, read_tasks
from hudi_pyspark.reading.small_slices import join_tasks
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.on_damage import OnDamage
from hudi_pyspark.table.timeline import CommittedTimes
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import (
    COMMIT_TIME,
    EVENT_TIME,
    KEY,
    avro_record,
    data_block,
    delete_block,
    nullable,
    rule_of,
    wrapped,
)
from tests.reading.planned_tasks import plan_slices
from tests.reading.random_slices import COLUMNS, FILE_ID, TABLE, RandomSlice
from tests.reading.slices_in_memory import AVRO, base_content
from tests.sampling import SAMPLED

SLICES = 12
SCHEMA = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.string()), ("p", pa.string())])
BASE = [{KEY: key, "ts": 10, "v": "base", "p": "in the file"} for key in "abc"]
# In each slice: a is updated, b deleted, c kept, and d is new.
MERGED = [("a", "log"), ("c", "base"), ("d", "log")]


class Slices:
    """Slices of the same few keys, each in a partition of its own, with files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.slices = [self._slice(f"p{number:02}") for number in range(SLICES)]

    def _slice(self, partition: str) -> FileSlice:
        base, log = f"{partition}/f_0_001.parquet", f"{partition}/.f_002.log.1_0-1-0"
        self.files[base] = base_content(BASE, SCHEMA)
        rows = [{KEY: key, "ts": 11, "v": "log", "p": "in the file"} for key in "ad"]
        deletes = delete_block([("b", wrapped("Long", 11))], instant="002")
        self.files[log] = data_block(AVRO, rows, instant="002") + deletes
        base_file = BaseFile(base, "f", "001", len(self.files[base]))
        return FileSlice(partition, "f", "001", base_file, (self.log_file(log),))

    def log_file(self, path: str) -> LogFile:
        size = len(self.files[path])
        return LogFile(path, "f", "002", 1, "0-1-0", size, size, committed_by="002")

    def write_log(self, number: int, content: bytes) -> None:
        """Give a slice another log file."""
        file_slice = self.slices[number]
        path = file_slice.log_files[0].path
        self.files[path] = content
        self.slices[number] = replace(file_slice, log_files=(self.log_file(path),))

    def tasks(self, *columns, properties=(), condition="", from_files=False, **options):
        return plan_slices(
            self.slices,
            SCHEMA,
            columns,
            "002",
            rule=rule_of(),
            committed=CommittedTimes(frozenset({"001", "002"}), "001"),
            properties={
                "hoodie.table.version": "8",
                "hoodie.table.partition.fields": "p",
                **dict(properties),
            },
            options=options,
            predicate=parse_filter(condition, SCHEMA) if condition else None,
            partition_values_from_files=from_files,
        )

    def read(self, tasks):
        tables = list(read_tasks(tasks, MemoryStorage(self.files)))
        assert all(table.schema == tasks[0].shared.planned_columns.result for table in tables)
        return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


@pytest.fixture
def slices():
    return Slices()


@pytest.fixture
def merged_together(monkeypatch):
    """How many slices were merged together, merge by merge; 0 if one refused."""
    counts = []
    merge = small_slices._merged

    def counted(tasks, storage):
        counts.append(0)
        tables = merge(tasks, storage)
        counts[-1] = 0 if tables is None else len(tasks)
        return tables

    monkeypatch.setattr(small_slices, "_merged", counted)
    monkeypatch.setattr(thresholds, "FEWEST_JOINED_SLICES", 2)
    return counts


def test_slices_have_their_own_keys(slices, merged_together):
    assert slices.read(slices.tasks(KEY, "v")) == sorted(MERGED * SLICES)
    assert merged_together == [2, 4, 5]  # and the first slice alone, so that rows come soon


def test_a_key_that_moves_to_another_slice_is_deleted_in_one_of_them(slices, merged_together):
    # As a global index writes it when the partition of a record changes (apache/hudi#6591, #5869).
    slices.write_log(7, delete_block([("a", None)], instant="002"))
    row = {KEY: "a", "ts": 1, "v": "moved", "p": "p08"}
    slices.write_log(8, data_block(AVRO, [row], instant="002") + delete_block([("b", None)]))
    tasks = slices.tasks(KEY, "v", "p")
    found = {(row[0], row[2]) for row in slices.read(tasks)}
    assert ("a", "p07") not in found
    assert {("b", "p07"), ("a", "p08")} <= found
    assert merged_together == [2, 4, 5]


def test_rows_are_counted_without_columns(slices, merged_together):
    tables = read_tasks(slices.tasks(), MemoryStorage(slices.files))
    assert sum(map(len, tables)) == SLICES * len(MERGED)
    assert merged_together == [2, 4, 5]


def test_a_condition_counts_after_the_merge(slices, merged_together):
    tasks = slices.tasks(KEY, "v", condition="v = 'base'")
    assert slices.read(tasks) == [("c", "base")] * SLICES
    assert sum(merged_together) == SLICES - 1


def test_each_row_has_the_partition_value_of_its_slice(slices, merged_together):
    dropped = {"hoodie.datasource.write.drop.partition.columns": "true"}
    found = slices.read(slices.tasks("p", "v", properties=dropped.items()))
    values = [value for _, value in MERGED]
    assert found == sorted((f"p{n:02}", value) for n in range(SLICES) for value in values)
    assert sum(merged_together) == SLICES - 1


def test_a_block_without_the_partition_column_is_merged_by_itself(slices, merged_together):
    lacking = avro_record(ts=nullable("long"), v=nullable("string"))
    slices.write_log(6, data_block(lacking, [{KEY: "a", "ts": 11, "v": "log"}], instant="002"))
    found = slices.read(slices.tasks(KEY, "v", "p", from_files=True))
    assert [row for row in found if row[2] != "in the file"] == [("a", "log", "p06")]
    assert len(found) == SLICES * len(MERGED)  # without d, and with b, in this slice
    assert merged_together == [2, 0, 5]


def test_tables_have_no_more_rows_than_a_batch(slices, merged_together):
    tables = list(read_tasks(slices.tasks(KEY, "v", batch_rows=2), MemoryStorage(slices.files)))
    assert max(map(len, tables)) == 2
    assert sum(map(len, tables)) == SLICES * len(MERGED)
    assert merged_together == [2, 4, 5]


def test_few_slices_are_merged_one_by_one(slices, merged_together, monkeypatch):
    monkeypatch.setattr(thresholds, "FEWEST_JOINED_SLICES", 5)
    assert slices.read(slices.tasks(KEY, "v")) == sorted(MERGED * SLICES)
    assert merged_together == [5]


def test_large_rows_of_small_files_are_merged_one_by_one(slices, merged_together, monkeypatch):
    (table,) = read_base_rows(slices.tasks(KEY, "v")[0], MemoryStorage(slices.files))
    monkeypatch.setattr(thresholds, "MOST_JOINED_BYTES", 4 * table.nbytes)
    assert slices.read(slices.tasks(KEY, "v")) == sorted(MERGED * SLICES)
    assert merged_together == [2, 4, 0]


def sizes(tasks):
    return [len(group) for group in join_tasks(tasks, MemoryStorage({}))]


def test_the_first_groups_are_smaller(slices):
    assert sizes(slices.tasks(KEY) * 30)[:9] == [1, 2, 4, 8, 16, 32, 64, 64, 64]


def test_large_slices_and_slices_without_log_files_are_read_by_themselves(slices):
    tasks = slices.tasks(KEY)
    large = replace(tasks[0].file_slice.log_files[0], size=1 << 20)
    tasks[3] = replace(tasks[3], file_slice=replace(tasks[3].file_slice, log_files=(large,)))
    tasks[7] = replace(tasks[7], file_slice=replace(tasks[7].file_slice, log_files=()))
    assert sizes(tasks) == [1, 2, 1, 3, 1, 4]


@pytest.mark.parametrize(
    "options",
    [
        {"merge_type": MergeType.SKIP_MERGE},
        {"on_damage": OnDamage.WARN},
        {"condition": f"{KEY} = 'a'"},
    ],
    ids=str,
)
def test_other_reads_are_not_joined(slices, options):
    assert sizes(slices.tasks(KEY, **options)) == [1] * SLICES


def test_files_of_a_store_are_not_joined(slices):
    remote = MemoryStorage({})
    remote.is_local = False
    assert [len(g) for g in join_tasks(slices.tasks(KEY), remote)] == [1] * SLICES


def test_damage_is_reported_for_its_file(slices):
    path = slices.slices[9].log_files[0].path
    octets = bytearray(slices.files[path])
    octets[-40:] = b"\0" * 40
    slices.write_log(9, bytes(octets))
    with pytest.raises(CorruptLogBlockError, match=r"p09/\.f_002"):
        slices.read(slices.tasks(KEY))


def test_missing_file_is_named(slices):
    del slices.files[slices.slices[8].log_files[0].path]
    with pytest.raises(MissingFileError, match=r"p08/\.f_002"):
        slices.read(slices.tasks(KEY))


class RandomSlices:
    """Slices that grew as writers leave them, of one plan."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.slices = [RandomSlice(random) for _ in range(6)]
        for part in self.slices:
            for _ in range(random.randint(1, 4)):
                part.grow()

    @property
    def files(self) -> dict[str, bytes]:
        return {f"{n}/{p}": c for n, part in enumerate(self.slices) for p, c in part.files.items()}

    def tasks(self, mode):
        columns = self.random.choice(COLUMNS)
        committed = frozenset().union(*(part.committed for part in self.slices))
        later = frozenset(f"{time:03}" for time in range(2, 30)) - committed
        found = []
        for number, part in enumerate(self.slices):
            base = BaseFile(f"{number}/f.parquet", FILE_ID, "001", 1) if part.has_base else None
            logs = tuple(
                replace(log, path=f"{number}/{log.path}", committed_size=0) for log in part.logs
            )
            found.append(FileSlice(str(number), FILE_ID, "001", base, logs))
        condition = self.random.choice(["", "w > 2", "v is null or ts < 5"])
        return plan_slices(
            found,
            TABLE,
            columns,
            "030",
            rule=rule_of(mode),
            committed=CommittedTimes(committed, "001", later),
            properties={"hoodie.table.version": "6"},
            options={"batch_rows": self.random.choice([1, 3, 1000])},
            predicate=parse_filter(condition, TABLE) if condition else None,
        )


def answer(tables):
    found = list(tables)
    if not found or not found[0].schema.names:
        return sum(map(len, found))
    return sorted(map(repr, pa.concat_tables(found).to_pylist()))


@SAMPLED
def test_random_slices_have_the_same_rows_together_as_one_by_one(is_whole, merged_together):
    for seed in range(1000 if is_whole else 40):
        random = Random(seed)
        grown = RandomSlices(random)
        storage = MemoryStorage(grown.files)
        tasks = grown.tasks(random.choice([EVENT_TIME, COMMIT_TIME]))
        expected = answer(table for task in tasks for table in read_task(task, storage))
        assert answer(read_tasks(tasks, storage)) == expected, seed
    # Partial updates, and positions where a base file has a key twice, are merged one by one.
    assert len(merged_together) / 4 < sum(map(bool, merged_together)) < len(merged_together)
