"""Ranges of instants: which commits, which files, and what happens where they are gone."""

import warnings
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import (
    IncrementalRangeError,
    InvalidInstantError,
    InvalidOptionError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.timeline.instant import RequestedTime
from hudi_pyspark.options.option import HollowCommits, OnMissing, RangeMerge
from hudi_pyspark.options.read_options import IncrementalOptions
from hudi_pyspark.planning.commit_range import RequestedRange
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN
from hudi_pyspark.table.view import open_table
from hudi_pyspark.tasks import CommitRange
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.memory_storage import MemoryStorage
from tests.table.archive_files import archive
from tests.table.tiny_table import TinyTable, base, log, shape

INCR_OPTIONS = "v9_cow_incr_options"
NOTHING: dict[str, object] = {"partitionToWriteStats": {}, "partitionToReplaceFileIds": {}}


def wanted(begin="000", end="", **more):
    return IncrementalOptions(begin=begin, end=end, **more)


def resolve_range(view, options):
    return RequestedRange.of_rows(view, options).resolve()


def range_slices(view, options):
    requested = RequestedRange.of_rows(view, options)
    return requested.slices(requested.resolve())


def commits_in(table, *args, **more):
    return list(resolve_range(table.open(), wanted(*args, **more)).commits)


def slices_of(table, *args, **more):
    """File id to paths of what a range reads."""
    view = table.open()
    options = wanted(*args, **more)
    return shape(range_slices(view, options)[1])


def three_commits(version=9, table_type="COPY_ON_WRITE"):
    """Each writes a separate file; from version 8 on they complete at 015, 025 and 035."""
    table = TinyTable(version, table_type)
    for number in (1, 2, 3):
        table.write(f"0{number}0", "commit", base(f"f{number}", f"0{number}0"))
    return table


class TestRange:
    @pytest.mark.parametrize(
        ("version", "begin", "end", "commits"),
        [
            pytest.param(6, "000", "", ["010", "020", "030"], id="v6-all"),
            pytest.param(6, "010", "", ["020", "030"], id="v6-begin-is-exclusive"),
            pytest.param(6, "009", "020", ["010", "020"], id="v6-end-is-inclusive"),
            pytest.param(6, "010", "029", ["020"], id="v6-end-between"),
            pytest.param(6, "030", "", [], id="v6-after-the-last"),
            pytest.param(8, "010", "", ["010", "020", "030"], id="v8-requested-time-is-before"),
            pytest.param(8, "015", "", ["020", "030"], id="v8-begin-is-exclusive"),
            pytest.param(8, "014", "025", ["010", "020"], id="v8-end-is-inclusive"),
            pytest.param(9, "015", "024", [], id="v9-not-yet-complete-at-the-end"),
            pytest.param(9, "9", "", [], id="v9-after-the-last"),
            pytest.param(9, "02", "03", ["020"], id="v9-prefixes-compare-as-text"),
            pytest.param(9, "025", "025", [], id="v9-begin-is-end"),
        ],
    )
    def test_times_are_compared_as_the_table_version_says(self, version, begin, end, commits):
        assert commits_in(three_commits(version), begin, end) == commits

    @pytest.mark.parametrize(
        ("version", "as_version", "commits"),
        [(9, 6, ["020", "030"]), (9, 8, ["010", "020", "030"]), (6, 8, ["020", "030"])],
    )
    def test_the_option_chooses_another_table_version(self, version, as_version, commits):
        assert commits_in(three_commits(version), "010", table_version=as_version) == commits

    def test_commits_that_overlap_are_told_apart_by_completion(self):
        table = TinyTable(9)
        table.write("010", "deltacommit", log("f", "010"), completed="040")
        table.write("020", "deltacommit", log("f", "020"), completed="030")
        assert commits_in(table, "030") == ["010"]
        assert commits_in(table, "000", "030") == ["020"]

    @pytest.mark.parametrize("version", [6, 9])
    def test_only_completed_commits_count(self, version):
        table = three_commits(version).instant("040.commit.requested").instant("040.inflight")
        table.instant("050_055.clean" if version == 9 else "050.clean")
        assert commits_in(table) == ["010", "020", "030"]

    @pytest.mark.parametrize("version", [6, 9])
    def test_a_table_without_commits_has_an_empty_range(self, version):
        found = resolve_range(TinyTable(version).open(), wanted())
        assert (found.commits, found.end) == ((), "")
        assert slices_of(TinyTable(version)) == {}

    def test_a_range_that_ends_before_it_begins_is_refused(self):
        with pytest.raises(InvalidInstantError, match=r"at 025, after its end 015\. Give an"):
            resolve_range(three_commits().open(), wanted("025", "015"))

    def test_a_table_whose_rows_do_not_tell_their_commit_is_refused(self):
        table = TinyTable(populate__meta__fields="false").write("010", "deltacommit")
        with pytest.raises(UnsupportedTableError, match="_hoodie_commit_time"):
            resolve_range(table.open(), wanted())

    def test_the_range_tells_what_it_compares(self):
        described = str(resolve_range(three_commits().open(), wanted("015", "030")))
        assert described == "completion times after 015 up to 030, inclusive (1 commits)"
        assert str(resolve_range(three_commits(6).open(), wanted("010"))).startswith("requested")

    def test_skipping_compactions_drops_commit_actions_of_merge_on_read(self):
        table = TinyTable(9).write("010", "commit", base("f", "010"))
        table.write("020", "deltacommit", log("f", "020")).write("030", "commit", base("f", "030"))
        assert commits_in(table, skip_compaction=True) == ["020"]
        assert commits_in(three_commits(), skip_compaction=True) == ["010", "020", "030"]

    def test_skipping_clusterings_keeps_overwrites(self):
        table = TinyTable(9, "COPY_ON_WRITE").write("010", "commit", base("f", "010"))
        table.instant("020_025.replacecommit", {**NOTHING, "operationType": "CLUSTER"})
        table.instant("030_035.replacecommit", {**NOTHING, "operationType": "INSERT_OVERWRITE"})
        assert commits_in(table, skip_clustering=True) == ["010", "030"]
        assert commits_in(table) == ["010", "020", "030"]


class StorageUnderData(MemoryStorage):
    def describe(self, path):
        return f"/data/{path}"


class TestSlices:
    def test_slices_are_made_of_the_files_of_the_range_only(self):
        table = TinyTable(9).write("010", "deltacommit", base("f", "010"))
        table.write("020", "deltacommit", log("f", "020"))
        table.write("030", "deltacommit", log("f", "030"), base("g", "030"))
        assert slices_of(table, "025") == {"f": [log("f", "030")], "g": [base("g", "030")]}
        assert slices_of(table, "015", "025") == {"f": [log("f", "020")]}
        assert slices_of(table)["f"] == [base("f", "010"), log("f", "020"), log("f", "030")]

    def test_of_several_base_files_the_newest_in_the_range_counts(self):
        table = TinyTable(9, "COPY_ON_WRITE")
        for time in ("010", "020", "030"):
            table.write(time, "commit", base("f", time))
        assert slices_of(table, "000", "025") == {"f": [base("f", "020")]}

    def test_merged_with_the_table_it_has_no_log_that_completed_after_the_range(self):
        table = TinyTable(9).write("010", "deltacommit", base("f", "010"))
        table.write("020", "deltacommit", log("f", "020"), completed="050")
        table.write("030", "deltacommit", log("f", "030"))
        found = slices_of(table, "025", "035", range_merge=RangeMerge.TABLE)
        assert found == {"f": [base("f", "010"), log("f", "030")]}

    def test_groups_that_the_range_replaces_are_left_out(self):
        table = three_commits()
        table.write("040", "replacecommit", base("g", "040"), replaces={"": ["f1", "f2"]})
        assert slices_of(table) == {"f3": [base("f3", "030")], "g": [base("g", "040")]}
        assert set(slices_of(table, "000", "035")) == {"f1", "f2", "f3"}

    def test_files_of_failed_writes_are_left_out(self):
        table = three_commits().data(base("f1", "099"), base("x", "098"))
        assert set(slices_of(table)) == {"f1", "f2", "f3"}

    @pytest.mark.parametrize(
        ("glob", "files"),
        [
            ("/ds=1/*", {"f1"}),
            ("*.parquet", {"f1", "f2"}),
            ("ds=2/f2*", {"f2"}),
            ("/ds=3/*", set()),
            ("", {"f1", "f2"}),
        ],
    )
    def test_a_glob_is_matched_with_the_end_of_the_full_path(self, glob, files):
        table = TinyTable(9, "COPY_ON_WRITE", table__partition__fields="ds")
        table.write("010", "commit", f"ds=1/{base('f1', '010')}", f"ds=2/{base('f2', '010')}")
        view = open_table(StorageUnderData(table.files))
        options = wanted(incremental_path_glob=glob)
        _, found = range_slices(view, options)
        assert {s.file_id for s in found} == files

    def test_a_glob_that_matches_one_file_of_a_slice_keeps_all_of_them(self):
        table = TinyTable(9).write("010", "deltacommit", base("f", "010"))
        table.write("020", "deltacommit", log("f", "020"))
        assert slices_of(table, incremental_path_glob="*.parquet") == {
            "f": [base("f", "010"), log("f", "020")]
        }


class TestHollowCommits:
    @staticmethod
    def table(version=6):
        """The second of three commits is still being written."""
        table = TinyTable(version, "COPY_ON_WRITE").write("010", "commit", base("f1", "010"))
        table.instant("020.commit.requested").instant("020.inflight")
        return table.write("030", "commit", base("f3", "030"))

    @pytest.mark.parametrize(("begin", "end"), [("000", ""), ("010", "030"), ("010", "020")])
    def test_a_pending_commit_inside_the_range_is_refused(self, begin, end):
        with pytest.raises(IncrementalRangeError, match="commit 020 has not completed") as raised:
            resolve_range(self.table().open(), wanted(begin, end))
        assert str(raised.value).startswith("[HUDI_INCREMENTAL_RANGE_GONE]")

    @pytest.mark.parametrize(
        ("begin", "end", "commits"),
        [("020", "", ["030"]), ("000", "019", ["010"]), ("000", "010", ["010"])],
    )
    def test_a_range_before_or_behind_it_misses_nothing(self, begin, end, commits):
        assert commits_in(self.table(), begin, end) == commits

    def test_a_pending_commit_after_all_others_is_no_gap(self):
        table = TinyTable(6, "COPY_ON_WRITE").write("010", "commit", base("f1", "010"))
        table.instant("020.commit.requested").instant("020.inflight")
        assert commits_in(table) == ["010"]

    @pytest.mark.parametrize(
        ("begin", "end", "until"),
        [("000", "", "010"), ("000", "030", "010"), ("000", "005", "005")],
    )
    def test_block_ends_the_range_before_it(self, begin, end, until):
        found = resolve_range(
            self.table().open(), wanted(begin, end, hollow_commits=HollowCommits.BLOCK)
        )
        assert found.end == until
        assert list(found.commits) == (["010"] if until == "010" else [])

    def test_block_leaves_nothing_where_the_first_commit_is_pending(self):
        table = TinyTable(6, "COPY_ON_WRITE").instant("010.inflight")
        table.write("020", "commit", base("f", "020"))
        assert commits_in(table, hollow_commits=HollowCommits.BLOCK) == []

    def test_use_transition_time_reads_on(self):
        assert commits_in(self.table(), hollow_commits=HollowCommits.USE_TRANSITION_TIME) == [
            "010",
            "030",
        ]

    def test_completion_times_have_no_gaps(self):
        assert commits_in(self.table(9)) == ["010", "030"]


class TestArchivedBegin:
    @staticmethod
    def table():
        """Two commits and a clean are archived, two commits are not."""
        table = TinyTable(9, "COPY_ON_WRITE")
        table.write("030", "commit", base("f3", "030")).write("040", "commit", base("f1", "040"))
        table.data(base("f1", "010"), base("f2", "020"))
        return archive(
            table, ("010", "015", "commit"), ("020", "025", "commit"), ("026", "027", "clean")
        )

    def test_the_latest_slices_stand_in_and_a_warning_says_so(self):
        with pytest.warns(UserWarning, match="commit 020 of the range is archived") as warned:
            found = slices_of(self.table(), "015")
        assert found == {
            "f1": [base("f1", "040")],
            "f2": [base("f2", "020")],
            "f3": [base("f3", "030")],
        }
        assert len(warned) == 1

    def test_rows_of_archived_commits_count_and_those_before_the_begin_do_not(self):
        found = resolve_range(self.table().open(), wanted("015"))
        assert found.commits == ("020", "030", "040")
        written = found.wrote(pa.table({COMMIT_TIME_COLUMN: ["010", "020", "030"]}))
        assert written.tolist() == [False, True, True]

    def test_archived_commits_after_the_end_do_not_count(self):
        assert commits_in(self.table(), "000", "015") == ["010"]

    @pytest.mark.parametrize("begin", ["025", "027", "030", "045"])
    def test_a_begin_behind_the_archived_commits_needs_no_fallback(self, begin):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            slices_of(self.table(), begin, on_missing=OnMissing.FAIL)

    def test_an_archived_commit_that_began_before_the_range_and_completed_in_it_counts(self):
        table = TinyTable(9, "COPY_ON_WRITE").write("030", "commit", base("f", "030"))
        archive(archive(table, ("010", "028", "commit")), ("020", "025", "commit"))
        with pytest.raises(IncrementalRangeError, match="first commit that is gone is 010"):
            commits_in(table, "026", on_missing=OnMissing.FAIL)

    def test_without_fallback_the_error_says_where_to_begin(self):
        table = self.table()
        with pytest.raises(IncrementalRangeError) as raised:
            resolve_range(table.open(), wanted("000", on_missing=OnMissing.FAIL))
        assert "first commit that is gone is 010" in str(raised.value)
        assert "earliest begin that still works is 025" in str(raised.value)
        assert commits_in(table, "025", on_missing=OnMissing.FAIL) == ["030", "040"]

    def test_earliest_begins_behind_the_archived_commits(self):
        with pytest.warns(UserWarning, match="begins later than requested, since commit 010"):
            found = slices_of(self.table(), "000", on_missing=OnMissing.EARLIEST)
        assert found == {"f3": [base("f3", "030")], "f1": [base("f1", "040")]}

    def test_the_range_tells_that_it_begins_later(self):
        found = resolve_range(self.table().open(), wanted("000", on_missing=OnMissing.EARLIEST))
        assert (found.begin, found.commits) == ("025", ("030", "040"))
        assert str(found).endswith("; begins later than requested, since " + found.moved)

    def test_earliest_of_a_range_that_is_archived_as_a_whole_is_empty(self):
        with pytest.warns(UserWarning, match="begins later than requested"):
            assert slices_of(self.table(), "000", "025", on_missing=OnMissing.EARLIEST) == {}

    def test_requested_times_are_compared_before_version_8(self):
        with pytest.raises(IncrementalRangeError, match="still works is 020"):
            resolve_range(
                self.table().open(), wanted("000", on_missing=OnMissing.FAIL, table_version=6)
            )

    def test_a_table_without_archive_has_nothing_missing(self):
        assert commits_in(three_commits(), "000", on_missing=OnMissing.FAIL) == [
            "010",
            "020",
            "030",
        ]


class TestCleanedFiles:
    @staticmethod
    def table():
        """The files of the first two commits are cleaned away, but not those that came after."""
        table = TinyTable(9, "COPY_ON_WRITE")
        table.write("010", "commit", base("f", "010")).write("020", "commit", base("g", "020"))
        table.write("030", "commit", base("h", "030"))
        table.write("040", "commit", base("f", "040"), base("g", "040"))
        return table.without(base("f", "010"), base("g", "020"))

    def test_the_latest_slices_stand_in_and_a_warning_says_so(self):
        with pytest.warns(UserWarning, match="a file that commit 010 wrote is gone") as warned:
            found = slices_of(self.table(), "000", "035")
        assert found == {
            "f": [base("f", "040")],
            "g": [base("g", "040")],
            "h": [base("h", "030")],
        }
        assert "without rows deleted since" in str(warned[0].message)

    def test_the_range_says_that_it_is_a_full_scan_and_keeps_its_commits(self):
        view = self.table().open()
        options = wanted("000", "035")
        with pytest.warns(UserWarning, match="010"):
            found, _ = range_slices(view, options)
        assert found.full_scan == "a file that commit 010 wrote is gone"
        assert str(found).endswith(
            "; full scan of the latest file slices, since " + found.full_scan
        )
        assert found.commits == ("010", "020", "030")

    def test_files_that_a_later_commit_of_the_range_supersedes_may_be_gone(self):
        assert slices_of(self.table(), on_missing=OnMissing.FAIL) == {
            "f": [base("f", "040")],
            "g": [base("g", "040")],
            "h": [base("h", "030")],
        }

    def test_without_fallback_the_error_says_where_to_begin(self):
        with pytest.raises(IncrementalRangeError) as raised:
            slices_of(self.table(), "000", "035", on_missing=OnMissing.FAIL)
        assert "first commit that is gone is 010" in str(raised.value)
        assert "earliest begin that still works is 025" in str(raised.value)
        assert slices_of(self.table(), "025", "035", on_missing=OnMissing.FAIL) == {
            "h": [base("h", "030")]
        }

    def test_earliest_begins_behind_the_cleaned_commits(self):
        with pytest.warns(UserWarning, match="begins later than requested") as warned:
            found = slices_of(self.table(), "000", "035", on_missing=OnMissing.EARLIEST)
        assert found == {"h": [base("h", "030")]}
        assert "completion times after 025" in str(warned[0].message)

    def test_the_earliest_begin_behind_an_archived_commit_heeds_cleaned_files(self):
        table = archive(self.table(), ("005", "006", "commit"))
        with pytest.raises(IncrementalRangeError) as raised:
            resolve_range(table.open(), wanted("000", "035", on_missing=OnMissing.FAIL))
        assert "first commit that is gone is 005" in str(raised.value)
        assert "earliest begin that still works is 025" in str(raised.value)

    def test_log_files_that_are_gone_are_noticed(self):
        table = TinyTable(9).write("010", "deltacommit", base("f", "010"))
        table.write("020", "deltacommit", log("f", "020")).without(log("f", "020"))
        with pytest.raises(IncrementalRangeError, match="a file that commit 020 wrote is gone"):
            slices_of(table, "015", on_missing=OnMissing.FAIL)

    def test_a_file_that_the_latest_slices_need_is_an_error_with_fallback_too(self):
        table = self.table().without(base("h", "030"))
        with pytest.raises(MissingFileError, match=r"h_0-1-0_030\.parquet"):
            slices_of(table, "000", "035")


class CountingStorage(MemoryStorage):
    def __init__(self, files):
        super().__init__(files)
        self.counts: Counter[str] = Counter()

    def list_directory(self, directory):
        self.counts[directory.partition("/")[0] or "/"] += 1
        return super().list_directory(directory)

    def read_bytes(self, path):
        self.counts[path.rpartition("/")[2]] += 1
        return super().read_bytes(path)


class TestWhatPlanningReads:
    @staticmethod
    def planned(table, *args, **more):
        storage = CountingStorage(table.files)
        view = open_table(storage)
        options = wanted(*args, **more)
        storage.counts.clear()
        slices = range_slices(view, options)[1]
        return view, slices, storage.counts

    @staticmethod
    def long_table(table_type, action, name_of):
        table = TinyTable(9, table_type, table__partition__fields="p")
        for number in range(100, 200):
            paths = [f"p={number % 4}/{name_of(f'f{number % 4}', number)}"]
            table.write(str(number), action, *paths, completed=f"{number}5")
        return table

    def test_the_last_commit_needs_its_own_metadata_and_partition(self):
        table = self.long_table("COPY_ON_WRITE", "commit", lambda f, n: base(f, str(n)))
        _, slices, counts = self.planned(table, "1985")
        assert shape(slices) == {"f3": [f"p=3/{base('f3', '199')}"]}
        assert counts == {"199_1995.commit": 1, "p=3": 1}

    def test_the_commits_of_a_range_are_known_without_metadata(self):
        table = self.long_table("COPY_ON_WRITE", "commit", lambda f, n: base(f, str(n)))
        storage = CountingStorage(table.files)
        view = open_table(storage)
        storage.counts.clear()
        assert len(RequestedRange.of_rows(view, wanted("1505")).resolve().commits) == 49
        assert storage.counts == {}

    def test_replaced_groups_need_the_metadata_of_replacecommits_only(self):
        table = self.long_table("COPY_ON_WRITE", "commit", lambda f, n: base(f, str(n)))
        table.write("1505", "replacecommit", completed="1506", replaces={"p=2": ["f2"]})
        _, _, counts = self.planned(table, "1985")
        assert counts == {"199_1995.commit": 1, "1505_1506.replacecommit": 1, "p=3": 1}

    def test_log_files_need_the_metadata_since_the_base_file_below(self):
        def name_of(file_id, number):
            return base(file_id, str(number)) if number < 184 else log(file_id, str(number))

        table = self.long_table("MERGE_ON_READ", "deltacommit", name_of)
        view, _, counts = self.planned(table, "1985")
        (whole,) = view.slices.of_groups({("p=3", "f3")}, "199")
        assert [f.instant_time for f in whole.log_files] == ["187", "191", "195", "199"]
        assert whole.base_file is not None
        assert whole.base_file.instant_time == "183"
        # What was written up to 182 completed before the base file was begun.
        read = sorted(name for name in counts if name.endswith("deltacommit"))
        assert read == [f"{n}_{n}5.deltacommit" for n in range(183, 200)]
        assert counts["p=3"] == 1

    def test_a_base_file_that_is_gone_is_told_even_where_only_old_commits_name_it(self):
        def name_of(file_id, number):
            return base(file_id, str(number)) if number < 104 else log(file_id, str(number))

        table = self.long_table("MERGE_ON_READ", "deltacommit", name_of)
        view, _, _ = self.planned(table.without(f"p=3/{base('f3', '103')}"), "1985")
        (whole,) = view.slices.of_groups({("p=3", "f3")}, "199")
        assert whole.base_file is not None
        assert not whole.base_file.is_listed

    def test_a_group_whose_files_are_all_gone_is_told_beside_a_later_one(self):
        table = TinyTable(9).write("010", "deltacommit", base("g", "010"))
        table.write("030", "deltacommit", base("f", "030")).without(base("g", "010"))
        found = table.open().slices.of_groups({("", "f"), ("", "g")}, "030")
        assert shape(found) == {"f": [base("f", "030")], "g": [base("g", "010")]}

    def test_a_log_that_is_gone_is_told_beside_a_later_group(self):
        table = TinyTable(9).write("010", "deltacommit", base("f", "010"))
        table.write("020", "deltacommit", log("f", "020")).without(log("f", "020"))
        table.write("030", "deltacommit", base("g", "030"))
        found = table.open().slices.of_groups({("", "f"), ("", "g")}, "030")
        assert shape(found)["f"] == [base("f", "010"), log("f", "020")]


class TestGoldenTables:
    @pytest.fixture
    def table(self, golden_table):
        return HudiTable(str(golden_table(INCR_OPTIONS)))

    @staticmethod
    def differs(answer, query, case=INCR_OPTIONS):
        known = next(q for q in load_case(GOLDEN / case).queries if q.name == query)
        return differences(answer, known.expected_rows(), known.expected_schema())

    @pytest.mark.parametrize(
        "begin",
        [
            "earliest",
            "EARLIEST",
            "000",
            "0",
            "2025",
            "20261121",
            "2026-11-21 06:45:00",
            "2026-11-21",
        ],
    )
    def test_spellings_of_a_begin_before_everything(self, table, begin):
        answer = table.scan(query_type="incremental", begin=begin).to_arrow()
        assert self.differs(answer, "incr_all") == []

    @pytest.mark.parametrize(
        "begin",
        [
            "20261121064531390",
            "20261121064532",
            "2026-11-21 06:45:31.390",
            "2026-11-21T06:45:31.390",
        ],
    )
    def test_spellings_of_a_begin_behind_the_first_commit(self, table, begin):
        answer = table.scan(query_type="incremental", begin=begin).to_arrow()
        assert self.differs(answer, "incr_after_c1") == []

    def test_a_formatted_second_lasts_until_its_end(self, table):
        scan = table.scan(query_type="incremental", begin="000", end="2026-11-21 06:45:31")
        assert set(scan.to_arrow()["_hoodie_commit_time"].to_pylist()) == {"20261121064530916"}

    def test_chosen_columns_come_alone_and_rows_are_filtered_all_the_same(self, table):
        options = {"query_type": "incremental", "begin": "20261121064531390"}
        known = next(q for q in load_case(GOLDEN / INCR_OPTIONS).queries if q.name == "incr_mid")
        name = known.expected_rows().schema.names[-1]
        answer = table.scan([name], **options, end="20261121064532099").to_arrow()
        assert answer.schema.names == [name]
        assert sorted(map(str, answer[name].to_pylist())) == sorted(
            map(str, known.expected_rows()[name].to_pylist())
        )
        assert table.scan(**options, end="20261121064532099").count() == 5

    def test_the_schema_is_the_latest_or_that_of_the_end_of_the_range(self, table):
        options = {"query_type": "incremental", "begin": "000", "end": "20261121064532099"}
        latest = table.scan(**options).to_arrow()
        at_end = table.scan(**options, use_end_schema=True).to_arrow()
        assert "added" in latest.schema.names
        assert "added" not in at_end.schema.names
        assert self.differs(latest, "incr_end_latest_schema") == []
        assert latest.drop_columns(["added"]).num_rows == at_end.num_rows == 9
        of_all = table.scan(query_type="incremental", begin="000", use_end_schema=True).to_arrow()
        assert of_all.schema == latest.schema

    def test_time_travel_is_refused_in_a_range(self, table):
        with pytest.raises(
            InvalidOptionError, match=r"as\.of\.instant\) cannot be combined with an incr"
        ):
            table.scan(query_type="incremental", begin="000", as_of="20261121064531390")

    def test_a_full_scan_answers_as_apache_hudi_and_warns(self, golden_table):
        case = "v9_mor_archived"
        table = HudiTable(str(golden_table(case)))
        scan = table.scan(query_type="incremental", begin="20261121063318351")
        with pytest.warns(UserWarning, match="commit 20261121063318432 of the range is archived"):
            answer = scan.to_arrow()
        assert self.differs(answer, "incr_from_archived", case) == []

    @pytest.mark.parametrize(
        "option", ["hoodie.datasource.read.incr.fallback.fulltablescan.enable", "on_missing"]
    )
    def test_the_option_refuses_a_full_scan(self, golden_table, option):
        table = HudiTable(str(golden_table("v9_mor_archived")))
        refuse: dict[str, Any] = {option: "fail" if option == "on_missing" else "false"}
        with pytest.raises(IncrementalRangeError, match="earliest begin that still works is 2026"):
            table.scan(query_type="incremental", begin="20261121063318351", **refuse)

    def test_the_begin_that_the_error_names_works(self, golden_table):
        table = HudiTable(str(golden_table("v9_mor_archived")))
        with pytest.raises(IncrementalRangeError) as raised:
            table.scan(query_type="incremental", begin="000", on_missing=OnMissing.FAIL)
        begin = str(raised.value).partition("still works is ")[2][:17]
        rows = table.scan(
            query_type="incremental", begin=begin, on_missing=OnMissing.FAIL
        ).to_arrow()
        with pytest.warns(UserWarning, match="begins later than requested"):
            moved = table.scan(
                query_type="incremental", begin="000", on_missing=OnMissing.EARLIEST
            ).to_arrow()
        assert moved.num_rows == rows.num_rows > 0

    def test_partial_updates_without_the_file_below_are_an_error(self, golden_table, tmp_path):
        import shutil

        path = tmp_path / "table"
        shutil.copytree(golden_table("v8_mor_partial_merge_compacted"), path)
        for file in path.glob("*_20261121070218711.parquet"):
            file.unlink()
        scan = HudiTable(str(path)).scan(
            query_type="incremental", begin="20261121070220774", end="20261121070224108"
        )
        with pytest.raises(MissingFileError, match=r"20261121070218711\.parquet"):
            scan.to_arrow()


@pytest.mark.parametrize(("by_completion_time", "is_in_range"), [(False, True), (True, False)])
def test_rows_of_commits_that_do_not_count_are_of_the_range_before_version_8(
    by_completion_time, is_in_range
):
    """Delta commits of a table that became COPY_ON_WRITE, in files of later commits, as in Hudi."""
    times = RequestedTime("030"), RequestedTime("040")
    commits = CommitRange("010", "040", by_completion_time, times, "")
    found = commits.wrote(pa.table({COMMIT_TIME_COLUMN: ["010", "020", "030", "040", "050"]}))
    assert found.tolist() == [False, is_in_range, True, True, False]
