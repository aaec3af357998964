import pytest

from hudi_pyspark.errors import CorruptTableError, CorruptTimelineError, MissingFileError
from hudi_pyspark.table.commit_slices import written_slices
from hudi_pyspark.table.timeline import instant_path
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import TinyTable, archive, base, log, paths_of, shape

LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])
F010, F020, F030 = base("f", "010"), base("f", "020"), base("f", "030")


# Which slices are visible


@LAYOUTS
def test_latest_base_file_of_each_group_is_read(version):
    table = TinyTable(version).write("010", "commit", F010, base("g", "010"))
    table.write("020", "commit", F020)
    assert shape(table.open().slices.as_of()) == {"f": [F020], "g": [base("g", "010")]}


@LAYOUTS
def test_empty_table_has_no_slices(version):
    view = TinyTable(version).open()
    assert view.slices.as_of() == view.slices.as_of(read_optimized=True) == []
    assert view.last_instant == ""


@LAYOUTS
def test_all_slices_have_superseded_and_replaced_ones_among_them(version):
    table = TinyTable(version).write("010", "commit", F010, base("g", "010"))
    table.write("020", "commit", F020).data(base("x", "099"))
    table.write("030", "replacecommit", base("h", "030"), replaces={"": ["g"]})
    found = [paths_of(file_slice) for file_slice in table.open().slices.all()]
    assert found == [[F010], [F020], [base("g", "010")], [base("h", "030")]]


def test_parquet_files_count_where_the_table_has_several_formats():
    several = {"table__multiple__base__file__formats__enable": "true"}
    table = TinyTable(9, "COPY_ON_WRITE", table__base__file__format="ORC", **several)
    assert shape(table.write("010", "commit", F010).open().slices.as_of()) == {"f": [F010]}


def test_log_to_which_a_later_commit_appended_is_in_the_slice_before():
    shared = log("f", "010")
    table = TinyTable(6).write("010", "deltacommit", F010)
    table.write("020", "deltacommit", shared).write("030", "deltacommit", shared)
    before = table.open().slices.before("030", "", "f")
    assert before is not None
    assert paths_of(before) == [F010, shared]


@LAYOUTS
def test_slices_are_in_order_of_partition_and_file_id(version):
    table = TinyTable(version, table__partition__fields="p")
    table.write("010", "commit", *(f"{p}/{base(f, '010')}" for p in "ba" for f in "gf"))
    found = [(s.partition_path, s.file_id) for s in table.open().slices.as_of()]
    assert found == [("a", "f"), ("a", "g"), ("b", "f"), ("b", "g")]


@LAYOUTS
@pytest.mark.parametrize(
    "pending",
    [
        pytest.param(["020.inflight", "020.commit.requested"], id="inflight-commit"),
        pytest.param(["020.commit.requested"], id="requested-commit"),
        pytest.param(["020.deltacommit.inflight"], id="inflight-delta-commit"),
        pytest.param(["020.replacecommit.inflight"], id="inflight-overwrite"),
        pytest.param(["025.rollback.inflight"], id="rolled-back-with-files-left"),
        pytest.param([], id="no-instant-at-all"),
    ],
)
def test_base_file_of_a_write_that_did_not_complete_is_invisible(version, pending):
    table = TinyTable(version).write("010", "commit", F010).data(F020, base("new", "020"))
    for name in pending:
        table.instant(name)
    for read_optimized in (False, True):
        found = table.open().slices.as_of(read_optimized=read_optimized)
        assert shape(found) == {"f": [F010]}


@pytest.mark.parametrize("pending", [["020.deltacommit.inflight"], []], ids=["inflight", "unknown"])
def test_base_file_of_a_failed_write_does_not_hide_log_files_of_the_write_beside_it(pending):
    """Of two writers with a conflict one fails; its files stay until they are rolled back."""
    table = TinyTable(9).write("010", "deltacommit", F010).data(F020)
    for name in pending:
        table.instant(name)
    table.write("025", "deltacommit", log("f", "025"), completed="030")
    assert shape(table.open().slices.as_of()) == {"f": [F010, log("f", "025")]}


def test_output_of_a_pending_clustering_is_invisible():
    table = TinyTable(9).write("010", "commit", F010).data(base("new", "020"))
    table.instant("020.clustering.requested").instant("020.clustering.inflight")
    assert shape(table.open().slices.as_of()) == {"f": [F010]}


@LAYOUTS
def test_pending_write_before_the_first_completed_commit_is_invisible(version):
    table = TinyTable(version).instant("010.inflight").data(base("g", "010"))
    table.write("020", "commit", F020)
    assert shape(table.open().slices.as_of()) == {"f": [F020]}


@LAYOUTS
def test_base_file_of_an_archived_commit_is_visible(version):
    table = TinyTable(version).data(base("old", "005")).write("010", "commit", F010)
    assert shape(table.open().slices.as_of()) == {"f": [F010], "old": [base("old", "005")]}


@LAYOUTS
def test_files_that_appear_after_the_table_was_opened_are_invisible(version):
    storage = MemoryStorage(TinyTable(version).write("010", "commit", F010).files)
    view = open_table(storage)
    storage.files[F020] = b"x"
    assert shape(view.slices.as_of()) == {"f": [F010]}


@LAYOUTS
def test_foreign_files_are_ignored(version):
    table = TinyTable(version).write("010", "commit", F010)
    table.data("_SUCCESS", f".{F010}.crc", "part-0.parquet", "g_0-1-0_010.orc", "notes.log")
    table.data(".f_010.log.1_0-1-0.cdc", "sub/folder/file", ".g_010.archive.1_0-1-0")
    assert shape(table.open().slices.as_of()) == {"f": [F010]}


# Log files


def test_log_files_of_layout_1_are_those_of_the_base_instant():
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "010"), log("f", "010", 2))
    assert shape(table.open().slices.as_of()) == {"f": [F010, log("f", "010"), log("f", "010", 2)]}


def test_uncommitted_log_file_of_layout_1_stays_for_its_blocks_decide():
    table = TinyTable(6).write("010", "commit", F010).data(log("f", "010"))
    assert shape(table.open().slices.as_of()) == {"f": [F010, log("f", "010")]}


@pytest.mark.parametrize(
    "pending",
    [
        pytest.param(["020.deltacommit.inflight"], id="inflight"),
        pytest.param(["025_027.rollback"], id="rolled-back"),
        pytest.param(["020.logcompaction.requested"], id="log-compaction"),
        pytest.param([], id="no-instant-at-all"),
    ],
)
def test_uncommitted_log_file_of_layout_2_is_dropped(pending):
    table = TinyTable(9).write("010", "deltacommit", F010).data(log("f", "020"))
    for name in pending:
        table.instant(name)
    table.write("030", "deltacommit", log("f", "030"))
    assert shape(table.open().slices.as_of()) == {"f": [F010, log("f", "030")]}


def test_uncommitted_log_file_that_began_a_group_does_not_hide_the_committed_ones():
    table = TinyTable(9).instant("010.deltacommit.inflight").data(log("f", "010"))
    table.write("020", "deltacommit", log("f", "020"), base("g", "020"))
    table.instant("030.deltacommit.inflight").data(log("h", "030"))
    table.write("040", "deltacommit", log("h", "040"))
    assert shape(table.open().slices.as_of()) == {
        "f": [log("f", "020")],
        "g": [base("g", "020")],
        "h": [log("h", "040")],
    }


def test_group_of_uncommitted_log_files_alone_is_invisible():
    table = TinyTable(9).write("010", "commit", F010).data(log("g", "020"))
    table.instant("020.deltacommit.inflight")
    assert shape(table.open().slices.as_of()) == {"f": [F010]}


@LAYOUTS
def test_log_only_group_is_read(version):
    table = TinyTable(version).write("010", "deltacommit", log("f", "010"))
    assert shape(table.open().slices.as_of()) == {"f": [log("f", "010")]}


def test_log_file_of_a_legacy_delta_commit_counts_as_completed_when_requested():
    table = TinyTable(9).write("010", "deltacommit", F010)
    table.instant("020.deltacommit", {}).data(log("f", "020"))
    table.write("030", "commit", F030)
    assert shape(table.open().slices.as_of("020")) == {"f": [F010, log("f", "020")]}
    assert shape(table.open().slices.as_of()) == {"f": [F030]}


# Planned compactions


def compacting(version):
    """Base 010, logs before and after a compaction is planned at 030."""
    before, after = ("010", "030") if version == 6 else ("020", "040")
    table = TinyTable(version).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", before)).plan_compaction("030", ("", "f"))
    table.write("040", "deltacommit", log("f", after))
    return table, [F010, log("f", before), log("f", after)]


@LAYOUTS
def test_slice_of_a_planned_compaction_is_read_with_the_one_before(version):
    table, expected = compacting(version)
    assert shape(table.open().slices.as_of()) == {"f": expected}
    assert table.open().slices.as_of()[0].base_instant_time == "010"


@LAYOUTS
def test_half_written_base_file_of_a_compaction_is_dropped(version):
    table, expected = compacting(version)
    table.data(F030).instant("030.compaction.inflight")
    assert shape(table.open().slices.as_of()) == {"f": expected}
    assert shape(table.open().slices.as_of(read_optimized=True)) == {"f": [F010]}


@LAYOUTS
def test_completed_compaction_replaces_the_slice_before(version):
    table, expected = compacting(version)
    table.write("030", "commit", F030)
    assert shape(table.open().slices.as_of()) == {"f": [F030, expected[-1]]}
    assert shape(table.open().slices.as_of(read_optimized=True)) == {"f": [F030]}


@LAYOUTS
def test_planned_compaction_of_a_log_only_group(version):
    after = log("f", "030" if version == 6 else "040")
    table = TinyTable(version).write("010", "deltacommit", log("f", "010"))
    table.plan_compaction("030", ("", "f")).write("040", "deltacommit", after)
    assert shape(table.open().slices.as_of()) == {"f": [log("f", "010"), after]}
    assert table.open().slices.as_of(read_optimized=True) == []


@LAYOUTS
def test_planned_compaction_whose_earlier_slice_is_gone_gives_its_logs(version):
    after = log("f", "030" if version == 6 else "040")
    table = TinyTable(version).write("010", "commit", base("g", "010"))
    table.plan_compaction("030", ("", "f")).write("040", "deltacommit", after).data(F030)
    assert shape(table.open().slices.as_of())["f"] == [after]


@LAYOUTS
def test_compaction_of_other_groups_leaves_a_group_alone(version):
    table, expected = compacting(version)
    table.write("035", "commit", base("g", "035"))
    assert shape(table.open().slices.as_of()) == {"f": expected, "g": [base("g", "035")]}


@LAYOUTS
def test_plan_names_its_groups_by_partition(version):
    in_a, in_b = ("030", "010") if version == 6 else ("040", "040")
    logs = f"a/{log('f', in_a)}", f"b/{log('f', in_b)}"
    table = TinyTable(version, table__partition__fields="p")
    table.write("010", "commit", f"a/{F010}", f"b/{F010}").plan_compaction("030", ("a", "f"))
    table.write("040", "deltacommit", *logs).data(f"a/{F030}")
    found = [paths_of(s) for s in table.open().slices.as_of()]
    assert found == [[f"a/{F010}", logs[0]], [f"b/{F010}", logs[1]]]


def test_uncommitted_logs_of_both_slices_of_a_planned_compaction_are_dropped():
    table, expected = compacting(9)
    table.data(log("f", "025"), log("f", "045")).instant("045.deltacommit.inflight")
    assert shape(table.open().slices.as_of()) == {"f": expected}


def test_delta_commit_across_the_planning_of_a_compaction_is_not_lost():
    # Began at 025, completed at 035: its log file belongs to the planned slice.
    table, _ = compacting(9)
    table.write("025", "deltacommit", log("f", "025"), completed="035")
    logs = [log("f", t) for t in ("020", "025", "040")]
    assert shape(table.open().slices.as_of()) == {"f": [F010, *logs]}
    table.write("030", "commit", F030)
    assert shape(table.open().slices.as_of()) == {"f": [F030, *logs[1:]]}


@pytest.mark.parametrize("is_done", [False, True], ids=["planned", "completed"])
def test_time_travel_to_a_delta_commit_across_the_planning_of_a_compaction(is_done):
    """Its other log files, and its base files, are seen as of that instant, too."""
    table, _ = compacting(9)
    table.write("025", "deltacommit", log("f", "025"), base("g", "025"), completed="035")
    if is_done:
        table.write("030", "commit", F030)
    logs = [log("f", t) for t in ("020", "025")]
    assert shape(table.open().slices.as_of("025")) == {"f": [F010, *logs], "g": [base("g", "025")]}
    assert shape(table.open().slices.as_of("020")) == {"f": [F010, logs[0]]}


def test_range_of_a_delta_commit_across_the_planning_of_a_compaction_has_its_files():
    """A range of this commit alone has no other slice of the file group to add them to."""
    table, _ = compacting(9)
    table.write("025", "deltacommit", log("f", "025"), completed="035")
    view = table.open()
    assert shape(written_slices(view, ["025"])) == {"f": [log("f", "025")]}
    assert shape(written_slices(view, ["020", "025"])) == {"f": [log("f", "020"), log("f", "025")]}
    assert shape(written_slices(view, ["025", "040"])) == {"f": [log("f", "025"), log("f", "040")]}
    table.write("030", "commit", F030)
    assert shape(written_slices(table.open(), ["025"])) == {"f": [log("f", "025")]}


def test_time_before_a_compaction_was_planned_does_not_see_it():
    table, expected = compacting(9)
    assert shape(table.open().slices.as_of("020")) == {"f": expected[:2]}


def test_two_plans_for_one_group_are_corrupt():
    table, _ = compacting(9)
    table.plan_compaction("050", ("", "f"))
    with pytest.raises(CorruptTableError, match="030 and 050 are both planned for file group f"):
        table.open().slices.as_of()


def test_compaction_without_its_plan_is_refused():
    table, _ = compacting(9)
    table.instant("030.compaction.requested", b"")
    with pytest.raises(CorruptTimelineError, match="expected a compaction plan"):
        table.open().slices.as_of()


# Replaced file groups


def replaced(version, partition=""):
    fields = {"table__partition__fields": "p"} if partition else {}
    prefix = f"{partition}/" if partition else ""
    table = TinyTable(version, **fields)
    table.write("010", "commit", *(f"{prefix}{base(f, '010')}" for f in "fg"))
    new = f"{prefix}{base('new', '020')}"
    return table.write("020", "replacecommit", new, replaces={partition: ["f"]})


@LAYOUTS
@pytest.mark.parametrize("partition", ["", "p=x y%2Fz"])
def test_replaced_group_is_hidden_from_its_replacement_on(version, partition):
    view = replaced(version, partition).open()
    assert set(shape(view.slices.as_of())) == {"g", "new"}
    assert set(shape(view.slices.as_of("020"))) == {"g", "new"}
    assert set(shape(view.slices.as_of("019"))) == {"f", "g"}
    assert set(shape(view.slices.as_of(read_optimized=True))) == {"g", "new"}


def test_group_is_replaced_at_the_requested_not_the_completion_time():
    table = TinyTable(9).write("010", "commit", F010)
    table.write("020", "replacecommit", replaces={"": ["f"]}, completed="050")
    assert shape(table.open().slices.as_of("030")) == {}


@LAYOUTS
def test_group_is_replaced_only_in_the_named_partition(version):
    table = TinyTable(version, table__partition__fields="p")
    table.write("010", "commit", f"a/{F010}", f"b/{F010}")
    table.write("020", "replacecommit", replaces={"a": ["f"]})
    assert [s.partition_path for s in table.open().slices.as_of()] == ["b"]


@LAYOUTS
def test_pending_replacement_hides_nothing(version):
    table = TinyTable(version).write("010", "commit", F010)
    table.instant("020.replacecommit.inflight", {"partitionToReplaceFileIds": {"": ["f"]}})
    assert shape(table.open().slices.as_of()) == {"f": [F010]}


@LAYOUTS
def test_replaced_group_may_have_lost_its_files(version):
    table = replaced(version).without(F010)
    assert set(shape(table.open().slices.as_of())) == {"g", "new"}


# Time travel


@LAYOUTS
@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("009", {}),
        ("010", {"f": [F010]}),
        ("019", {"f": [F010]}),
        ("020", {"f": [F020]}),
        ("999", {"f": [F020]}),
    ],
)
def test_time_travel_compares_requested_times(version, as_of, expected):
    table = TinyTable(version).write("010", "commit", F010, completed="019")
    table.write("020", "commit", F020, completed="095")
    assert shape(table.open().slices.as_of(as_of)) == expected
    assert shape(table.open().slices.as_of(as_of, read_optimized=True)) == expected


def test_time_travel_compares_text():
    times = "20250101000000500", "20250101000001500"
    table = TinyTable(9)
    for time in times:
        table.write(time, "commit", base("f", time), completed=f"{time[:-1]}9")
    view = table.open()
    assert shape(view.slices.as_of("20250101000001")) == {"f": [base("f", times[0])]}
    assert shape(view.slices.as_of("20250101000002")) == {"f": [base("f", times[1])]}


def test_time_travel_sees_the_state_before_a_compaction():
    table, expected = compacting(9)
    table.write("030", "commit", F030)
    assert shape(table.open().slices.as_of("029")) == {"f": expected[:2]}
    assert shape(table.open().slices.as_of("030")) == {"f": [F030, expected[-1]]}


# Read optimized


@LAYOUTS
def test_read_optimized_slices_have_no_logs(version):
    table, _ = compacting(version)
    (found,) = table.open().slices.as_of(read_optimized=True)
    assert (found.base_file.path, found.log_files) == (F010, ())


def test_read_optimized_skips_slices_without_base_file():
    # A log file that completed before every base file makes a new slice.
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "020"), log("g", "020"))
    assert shape(table.open().slices.as_of(read_optimized=True)) == {"f": [F010]}


# Missing and damaged files


@LAYOUTS
@pytest.mark.parametrize("read_optimized", [False, True])
def test_missing_base_file_of_the_latest_slice_is_an_error(version, read_optimized):
    table = TinyTable(version).write("010", "commit", F010).write("020", "commit", F020)
    with pytest.raises(MissingFileError, match=r"was committed.*020.*not on the storage") as raised:
        table.without(F020).open().slices.as_of(read_optimized=read_optimized)
    assert F020 in str(raised.value)


def test_missing_log_file_of_layout_1_names_its_commit_not_the_base_instant():
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "010")).write("030", "deltacommit", log("f", "010"))
    with pytest.raises(MissingFileError, match=r"was committed.*020.*not on the storage"):
        table.without(log("f", "010")).open().slices.as_of()


def test_files_that_only_commits_name_have_no_bytes():
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "010", 1)).write(
        "030", "deltacommit", log("f", "010", 2)
    )
    table.without(log("f", "010", 1))
    (file_slice,) = table.open().slices.as_of()
    assert [(f.size, f.is_listed) for f in file_slice.log_files] == [(0, False), (1, True)]
    assert [f.write_token for f in file_slice.log_files] == ["0-1-0", "0-1-0"]


@LAYOUTS
def test_missing_base_file_of_an_older_slice_is_none_of_our_business(version):
    table = TinyTable(version).write("010", "commit", F010).write("020", "commit", F020)
    view = table.without(F010).open()
    assert shape(view.slices.as_of()) == {"f": [F020]}
    with pytest.raises(MissingFileError, match="010"):
        view.slices.as_of("010")


@LAYOUTS
def test_missing_base_file_under_logs_is_an_error(version):
    table, _ = compacting(version)
    with pytest.raises(MissingFileError, match=F010):
        table.without(F010).open().slices.as_of()


@LAYOUTS
def test_partition_that_vanished_is_an_error(version):
    table = TinyTable(version, table__partition__fields="p")
    table.write("010", "commit", f"a/{F010}", f"b/{F010}")
    table.without(f"b/{F010}", "b/.hoodie_partition_metadata")
    with pytest.raises(MissingFileError, match=f"b/{F010}"):
        table.open().slices.as_of()


@LAYOUTS
def test_partition_that_lost_its_marker_is_read(version):
    table = TinyTable(version, table__partition__fields="p").write("010", "commit", f"a/{F010}")
    table.without("a/.hoodie_partition_metadata")
    assert shape(table.open().slices.as_of()) == {"f": [f"a/{F010}"]}


def test_missing_log_file_of_layout_2_is_an_error():
    table, expected = compacting(9)
    with pytest.raises(MissingFileError, match=r"was committed.*040") as raised:
        table.without(expected[-1]).open().slices.as_of()
    assert expected[-1] in str(raised.value)


def test_missing_log_file_of_layout_2_does_not_matter_to_read_optimized():
    table, expected = compacting(9)
    found = table.without(*expected[1:]).open().slices.as_of(read_optimized=True)
    assert shape(found) == {"f": [F010]}


def test_missing_log_file_of_layout_1_is_left_to_the_reader_while_others_are_there():
    # Its blocks may stand in the file to which they were appended.
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "010"), log("f", "010", 2))
    (found,) = table.without(log("f", "010", 2)).open().slices.as_of()
    assert [(f.version, f.is_listed, f.committed_by) for f in found.log_files] == [
        (1, True, "020"),
        (2, False, "020"),
    ]


@pytest.mark.parametrize("version", [6, 9])
def test_missing_log_file_of_a_later_commit_is_not_part_of_an_earlier_state(version):
    later = log("f", "010", 2) if version == 6 else log("f", "030")
    table = TinyTable(version).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "010") if version == 6 else log("f", "020"))
    table.write("030", "deltacommit", later)
    (found,) = table.without(later).open().slices.as_of("020")
    assert [f.is_listed for f in found.log_files] == [True]


def test_only_log_file_of_layout_1_that_is_missing_is_an_error():
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "010"))
    with pytest.raises(MissingFileError, match=r"log\.1"):
        table.without(log("f", "010")).open().slices.as_of()


@LAYOUTS
def test_committed_base_file_of_no_bytes_is_corrupt(version):
    table = TinyTable(version).write("010", "commit", F010).data(F010, content=b"")
    with pytest.raises(CorruptTableError, match=f"{F010}: a committed base file of 0 bytes"):
        table.open().slices.as_of()


@LAYOUTS
def test_uncommitted_base_file_of_no_bytes_is_ignored(version):
    table = TinyTable(version).write("010", "commit", F010).data(F020, content=b"")
    table.data(base("f", "010", "0-2-0"), content=b"")
    assert shape(table.open().slices.as_of()) == {"f": [F010]}


@LAYOUTS
@pytest.mark.parametrize("tokens", [("0-1-0", "0-1-1"), ("0-1-1", "0-1-0")])
def test_attempt_that_the_commit_names_counts(version, tokens):
    good, failed = (base("f", "010", token) for token in tokens)
    table = TinyTable(version).write("010", "commit", good).data(failed)
    assert shape(table.open().slices.as_of()) == {"f": [good]}


@LAYOUTS
@pytest.mark.parametrize("tokens", [("0-1-0", "0-1-1"), ("0-1-1", "0-1-0")])
def test_of_archived_attempts_one_that_wrote_something_counts(version, tokens):
    good, failed = (base("f", "005", token) for token in tokens)
    table = TinyTable(version).write("010", "commit", base("g", "010")).data(good)
    table.data(failed, content=b"")
    assert shape(table.open().slices.as_of())["f"] == [good]


@LAYOUTS
def test_of_equal_archived_attempts_the_same_counts_in_any_order_of_listing(version):
    attempts = [base("f", "005", token) for token in ("0-1-0", "0-1-1")]
    tables = [TinyTable(version).data(*order) for order in (attempts, attempts[::-1])]
    first, second = [shape(t.write("010", "commit").open().slices.as_of()) for t in tables]
    assert first == second
    assert list(first) == ["f"]


def test_sizes_are_those_on_the_storage_and_those_that_commits_name():
    table = TinyTable(9).write("010", "commit", F010).write("020", "deltacommit", log("f", "020"))
    table.data(F010, content=b"123").data(log("f", "020"), content=b"12345")
    (found,) = table.open().slices.as_of()
    assert found.base_file is not None
    assert found.base_file.size == 3
    assert [(f.size, f.committed_size) for f in found.log_files] == [(5, 1)]


@LAYOUTS
def test_undecodable_commit_is_corrupt(version):
    name = "010.commit" if version == 6 else "010_015.commit"
    table = TinyTable(version).instant(name, b"{ half of")
    with pytest.raises(CorruptTimelineError, match=name):
        table.open().slices.as_of()


@LAYOUTS
def test_empty_commit_has_no_files_of_its_own(version):
    name = "010.commit" if version == 6 else "010_015.commit"
    table = TinyTable(version).instant(name).data(F010)
    assert shape(table.open().slices.as_of()) == {"f": [F010]}


@LAYOUTS
def test_commit_that_is_archived_after_the_table_was_opened_asks_to_load_again(version):
    storage = MemoryStorage(TinyTable(version).write("010", "commit", F010).files)
    view = open_table(storage)
    del storage.files[instant_path(view.commits[0], view.config)]
    with pytest.raises(MissingFileError, match=r"010.*Load the table again"):
        view.slices.as_of()


# Savepoints and archived instants


@LAYOUTS
def test_archived_commits_between_a_savepoint_and_the_timeline_are_visible(version):
    name = "010.savepoint" if version == 6 else "010_012.savepoint"
    table = TinyTable(version).write("010", "commit", F010).instant(name)
    table.data(base("g", "020")).write("030", "commit", base("h", "030"))
    assert set(shape(table.open().slices.as_of())) == {"f", "g", "h"}


@LAYOUTS
def test_gap_in_the_timeline_without_savepoint_is_not_archived(version):
    table = TinyTable(version).write("010", "commit", F010).data(base("g", "020"))
    table.write("030", "commit", base("h", "030"))
    assert set(shape(table.open().slices.as_of())) == {"f", "h"}


@LAYOUTS
def test_pending_write_between_a_savepoint_and_the_next_commit_is_invisible(version):
    name = "010.savepoint" if version == 6 else "010_012.savepoint"
    table = TinyTable(version).write("010", "commit", F010).instant(name)
    table.instant("020.inflight").data(F020).write("030", "commit", base("g", "030"))
    assert shape(table.open().slices.as_of()) == {"f": [F010], "g": [base("g", "030")]}


def test_completion_time_of_an_archived_delta_commit_comes_from_the_history():
    table = TinyTable(9).data(F010, F020, log("f", "015")).write("030", "deltacommit")
    archive(table, {"010": "012", "015": "025", "020": "027"})
    # Completed at 025, after the base file of 020 was begun.
    assert shape(table.open().slices.as_of()) == {"f": [F020, log("f", "015")]}
    archive(table, {"010": "012", "015": "018", "020": "027"})
    assert shape(table.open().slices.as_of()) == {"f": [F020]}


def test_completion_time_of_a_commit_archived_after_a_savepoint_comes_from_the_history():
    table = TinyTable(9).write("010", "deltacommit", F010).instant("010_012.savepoint")
    table.data(F020, log("f", "015")).write("030", "deltacommit")
    archive(table, {"015": "018", "020": "027"})
    assert shape(table.open().slices.as_of()) == {"f": [F020]}
