"""Cases of a collection are compared as they are, and packed without a change of what they say."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import GOLDEN
from tests.golden.__main__ import main
from tests.golden.archive import members
from tests.golden.case import SPARK_SCHEMA, load_case, load_cases, parse_toml
from tests.golden.compare import rows_of
from tests.golden.pack import Answers, PackedWronglyError, parquet_bytes
from tests.golden.run import run_case
from tests.golden.toml_text import toml_text

TESTS = GOLDEN.parent
# Queries with equal answers, with another answer of 1.2.0, and with errors.
CASES = [
    "golden/v9_mor_compaction_inline",
    "golden_extra/x_v6_mor_et_fuzz",
    "golden/v6_cow_archived",
]
NAME = "v9_mor_compaction_inline"
FOLDERS = sorted(
    file.parent
    for place in ("golden", "golden_extra", "golden_sql", "practice/*")
    for file in TESTS.glob(f"{place}/*/case.toml")
)


def collected(case, root):
    """Write a case of this project as the scripts that ask Apache Hudi do."""
    folder = root / case.name
    (folder / "expected").mkdir(parents=True)
    shutil.copy(case.folder / "table.zip", folder)
    listed = [_collected_entry(query.facts, query.name, case, folder) for query in case.queries]
    facts = {
        **case.facts,
        "notes": [],
        "queries": [each for each in listed if "error" not in each],
        "queries_that_fail": [each for each in listed if "error" in each],
    }
    (folder / "case.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


def _collected_entry(entry, name, case, folder):
    found = {"note": "", **{k: v for k, v in entry.items() if k not in ("answer", "also")}}
    if "answer" in entry:
        file = pa.BufferReader(members(case.folder / "answers.zip")[entry["answer"]])
        schema = pq.read_metadata(file).metadata[SPARK_SCHEMA].decode()
        (folder / f"expected/{name}.schema.json").write_text(schema, encoding="utf-8")
        rows = pq.read_table(file).replace_schema_metadata(None)
        pq.write_table(rows, folder / f"expected/{name}.parquet")
        found["expected"] = f"expected/{name}.parquet"
        found["schema"] = f"expected/{name}.schema.json"
    if "also" in entry:
        found["also"] = {
            release: _collected_entry(each, f"{name}@{release}", case, folder)
            for release, each in entry["also"].items()
        }
    return found


@pytest.mark.parametrize("name", CASES)
def test_collected_case_is_packed_as_it_is(name, tmp_path, capsys):
    known = load_case(TESTS / name)
    folder = collected(known, tmp_path)
    before = [answered(query) for query in load_case(folder).queries]
    assert main(["pack", str(folder)]) == 0
    assert capsys.readouterr().out == f"packed {folder}\n"
    after = load_case(folder)
    assert {file.name for file in folder.iterdir()} == {"table.zip", "answers.zip", "case.toml"}
    assert {query.name for query in after.queries} == {query.name for query in known.queries}
    assert [answered(query) for query in after.queries] == before


def answered(query):
    told = (query.key, query.options, query.columns, query.error)
    if query.answer is None:
        return told
    rows = query.expected_rows()
    return *told, query.expected_schema(), rows.schema, rows_of(rows)


def test_queries_with_equal_answers_share_a_file():
    answers = Answers()
    rows = pa.table({"a": [1, 2]})
    schema = {"type": "struct", "fields": []}
    assert answers.add("snapshot", rows, schema) == "snapshot.parquet"
    assert answers.add("incr_all", rows, schema) == "snapshot.parquet"
    assert answers.add("incr_some", rows.slice(1), schema) == "incr_some.parquet"
    assert answers.add("other_schema", rows, {**schema, "fields": [{}]}) == "other_schema.parquet"
    with pytest.raises(PackedWronglyError, match=r"two answers would be snapshot\.parquet"):
        answers.add("snapshot", rows.slice(0, 1), schema)


def test_case_that_would_be_packed_otherwise_stays(tmp_path, monkeypatch):
    folder = collected(load_case(GOLDEN / NAME), tmp_path)
    files = sorted(folder.rglob("*"))
    monkeypatch.setattr(
        "tests.golden.pack.parquet_bytes",
        lambda rows, schema: parquet_bytes(rows.slice(1), schema),
    )
    with pytest.raises(PackedWronglyError, match="snapshot has other rows"):
        main(["pack", str(folder)])
    assert sorted(folder.rglob("*")) == files


def test_cases_of_both_forms_are_compared(tmp_path):
    collected(load_case(TESTS / CASES[0]), tmp_path)
    shutil.copytree(GOLDEN / "v6_mor_part_basic", tmp_path / "v6_mor_part_basic")
    found = {case.name: list(run_case(case)) for case in load_cases(tmp_path)}
    assert list(found) == ["v6_mor_part_basic", NAME]
    assert all(found.values())
    assert [o for outcomes in found.values() for o in outcomes if o.problems] == []


def test_table_without_answers_becomes_a_case(tmp_path):
    shutil.copy(GOLDEN / NAME / "table.zip", tmp_path / f"{NAME}.zip")
    described = ["--description", 'a "table"', "--reference", "what was written"]
    assert main(["pack", str(tmp_path), *described]) == 0
    (folder,) = tmp_path.iterdir()
    assert {file.name for file in folder.iterdir()} == {"table.zip", "case.toml"}
    assert load_case(folder).facts == {
        "name": NAME,
        "description": 'a "table"',
        "reference": "what was written",
        "table_version": 9,
        "table_type": "MERGE_ON_READ",
    }
    assert (load_case(folder).extract(tmp_path) / ".hoodie").is_dir()


def test_case_is_shown(capsys):
    assert main(["show", "dms_v6"]) == 0
    said = capsys.readouterr().out
    assert "table_version: 6" in said
    assert "as_of_c2: as.of.instant=20261127183331011\n  Apache Hudi fails" in said
    assert main(["show", str(TESTS / "practice/payload_columns/dms_v6"), "as_of_c4"]) == 0
    said = capsys.readouterr().out
    assert said.endswith("3 rows\nid  v\nb   3\ng   2\nh   3\n")
    assert "as_of_c1" not in said


def test_case_or_query_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit, match="no case nothing"):
        main(["show", "nothing"])
    with pytest.raises(SystemExit):
        main(["show", "dms_v6", "nothing"])
    assert "dms_v6 has no query nothing: it has as_of_c1" in capsys.readouterr().err


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_case_has_three_files_at_most_and_says_what_it_is(folder):
    case = load_case(folder)
    assert {file.name for file in folder.iterdir()} <= {"table.zip", "answers.zip", "case.toml"}
    assert case.name == folder.name
    assert case.facts["description"]
    assert case.queries or case.facts["reference"]


def test_no_case_is_in_another_form():
    for place in ("golden", "golden_extra", "practice/*"):
        loose = [file.name for file in TESTS.glob(f"{place}/*.zip")]
        assert loose == [], "python -m tests.golden pack FOLDER"
    assert list(TESTS.glob("**/case.json")) == []


DOCUMENTS = [
    {"a": 1, "b": True, "c": "", "d": [], "e": {}},
    {
        "a b": 'say "x"\t\\',
        "lines": "one\n'two'\n",
        "mixed": "one\r\n\x7f '''\n",
        "deep": {"x": {}},
    },
    {"list": ["é" * 50, "\U0001f600" * 50], "tables": [{"n": 1, "t": {"a.b": "c"}}, {"n": 2}]},
    {"t": {"a": "x"}, "after": 5},
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_is_what_tomllib_reads(document):
    assert parse_toml(toml_text(document)) == document
