"""A project of ten models over tables of a metastore, as dbt makes them."""

import pytest

import hudi_pyspark
from tests.spark.frames import assert_same_rows

pytestmark = pytest.mark.spark

SOURCES = {"orders": "v9_mor_compaction_inline", "changes": "v9_cow_cdc_data_before"}
# Each model reads sources, or models above it.
MODELS = {
    "stg_orders": ("VIEW", "SELECT id, name, region, qty, amount FROM orders"),
    "stg_changes": ("VIEW", "SELECT id, name AS label, region, amount AS total FROM changes"),
    "regions": ("TABLE", "SELECT DISTINCT region FROM stg_orders"),
    "orders_by_region": (
        "TABLE",
        "SELECT region, count(*) AS orders, sum(qty) AS qty FROM stg_orders GROUP BY region",
    ),
    "large_orders": ("VIEW", "SELECT * FROM stg_orders WHERE qty > 3"),
    "ranked": (
        "VIEW",
        ("SELECT id, region, rank() OVER (PARTITION BY region ORDER BY qty, id) AS place "
        "FROM stg_orders"),
    ),
    "first_of_region": ("TABLE", ("SELECT r.* FROM ranked r JOIN regions USING (region) "
                        "WHERE r.place = 1")),
    "ids": ("TABLE", "SELECT id FROM stg_orders UNION SELECT id FROM stg_changes"),
    "without_order": (
        "VIEW", "SELECT c.id, c.total FROM stg_changes c LEFT ANTI JOIN large_orders l USING (id)"
    ),
    "summary": (
        "TABLE",
        ("SELECT region, orders, (SELECT count(*) FROM ids) AS ids, "
        "(SELECT count(*) FROM without_order) AS without_order FROM orders_by_region "
        "WHERE region IN (SELECT region FROM first_of_region)"),
    ),
}  # fmt: skip


@pytest.fixture
def project(spark, golden_table):
    """A session whose current database has the sources as entries; the database ends with it."""
    session = spark.newSession()
    hudi_pyspark.register(session, tables=True)
    session.sql("CREATE DATABASE project")
    session.sql("USE project")
    for name, case in SOURCES.items():
        session.sql(f"CREATE TABLE {name} USING hudi LOCATION '{golden_table(case)}'")
    yield session
    for name, (kind, _) in reversed(MODELS.items()):
        session.sql(f"DROP {kind} IF EXISTS {name}")
    for name in SOURCES:
        session.sql(f"DROP TABLE {name}")
    session.sql("DROP DATABASE project")


def test_models_over_tables_by_name_have_the_rows_of_models_over_views(
    spark, project, golden_table
):
    views = spark.newSession()
    hudi_pyspark.register(views)
    for name, case in SOURCES.items():
        frame = views.read.format("hudi-py").load(str(golden_table(case)))
        frame.createOrReplaceTempView(name)
    for name, (kind, query) in MODELS.items():
        form = "USING parquet " if kind == "TABLE" else ""
        project.sql(f"CREATE {kind} {name} {form}AS {query}")
        views.sql(f"CREATE TEMPORARY VIEW {name} AS {query}")
        expected = views.table(name)
        assert not expected.isEmpty()
        assert_same_rows(project.table(name), expected)
