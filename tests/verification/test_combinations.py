"""A few of the combinations that `make index-combinations` tries; it tries very many."""

import re

import pytest

from hudi_pyspark import Scan
from hudi_pyspark.options.option import Index
from hudi_pyspark.planning import index_pruning
from tests.sampling import SAMPLED
from verification.index_combinations import (
    indexed_queries,
    slices_left_out_by,
    try_combinations,
)

# As Apache Hudi logs it, for a range whose begin is archived.
pytestmark = pytest.mark.filterwarnings("ignore:incremental query of:UserWarning")

LOST = re.compile(": [1-9][0-9]* rows missing")


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    return list(indexed_queries(tmp_path_factory.mktemp("indexed")))


def test_queries_have_the_rows_of_hudi_without_filter_and_indexes(queries):
    """Otherwise a deviation is not listed, or no combination of the query would say anything."""
    found = {indexed.query.key: indexed.difference() for indexed in queries}
    assert {key: problem for key, problem in found.items() if problem} == {}
    assert len(found) > 300


@SAMPLED
def test_no_combination_of_filter_and_indexes_loses_a_row(queries, is_whole):
    tables = {indexed.query.case for indexed in queries}
    assert {"x_v9_mor_ix_stats", "x_v8_mor_ix_secondary", "v6_mor_mdt_indexes"} <= tables
    count = 400 if is_whole else 200
    run = try_combinations(queries, count, seed=3)
    assert run.findings == []
    assert run.asked >= count
    assert run.notes[slices_left_out_by("column statistics")] > count // 8
    assert run.notes[slices_left_out_by("the record index")] > count // 80


def test_index_that_leaves_out_too_much_is_noticed(queries, monkeypatch):
    def all_but_one(_pruner, _metadata, slices):
        return slices[1:], ""

    monkeypatch.setitem(index_pruning._STEPS, Index.COLUMN_STATS, all_but_one)
    run = try_combinations(queries, 100, seed=1)
    assert any(LOST.search(finding.text) for finding in run.findings)


def test_row_that_a_read_loses_is_noticed(queries, monkeypatch):
    read = Scan.to_arrow
    monkeypatch.setattr(Scan, "to_arrow", lambda scan: read(scan).slice(1))
    run = try_combinations(queries, 100, seed=1)
    assert any(LOST.search(finding.text) for finding in run.findings)
