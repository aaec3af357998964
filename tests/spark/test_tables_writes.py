"""What Spark writes, drops and truncates by name: an error, and no file of a table changes."""

import shutil
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, UnsupportedOperationException

import hudi_pyspark
from hudi_pyspark.spark import tables
from hudi_pyspark.spark.optimizer import class_of, compile_java
from tests.spark.named_tables import (
    files_below,
    number_of,
    rows_of,
)

pytestmark = pytest.mark.spark

WRITES = [
    "INSERT INTO {0} SELECT * FROM {0}",
    "INSERT OVERWRITE {0} SELECT * FROM {0}",
    "UPDATE {0} SET qty = 1 WHERE id = 'a'",
    "DELETE FROM {0}",
    "DELETE FROM {0} WHERE id = 'a'",
    "MERGE INTO {0} o USING {0} p ON o.id = p.id WHEN MATCHED THEN UPDATE SET qty = 1",
    "TRUNCATE TABLE {0}",
    "ALTER TABLE {0} ADD COLUMNS (x INT)",
    "ALTER TABLE {0} DROP COLUMN qty",
    "ALTER TABLE {0} RENAME COLUMN qty TO quantity",
    "ALTER TABLE {0} RENAME TO other",
    "ALTER TABLE {0} SET LOCATION '/elsewhere'",
    "ALTER TABLE {0} SET TBLPROPERTIES (a = 'b')",
    "CREATE OR REPLACE TABLE {0} USING hudi LOCATION '/elsewhere'",
    "CREATE OR REPLACE TABLE {0} USING hudi AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE {0} USING noop AS SELECT 1 AS a",
]
REFUSED_BY_SPARK = [
    "TRUNCATE TABLE {0} PARTITION (region = 'emea')",
    "ALTER TABLE {0} DROP PARTITION (region = 'emea')",
    "ALTER TABLE {0} RECOVER PARTITIONS",
    "LOAD DATA INPATH '/elsewhere' OVERWRITE INTO TABLE {0}",
    "INSERT INTO {0} VALUES (1)",
    "CREATE OR REPLACE TABLE {0} USING parquet AS SELECT 1 AS a",
]
FRAMES = [
    lambda frame, table: frame.write.mode("overwrite").saveAsTable(table),
    lambda frame, table: frame.write.insertInto(table, overwrite=True),
    lambda frame, table: frame.writeTo(table).overwritePartitions(),
    lambda frame, table: frame.writeTo(table).using("hudi").createOrReplace(),
]


@pytest.fixture(params=["EXTERNAL", "MANAGED"])
def kept(request, sql, path):
    """An entry in whose database's folder the files are, and the folder of the files."""
    database = sql.catalog.currentDatabase()
    folder = Path(sql.catalog.getDatabase(database).locationUri.removeprefix("file:"), "mine")
    shutil.copytree(path, folder)
    sql.sql(f"CREATE TABLE mine USING hudi LOCATION '{folder}'")
    if request.param == "MANAGED":
        make_managed(sql, database, "mine")
    before = files_below(folder)
    yield f"{database}.mine", folder
    assert before
    assert files_below(folder) == before


def make_managed(session, database, name):
    """Turn an entry into one that owns its files, as Apache Hudi's CREATE TABLE makes it."""
    metastore = session._jsparkSession.sharedState().externalCatalog()
    entry = metastore.getTable(database, name)
    kinds = session._jvm.org.apache.spark.sql.catalyst.catalog.CatalogTableType
    values = [entry.productElement(place) for place in range(entry.productArity())]
    places = {entry.productElementName(place): place for place in range(len(values))}
    values[places["tableType"]] = kinds.MANAGED()
    metastore.alterTable(entry.copy(*values))
    assert metastore.getTable(database, name).tableType().name() == "MANAGED"


def test_no_statement_and_no_frame_writes_to_a_table(sql, kept):
    table, _ = kept
    for statement in WRITES:
        with pytest.raises(UnsupportedOperationException, match=r"HUDI_UNSUPPORTED_QUERY.*hudi"):
            sql.sql(statement.format(table))
    for statement in REFUSED_BY_SPARK:
        with pytest.raises((AnalysisException, UnsupportedOperationException)):
            sql.sql(statement.format(table))
    frame = sql.table(table)
    for write in FRAMES:
        with pytest.raises(UnsupportedOperationException, match=r"HUDI_UNSUPPORTED_QUERY.*hudi"):
            write(frame, table)
    with pytest.raises(AnalysisException):  # of Spark, since the table is of another format
        frame.write.mode("append").saveAsTable(table)
    # Spark looks for a class with the name before it asks the catalog.
    with pytest.raises(Py4JJavaError, match="DATA_SOURCE_NOT_FOUND"):
        frame.write.format("hudi").mode("overwrite").saveAsTable(table)
    assert rows_of(sql, table) == number_of("snapshot")


@pytest.mark.parametrize(
    "statement", ["DROP TABLE {}", "DROP TABLE {} PURGE", "DROP TABLE IF EXISTS {}"]
)
@pytest.mark.parametrize("is_v1", ["false", "true"])
def test_dropping_an_entry_leaves_the_files(sql, kept, statement, is_v1):
    table, folder = kept
    sql.conf.set("spark.sql.legacy.useV1Command", is_v1)
    sql.sql(statement.format(table))
    sql.conf.set("spark.sql.legacy.useV1Command", "false")
    assert sql.sql("SHOW TABLES").collect() == []
    assert rows_of(sql, f"hudi.`{folder}`") == number_of("snapshot")


STUBBORN = """
package hudi_pyspark;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;

public class Stubborn implements InvocationHandler {
  private Object guard;
  private Object metastore;

  public void take(Object tables) throws Exception {
    guard = Reflection.get(tables, "guard");
    metastore = Reflection.get(guard, "metastore");
    Class[] kinds = {ExternalCatalog.class};
    Object proxy = Proxy.newProxyInstance(kinds[0].getClassLoader(), kinds, this);
    Reflection.set(guard, "metastore", proxy);
  }

  public void leave() throws Exception {
    Reflection.set(guard, "metastore", metastore);
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    return method.getName().equals("alterTable") ? null : method.invoke(metastore, arguments);
  }
}
"""


@pytest.fixture
def stubborn(sql):
    """A session whose metastore keeps each entry as it is."""
    loader = tables.catalog_classes(sql._jvm).loader
    compiled = compile_java(sql._jvm, STUBBORN, loader).getClassLoader()
    metastore = class_of(compiled, "Stubborn").newInstance()
    metastore.take(sql._jsparkSession.sessionState().catalogManager().v2SessionCatalog())
    yield sql
    metastore.leave()


@pytest.mark.parametrize("kept", ["MANAGED"], indirect=True)
@pytest.mark.parametrize("statement", ["DROP TABLE {}", "DROP TABLE {} PURGE"])
def test_entry_that_the_metastore_keeps_as_a_managed_one_is_not_dropped(stubborn, kept, statement):
    table, _ = kept
    refused = rf"HUDI_UNSUPPORTED_QUERY\] DROP TABLE {table} is refused"
    with pytest.raises(UnsupportedOperationException, match=refused):
        stubborn.sql(statement.format(table))
    stubborn.conf.set("spark.sql.legacy.useV1Command", "true")
    with pytest.raises(Py4JJavaError, match=refused):
        stubborn.sql(statement.format(table))
    stubborn.conf.set("spark.sql.legacy.useV1Command", "false")
    assert rows_of(stubborn, table) == number_of("snapshot")


@pytest.mark.parametrize("is_v1", ["false", "true"])
def test_database_with_a_table_is_not_dropped(sql, kept, is_v1):
    table, _ = kept
    database = table.partition(".")[0]
    sql.conf.set("spark.sql.legacy.useV1Command", is_v1)
    for statement in (f"DROP DATABASE {database} CASCADE", f"DROP DATABASE {database}"):
        with pytest.raises((UnsupportedOperationException, Py4JJavaError), match="DROP DATABASE"):
            sql.sql(statement)
    sql.conf.set("spark.sql.legacy.useV1Command", "false")
    sql.sql(f"DROP TABLE {table}")
    with pytest.raises(UnsupportedOperationException, match=r"its folder.*Move the table"):
        sql.sql(f"DROP DATABASE {database} CASCADE")


def test_other_sessions_leave_the_files(spark, sql, kept):
    table, _ = kept
    database = table.partition(".")[0]
    plain = spark.newSession()
    hudi_pyspark.register(sql, tables=False)
    for session in (plain, sql):
        for statement in (f"DROP DATABASE {database} CASCADE", f"DROP TABLE {table}"):
            with pytest.raises((AnalysisException, UnsupportedOperationException, Py4JJavaError)):
                session.sql(statement)


def test_database_of_other_tables_is_dropped_with_its_files(sql):
    sql.sql("CREATE DATABASE others")
    sql.sql("CREATE TABLE others.plain USING parquet AS SELECT 1 AS a")
    folder = Path(sql.catalog.getDatabase("others").locationUri.removeprefix("file:"))
    assert files_below(folder)
    sql.sql("DROP DATABASE others CASCADE")
    assert not folder.exists()


def test_replacing_another_table_by_one_of_apache_hudi_leaves_the_other(sql):
    sql.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    for statement in ("CREATE OR REPLACE TABLE plain USING hudi LOCATION '/nothing'",
                      "CREATE OR REPLACE TABLE plain USING hudi AS SELECT 2 AS a"):  # fmt: skip
        with pytest.raises(UnsupportedOperationException, match="HUDI_UNSUPPORTED_QUERY"):
            sql.sql(statement)
    assert sql.table("plain").collect() == [(1,)]
