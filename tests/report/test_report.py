import ast
import json
import shlex
import sys
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, thresholds
from hudi_pyspark.errors import printable
from hudi_pyspark.report.index import IndexEntry, ReportIndex, find_tables
from hudi_pyspark.report.page import _environment
from hudi_pyspark.report.sections import files_per_value, histogram, order_of
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.log_files import LogFiles
from tests.cli.command import in_process
from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case
from tests.report.hostile import COMMENT, NAME, PARTITION, hostile_table
from tests.report.reading_lines import CASES, expected_rows, texts

TABLES = [
    "v9_mor_mdt_indexes",
    "v9_mor_archived",
    "v8_mor_savepoint_restore",
    "v9_cow_keygen_slashes",
]
BASIC = "v6_mor_part_basic"


@pytest.fixture(scope="module")
def report(golden_table):
    return HudiTable(golden_table("v9_mor_archived")).report()


class Elements(HTMLParser):
    """Names of all elements, attributes that run code, and the text."""

    def __init__(self, page):
        super().__init__()
        self.names = []
        self.handlers = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", TABLES)
def test_figures_are_those_of_inspect(golden_table, name):
    table = HudiTable(golden_table(name))
    content = table.report().content
    inspect = table.inspect
    assert [content["statistics"]] == inspect.statistics().to_pylist()
    assert content["timeline"]["instants"] == inspect.timeline().num_rows
    commits = inspect.commits(archived=True).drop_columns(["extra_metadata"]).to_pylist()
    extra = {"extra_metadata", "by_partition", "changed"}
    shown = [{k: v for k, v in c.items() if k not in extra} for c in content["timeline"]["commits"]]
    assert shown == commits
    parts = [p for commit in content["timeline"]["commits"] for p in commit["by_partition"]]
    assert sum(p["written_bytes"] for p in parts) == sum(c["written_bytes"] for c in commits)
    partitions = {row["partition_path"]: row for row in inspect.partitions().to_pylist()}
    for row in content["storage"]["partitions"]:
        assert row.items() <= partitions.pop(row["partition_path"]).items()
    assert not partitions
    slices = {row["file_id"]: row for row in inspect.file_slices().to_pylist()}
    for row in content["storage"]["groups"]:
        assert row["log_bytes"] == slices.pop(row["file_id"])["log_bytes"]
    assert not slices
    assert sum(b["files"] for b in content["storage"]["histogram"]) == len(
        [row for row in inspect.file_slices().to_pylist() if row["base_file"]]
    )
    checks = {(f.check, f.message) for f in table.doctor() if "files" not in f.check}
    assert checks <= {(f["check"], f["message"]) for f in content["findings"]}


def test_records_that_users_changed_are_not_those_that_commits_wrote(golden_table):
    """The compaction of this table wrote 18 records, and changed none."""
    content = HudiTable(golden_table("v9_mor_compaction_inline")).report().content
    (compaction,) = (c for c in content["timeline"]["commits"] if c["operation"] == "COMPACT")
    assert (compaction["changed"], compaction["records"]) == (0, 18)
    for commit in content["timeline"]["commits"]:
        if commit["operation"] != "COMPACT":
            kinds = commit["inserts"], commit["updates"], commit["deletes"]
            assert commit["changed"] == sum(kinds) > 0
    instants = content["reading"]["instants"]
    newest = content["timeline"]["commits"][::-1]
    assert [(i["changed"], i["records"]) for i in instants] == [
        (c["changed"], c["records"]) for c in newest
    ]
    (day,) = content["growth"]["days"]
    assert sum(day[n] for n in ("inserts", "updates", "deletes")) == sum(
        c["changed"] for c in newest
    )
    assert day["records"] == sum(c["records"] for c in newest)


# Compacted or COPY_ON_WRITE: commits know the rows. Otherwise inserts of log files are added.
@pytest.mark.parametrize(
    ("name", "is_exact"), [("v9_cow_keygen_slashes", True), ("v9_mor_mdt_indexes", False)]
)
def test_rows_are_those_that_apache_hudi_reads(golden_table, name, is_exact):
    table = HudiTable(golden_table(name)).report().content["table"]
    expected = load_case(GOLDEN / name).query("snapshot").expected_rows().num_rows
    assert (table["rows"], table["rows_are_exact"]) == (expected, is_exact)


def test_of_many_findings_that_are_alike_some_are_shown(tmp_path):
    table = unpack("v9_mor_archived", tmp_path)
    (file, *_) = (path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts)
    for number in range(7):  # of failed attempts, which no commit names
        attempt = f"f{number}-0_0-1-2_2099123100000000{number}.parquet"
        (file.parent / attempt).write_bytes(b"")
    report = HudiTable(table).report()
    left = [f for f in report.content["findings"] if "No commit names them" in f["message"]]
    assert [f["alike"] for f in left] == [7] * 5
    text = Elements(report.to_html()).text
    assert "And 2 more like these" in text
    severity = left[0]["severity"]
    others = [f for f in report.content["findings"] if f not in left]
    expected = 7 + sum(f["severity"] == severity for f in others)
    assert report.severities().count(severity) == expected
    assert f"{expected} {severity}s" in text


def test_table_with_a_damaged_file_is_reported(tmp_path):
    table = unpack("v9_mor_archived", tmp_path)
    for file in (path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts):
        file.write_bytes(file.read_bytes()[:-1])
    report = HudiTable(table).report()
    assert report.severity.value == "problem"  # the sizes differ from those in commits
    assert "Nulls and bounds are not shown: " in Elements(report.to_html()).text


def log_file(table: Path) -> Path:
    """Return the newest log file of a table."""
    files = (path for path in table.rglob(".*.log.*") if ".hoodie" not in path.parts)
    return max(files, key=lambda path: path.name.split("_")[1])


@pytest.mark.parametrize("place", [0, 13], ids=["magic", "length"])
@pytest.mark.parametrize("case", ["v9_mor_clustering", BASIC])
def test_damaged_header_of_a_log_file_is_a_problem_as_for_the_doctor(tmp_path, case, place):
    table = unpack(case, tmp_path)
    file = log_file(table)
    content = bytearray(file.read_bytes())
    content[place] ^= 0x01
    file.write_bytes(content)
    doctor = [f for f in HudiTable(table).doctor() if f.severity.value == "problem"]
    assert [f.subject for f in doctor] == [str(file.relative_to(table))]
    report = HudiTable(table).report()
    problems = [f for f in report.content["findings"] if f["severity"] == "problem"]
    assert [(f["subject"], f["message"]) for f in problems] == [
        (f.subject, f.message) for f in doctor
    ]


def test_of_log_files_only_headers_are_read(tmp_path, monkeypatch):
    table = unpack("v10_mor_all_types", tmp_path)
    asked: dict[str, set[int]] = {}
    read = LogFiles.read

    def counting(self, path, start, stop):
        asked.setdefault(path, set()).update(range(start, stop))
        return read(self, path, start, stop)

    monkeypatch.setattr(LogFiles, "read", counting)
    HudiTable(table).report()
    logs = [path for path in table.rglob(".*.log.*") if ".hoodie" not in path.parts]
    assert asked.keys() == {str(path.relative_to(table)) for path in logs}
    for path, places in asked.items():
        assert len(places) < (table / path).stat().st_size


def test_log_files_that_were_not_looked_at_are_named_in_the_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(thresholds, "MOST_LOG_HEADERS", 1)
    table = unpack("v9_mor_clustering", tmp_path)
    newest = log_file(table)
    logs = [path for path in table.rglob(".*.log.*") if ".hoodie" not in path.parts]
    for file in logs:
        if file != newest:
            file.write_bytes(b"?" * file.stat().st_size)
    report = HudiTable(table).report()
    assert report.severity.value != "problem"
    older = len(logs) - 1
    assert f" and the oldest {older} of {len(logs)} log files. " in report.content["unchecked"]
    messages = [f["message"] for f in report.content["findings"] if f["check"] == "log files"]
    assert messages == [f"1 block in 1 log file: whole; {older} older log files not read"]
    newest.write_bytes(b"?" * newest.stat().st_size)
    assert HudiTable(table).report().severity.value == "problem"


def test_page_and_command_begin_with_what_was_not_looked_at(golden_table, tmp_path):
    page = tmp_path / "report.html"
    ended = in_process("report", str(golden_table(BASIC)), "--to", str(page))
    says = "Not looked at: base files and the records in log files. hudi-py doctor "
    assert says in " ".join(ended.err.split())
    text = " ".join(Elements(page.read_text()).text.split())
    assert text.index(says) < text.index("Record key")


@pytest.mark.parametrize("output", ["page", "json"])
def test_table_without_its_properties_is_reported(tmp_path, output):
    table = unpack(BASIC, tmp_path)
    (table / ".hoodie" / "hoodie.properties").unlink()
    page = tmp_path / "report.html"
    ended = in_process(
        "report", str(table), "--to", str(page), "-o", output, "--fail-on", "problem"
    )
    assert ended.code == 1
    assert "1 problem found" in ended.err
    text = " ".join(Elements(page.read_text()).text.split())
    assert "Not looked at: timeline and files, since the table cannot be opened." in text
    assert "the table has lost its properties" in text
    if output == "json":
        (finding,) = json.loads(ended.out)["findings"]
        assert (finding["severity"], finding["check"]) == ("problem", "properties")


def test_table_without_its_properties_has_a_page_in_an_index(tmp_path):
    unpack("v6_mor_failed_rolled_back", tmp_path)
    broken = unpack(BASIC, tmp_path)
    (broken / ".hoodie" / "hoodie.properties").unlink()
    ended = in_process("report", str(tmp_path), "--to", str(tmp_path / "site"), "-o", "json")
    row = json.loads(ended.out)["tables"][0]
    assert "the table has lost its properties" in row["error"]
    assert (tmp_path / "site" / row["page"]).is_file()


def test_page_is_one_file_with_all_sections(report):
    page = report.to_html()
    elements = Elements(page)
    assert elements.names.count("script") == 2  # one of them is the content as JSON
    assert not {"link", "img", "iframe", "object"}.intersection(elements.names)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    for section in ("findings", "timeline", "growth", "storage", "schema", "reading"):
        assert f'<section id="{section}"' in page
    policy = page.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy


def test_text_of_a_table_never_becomes_markup(tmp_path):
    page = HudiTable(hostile_table(tmp_path)).report().to_html()
    elements = Elements(page)
    assert elements.names.count("script") == 2
    assert not {"img", "b"}.intersection(elements.names)
    assert not elements.handlers
    for text in (NAME, PARTITION, COMMENT):
        assert printable(text) in elements.text  # and nowhere as markup
        assert text not in page


def test_lines_to_copy_name_the_table_whatever_its_path_contains(tmp_path):
    place = tmp_path / 'it\'s $HOME; "x" \\ \N{GRINNING FACE}\u202e'
    place.mkdir()
    table = unpack(BASIC, place)
    content = HudiTable(table).report().content
    command = content["unchecked"].partition(". ")[2]
    assert shlex.split(command)[:3] == ["hudi-py", "doctor", str(table)]
    names: dict[str, Any] = {}
    exec(content["reading"]["python"]["open"], names)
    assert names["table"].schema == HudiTable(table).schema
    call = ast.parse(content["reading"]["spark"]["snapshot"], mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.literal_eval(call.args[0]) == str(table)


@pytest.mark.parametrize("case", CASES)
def test_lines_for_python_give_the_rows_that_hudi_gives(golden_table, case):
    lines = HudiTable(golden_table(case)).report().content["reading"]["python"]
    names: dict[str, Any] = {}
    for line in ("open", "snapshot", "incremental"):
        exec(lines[line], names)
    for name, expected in zip(("rows", "changed"), expected_rows(case), strict=True):
        assert texts(names[name].cast(expected.schema)) == texts(expected), name


def test_json_is_the_content(report, tmp_path):
    assert json.loads(report.to_json()) == report.content
    assert json.loads(report.save(tmp_path / "a.json").read_text("utf-8")) == report.content


def test_file_of_another_kind_is_refused(report, tmp_path):
    with pytest.raises(InvalidOptionError, match=r"must end in \.html or \.json"):
        report.save(tmp_path / "report.pdf")


def test_notebooks_show_the_page_in_a_frame_of_its_own(report):
    shown = report._repr_html_()
    assert Elements(shown).names == ["iframe"]
    assert 'sandbox="allow-scripts"' in shown


def test_tables_of_a_folder_come_worst_first(tmp_path):
    for folder, name in (("a/deep", "v9_mor_empty_table"), ("b", "v6_mor_failed_rolled_back")):
        unpack(name, tmp_path / folder)
    broken = unpack(BASIC, tmp_path / "c")
    (broken / ".hoodie" / "hoodie.properties").write_text(
        "hoodie.table.name=t\nhoodie.table.version=99"
    )
    found = list(find_tables(ArrowStorage.parse(str(tmp_path))))
    assert found == [f"b/{'v6_mor_failed_rolled_back'}", f"c/{BASIC}", "a/deep/v9_mor_empty_table"]
    ended = in_process("report", str(tmp_path), "--to", str(tmp_path / "site"), "-o", "json")
    rows = json.loads(ended.out)["tables"]
    assert [row["severity"] for row in rows] == ["problem", "warning", "note"]
    assert "99" in rows[0]["error"]
    assert {path.name for path in (tmp_path / "site").iterdir()} == {
        "index.html",
        f"{BASIC}.html",
        "v6_mor_failed_rolled_back.html",
        "v9_mor_empty_table.html",
    }
    page = Elements((tmp_path / "site" / "index.html").read_text())
    assert "script" in page.names
    assert f" c/{BASIC} " in " ".join(page.text.split())


def test_pages_of_tables_with_one_name_have_names_of_their_own(report):
    entries = [IndexEntry(place, report) for place in ("s3://a/t", "s3://b/T", "c/<x>", "d/index")]
    names = [row["page"] for row in ReportIndex("all", tuple(entries)).content()["tables"]]
    assert names == ["x.html", "index-2.html", "t.html", "T-2.html"]


@pytest.mark.parametrize(("severity", "code"), [("note", 1), ("warning", 1), ("problem", 0)])
def test_exit_code_follows_the_worst_finding(golden_table, tmp_path, severity, code):
    path = str(golden_table("v6_mor_failed_rolled_back"))
    target = str(tmp_path / "report.html")
    assert in_process("report", path, "--to", target, "--fail-on", severity).code == code


@pytest.mark.parametrize(
    ("pattern", "content", "finding"),
    [
        pytest.param("**/.hoodie/**/*commit", b"garbage", "cannot be decoded", id="instant"),
        pytest.param("**/*.parquet", b"", "0 bytes", id="base-file"),
    ],
)
def test_damaged_table_gets_a_page_with_the_finding_on_top(tmp_path, pattern, content, finding):
    table = unpack("v9_mor_clustering", tmp_path)
    data = [f for f in table.glob(pattern) if "metadata" not in str(f.relative_to(table))]
    max(data, key=lambda file: file.name.partition("_")[2]).write_bytes(content)
    page = tmp_path / "report.html"
    ended = in_process("report", str(table), "--to", str(page), "--fail-on", "problem")
    assert ended.code == 1
    assert " found" in ended.err
    text = " ".join(Elements(page.read_text()).text.partition("Findings")[2].split())
    assert text.index(finding) < 500
    index = in_process("report", str(table), str(table), "-o", "json")
    assert finding in json.loads(index.out)["tables"][0]["error"]
    assert not in_process("report", str(table), "--to", str(page)).err.startswith("written")


def test_what_is_never_checked_is_no_finding(report):
    assert "hudi-py doctor" in report.content["unchecked"]
    assert [f for f in report.content["findings"] if f["check"] == "doctor"] == []


def test_file_that_is_replaced_is_named(golden_table, tmp_path):
    arguments = ["report", str(golden_table(BASIC)), "--to", str(tmp_path / "report.html")]
    assert in_process(*arguments).err.startswith(f"written to {tmp_path}")
    assert in_process(*arguments).err.startswith(f"replaced {tmp_path}")


@pytest.mark.parametrize("suffix", [".html", ".json"])
@pytest.mark.parametrize(
    "mine",
    [
        b"",
        b"notes",
        b"{}",
        b"[" * 100_000,
        b'["table"]',
        b"\xff\xfe",
        b"<!doctype html><meta charset=utf-8>",
    ],
)
def test_file_that_is_not_a_report_is_only_replaced_by_force(golden_table, tmp_path, suffix, mine):
    target = tmp_path / f"keep{suffix}"
    target.write_bytes(mine)
    arguments = ["report", str(golden_table(BASIC)), "--to", str(target)]
    ended = in_process(*arguments)
    assert ended.code == 2
    assert "is not a report. Choose another name, or replace it" in " ".join(ended.err.split())
    assert target.read_bytes() == mine
    assert in_process(*arguments, "--force").err.startswith("replaced ")
    assert in_process(*arguments).err.startswith("replaced ")  # now it is a report


@pytest.mark.parametrize("suffix", [".html", ".json"])
def test_report_replaces_a_file_that_is_not_a_report_only_by_force(report, tmp_path, suffix):
    target = tmp_path / f"keep{suffix}"
    target.write_text("mine")
    with pytest.raises(InvalidOptionError, match=r"exists and is not a report.*force=True"):
        report.save(target)
    assert target.read_text() == "mine"
    report.save(target, force=True)
    assert report.save(str(target)) == target  # now it is a report


def test_index_replaces_no_file_that_is_not_a_report_and_then_writes_none(report, tmp_path):
    index = ReportIndex("lake", (IndexEntry("a", report), IndexEntry("b", report)))
    (tmp_path / "b.html").write_text("mine")
    with pytest.raises(InvalidOptionError, match=r"b\.html' exists and is not a report"):
        index.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["b.html"]
    index.save(tmp_path, force=True)
    assert len([*index.save(tmp_path).parent.iterdir()]) == 3


def test_default_file_that_is_not_a_report_is_kept(golden_table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("report.html").write_text("mine")
    assert in_process("report", str(golden_table(BASIC))).code == 2
    assert Path("report.html").read_text() == "mine"
    assert in_process("report", str(golden_table(BASIC)), "-o", "json").code == 0  # writes no file


@pytest.mark.parametrize("name", ["index.html", f"{BASIC}.html"])
def test_reports_of_a_folder_replace_no_file_that_is_not_a_report(tmp_path, name):
    unpack(BASIC, tmp_path / "tables")
    site = tmp_path / "site"
    site.mkdir()
    (site / name).write_text("mine")
    arguments = ["report", str(tmp_path / "tables"), "--to", str(site)]
    assert in_process(*arguments).code == 2
    assert [(file.name, file.read_text()) for file in site.iterdir()] == [(name, "mine")]
    assert in_process(*arguments, "--force").code == 0
    assert in_process(*arguments).err.startswith("replaced ")


def test_report_that_cannot_be_made_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _environment.cache_clear()
    unpack(BASIC, tmp_path / "tables")
    ended = in_process("report", str(tmp_path / "tables"), "--to", str(tmp_path / "site"))
    assert "pip install 'jinja2" in ended.err
    assert not (tmp_path / "site").exists()


def test_no_advice_is_a_default_of_hudi(report):
    defaults = ("clean.automatic=true", "archive.automatic=true", "keep.max.commits=30")
    advice = " ".join(finding["advice"] for finding in report.content["findings"])
    assert not [default for default in defaults if default in advice]


def test_histogram_counts_each_file_once():
    sizes = pa.chunked_array([[0, 1023, 1024, 2047, None, 1 << 40, 1 << 50]])
    counts = {(row["from"], row["to"]): row["files"] for row in histogram(sizes) if row["files"]}
    assert counts == {(0, 1 << 10): 2, (1 << 10, 1 << 11): 2, (1 << 40, 1 << 62): 2}


@pytest.mark.parametrize(
    ("bounds", "share"),
    [
        ([("1", "9"), ("1", "9")], 1.0),  # each file may have each value
        ([("1", "2"), ("3", "4"), ("9", "10")], 1 / 3),  # one file has it
        ([("1", "2")], None),
        ([("1", "2"), (None, None)], None),
    ],
)
def test_share_of_files_that_a_value_is_in(bounds, share):
    rows = pa.Table.from_pylist([{"min": low, "max": high} for low, high in bounds])
    assert files_per_value(rows, Decimal) == share


def test_bounds_of_numbers_are_ordered_as_numbers():
    assert min(["10", "9"], key=order_of(pa.int32(), ["10", "9"])) == "9"
    assert order_of(pa.int32(), ["10", "nine"]) is str  # written while the column was text
