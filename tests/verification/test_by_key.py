"""Each row that Apache Hudi reads from a golden table is found by its key, with each index."""

from __future__ import annotations

import re
from random import Random

from hudi_pyspark import HudiTable
from hudi_pyspark.options.option import Index
from hudi_pyspark.planning import index_pruning
from tests.conftest import GOLDEN
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.sampling import SAMPLED, sample
from verification.common.by_key import ROW, KeyedTable


def keyed_tables(folder, cases):
    """Golden tables whose full snapshot, with keys, is that of Apache Hudi."""
    deviating = accepted_deviations()
    for case in cases:
        for query in case.queries:
            if query.name == "snapshot" and query.answer is not None and query.key not in deviating:
                rows = query.expected_rows()
                if set(ROW) <= set(rows.schema.names):
                    yield KeyedTable(case.extract(folder), rows)


@SAMPLED
def test_every_row_is_found_by_its_key(tmp_path, is_whole):
    cases = [*load_cases(GOLDEN), *load_cases(GOLDEN.with_name("golden_extra"))]
    chosen = cases if is_whole else sample(cases, "by key", 40)
    tables = [t for t in keyed_tables(tmp_path, chosen) if t.table.config.populate_meta_fields]
    assert len(tables) > len(chosen) // 2
    most = 8 if is_whole else 2
    assert [p for table in tables for p in table.problems(Random(table.path.name), most=most)] == []


def test_row_that_an_index_loses_is_noticed(golden_table, monkeypatch):
    path = golden_table("v9_mor_mdt_indexes")
    table = KeyedTable(path, HudiTable(path).scan(data_skipping=False).to_arrow())

    def losing(_pruner, _metadata, slices):
        return slices[:1], "the record index"

    monkeypatch.setitem(index_pruning._STEPS, Index.RECORD_INDEX, losing)
    found = [*table.problems(Random(1), most=8)]
    for way in ("a filter with {'data_skipping': 'record_index'}", "lookup", "polars", "DuckDB"):
        lost = re.compile(f"by {re.escape(way)}: [1-9][0-9]* rows missing")
        assert any(map(lost.search, found)), way
