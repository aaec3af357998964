"""On a release of Spark that was not tested, `register` uses only Spark's public API."""

from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

import hudi_pyspark
from hudi_pyspark.spark import optimizer
from hudi_pyspark.spark import session as session_module
from hudi_pyspark.spark.optimizer import COLUMNAR, ENABLED
from hudi_pyspark.spark.tables import reads_tables
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.deployment import client
from tests.spark.frames import assert_same_rows, hudi_rows, load

pytestmark = pytest.mark.spark

CASE = "v9_mor_compaction_inline"
CLIENT = """
import json, logging, sys
from pyspark.sql import SparkSession
import hudi_pyspark
from hudi_pyspark.spark import optimizer

port, path, *setting = sys.argv[1:]
messages = []
handler = logging.Handler()
handler.emit = lambda record: messages.append(record.getMessage())
logging.getLogger("hudi_pyspark").addHandler(handler)
logging.getLogger("hudi_pyspark").setLevel("INFO")
optimizer.TESTED_RELEASES = ("3.9",)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
if setting:
    spark.conf.set(*setting)
before = set(vars(spark.client)), spark.client.__dict__.get("_session_hooks", [])[:]
frame = hudi_pyspark.read(spark, path)
hudi_pyspark.register(spark)
after = set(vars(spark.client)), spark.client.__dict__.get("_session_hooks", [])[:]
answers = {"is public": before == after, "rows": frame.count(), "messages": messages}
answers["columns"] = hudi_pyspark.explain(frame.select("id")).count("_hoodie")
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture
def untested(spark, monkeypatch):
    """A session of a release that was not tested, with the settings of a user who set nothing."""
    monkeypatch.setattr(optimizer, "TESTED_RELEASES", ("3.9",))
    new = spark.newSession()
    new.conf.unset(ENABLED)
    new.conf.set("spark.sql.session.timeZone", "UTC")
    return new


@pytest.fixture
def no_java(monkeypatch):
    """Fail a test that compiles Java, or that reaches for Spark's map of sources."""

    def fail(*_):
        pytest.fail("a private part is installed")

    for module, name in (
        (optimizer, "compile_java"),
        (optimizer, "add_rule"),
        (session_module, "_register_in_jvm"),
    ):
        monkeypatch.setattr(module, name, fail)


def own_classes(spark):
    """The classes of this package that a session has."""
    java = spark._jsparkSession
    rules = java.experimental().extraOptimizations()
    catalog = java.sessionState().catalogManager().v2SessionCatalog()
    objects = [rules.apply(n) for n in range(rules.size())] + [catalog]
    names = [each.getClass().getName() for each in objects]
    return [name for name in names if name.startswith("hudi_pyspark")]


@pytest.mark.usefixtures("no_java")
def test_register_installs_nothing_private_and_says_so_in_one_line(untested, golden_table, caplog):
    caplog.set_level("INFO", logger="hudi_pyspark")
    for _ in range(2):
        hudi_pyspark.register(untested)
    frame = hudi_pyspark.read(untested, str(golden_table(CASE)))
    assert own_classes(untested) == []
    (record,) = caplog.records
    assert record.levelname == "INFO"
    release = untested.version
    assert record.getMessage().startswith(
        f"Spark {release} is untested: register uses only Spark's"
    )
    assert_same_rows(frame, hudi_rows(untested, CASE))


@pytest.mark.usefixtures("no_java")
def test_queries_work_as_without_register(spark, untested, golden_table):
    hudi_pyspark.register(untested)
    path = golden_table(CASE)
    query = "SELECT region, count(*) AS n FROM t WHERE ts > 3 GROUP BY region"
    for each in (spark, untested):
        load(each, path).createOrReplaceTempView("t")
    registered, plain = untested.sql(query), spark.sql(query)
    assert_same_rows(registered, plain)
    plans = [f._jdf.queryExecution().optimizedPlan().toString() for f in (registered, plain)]
    assert [plan.count("_hoodie_commit_time") for plan in plans] == [1, 1]


@pytest.mark.usefixtures("no_java")
def test_sql_reads_no_tables_by_name_and_a_warning_says_why(untested, golden_table, caplog):
    settings = {"type": "hive", "uri": "thrift://127.0.0.1:1"}
    hudi_pyspark.register(untested, tables=True, catalogs={"lake": settings})
    names, catalog = (
        [r.getMessage() for r in caplog.records if text in r.getMessage()]
        for text in ("by name", "the catalog lake")
    )
    reason = f"Spark {untested.version} is untested"
    assert names == [f"SQL does not read tables of Apache Hudi by name: {reason}"]
    assert catalog == [f"SQL does not read the catalog lake: {reason}"]
    assert not reads_tables(untested)
    hudi_pyspark.register(untested, tables=False)
    with pytest.raises(Exception, match="hudi"):
        untested.sql(f"SELECT * FROM hudi.`{golden_table(CASE)}`").count()


def test_a_user_may_choose_the_rule(untested, golden_table, caplog):
    caplog.set_level("INFO", logger="hudi_pyspark")
    untested.conf.set(ENABLED, "true")
    untested.conf.set(COLUMNAR, "false")
    hudi_pyspark.register(untested)
    assert own_classes(untested) == ["hudi_pyspark.NarrowScans"]
    assert "register uses only Spark's public API" not in caplog.text
    frame = load(untested, golden_table(CASE)).select("id")
    assert_same_rows(frame, hudi_rows(untested, CASE).select("id"))


@pytest.mark.parametrize(
    ("of_python", "of_spark", "expected"),
    [
        ("4.0.5", "4.3.0", ""),
        ("4.3.0", "4.1.0-amzn-0", ""),
        ("4.2.0.dev3", "4.2.0-SNAPSHOT", ""),
        ("4.4.0", "4.3.0", "4.4.0"),
        ("4.3.0", "4.10.0", "4.10.0"),
        ("4.3.0", "5.0.0-preview1", "5.0.0-preview1"),
        ("3.5.2", "4.0.0", "3.5.2"),
    ],
)
def test_both_releases_have_to_be_tested(monkeypatch, of_python, of_spark, expected):
    monkeypatch.setattr(pyspark, "__version__", of_python)
    session: Any = SimpleNamespace(version=of_spark)
    assert optimizer.untested_release(session) == expected


@pytest.mark.parametrize("setting", [(), (ENABLED, "true")], ids=["default", "chosen"])
def test_a_client_of_connect_stays_as_it_is(connect_port, golden_table, setting):
    answers = client(CLIENT, connect_port, str(golden_table(CASE)), *setting)
    assert answers["is public"] == (not setting)
    assert len(answers["messages"]) == (0 if setting else 1)
    assert (answers["columns"] > 0) == (not setting)
    snapshot = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")
    assert answers["rows"] == snapshot.expected_rows().num_rows
