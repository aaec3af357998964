"""The examples in docstrings of the public classes run, and the most used methods have one."""

from __future__ import annotations

import doctest
import zipfile
from pathlib import Path

import pytest

from hudi_pyspark import HudiTable, Scan, scan_polars

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
EXAMPLES = {
    test.name: test
    for kind in (HudiTable, Scan, scan_polars)
    for test in doctest.DocTestFinder().find(kind)
    if test.examples
}
MOST_USED = {
    "HudiTable",
    *("HudiTable.scan", "HudiTable.changes", "HudiTable.lookup", "HudiTable.diff"),
    *("Scan.filter", "Scan.select", "Scan.to_arrow", "Scan.to_batches", "Scan.to_pandas"),
    *("Scan.to_polars", "Scan.to_duckdb", "Scan.head", "Scan.count", "scan_polars"),
}


@pytest.fixture
def quickstart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with the tables of the quickstart."""
    for name in ("orders", "orders_cdc"):
        with zipfile.ZipFile(DATA / f"{name}.zip") as archive:
            archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)


def test_most_used_methods_have_an_example():
    assert set(EXAMPLES) >= MOST_USED


@pytest.mark.usefixtures("quickstart")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_as_printed(name, capsys):
    test = EXAMPLES[name]
    test.globs = {"HudiTable": HudiTable, "scan_polars": scan_polars, "table": HudiTable("orders")}
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert capsys.readouterr().out == ""
