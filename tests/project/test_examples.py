"""The examples run as they are shipped, and show what Apache Hudi reads from the same table."""

import json
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


# What Apache Hudi 1.2.0 returns (golden cases v9_mor_part_basic, v9_mor_cdc_data_before_after,
# v9_mor_schema_evolution, v9_mor_schema_on_read).
NOTEBOOKS = {
    "quickstart.ipynb": "{'snapshot': 47, 'read optimized': 50, 'after the first commit': 30}",
    "changes.ipynb": (
        "{'incremental': 3, 'changes': 10, 'streamed': (20, 20), "
        "'operations': {'d': 3, 'i': 12, 'u': 5}}"
    ),
    "query_types.ipynb": (
        "{'snapshot': 47, 'read optimized': 50, 'not merged': 68, 'time travel': 30, "
        "'incremental': 28}"
    ),
    "tuning.ipynb": "{'all': 47, 'filtered': (9, 9), 'tasks': (7, 2), 'incremental': 3}",
}
NOTEBOOKS_WITHOUT_SPARK = {
    "time_travel_and_incremental.ipynb": (
        "{'as of': [30, 48, 48, 0, 47], 'after': [47, 28, 25, 3, 0]}"
    ),
    "schema_evolution.ipynb": (
        "{'measures': (11, 9), 'products': 5, "
        "'columns then': ['id', 'name', 'price', 'qty', 'note', 's', 'ts', 'region'], "
        "'columns now': ['id', 'added', 'title', 'price', 'qty', 's', 'ts', 'region', 'note']}"
    ),
    "looking_inside.ipynb": (
        "{'instants': 6, 'file groups': 7, 'log files': 17, 'base': [['n42', None, 100]], "
        "'merged': [['n692', 89, 120]]}"
    ),
}


def results_of(name: str) -> list[str]:
    """What the cells of a notebook show, run from top to bottom."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    resources = {"metadata": {"path": str(EXAMPLES)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    return [
        " ".join(output["data"]["text/plain"].split())
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "execute_result"
    ]


@pytest.mark.notebook
@pytest.mark.usefixtures("spark_environment")
@pytest.mark.filterwarnings("default")  # Jupyter's own warnings are not ours to mend
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_from_top_to_bottom(name):
    assert NOTEBOOKS[name] in results_of(name)


@pytest.mark.notebook
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NOTEBOOKS_WITHOUT_SPARK)
def test_notebook_without_spark_runs_from_top_to_bottom(name, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    assert NOTEBOOKS_WITHOUT_SPARK[name] in results_of(name)


def test_every_notebook_is_run():
    shipped = {path.name for path in EXAMPLES.glob("*.ipynb")}
    assert shipped == {*NOTEBOOKS, *NOTEBOOKS_WITHOUT_SPARK}


def test_notebooks_ship_without_outputs():
    for path in EXAMPLES.glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert [cell["id"] for cell in cells if cell.get("outputs")] == [], path.name
