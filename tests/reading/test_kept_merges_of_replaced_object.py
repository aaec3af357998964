"""Files in a store of objects are replaced by others of equal size: what was kept is not used."""

import os
import time
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.storage.s3_server import serve

CASE = "v8_mor_nbcc"  # without a metadata table, so that its folders are listed
OLD, NEW = "n989", "n000"  # a name in one of the log files, and its later value
ORDERS = Path(__file__).parents[2] / "examples" / "data" / "orders.zip"  # with a metadata table


@pytest.fixture
def s3(tmp_path):
    for path in (GOLDEN / CASE / "table.zip", ORDERS):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / "lake")
    hour_ago = int(time.time()) - 3600
    for file in (tmp_path / "lake").rglob("*"):
        os.utime(file, (hour_ago, hour_ago))
    with serve(tmp_path / "lake") as server:
        yield server


def open_table(s3, name: str) -> HudiTable:
    keys = {"access_key": "AKID", "secret_key": "very-secret-key", "region": "eu-north-1"}
    return HudiTable(
        f"s3://lake/{name}", storage_options={**keys, "endpoint_override": s3.endpoint}
    )


def replace_log_file(folder: Path, old: str = OLD) -> None:
    """Write another log file of the same name and size, ten seconds later."""
    (log,) = (p for p in folder.rglob(".*.log.*") if old.encode() in p.read_bytes())
    then = log.stat().st_mtime + 10
    log.write_bytes(log.read_bytes().replace(old.encode(), NEW.encode()))
    os.utime(log, (then, then))


@pytest.mark.parametrize("cache", ["disk", "memory"])
def test_replaced_log_file_is_merged_once_more_at_no_other_request(cache, s3, tmp_path):
    table = open_table(s3, CASE)

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


@pytest.mark.parametrize("cache", ["disk", "memory"])
@pytest.mark.parametrize("kind", ["log", "base"])
def test_replaced_file_of_a_metadata_table_is_merged_once_more(kind, cache, s3, tmp_path):
    (log,) = s3.folder.glob("orders/emea/.*_20261121062610762.log.*")  # has k0012
    (base,) = s3.folder.glob(f"orders/emea/{log.name[1:].partition('_')[0]}*.parquet")
    rows = pq.read_table(base).replace_schema_metadata(None)
    if kind == "base":  # with plain texts
        pq.write_table(rows, base, compression="none", use_dictionary=False)
    table = open_table(s3, "orders")

    def scan(columns=None):
        folder = str(tmp_path / "kept")
        return table.scan(columns, merge_cache=cache, merge_cache_folder=folder)

    def keys() -> set[str]:
        return set(scan(["id"]).to_arrow()["id"].to_pylist())

    before = keys()
    count = scan().count()
    reads: list[str] = []
    s3.before_read = reads.append
    assert (keys(), scan().count()) == (before, count)
    assert not any(".log." in path for path in reads)
    changed = log
    old = "k0012"
    if kind == "base":
        logs = b"".join(p.read_bytes() for p in log.parent.glob(f"{log.name[:30]}*"))
        changed = base
        old = next(k for k in rows["id"].to_pylist() if k.encode() not in logs)
    changed.write_bytes(changed.read_bytes().replace(old.encode(), b"k9012"))
    assert (keys(), scan().count()) == (before - {old} | {"k9012"}, count)
