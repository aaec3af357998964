"""Tables by name and by path in SQL: rows as Apache Hudi's, and no file is ever deleted."""

import re
from functools import partial
from itertools import count

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import IllegalArgumentException

import hudi_pyspark
from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack
from tests.golden.case import load_cases
from tests.golden.compare import row_differences
from tests.golden.run import judge
from tests.spark.frames import assert_same_rows, hudi_rows, load
from tests.spark.named_tables import (
    C1,
    MOR,
    number_of,
    rows_of,
    rows_of_stream,
    scans,
)

pytestmark = pytest.mark.spark

_numbers = count()


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
