"""The examples in docstrings of the public classes run, and the most used methods have one."""

from __future__ import annotations

import doctest

import pytest

from hudi_pyspark import HudiTable, Scan, scan_polars, unpack_demo
from hudi_pyspark.report.report import Report

EXAMPLES = {
    test.name: test
    for kind in (HudiTable, Scan, Report, scan_polars, unpack_demo)
    for test in doctest.DocTestFinder().find(kind)
    if test.examples
}
MOST_USED = {
    "HudiTable",
    *("HudiTable.scan", "HudiTable.changes", "HudiTable.lookup", "HudiTable.diff"),
    *("HudiTable.history", "HudiTable.dataset", "HudiTable.doctor", "HudiTable.report"),
    *("HudiTable.inspect", "Report.save", "Scan.plan", "Scan.explain", "Scan.to_dataset"),
    *("Scan.filter", "Scan.select", "Scan.to_arrow", "Scan.to_batches", "Scan.to_pandas"),
    *("Scan.to_polars", "Scan.to_duckdb", "Scan.head", "Scan.count", "scan_polars"),
}


def test_most_used_methods_have_an_example():
    assert set(EXAMPLES) >= MOST_USED


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_as_printed_in_an_empty_folder(name, tmp_path, monkeypatch, capsys):
    """Examples of methods continue that of `HudiTable`."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(verbose=False)
    for test in (EXAMPLES["HudiTable"], EXAMPLES[name]):
        test.globs = names
        runner.run(test, clear_globs=False)
    assert capsys.readouterr().out == ""
