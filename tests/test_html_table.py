"""What notebooks show of values of this package, and of tables of Arrow after `%load_ext`."""

import re
import subprocess
import sys

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from hudi_pyspark.doctor.finding import Severity
from hudi_pyspark.html_table import html_table, unload_ipython_extension
from hudi_pyspark.inspection import INSPECTION_TABLES
from tests.cli.command import in_process
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


def test_findings_are_shown_as_the_command_prints_them_with_colours_by_severity(tmp_path):
    table = unpack(MOR, tmp_path)
    data_file(table, ".*.log.*").unlink()
    findings = HudiTable(table).doctor()
    printed = in_process("doctor", str(table)).out
    assert printed.startswith(f"{findings!r}\n")
    (missing,) = [finding for finding in findings if finding.severity is Severity.PROBLEM]
    lines = repr(findings).splitlines()
    start = lines.index(f"problem  files: {missing.subject}: {missing.message}")
    assert lines[start + 1] == f"         → {missing.advice}"
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
    assert [name for name in dir(table) if name.startswith("_")] == []


@pytest.fixture
def ipython():
    """IPython with this package as an extension; what it shows is unchanged afterwards."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "hudi_pyspark")
    yield shell
    shell.run_line_magic("unload_ext", "hudi_pyspark")


def shown_by(shell, value):
    """What a notebook gets of a value, by its kind."""
    return shell.display_formatter.format(value)[0]


def test_inspection_table_is_shown_with_its_columns_and_values(ipython, golden_table):
    commits = HudiTable(golden_table(MOR)).inspect.commits()
    shown = shown_by(ipython, commits)["text/html"]
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", shown)[: len(commits.column_names)]
    assert heads == commits.column_names
    for value in (*commits["requested_time"].to_pylist(), *commits["operation"].to_pylist()):
        assert f">{value}<" in shown
    assert f"<b>{commits.num_rows} rows</b>" in shown


def test_large_table_is_shown_in_part_with_the_number_of_all_rows(ipython):
    table = pa.table({"n": range(10_000), "text": ["x" * 10_000] * 10_000})
    shown = shown_by(ipython, table)["text/html"]
    assert "<b>10,000 rows, of which 20 are shown</b>" in shown
    assert shown.count("<tr>") == 21
    assert len(shown) < 10_000


def test_values_and_names_of_a_table_are_escaped(ipython):
    hostile = "<script>alert('a')</script>\u202e\x1b"
    table = pa.table({hostile: [hostile], "nested": [[{"a": hostile}]]})
    shown = shown_by(ipython, table)["text/html"]
    assert shown.count("&lt;script&gt;") == 3
    for text in ("<script", "\u202e", "\x1b"):
        assert text not in shown


def test_texts_nulls_lists_and_times_are_shown_as_on_the_command_line(ipython):
    time = pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"text": ['a "b"'], "none": [None], "texts": [["a", "b"]], "time": time})
    shown = shown_by(ipython, table)["text/html"]
    cells = re.findall(r"<t[hd] [^>]*>([^<]*)</t[hd]>", shown)
    texts = ["a &quot;b&quot;", "null", "a, b", "2023-11-14T22:13:20.000000Z"]
    assert cells[len(table.column_names) :] == texts


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
        pa.table({"nanoseconds": pa.array([1], pa.timestamp("ns"))}),
    ],
    ids=["interval", "nanoseconds"],
)
def test_table_of_a_type_that_hudi_lacks_stays_plain_text(ipython, table):
    shown = shown_by(ipython, table)
    assert "text/html" not in shown
    assert shown["text/plain"] == repr(table)


@pytest.mark.parametrize("table", [pa.table({}), pa.table({"n": pa.array([], pa.int64())})])
def test_table_without_rows_or_columns_is_shown(ipython, table):
    assert "<b>0 rows</b>" in shown_by(ipython, table)["text/html"]


def test_unloaded_extension_leaves_the_plain_text(ipython):
    table = pa.table({"n": [1]})
    ipython.run_line_magic("unload_ext", "hudi_pyspark")
    assert shown_by(ipython, table) == {"text/plain": repr(table)}
    unload_ipython_extension(ipython)  # once more, without an error


def test_package_imports_no_ipython():
    code = "import sys, hudi_pyspark, hudi_pyspark.html_table; assert 'IPython' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
