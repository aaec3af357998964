"""Sessions of tests that need Spark."""

import shutil
from itertools import count

import pytest

import hudi_pyspark
from hudi_pyspark.spark.optimizer import ENABLED, install_optimizer
from tests.spark.frames import new_session
from tests.spark.named_tables import MOR

_numbers = count()


@pytest.fixture
def ruled(spark):
    """A session with the optimizer's rule, apart from the test's one."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set(ENABLED, "true")
    assert install_optimizer(session) == ""
    return session


@pytest.fixture
def sql(spark):
    """A session whose SQL reads tables, and whose current database is new."""
    session = new_session(spark)
    hudi_pyspark.register(session, tables=True)
    name = f"tables{next(_numbers)}"
    session.sql(f"CREATE DATABASE {name}")
    session.sql(f"USE {name}")
    yield session
    session.sql("USE default")
    hudi_pyspark.register(session, tables=True)
    location = session.catalog.getDatabase(name).locationUri
    for table in session.catalog.listTables(name):
        kind = "VIEW" if table.tableType == "VIEW" else "TABLE"
        if not table.isTemporary:
            session.sql(f"DROP {kind} {name}.{table.name}")
    shutil.rmtree(location.removeprefix("file:"), ignore_errors=True)
    session.sql(f"DROP DATABASE {name}")


@pytest.fixture
def path(golden_table):
    """The path of a golden table."""
    return str(golden_table(MOR))


@pytest.fixture
def orders(sql, path):
    """The name of an entry of this table."""
    sql.sql(f"CREATE TABLE orders USING hudi LOCATION '{path}'")
    return "orders"
