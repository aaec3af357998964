"""Changes (CDC) of a table that Apache Hudi 1.2.0 downgraded to version 6, and upgraded again.

The changes are those that Apache Hudi 1.2.0 read before the downgrade; after it, it fails on them.
Five delta commits: an insert, two upserts, a delete, an upsert; then the compaction of the
downgrade.
"""

import json
from typing import Any

import pytest

from hudi_pyspark import HudiTable

COMMITS = (
    "20261125162050499",
    "20261125162142665",
    "20261125162232235",
    "20261125162257313",
    "20261125162322004",
)
CHANGES: list[set[tuple[Any, ...]]] = [
    {
        ("i", None, ("k9", "w1")),
        ("u", ("k0", "base"), ("k0", "w1")),
        ("u", ("k1", "base"), ("k1", "w1")),
        ("u", ("k2", "base"), ("k2", "w1")),
    },
    {("u", ("k3", "base"), ("k3", "w2"))},
    {("d", ("k2", "w1"), None), ("d", ("k5", "base"), None)},
    {("u", ("k0", "w1"), ("k0", "w4")), ("u", ("k3", "w2"), ("k3", "w4"))},
]
INSERTS = {("i", None, (f"k{n}", "base")) for n in range(8)}
LATEST = {"k0": "w4", "k1": "w1", "k3": "w4", "k4": "base", "k6": "base", "k7": "base", "k9": "w1"}


@pytest.fixture(params=["cdc_six", "cdc_upgraded_again"])
def table(request, practice_table):
    return HudiTable(practice_table(f"downgraded/{request.param}"))


def changes(scan):
    """Return operation, and key and value before and after, of each change."""

    def image(text):
        row = text and json.loads(text)
        return row and (row["id"], row["v"])

    rows = scan.to_arrow().to_pylist()
    return sorted(
        ((row["op"], image(row["before"]), image(row["after"])) for row in rows), key=repr
    )


def completed(table):
    """Return when the commits completed, by the timeline; the requested time in version 6."""
    rows = table.inspect.timeline().to_pylist()
    times = {row["requested_time"]: row["completion_time"] for row in rows}
    return [times[commit] or commit for commit in COMMITS]


def test_changes_of_each_commit_are_those_of_before_the_downgrade(table):
    times = completed(table)
    for begin, end, expected in zip(times, times[1:], CHANGES, strict=False):
        scan = table.scan(cdc=True, begin=begin, end=end)
        assert changes(scan) == sorted(expected, key=repr)


@pytest.mark.parametrize("begin", ["earliest", "000"])
def test_changes_from_the_beginning_on_have_every_commit_and_none_of_the_compaction(table, begin):
    scan = table.scan(cdc=True, begin=begin, on_missing="fail")
    assert changes(scan) == sorted([*INSERTS, *(c for of in CHANGES for c in of)], key=repr)


def test_commits_after_the_downgrade_change_nothing(table):
    assert changes(table.scan(cdc=True, begin=completed(table)[-1])) == []


def test_rows_and_differences_agree_with_the_changes(table):
    rows = table.scan().to_arrow().to_pylist()
    assert {row["id"]: row["v"] for row in rows} == LATEST
    then = table.scan(as_of=COMMITS[0]).to_arrow().to_pylist()
    assert {row["id"]: row["v"] for row in then} == {f"k{n}": "base" for n in range(8)}
    found = table.diff(COMMITS[0], COMMITS[1])
    assert found.num_rows == len(CHANGES[0])
