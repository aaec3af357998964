"""`log blocks` and `log records`: files of a table, whole and damaged."""

import json

import pytest

from tests.cli.command import in_process
from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case

MOR = "v9_mor_clustering"
UPDATES = "20261121062950923"  # the fifth commit: two records of one file group


@pytest.fixture
def table(tmp_path):
    return unpack(MOR, tmp_path)


@pytest.fixture
def file(table):
    (found,) = table.rglob(f".*_{UPDATES}.log.*")
    return found


def as_json(*arguments):
    ended = in_process(*arguments, "-o", "json")
    return ended.code, json.loads(ended.out)


def test_blocks_of_a_whole_file(file):
    code, (block,) = as_json("log", "blocks", str(file))
    assert code == 0
    assert (block["offset"], block["bytes"]) == (0, file.stat().st_size)
    assert (block["type"], block["instant_time"]) == ("AVRO_DATA_BLOCK", UPDATES)
    assert (block["records"], block["problem"]) == (2, None)


def test_records_are_those_that_hudi_read(file):
    code, records = as_json("log", "records", str(file))
    rows = load_case(GOLDEN / MOR).query("snapshot").expected_rows().to_pylist()
    known = {row["id"]: row for row in rows if row["_hoodie_commit_time"] == UPDATES}
    assert code == 0
    assert len(records) == 2
    assert {r["key"]: r["record"] for r in records if r["key"] in known} == known


def test_merged_records_have_one_row_per_key(file):
    _, records = as_json("log", "records", str(file), "--merge")
    assert len({record["key"] for record in records}) == len(records) == 2


def test_relative_path_is_looked_up_from_the_working_folder(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert as_json("log", "blocks", file.name)[0] == 0


def test_uri_of_a_file(file):
    assert as_json("log", "blocks", f"file://{file}")[0] == 0


def test_file_that_was_cut_is_read_as_far_as_it_goes(file):
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:-20])
    code, (first, torn) = as_json("log", "blocks", str(file))
    assert code == 1
    assert (first["records"], first["problem"]) == (2, None)
    assert (torn["type"], torn["offset"]) == ("CORRUPT_BLOCK", len(whole))
    assert torn["problem"]
    code, records = as_json("log", "records", str(file))
    assert code == 1
    assert [record["kind"] for record in records] == ["data", "data", "damage"]


def test_file_that_is_shorter_than_its_commit_says(file):
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    code, blocks = as_json("log", "blocks", str(file))
    assert code == 1
    assert f"its commit says {len(whole)}" in blocks[-1]["problem"]


def test_printed_table_shows_the_problem_and_where_it_is(file):
    file.write_bytes(file.read_bytes() + b"#HUDI#torn")
    ended = in_process("log", "blocks", str(file))
    header, _, torn = ended.out.splitlines()
    assert header.split()[-1] == "problem"
    assert torn.split()[1] == str(file.stat().st_size - 10)


def test_log_file_of_the_metadata_table_belongs_to_that_table(golden_table):
    base = golden_table("v6_mor_part_basic") / ".hoodie" / "metadata" / "files"
    code, blocks = as_json("log", "blocks", str(next(base.glob(".files-*.log.*"))))
    assert code == 0
    assert blocks


def test_columns_of_the_table_may_be_called_like_marks(golden_table):
    base = golden_table("v6_mor_part_basic") / ".hoodie" / "metadata" / "files"
    ended = in_process("log", "records", str(sorted(base.glob(".files-*.log.*"))[-1]))
    assert ended.code == 0
    assert ended.out.splitlines()[0].split().count("key") == 2
