import pytest

from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile, group_files


def base(time, file_id="f", token="0-1-0"):
    return BaseFile(f"p/{file_id}_{token}_{time}.parquet", file_id, time, size=1)


def log(time, version=1, file_id="f", token="0-1-0", first_committed_by=""):
    path = f"p/.{file_id}_{time}.log.{version}_{token}"
    return LogFile(
        path, file_id, time, version, token, size=1, first_committed_by=first_committed_by
    )


def group(*files, completed=None, planned=None, compacted=None):
    """Slices of the only group: base instant to the instants of the base file and the logs.

    `completed` maps requested to completion times; None is a table of layout 1. `compacted` maps
    the instant of a compaction to the instants of the log files in its plan.
    """
    (found,) = groups(*files, completed=completed, planned=planned, compacted=compacted)
    return {s.base_instant_time: shape(s) for s in found.slices}


def groups(*files, completed=None, planned=None, compacted=None):
    return group_files(
        "p",
        [f for f in files if isinstance(f, BaseFile)],
        [f for f in files if isinstance(f, LogFile)],
        pending_compactions=planned or {},
        completion_time=None if completed is None else completed.get,
        compacted_logs=lambda time: (
            {("p", "f"): [log(t).path.rpartition("/")[2] for t in compacted[time]]}
            if time in (compacted or {})
            else {}
        ),
    )


def shape(file_slice):
    name = file_slice.base_file.instant_time if file_slice.base_file else None
    return name, [f.instant_time for f in file_slice.log_files]


def test_files_of_layout_1_belong_to_the_instant_in_their_name():
    found = group(base("010"), base("030"), log("010"), log("030"), log("010", version=2))
    assert found == {"010": ("010", ["010", "010"]), "030": ("030", ["030"])}


def test_log_file_of_layout_1_without_base_file_makes_a_slice():
    found = group(base("010"), log("020", first_committed_by="030"))
    assert found == {"010": ("010", []), "020": (None, ["020"])}


@pytest.mark.parametrize("first_committed_by", ["020", ""])
def test_log_file_that_names_its_commit_stays_on_its_base_file_after_a_downgrade(
    first_committed_by,
):
    found = group(
        base("010"),
        base("040"),
        log("020", first_committed_by=first_committed_by),
        log("030", first_committed_by=first_committed_by.replace("2", "3")),
    )
    assert found == {"010": ("010", ["020", "030"]), "040": ("040", [])}


def test_log_files_without_a_base_file_are_one_slice_after_a_downgrade():
    found = group(log("020"), log("030"), base("040"), log("050"))
    assert found == {"020": (None, ["020", "030"]), "040": ("040", ["050"])}


def test_log_file_that_a_later_compaction_left_out_is_on_its_base_file_after_a_downgrade():
    compacted = {"030": ["015"], "040": ["020"]}
    found = group(base("010"), base("030"), base("040"), log("020"), compacted=compacted)
    assert found == {"010": ("010", []), "030": ("030", ["020"]), "040": ("040", [])}


def test_log_file_that_the_next_compaction_merged_is_below_it_after_a_downgrade():
    compacted = {"030": ["020"], "040": []}
    found = group(base("010"), base("030"), base("040"), log("020"), compacted=compacted)
    assert found == {"010": ("010", ["020"]), "030": ("030", []), "040": ("040", [])}


def test_planned_compaction_of_layout_1_makes_an_empty_slice():
    found = group(base("010"), log("010"), planned={"f": "020"})
    assert found == {"010": ("010", ["010"]), "020": (None, [])}


def test_log_files_of_a_planned_compaction_of_layout_1_are_in_its_slice():
    found = group(base("010"), log("010"), log("020"), planned={"f": "020"})
    assert found == {"010": ("010", ["010"]), "020": (None, ["020"])}


# Rules of layout 2 (table version 8 and later), where a log file names its delta commit.


def test_first_log_file_of_a_group_without_slices_starts_one():
    assert group(log("010"), completed={"010": "015"}) == {"010": (None, ["010"])}


def test_first_log_file_starts_a_slice_even_before_it_is_committed():
    assert group(log("010"), completed={}) == {"010": (None, ["010"])}


def test_log_only_slice_takes_the_logs_that_follow():
    found = group(log("010"), log("020"), completed={"010": "015", "020": "025"})
    assert found == {"010": (None, ["010", "020"])}


def test_log_file_without_a_completion_time_belongs_to_the_slice_before_its_request():
    found = group(base("010"), base("030"), log("020"), log("040"), completed={})
    assert found == {"010": ("010", ["020"]), "030": ("030", ["040"])}


def test_plan_that_leaves_a_log_file_out_counts_as_its_completion():
    found = group(base("010"), base("030"), log("020"), completed={}, compacted={"030": ["015"]})
    assert found == {"010": ("010", []), "030": ("030", ["020"])}


def test_committed_log_file_belongs_to_the_latest_slice_before_its_completion():
    completed = {"020": "025", "040": "045"}
    found = group(base("010"), base("030"), log("020"), log("040"), completed=completed)
    assert found == {"010": ("010", ["020"]), "030": ("030", ["040"])}


def test_completion_in_the_same_moment_as_the_slice_begins_belongs_to_the_slice():
    found = group(base("010"), base("030"), log("020"), completed={"020": "030"})
    assert found == {"010": ("010", []), "030": ("030", ["020"])}


@pytest.mark.parametrize(
    ("completed_at", "slice_time"),
    [("029", "010"), ("031", "030"), ("049", "030"), ("051", "050")],
)
def test_completion_not_request_of_a_delta_commit_decides(completed_at, slice_time):
    bases = [base("010"), base("030"), base("050")]
    found = group(*bases, log("020"), completed={"020": completed_at})
    assert found[slice_time] == (slice_time, ["020"])


def test_delta_commit_across_the_planning_of_a_compaction_belongs_to_the_planned_slice():
    # Began at 020, before the compaction was planned at 030, and completed at 035, after it.
    completed = {"020": "035", "025": "028"}
    found = group(base("010"), log("020"), log("025"), completed=completed, planned={"f": "030"})
    assert found == {"010": ("010", ["025"]), "030": (None, ["020"])}


def test_completed_log_file_before_every_slice_starts_one():
    found = group(base("030"), log("010"), completed={"010": "015"})
    assert found == {"010": (None, ["010"]), "030": ("030", [])}


def test_slice_that_an_early_log_file_started_takes_later_ones():
    found = group(base("030"), log("010"), log("016"), completed={"010": "015", "016": "020"})
    assert found == {"010": (None, ["010", "016"]), "030": ("030", [])}


def test_log_files_are_attached_in_order_of_their_instants():
    # 016 alone would start a slice; 010 does so first and 016, completed later, follows it.
    found = group(log("016"), log("010"), completed={"010": "025", "016": "017"})
    assert found == {"010": (None, ["010", "016"])}


def test_planned_compaction_makes_an_empty_slice_before_logs_are_attached():
    found = group(
        log("010"), log("030"), completed={"010": "015", "030": "035"}, planned={"f": "020"}
    )
    assert found == {"010": (None, ["010"]), "020": (None, ["030"])}


def test_log_file_without_a_completion_time_is_below_a_compaction_that_was_planned_later():
    found = group(base("010"), log("015"), log("025"), completed={}, planned={"f": "020"})
    assert found == {"010": ("010", ["015"]), "020": (None, ["025"])}


def test_instants_of_another_length_are_compared_by_request():
    # Completion times have 17 digits; instants of 3 digits are no times of day.
    completed = {"020": "20250101000000000", "040": "20250101000000001"}
    found = group(base("010"), base("030"), log("020"), log("040"), completed=completed)
    assert found == {"010": ("010", ["020"]), "030": ("030", ["040"])}


def test_length_of_the_newest_slice_decides_how_instants_compare():
    # The oldest base file dates from before 17 digits; the rule of completion times still holds.
    old, new = "20200101000000", "20250101000000030"
    delta = "20250101000000020"
    found = group(base(old), base(new), log(delta), completed={delta: "20250101000000035"})
    assert found == {old: (old, []), new: (new, [delta])}


@pytest.mark.parametrize("completed", [None, {}], ids=["layout-1", "layout-2"])
def test_plan_of_another_group_makes_no_slice(completed):
    assert group(base("010"), completed=completed, planned={"g": "020"}) == {"010": ("010", [])}


def test_groups_are_in_order_of_file_id_and_slices_of_instant():
    found = groups(base("030", "g"), base("010", "g"), base("020", "f"), log("010", file_id="e"))
    assert [(g.partition_path, g.file_id) for g in found] == [("p", "e"), ("p", "f"), ("p", "g")]
    assert [s.base_instant_time for s in found[2].slices] == ["010", "030"]


def test_no_files_are_no_groups():
    assert groups(completed={}, planned={"f": "020"}) == []


def test_last_of_several_attempts_at_a_base_file_counts():
    failed = base("010", token="0-1-0")
    good = base("010", token="0-1-1")
    for first, second in ((failed, good), (good, failed)):
        (found,) = groups(first, second)
        assert [s.base_file for s in found.slices] == [second]


def test_log_files_apply_by_instant_then_version_then_write_token():
    expected = [
        log("010", 9),
        log("010", 10, token=""),
        log("010", 10, token="1-0-1"),
        log("010", 10, token="10-0-1"),
        log("010", 10, token="2-0-1"),
        log("020", 1),
    ]
    (found,) = groups(base("010"), *expected[::-1], completed={"010": "015", "020": "025"})
    assert found.slices[0].log_files == tuple(expected)


def test_slice_sorts_the_logs_it_is_given():
    empty = FileSlice("p", "f", "010", None, ())
    assert empty.is_empty
    merged = empty.with_logs([log("020"), log("010", 2), log("010", 1)])
    assert merged.log_files == (log("010", 1), log("010", 2), log("020"))
    assert not merged.is_empty
