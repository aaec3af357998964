"""What SQL with tables by name must not let through: each session, name, argument and statement.

The numbers of rows are those of Apache Hudi's answers to the same questions.
"""

import re
import shutil
from itertools import count
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException, UnsupportedOperationException
from pyspark.sql import SparkSession

import hudi_pyspark
from hudi_pyspark import InvalidOptionError
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.golden.case import load_case
from tests.spark.conftest import sql
from tests.spark.frames import new_session

pytestmark = pytest.mark.spark
__all__ = ["sql"]  # a fixture

CASE = "v9_mor_compaction_inline"
HUDI = {each.name: each.expected_rows for each in load_case(GOLDEN / CASE).queries if each.answer}
BEGIN, END = "2026-11-21 06:26:59.947", "2026-11-21 06:27:03.819"  # of incr_end_minus_1ms
FUNCTIONS = ("hudi_query", "hudi_table_changes", "hudi_query_timeline", "hudi_filesystem_view")
_numbers = count()


def number(query):
    """Number of rows that Apache Hudi returns."""
    return HUDI[query]().num_rows


def rows_of(session, source):
    return session.sql(f"SELECT count(*) FROM {source}").head()[0]


def refused(session, source, text="HUDI_"):
    """Assert that a query is refused by a named error, and return its message."""
    with pytest.raises(PySparkException, match=text) as raised:
        session.sql(f"SELECT count(*) FROM {source}").collect()
    assert "INTERNAL_ERROR" not in str(raised.value)
    return str(raised.value)


@pytest.fixture
def path(golden_table):
    return str(golden_table(CASE))


@pytest.fixture
def orders(sql, path):
    sql.sql(f"CREATE TABLE orders USING hudi LOCATION '{path}'")
    return "orders"


needs_orders = pytest.mark.usefixtures("orders")


# ---- names, in the session that runs the query


@pytest.fixture
def other(sql, golden_table):
    """A database with another table of Apache Hudi under the name ``orders``, and ``plain``."""
    name = f"doors{next(_numbers)}"
    sql.sql(f"CREATE DATABASE {name}")
    sql.sql(f"CREATE TABLE {name}.orders USING hudi LOCATION '{golden_table('v6_mor_part_basic')}'")
    sql.sql(f"CREATE TABLE {name}.plain USING parquet AS SELECT 1 AS id")
    yield name
    for table in ("orders", "plain"):
        sql.sql(f"DROP TABLE {name}.{table}")
    sql.sql(f"DROP DATABASE {name}")


def number_of_other():
    (snapshot,) = (
        each for each in load_case(GOLDEN / "v6_mor_part_basic").queries if each.name == "snapshot"
    )
    return snapshot.expected_rows().num_rows


def cloned(session):
    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


def registered(session):
    session = session.newSession()
    hudi_pyspark.register(session, tables=True)
    return session


def registered_clone(session):
    clone = cloned(session)
    hudi_pyspark.register(clone, tables=True)
    return clone


@needs_orders
@pytest.mark.parametrize("derive", [cloned, registered, registered_clone])
def test_functions_find_names_in_the_session_that_runs_them(sql, other, derive):
    first = sql.catalog.currentDatabase()
    session = derive(sql)
    assert number_of_other() != number("snapshot")
    for database, expected in ((other, number_of_other()), (first, number("snapshot"))):
        session.sql(f"USE {database}")
        assert rows_of(session, "hudi_query('orders', 'snapshot')") == expected
        assert rows_of(session, f"hudi_query('{first}.orders', 'snapshot')") == number("snapshot")
        assert hudi_pyspark.hudi_query(session, "orders").count() == expected
        assert rows_of(sql, "hudi_query('orders', 'snapshot')") == number("snapshot")
    session.sql(f"USE {other}")
    for function in FUNCTIONS:
        arguments = {"hudi_query": ", 'snapshot'", "hudi_table_changes": ", 'cdc', 'earliest'"}
        call = f"{function}('plain'{arguments.get(function, '')})"
        assert "of another source" in refused(session, call)


@needs_orders
def test_functions_of_a_batch_find_names_in_its_session(sql, other, tmp_path):
    sql.range(1).write.parquet(str(tmp_path / "source"))
    found = []

    def read(batch, _number):
        session = batch.sparkSession
        session.sql(f"USE {other}")
        found.append(rows_of(session, "hudi_query('orders', 'snapshot')"))

    stream = sql.readStream.schema("id BIGINT").parquet(str(tmp_path / "source"))
    writer = stream.writeStream.foreachBatch(read).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert found == [number_of_other()]


@needs_orders
def test_function_in_a_view_finds_names_in_the_database_of_the_view(sql, other):
    first = sql.catalog.currentDatabase()
    sql.sql("CREATE TEMPORARY VIEW seen AS SELECT * FROM hudi_query('orders', 'snapshot')")
    sql.sql("CREATE TEMPORARY VIEW named AS SELECT * FROM orders")
    sql.sql(f"USE {other}")
    assert rows_of(sql, "seen") == rows_of(sql, "named") == number("snapshot")
    sql.sql(f"USE {first}")


@needs_orders
def test_temporary_view_that_hides_a_table_is_refused(sql):
    sql.sql("CREATE TEMPORARY VIEW orders AS SELECT 1 AS id")
    assert "temporary view" in refused(sql, "hudi_query('orders', 'snapshot')")
    qualified = f"{sql.catalog.currentDatabase()}.orders"
    assert rows_of(sql, f"hudi_query('{qualified}', 'snapshot')") == number("snapshot")
    assert rows_of(sql, f"hudi_query('SPARK_CATALOG.{qualified}', 'snapshot')") > 0
    sql.sql("DROP VIEW orders")


@needs_orders
def test_session_that_is_not_registered_has_no_functions(sql):
    refused(sql.newSession(), "hudi_query('orders', 'snapshot')", "UNRESOLVABLE_TABLE_VALUED")


# ---- arguments


@needs_orders
@pytest.mark.parametrize(
    ("begin", "end", "zone"),
    [
        (f"'{BEGIN}'", f"'{END}'", "+05:30"),
        (f"timestamp'{BEGIN}'", f"timestamp'{END}'", "UTC"),
        (f"timestamp'{BEGIN}'", f"timestamp'{END}'", "America/New_York"),
        (f"timestamp_ntz'{BEGIN}'", f"timestamp_ntz'{END}'", "+05:30"),
        (f"timestamp'{BEGIN}123'", f"timestamp'{END}999'", "GMT+8:00"),
        ("20261121062659947", "20261121062703819BD", "UTC"),
        (f"timestamp'{BEGIN}' - INTERVAL 24 HOURS + INTERVAL 1 DAY", f"lower('{END}')", "+05:30"),
        (f"to_timestamp('{BEGIN}')", f"nvl2(NULL, '', '{END}')", "-03:00"),
    ],
)
def test_times_are_instants(sql, begin, end, zone):
    sql.conf.set("spark.sql.session.timeZone", zone)
    call = f"hudi_table_changes('orders', 'latest_state', {begin}, {end})"
    assert rows_of(sql, call) == number("incr_end_minus_1ms")


@needs_orders
@pytest.mark.parametrize("zone", ["UTC", "+05:30"])
def test_times_are_moments_if_the_timeline_is_in_utc(sql, tmp_path, zone):
    table = unpack(CASE, tmp_path)
    set_property(table, "hoodie.table.timeline.timezone", "UTC")
    sql.conf.set("spark.sql.session.timeZone", zone)
    moments = f"timestamp'{BEGIN}Z', timestamp'{END}Z'"
    call = f"hudi_table_changes('{table}', 'latest_state', {moments})"
    assert rows_of(sql, call) == number("incr_end_minus_1ms")
    assert rows_of(sql, f"hudi.`{table}` TIMESTAMP AS OF '2026-11-21 06:27:00.103Z'") == number(
        "as_of_c2_formatted"
    )


@needs_orders
@pytest.mark.parametrize(
    ("day", "query"), [("2026-11-20", "incr_all"), ("2026-11-21", "incr_all"), ("2026-11-22", "")]
)
def test_days_are_instants(sql, day, query):
    expected = number(query) if query else 0
    for argument in (f"date'{day}'", f"'{day}'", f"timestamp'{day}'"):
        call = f"hudi_table_changes('orders', 'latest_state', {argument})"
        assert rows_of(sql, call) == expected


@needs_orders
@pytest.mark.parametrize(
    "argument",
    [
        *("NULL", "CAST(NULL AS TIMESTAMP)", "20778", "1.5", "1e3", "X'00'", "current_user()"),
        *("INTERVAL 1 DAY", "array('earliest')", "map('a', 1)", "struct('a')", "rand()"),
        *("(SELECT 'earliest')", "begin => 'earliest'", "timestamp'-2026-12-01'"),
        *("timestamp'+12026-12-01'", "unix_date(date'2026-11-21')", "uuid()", "'20778'"),
        *("unix_micros(timestamp'2026-11-21')", "parse_json('1')", "CAST('x' AS INT)", "true"),
    ],
)
def test_other_arguments_are_refused(sql, argument):
    refused(sql, f"hudi_table_changes('orders', 'latest_state', 'earliest', {argument})")


@needs_orders
@pytest.mark.parametrize(
    "source",
    [
        "hudi_query(NULL, 'snapshot')",
        "hudi_query('orders', NULL)",
        "hudi_query(table => 'orders', query_type => 'snapshot')",
        "hudi_query('orders', query_type => 'snapshot')",
        "hudi_query('orders', current_user())",
        "hudi_query((SELECT 'orders'), 'snapshot')",
        "hudi_query(timestamp'2026-11-21', 'snapshot')",
        "hudi_filesystem_view('orders', NULL)",
        "hudi_filesystem_view('orders', date'2026-11-21')",
        "hudi_query_timeline('orders', NULL)",
        "hudi_query_timeline('orders', 1)",
        "(VALUES ('orders')) AS t(name), LATERAL hudi_query(name, 'snapshot')",
        "(VALUES ('orders')) AS t(name), LATERAL hudi_query(upper(name), 'snapshot')",
    ],
)
def test_other_arguments_of_each_function_are_refused(sql, source):
    refused(sql, source)


@needs_orders
def test_table_as_an_argument_is_refused_by_a_condition(sql):
    refused(sql, "hudi_query(TABLE(orders), 'snapshot')", r"\[[A-Z_.]+\]")


@needs_orders
def test_constants_are_arguments(sql):
    user = "lower(concat('SNAP', 'SHOT'))"
    assert rows_of(sql, f"hudi_query('orders', {user})") == number("snapshot")
    name = "concat(current_database(), '.orders')"
    assert rows_of(sql, f"hudi_query({name}, 'snapshot')") == number("snapshot")
    archived = rows_of(sql, "hudi_query_timeline('orders', 'true')")
    assert rows_of(sql, "hudi_query_timeline('orders', true)") == archived
    begin = "current_timestamp() - INTERVAL 100 YEARS"
    call = f"hudi_table_changes('orders', 'latest_state', {begin})"
    assert rows_of(sql, call) == number("incr_all")
    lateral = "(VALUES (1), (2)) AS t(n), LATERAL hudi_query('orders', 'snapshot')"
    assert rows_of(sql, lateral) == 2 * number("snapshot")


@needs_orders
@pytest.mark.parametrize(
    "source",
    [
        "orders WITH (query_type = 'incremental', begin = '20778')",
        "orders WITH (query_type = 'incremental', begin = 20778)",
        "orders WITH (as_of = 20778)",
        "orders VERSION AS OF 20778",
        "orders TIMESTAMP AS OF '-2026-12-01'",
        "orders TIMESTAMP AS OF '+12026-12-01'",
    ],
)
def test_other_instants_are_refused(sql, source):
    assert "2027" not in refused(sql, source, "HUDI_INVALID_INSTANT")


@needs_orders
@pytest.mark.parametrize("name", ["hudi-py.sql.instant", "HUDI-PY.SQL.Function", "hudi-py.hints"])
def test_names_of_this_package_are_no_options_of_a_query(sql, name):
    refused(sql, f"orders WITH (`{name}` = '20261121062657910')", f"unknown option '{name.lower()}")
    frame = sql.read.option(name, "x")
    with pytest.raises(PySparkException, match="unknown option"):
        frame.table("orders").collect()


# ---- paths and databases


@needs_orders
def test_paths_are_closed_where_spark_closes_them(sql, path):
    sql.conf.set("spark.sql.runSQLOnFiles", "false")
    for source in ("hudi", "`hudi-py`"):
        refused(sql, f"{source}.`{path}`", "TABLE_OR_VIEW_NOT_FOUND")
        refused(sql, f"{source}.`{path}` VERSION AS OF '20261121062657910'", "NOT_FOUND")
    for call in (
        f"hudi_query('{path}', 'snapshot')",
        f"hudi_table_changes('{path}', 'cdc', 'earliest')",
        f"hudi_query_timeline('{path}')",
        f"hudi_filesystem_view('{path}')",
    ):
        assert "runSQLOnFiles" in refused(sql, call)
    assert rows_of(sql, "orders") == number("snapshot")
    assert rows_of(sql, "hudi_query('orders', 'snapshot')") == number("snapshot")
    assert hudi_pyspark.hudi_query(sql, path).count() == number("snapshot")


def test_database_with_the_name_of_the_source(sql, path):
    refused(sql, "hudi.missing", "TABLE_OR_VIEW_NOT_FOUND")
    sql.sql("CREATE DATABASE hudi")
    try:
        refused(sql, "hudi.missing", "TABLE_OR_VIEW_NOT_FOUND")
        sql.sql("DROP TABLE IF EXISTS hudi.missing")
        assert not sql.catalog.tableExists("hudi.missing")
        sql.sql("CREATE TABLE IF NOT EXISTS hudi.plain USING parquet AS SELECT 1 AS id")
        sql.sql(f"CREATE TABLE IF NOT EXISTS hudi.orders USING hudi LOCATION '{path}'")
        assert rows_of(sql, "hudi.plain") == 1
        for source in ("hudi.orders", f"hudi.`{path}`", "hudi_query('hudi.orders', 'snapshot')"):
            assert rows_of(sql, source) == number("snapshot")
    finally:
        sql.sql("DROP TABLE IF EXISTS hudi.orders")
        sql.sql("DROP TABLE IF EXISTS hudi.plain")
        sql.sql("DROP DATABASE hudi")


# ---- statements


@needs_orders
@pytest.mark.parametrize("case", [CASE, "v9_mor_all_types", "v9_cow_keygen_slashes"])
def test_entry_is_made_again_by_what_spark_shows_of_it(sql, golden_table, case):
    sql.sql(f"CREATE TABLE shown USING hudi COMMENT 'a' LOCATION '{golden_table(case)}'")
    before = sql.table("shown")
    (statement,) = sql.sql("SHOW CREATE TABLE shown").head()
    sql.sql("DROP TABLE shown")
    sql.sql(statement)
    assert sql.table("shown").schema == before.schema
    assert sql.table("shown").count() == before.count()


def test_text_of_the_usual_collation_is_declared(sql, path):
    location = f"USING hudi LOCATION '{path}'"
    sql.sql(f"CREATE TABLE declared (id STRING COLLATE UTF8_BINARY) {location}")
    assert rows_of(sql, "declared") == number("snapshot")
    with pytest.raises(Exception, match="its column id is string, not string collate UTF8_LCASE"):
        sql.sql(f"CREATE TABLE other (id STRING COLLATE UTF8_LCASE) {location}")


@needs_orders
def test_tables_like_others(sql):
    sql.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS id")
    for statement, error in (
        ("CREATE TABLE made LIKE plain USING hudi", "LOCATION"),
        ("CREATE TABLE made LIKE plain USING `hudi-py`", "LOCATION"),
        ("CREATE TABLE IF NOT EXISTS made LIKE orders USING hudi", "LOCATION"),
        ("CREATE TABLE made LIKE orders", "LIMIT 0"),
        ("CREATE TABLE made LIKE orders USING parquet", "LIMIT 0"),
    ):
        with pytest.raises(PySparkException, match=rf"\[HUDI_.*CREATE TABLE.*{error}"):
            sql.sql(statement)
    assert not sql.catalog.tableExists("made")
    sql.sql("CREATE TABLE made LIKE plain USING parquet")
    sql.sql("CREATE TABLE copied USING parquet AS SELECT * FROM orders LIMIT 0")
    assert sql.table("made").columns == ["id"]
    assert sql.table("copied").columns == sql.table("orders").columns
    assert sql.table("copied").count() == 0
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql.sql("CREATE TABLE nothing LIKE missing")


def test_directory_of_a_table_is_not_overwritten(sql, golden_table, tmp_path):
    lake = tmp_path / "lake"
    shutil.copytree(golden_table("v6_mor_part_basic"), lake / "sales" / "orders")
    folder = next(p for p in (lake / "sales" / "orders").iterdir() if not p.name.startswith("."))
    before = sorted(lake.rglob("*"))
    for target in (lake / "sales" / "orders", lake, folder, f"file:{folder}/below"):
        with pytest.raises(UnsupportedOperationException, match="INSERT OVERWRITE DIRECTORY"):
            sql.sql(f"INSERT OVERWRITE DIRECTORY '{target}' USING parquet SELECT 1 AS gone")
        with pytest.raises(UnsupportedOperationException, match="INSERT OVERWRITE DIRECTORY"):
            sql.sql(
                f"INSERT OVERWRITE DIRECTORY USING parquet OPTIONS (path '{target}') SELECT 1 AS a"
            )
    assert sorted(lake.rglob("*")) == before
    other = Path(tmp_path / "other")
    for _ in range(2):
        sql.sql(f"INSERT OVERWRITE DIRECTORY '{other}' USING parquet SELECT 1 AS id")
    assert sql.read.parquet(str(other)).collect() == [(1,)]


@needs_orders
def test_plans_show_no_addresses_of_objects(sql, path):
    for statement in (
        "SELECT * FROM orders",
        f"SELECT * FROM hudi.`{path}`",
        "SELECT * FROM hudi_query('orders', 'snapshot')",
        "DESCRIBE EXTENDED orders",
        f"CREATE TABLE again USING hudi LOCATION '{path}'",
        "DROP TABLE orders",
        "SHOW TABLES",
    ):
        (plan,) = sql.sql(f"EXPLAIN EXTENDED {statement}").head()
        assert not re.findall(r"hudi_pyspark\.\S*@[0-9a-f]+", plan), statement


# ---- what a session is left with

OWN = "CREATE OR REPLACE TEMPORARY FUNCTION {}(x INT) RETURNS TABLE (a INT) RETURN SELECT x"


def user_functions(session):
    return {row[0].rpartition(".")[2] for row in session.sql("SHOW USER FUNCTIONS").collect()}


def rules(session):
    added = session._jsparkSession.experimental().extraOptimizations().toString()
    return re.findall(r"hudi_pyspark\.(\w+)", added)


@needs_orders
@pytest.mark.parametrize("derive", [lambda session: session, cloned], ids=["itself", "clone"])
def test_nothing_is_left_of_tables_by_name(sql, derive):
    session = derive(sql)
    assert set(FUNCTIONS) <= user_functions(session)
    hudi_pyspark.register(session, tables=False)
    assert not set(FUNCTIONS) & user_functions(session)
    refused(session, "hudi_query('orders', 'snapshot')", "UNRESOLVABLE_TABLE_VALUED")
    with pytest.raises(InvalidOptionError, match="no slash"):
        hudi_pyspark.hudi_query(session, "orders")
    hudi_pyspark.register(session, tables=False)
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
        session.read.format("hudi").load("/a")
    session.sql(f"USE {sql.catalog.currentDatabase()}")
    hudi_pyspark.register(session, tables=True)
    assert rows_of(session, "hudi_query('orders', 'snapshot')") == number("snapshot")


def test_rule_of_commands_is_removed(spark):
    session = new_session(spark)
    hudi_pyspark.register(session)
    before = rules(session)
    hudi_pyspark.register(session, tables=True)
    assert sorted(rules(session)) == sorted([*before, "CommandCheck"])
    hudi_pyspark.register(session, tables=False)
    assert rules(session) == before


def test_function_of_the_user_stays(spark, path, caplog):
    session = new_session(spark)
    session.sql(OWN.format("hudi_query"))
    hudi_pyspark.register(session, tables=True)
    assert "hudi_query stays the session's own function" in caplog.text
    assert session.sql("SELECT * FROM hudi_query(7)").collect() == [(7,)]
    assert rows_of(session, f"hudi_query_timeline('{path}')") > 0
    with pytest.raises(InvalidOptionError, match="function of its own"):
        hudi_pyspark.hudi_query(session, "orders")
    assert hudi_pyspark.hudi_query(session, path).count() == number("snapshot")
    hudi_pyspark.register(session, tables=False)
    assert session.sql("SELECT * FROM hudi_query(7)").collect() == [(7,)]


def test_function_that_replaces_one_of_apache_hudi_stays(spark):
    session = new_session(spark)
    hudi_pyspark.register(session, tables=True)
    session.sql("DROP TEMPORARY FUNCTION hudi_query")
    session.sql(OWN.format("hudi_query"))
    for is_on in (True, False):
        hudi_pyspark.register(session, tables=is_on)
        assert session.sql("SELECT * FROM hudi_query(7)").collect() == [(7,)]


def test_function_that_was_dropped_is_registered_again(spark, path):
    session = new_session(spark)
    hudi_pyspark.register(session, tables=True)
    session.sql("DROP TEMPORARY FUNCTION hudi_query")
    refused(session, f"hudi_query('{path}', 'snapshot')", "UNRESOLVABLE_TABLE_VALUED")
    hudi_pyspark.register(session, tables=True)
    assert rows_of(session, f"hudi_query('{path}', 'snapshot')") == number("snapshot")
