"""Tables by name and by path in SQL: rows as Apache Hudi's, and no file is ever deleted."""

import json
import re
import shutil
from functools import partial
from itertools import count
from pathlib import Path

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException, UnsupportedOperationException
from pyspark.errors.exceptions.base import IllegalArgumentException
from pyspark.sql import SparkSession

import hudi_pyspark
from hudi_pyspark import HudiTable, InvalidOptionError
from hudi_pyspark.spark import tables
from hudi_pyspark.spark.optimizer import class_of, compile_java, java_sources
from hudi_pyspark.spark.tables import CATALOGS, CHANGELOGS, compile_catalogs
from tests.catalogs.rest_server import serve_catalog
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.golden.case import load_cases
from tests.golden.compare import row_differences
from tests.golden.deviations import accepted_deviations
from tests.golden.run import judge
from tests.project.private_spark import names_of_java
from tests.spark.frames import assert_same_rows, hudi_rows, load, new_session

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
C1 = "20261121062657910"
_numbers = count()


@pytest.fixture
def path(golden_table):
    return str(golden_table(MOR))


@pytest.fixture
def orders(sql, path):
    sql.sql(f"CREATE TABLE orders USING hudi LOCATION '{path}'")
    return "orders"


def case_of(name):
    return next(case for case in load_cases(GOLDEN) if case.name == name)


def number_of(query):
    """Number of rows that Apache Hudi returns."""
    known = next(each for each in case_of(MOR).queries if each.name == query)
    return known.expected_rows().num_rows


def rows_of(session, source):
    return session.sql(f"SELECT count(*) FROM {source}").head()[0]


def scans(frame):
    """The columns of each scan in the physical plan."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return [
        re.sub(r"#\d+L?", "", columns).split(", ")
        for columns in re.findall(r"BatchScan [^\[]*\[(.*?)\]", plan)
    ]


def files_below(folder):
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


EVOLVED = "v9_mor_schema_evolution"


def golden_cases(*sampled):
    """Parameters of a test: all golden cases, of which `make test` runs those that are named."""
    return [
        pytest.param(case, marks=() if case.name in sampled else pytest.mark.cluster, id=case.name)
        for case in load_cases(GOLDEN)
    ]


def answer_of(ask):
    """Return the schema and the rows of a frame, or the condition of the error that refuses it."""
    try:
        frame = ask()
        return frame.schema, frame.toArrow()
    except PySparkException as error:
        (condition, *_) = re.findall(r"HUDI_[A-Z_]+", str(error))
        return condition, None


def entry_of(session, path):
    """Make an entry of a table, and return its name; "" if the path is refused likewise."""
    name = f"golden{next(_numbers)}"
    made, _ = answer_of(partial(session.sql, f"CREATE TABLE {name} USING hudi LOCATION '{path}'"))
    if isinstance(made, str):
        assert answer_of(partial(load, session, path)) == (made, None)
        return ""
    return name


@pytest.mark.parametrize(
    "case",
    golden_cases(MOR, EVOLVED, "v6_mor_part_basic", "v9_cow_keygen_slashes", "v9_mor_all_types"),
)
def test_golden_tables_by_name_and_by_path_have_the_rows_of_apache_hudi(sql, golden_table, case):
    path = golden_table(case.name)
    name = entry_of(sql, path)
    if not name:
        return
    for query in case.queries:
        if query.answer is None or not query.name.startswith(("snapshot", "as_of")):
            continue
        options = dict(query.options)
        instant = options.pop("as.of.instant", None)
        if options.keys() - {"hoodie.datasource.query.type"}:
            continue
        travel = f" VERSION AS OF '{instant}'" if instant else ""
        for source in (name, f"hudi.`{path}`"):
            answer = sql.sql(f"SELECT * FROM {source}{travel}").toArrow()
            if source == name and not travel:
                answer = in_order_by_path(answer, query, path)
            assert judge(case, query, answer).problems == ()


def in_order_by_path(answer, query, path):
    """Check that an answer has partition columns last, and return it in the order of the table."""
    names = query.expected_rows().schema.names
    fields = HudiTable(str(path)).config.partition_fields
    partitions = [name for field in fields for name in names if name.lower() == field.lower()]
    assert answer.schema.names == [*(n for n in names if n not in partitions), *partitions]
    return answer.select(names)


def instants_of(case, path):
    """Return the instants of a table's completed actions and of its queries, and an earlier one."""
    timeline = HudiTable(str(path)).inspect.timeline().to_pylist()
    completed = {each["requested_time"] for each in timeline if each["state"] == "completed"}
    asked = {query.options.get("as.of.instant") for query in case.queries}
    return sorted(completed | asked - {None} | {"20000101000000000"})


@pytest.mark.parametrize("case", golden_cases(EVOLVED, "v9_cow_keygen_slashes"))
def test_golden_tables_by_name_and_by_path_travel_to_each_instant(sql, golden_table, case):
    path = golden_table(case.name)
    name = entry_of(sql, path)
    for instant in instants_of(case, path):
        schema, rows = answer_of(partial(load, sql, path, as_of=instant))
        for source in filter(None, (name, f"hudi.`{path}`")):
            statement = f"SELECT * FROM {source} VERSION AS OF '{instant}'"
            found_schema, found_rows = answer_of(partial(sql.sql, statement))
            assert found_schema == schema, statement
            if rows is not None:
                assert found_rows.schema == rows.schema, statement
                assert row_differences(found_rows, rows) == [], statement


@pytest.mark.parametrize(
    ("source", "query"),
    [
        ("", "snapshot"),
        (f" VERSION AS OF '{C1}'", "as_of_c1"),
        (f" VERSION AS OF {C1}", "as_of_c1"),
        (f" FOR SYSTEM_VERSION AS OF '{C1}'", "as_of_c1"),
        (" TIMESTAMP AS OF '2026-11-21 06:27:00.103'", "as_of_c2_formatted"),
        (" FOR SYSTEM_TIME AS OF '2026-11-21 06:27:00.103'", "as_of_c2_formatted"),
        (" WITH (query_type = 'read_optimized')", "read_optimized"),
        (f" WITH (as_of = '{C1}')", "as_of_c1"),
    ],
)
def test_tables_and_paths_take_instants_and_options(sql, orders, path, source, query):
    assert rows_of(sql, orders + source) == number_of(query)
    assert rows_of(sql, f"hudi.`{path}`{source}") == number_of(query)


def test_data_frames_of_tables_take_options(sql, orders):
    assert sql.table(orders).count() == number_of("snapshot")
    assert sql.read.option("as.of.instant", C1).table(orders).count() == number_of("as_of_c1")


ZONES = {"UTC": "06:27:00.103", "+05:30": "11:57:00.103", "-03:00": "03:27:00.103"}


@pytest.mark.parametrize("zone", ZONES)
def test_timestamp_is_a_moment_if_the_timeline_is_in_utc(sql, tmp_path, zone):
    table = unpack(MOR, tmp_path)
    set_property(table, "hoodie.table.timeline.timezone", "UTC")
    sql.conf.set("spark.sql.session.timeZone", zone)
    source = f"hudi.`{table}` TIMESTAMP AS OF '2026-11-21 {ZONES[zone]}'"
    assert rows_of(sql, source) == number_of("as_of_c2_formatted")


@pytest.mark.parametrize("zone", ZONES)
def test_timestamp_is_wall_clock_time_if_the_zone_of_the_timeline_is_unknown(sql, orders, zone):
    sql.conf.set("spark.sql.session.timeZone", zone)
    source = f"{orders} TIMESTAMP AS OF '2026-11-21 06:27:00.103'"
    assert rows_of(sql, source) == number_of("as_of_c2_formatted")


def test_two_instants_of_a_query_are_refused(sql, orders):
    with pytest.raises(Exception, match="two instants"):
        rows_of(sql, f"{orders} VERSION AS OF '{C1}' WITH (as_of = '2026-11-21')")


def test_options_that_change_the_columns_are_refused(sql, golden_table):
    with pytest.raises(IllegalArgumentException, match=r"change its columns.*hudi_table_changes"):
        rows_of(sql, f"hudi.`{golden_table(MOR)}` WITH (columns = 'id')")


def test_scans_of_tables_are_narrow_and_explained(sql, orders, path):
    frame = sql.sql(f"SELECT id FROM {orders} VERSION AS OF '{C1}' WHERE region = 'emea' LIMIT 3")
    assert scans(frame) == [["id", "region"]]
    shown = hudi_pyspark.explain(frame)
    assert f"hudi-py file:{path}\n  columns: id, region" in shown
    assert "condition: `region` = 'emea'" in shown
    assert f"state: as of {C1}" in shown
    both = sql.sql(f"SELECT a.id FROM {orders} a JOIN hudi.`{path}` b ON a.id = b.id")
    assert scans(both) == [["id"], ["id"]]
    assert hudi_pyspark.explain(both).count("the newest one at each action") == 2


def test_joins_views_and_copies_are_of_tables_by_name(sql, spark, orders):
    expected = hudi_rows(spark, MOR).select("id", "region")
    sql.sql(f"CREATE VIEW kept AS SELECT id, region FROM {orders}")
    sql.sql("CREATE TEMPORARY VIEW shown AS SELECT id, region FROM kept")
    sql.sql("CREATE TABLE copied USING parquet AS SELECT id, region FROM shown")
    for name in ("kept", "shown", "copied"):
        assert_same_rows(sql.table(name), expected)
    sql.sql(f"INSERT INTO copied SELECT id, region FROM {orders}")
    assert rows_of(sql, "copied") == 2 * expected.count()
    joined = sql.sql(f"SELECT o.id FROM {orders} o JOIN kept USING (id) JOIN shown USING (id)")
    assert_same_rows(joined, expected.select("id"))


def test_cached_table_is_read_from_the_cache(sql, orders):
    sql.sql(f"CACHE TABLE {orders}")
    try:
        plan = sql.table(orders).select("id")._jdf.queryExecution().executedPlan().toString()
        assert "InMemory" in plan
        assert rows_of(sql, orders) == number_of("snapshot")
    finally:
        sql.sql(f"UNCACHE TABLE {orders}")


def test_table_is_listed_and_described(sql, path):
    orders = "orders"
    sql.sql(f"CREATE TABLE {orders} USING hudi LOCATION '{path}' COMMENT 'by day'")
    assert [row.tableName for row in sql.sql("SHOW TABLES").collect()] == [orders]
    assert [table.name for table in sql.catalog.listTables()] == [orders]
    described = {
        row.col_name: row.data_type for row in sql.sql(f"DESCRIBE EXTENDED {orders}").collect()
    }
    assert described["Location"].endswith(path)
    assert described["Provider"] == "hudi"
    assert described["Comment"] == "by day"
    assert described["qty"]


def rows_of_stream(stream, folder):
    """Run a stream until it has read what is there, and return its rows."""
    writer = stream.writeStream.format("memory").queryName("streamed")
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    writer.start().awaitTermination()
    return stream.sparkSession.table("streamed")


def test_stream_reads_a_table_by_name(sql, orders, tmp_path):
    stream = sql.readStream.option("start_offset", "earliest").table(orders)
    streamed = rows_of_stream(stream, tmp_path)
    assert streamed.select("id").distinct().count() >= number_of("snapshot")


def test_second_name_of_the_source_reads_as_the_first(sql, path):
    frame = sql.read.format("hudi").load(path).select("id")
    assert frame.count() == number_of("snapshot")
    assert "columns: id\n" in hudi_pyspark.explain(frame)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE TABLE t (id STRING, qty STRING, nope INT) USING hudi LOCATION '{}'",
         r"its column qty is int, not string; it has no column nope"),
        ("CREATE TABLE t USING hudi", "has no path"),
        ("CREATE TABLE t USING hudi OPTIONS (path '{}', inspect 'timeline')",
         "cannot store inspect: an entry names a table"),
        ("CREATE TABLE t USING hudi LOCATION '{}/nothing'", "HUDI_PATH_(NOT_FOUND|INSIDE_TABLE)"),
        ("CREATE TABLE t USING `hudi-py` LOCATION '/nothing/here'", "HUDI_PATH_NOT_FOUND"),
        ("CREATE TABLE t USING hudi LOCATION '{}' AS SELECT 1 AS a", "HUDI_UNSUPPORTED_QUERY"),
    ],
)  # fmt: skip
def test_entry_that_would_be_wrong_is_not_made(sql, path, statement, error):
    with pytest.raises(Exception, match=error):
        sql.sql(statement.format(path))
    assert sql.sql("SHOW TABLES").collect() == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t USING hudi LOCATION '{}'",
        "CREATE TABLE t USING `hudi-py` OPTIONS (path '{}')",
        "CREATE TABLE t (ID STRING, ts BIGINT) USING hudi PARTITIONED BY (ts) LOCATION '{}'",
        "CREATE TABLE t USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'mor') LOCATION '{}'",
        "CREATE TABLE IF NOT EXISTS t USING hudi OPTIONS (path '{}', primaryKey 'id')",
    ],
)
def test_entry_of_a_table_is_read(sql, path, statement):
    sql.sql(statement.format(path))
    assert rows_of(sql, "t") == number_of("snapshot")


# ---- writes, and files

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


# ---- sessions


def catalog_of(session):
    return (
        session._jsparkSession.sessionState()
        .catalogManager()
        .v2SessionCatalog()
        .getClass()
        .getName()
    )


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
    suffix = f"Copy{next(_numbers)}"  # py4j remembers the methods of the first class with a name
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


# ---- table functions

BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
FORMAT = "hoodie.datasource.query.incremental.format"


def calls_of(query):
    """The arguments of the functions of Apache Hudi that ask a query; () if none does."""
    options = dict(query.options)
    kind = options.pop("hoodie.datasource.query.type", "snapshot")
    if kind != "incremental":
        return () if options else (f"hudi_query({{}}, '{kind}')",)
    begin, end = options.pop(BEGIN, ""), options.pop(END, "")
    changes = options.pop(FORMAT, "latest_state")
    if options or not begin:
        return ()
    more = f", '{end}'" if end else ""
    return (f"hudi_table_changes({{}}, '{changes}', '{begin}'{more})",)


CALLS = [
    (case, query)
    for case in load_cases(GOLDEN)
    for query in case.queries
    if query.is_covered and query.answer is not None and calls_of(query)
]


@pytest.mark.parametrize(
    ("case", "query"),
    [
        pytest.param(*call, marks=pytest.mark.cluster if number % 20 else ())
        for number, call in enumerate(CALLS)
    ],
    ids=[f"{case.name}-{query.name}" for case, query in CALLS],
)
def test_functions_have_the_rows_of_apache_hudi(sql, golden_table, case, query):
    path = golden_table(case.name)
    sql.sql(f"CREATE TABLE called USING hudi LOCATION '{path}'")
    deviation = accepted_deviations().get(f"{case.name}/{query.name}")
    for call in calls_of(query):
        name = f"{sql.catalog.currentDatabase()}.called"
        for table in (f"'{path}'", "'called'", f"'{name}'", f"'spark_catalog.{name}'"):
            if deviation is not None and deviation.rows.endswith("Error"):
                with pytest.raises(AnalysisException, match=deviation.rows):
                    rows_of(sql, call.format(table))
                continue
            answer = sql.sql(f"SELECT * FROM {call.format(table)}").toArrow()
            assert judge(case, query, answer).problems == ()


def test_functions_are_narrow_and_join(sql, orders, path):
    frame = sql.sql(
        f"SELECT a.id FROM hudi_query('{orders}', 'snapshot') a "
        f"JOIN hudi_table_changes('{path}', 'latest_state', 'earliest') b USING (id)"
    )
    assert scans(frame) == [["id"], ["id"]]
    assert frame.count() == number_of("snapshot")
    assert f"hudi-py {path}\n  columns: id\n" in hudi_pyspark.explain(frame)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("hudi_query()", "does not take the arguments"),
        ("hudi_query('{}')", "does not take the arguments"),
        ("hudi_query('{}', 'incremental')", "does not take the arguments"),
        ("hudi_table_changes('{}', 'latest_state')", "does not take the arguments"),
        ("hudi_table_changes('{}', 'all', 'earliest')", "does not take the arguments"),
        ("hudi_query('nothing', 'snapshot')", "neither a path.*nor the name of a table"),
    ],
)
def test_functions_say_which_arguments_they_take(sql, path, call, error):
    with pytest.raises(Exception, match=f"HUDI_INVALID_OPTION.*{error}"):
        rows_of(sql, call.format(path))


# ---- changes

HAS_CHANGES = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2)
needs_changes = pytest.mark.skipif(not HAS_CHANGES, reason="Spark 4.2 introduced CHANGES")
CDC = "v9_cow_cdc_data_before"
# What the images before and after a change are; "" where there is none.
KINDS = {"i": ("", "insert"), "d": ("delete", ""), "u": ("update_preimage", "update_postimage")}


@pytest.fixture
def changing(sql, golden_table):
    """An entry, and the requested times of its commits."""
    path = str(golden_table(CDC))
    sql.sql(f"CREATE TABLE changing USING hudi LOCATION '{path}'")
    commits = HudiTable(path).inspect.commits()
    return "changing", commits["requested_time"].to_pylist()


def images(begin="", end="99999999999999999"):
    """What Apache Hudi has of a range: key, kind of change and commit of each image."""
    (query,) = (each for each in case_of(CDC).queries if each.name == "cdc_all")
    found = []
    for change in query.expected_rows().to_pylist():
        operation, time = change["op"], change["ts_ms"]
        if not begin < time <= end:
            continue
        kinds = {
            "i": ("", "insert"),
            "d": ("delete", ""),
            "u": ("update_preimage", "update_postimage"),
        }
        for kind, image in zip(kinds[operation], (change["before"], change["after"]), strict=True):
            if kind:
                found.append((json.loads(image)["id"], kind, int(time)))
    return sorted(found)


def rows_of_changes(frame):
    return sorted(map(tuple, frame.select("id", "_change_type", "_commit_version").collect()))


@needs_changes
def test_changes_of_versions_are_those_of_apache_hudi(sql, changing, golden_table):
    table, times = changing
    assert len(images()) > len(images(times[0], times[2])) > len(images(times[1], times[2])) > 0
    for bounds, expected in (
        (f"VERSION {times[0]}", images()),
        (f"VERSION {times[1]} TO VERSION {times[2]}", images(times[0], times[2])),
        (f"VERSION {times[1]} EXCLUSIVE TO VERSION {times[2]}", images(times[1], times[2])),
        (f"VERSION {times[1]} TO VERSION {times[2]} EXCLUSIVE", images(times[0], times[1])),
    ):
        for source in (table, f"hudi.`{golden_table(CDC)}`"):
            frame = sql.sql(f"SELECT * FROM {source} CHANGES FROM {bounds}")
            assert rows_of_changes(frame) == expected
    assert scans(sql.sql(f"SELECT id FROM {table} CHANGES FROM VERSION {times[0]}")) == [["id"]]


@needs_changes
def test_changes_are_explained(sql, changing, golden_table):
    table, times = changing
    bounds = f"CHANGES FROM VERSION {times[1]} EXCLUSIVE TO VERSION {times[2]}"
    frame = sql.sql(f"SELECT id, _change_type FROM {table} {bounds} WHERE id > 'a'")
    shown = hudi_pyspark.explain(frame)
    assert f"hudi-py file:{golden_table(CDC)}\n  columns: id, _change_type\n" in shown
    assert "condition: `id` > 'a'" in shown
    assert f"at each action, commits after {times[1]} up to {times[2]}" in shown
    both = sql.sql(f"SELECT id FROM {table} {bounds} UNION SELECT id FROM {table}")
    assert hudi_pyspark.explain(both).count("hudi-py file:") == 2


@needs_changes
@pytest.mark.parametrize("is_inclusive", [True, False])
def test_data_frames_and_streams_have_changes(sql, changing, tmp_path, is_inclusive):
    table, times = changing
    expected = images(times[0 if is_inclusive else 1])
    begin = {"startingVersion": times[1], "startingBoundInclusive": is_inclusive}
    frame = sql.read.options(**begin).changes(table)
    assert rows_of_changes(frame) == expected
    stream = sql.readStream.options(**begin).changes(table)
    assert rows_of_changes(rows_of_stream(stream, tmp_path)) == expected


@needs_changes
def test_other_ranges_and_net_changes_are_refused(sql, changing):
    table, times = changing
    with pytest.raises(AnalysisException, match=r"HUDI_INVALID_OPTION.*not one of versions"):
        rows_of(sql, f"{table} CHANGES FROM TIMESTAMP '2026-11-21 06:00:00'")
    with pytest.raises(AnalysisException, match=r"HUDI_UNSUPPORTED_QUERY.*net changes"):
        sql.read.options(startingVersion=times[1], deduplicationMode="netChanges").changes(table)
    sql.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    with pytest.raises(AnalysisException, match=r"UNSUPPORTED_FEATURE\.CHANGE_DATA_CAPTURE"):
        rows_of(sql, "plain CHANGES FROM VERSION 1")


# ---- other catalogs


def answered(answer, _body):
    return 200, answer


@pytest.fixture
def unity(path):
    """The settings of a Unity Catalog that has a table of Apache Hudi, and a folder without one."""
    pytest.importorskip("requests")
    answers = {"orders": path, "other": str(GOLDEN)}
    with serve_catalog("secret") as server:
        for name, location in answers.items():
            request = f"GET /api/2.1/unity-catalog/tables/main.sales.{name}"
            answer = {"storage_location": f"file:{location}", "table_id": name}
            server.answers[request] = partial(answered, answer)
        yield {"type": "unity", "uri": server.uri, "token": "secret"}


def test_tables_of_another_catalog_are_read_by_name(spark, unity):
    session = new_session(spark)
    hudi_pyspark.register(session, catalogs={"lake": unity})
    assert rows_of(session, "lake.main.sales.orders") == number_of("snapshot")
    source = f"lake.main.sales.orders VERSION AS OF '{C1}'"
    assert rows_of(session, source) == number_of("as_of_c1")
    frame = session.table("lake.main.sales.orders").select("id")
    assert scans(frame) == [["id"]]
    assert "hudi-py main.sales.orders" in hudi_pyspark.explain(frame)
    assert catalog_of(session) == catalog_of(spark)


def test_description_of_a_table_has_no_secrets(spark, unity):
    session = new_session(spark)
    hudi_pyspark.register(session, catalogs={"lake": unity})
    described = session.sql("DESCRIBE EXTENDED lake.main.sales.orders").collect()
    assert "secret" not in str(described)


def test_catalog_refuses_writes_and_what_is_not_a_table_of_apache_hudi(spark, unity):
    session = new_session(spark)
    hudi_pyspark.register(session, catalogs={"lake": unity})
    with pytest.raises(AnalysisException, match="HUDI_TABLE_NOT_FOUND"):
        rows_of(session, "lake.main.sales.other")
    for statement in ("DROP TABLE lake.main.sales.orders", "SHOW TABLES IN lake.main.sales",
                                    "ALTER TABLE lake.main.sales.orders ADD COLUMNS (x INT)",
                      "ALTER TABLE lake.main.sales.orders RENAME TO lake.main.sales.x",
                      "CREATE TABLE lake.main.sales.x (id STRING) USING hudi",
                      "CREATE TABLE IF NOT EXISTS lake.main.sales.x (id STRING)",
                      "CREATE TABLE lake.main.sales.x AS SELECT 1 AS id",
                      "CREATE OR REPLACE TABLE lake.main.sales.x (id STRING)",
                      "CREATE OR REPLACE TABLE lake.main.sales.orders AS SELECT 1 AS id",
                      "DELETE FROM lake.main.sales.orders"):  # fmt: skip
        with pytest.raises(UnsupportedOperationException, match="HUDI_UNSUPPORTED_QUERY"):
            session.sql(statement)
    with pytest.raises(UnsupportedOperationException, match="HUDI_UNSUPPORTED_QUERY"):
        session.range(1).writeTo("lake.main.sales.x").create()


@pytest.mark.parametrize(
    ("name", "settings", "error"),
    [
        ("lake", {"type": "nessie"}, "known: hive, glue, unity, polaris"),
        ("lake", {"type": "glue", "regoin": "x"}, "catalog.regoin is unknown"),
        ("spark_catalog", {"type": "glue"}, "has a catalog with this name"),
    ],
)
def test_catalog_with_wrong_settings_is_refused(spark, name, settings, error):
    session = new_session(spark)
    with pytest.raises(InvalidOptionError, match=error):
        hudi_pyspark.register(session, catalogs={name: settings})
