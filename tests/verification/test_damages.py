"""A sample of what `make damage` does to twenty tables."""

import pytest

from hudi_pyspark.table.config import PROPERTIES_FILE
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.memory_storage import MemoryStorage
from tests.sampling import SAMPLED, sample
from verification.common.archives import files_of
from verification.damage.damages import (
    Damage,
    damages_of,
    line_damages_of,
    metadata_damages_of,
    outcome_of,
)
from verification.damage.tables import (
    BARE,
    NAMED,
    OTHER,
    SAME,
    STORAGE,
    StorageGone,
    WatchedStorage,
    filters_of,
    read,
)

# verification/README.md says why: the format has no checksum of these, or their absence is a state.
MAY_DIFFER = {
    "flip log file",
    "flip hoodie.properties",
    "flip parquet",
    "flip commit",
    "flip deltacommit",
    "remove commit",
    "remove deltacommit",
    "remove replacecommit",
    "empty commit",
    "empty deltacommit",
}
CASE = "v6_mor_payload_awsdms"


def details(found, verdict):
    """What exactly the outcomes of a verdict are."""
    return {outcome.detail for outcome in found.values() if outcome.verdict == verdict}


@pytest.mark.parametrize("case", [CASE, "v8_cow_schema_evolution", "v9_mor_nonpart_commit_time"])
@SAMPLED
def test_damaged_table_gives_its_rows_or_a_named_error(case, is_whole):
    every = damages_of(case, step=701)
    # Kinds of damage alternate: of two, one would often be the same kind.
    some = every if is_whole else sample(every, case, 3)
    found = {damage: outcome_of(case, damage) for damage in some}
    assert details(found, BARE) == set()
    assert details(found, OTHER) <= MAY_DIFFER
    assert {outcome.verdict for outcome in found.values()} >= {SAME, NAMED}


@pytest.mark.parametrize(
    "case",
    [
        "v6_mor_mdt_indexes",
        "v9_mor_mdt_indexes",
        "x_v8_mor_ix_secondary",
        "x_v6w120_mor_rg_downgraded_archived",
    ],
)
@SAMPLED
def test_damaged_metadata_table_loses_no_row(case, is_whole):
    every = [
        d
        for d in metadata_damages_of(case, step=10**9)
        if d.kind not in ("remove", "empty", "flip")
    ]
    some = [d for n, d in enumerate(every) if d.kind == "back" or n % 9 == 0][::2]
    some += [d for d in every if d.kind == "older" and "/files/" in d.path]
    bases = [d for d in every if "/files/files" in d.path and d.path.endswith(".hfile")]
    some += [d for d in bases if d.kind == "archive"][::5]
    some = some if is_whole else sample(some, case, 3)
    found = {damage: outcome_of(case, damage) for damage in some}
    assert {damage.kind for damage in some} == {"cut", "back", "archive", "lose", "older"}
    assert details(found, BARE) == set()
    assert details(found, OTHER) == set()


@pytest.mark.parametrize(
    ("case", "path", "place"),
    [
        pytest.param(
            "v9_mor_logblock_parquet",
            "apac/.1cb5cd1d-2cc0-4236-91ec-ddec57ef8ea7-0_20261121063018146.log.1_1-2802-5129",
            3112,
            id="name-of-a-column-in-a-log-block",
        ),
        pytest.param(
            "v6_mor_appended_logs",
            "emea/f2d49c7c-8fcc-4229-9d0e-f22f28798ffa-0_1-3-7_20261121072137751.parquet",
            2175,
            id="codec-of-a-column",
        ),
        pytest.param(
            "v6_cow_orc",
            "amer/ffbe94d6-ad6a-43b3-bc63-bbe53b2f0b8b-0_0-2039-2684_20261121064434431.orc",
            1142,
            id="compressed-footer-of-an-orc-file",
        ),
        pytest.param(
            "v6_cow_orc",
            "amer/c9b932e8-5a26-46fd-bc97-6cf9b1f1bcc4-0_0-2031-2666_20261121064433622.orc",
            1283,
            id="rows-of-a-stripe-of-an-orc-file",
        ),
    ],
)
def test_flipped_byte_of_a_footer_is_a_named_error(case, path, place):
    assert outcome_of(case, Damage("flip", path, place)).verdict == NAMED


def test_table_without_damage_has_as_many_rows_as_apache_hudi_reads():
    query = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")
    assert read(MemoryStorage(files_of(CASE))).num_rows == query.expected_rows().num_rows


def test_damages_are_what_they_are_called():
    files = {"a": b"\x00\x00", "b": b"1"}
    assert Damage("flip", "a", 1).of(files).files == {"a": b"\x00\x01", "b": b"1"}
    assert Damage("cut", "a", 1).of(files).files == {"a": b"\x00", "b": b"1"}
    assert Damage("empty", "a", 0).of(files).files == {"a": b"", "b": b"1"}
    assert Damage("remove", "a", 0).of(files).files == {"b": b"1"}
    failing = Damage("fail", "", 2).of(files)
    assert isinstance(failing, WatchedStorage)
    assert failing.read_bytes("a") == b"\x00\x00"
    with pytest.raises(StorageGone):
        failing.at("/").list_directory("")


def test_a_call_that_fails_is_not_taken_for_a_missing_file():
    calls = [d for d in damages_of(CASE, step=1 << 30) if d.kind == "fail"]
    assert {outcome_of(CASE, damage).verdict for damage in calls} <= {SAME, NAMED, STORAGE}
    assert len(calls) > 5


@pytest.mark.parametrize(
    ("case", "instant"),
    [
        ("x_v8_cow_ix_stats_base", "20261122065219569_20261122065250620"),
        ("x_v9_cow_ix_stats_base", "20261122064538430_20261122064555505"),
    ],
)
def test_lost_end_of_the_first_commit_of_a_metadata_table_loses_no_row(case, instant, caplog):
    """Its log blocks of the record index do not count any more; keys are looked up."""
    path = f".hoodie/metadata/.hoodie/timeline/{instant}.deltacommit"
    assert outcome_of(case, Damage("remove", path, 0)).verdict == SAME
    assert f"lacks commit {instant[:17]}" in caplog.text


@pytest.mark.parametrize(
    "case", ["v6_mor_mdt_indexes", "x_v8_mor_ix_secondary", "v9_mor_mdt_indexes"]
)
def test_markers_of_folders_change_no_row(case, caplog):
    """Hadoop's older file systems of S3 leave an empty object beside each folder, at all depths."""
    files = files_of(case)
    folders = {
        path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)
    }
    marked = MemoryStorage({**files, **{f"{folder}_$folder$": b"" for folder in folders}})
    good, found = (read(s, filters_of(case)) for s in (MemoryStorage(files), marked))
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, good.to_pylist()))
    assert caplog.text == ""


@pytest.mark.parametrize(
    "case",
    [CASE, "v8_mor_event_time_string_ordering", "v9_mor_mdt_indexes", "v9_cow_no_meta_fields"],
)
@SAMPLED
def test_files_that_describe_a_table_are_cut_at_every_line(case, is_whole):
    every = list(line_damages_of(case, 1))
    of_properties = [d for d in every if d.path == PROPERTIES_FILE and "cut" in d.kind]
    others = [d for d in every if d not in of_properties]
    chosen = of_properties + (others if is_whole else sample(others, case, 12))
    found = {damage: outcome_of(case, damage) for damage in chosen}
    assert details(found, BARE) == set()
    whole = files_of(case)[PROPERTIES_FILE].decode()
    for damage, outcome in found.items():
        kept = whole[: damage.place]
        has_both = "\nhoodie.table.checksum=" in kept and "\nhoodie.table.name=" in kept
        is_cut_before = damage in of_properties and not has_both
        if is_cut_before:
            assert outcome.verdict == (NAMED if damage.kind == "cut" else SAME), damage
        # The checksum covers the names alone: Apache Hudi takes what the file says, or a default.
        if outcome.verdict == OTHER:
            assert damage.path == PROPERTIES_FILE, damage
