"""Hints of somebody else, in the columns of an entry or a schema and in options: they say nothing.

An entry with a pickle in the metadata of a column ran code in each reader, and a filter there hid
rows. Both in sessions that had never called `register`.
"""

import random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.conftest import ruled, sql
from tests.spark.frames import load
from tests.spark.hints_of_others import OPTIONS, harmful_words, marked

pytestmark = pytest.mark.spark
__all__ = ["ruled", "sql"]  # fixtures

CASE = "v9_mor_compaction_inline"


@pytest.fixture(params=["classic", "registered"])
def session(request, spark):
    return spark if request.param == "classic" else request.getfixturevalue("ruled")


@pytest.fixture
def path(golden_table):
    return str(golden_table(CASE))


def expected_ids(case=CASE):
    query = next(q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    return sorted(query.expected_rows()["id"].to_pylist())


def ids(frame):
    found = sorted(row.id for row in frame.select("id").collect())
    assert frame.count() == len(found)
    return found


def create(session, name, schema, path, **options):
    session.sql(f"DROP TABLE IF EXISTS {name}")
    session.catalog.createTable(name, path, source="hudi-py", schema=schema, **options)


def test_entry_runs_no_code_in_its_readers(session, tmp_path):
    words = harmful_words(tmp_path / "mark")
    schema = StructType([StructField("id", StringType(), nullable=True, metadata=words)])
    create(session, "victim", schema, f"{tmp_path}/nowhere")
    with pytest.raises(PySparkException):
        session.sql("SELECT * FROM victim").collect()
    session.sql("DROP TABLE victim")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("seed", range(4))
def test_schema_hides_no_rows_and_no_values(session, path, tmp_path, seed):
    plain = load(session, path)
    schema = marked(plain.schema, harmful_words(tmp_path / "mark"), random.Random(seed))
    frame = session.read.format("hudi-py").schema(schema).load(path)
    assert ids(frame) == expected_ids()
    assert frame.sort("id").collect() == plain.sort("id").collect()
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("number", [0, 1, 2, 4])
def test_options_of_a_read_and_of_a_view_hide_no_rows(session, path, number):
    options = OPTIONS[number]
    assert ids(load(session, path, **options)) == expected_ids()
    given = ", ".join(f"'{k}' r\"{v}\"" for k, v in options.items() if '"' not in v)
    given += "".join(f", '{k}' '{v}'" for k, v in options.items() if '"' in v)
    session.sql(
        "CREATE OR REPLACE TEMP VIEW hinted USING `hudi-py` "
        f"OPTIONS (path '{path}', {given.strip(', ')})"
    )
    assert ids(session.table("hinted")) == expected_ids()


def test_view_that_was_saved_over_a_hinted_entry_hides_no_rows(sql, path, tmp_path):
    words = {**harmful_words(tmp_path / "mark"), **OPTIONS[0]}
    stored = ", ".join(f"'{word}' = '{value}'" for word, value in words.items() if '"' not in value)
    sql.sql(f"CREATE TABLE hinted USING hudi LOCATION '{path}' TBLPROPERTIES ({stored})")
    sql.sql("CREATE VIEW over_hinted AS SELECT * FROM hinted")
    for name in ("hinted", "over_hinted"):
        assert ids(sql.table(name)) == expected_ids()
    assert not (tmp_path / "mark").exists()


def test_statements_refuse_options_of_this_package(sql, path):
    sql.sql(f"CREATE TABLE IF NOT EXISTS clean USING hudi LOCATION '{path}'")
    for options in OPTIONS[1:4]:
        given = ", ".join(f"'{word}' = r'{value}'" for word, value in options.items())
        with pytest.raises(Exception, match=r"hudi-py\."):
            sql.sql(f"CREATE TABLE stored USING hudi OPTIONS ({given}) LOCATION '{path}'")
        with pytest.raises(Exception, match=r"hudi-py\."):
            sql.sql(f"SELECT * FROM clean WITH ({given})").collect()
    assert ids(sql.table("clean")) == expected_ids()
