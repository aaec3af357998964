"""`Scan.filter` and `Scan.select`, and what Spark is handed of them."""

from __future__ import annotations

from unittest.mock import MagicMock

import pyarrow.compute as pc
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, Scan, UnsupportedQueryError

CASE = "v6_mor_part_basic"
EMEA = "region = 'emea'"


@pytest.fixture
def table(golden_table):
    return HudiTable(golden_table(CASE))


def keys(scan: Scan) -> list[str]:
    return sorted(scan.to_arrow()["_hoodie_record_key"].to_pylist())


def spark_options(scan: Scan) -> dict[str, str]:
    """The options with which Spark does the same read."""
    spark = MagicMock()
    scan.to_spark(spark)
    options: dict[str, str] = spark.read.format.return_value.options.call_args.kwargs
    return options


@pytest.mark.parametrize(
    "condition",
    [EMEA, pc.field("region") == "emea", [("region", "=", "emea")], ("region", "=", "emea")],
    ids=["text", "expression", "tuples", "tuple"],
)
def test_filter_takes_what_the_argument_filter_takes(table, condition):
    known = keys(table.scan(filter=EMEA))
    assert 0 < len(known) < table.scan().count()
    assert keys(table.scan().filter(condition)) == known


def test_filters_add_up_whatever_their_form(table):
    known = keys(table.scan(filter=f"{EMEA} AND (id < 'k0005' OR id = 'k0009')"))
    text = "id < 'k0005' OR id = 'k0009'"
    assert keys(table.scan(filter=text).filter(EMEA)) == known
    assert keys(table.scan(filter=text).filter(pc.field("region") == "emea")) == known


def test_filter_may_name_a_column_that_is_not_selected(table):
    narrowed = table.scan().select("_hoodie_record_key").filter(EMEA)
    assert keys(narrowed) == keys(table.scan(filter=EMEA))


@pytest.mark.parametrize("condition", [None, 7, "regoin = 'a'", "region ="])
def test_filter_refuses_what_is_no_condition(table, condition):
    with pytest.raises(InvalidOptionError):
        table.scan().filter(condition)


@pytest.mark.parametrize(
    "names", [("ts", "id"), (["ts", "id"],), (("ts", "id"),), ("TS", "Id")], ids=str
)
def test_select_takes_names_one_by_one_or_in_a_list(table, names):
    scan = table.scan().select(*names)
    assert scan.columns == ["ts", "id"]
    assert scan.to_arrow().column_names == ["ts", "id"]


@pytest.mark.parametrize(
    ("names", "message"),
    [(["regoin"], "did you mean 'region'"), (["id", "ID"], "twice"), (["qty"], "no column 'qty'")],
)
def test_select_refuses_columns_that_the_scan_lacks(table, names, message):
    with pytest.raises(InvalidOptionError, match=message):
        table.scan(["id", "region"]).select(names)


def test_select_says_what_the_scan_has(table):
    with pytest.raises(InvalidOptionError, match="the scan has no column 'region'; it has id"):
        table.scan().select("id").select("region")


@pytest.mark.parametrize("name", [3, None, b"id", ("id", 3)])
def test_select_refuses_what_is_no_name(table, name):
    with pytest.raises(InvalidOptionError, match="select takes names of columns, not"):
        table.scan().select(name)


def test_spark_is_handed_columns_and_filters_that_are_text(table):
    scan = table.scan(COLUMNS="id,region", Filter="id > 'a'")
    options = spark_options(scan.filter(EMEA).select("id"))
    assert {name: text for name, text in options.items() if name != "path"} == {
        "filter": f"(id > 'a') AND ({EMEA})",
        "columns": "id",
    }


def test_spark_is_not_handed_a_scan_whose_filter_is_not_text(table):
    scan = table.scan().filter(pc.field("region") == "emea").filter("id > 'a'").select("id")
    with pytest.raises(UnsupportedQueryError, match="filter that is not text"):
        scan.to_spark(MagicMock())
