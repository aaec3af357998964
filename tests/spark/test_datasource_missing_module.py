"""A worker whose Python lacks a module."""

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules["{module}"] = None
from hudi_pyspark import MissingModuleError
from hudi_pyspark.spark.datasource import HudiDataSource
try:
    HudiDataSource({{"path": "/no/such/table"}}).schema()
except MissingModuleError as error:
    print(error)
"""


@pytest.mark.parametrize("module", ["pyarrow", "fastavro"])
def test_module_that_a_worker_lacks_is_named_with_its_python(module):
    code = CODE.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith(f"[HUDI_MISSING_MODULE] {sys.executable}, the Python of ")
    assert f"has no module {module}." in done.stdout
    assert "PYSPARK_PYTHON in the environment, or the setting spark.pyspark.python" in done.stdout
