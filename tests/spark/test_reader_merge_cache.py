"""Workers of Spark keep what merges decided in Spark's local folders."""

import os
from pathlib import Path

import pytest
from pyspark.sql import functions as f

from hudi_pyspark import HudiTable
from tests.damage import unpack

pytestmark = pytest.mark.spark

WHOLE = "SELECT * FROM asked_again"
JOINED = """
    SELECT /*+ BROADCAST(few) */ * FROM asked_again JOIN (
        SELECT _hoodie_record_key AS key FROM asked_again WHERE _hoodie_commit_seqno > '0'
    ) few ON _hoodie_record_key = few.key
"""


@pytest.fixture
def table(tmp_path):
    return str(unpack("v9_mor_clustering", tmp_path))


@pytest.fixture
def folder(spark):
    """The folder in Spark's local folder, empty at first."""
    local = spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ["SPARK_LOCAL_DIRS"])
    folder = Path(local.first().partition(",")[0], f"hudi-py-merges-{os.geteuid()}")
    for path in folder.glob("*"):
        path.unlink()
    return folder


def kept(folder):
    return {path.name: path.stat().st_size for path in folder.glob("*")}


def merged_slices(table):
    return sum(
        count > 0 for count in HudiTable(table).inspect.file_slices()["log_count"].to_pylist()
    )


def rows(frame):
    return sorted(map(str, frame.collect()))


def asked_again(frame, text=WHOLE):
    """Spark's plan of a query of a view, and its first scan."""
    frame.createOrReplaceTempView("asked_again")
    query = frame.sparkSession.sql(text)._jdf.queryExecution()
    return query, query.executedPlan().collectLeaves().head()


def comparison(spark):
    """What says whether two scans were planned as one.

    py4j remembers methods by names of classes, and each session has another class of that name.
    """
    return spark._jvm.java.util.Objects.equals


def test_merges_are_kept_and_used(ruled, table, folder):
    frame = ruled.read.format("hudi-py").load(table)
    whole = rows(ruled.read.format("hudi-py").option("merge_cache", "off").load(table))
    assert kept(folder) == {}
    count = frame.agg(f.count("*")).first()[0]
    assert count == HudiTable(table).scan(merge_cache="off").count() == len(whole)
    first = kept(folder)
    assert len(first) == merged_slices(table)
    assert rows(frame) == whole  # more columns of the same records
    more = kept(folder)
    assert more.keys() == first.keys()
    assert all(more[name] > first[name] for name in first)
    assert rows(frame) == whole
    assert frame.count() == count
    assert kept(folder) == more
    assert folder.stat().st_mode & 0o777 == 0o700


def test_slices_that_were_merged_before_share_tasks(ruled, table, folder):
    def tasks():
        # 0.5 MiB for opening each file, and three times the bytes of logs.
        frame = ruled.read.format("hudi-py").option("task_bytes", 2 << 20).load(table)
        frame.collect()
        return frame.rdd.getNumPartitions()

    cold, warm = tasks(), tasks()
    assert kept(folder)
    assert warm < cold


def test_frame_that_is_asked_again_is_planned_again_until_its_slices_are_merged(
    ruled, table, folder
):
    frame = ruled.read.format("hudi-py").option("task_bytes", 2 << 20).load(table)

    def scan():
        _, leaf = asked_again(frame)
        return leaf.batch(), leaf.inputPartitions().size()

    are_same = comparison(ruled)
    first, cold = scan()
    assert not are_same(scan()[0], first)
    frame.collect()
    assert kept(folder)
    last, warm = scan()
    assert warm < cold
    assert are_same(scan()[0], last)


@pytest.mark.parametrize("text", [WHOLE, JOINED])
def test_frame_whose_merges_are_never_kept_is_planned_anew_once(ruled, table, folder, text):
    ruled.conf.set("spark.sql.adaptive.enabled", "false")
    ruled.conf.set("spark.hudi-py.optimizer.joins.leastBytes", "0")  # so that keys filter the scan
    frame = ruled.read.format("hudi-py").option("merge_cache_bytes", 1).load(table)
    are_same = comparison(ruled)

    def read(of):
        query, leaf = asked_again(of, text)
        query.toRdd().count()
        return leaf.batch()

    first, second, third, fourth = (read(frame) for _ in range(4))
    assert sum(kept(folder).values()) <= 1
    assert not are_same(second, first)
    assert are_same(third, second)
    assert are_same(fourth, second)
    frame.select("_hoodie_file_name").collect()
    assert not are_same(read(frame), fourth)  # the other query may have merged slices


def test_another_folder(ruled, table, folder, tmp_path):
    options = {"merge_cache": "disk", "merge_cache_folder": str(tmp_path / "mine")}
    ruled.read.format("hudi-py").options(**options).load(table).collect()
    assert kept(folder) == {}
    assert len(list((tmp_path / "mine").glob("*/*"))) == merged_slices(table)


@pytest.mark.parametrize("value", ["off", "memory"])
def test_option_says_otherwise(ruled, table, folder, value):
    ruled.read.format("hudi-py").option("merge_cache", value).load(table).collect()
    assert kept(folder) == {}


def test_encrypted_disks_keep_nothing_by_default(ruled, table, folder):
    conf = ruled._jsparkSession.sessionState().conf()  # Spark lets no session change it
    conf.setConfString("spark.io.encryption.enabled", "true")
    ruled.read.format("hudi-py").load(table).collect()
    assert kept(folder) == {}


def test_session_that_is_not_registered_keeps_nothing_by_default(spark, table, folder):
    spark.read.format("hudi-py").load(table).collect()
    assert kept(folder) == {}
