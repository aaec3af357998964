"""Base files of a metadata table that are lost, although no commit of its timeline names them.

The rows are those that Apache Hudi reads of the undamaged tables.
"""

import zipfile

import pytest

from hudi_pyspark import HudiTable
from tests.archiver import archive_in
from tests.planning.indexed import EXTRA, answer_of_hudi

METADATA = ".hoodie/metadata/"
# Apache Hudi archived the compactions of the first one before it was downgraded to version 6.
CASES = [
    pytest.param("x_v6w120_mor_rg_downgraded_archived", 0, id="v6_downgraded"),
    pytest.param("x_v6w120_mor_rg_downgraded_archived", 2, id="v6_downgraded_archived"),
    pytest.param("x_v5_mor_old_event", 1, id="v5"),
    pytest.param("x_v8_mor_ix_secondary", 1, id="v8"),
    pytest.param("x_v9_mor_ix_recreated", 1, id="v9"),
]


@pytest.fixture
def unpacked(tmp_path):
    def unpack(name, kept):
        with zipfile.ZipFile(EXTRA / name / "table.zip") as archive:
            archive.extractall(tmp_path)
        if kept:
            archive_in(tmp_path / name, kept, METADATA)
        return tmp_path / name

    return unpack


def keys_of(path):
    columns = ["_hoodie_record_key"]
    return sorted(HudiTable(str(path)).scan(columns).to_arrow()[columns[0]].to_pylist())


def lost_in_turn(path):
    """Remove each base file of the listing, each with each log file, and all, in turn."""
    files = sorted((path / METADATA / "files").glob("*files-*"))
    bases = [file for file in files if ".log." not in file.name]
    pairs = [{base, file} for base in bases for file in files]
    for lost in [*pairs, {*bases}]:
        content = {file: file.read_bytes() for file in lost}
        for file in lost:
            file.unlink()
        yield lost
        for file, before in content.items():
            file.write_bytes(before)


@pytest.mark.parametrize(("name", "kept"), CASES)
def test_lost_base_file_of_the_listing_loses_no_row(unpacked, name, kept, caplog):
    path = unpacked(name, kept)
    expected = sorted(row["_hoodie_record_key"] for row in answer_of_hudi(name)[1])
    assert keys_of(path) == expected
    assert "folders" not in caplog.text
    for lost in lost_in_turn(path):
        assert keys_of(path) == expected, lost


def test_newest_base_file_that_only_the_archive_names_is_told(unpacked, caplog):
    path = unpacked("x_v8_mor_ix_secondary", 1)
    base = max((path / METADATA / "files").glob("files-*.hfile"), key=lambda f: f.name[-20:])
    base.unlink()
    expected = keys_of(path)
    assert f"files are found by listing folders: {path}/{METADATA}files/{base.name}" in caplog.text
    assert expected
    problems = [f.message for f in HudiTable(str(path)).doctor() if f.severity.value == "problem"]
    assert any(base.name in message for message in problems)


@pytest.mark.parametrize(("name", "kept"), CASES)
def test_lost_end_of_a_compaction_loses_no_row(unpacked, name, kept):
    """Its base file looks uncommitted, and what is below it may be of other rules for slices."""
    path = unpacked(name, kept)
    expected = sorted(row["_hoodie_record_key"] for row in answer_of_hudi(name)[1])
    for end in sorted((path / METADATA / ".hoodie").rglob("*.commit")):
        content = end.read_bytes()
        end.unlink()
        assert keys_of(path) == expected, end
        end.write_bytes(content)
