"""Commits and explanations, by what Apache Hudi's own files say."""

from __future__ import annotations

import json

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, UnsupportedTableError
from tests.conftest import GOLDEN


@pytest.fixture
def table(golden_table):
    return HudiTable(str(golden_table("v9_mor_compaction_inline")))


def test_commits_are_those_of_the_case_in_order(table):
    listed = json.loads((GOLDEN / "v9_mor_compaction_inline" / "case.json").read_text())["timeline"]
    commits = table.inspect.commits().to_pylist()
    found = [f"{c['requested_time']}_{c['completion_time']}.{c['action']}" for c in commits]
    assert found == [name for name in listed if name.endswith("commit")]


def test_commit_tells_what_it_wrote(table):
    first = table.inspect.commits().to_pylist()[0]
    assert first["operation"] in ("INSERT", "BULK_INSERT", "UPSERT")
    queries = json.loads((GOLDEN / "v9_mor_compaction_inline" / "case.json").read_text())["queries"]
    assert first["inserts"] == next(q["rows"] for q in queries if q["name"] == "as_of_c1")
    assert (first["updates"], first["deletes"]) == (0, 0)


def test_explanation_names_instants_files_and_merge(table):
    text = table.scan(columns=["id"]).explain()
    assert "MERGE_ON_READ, version 9" in text
    assert f"latest, {table.last_instant}" in text
    assert "EVENT_TIME_ORDERING, by ts" in text
    assert "columns    id" in text


def test_explanation_of_a_range_names_its_bounds(table):
    commits = table.inspect.commits().to_pylist()
    begin, end = commits[0]["completion_time"], commits[2]["completion_time"]
    text = table.scan(begin=begin, end=end).explain()
    assert f"completion times after {begin} up to {end}, inclusive (2 commits)" in text


def test_explanation_of_time_travel_names_the_instant(table):
    instant = table.inspect.commits().to_pylist()[0]["requested_time"]
    assert f"up to {instant}, inclusive" in table.scan(as_of=instant).explain()


def test_begin_makes_the_query_incremental(table):
    begin = table.inspect.commits().to_pylist()[-2]["completion_time"]
    times = set(table.scan(begin=begin).to_arrow().column("_hoodie_commit_time").to_pylist())
    assert times <= {table.last_instant}


def test_begin_contradicts_a_snapshot(table):
    with pytest.raises(InvalidOptionError, match="needs hoodie"):
        table.scan(begin="earliest", query_type="snapshot")


def test_changes_of_a_table_without_cdc_are_refused(table):
    with pytest.raises(UnsupportedTableError, match="keeps no changes"):
        table.changes()
