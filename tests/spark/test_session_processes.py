"""Registering the source: which Python processes Spark starts for it, and with which PySpark."""

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hudi_pyspark.spark import session
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.session import register_source

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource

pytestmark = pytest.mark.spark

# Sources whose rows say where their processes found PySpark, registered in both ways, and a third
# one that Spark finds by itself.
SCRIPT = """
import json, os, sys
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.functions import udf
from hudi_pyspark.spark.optimizer import log_once
from hudi_pyspark.spark.session import register_source

def seen():
    import pyspark, sys
    own = getattr(sys, "sitecustomize_of_the_user", False)
    return json.dumps([pyspark.__file__, own, "/of/the/executor" in sys.path])

class Reader(DataSourceReader):
    def __init__(self, created):
        self.places = {"create": created}
    def partitions(self):
        return [InputPartition(self.places | {"plan": seen()})]
    def read(self, partition):
        yield (json.dumps(partition.value | {"read": seen()}),)

class OwnSource(DataSource):
    @classmethod
    def name(cls):
        return "hudi-py"
    def schema(self):
        self.options["seen"] = seen()
        return "places string"
    def reader(self, schema):
        return Reader(self.options["seen"])

class OtherSource(OwnSource):
    @classmethod
    def name(cls):
        return "other"

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.executorEnv.PYTHONPATH", "/of/the/executor").getOrCreate()
answers = {"replaced": register_source(spark, OwnSource)}
places = lambda name: json.loads(spark.read.format(name).load().head()[0])
if answers["replaced"]:
    answers["own"] = places("hudi-py")
processes = spark._jvm.java.lang.ProcessHandle.current().descendants().toArray()
lines = [process.info().commandLine().orElse("") for process in processes]
answers["lookups"] = sum("lookup_data_sources" in line for line in lines)
spark.dataSource.register(OtherSource)
answers["other"] = places("other")
answers["function"] = {"udf": spark.range(1).select(udf(seen)()).head()[0]}
answers["found"] = spark.read.format("found").load().count()
print("ANSWERS", json.dumps(answers))
spark.stop()
"""
FOUND = """
from pyspark.sql.datasource import DataSource, DataSourceReader
class Reader(DataSourceReader):
    def read(self, partition):
        yield (1,)
class DefaultSource(DataSource):
    @classmethod
    def name(cls):
        return "found"
    def schema(self):
        return "n int"
    def reader(self, schema):
        return Reader()
"""


@pytest.fixture(scope="module")
def answers(spark_environment, tmp_path_factory):  # noqa: ARG001
    folder = tmp_path_factory.mktemp("paths")
    (folder / "sitecustomize.py").write_text("import sys; sys.sitecustomize_of_the_user = True")
    (folder / "pyspark_found.py").write_text(FOUND)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("ANSWERS "))
    return json.loads(line.removeprefix("ANSWERS "))


def places(processes):
    return {stage: json.loads(seen) for stage, seen in processes.items()}


@pytest.fixture
def own_processes(answers):
    if not answers["replaced"]:
        pytest.skip("Spark 4.0 keeps the source that it finds by itself")
    return places(answers["own"])


def test_processes_of_the_source_import_the_installed_pyspark(own_processes):
    assert set(own_processes) == {"create", "plan", "read"}
    assert not any("pyspark.zip" in origin for origin, *_ in own_processes.values())


def test_processes_of_the_source_have_the_path_and_the_sitecustomize_of_the_user(own_processes):
    assert all(settings == [True, True] for _, *settings in own_processes.values())


def test_registering_and_reading_start_no_process_that_looks_for_sources(answers, own_processes):
    assert own_processes
    assert answers["lookups"] == 0


def test_processes_of_other_sources_and_functions_are_those_of_spark(answers):
    processes = places(answers["other"] | answers["function"])
    assert set(processes) == {"create", "plan", "read", "udf"}
    assert all("pyspark.zip" in origin for origin, *_ in processes.values())
    assert all(settings == [True, True] for _, *settings in processes.values())


def test_installed_source_of_another_package_is_found_later(answers):
    assert answers["found"] == 1


@pytest.mark.parametrize("error", [AttributeError("dataSourceManager"), TypeError("Java package")])
def test_session_without_a_private_part_registers_by_the_public_method(
    spark, monkeypatch, caplog, error
):
    def fail(*_: object) -> bool:
        raise error

    monkeypatch.setattr(session, "_register_in_jvm", fail)
    registered: list[type[DataSource]] = []
    monkeypatch.setattr(type(spark.dataSource), "register", lambda _, each: registered.append(each))
    with caplog.at_level("INFO", "hudi_pyspark"):
        assert register_source(spark, HudiDataSource)
    assert registered == [HudiDataSource]
    reason = f"{type(error).__name__}: {error}"
    assert f"since a part of Spark is out of reach: {reason}" in caplog.text
