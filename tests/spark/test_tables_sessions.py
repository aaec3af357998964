"""Sessions whose SQL reads tables by name, and what they leave alone."""

import re
from itertools import count

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import hudi_pyspark
from hudi_pyspark.spark import tables
from hudi_pyspark.spark.optimizer import java_sources
from hudi_pyspark.spark.tables import CATALOGS, CHANGELOGS, compile_catalogs
from tests.project.private_spark import names_of_java
from tests.spark.frames import load, new_session
from tests.spark.named_tables import (
    HAS_CHANGES,
    MOR,
    catalog_of,
    number_of,
    rows_of,
)

pytestmark = pytest.mark.spark

_copies = count()


def test_tables_are_switched_on_and_off(spark, sql, orders, path):
    name = f"{sql.catalog.currentDatabase()}.{orders}"
    name_of_class = f"hudi_pyspark.{CHANGELOGS if HAS_CHANGES else 'SessionTables'}"
    assert catalog_of(sql) == name_of_class
    hudi_pyspark.register(sql)
    hudi_pyspark.register(sql, tables=True)
    assert catalog_of(sql) == name_of_class
    hudi_pyspark.register(sql, tables=False)
    assert catalog_of(sql) == catalog_of(spark)
    with pytest.raises((AnalysisException, Py4JJavaError)):
        rows_of(sql, name)
    assert load(sql, path).count() == number_of("snapshot")


def test_new_sessions_begin_without_tables(spark, sql, orders):
    name = f"{sql.catalog.currentDatabase()}.{orders}"
    for session in (
        sql.newSession(),
        SparkSession(sql.sparkContext, sql._jsparkSession.cloneSession()),
    ):
        assert catalog_of(session) == catalog_of(spark)
        hudi_pyspark.register(session, tables=True)
        assert rows_of(session, name) == number_of("snapshot")


def test_session_without_the_argument_is_as_before(spark):
    session = new_session(spark)
    hudi_pyspark.register(session)
    assert catalog_of(session) == catalog_of(spark)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        rows_of(session, "hudi.`/a/b`")


def test_catalog_of_the_user_stays(spark, caplog):
    session = new_session(spark, **{"spark.sql.catalog.spark_catalog": "com.example.Own"})
    hudi_pyspark.register(session, tables=True)
    assert [r.getMessage() for r in caplog.records if "catalog of its own" in r.getMessage()]
    session.conf.unset("spark.sql.catalog.spark_catalog")
    assert catalog_of(session) == catalog_of(spark)


def test_bundle_of_apache_hudi_stays(spark, caplog, monkeypatch):
    monkeypatch.setattr(tables, "_BUNDLE", "java.lang.String")  # a class that is there
    session = new_session(spark)
    hudi_pyspark.register(session, tables=True)
    assert any("the bundle of Apache Hudi" in r.getMessage() for r in caplog.records)
    assert catalog_of(session) == catalog_of(spark)


NAMES = sorted(
    (file, name) for file, text in java_sources(CATALOGS).items() for name in {*names_of_java(text)}
)


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_session_is_as_before_whichever_name_is_missing(
    spark, golden_table, monkeypatch, file, name
):
    sources = java_sources(CATALOGS)
    pattern = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    sources[file] = re.sub(pattern, f"{name}OfNoSpark", sources[file])
    suffix = f"Copy{next(_copies)}"  # py4j remembers the methods of the first class with a name
    for catalog in CATALOGS:
        sources = {
            each: re.sub(rf"\b{catalog}\b", catalog + suffix, text)
            for each, text in sources.items()
        }

    def load_catalogs(jvm):
        return compile_catalogs(jvm, {**sources, CHANGELOGS: ""})

    monkeypatch.setattr(tables, "catalog_classes", load_catalogs)
    for constant in ("_TABLES", "_CHECK"):
        monkeypatch.setattr(tables, constant, getattr(tables, constant) + suffix)
    session = new_session(spark)
    hudi_pyspark.register(session, tables=True)
    is_whole = name == "catalogs"  # which catalogs under other names need
    assert (catalog_of(session) == catalog_of(spark)) == (not is_whole)
    assert session.sql("SELECT 1 AS a").collect() == [(1,)]
    assert load(session, golden_table(MOR)).count() == number_of("snapshot")


CHANGES = java_sources([CHANGELOGS])[CHANGELOGS]


@pytest.mark.parametrize("name", sorted({*names_of_java(CHANGES)} | {"ChangelogContext"}))
def test_session_has_tables_without_changes_whichever_name_is_missing(spark, name):
    text = re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", f"{name}OfNoSpark", CHANGES)
    classes = compile_catalogs(spark._jvm, {**java_sources(CATALOGS), CHANGELOGS: text})
    assert classes.tables.getName() == "hudi_pyspark.SessionTables"


def test_plans_of_other_tables_are_those_of_spark(sql, spark):
    sql.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    name = f"{sql.catalog.currentDatabase()}.plain"
    plans = [session.table(name)._jdf.queryExecution() for session in (sql, spark)]
    texts = [re.sub(r"#\d+", "", plan.toString().replace("plan id", "")) for plan in plans]
    assert texts[0] == texts[1]
    assert "Relation spark_catalog" in texts[0]


def test_a_thousand_entries_are_listed_without_opening_one(sql, path):
    database = sql.catalog.currentDatabase()
    sql.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    sql.sql(f"CREATE TABLE t0 USING hudi LOCATION '{path}'")
    metastore = sql._jsparkSession.sharedState().externalCatalog()
    name_of = sql._jvm.org.apache.spark.sql.catalyst.TableIdentifier
    for kind, number in (("plain", 990), ("t0", 9)):
        entry = metastore.getTable(database, kind)
        for place in range(number):
            values = [entry.productElement(each) for each in range(entry.productArity())]
            values[0] = name_of(f"{kind}_{place}", sql._jvm.scala.Option.apply(database))
            metastore.createTable(entry.copy(*values), True)  # noqa: FBT003

    def processes():
        return sql._jvm.java.lang.ProcessHandle.current().descendants().count()

    hudi_pyspark.read(sql, path).count()
    before = processes()
    assert sql.sql("SHOW TABLES").count() == 1001
    assert sql.table("plain_7").collect() == [(1,)]
    assert processes() <= before
    assert rows_of(sql, "t0_3") == number_of("snapshot")
    for kind, number in (("plain", 990), ("t0", 9)):
        for place in range(number):
            metastore.dropTable(database, f"{kind}_{place}", True, False)  # noqa: FBT003
