"""Tables that another catalog names."""

from functools import partial

import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException

import hudi_pyspark
from hudi_pyspark import InvalidOptionError
from tests.catalogs.rest_server import serve_catalog
from tests.conftest import GOLDEN
from tests.spark.frames import new_session
from tests.spark.named_tables import (
    C1,
    catalog_of,
    number_of,
    rows_of,
    scans,
)

pytestmark = pytest.mark.spark


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
