"""Names by which users of other libraries ask a table or a scan."""

from __future__ import annotations

import copy
import pickle
import re
from typing import TYPE_CHECKING, Any

import pytest

import hudi_pyspark
from hudi_pyspark import HudiTable, Scan
from hudi_pyspark.inspection.inspection import Inspection
from hudi_pyspark.names_elsewhere import OF_INSPECTION, OF_SCAN, OF_TABLE
from tests.conftest import PROJECT

if TYPE_CHECKING:
    from collections.abc import Mapping

CASE = "v6_mor_part_basic"


@pytest.fixture
def table(golden_table):
    return HudiTable(golden_table(CASE))


def test_table_answers_what_frames_answer(table):
    rows = table.scan().to_arrow()
    assert table.columns == rows.column_names
    assert table.to_arrow().num_rows == rows.num_rows
    assert list(table.to_pandas().columns) == table.columns
    assert table.to_polars().shape == (rows.num_rows, len(table.columns))


@pytest.mark.parametrize("name", OF_TABLE)
def test_table_says_what_to_use_instead(table, name):
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}: use {OF_TABLE[name]}")):
        getattr(table, name)


@pytest.mark.parametrize("name", OF_SCAN)
def test_scan_says_what_to_use_instead(table, name):
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}: use {OF_SCAN[name]}")):
        getattr(table.scan(), name)


@pytest.mark.parametrize("name", OF_INSPECTION)
def test_inspection_says_what_to_use_instead(table, name):
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}: use {OF_INSPECTION[name]}")):
        getattr(table.inspect, name)


# Jupyter shows the message alone; Python's own suggestion, in a terminal, is not part of it.
@pytest.mark.parametrize(
    ("of", "misspelt", "meant"),
    [
        (lambda table: table, "to_panda", "to_pandas"),
        (lambda table: table.scan(), "to_arow", "to_arrow"),
        (lambda table: table.inspect, "comits", "commits"),
    ],
)
def test_misspelt_name_is_followed_by_the_one_that_is_meant(table, of, misspelt, meant):
    with pytest.raises(AttributeError, match=rf"{misspelt!r}; did you mean {meant}\?$") as raised:
        getattr(of(table), misspelt)
    assert raised.value.obj is None, "Python would say it again"


@pytest.mark.parametrize(
    ("kind", "names"), [(HudiTable, OF_TABLE), (Scan, OF_SCAN), (Inspection, OF_INSPECTION)]
)
def test_names_are_those_that_are_missing(kind: type, names: Mapping[str, str]):
    assert [name for name in names if hasattr(kind, name)] == []


@pytest.mark.parametrize(
    "call", sorted({*OF_TABLE.values(), *OF_SCAN.values(), *OF_INSPECTION.values()})
)
def test_what_to_use_exists(call, table):
    """Each name after a dot is one of the object before it."""
    subjects: dict[str, Any] = {"table": table, "scan": table.scan(), "hudi_pyspark": hudi_pyspark}
    chains = re.findall(r"\b(table|scan|hudi_pyspark)((?:\.\w+(?:\([^)]*\))?)+)", call)
    assert chains or "Apache Hudi" in call
    for subject, chain in chains:
        value = subjects[subject]
        for name in re.findall(r"\.(\w+)", chain):
            value = getattr(value, name)
            value = table.scan() if name == "scan" else value


def test_missing_names_are_missing(table):
    for value in (table, table.scan()):
        assert not hasattr(value, "where")
        assert getattr(value, "version", 7) in (7, table.last_instant)
        with pytest.raises(AttributeError, match=r"no attribute 'regoin'$"):
            _ = value.regoin


def test_property_that_fails_reports_its_own_error(table):
    class Broken(HudiTable):
        @property
        def wrong(self) -> object:
            return self.config.no_such_property  # type: ignore[attr-defined]

    broken = Broken(table.path)
    with pytest.raises(AttributeError, match="no_such_property"):
        _ = broken.wrong


def test_tables_and_scans_are_copied_and_pickled(table):
    rows = table.scan().count()
    for value in (table, table.scan()):
        for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert twin.to_arrow().num_rows == rows


def test_decimals_become_numbers_of_pandas_as_the_page_says(golden_table):
    page = (PROJECT / "docs" / "without-spark.md").read_text(encoding="utf-8")
    code = page[page.index("import pyarrow as pa\n\ndecimals") :].partition("```")[0]
    names: dict[str, Any] = {"table": HudiTable(golden_table("v9_mor_all_types"))}
    exec(code, names)
    assert names["decimals"]
    assert {str(names["frame"][name].dtype) for name in names["decimals"]} == {"float64"}
