"""The examples run as they are shipped, and show what Apache Hudi reads from the same table."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Rows that Apache Hudi 1.2.0 returns (golden case v9_mor_part_basic).
COUNTS = [("snapshot", 47), ("read_optimized", 50), ("time travel", 30)]


def run_demo(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), *arguments],
        cwd=EXAMPLES.parent,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--without-spark"], id="without-spark"),
        pytest.param([], id="with-spark", marks=pytest.mark.spark),
    ],
)
def test_demo_shows_the_rows_that_hudi_reads(request, arguments):
    if not arguments:
        request.getfixturevalue("spark_environment")
    shown = run_demo(*arguments)
    for view, rows in COUNTS:
        assert re.search(rf"^{view} +{rows} rows", shown, re.MULTILINE)
    assert re.search(r"k0000\W+n692\W+50\.664\W+89\W+120\W+emea", shown)


def test_demo_without_java_says_what_is_missing():
    assert "needs Java 17 or newer" in run_demo("--without-spark")


# What Apache Hudi 1.2.0 returns (golden cases v9_mor_part_basic, v9_mor_cdc_data_before_after).
NOTEBOOKS = {
    "quickstart.ipynb": "{'snapshot': 47, 'read optimized': 50, 'after the first commit': 30}",
    "changes.ipynb": (
        "{'incremental': 3, 'changes': 10, 'streamed': (20, 20), "
        "'operations': {'d': 3, 'i': 12, 'u': 5}}"
    ),
}


@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
@pytest.mark.filterwarnings("default")  # Jupyter's own warnings are not ours to mend
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_from_top_to_bottom(name):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    resources = {"metadata": {"path": str(EXAMPLES)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    results = [
        " ".join(output["data"]["text/plain"].split())
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "execute_result"
    ]
    assert NOTEBOOKS[name] in results


def test_every_notebook_is_run():
    assert {path.name for path in EXAMPLES.glob("*.ipynb")} == set(NOTEBOOKS)
