"""Names in a table's metadata that lead out of the table are refused before anything is opened."""

import json
import pickle
import re

import pytest

from hudi_pyspark import (
    CorruptTableError,
    HudiError,
    HudiTable,
    MissingFileError,
    PathOutsideTableError,
)
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.archive import load_archive
from hudi_pyspark.table.confined_storage import ConfinedStorage
from tests.damage import set_property, unpack
from tests.memory_storage import MemoryStorage

OUTSIDE = [
    "..",
    "../other/file",
    "a/../../other",
    "a/..",
    "/etc/passwd",
    "\\server\\share",
    "..\\other",
    "a\\..\\..\\other",
    "%2e%2e/other",
    "a/%2E./b",
    "..%2fother",
    "s3://bucket/file",
    "file:///etc/passwd",
    "a\0b",
    "a\ud800",
]
INSIDE = ["", "a", "a/b.parquet", ".hoodie/x", "a..b/..c", "a=1%2F2", "http:/x", "ä/%25", "a:b//c"]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("call", ["list_directory", "read_bytes", "open_input"])
def test_path_that_leads_out_is_refused_by_name(path, call):
    storage = ConfinedStorage(MemoryStorage({path: b"secret"}))
    with pytest.raises(PathOutsideTableError, match="not inside the table") as raised:
        getattr(storage, call)(path)
    assert repr(path) in str(raised.value)


@pytest.mark.parametrize("path", INSIDE)
def test_path_that_stays_inside_is_passed_on_as_it_is(path):
    storage = ConfinedStorage(MemoryStorage({path: b"content"}))
    assert storage.read_bytes(path) == b"content"
    assert storage.open_input(path).read() == b"content"


def test_it_is_the_storage_that_it_wraps_in_all_else(tmp_path):
    (tmp_path / "f").write_bytes(b"1")
    inner = ArrowStorage.parse(str(tmp_path))
    storage = pickle.loads(pickle.dumps(ConfinedStorage(inner)))
    assert [file.name for file in storage.list_directory("")] == ["f"]
    assert (storage.is_local, storage.describe("f")) == (True, f"{tmp_path}/f")
    assert storage.at(str(tmp_path)).read_bytes("f") == b"1"


def with_secret(tmp_path, case="v6_cow_all_types"):
    """A table, and beside it a file that a reader could take for a part of it."""
    table = unpack(case, tmp_path)
    base = max(table.glob("p0/*.parquet"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / base.name).write_bytes(base.read_bytes())
    return table, base


def test_commit_that_names_files_outside_opens_none_of_them(tmp_path):
    table, base = with_secret(tmp_path)
    time = base.stem.rpartition("_")[2]
    for file in table.glob(f".hoodie/{time}.commit"):
        commit = json.loads(file.read_bytes())
        commit["partitionToWriteStats"] = {
            "../other": [
                {**stat, "path": f"../other/{base.name}", "partitionPath": "../other"}
                for stats in commit["partitionToWriteStats"].values()
                for stat in stats
            ]
        }
        file.write_text(json.dumps(commit))
    with pytest.raises((PathOutsideTableError, MissingFileError)) as raised:
        HudiTable(str(table)).scan().to_arrow()
    assert "../other" in str(raised.value)


@pytest.mark.parametrize("key", ["hoodie.timeline.path", "hoodie.timeline.history.path"])
def test_properties_that_put_the_timeline_outside_are_refused(tmp_path, key):
    table = unpack("v9_mor_archived", tmp_path)
    set_property(table, key, "../../other")
    with pytest.raises(HudiError) as raised:
        HudiTable(str(table)).inspect.timeline(archived=True)
    assert isinstance(raised.value, PathOutsideTableError)


def test_manifest_that_names_a_history_file_outside_is_refused():
    manifest = json.dumps({"files": [{"fileName": "../../../other.parquet"}]}).encode()
    storage = ConfinedStorage(MemoryStorage({"h/_version_": b"1", "h/manifest_1": manifest}))
    with pytest.raises(PathOutsideTableError, match=r"other\.parquet"):
        load_archive(storage, 2, ["h"])


@pytest.mark.parametrize("folder", ["d/" * 3_000 + "p", "p" * 300, "f/p"])
def test_names_that_the_operating_system_refuses_are_named(tmp_path, folder):
    table = unpack("v6_cow_all_types", tmp_path)
    (table / "f").write_bytes(b"")
    for file in table.glob(".hoodie/*.commit"):
        commit = json.loads(file.read_bytes())
        stats, *_ = commit["partitionToWriteStats"].values()
        path = f"{folder}/{stats[0]['path'].rpartition('/')[2]}"
        commit["partitionToWriteStats"][folder] = [{**stats[0], "path": path}]
        file.write_text(json.dumps(commit))
    said = r"names the path .{,600}Restore|committed .* not on the storage"
    for read in (HudiTable(str(table)).scan().plan, HudiTable(str(table)).scan().to_arrow):
        with pytest.raises(CorruptTableError, match=said):
            read()
    assert any(re.search(said, f.message) for f in HudiTable(str(table)).doctor())


def test_partition_that_is_a_file_is_named(tmp_path):
    table = unpack("v6_cow_all_types", tmp_path)
    (table / "p0").rename(tmp_path / "p0")
    (table / "p0").write_bytes(b"")
    with pytest.raises(CorruptTableError, match="'p0', which cannot be opened: Not a directory"):
        HudiTable(str(table)).scan().count()
    assert any("Not a directory" in f.message for f in HudiTable(str(table)).doctor())


def test_link_of_the_callers_own_making_is_followed(tmp_path):
    table, _ = with_secret(tmp_path)
    rows = HudiTable(str(table)).scan().count()
    link = tmp_path / "link"
    link.symlink_to(table)
    assert HudiTable(f"{link}/../link").scan().count() == rows
