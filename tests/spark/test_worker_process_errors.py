"""What Spark shows of an error: the message of this package in the first line, no traceback."""

import os
import shutil

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql.datasource import DataSource

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.spark.worker_process import only_message
from tests.spark.frames import load

HIDES = "SPARK_HIDE_TRACEBACK"


class Failing(DataSource):
    @classmethod
    def name(cls):
        return "failing"

    def schema(self):
        raise ValueError("of another source")


def test_process_that_is_no_worker_of_spark_is_left_as_it_is(monkeypatch):
    monkeypatch.delenv("SPARK_PYTHON_RUNTIME", raising=False)
    monkeypatch.delenv(HIDES, raising=False)
    with pytest.raises(CorruptTableError), only_message():
        raise CorruptTableError("cut")
    assert HIDES not in os.environ


def test_worker_hides_only_what_is_above_messages_of_this_package(monkeypatch):
    monkeypatch.setenv("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
    monkeypatch.setenv(HIDES, "")
    with pytest.raises(ValueError, match="other"), only_message():
        raise ValueError("other")
    assert os.environ[HIDES] == ""
    with pytest.raises(RuntimeError), only_message():
        raise RuntimeError("as Spark takes it") from CorruptTableError("cut")
    assert os.environ[HIDES] == "1"


@pytest.mark.spark
def test_message_stands_in_the_first_line(spark):
    with pytest.raises(AnalysisException) as raised:
        load(spark, "/nowhere")
    lines = str(raised.value).splitlines()
    assert "[HUDI_PATH_NOT_FOUND] /nowhere does not exist" in lines[0]
    assert len(lines) <= 2


@pytest.mark.spark
def test_message_of_a_task_stands_in_the_second_line(spark, golden_table, tmp_path):
    path = shutil.copytree(golden_table("v9_mor_compaction_inline"), tmp_path / "table")
    for log in path.glob("*/.*.log.*"):
        if not log.name.endswith(".crc"):
            log.write_bytes(log.read_bytes()[:-40])
    with pytest.raises(PythonException) as raised:
        load(spark, path, use_metadata_table="false").count()
    lines = str(raised.value).splitlines()
    assert "[HUDI_CORRUPT" in lines[1]
    assert len(lines) <= 3


@pytest.mark.spark
def test_message_of_an_inspection_stands_in_the_second_line(spark, golden_table):
    options = {"inspect": "commit_files", "inspect.instant": "20000101"}
    files = load(spark, golden_table("v9_mor_compaction_inline"), **options)
    with pytest.raises(PythonException) as raised:
        files.count()
    lines = str(raised.value).splitlines()
    assert "[HUDI_INVALID_INSTANT]" in lines[1]
    assert len(lines) <= 3


@pytest.mark.spark
def test_errors_of_other_sources_keep_their_tracebacks(spark):
    spark.dataSource.register(Failing)
    for _ in range(2):
        with pytest.raises(AnalysisException):
            load(spark, "/nowhere")
        with pytest.raises(AnalysisException, match=r"(?s)Traceback.*of another source"):
            spark.read.format("failing").load()
