"""What the doctor says of golden tables, whole and damaged in ways that are known."""

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, TableNotFoundError
from hudi_pyspark.doctor.examination import check_metadata_table, examine_table
from hudi_pyspark.doctor.files import collect_stored_files
from hudi_pyspark.doctor.finding import Finding, Severity, silently
from hudi_pyspark.doctor.timeline import collect_timeline_files
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.view import open_table
from tests.conftest import GOLDEN
from tests.damage import damage_column, data_file, set_property, unpack

MOR = "v9_mor_clustering"
V6 = "v6_mor_part_basic"  # with a metadata table
COW = "v8_cow_schema_evolution"
ALL_CASES = sorted(path.parent.name for path in GOLDEN.glob("*/case.toml"))


def examine(table, *, deep=False) -> list[Finding]:
    return list(examine_table(ArrowStorage.parse(str(table)), deep=deep))


def of(findings, *severities):
    return [(f.check, f.subject) for f in findings if f.severity in severities]


def problems(findings):
    return of(findings, Severity.PROBLEM)


def the_one(findings, severity=Severity.PROBLEM) -> Finding:
    found: list[Finding] = [f for f in findings if f.severity is severity]
    assert len(found) == 1
    return found[0]


def relative(table, file):
    return str(file.relative_to(table))


@pytest.mark.parametrize("case", ALL_CASES)
def test_no_table_that_hudi_wrote_has_a_problem(golden_table, case):
    assert problems(examine(golden_table(case), deep=True)) == []


def test_missing_metadata_table_is_a_warning(tmp_path):
    table = unpack(V6, tmp_path)
    rows = HudiTable(str(table)).scan().count()
    shutil.rmtree(table / ".hoodie" / "metadata")
    findings = examine(table)
    assert problems(findings) == []
    warning = the_one(findings, Severity.WARNING)
    assert (warning.check, warning.subject) == ("metadata table", ".hoodie/metadata")
    assert "reads list folders" in warning.message
    assert HudiTable(str(table)).scan().count() == rows


def test_files_that_hold_timestamps_under_another_type_are_noted(golden_table):
    def notes(name, **options):
        findings = examine(golden_table(f"hudi_{name}"), **options)
        notes = [f for f in findings if f.severity is Severity.NOTE]
        return {f.check: f.message for f in notes if f.check in {"log files", "base files"}}

    found = notes("trips_logical_types_json_mor_read_v6", deep=True)
    # Commits before the last one say timestamp-micros and long.
    assert found.keys() == {"log files", "base files"}
    assert found["log files"].startswith("2 log files from an older Hudi")
    assert found["base files"].startswith("4 base files from an older Hudi")
    for message in found.values():
        assert "hold local_ts_micros, local_ts_millis, ts_millis as long or" in message
    assert notes("trips_logical_types_json_mor_read_v6") == {}
    # The schema of this table says what its files say.
    assert notes("repair_trips_logical_types_json_mor_write_avro_log", deep=True) == {}


def test_a_whole_table_has_an_ok_from_every_check(golden_table):
    findings = examine(golden_table(V6))
    assert of(findings, Severity.WARNING, Severity.PROBLEM) == []
    assert {f.check for f in findings if f.severity is Severity.OK} == {
        "properties",
        "schema",
        "timeline",
        "files",
        "sizes",
        "log files",
        "base files",
        "metadata table",
    }


def test_an_open_table_has_the_same_findings(golden_table):
    table = golden_table(V6)
    assert HudiTable(str(table)).doctor() == tuple(examine(table))


def test_no_table_is_refused(tmp_path):
    with pytest.raises(TableNotFoundError):
        examine(tmp_path)


@pytest.mark.parametrize("version", ["11", "-1", "many"])
def test_unknown_table_version_is_the_only_problem_that_is_reported(tmp_path, version):
    table = unpack(COW, tmp_path)
    set_property(table, "hoodie.table.version", version)
    found = the_one(examine(table))
    assert (found.check, found.subject) == ("properties", ".hoodie/hoodie.properties")
    assert f"hoodie.table.version is '{version}'" in found.message


@pytest.mark.parametrize("key", ["hoodie.table.type", "hoodie.table.version"])
def test_flipped_byte_in_a_property_comes_with_advice(tmp_path, key):
    table = unpack(COW, tmp_path)
    file = table / ".hoodie" / "hoodie.properties"
    content = bytearray(file.read_bytes())
    content[content.index(f"{key}=".encode()) + len(key) + 1] ^= 0x40
    file.write_bytes(content)
    found = the_one(examine(table))
    assert (found.check, found.subject) == ("properties", ".hoodie/hoodie.properties")
    assert key in found.message
    assert "restore it from a copy of the table" in found.advice


def test_lost_table_type_is_found_by_the_delta_commits(tmp_path):
    table = unpack(MOR, tmp_path)
    set_property(table, "hoodie.table.type", "")
    found = the_one(list(examine_table(ArrowStorage.parse(str(table)))))
    assert (found.check, found.subject) == ("properties", ".hoodie/hoodie.properties")
    assert "has lost hoodie.table.type, since the timeline has delta commits" in found.message
    assert "restore it from a copy of the table" in found.advice


def test_delta_commits_of_a_table_that_became_copy_on_write_are_found(tmp_path):
    table = unpack(MOR, tmp_path)
    set_property(table, "hoodie.table.type", "COPY_ON_WRITE")
    findings = examine(table, deep=True)
    found = the_one(findings)
    assert (found.check, found.subject) == ("timeline", "20261121062949338")
    assert of(findings, Severity.WARNING) == []
    assert "says COPY_ON_WRITE, so reads ignore the log files of 5 delta commits" in found.message
    assert "restore it from a copy of the table" in found.advice


def test_checksum_that_does_not_fit_the_name(tmp_path):
    table = unpack(COW, tmp_path)
    set_property(table, "hoodie.table.name", "renamed")
    found = the_one(list(examine_table(ArrowStorage.parse(str(table)))))
    assert (found.check, found.subject) == ("properties", ".hoodie/hoodie.properties")
    assert "'renamed'" in found.message
    assert "It has no .backup" in found.message


@pytest.mark.parametrize("version", ["3", "8"])
def test_missing_checksum_is_odd_in_versions_that_have_one(tmp_path, version):
    table = unpack(COW if version == "8" else "v6_cow_orc", tmp_path)
    set_property(table, "hoodie.table.checksum", None)
    set_property(table, "hoodie.table.version", version)
    severity = Severity.WARNING if version == "8" else Severity.NOTE
    assert ("properties", "hoodie.table.checksum") in of(examine(table), severity)


def test_event_time_without_an_ordering_field_is_odd(tmp_path):
    table = unpack(COW, tmp_path)
    set_property(table, "hoodie.record.merge.mode", "EVENT_TIME_ORDERING")
    set_property(table, "hoodie.table.ordering.fields", None)
    set_property(table, "hoodie.table.precombine.field", None)
    payload = "hoodie.compaction.payload.class"
    set_property(table, payload, "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
    assert ("properties", "hoodie.table.ordering.fields") in of(examine(table), Severity.WARNING)
    set_property(table, payload, None)
    set_property(table, "hoodie.record.merge.strategy.id", None)
    assert ("properties", "hoodie.table.ordering.fields") in problems(examine(table))


@pytest.mark.parametrize("left", [None, b"", b"a=b", b"\\uXY"])
def test_properties_read_from_their_backup(tmp_path, left):
    table = unpack(COW, tmp_path)
    file = table / ".hoodie" / "hoodie.properties"
    file.rename(file.with_name("hoodie.properties.backup"))
    if left is not None:
        file.write_bytes(left)
    assert problems(examine(table)) == [("properties", ".hoodie/hoodie.properties")]


@pytest.mark.parametrize("content", [b"", b"\x00broken", b"{}"], ids=["empty", "noise", "nothing"])
def test_commit_that_cannot_be_decoded(tmp_path, content):
    table = unpack(MOR, tmp_path)
    commit = sorted((table / ".hoodie" / "timeline").glob("*.deltacommit"))[0]
    commit.write_bytes(content)
    findings = examine(table, deep=True)
    found = the_one(findings)
    assert (found.check, found.subject) == ("timeline", relative(table, commit))
    # Which files it named is not known: that they belong to no commit would be a wolf.
    assert of(findings, Severity.WARNING) == []
    assert not any("no needed file is missing" in f.message for f in findings)
    for finding in findings:
        if finding.message.startswith("not checked to the end"):
            assert finding.message.endswith(f"because of {relative(table, commit)}")


def test_pending_commit_is_a_warning_and_a_planned_compaction_a_note(golden_table):
    pending = examine(golden_table("v6_mor_compaction_pending"))
    assert ("timeline", "20261121061754983") in of(pending, Severity.NOTE)
    assert of(pending, Severity.WARNING) == []
    inflight = examine(golden_table("flink_v6_mor_cdc"))
    assert [check for check, _ in of(inflight, Severity.WARNING)] == ["timeline"]


def test_pending_clustering_before_layout_2_does_not_block_time_travel(golden_table):
    findings = examine(golden_table("v6_cow_clustering_pending"))
    assert of(findings, Severity.WARNING) == []
    assert ("timeline", "20261121061857104") in of(findings, Severity.NOTE)


def test_missing_file_of_the_latest_slice(tmp_path):
    table = unpack(V6, tmp_path)
    set_property(table, "hoodie.table.metadata.partitions", "")
    file = data_file(table, "*.parquet")
    file.unlink()
    found = the_one(examine(table))
    assert (found.check, found.subject) == ("files", relative(table, file))
    assert file.stem.rpartition("_")[2] in found.message


def test_missing_file_of_an_older_slice_is_a_warning(tmp_path):
    table = unpack(MOR, tmp_path)
    clustered = next(
        path for path in table.rglob("*.parquet") if path.stem.endswith("20261121062949338")
    )
    clustered.unlink()
    findings = examine(table)
    assert problems(findings) == []
    assert of(findings, Severity.WARNING) == [("files", relative(table, clustered))]


def test_partition_without_any_file_is_one_finding(tmp_path):
    table = unpack("v9_mor_compaction_inline", tmp_path)
    shutil.rmtree(table / "emea")
    gone = the_one(examine(table))
    assert (gone.check, gone.subject) == ("files", "emea")
    assert gone.message.startswith("none of its 6 files is left, such as emea/")
    assert "needed by every read" in gone.message
    assert of(examine(table), Severity.WARNING) == []


def test_file_that_no_commit_knows(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, "*.parquet")
    stray = file.with_name(file.name.replace("20261121062950559", "20261121062950560"))
    stray.write_bytes(file.read_bytes())
    found = the_one(examine(table), Severity.WARNING)
    assert (found.check, found.subject) == ("files", relative(table, stray))


def test_file_that_is_not_of_hudi_is_noted(tmp_path):
    table = unpack(MOR, tmp_path)
    (table / "amer" / "notes.txt").write_text("hello")
    findings = examine(table)
    assert of(findings, Severity.WARNING, Severity.PROBLEM) == []
    assert any("amer/notes.txt" in f.message for f in findings)


def test_partition_that_lost_its_marker(tmp_path):
    table = unpack(MOR, tmp_path)
    (table / "amer" / ".hoodie_partition_metadata").unlink()
    assert ("files", "amer") in of(examine(table), Severity.WARNING)


@pytest.mark.parametrize("pattern", ["*.parquet", ".*.log.*"])
@pytest.mark.parametrize("case", [MOR, V6, "v9_mor_mdt_indexes"])
def test_file_that_was_cut_short_is_one_finding(tmp_path, case, pattern):
    table = unpack(case, tmp_path)
    file = data_file(table, pattern)
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:-20])
    findings = examine(table, deep=True)
    found = the_one(findings)
    assert (found.check, found.subject) == ("sizes", relative(table, file))
    assert f"{size - 20} bytes on the storage, {size} in its commit: truncated" in found.message
    assert ("are not a whole block" in found.message) is (pattern == ".*.log.*")
    assert of(findings, Severity.WARNING) == []


@pytest.mark.parametrize("pattern", ["*.parquet", ".*.log.*"])
def test_missing_file_that_the_metadata_table_knows_is_one_finding(tmp_path, pattern):
    table = unpack(V6, tmp_path)
    file = data_file(table, pattern)
    file.unlink()
    found = the_one(examine(table, deep=True))
    assert (found.check, found.subject) == ("files", relative(table, file))


def test_ordering_field_that_is_missing_is_one_problem(tmp_path):
    table = unpack("v9_mor_mdt_indexes", tmp_path)
    set_property(table, "hoodie.table.ordering.fields", "nope")
    set_property(table, "hoodie.table.precombine.field", "nope")
    findings = examine(table)
    assert the_one(findings).check == "schema"
    note = next(f for f in findings if f.message.startswith("not checked to the end"))
    assert note.check == "metadata table"


def test_files_of_one_failed_write_are_one_finding(tmp_path):
    table = unpack(V6, tmp_path)
    shutil.rmtree(table / ".hoodie" / "metadata")  # which has the commit
    set_property(table, "hoodie.table.metadata.partitions", None)
    (commit,) = (table / ".hoodie").glob("20261121061716440.deltacommit")
    commit.unlink()
    later = [f for f in (table / ".hoodie").glob("2026112106172*") if f.name > "20261121061718"]
    for instant in later:  # they built on its files
        instant.unlink()
    for instant in (table / ".hoodie").glob("20261121061717728*"):
        instant.unlink()
    findings = examine(table)
    (note,) = (f for f in findings if f.check == "files" and f.severity is Severity.NOTE)
    assert note.subject == "20261121061716440"
    assert note.message.startswith("3 files of 20261121061716440: amer/60a07a8f")
    for instant in (table / ".hoodie").glob("20261121061716440.*"):
        instant.unlink()
    (found,) = (f for f in examine(table) if f.subject == "20261121061716440")
    assert (found.check, found.severity) == ("files", Severity.WARNING)
    assert "No commit names them" in found.message
    assert "Nothing needs to be done" not in found.advice


@pytest.mark.parametrize(
    ("case", "release"), [(V6, "0.14"), (COW, "1.0"), (MOR, "1.1"), ("v10_mor_all_types", "1.3")]
)
def test_release_that_refuses_a_table_version_is_named(golden_table, case, release):
    found = next(f for f in examine(golden_table(case)) if f.subject == "hoodie.table.version")
    assert found.message.endswith(f"supported; Apache Hudi before {release} refuses it")


def test_base_file_that_was_overwritten(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, "*.parquet")
    pq.write_table(pa.table({"x": list(range(10_000))}), file)
    assert problems(examine(table)) == [("sizes", relative(table, file))]


def test_base_file_that_is_no_parquet_file(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, "*.parquet")
    file.write_bytes(b"x" * file.stat().st_size)
    found = the_one(examine(table))
    assert (found.check, found.subject) == ("base files", relative(table, file))


def test_damage_is_found_in_base_files_of_archived_commits(tmp_path):
    table = unpack("v9_mor_archived", tmp_path)
    set_property(table, "hoodie.table.metadata.partitions", "")
    first = min(file.name[:17] for file in (table / ".hoodie" / "timeline").glob("2*commit"))
    data_files = [file for file in table.rglob("*.parquet") if ".hoodie" not in file.parts]
    old = [file for file in data_files if file.stem.rpartition("_")[2] < first]
    for file in old:
        file.write_bytes(b"x" * file.stat().st_size)
    assert old
    assert {subject for _, subject in problems(examine(table))} == {
        relative(table, file) for file in old
    }


def test_damage_is_found_in_log_files_of_commits_that_left_the_timeline(tmp_path):
    table = unpack(MOR, tmp_path)
    for file in (table / ".hoodie" / "timeline").glob("2*"):
        if file.name < "20261121062950559":
            file.unlink()
    old = list(table.rglob(".*_20261121062950170.log.*"))
    for file in old:
        file.write_bytes(b"#HUDI#" + bytes(file.stat().st_size))
    assert old
    assert {subject for _, subject in problems(examine(table))} == {
        relative(table, file) for file in old
    }


def test_half_a_file_of_a_second_attempt_is_not_opened(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, "*.parquet")
    file_id, _, rest = file.name.split("_")
    file.with_name(f"{file_id}_9-9-9_{rest}").write_bytes(b"PAR1")
    assert problems(examine(table)) == []


def test_pages_are_only_read_if_asked_for(tmp_path):
    table = unpack(MOR, tmp_path)
    damaged = damage_column(table, "name")
    assert problems(examine(table)) == []
    assert len(problems(examine(table, deep=True))) == damaged


def test_log_block_inside_of_what_was_committed_cannot_be_framed(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, ".*.log.*")
    content = bytearray(file.read_bytes())
    content[13] ^= 0x01  # of the block's length
    file.write_bytes(content)
    found = the_one(examine(table))
    assert (found.check, found.subject) == ("log files", relative(table, file))
    assert f"bytes 0 to {len(content)}" in found.message


def test_log_file_that_does_not_begin_with_a_block(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, ".*.log.*")
    file.write_bytes(b"PAR1__" + file.read_bytes()[6:])
    found = the_one(examine(table))
    assert found.message == "at byte 0: expected magic b'#HUDI#', found b'PAR1__'"


def test_records_are_only_decoded_if_asked_for(tmp_path):
    table = unpack(MOR, tmp_path)
    file = next(
        path
        for path in sorted(table.rglob(".*.log.*"))
        if b"k00" in path.read_bytes() and b"DELETE" not in path.read_bytes()
    )
    content = file.read_bytes()
    # The length of the first record, just after content version and record count.
    schema_end = content.rindex(b"}") + 1
    at = schema_end + content[schema_end:].index(b"\x00\x00\x00\x03\x00\x00\x00") + 8
    file.write_bytes(content[:at] + b"\xff\xff" + content[at + 2 :])
    assert problems(examine(table)) == []
    assert problems(examine(table, deep=True)) == [("log files", relative(table, file))]


def test_bytes_after_what_was_committed_are_no_problem(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, ".*.log.*")
    file.write_bytes(file.read_bytes() + b"#HUDI#torn")
    findings = examine(table)
    assert of(findings, Severity.WARNING, Severity.PROBLEM) == []
    (note,) = (f for f in findings if f.subject == relative(table, file))
    assert (note.severity, note.check) == (Severity.NOTE, "sizes")
    assert "appended after the commit; bytes" in note.message


class TestMetadataTable:
    def test_missing_although_the_properties_name_it(self, tmp_path):
        table = unpack(V6, tmp_path)
        shutil.rmtree(table / ".hoodie" / "metadata")
        findings = examine(table)
        assert problems(findings) == []  # reads list folders then
        found = the_one(findings, Severity.WARNING)
        assert (found.check, found.subject) == ("metadata table", ".hoodie/metadata")

    def test_partition_that_is_being_built(self, tmp_path):
        table = unpack(V6, tmp_path)
        set_property(table, "hoodie.table.metadata.partitions.inflight", "record_index")
        found = the_one(examine(table), Severity.WARNING)
        assert found.check == "metadata table"
        assert "record_index" in found.message

    def test_partition_without_a_folder(self, tmp_path):
        table = unpack(V6, tmp_path)
        set_property(table, "hoodie.table.metadata.partitions", "files,record_index")
        assert problems(examine(table)) == [("metadata table", ".hoodie/metadata/record_index")]

    def test_lists_a_file_that_is_gone_which_another_check_reports(self, tmp_path):
        table = unpack(V6, tmp_path)
        file = data_file(table, "*.parquet")
        file.unlink()
        found = the_one(examine(table))
        assert (found.check, found.subject) == ("files", relative(table, file))
        assert found.advice == "Restore the file from a copy of the table"

    def test_lists_the_size_of_a_file_that_was_cut(self, tmp_path):
        table = unpack(V6, tmp_path)
        file = data_file(table, "*.parquet")
        file.write_bytes(file.read_bytes()[:-9])
        view = open_table(ArrowStorage.parse(str(table)))
        committed = collect_timeline_files(view, silently)
        stored = collect_stored_files(view, committed)
        found = the_one(list(check_metadata_table(stored)))
        assert found.subject == relative(table, file)
        assert found.message.endswith("; commits agree with the metadata table")
        assert found.advice == "Restore the file from a copy of the table"

    def test_lists_a_file_that_a_clean_removed(self, tmp_path):
        table = unpack(V6, tmp_path)
        file = data_file(table, "*.parquet")
        file.unlink()
        view = open_table(ArrowStorage.parse(str(table)))
        removed = frozenset({relative(table, file)})
        committed = replace(collect_timeline_files(view, silently), removed=removed)
        stored = collect_stored_files(view, committed)
        found = the_one(list(check_metadata_table(stored)))
        assert found.advice.startswith("Until it is rebuilt")

    def test_is_behind_the_timeline(self, tmp_path):
        table = unpack(V6, tmp_path)
        timeline = table / ".hoodie" / "metadata" / ".hoodie"
        last = sorted(timeline.glob("*.deltacommit"))[-1]
        last.unlink()
        findings = examine(table)
        assert ("metadata table", last.name.split(".")[0]) in of(findings, Severity.WARNING)

    def test_that_cannot_be_read(self, tmp_path):
        table = unpack(V6, tmp_path)
        files = table / ".hoodie" / "metadata" / "files"
        for file in files.glob("*.hfile"):
            file.write_bytes(b"x" * file.stat().st_size)
        found = the_one(examine(table))
        assert found.check == "metadata table"

    def test_record_index_that_names_another_file_group(self, tmp_path, monkeypatch):
        table = unpack("v9_mor_mdt_indexes", tmp_path)
        assert problems(examine(table)) == []
        monkeypatch.setattr(MetadataTable, "locate", lambda _, keys: {keys[0]: [("x", "y")]})
        findings = examine(table)
        wrong = [f for f in findings if f.subject.startswith("record key ")]
        assert len(wrong) == 12  # every row of the table
        assert "by the record index in x/y: an insert may have repeated the key" in wrong[0].message
        assert wrong[0].severity is Severity.WARNING
        assert all("by the record index in no file" in finding.message for finding in wrong[1:])
        assert {finding.severity for finding in wrong[1:]} == {Severity.PROBLEM}


def test_log_files_that_were_appended_to_another_are_not_missing(golden_table):
    table = golden_table("v6_mor_appended_logs")
    named = {
        stat["path"]
        for commit in (table / ".hoodie").glob("*.deltacommit")
        for stats in json.loads(commit.read_text())["partitionToWriteStats"].values()
        for stat in stats
    }
    assert any(not (table / path).exists() for path in named)
    assert of(examine(table), Severity.WARNING, Severity.PROBLEM) == []


@pytest.mark.parametrize("has_backup", [False, True])
def test_advice_names_a_backup_only_if_there_is_one(tmp_path, has_backup):
    table = unpack(MOR, tmp_path)
    if has_backup:
        properties = table / ".hoodie" / "hoodie.properties"
        shutil.copy(properties, properties.with_name("hoodie.properties.backup"))
    set_property(table, "hoodie.table.type", "")
    assert ("hoodie.properties.backup" in the_one(examine(table)).advice) == has_backup


@pytest.mark.parametrize(
    "pattern",
    [".hoodie/timeline/*.deltacommit", "*/*.parquet", "*/.*.log.*", ".hoodie/*.properties"],
)
def test_finding_names_its_file_once(tmp_path, pattern):
    table = unpack(MOR, tmp_path)
    file = min(table.glob(pattern))
    file.write_bytes(b"x" * file.stat().st_size)
    found = the_one(examine(table))
    assert found.subject == relative(table, file)
    assert file.name not in found.message
    assert found.advice
