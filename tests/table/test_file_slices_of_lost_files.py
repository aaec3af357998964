"""Slices whose files or commits are missing, empty, damaged or archived."""

import pytest

from hudi_pyspark.errors import CorruptTableError, CorruptTimelineError, MissingFileError
from hudi_pyspark.table.timeline import instant_path
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import F010, TinyTable, archive, base, compacting, log, shape

LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])
F020, F030 = base("f", "020"), base("f", "030")


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
    del storage.files[instant_path(view.history.commits[0], view.config)]
    with pytest.raises(MissingFileError, match=r"010.*Load the table again"):
        view.slices.as_of()


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


@pytest.mark.parametrize("step", range(1, 7))
@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "new"])
def test_group_is_found_while_another_thread_lists_its_partition_again(step, is_kept):
    """Two threads read one scan: one finds that the metadata table lacks a file."""
    view = TinyTable().write("010", "commit", "p/" + F010).open()
    groups = view.with_listing(ChangedListing(view.listing)).groups
    if is_kept:
        assert groups.find("p", "f") is not None
    path = WatchedPath("p")
    path.at_lookup[step] = lambda: groups.relist("p", "a file")
    found = groups.find(path, "f")
    assert found is not None
    assert found.file_id == "f"


class WatchedPath(str):
    """A partition path that lets another thread go on while it is looked up in a dictionary."""

    __slots__ = ("at_lookup", "lookups")
    __eq__ = str.__eq__

    def __init__(self, _text):
        self.at_lookup = {}
        self.lookups = 0

    def __hash__(self):
        self.lookups += 1
        self.at_lookup.get(self.lookups, bool)()
        return super().__hash__()


class ChangedListing:
    """The folders of a table, as a listing that finds something new each time it is asked again."""

    def __init__(self, folders):
        self.partitions = folders.partitions
        self.files = folders.files
        self.recorded_commits = folders.recorded_commits
        self.summary = folders.summary

    def relist(self, _partition_path, _missing_file):
        return True
