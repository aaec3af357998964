"""What tables of Apache Hudi 0.8.0 to 0.10.0 have that no later release writes."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

from hudi_pyspark import HudiTable, IncrementalRangeError
from hudi_pyspark.doctor.examination import METADATA_TABLE, examine_table
from hudi_pyspark.doctor.finding import Severity
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import differences

EARLIEST = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.read.begin.instanttime": "000",
}
ARCHIVED = ["v2_mor_archived", "v3_mor_archived"]
# With a null in the text column `region`, whose folder is region=default.
NULL_REGIONS = ["v2_mor_key_hive2", "v3_mor_key_hive2"]


@pytest.fixture
def open_case(golden_table):
    return lambda name: HudiTable(str(golden_table(name)))


def expected(name: str, query: str = "snapshot") -> list[dict[str, Any]]:
    """The rows that Apache Hudi reads."""
    (found,) = (q for q in load_case(GOLDEN / name).queries if q.name == query)
    return list(found.expected_rows().to_pylist())


def version_of(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["_hoodie_commit_time"], row["_hoodie_record_key"], row["name"]


@pytest.mark.parametrize("name", ARCHIVED)
def test_range_that_begins_in_the_archive_has_the_latest_rows_and_a_warning(open_case, name):
    with pytest.warns(UserWarning, match="of the range is archived. The latest rows"):
        answer = open_case(name).scan(**EARLIEST).to_arrow()
    keys = sorted(answer["_hoodie_record_key"].to_pylist())
    assert keys == sorted(row["_hoodie_record_key"] for row in expected(name))
    assert len(keys) == 15


@pytest.mark.parametrize("name", ARCHIVED)
def test_range_that_begins_in_the_archive_can_be_refused(open_case, name):
    with pytest.raises(IncrementalRangeError, match="of the range is archived"):
        open_case(name).scan(**EARLIEST, on_missing="fail")


@pytest.mark.parametrize("name", ARCHIVED)
def test_archived_instants_are_shown_and_the_doctor_is_content(open_case, name):
    instants = open_case(name).inspect.timeline().to_pylist()
    commits = [i for i in instants if i["action"] in ("commit", "deltacommit")]
    writes = 10  # the case has ten writes, and some compactions
    assert len(commits) >= writes
    assert sum(i["archived"] for i in commits) >= writes - 4  # hoodie.keep.max.commits
    findings = list(examine_table(open_case(name)._view.storage, deep=True))
    assert [f for f in findings if f.severity in (Severity.WARNING, Severity.PROBLEM)] == []


def test_archive_of_0_9_is_beside_the_active_timeline(golden_table):
    folder = golden_table("v2_mor_archived") / ".hoodie"
    assert list(folder.glob(".commits_.archive.*"))
    assert list((folder / "archived").iterdir()) == []


@pytest.mark.parametrize("name", NULL_REGIONS)
@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("region IS NULL", lambda region: region is None),
        ("region IS NOT NULL", lambda region: region is not None),
        ("region = 'default'", lambda region: region == "default"),
        ("region = ''", lambda region: region == ""),
        ("region <> 'emea'", lambda region: region not in (None, "emea")),
        ("region IS NULL OR region = 'emea'", lambda region: region in (None, "emea")),
        ("region = 'emea'", lambda region: region == "emea"),
    ],
)
def test_filters_find_the_rows_of_the_default_folder(open_case, name, text, keeps):
    rows = open_case(name).scan(filter=text, columns=["a", "region"]).to_arrow().to_pylist()
    kept = [row for row in expected(name) if keeps(row["region"])]
    assert Counter((r["a"], r["region"]) for r in rows) == Counter(
        (r["a"], r["region"]) for r in kept
    )
    assert open_case(name).scan(filter=text).count() == len(kept)


@pytest.mark.parametrize("name", NULL_REGIONS)
def test_row_of_the_default_folder_is_the_same_in_every_selection_of_columns(open_case, name):
    table = open_case(name)
    for columns in (["region"], ["a", "region"], ["region", "day"], None):
        rows = table.scan(columns=columns).to_arrow().to_pylist()
        assert Counter(row["region"] for row in rows)[None] == 1


@pytest.mark.parametrize("name", NULL_REGIONS)
def test_value_of_the_default_folder_is_not_shown_for_the_partition(open_case, name):
    partitions = open_case(name).inspect.partitions().to_pylist()
    shown = {p["partition_path"]: p["partition"] for p in partitions}
    assert shown["region=default/day=2"] == {"region": None, "day": 2}
    assert shown["region=emea/day=1"] == {"region": "emea", "day": 1}


@pytest.mark.parametrize("name", ["v1_mor_key_null", "v2_mor_key_null", "v3_mor_key_null"])
@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("region IS NULL", "k0 k8"),
        ("region = ''", "k1 k5 k9"),
        ("region = 'default'", "k10 k2 k6"),
        ("region <> 'default'", "k1 k11 k5 k7 k9"),
        ("day IS NULL", "k1 k10 k7"),
        ("day = 0", "k0 k6 k9"),
        ("day IS NULL AND region = 'emea'", "k7"),
        ("day IS NULL OR region IS NULL", "k0 k1 k10 k7 k8"),
    ],
)
def test_null_the_empty_text_and_default_share_a_folder(open_case, name, text, keys):
    # In version 1 the properties name no partition columns, so all values are those of the files.
    rows = open_case(name).scan(filter=text, columns=["id"]).to_arrow()
    assert sorted(rows["id"].to_pylist()) == keys.split()


def test_keys_of_the_filters_above_are_those_of_the_writer():
    rows = expected("v1_mor_key_null")
    regions = {row["id"]: row["region"] for row in rows}
    assert sorted(key for key, region in regions.items() if region is None) == ["k0", "k8"]
    assert sorted(key for key, region in regions.items() if region == "") == ["k1", "k5", "k9"]
    assert sorted(key for key, region in regions.items() if region == "default") == [
        "k10",
        "k2",
        "k6",
    ]
    assert sorted(row["id"] for row in rows if row["day"] is None) == ["k1", "k10", "k7"]


@pytest.mark.parametrize("name", ["v1_mor_all_types", "v1_mor_key_null", "v1_mor_part_basic"])
def test_range_that_begins_at_the_last_commit_has_no_rows(open_case, name):
    table = open_case(name)
    last = table.inspect.timeline()["requested_time"].to_pylist()[-1]
    begin = {**EARLIEST, "hoodie.datasource.read.begin.instanttime": last}
    assert table.scan(**begin).count() == 0


def test_rows_of_ranges_of_version_1_are_those_of_the_snapshot(open_case):
    # Here 0.8.0 itself contradicts its snapshot.
    table = open_case("v1_mor_part_basic")
    commits = table.inspect.commits()["requested_time"].to_pylist()
    rows = [version_of(row) for row in expected("v1_mor_part_basic")]
    for begin in ("000", *commits):
        options = {**EARLIEST, "hoodie.datasource.read.begin.instanttime": begin}
        found = table.scan(**options).to_arrow().to_pylist()
        assert {version_of(row) for row in found} == {row for row in rows if row[0] > begin}


def test_base_files_of_version_0_are_what_their_writer_reads(open_case):
    case = load_case(GOLDEN / "v0_mor_part_basic")
    (snapshot,) = (query for query in case.queries if query.name == "snapshot")
    answer = open_case(case.name).scan(query_type="read_optimized").to_arrow()
    assert list(differences(answer, snapshot.expected_rows(), snapshot.expected_schema())) == []


def test_snapshot_of_version_0_is_that_of_version_1_with_the_same_data(open_case):
    def data_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept = [{k: v for k, v in row.items() if not k.startswith("_hoodie")} for row in rows]
        return sorted(kept, key=lambda row: str(row["id"]))

    rows = open_case("v0_mor_part_basic").scan().to_arrow().to_pylist()
    assert data_of(rows) == data_of(expected("v1_mor_part_basic"))


def test_metadata_table_before_0_11_is_not_registered(open_case):
    table = open_case("v2_mor_metadata_small")
    findings = examine_table(table._view.storage)
    (found,) = (f for f in findings if f.check == METADATA_TABLE)
    assert (found.severity, found.subject) == (Severity.NOTE, ".hoodie/metadata")
    assert found.message.startswith("not registered: hoodie.table.metadata.partitions")


@pytest.mark.parametrize("name", ["v1_mor_part_basic", "v2_mor_part_basic", "v2_mor_rolled_back"])
def test_blocks_of_old_releases_have_version_1(open_case, name):
    blocks = open_case(name).inspect.log_blocks().to_pylist()
    assert {block["log_format_version"] for block in blocks} == {1}
    versions = {block["type"]: block["block_version"] for block in blocks}
    assert versions.pop("COMMAND_BLOCK", None) is None
    assert {*versions.values()} == {1}


def test_no_answer_of_an_old_release_warns(open_case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_case("v2_mor_archived").scan().count() == 15
