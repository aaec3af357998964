"""A log file is read, and replaced by another of its size within the second of its time.

Restores, replication, and tests that write a table again with the same instants do it. The table
is of Apache Hudi 1.0.2 and has no metadata table, so that its folders are listed. The stores tell
times in whole seconds, as S3 does. The expected rows are those that the files have.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pyarrow.fs as pafs
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.reading import file_states
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.connection import GivenFileSystem
from hudi_pyspark.storage.file_systems import HdfsNativeFileSystem
from tests.damage import unpack
from tests.storage.s3_server import serve

NAMES = ("n989", "n000")  # in one of the log files, and in the file that takes its place
MINUTE = 60.0


class HdfsClient:
    """The calls of hdfs-native, on a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_status(self, path: str) -> list[SimpleNamespace]:
        folder = self.folder / path.lstrip("/")
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        return [self.get_file_info(f"{path}/{file.name}") for file in files]

    def get_file_info(self, path: str) -> SimpleNamespace:
        file = self.folder / path.lstrip("/")
        state = file.stat()
        return SimpleNamespace(
            path=path,
            isdir=file.is_dir(),
            length=state.st_size,
            modification_time=int(state.st_mtime) * 1000,
        )

    def read(self, path: str) -> "HdfsFile":
        return HdfsFile((self.folder / path.lstrip("/")).read_bytes())


class HdfsFile(bytes):
    def read_range(self, begin: int, length: int) -> bytes:
        return self[begin : begin + length]


def on_hdfs(folder: Path) -> HudiTable:
    client = SimpleNamespace(client=HdfsClient(folder.parent))
    files = GivenFileSystem(HdfsNativeFileSystem(client, "hdfs://name:1"))
    table = HudiTable.__new__(HudiTable)
    storage = ArrowStorage(files, f"/{folder.name}", "hdfs", host="name:1")
    table._open(f"hdfs://name:1/{folder.name}", storage, None)
    return table


@contextmanager
def s3(folder: Path) -> Iterator[Callable[[], HudiTable]]:
    keys = {"access_key": "AKID", "secret_key": "very-secret-key", "region": "eu-north-1"}
    with serve(folder.parent) as server:
        options = {**keys, "endpoint_override": server.endpoint}
        yield lambda: HudiTable(f"s3://lake/{folder.name}", storage_options=options)


def given(
    make: Callable[[Path], HudiTable],
) -> Callable[[Path], AbstractContextManager[Callable[[], HudiTable]]]:
    return lambda folder: nullcontext(lambda: make(folder))


STORES = {
    "s3": s3,
    "local": given(lambda f: HudiTable(str(f))),
    "hdfs": given(on_hdfs),
    "fsspec": given(lambda f: HudiTable(str(f), filesystem=fsspec.filesystem("file"))),
    "arrow": given(
        lambda f: HudiTable(
            f.name, filesystem=pafs.SubTreeFileSystem(str(f.parent), pafs.LocalFileSystem())
        )
    ),
}


@pytest.fixture
def folder(tmp_path):
    path = unpack("v8_mor_nbcc", tmp_path)
    for file in path.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return path


@pytest.fixture(autouse=True)
def _coarse_disk(monkeypatch):
    """A local file system that keeps whole seconds, and nothing of an inode but its number."""

    def stat(place):
        state = os.stat(place)  # noqa: PTH116
        second = int(state.st_mtime) * 10**9
        return SimpleNamespace(
            st_ino=1, st_size=state.st_size, st_mtime_ns=second, st_ctime_ns=second
        )

    names = {"access": os.access, "R_OK": os.R_OK, "stat": stat, "name": os.name}
    monkeypatch.setattr(file_states, "os", SimpleNamespace(**names))


def log_with(folder: Path, name: str) -> Path:
    (log,) = (p for p in folder.rglob(".*.log.*") if name.encode() in p.read_bytes())
    return log


def put(log: Path, content: bytes, second: float) -> None:
    log.write_bytes(content)
    os.utime(log, (int(second), int(second)))


@pytest.mark.parametrize("cache", ["memory", "disk"])
@pytest.mark.parametrize("behind", [0, 10 * MINUTE, -MINUTE], ids=["", "behind", "ahead"])
@pytest.mark.parametrize("store", STORES)
def test_replaced_file_gives_its_own_rows(store, behind, cache, folder, tmp_path):
    """The clock of the store may differ from that of the reader."""
    options = {"merge_cache": cache, "merge_cache_folder": str(tmp_path / "kept")}
    old, new = NAMES
    log = log_with(folder, old)
    content = log.read_bytes()
    with STORES[store](folder) as open_table:
        first = open_table()
        for _ in range(3):
            second = time.time() - behind
            for name in (old, new):
                put(log, content.replace(old.encode(), name.encode()), second)
                for table in (first, open_table()):
                    names = table.scan(["name"], **options).to_arrow()["name"].to_pylist()
                    assert name in names
                    assert {old, new} - {name} not in names


@pytest.mark.parametrize("store", STORES)
def test_merge_is_kept_again_when_the_time_has_passed(store, folder, monkeypatch):
    """Of stores with ETags it was kept all the time; the others tell nothing else than times."""
    log = log_with(folder, NAMES[0])
    put(log, log.read_bytes(), time.time())
    with STORES[store](folder) as open_table:
        table = open_table()

        def kept() -> bool:
            table.scan(["name"]).to_arrow()
            found = re.search(r"(\d+) of (\d+) slices", table.scan(["name"]).explain())
            assert found
            return found[1] == found[2]

        expected = table.scan(["name"], merge_cache="off").to_arrow()["name"].to_pylist()
        known = kept()
        now = time.time_ns() + int(20 * MINUTE) * 10**9
        monkeypatch.setattr("hudi_pyspark.reading.file_states.time.time_ns", lambda: now)
        assert kept()
        assert known == (store == "s3")
        names = table.scan(["name"]).to_arrow()["name"].to_pylist()
        assert sorted(map(str, names)) == sorted(map(str, expected))
