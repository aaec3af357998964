"""The page about Spark's private parts names each that the package uses, and tests that exist."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from hudi_pyspark.spark.optimizer import CORE, PARTS
from tests.project.private_spark import names_of_java, names_of_python, used_names

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "private-parts-of-spark.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| `") and line.count(" | ") == 2
]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_private_name_is_on_the_page_and_no_other():
    listed: dict[str, set[str]] = defaultdict(set)
    used: dict[str, set[str]] = defaultdict(set)
    for file, names, _ in ROWS:
        listed[quoted(file)[0]].update(quoted(names))
    for source, private_names in used_names().items():
        is_core = source.endswith(".java") and Path(source).stem in CORE
        used["jvm/" if is_core else source].update(private_names)
    assert listed == used


def test_page_says_what_is_different_without_each_part():
    for name, part in PARTS.items():
        assert f"| `{name}.java` | {part.otherwise} |" in PAGE


@pytest.mark.parametrize("test", sorted({quoted(row[-1])[0] for row in ROWS}))
def test_test_that_notices_exists(test):
    path, _, function = test.partition("::")
    assert f"\ndef {function}(" in (PROJECT / path).read_text(encoding="utf-8")


def test_names_of_python_are_private_attributes_modules_and_replaced_methods():
    text = """
from pyspark.sql.connect.plan import LogicalPlan
from pyspark.sql import SparkSession
def use(self, client, spark):
    self._own = client._stub
    client.execute_command = getattr(client, "_hook", None)
    spark.version
"""
    assert set(names_of_python(text)) == {
        "pyspark.sql.connect.plan.LogicalPlan",
        "_stub",
        "execute_command",
        "_hook",
    }


def test_names_of_java_are_imports_and_reflection():
    text = """
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.StructType;
import java.util.Map;
  Object ds = get(scan, "ds");
  String path = options.get("path");
  set(
      fresh,
      "dataSourceInPython", null);
  inPython.getClass().getMethod("schema");
  Reflection.set(stream, "outputSchema", schema);
  scala.collection.immutable.Seq none;
  metastore.listeners();
"""
    names = {"Rule", "ds", "dataSourceInPython", "schema", "outputSchema", "Seq", "listeners"}
    assert set(names_of_java(text)) == names
