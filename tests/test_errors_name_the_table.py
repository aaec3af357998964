"""Errors about the content of a table say which table, whoever meets them."""

import pytest

from hudi_pyspark import CorruptTimelineError, HudiTable, UnsupportedTableError
from hudi_pyspark.inspection import INSPECTION_TABLES
from tests.damage import set_property, unpack

CASE = "v9_mor_multi_ordering"
# What reads no metadata of completed commits.
WITHOUT_COMMITS = {"cleans", "clustering", "commit_range", "metadata_records", "properties"}
WITHOUT_COMMITS |= {"metadata_validation", "rollbacks", "savepoints", "timeline"}


@pytest.fixture(scope="module")
def cut_commit(tmp_path_factory):
    """A table whose last commit file is cut, and the path of that file."""
    table = unpack(CASE, tmp_path_factory.mktemp("table"))
    file = max(table.glob(".hoodie/timeline/*_*.deltacommit"))
    file.write_bytes(file.read_bytes()[:-100])
    return table, file


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda table: table.schema, id="schema"),
        pytest.param(lambda table: table.columns, id="columns"),
        pytest.param(lambda table: table.history("k"), id="history"),
        pytest.param(lambda table: table.scan(), id="scan"),
        pytest.param(lambda table: table.lookup("k"), id="lookup"),
    ],
)
def test_error_about_a_cut_commit_has_the_full_path_of_its_file(ask, cut_commit):
    path, file = cut_commit
    with pytest.raises(CorruptTimelineError) as raised:
        ask(HudiTable(path))
    assert f"[HUDI_CORRUPT_TIMELINE] {file}: " in str(raised.value)


def test_end_of_a_scan_names_the_plan_that_cannot_be_read(tmp_path):
    path = unpack("v6_cow_clustering_pending", tmp_path)
    (plan,) = path.glob(".hoodie/*.replacecommit.requested")
    plan.write_bytes(plan.read_bytes()[:-100])
    with pytest.raises(CorruptTimelineError) as raised:
        _ = HudiTable(path).scan().end
    assert f"[HUDI_CORRUPT_TIMELINE] {plan}: " in str(raised.value)


@pytest.mark.parametrize("name", sorted(INSPECTION_TABLES.keys() - WITHOUT_COMMITS))
def test_inspection_of_a_cut_commit_has_the_full_path_of_its_file(name, cut_commit):
    path, file = cut_commit
    table = HudiTable(path)
    arguments = {
        "commit_files": [table.last_instant],
        "history": ["f"],
        "log_records": ["f"],
    }
    with pytest.raises(CorruptTimelineError) as raised:
        getattr(table.inspect, name)(*arguments.get(name, []))
    assert f"[HUDI_CORRUPT_TIMELINE] {file}: " in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value", "ask"),
    [
        ("hoodie.table.version", "99", HudiTable),
        ("hoodie.table.base.file.format", "nope", HudiTable),
        ("hoodie.record.merge.mode", "CUSTOM", lambda path: HudiTable(path).scan().count()),
    ],
)
def test_error_about_an_unsupported_table_has_its_path(key, value, ask, tmp_path):
    path = unpack(CASE, tmp_path)
    set_property(path, key, value)
    with pytest.raises(UnsupportedTableError) as raised:
        ask(path)
    assert f"] {path}: " in str(raised.value)
