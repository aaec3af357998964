"""Users' mergers travel to the Python workers of driver and executors."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudi_pyspark
from hudi_pyspark import custom_mergers
from hudi_pyspark.imported_function import ALLOWED
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.emptied_state import empty
from tests.golden.case import Query, load_case
from tests.spark.frames import assert_same_rows, hudi_rows

pytestmark = pytest.mark.spark

OWN = "com.acme.MyPayload"
CASE = "v6_mor_payload_overwrite_with_latest"


@pytest.fixture
def own_payload(tmp_path):
    """A table of a payload class that Apache Hudi does not have."""
    path = unpack(CASE, tmp_path)
    set_property(path, "hoodie.compaction.payload.class", OWN)
    return str(path)


@pytest.fixture
def register(spark, monkeypatch):
    """Register a merger, then the source; the session is left as it was."""
    empty(monkeypatch, "mergers")

    def register(merger, **options):
        hudi_pyspark.register_payload(OWN, merger, **options)
        hudi_pyspark.register(spark)

    yield register
    custom_mergers._registered.clear()
    hudi_pyspark.register(spark)


def expected() -> Query:
    """Apache Hudi's answer, which merged by OverwriteWithLatestAvroPayload."""
    return next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")


def test_merger_that_does_what_the_payload_does_answers_as_apache_hudi(
    spark, own_payload, register
):
    register(lambda _older, newer: newer)
    assert_same_rows(spark.read.format("hudi-py").load(own_payload), hudi_rows(spark, CASE))


def test_merger_of_a_function_with_its_own_names_works_on_executors(spark, own_payload, register):
    suffix = pa.scalar(" merged")

    def merge(_older, newer):
        marked = pc.binary_join_element_wise(pc.fill_null(newer["a"], ""), suffix, "")
        return newer.set_column(newer.schema.get_field_index("a"), "a", marked)

    register(merge, columns=["a"])
    frame = spark.read.format("hudi-py").load(own_payload)
    merged = {row.id for row in frame.collect() if row.a and row.a.endswith(" merged")}
    base = spark.read.format("hudi-py").option("query_type", "read_optimized").load(own_payload)
    stored = {row._hoodie_record_key: row._hoodie_commit_time for row in base.collect()}
    changed = {
        row.id
        for row in frame.collect()
        if stored.get(row._hoodie_record_key, row._hoodie_commit_time) != row._hoodie_commit_time
    }
    assert merged >= changed != set()


def test_without_a_merger_the_advice_reaches_the_user(spark, own_payload):
    frame = spark.read.format("hudi-py").load(own_payload)
    with pytest.raises(Exception, match=r"merged by com\.acme\.MyPayload.*register_payload"):
        frame.collect()


# A function of a module first, which needs no registration, then one of the script itself.
SCRIPT = """
import sys
import hudi_pyspark
from pyspark.sql import SparkSession


def newest(older, newer):
    return newer


spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
hudi_pyspark.register(spark)
options = {"payload_merger": "acme_mergers:newest"}
table = spark.read.format("hudi-py").options(**options).load(sys.argv[1])
print("rows by a module", table.count())
hudi_pyspark.register_payload("com.acme.MyPayload", newest)
hudi_pyspark.register(spark)
print("rows by the script", spark.read.format("hudi-py").load(sys.argv[1]).count())
spark.stop()
"""


@pytest.mark.usefixtures("spark_environment")
def test_merger_of_a_script_and_of_an_installed_module_work(own_payload, tmp_path):
    (tmp_path / "acme_mergers.py").write_text("def newest(older, newer):\n    return newer\n")
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, str(script), own_payload],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, ALLOWED: "acme_mergers"},
    )
    assert done.returncode == 0, done.stderr
    rows = expected().expected_rows().num_rows
    assert done.stdout.splitlines() == [f"rows by a module {rows}", f"rows by the script {rows}"]
