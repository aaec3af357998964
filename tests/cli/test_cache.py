"""`cache show`, `cache clear`, and what explanations and the doctor say of kept merges."""

import json

import pytest

from hudi_pyspark import HudiTable
from tests.cli.command import in_process
from tests.damage import unpack


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return str(unpack("v9_mor_clustering", tmp_path))


def shown(*arguments):
    return json.loads(in_process("cache", "show", "-o", "json", *arguments).out)


def test_kept_merges_are_shown_and_removed(table, tmp_path):
    assert shown()["files"] == 0
    before = in_process("count", table).out
    for _ in range(2):
        assert in_process("count", table, "--option", "merge_cache=disk").out == before
    kept = shown()
    assert kept["folder"].startswith(str(tmp_path / "caches"))
    assert kept["files"] > 0
    assert kept["total_bytes"] > 0
    assert kept["last_use"].startswith("20")
    assert f"removed {kept['files']} files" in in_process("cache", "clear").out
    assert shown()["files"] == 0


def test_other_folder(table, tmp_path):
    folder = str(tmp_path / "other")
    options = ("--option", "merge_cache=disk", "--option", f"merge_cache_folder={folder}")
    in_process("count", table, *options)
    assert shown()["files"] == 0
    assert shown("--folder", folder)["files"] > 0


def test_doctor_and_explanation_count_kept_merges(table):
    slices = HudiTable(table).inspect.file_slices()["log_count"].to_pylist()
    merges = sum(count > 0 for count in slices)
    assert merges > 0
    scan = HudiTable(table).scan(merge_cache="disk")
    assert f"kept       0 of {merges} slices merged before" in scan.explain()
    assert "slices merged before" not in in_process("doctor", table).out
    scan.count()
    said = f"{merges} of {merges} slices merged before"
    assert said in scan.explain()
    assert said in in_process("doctor", table).out
    warm = HudiTable(table)
    assert f"0 of {merges} slices" in warm.scan().explain()
    warm.scan().count()
    assert said in warm.scan().explain()
    assert "merged before" not in warm.scan(merge_cache="off").explain()
