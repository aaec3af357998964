"""JSON, CSV and Parquet, read again by others' parsers and compared with Apache Hudi's rows."""

import csv
import io
import json
import subprocess

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.cli.printing import csv_of
from tests.cli.command import COMMAND, environment, hudi_py, in_process
from tests.conftest import GOLDEN
from tests.damage import damage_column, unpack
from tests.golden.case import load_case

CASES = ("v9_mor_clustering", "v6_mor_part_basic", "v8_mor_nbcc")
QUERIES = [
    pytest.param(query, id=query.key)
    for case in CASES
    for query in load_case(GOLDEN / case).queries
    if query.is_covered and query.answer is not None
]


def option_arguments(options):
    return [part for key, value in options.items() for part in ("--option", f"{key}={value}")]


@pytest.mark.parametrize("query", QUERIES)
def test_count_is_that_of_hudi(golden_table, query):
    table = str(golden_table(query.case))
    ended = in_process("count", table, *option_arguments(query.options), "-o", "json")
    assert json.loads(ended.out) == [{"rows": query.expected_rows().num_rows}]


@pytest.mark.parametrize("case", CASES)
def test_commits_are_those_of_the_case(golden_table, case):
    timeline = load_case(GOLDEN / case).facts["timeline"]
    shown = json.loads(in_process("commits", str(golden_table(case)), "-o", "json").out)
    assert [
        f"{row['requested_time']}_{row['completion_time'] or row['requested_time']}.{row['action']}"
        for row in shown
    ] == timeline


def expected(case, query="snapshot"):
    rows = load_case(GOLDEN / case).query(query).expected_rows()
    return {row["id"]: row for row in rows.to_pylist()}


@pytest.fixture(scope="module")
def table(golden_table):
    return str(golden_table("v9_mor_clustering"))


def test_scan_to_json_lines(table):
    lines = in_process("scan", table, "-o", "jsonl").out.splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    assert rows == expected("v9_mor_clustering")


def test_scan_prints_json(table):
    rows = json.loads(in_process("scan", table, "-o", "json").out)
    assert {row["id"]: row for row in rows} == expected("v9_mor_clustering")


def test_scan_to_csv(table):
    text = in_process("scan", table, "-o", "csv", "--columns", "id,amount,qty").out
    rows = list(csv.DictReader(io.StringIO(text)))
    known = expected("v9_mor_clustering")
    assert len(rows) == len(known)
    for row in rows:
        assert float(row["amount"]) == known[row["id"]]["amount"]
        assert (int(row["qty"]) if row["qty"] else None) == known[row["id"]]["qty"]


def test_parquet_through_a_pipe_is_a_whole_file(table):
    done = subprocess.run(
        [*COMMAND, "scan", table, "-o", "parquet"],
        env=environment(),
        capture_output=True,
        check=True,
    )
    rows = pq.read_table(pa.BufferReader(done.stdout)).to_pylist()
    assert {row["id"]: row for row in rows} == expected("v9_mor_clustering")


def test_uri_is_a_place_to_read(table):
    ended = in_process("scan", f"file://{table}", "-o", "csv")
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 24


def test_damaged_column_ends_with_an_error(tmp_path):
    base = unpack("v9_mor_clustering", tmp_path)
    damage_column(base, "name")
    assert in_process("scan", str(base), "-o", "csv").code == 1


def test_nested_values_are_json_within_csv(golden_table):
    table = str(golden_table("v9_mor_all_types"))
    text = in_process("scan", table, "-o", "csv").out
    known = expected("v9_mor_all_types")
    for row in csv.DictReader(io.StringIO(text)):
        struct = known[int(row["id"])]["c_struct"]
        if struct is None:
            assert row["c_struct"] == ""
        else:
            assert set(json.loads(row["c_struct"])) == set(struct)


def test_null_and_empty_text_differ_in_csv():
    sink = io.BytesIO()
    rows = pa.table({"a": pa.array(["", None, 'x"y\n'])})
    sink.write(csv_of(rows))
    assert sink.getvalue() == b'"a"\n""\n\n"x""y\n"\n'


def test_dates_of_any_year_are_written_out_in_csv():
    days = pa.array([0, None, 35_804_721, -721_294], pa.int32()).cast(pa.date32())
    lines = csv_of(pa.table({"d": days})).decode().splitlines()
    assert lines == ['"d"', '"1970-01-01"', "", '"99999-12-31"', '"-0005-03-02"']


def test_every_command_prints_json_and_csv_that_parse(table):
    instant = "20261121062951305"
    file_id = json.loads(in_process("slices", table, "-o", "json").out)[0]["file_id"]
    for arguments in (
        ["timeline", table],
        ["commits", table],
        ["commit", table, instant],
        ["slices", table],
        ["files", table],
        ["history", table, file_id],
        ["services", table, "cleans"],
        ["schema", table],
        ["partitions", table],
        ["stats", table],
        ["properties", table],
        ["diff", table, "20261121062949338", instant],
        ["doctor", table],
    ):
        rows = json.loads(in_process(*arguments, "-o", "json").out)
        lines = list(csv.reader(io.StringIO(in_process(*arguments, "-o", "csv").out)))
        assert len(lines) == len(rows) + 1, arguments
        assert all(list(row) == lines[0] for row in rows), arguments


def test_describe_as_json(table):
    described = json.loads(in_process("describe", table, "-o", "json").out)
    assert (described["name"], described["version"], described["commits"]) == (
        "v9_mor_clustering",
        9,
        6,
    )
    assert described["pending"] == 0
    assert described["columns"][-1].startswith("_hoodie") or "id" in " ".join(described["columns"])
    assert described["record_key_fields"] == ["id"]


def test_columns_and_limit(table):
    rows = json.loads(in_process("scan", table, "-n", "4", "-c", "id, qty", "-o", "json").out)
    known = expected("v9_mor_clustering")
    assert len(rows) == 4
    assert all(row == {"id": row["id"], "qty": known[row["id"]]["qty"]} for row in rows)


def test_filter_keeps_the_rows_that_hudis_rows_say(table):
    condition = "amount > 10 and region = 'emea'"
    rows = json.loads(in_process("scan", table, "--filter", condition, "-o", "json").out)
    known = expected("v9_mor_clustering")
    kept = {
        key
        for key, row in known.items()
        if row["region"] == "emea" and row["amount"] is not None and row["amount"] > 10
    }
    assert kept
    assert {row["id"] for row in rows} == kept


def test_range_of_an_incremental_query(table):
    arguments = ("--begin", "20261121062949715", "--end", "20261121062950848")
    assert in_process("count", table, *arguments).out == "14\n"  # query incr_mid of the case


def test_unknown_hudi_option_warns_on_standard_error(table):
    ended = hudi_py("count", table, "--option", "hoodie.datasource.query.tipe=snapshot")
    assert (ended.code, ended.out) == (0, "23\n")
    assert ended.err.startswith("hudi-py warning: unknown option hoodie.datasource.query.tipe")


def test_sum_of_a_column_is_that_of_hudi(table):
    rows = json.loads(in_process("scan", table, "-c", "amount", "-o", "json").out)
    known = pa.array([row["amount"] for row in expected("v9_mor_clustering").values()])
    assert sum(row["amount"] for row in rows) == pytest.approx(pc.sum(known).as_py())


def test_limit_of_the_records_of_the_metadata_table(golden_table):
    table = str(golden_table("v6_mor_part_basic"))
    whole = json.loads(in_process("metadata", table, "files", "-o", "json").out)
    few = json.loads(in_process("metadata", table, "files", "-n", "2", "-o", "json").out)
    assert few == whole[:2] != whole


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_file_has_what_standard_output_would_have(table, tmp_path, suffix):
    target = tmp_path / f"rows.{suffix}"
    arguments = ["scan", table, "--filter", "id = 'k0001'"]
    assert in_process(*arguments, "--to", str(target)).out == ""
    assert target.read_text(encoding="utf-8") == in_process(*arguments, "-o", suffix).out


def test_file_that_exists_is_replaced_only_by_force(table, tmp_path):
    target = tmp_path / "rows.csv"
    target.write_text("mine")
    ended = in_process("scan", table, "--to", str(target))
    assert ended.code == 2
    assert "exists: --force replaces it" in " ".join(ended.err.split())
    assert target.read_text() == "mine"
    assert in_process("scan", table, "--to", str(target), "--force").code == 0
    assert target.read_text() != "mine"


def test_file_of_another_kind_is_refused(table, tmp_path):
    ended = in_process("scan", table, "--to", str(tmp_path / "rows.xlsx"))
    assert ended.code == 2
    assert "does not end in .parquet, .csv or .jsonl" in " ".join(ended.err.split())


def test_doctor_without_findings_has_the_names_of_its_columns():
    ended = in_process("doctor", "--no-environment", "-o", "csv")
    assert ended.out == '"severity","check","subject","message","advice"\n'


@pytest.mark.parametrize(
    ("case", "folder"),
    [("v6_mor_part_basic", ".hoodie"), ("v9_mor_compaction_inline", ".hoodie/timeline")],
)
def test_timeline_shows_which_completed_commits_are_empty(tmp_path, case, folder):
    table = unpack(case, tmp_path)
    before = in_process("timeline", str(table)).out
    commit = min((table / folder).glob("*.deltacommit"))
    commit.write_bytes(b"")
    lines = in_process("timeline", str(table)).out.splitlines()
    (marked,) = [line for line in lines if "completed, empty" in line]
    assert marked.startswith(commit.name[:17])
    assert "empty" not in before  # requested instants are empty as well
    rows = json.loads(in_process("timeline", str(table), "-o", "json").out)
    assert {row["state"] for row in rows} == {"completed"}
