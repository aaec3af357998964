import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark.errors import SpillError
from hudi_pyspark.reading.merge.loaded_log import DEFAULT_MEMORY, Buckets, MemoryLimits, SpillFile
from hudi_pyspark.tasks import ReadSettings

FULL = Path("/dev/full")
TABLE = pa.table(
    {
        "s": ["a", None, "ccc", "é"],
        "n": pa.chunked_array([[1, 2], [3, None]]),
        "x": [{"y": [1, None]}, None, {"y": None}, {"y": []}],
    }
)


@pytest.fixture
def file(tmp_path):
    spill = SpillFile(str(tmp_path / "made" / "for it"))
    yield spill
    spill.close()


def test_table_is_read_as_it_was_written(file):
    spans = [file.write(TABLE), file.write(TABLE.slice(1, 2)), file.write(TABLE.slice(4))]
    assert file.read(spans[1]).equals(TABLE.slice(1, 2))
    assert file.read(spans[0]).equals(TABLE)
    assert file.read(spans[2]).equals(TABLE.slice(4))


def test_file_can_be_written_anew(file):
    file.write(TABLE)
    file.clear()
    span = file.write(TABLE)
    assert span.offset == 0
    assert file.read(span).equals(TABLE)


def test_rows_of_a_bucket_keep_their_order(file):
    buckets = Buckets(file, 3)
    buckets.add(TABLE, np.array([2, 0, 2, 0]))
    buckets.add(TABLE, np.array([0, 2, 2, 2]))
    assert [t["n"].to_pylist() for t in buckets.tables([0])] == [[2, None], [1]]
    assert [t["n"].to_pylist() for t in buckets.tables([1, 2])] == [[1, 3], [2, 3, None]]
    assert (buckets.are_empty([1]), buckets.are_empty([1, 2])) == (True, False)
    sizes = buckets.sizes().tolist()
    assert sizes[1] == 0
    assert sizes[2] > sizes[0] > 0


def test_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(SpillError, match=r"taken.*hoodie\.memory\.spillable\.map\.path"):
        SpillFile(str(tmp_path / "taken"))


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_full_disk_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: FULL.open("w+b", 0))
    full = SpillFile(str(tmp_path))
    with pytest.raises(SpillError, match=r"No space left.*hoodie\.memory\.merge\.max\.size"):
        full.write(TABLE)
    full.close()


@pytest.mark.parametrize(
    ("total", "worker", "expected"),
    [
        pytest.param(5, {}, 5, id="as-asked-for"),
        pytest.param(0, {}, DEFAULT_MEMORY, id="default"),
        pytest.param(0, {"PYSPARK_EXECUTOR_MEMORY_MB": "-1"}, DEFAULT_MEMORY, id="no-limit"),
        pytest.param(0, {"PYSPARK_EXECUTOR_MEMORY_MB": "300"}, 100 << 20, id="third-of-a-worker"),
        pytest.param(0, {"PYSPARK_EXECUTOR_MEMORY_MB": "9000"}, DEFAULT_MEMORY, id="large-worker"),
        pytest.param(7 << 30, {"PYSPARK_EXECUTOR_MEMORY_MB": "300"}, 7 << 30, id="asked-for-more"),
    ],
)
def test_memory_is_that_asked_for_or_what_the_worker_has(total, worker, expected):
    assert MemoryLimits.of(ReadSettings(merge_memory=total), worker).total == expected


def test_folder_is_that_asked_for_or_one_of_sparks_or_that_of_temporary_files():
    spark = {"SPARK_LOCAL_DIRS": "/one,/two"}
    assert MemoryLimits.of(ReadSettings(spill_folder="/mine"), spark).folder == "/mine"
    assert MemoryLimits.of(ReadSettings(), spark).folder in ("/one", "/two")
    assert MemoryLimits.of(ReadSettings(), {"SPARK_LOCAL_DIRS": ""}).folder == ""


def test_temporary_files_are_asked_for_when_rows_go_to_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = MemoryLimits.of(ReadSettings(), {}).folder
    with closing(SpillFile(folder)) as spilled:
        assert spilled.read(spilled.write(TABLE)).equals(TABLE)


def test_machine_without_a_folder_for_temporary_files(monkeypatch):
    """Only rows that go to disk need one."""

    def fail():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", fail)
    folder = MemoryLimits.of(ReadSettings(), {}).folder
    told = r"written to the folder for temporary files: No usable.*spillable\.map\.path"
    with pytest.raises(SpillError, match=told):
        SpillFile(folder)
