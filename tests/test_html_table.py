"""What notebooks show of a table, of a scan, of findings and of the list of inspection tables."""

import re

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from hudi_pyspark.html_table import html_table
from hudi_pyspark.inspection import INSPECTION_TABLES
from tests.damage import data_file, unpack

MOR = "v6_mor_part_basic"


def test_names_of_a_table_are_escaped_as_html_and_as_control_characters():
    shown = html_table("<b>", [("a\u202e", "<script>")])
    assert "<script>" not in shown
    assert "\u202e" not in shown
    assert "&lt;script&gt;" in shown


def test_scan_shows_columns_and_plan(golden_table):
    shown = HudiTable(golden_table(MOR)).rows._repr_html_()
    for text in ("id string", "file slices", "Scan of snapshot of"):
        assert text in shown


def test_inspection_lists_each_table_with_what_it_has(golden_table):
    shown = HudiTable(golden_table(MOR)).inspect._repr_html_()
    assert re.findall(r"<th[^>]*>(\w+)</th><td[^>]*>Return ", shown) == list(INSPECTION_TABLES)


def test_findings_are_one_per_line_with_colours_by_severity(tmp_path):
    table = unpack(MOR, tmp_path)
    data_file(table, ".*.log.*").unlink()
    findings = HudiTable(table).doctor()
    lines = repr(findings).splitlines()
    assert len(lines) == len(findings)
    assert any(line.startswith("problem files: ") for line in lines)
    assert '<th style="text-align:left;color:red">problem</th>' in findings._repr_html_()
    assert findings == tuple(findings)


def test_rows_have_the_comforts_of_a_frame(golden_table):
    rows = HudiTable(golden_table(MOR)).rows
    assert rows.columns == [n for n in rows.schema.names if not n.startswith("_hoodie_")]
    assert rows.head(3).num_rows == 3
    assert rows.head(0).num_rows == 0
    assert len(rows.to_pandas()) == rows.count()


@pytest.mark.parametrize("count", [-1, 1.5, "2", None])
def test_head_wants_a_number_of_rows(golden_table, count):
    with pytest.raises(InvalidOptionError, match="give a number of rows from 0 on"):
        HudiTable(golden_table(MOR)).rows.head(count)


def test_dir_has_what_users_call(golden_table):
    table = HudiTable(golden_table(MOR))
    assert {"rows", "scan", "inspect", "doctor"} <= set(dir(table))
    assert {"scan_with", "scan_range", "from_options"}.isdisjoint(dir(table))
