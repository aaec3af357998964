"""File ids that are used again after a commit replaced their file group, as bucket indexes do."""

import pytest

from tests.table.tiny_table import TinyTable, base, log, shape

LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])
OLD, NEW = log("f", "010"), log("f", "050")
DROPPED = {"": ["f"]}


def table(version=9):
    """A delta commit, a commit that drops its file group, and a delta commit to the same id."""
    dropped = TinyTable(version).write("010", "deltacommit", OLD)
    return dropped.write("030", "replacecommit", replaces=DROPPED).write("050", "deltacommit", NEW)


@LAYOUTS
def test_replacement_ends_only_what_was_written_before_it(version):
    view = table(version).open()
    # Blocks of commits after the instant of a query are skipped when its files are read.
    assert OLD in shape(view.slices.as_of("020"))["f"]
    assert [shape(view.slices.as_of(time)) for time in ("030", "050")] == [{"f": [NEW]}] * 2


@pytest.mark.parametrize("old", [OLD, base("f", "010")], ids=["log", "base"])
def test_log_files_of_later_commits_follow_the_first_one_of_a_reused_id(old):
    """Before version 8 the first one names its own commit, and later ones that slice."""
    written = TinyTable(6).write("010", "deltacommit", old)
    written.write("030", "replacecommit", replaces=DROPPED).write("050", "deltacommit", NEW)
    later = [log("f", "050", 2), log("f", "050", 3)]
    written.write("060", "deltacommit", later[0]).write("070", "deltacommit", later[1])
    assert shape(written.open().slices.as_of()) == {"f": [NEW, *later]}
    compacted = base("f", "080")
    merged = {"partitionPath": "", "fileId": "f", "deltaFilePaths": [NEW, *later]}
    written.instant("080.compaction.requested", {"operations": [merged]}).data(compacted)
    assert shape(written.open().slices.as_of()) == {"f": [NEW, *later]}  # half written
    written.write("080", "commit", compacted)
    assert shape(written.open().slices.as_of()) == {"f": [compacted]}


@LAYOUTS
def test_base_files_of_a_reused_id_are_read_optimized(version):
    old, new = base("f", "010"), base("f", "050")
    replaced = TinyTable(version, "COPY_ON_WRITE").write("010", "commit", old)
    replaced.write("030", "replacecommit", replaces=DROPPED).write("050", "commit", new)
    assert shape(replaced.open().slices.as_of(read_optimized=True)) == {"f": [new]}


@LAYOUTS
def test_overwrite_onto_the_same_id_keeps_its_own_files(version):
    own = log("f", "030")
    written = TinyTable(version).write("010", "deltacommit", OLD)
    written.write("030", "replacecommit", own, replaces=DROPPED).write("050", "deltacommit", NEW)
    assert shape(written.open().slices.as_of()) == {"f": [own, NEW]}


def test_slice_before_a_commit_leaves_out_what_was_replaced():
    view = table().write("060", "deltacommit", log("f", "060")).open()
    before = [view.slices.before(time, "", "f") for time in ("030", "050", "060")]
    assert [shape([s]) if s else {} for s in before][1:] == [{}, {"f": [NEW]}]
    assert before[0] is not None
    assert OLD in shape([before[0]])["f"]


def test_range_has_the_commits_after_a_replacement():
    view = table().open()
    assert shape(view.slices.written_by(["030", "050"])) == {"f": [NEW]}
    assert shape(view.slices.written_by(["010", "050"])) == {"f": [NEW]}


def test_log_file_that_is_committed_after_a_replacement_counts():
    late = log("f", "020")
    concurrent = table().write("020", "deltacommit", late, completed="040")
    assert shape(concurrent.open().slices.as_of()) == {"f": [late, NEW]}


def test_log_file_that_is_committed_before_a_replacement_does_not_count():
    concurrent = TinyTable().write("010", "deltacommit", OLD)
    concurrent.write("030", "replacecommit", replaces=DROPPED, completed="060")
    concurrent.write("040", "deltacommit", log("f", "040"), completed="050")
    assert shape(concurrent.open().slices.as_of()) == {}


def test_compaction_of_replaced_files_does_not_count():
    late = table().plan_compaction("020", ("", "f"))
    late.write("020", "commit", base("f", "020"), completed="040")
    assert shape(late.open().slices.as_of()) == {"f": [NEW]}


@pytest.mark.parametrize("operation", ["CLUSTER", "LOG_COMPACT"])
def test_table_services_beside_a_write_only_move_rows(operation):
    moved = table().write("020", "deltacommit", log("f", "020"), completed="040")
    name = "030_035.replacecommit" if operation == "CLUSTER" else "020_040.deltacommit"
    path = f".hoodie/timeline/{name}"
    moved.files[path] = moved.files[path].replace(
        b"{", b'{"operationType": "%s", ' % operation.encode(), 1
    )
    assert shape(moved.open().slices.as_of()) == {"f": [NEW]}


def test_file_outlives_every_replacement_of_its_group():
    twice = table().write("060", "replacecommit", replaces=DROPPED)
    assert shape(twice.open().slices.as_of()) == {}
    assert shape(twice.open().slices.as_of("050")) == {"f": [NEW]}
