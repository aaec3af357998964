"""Files in a store of objects are replaced by others of equal size: what was kept is not used."""

import os
import zipfile
from pathlib import Path

import pytest

from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.storage.s3_server import serve

CASE = "v8_mor_nbcc"  # without a metadata table, so that its folders are listed
OLD, NEW = "n989", "n000"  # a name in one of the log files, and its later value


@pytest.fixture
def s3(tmp_path):
    with zipfile.ZipFile(GOLDEN / CASE / "table.zip") as archive:
        archive.extractall(tmp_path / "lake")
    with serve(tmp_path / "lake") as server:
        yield server


def replace_log_file(folder: Path) -> None:
    """Write another log file of the same name and size, ten seconds later."""
    (log,) = (p for p in folder.rglob(".*.log.*") if OLD.encode() in p.read_bytes())
    then = log.stat().st_mtime + 10
    log.write_bytes(log.read_bytes().replace(OLD.encode(), NEW.encode()))
    os.utime(log, (then, then))


@pytest.mark.parametrize("cache", ["disk", "memory"])
def test_replaced_log_file_is_merged_once_more_at_no_other_request(cache, s3, tmp_path):
    keys = {"access_key": "AKID", "secret_key": "very-secret-key", "region": "eu-north-1"}
    path, options = f"s3://lake/{CASE}", {**keys, "endpoint_override": s3.endpoint}
    table = HudiTable(path, storage_options=options)

    def names() -> list[str]:
        scan = table.scan(["name"], merge_cache=cache, merge_cache_folder=str(tmp_path / "kept"))
        return sorted(scan.to_arrow()["name"].to_pylist())

    before = names()
    s3.paths.clear()
    assert names() == before
    assert not any(".log." in path for path in s3.paths)
    requests = len(s3.paths)
    replace_log_file(s3.folder / CASE)
    after = sorted(NEW if name == OLD else name for name in before)
    assert names() == after != before
    s3.paths.clear()
    assert names() == after
    assert len(s3.paths) == requests
