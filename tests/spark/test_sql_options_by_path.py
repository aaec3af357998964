"""Names that only the catalogs give are ignored in the options of a read by path.

Anybody may write such an option, e.g. into a view that others read.
"""

import json

import pyspark
import pytest
from pyspark.errors import PySparkException

import hudi_pyspark
from hudi_pyspark.spark import datasource, optimizer
from hudi_pyspark.spark.datasource import CatalogDataSource, HudiDataSource
from hudi_pyspark.spark.tables import catalog_classes
from tests.conftest import GOLDEN
from tests.golden.case import load_case

CASE = "v9_mor_compaction_inline"


def _entry(hive_format="", *, is_new=False, **stored):
    fields = [{"name": "id", "type": "string", "nullable": True, "metadata": {}}]
    entry = {"stored": stored, "hive_format": hive_format, "partitions": ["id"], "is_new": is_new}
    return json.dumps({**entry, "schema": {"type": "struct", "fields": fields}})


# Each would change the columns or the rows of the read, if a catalog had given it.
OPTIONS = [
    {"hudi-py.sql.instant": "20000101000000000"},
    {"Hudi-Py.SQL.Instant": "20000101000000000"},
    {"hudi-py.sql.entry": _entry(query_type="read_optimized")},
    {"hudi-py.sql.entry": _entry(filter="1 = 0")},
    {"hudi-py.sql.entry": _entry("org.apache.hudi.hadoop.HoodieParquetInputFormat")},
    {"hudi-py.sql.entry": _entry(is_new=True)},
    {"hudi-py.sql.function": json.dumps({"name": "hudi_query_timeline", "arguments": ["/t"]})},
    {"hudi-py.sql.changes": json.dumps({"mode": "NONE"})},
    {"hudi-py.sql.stream": "true"},
    {"hudi-py.sql.unknown": "x"},
    {"hudi-py.anything": "x"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_of_the_catalogs_are_ignored_and_logged(golden_table, caplog, options):
    path = str(golden_table(CASE))
    columns = HudiDataSource({"path": path}).schema()
    source = HudiDataSource({"path": path, **options})
    assert source.schema() == columns
    assert source.planner().settings() == HudiDataSource({"path": path}).planner().settings()
    (line,) = caplog.messages
    assert line == f"options of this package's own are ignored: {', '.join(sorted(options))}"


def test_source_of_the_catalogs_takes_them(golden_table, caplog):
    path = str(golden_table(CASE))
    arguments = {"name": "hudi_query_timeline", "arguments": [path]}
    call = {"hudi-py.sql.function": json.dumps(arguments)}
    assert "Action" in CatalogDataSource({"path": path, **call}).schema().names
    assert caplog.messages == []


def test_no_source_with_a_name_takes_them():
    """A read names its source, and Spark's catalogs have the object of theirs."""
    sources = [each for each in vars(datasource).values() if isinstance(each, type)]
    takes_them = [s for s in sources if issubclass(s, HudiDataSource) and s.takes_sql]
    assert takes_them == [CatalogDataSource]
    assert CatalogDataSource.name() == HudiDataSource.name()


@pytest.mark.spark
def test_reads_by_path_in_a_session_with_tables(sql, golden_table):
    path = str(golden_table(CASE))
    rows = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot").expected_rows()
    for name in ("hudi-py", "hudi"):
        for options in OPTIONS:
            frame = sql.read.format(name).options(**options).load(path)
            assert frame.count() == rows.num_rows, (name, options)
            assert set(frame.columns) == set(rows.schema.names)
    sql.sql(
        f"CREATE TEMPORARY VIEW orders USING `hudi-py` OPTIONS (path '{path}', "
        "'hudi-py.sql.instant' '20000101000000000')"
    )
    assert sql.table("orders").count() == rows.num_rows
    assert sql.table(f"hudi.`{path}`").count() == rows.num_rows


@pytest.mark.spark
@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="Spark 4.0 keeps the source that it found")
def test_catalogs_refuse_to_read_with_a_source_that_ignores_their_options(sql, golden_table):
    call = f"SELECT Action FROM hudi_query_timeline('{golden_table(CASE)}')"
    rows = sql.sql(call).count()
    assert rows > 0
    sql.dataSource.register(HudiDataSource)
    with pytest.raises(PySparkException, match="another source with the name hudi-py"):
        sql.sql(call)
    hudi_pyspark.register(sql)
    assert sql.sql(call).count() == rows


@pytest.mark.spark
def test_each_session_has_a_source_of_its_own(sql):
    """Registrations are equal to each other: a map by equality would forget one with another."""
    jvm = sql._jvm
    sources = optimizer.class_of(catalog_classes(jvm).loader, "CatalogSources").getField("ALL")
    found = set()
    for session in (sql, sql.newSession()):
        hudi_pyspark.register(session, tables=True)
        manager = session._jsparkSession.sessionState().dataSourceManager()
        source = sources.get(None).of(manager.lookupDataSource("hudi-py"))
        found.add(jvm.java.lang.System.identityHashCode(source))
    assert len(found) == 2
    assert jvm.java.lang.System.identityHashCode(None) not in found
