"""Python workers that reach a limit on their memory, or are killed as by a system that lacks it."""

import json
import os

import pytest

from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.imported_function import ALLOWED
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.golden.case import load_case
from tests.spark.deployment import client
from tests.table.tiny_table import TinyTable, log
from tests.wide_schemas import META, fields

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_environment")]

VERSIONS = 250  # of one record in one log block, a megabyte each
# The operating system limits the address space of each worker that reads. To load all modules it
# needs 600 MiB, and to read the block about 1.5 GiB; planning has its own limit.
LIMIT = "1000m"
LIMITED = """
import json, sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.executor.pyspark.memory", sys.argv[2])
builder = builder.config("spark.sql.planner.pythonExecution.memory", "4096")
spark = builder.getOrCreate()
try:
    frame = spark.read.format("hudi-py").load(sys.argv[1])
    answers = {"rows": [[row._hoodie_record_key, row.text] for row in frame.collect()]}
except Exception as error:
    answers = {"error": str(error)}
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture(scope="module")
def large_block(tmp_path_factory):
    """A table of one file slice, which takes a multiple of its one log block to read."""
    schema = {"type": "record", "name": "r", "fields": fields(text="string")}
    texts = ["x" * (1 << 20)] * VERSIONS + ["the last"]
    nulls = dict.fromkeys(f"_hoodie_{name}" for name in META)
    rows = [{**nulls, "_hoodie_record_key": "k", "text": text} for text in texts]
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: "010",
        HeaderKey.SCHEMA: json.dumps(schema),
    }
    content = avro_content(avro_records(schema, rows))
    table = TinyTable(record__merge__mode="COMMIT_TIME_ORDERING")
    path = log("f", "010")
    table.data(path, content=write_block(LogBlockType.AVRO_DATA_BLOCK, header, content))
    without_meta = {**schema, "fields": schema["fields"][len(META) :]}
    table.write("010", "deltacommit", path, extra={"schema": json.dumps(without_meta)})
    folder = tmp_path_factory.mktemp("large_block")
    for name, octets in table.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(octets)
    return folder


@pytest.mark.cluster
def test_file_slice_that_needs_more_memory_than_a_worker_has_fails_the_query(large_block):
    answers = client(LIMITED, str(large_block), LIMIT, timeout=900)
    assert "rows" not in answers
    assert "MemoryError" in answers["error"]  # Python's own, or that of Arrow or numpy
    assert "read_task.py" in answers["error"], "it failed before it read"


def test_file_slice_is_read_with_the_memory_that_it_needs(spark, large_block):
    frame = spark.read.format("hudi-py").load(str(large_block))
    assert [(row["_hoodie_record_key"], row["text"]) for row in frame.collect()] == [
        ("k", "the last")
    ]


CASE = "v6_mor_payload_overwrite_with_latest"
# Ends its worker when it merges for the second time, as the system does that runs out of memory.
MERGER = """
import os, signal
from pathlib import Path

calls = Path(__file__).with_name("calls")


def newest(older, newer):
    with calls.open("a") as file:
        file.write(f"{os.getpid()}\\n")
    if len(calls.read_text().splitlines()) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return newer
"""
RETRIED = """
import json, sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1,4]").config("spark.ui.enabled", "false")
spark = builder.getOrCreate()
source = spark.read.format("hudi-py").option("payload_merger", "killing_merger:newest")
rows = source.load(sys.argv[1]).select("_hoodie_record_key", "a").collect()
print("ANSWERS", json.dumps({"rows": sorted(map(list, rows))}))
spark.stop()
"""


@pytest.mark.cluster
def test_worker_that_is_killed_while_it_reads_leaves_no_rows_and_its_task_is_tried_again(
    tmp_path, monkeypatch
):
    (tmp_path / "killing_merger.py").write_text(MERGER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    monkeypatch.setenv(ALLOWED, "killing_merger")
    table = unpack(CASE, tmp_path)
    set_property(table, "hoodie.compaction.payload.class", "com.acme.MyPayload")
    answers = client(RETRIED, str(table), timeout=900)
    expected = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")
    rows = expected.expected_rows().select(["_hoodie_record_key", "a"]).to_pylist()
    assert answers["rows"] == sorted(list(row.values()) for row in rows)
    first, second, *later = (tmp_path / "calls").read_text().split()
    assert first == second not in later != [], "no worker was killed, or none came after it"
