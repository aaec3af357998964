import pytest

from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import F010, TinyTable, base, compacting, log, paths_of, shape

LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])
F020, F030 = base("f", "020"), base("f", "030")


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
    assert view.slices.last_instant == ""


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
    assert shape([found]) == {"f": [F010]}


def test_read_optimized_skips_slices_without_base_file():
    # A log file that completed before every base file makes a new slice.
    table = TinyTable(6).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", "020"), log("g", "020"))
    assert shape(table.open().slices.as_of(read_optimized=True)) == {"f": [F010]}
