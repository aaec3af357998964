"""The examples run as they are shipped, and show what Apache Hudi reads from the same table.

REWRITE_NOTEBOOKS=1 with `-m notebook` stores the outputs of the notebooks anew.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.storage.s3_server import serve

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Rows that Apache Hudi 1.2.0 returns (golden case v9_mor_part_basic).
COUNTS = [("snapshot", 47), ("read_optimized", 50), ("time travel", 30)]


def run_demo(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), *arguments],
        cwd=folder,
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
        pytest.param([], id="with-spark", marks=pytest.mark.cluster),
    ],
)
def test_demo_shows_the_rows_that_hudi_reads(request, monkeypatch, tmp_path, arguments):
    if not arguments:
        request.getfixturevalue("spark_environment")
    shown = run_demo(tmp_path, *arguments)
    assert ("needs Java 17 or newer" in shown) == bool(arguments)
    for view, rows in COUNTS:
        assert re.search(rf"^{view} +{rows} rows", shown, re.MULTILINE)
    assert re.search(r"k0000\W+n692\W+50\.664\W+89\W+120\W+emea", shown)
    # The next step that it prints works where it was run.
    (line,) = re.findall(r"^>>> (HudiTable\(.*filter.*\))$", shown, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    assert {*eval(line, {"HudiTable": HudiTable})["region"].to_pylist()} == {"emea"}


PIPELINE = """\
name: orders
storage: {folder}/checkpoints
libraries:
  - glob: {{include: pipelines.py}}
  - glob: {{include: shown.py}}
configuration:
  orders.path: {folder}/orders_cdc
  orders.copy: lake.sales.orders
  spark.sql.catalog.lake: MergeableTables
"""
# The tables of that catalog are gone with the pipeline.
SHOWN = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

@dp.materialized_view
def orders_copy():
    return SparkSession.active().read.table("lake.sales.orders")
"""


def mergeable_tables(folder: Path, spark_home: Path) -> Path:
    """Return a jar with the catalog: no connector with tables for MERGE runs on Spark 4.3 yet."""
    javac = Path(os.environ["JAVA_HOME"], "bin", "javac")
    if not javac.exists():
        pytest.skip("the catalog of the copy is compiled by a JDK")
    source = Path(__file__).parents[1] / "spark" / "MergeableTables.java"
    given = ["-nowarn", "-cp", f"{spark_home / 'jars'}/*", "-d", str(folder / "classes")]
    subprocess.run([str(javac), *given, str(source)], check=True, capture_output=True)
    jar = shutil.make_archive(str(folder / "catalog"), "zip", folder / "classes")
    return Path(jar).rename(folder / "catalog.jar")


@pytest.mark.cluster
@pytest.mark.spark
def test_pipelines_keep_tables_as_apache_hudi_reads_them(request, tmp_path):
    request.getfixturevalue("spark_environment")
    pipelines = pytest.importorskip("pyspark.pipelines", reason="pipelines came with Spark 4.1")
    if not hasattr(pipelines, "create_auto_cdc_flow"):
        pytest.skip("flows of changes came with Spark 4.3")
    spark_home = Path(pipelines.__file__).parents[1]
    jar = mergeable_tables(tmp_path, spark_home)
    shutil.unpack_archive(EXAMPLES / "data" / "orders_cdc.zip", tmp_path)
    shutil.copy(EXAMPLES / "pipelines.py", tmp_path)
    (tmp_path / "shown.py").write_text(SHOWN)
    (tmp_path / "spark-pipeline.yml").write_text(PIPELINE.format(folder=tmp_path.as_uri()))
    done = subprocess.run(
        [str(spark_home / "bin" / "spark-pipelines"), "--conf", f"spark.jars={jar}", "run"],
        cwd=tmp_path,
        env={**os.environ, "SPARK_HOME": str(spark_home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    case = load_case(GOLDEN / "v9_mor_cdc_data_before_after")
    hudi = next(query for query in case.queries if query.name == "snapshot")
    rows = hudi.expected_rows()
    schema = hudi.expected_schema()
    versions, regions, copy = (
        ds.dataset(tmp_path / "spark-warehouse" / name, format="parquet").to_table()
        for name in ("order_versions", "orders_by_region", "orders_copy")
    )
    data = [field for field in schema if not field["name"].startswith("_hoodie_")]
    names = [field["name"] for field in data]
    assert differences(versions.select(names), rows.select(names), data) == []
    counts = dict(zip(*regions.to_pydict().values(), strict=True))
    assert counts == Counter(rows["region"].to_pylist())
    assert differences(copy.select(names), rows.select(names), data) == []


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
        "{'as of': [30, 48, 48, 0, 47], 'after': [47, 28, 25, 3, 0], 'ends': [1, 1, 3, 3, 6]}"
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


def results_of(cells: list[dict[str, Any]]) -> list[str]:
    """What the cells of a notebook show."""
    return [
        " ".join("".join(output["data"]["text/plain"]).split())
        for cell in cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    ]


def run_notebook(name: str) -> list[str]:
    """Run a notebook from top to bottom; returns what its cells show."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    resources = {"metadata": {"path": str(EXAMPLES)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    if os.environ.get("REWRITE_NOTEBOOKS"):
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times
            if "outputs" in cell:
                kept = [out for out in cell.outputs if out.get("name") != "stderr"]
                cell.outputs = kept
        text = nbformat.writes(notebook)
        (EXAMPLES / name).write_text(re.sub(r"/tmp/tmp\w+", "/lake", text) + "\n")
    return results_of(notebook.cells)


@pytest.mark.notebook
@pytest.mark.usefixtures("spark_environment")
@pytest.mark.filterwarnings("default")  # Jupyter's own warnings are not ours to mend
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    shutil.unpack_archive(EXAMPLES / "data" / "orders.zip", tmp_path)
    with serve(tmp_path) as bucket:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", bucket.endpoint)
        shown = run_notebook(name)
    assert NOTEBOOKS[name] in shown
    if name == "quickstart.ipynb":
        assert "{'before the commits': 30, 'after them': 47}" in shown


@pytest.mark.notebook
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NOTEBOOKS_WITHOUT_SPARK)
def test_notebook_without_spark_runs_from_top_to_bottom(name, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    assert NOTEBOOKS_WITHOUT_SPARK[name] in run_notebook(name)


def test_every_notebook_is_run():
    shipped = {path.name for path in EXAMPLES.glob("*.ipynb")}
    assert shipped == {*NOTEBOOKS, *NOTEBOOKS_WITHOUT_SPARK}


@pytest.mark.parametrize("name", [*NOTEBOOKS, *NOTEBOOKS_WITHOUT_SPARK])
def test_notebook_ships_with_its_outputs(name):
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {"error", "stderr"}.isdisjoint(
        {output["output_type"] for output in outputs} | {output.get("name") for output in outputs}
    )
    assert {**NOTEBOOKS, **NOTEBOOKS_WITHOUT_SPARK}[name] in results_of(cells)
    assert not re.search(r"/tmp/|/home/|/root/", "".join(json.dumps(o) for o in outputs))
