"""Executors need pyarrow, numpy and fastavro, and nothing else: a process that refuses the rest."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from hudi_pyspark import HudiTable

PROJECT = Path(__file__).resolve().parents[2]
# Reads pickled tasks as an executor does. What pyarrow looks for and can do without is refused too.
EXECUTOR = """
import sys

class Refusing:
    allowed = {*sys.stdlib_module_names, "pyarrow", "numpy", "fastavro", "hudi_pyspark"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.allowed and not name.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())

import pickle
scans = pickle.load(sys.stdin.buffer)
from hudi_pyspark.reading.read_task import read_task
rows = [sum(t.num_rows for task in tasks for t in read_task(task, at)) for tasks, at in scans]
driver = ["scan", "table.view", "table.archive", "table.commit_history", "table.listing", "options"]
driver += ["planning", "inspection", "doctor", "cli", "spark.datasource"]
loaded = [name for name in driver if f"hudi_pyspark.{name}" in sys.modules]
print(rows, loaded)
"""
CASES: dict[str, dict[str, Any]] = {  # options of the scan
    "v9_mor_compaction_inline": {},
    "v9_mor_logblock_parquet": {},
    "v9_mor_logblock_hfile": {},
    "v6_mor_payload_awsdms": {},
    "v9_mor_cdc_data_before_after": {"begin": "000", "cdc": "true"},
}


def test_reading_tasks_imports_only_the_declared_packages(golden_table):
    scans = [HudiTable(str(golden_table(case))).scan(**CASES[case]) for case in CASES]
    expected = [scan.to_arrow().num_rows for scan in scans]
    assert min(expected) > 0
    done = subprocess.run(
        [sys.executable, "-c", EXECUTOR],
        cwd=PROJECT,
        input=pickle.dumps([(scan.plan(), scan.storage) for scan in scans]),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().strip() == f"{expected} []"
