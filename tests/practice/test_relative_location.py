"""CREATE TABLE checks a table where Spark's catalog puts it, and nowhere else."""

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.conftest import sql

pytestmark = pytest.mark.spark
__all__ = ["sql"]  # a fixture

CASE = "v9_mor_compaction_inline"
HUDI = next(query for query in load_case(GOLDEN / CASE).queries if query.name == "snapshot")


def database_folder(session):
    name = session.catalog.currentDatabase()
    return Path(session.catalog.getDatabase(name).locationUri.removeprefix("file:"))


def location(session, table):
    rows = session.sql(f"DESCRIBE EXTENDED {table}").collect()
    return next(row.data_type for row in rows if row.col_name == "Location")


def copy(golden_table, folder):
    shutil.copytree(golden_table(CASE), folder)
    return folder


def test_location_in_the_working_folder_is_refused_since_spark_puts_it_elsewhere(sql, golden_table):
    given = os.path.relpath(golden_table(CASE))
    expected = os.path.normpath(database_folder(sql) / given)
    with pytest.raises(Exception, match=r"HUDI_PATH_NOT_FOUND.*give the whole path") as refused:
        sql.sql(f"CREATE TABLE sales USING hudi LOCATION '{given}'")
    assert f"file:{expected} does not exist" in str(refused.value)
    assert sql.sql("SHOW TABLES").collect() == []


def test_relative_location_of_a_table_in_the_folder_of_the_database_is_read(sql, golden_table):
    folder = copy(golden_table, database_folder(sql) / "build" / "orders")
    sql.sql("CREATE TABLE sales USING hudi LOCATION 'build/orders'")
    assert location(sql, "sales") == f"file:{folder}"
    assert sql.table("sales").count() == HUDI.expected_rows().num_rows


@pytest.mark.parametrize(
    "make",
    [
        lambda session, path: session.sql(f"CREATE TABLE sales USING hudi OPTIONS (path '{path}')"),
        lambda session, path: session.catalog.createTable("sales", str(path), source="hudi"),
        lambda session, path: session.sql(f"CREATE TABLE sales USING hudi LOCATION 'file:{path}'"),
    ],
    ids=["option", "catalog", "uri"],
)
@pytest.mark.parametrize("name", ["with space", "per%20cent", "plus+and#hash"])
def test_table_that_create_finds_is_the_one_that_queries_read(
    sql, golden_table, tmp_path, make, name
):
    path = copy(golden_table, tmp_path / name)
    make(sql, path)
    assert sql.table("sales").count() == HUDI.expected_rows().num_rows
