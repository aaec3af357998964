"""Tests of conversions between Arrow schemas and Spark's, which need no session."""

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    CharType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    VarcharType,
)

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.schema import (
    arrow_schema_of,
    requested_columns,
    spelled_as,
    unchanged_columns,
)


@pytest.mark.parametrize("spelled", [CharType(6), VarcharType(20), ArrayType(VarcharType(20))])
def test_text_of_a_declared_length_is_refused_with_advice(spelled):
    """Spark keeps these types in the columns of CREATE VIEW, and its own worker fails at them."""
    with pytest.raises(InvalidOptionError, match=r"(?s)(Char|Varchar)Type.*request string instead"):
        arrow_schema_of(StructType([StructField("name", spelled)]))


def test_texts_with_a_collation_do_not_keep_the_type_of_the_table():
    table = pa.schema([("id", pa.string()), ("name", pa.string())])
    collated = StructField("name", StringType("UTF8_LCASE"))
    requested = StructType([StructField("id", StringType()), collated])
    assert requested_columns(requested, table) == ["id", "name"]
    assert unchanged_columns(table, requested).names == ["id"]


def test_misspelt_column_is_followed_by_the_one_that_is_meant():
    misspelt = StructType([StructField("amuont", IntegerType())])
    meant = r"reads 'amuont', which the table does not have \(did you mean 'amount'\?\); it has id"
    with pytest.raises(InvalidOptionError, match=rf"{meant}.*: make it again$"):
        requested_columns(misspelt, pa.schema({"id": pa.string(), "amount": pa.int32()}))


@pytest.mark.parametrize(
    ("table", "found"),
    [
        pytest.param({"id": pa.string()}, "reads 'n', which the table does not have", id="gone"),
        pytest.param(
            {"id": pa.string(), "n": pa.string()},
            r"reads column 'n' as int32, but it is string, .* \(no rule of schema evolution\)",
            id="of-another-type",
        ),
    ],
)
def test_frame_whose_table_has_changed_is_told_to_be_made_again(table, found):
    """Nobody has called .schema(...) then: the columns are those that the table had."""
    loaded = StructType([StructField("id", StringType()), StructField("n", IntegerType())])
    advice = r"If you gave none, the table has changed since .*: make it again"
    with pytest.raises(
        InvalidOptionError, match=f"^.HUDI_INVALID_OPTION. the query {found}.*{advice}"
    ):
        requested_columns(loaded, pa.schema(table))


@pytest.mark.parametrize("names", [("QTY", "Id"), ("qty", "id"), ("Id", "qty")])
def test_columns_of_a_schema_in_another_case_are_those_of_the_table(golden_table, names):
    """Whatever spark.sql.caseSensitive is, which Spark keeps from Python data sources."""
    path = str(golden_table("v9_mor_compaction_inline"))
    types = {"qty": LongType(), "id": StringType()}
    spelled = StructType([StructField(name, types[name.lower()]) for name in names])
    reader = HudiDataSource({"path": path}).reader(spelled)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    answer = pa.Table.from_batches(batches)
    assert answer.schema.names == [*names]
    stored = HudiTable(path).scan([name.lower() for name in names]).to_arrow()
    ours, theirs = (
        sorted(zip(*table.to_pydict().values(), strict=True), key=str) for table in (answer, stored)
    )
    assert ours == theirs


def test_columns_of_a_table_about_the_table_may_be_spelled_in_another_case(golden_table):
    path = str(golden_table("v9_mor_compaction_inline"))
    spelled = StructType([StructField("Requested_Time", StringType())])
    reader = HudiDataSource({"path": path, "inspect": "commits"}).reader(spelled)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    times = HudiTable(path).inspect.commits()["requested_time"]
    assert pa.Table.from_batches(batches).to_pydict() == {"Requested_Time": times.to_pylist()}


def test_column_of_a_schema_that_may_be_one_of_two_is_refused():
    table = pa.schema([("state", pa.string()), ("State", pa.string())])
    exact = StructType([StructField("State", StringType())])
    assert spelled_as(table, exact) == exact
    with pytest.raises(InvalidOptionError, match="'STATE' may be 'state' or 'State'"):
        spelled_as(table, StructType([StructField("STATE", StringType())]))
