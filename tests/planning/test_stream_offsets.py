"""Offsets of a stream, the limits of its batches, and what the batches add up to."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable, IncrementalRangeError, InvalidOptionError
from hudi_pyspark.format.timeline.instant import FIRST_OFFSET, LAST_OFFSET
from hudi_pyspark.options.option import QueryType
from hudi_pyspark.options.read_options import ReadOptions, StreamOptions
from hudi_pyspark.planning.stream_offsets import (
    batch_options,
    commit_offsets,
    first_offset,
    initial_offset,
    next_offset,
    range_options,
    schema_options,
)
from tests.conftest import GOLDEN
from tests.golden.case import Query, load_case
from tests.golden.compare import differences
from tests.growing_table import commits_of
from tests.table.tiny_table import TinyTable, base

QUERY_TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
START = "hoodie.datasource.streaming.startoffset"
V9_CDC = "v9_mor_cdc_data_before_after"
V6_CDC = "v6_cow_cdc_op_key_only"
# Tables whose rows are only added or replaced, so that the latest of all batches is the table.
WITHOUT_DELETES = [
    "v6_cow_all_types",
    "v6_cow_clustering_pending",
    "v8_cow_schema_evolution",
    "v8_mor_keygen_complex_hive",
    "v8_mor_nbcc",
    "v8_mor_savepoint_restore",
    "v9_cow_incr_options",
    "v9_cow_keygen_slashes",
    "v9_mor_all_types",
]
# And some with deletes, compaction, clustering, insert overwrite and rollbacks.
WITH_DELETES = [
    "flink_v6_mor_compacted",
    "v6_mor_compaction_inline",
    "v6_mor_failed_rolled_back",
    "v6_mor_replace",
    "v9_mor_clustering",
    "v9_mor_compaction_inline",
    V6_CDC,
    V9_CDC,
]


def limits(*, max_commits: int = 0, max_bytes: int = 0) -> StreamOptions:
    return StreamOptions("earliest", max_commits, max_bytes)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, StreamOptions("earliest", 0, 0), id="defaults"),
        pytest.param({"start_offset": "LATEST"}, StreamOptions("latest", 0, 0), id="latest"),
        pytest.param({START: "Earliest"}, StreamOptions("earliest", 0, 0), id="earliest"),
        pytest.param(
            {"start_offset": "20240131010203456"},
            StreamOptions("20240131010203456", 0, 0),
            id="instant",
        ),
        pytest.param(
            {"start_offset": "2024-01-31 01:02:03"},
            StreamOptions("20240131010203999", 0, 0),
            id="formatted-time",
        ),
        pytest.param({"start_offset": "000"}, StreamOptions("000", 0, 0), id="prefix"),
        pytest.param(
            {"maxCommitsPerTrigger": "3", "MAXBYTESPERTRIGGER": "1000"},
            StreamOptions("earliest", 3, 1000),
            id="limits-in-any-case",
        ),
        pytest.param({QUERY_TYPE: "incremental"}, StreamOptions("earliest", 0, 0), id="query-type"),
    ],
)
def test_options_of_a_stream_are_typed(options, expected):
    assert StreamOptions.parse(options) == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"begin": "000"}, "begin cannot be combined with a stream", id="begin"),
        pytest.param({END: "20240131010203456"}, "end.instanttime cannot be combined", id="end"),
        pytest.param(
            {"As.Of.Instant": "2024-01-31"}, "As.Of.Instant cannot be combined", id="as-of"
        ),
        pytest.param(
            {"use_end_schema": "true"}, "use_end_schema cannot be combined", id="end-schema"
        ),
        pytest.param(
            {"hoodie.datasource.read.incr.table.version": "6"},
            "incr.table.version cannot be combined",
            id="table-version",
        ),
        pytest.param({"query_type": "READ_OPTIMIZED"}, "reads all changes", id="read-optimized"),
        pytest.param(
            {"hoodie.read.query.type": "read_optimized"}, "reads all changes", id="hudi-rs-type"
        ),
        pytest.param(
            {"hoodie.datasource.view.type": "read_optimized"}, "reads all changes", id="view-type"
        ),
        pytest.param(
            {"hoodie.read.start.timestamp": "20240131010203456"},
            "hoodie.read.start.timestamp cannot be combined with a stream",
            id="hudi-rs-begin",
        ),
        pytest.param(
            {"hoodie.read.as.of.timestamp": "20240131010203456"},
            "hoodie.read.as.of.timestamp cannot be combined with a stream",
            id="hudi-rs-as-of",
        ),
        pytest.param({"maxCommitsPerTrigger": "0"}, "whole number from 1 on", id="no-commits"),
        pytest.param({"maxCommitsPerTrigger": "-1"}, "whole number from 1 on", id="negative"),
        pytest.param({"maxBytesPerTrigger": "1g"}, "maxBytesPerTrigger is '1g'", id="unit"),
        pytest.param({"maxBytesPerTrigger": "٣"}, "whole number", id="digit-of-another-script"),
        pytest.param({"start_offset": "yesterday"}, "'yesterday' is not an instant", id="start"),
    ],
)
def test_option_that_a_stream_cannot_have_is_refused(options, says):
    with pytest.raises(InvalidOptionError, match=says):
        StreamOptions.parse(options)


def test_columns_of_a_stream_are_asked_for_as_those_of_a_batch():
    plain = {"columns": "id", "start_offset": "latest"}
    assert schema_options(plain) == plain


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"cdc": "true"}, id="cdc"),
        pytest.param({"hoodie.datasource.query.incremental.format": "CDC"}, id="format"),
        pytest.param({"query_type": "incremental"}, id="query-type"),
        pytest.param({"query_type": "INCREMENTAL"}, id="query-type-in-capitals"),
        pytest.param({"hoodie.read.query.type": "incremental"}, id="query-type-of-hudi-rs"),
    ],
)
def test_columns_of_a_range_are_asked_for_with_a_range_of_nothing(options):
    found = schema_options(options)
    assert found[BEGIN] == LAST_OFFSET
    assert ReadOptions.parse(found).query_type is QueryType.INCREMENTAL


def test_columns_of_a_batch_keep_its_begin():
    for begin in ("begin", "hoodie.read.start.timestamp"):
        options = {"cdc": "true", begin: "000"}
        assert schema_options(options) == options


def test_columns_are_known_although_commits_are_archived_and_none_may_be_missing(golden_table):
    options = {"query_type": "incremental", "on_missing": "fail"}
    table = HudiTable(str(golden_table("v9_mor_archived")))
    of_schema: dict[str, Any] = schema_options(options)
    assert table.scan(**of_schema).schema == table.schema


def test_batch_is_an_incremental_query_without_the_options_of_the_stream():
    given = {
        "View_Type": "kept", "query_type": "snapshot", START: "latest", "columns": "id",
        "maxCommitsPerTrigger": "1", "maxBytesPerTrigger": "1", "cdc": "true",
        "hoodie.read.query.type": "snapshot",
    }  # fmt: skip
    assert range_options(given, "005", "015") == {
        "view_type": "kept", "columns": "id", "cdc": "true",
        QUERY_TYPE: "incremental", BEGIN: "005", END: "015",
    }  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [*WITHOUT_DELETES, *WITH_DELETES, "v9_mor_archived", "v6_cow_archived"],
)
def test_offsets_are_completion_times_from_version_8_on_and_requested_times_before(
    case, golden_table
):
    requested_by_offset = {at: time for time, at in commits_of(case).items()}
    assert requested_by_offset
    found = commit_offsets(HudiTable(str(golden_table(case)))._view)
    assert list(found.items()) == list(requested_by_offset.items())


def test_offsets_are_in_order_of_completion():
    table = TinyTable(9).write("010", "deltacommit", completed="040")
    table.write("020", "deltacommit", completed="030")
    assert list(commit_offsets(table.open()).items()) == [("030", "020"), ("040", "010")]


def test_completed_commit_of_an_upgraded_table_counts_by_its_requested_time():
    table = TinyTable(9).instant("010.deltacommit", {"partitionToWriteStats": {}})
    table.write("020", "deltacommit")
    assert commit_offsets(table.open()) == {"010": "010", "025": "020"}


def test_upgrade_loses_no_commit_and_repeats_the_last_one():
    before = TinyTable(6).write("010", "deltacommit").write("020", "deltacommit")
    offset = max(commit_offsets(before.open()))
    # The upgrade took the times of files for completion times. Commit 030 overtook 020.
    after = TinyTable(9).write("010", "deltacommit").write("020", "deltacommit", completed="040")
    after.write("030", "deltacommit").write("050", "deltacommit")
    ahead = {time for at, time in commit_offsets(after.open()).items() if at > offset}
    assert ahead == {"020", "030", "050"}


@pytest.mark.parametrize("state", ["020.deltacommit.requested", "020.deltacommit.inflight"])
def test_pending_commit_holds_back_later_ones_before_version_8(state):
    table = TinyTable(6).write("010", "deltacommit").instant(state).write("030", "deltacommit")
    assert commit_offsets(table.open()) == {"010": "010"}


def test_pending_commit_holds_back_none_from_version_8_on():
    table = TinyTable(9).write("010", "deltacommit").instant("020.deltacommit.inflight")
    table.write("030", "deltacommit")
    assert commit_offsets(table.open()) == {"015": "010", "035": "030"}


def test_planned_compaction_holds_back_none():
    table = TinyTable(6).write("010", "deltacommit", f"p/{base('a', '010')}")
    table.plan_compaction("020", ("p", "a")).write("030", "deltacommit")
    assert commit_offsets(table.open()) == {"010": "010", "030": "030"}


def test_batch_before_a_pending_commit_is_read_although_later_commits_have_completed(tmp_path):
    # The range itself ends before the pending commit: nothing is missed by it.
    table = pending_after_first(tmp_path)
    offsets = list(commit_offsets(table._view))
    assert offsets == ["20261121061743601"]
    with pytest.warns(UserWarning, match="no completed commit 20261121061744639"):
        answer = table._scan(batch_options({}, FIRST_OFFSET, offsets[0])).to_arrow()
    assert set(answer["_hoodie_commit_time"].to_pylist()) == set(offsets)


def pending_after_first(folder: Any) -> HudiTable:
    """Version 6, whose second commit is still being written while later ones are done."""
    path = load_case(GOLDEN / "v6_mor_compaction_inline").extract(folder)
    (path / ".hoodie" / "20261121061744639.deltacommit").unlink()
    return HudiTable(str(path))


@pytest.mark.parametrize(
    ("start", "initial", "first"),
    [
        pytest.param("earliest", FIRST_OFFSET, FIRST_OFFSET, id="earliest"),
        pytest.param("latest", "035", FIRST_OFFSET, id="latest"),
        pytest.param("020", "020", "020", id="instant"),
        pytest.param("9", "9", "9", id="instant-to-come"),
    ],
)
def test_stream_starts_where_it_is_told(start, initial, first):
    view = TinyTable(9).write("010", "deltacommit").write("030", "deltacommit").open()
    options = StreamOptions.parse({"start_offset": start})
    assert (initial_offset(view, options), first_offset(options)) == (initial, first)


def test_latest_of_a_table_without_commits_is_its_beginning():
    assert initial_offset(TinyTable(9).open(), StreamOptions("latest", 0, 0)) == FIRST_OFFSET


def test_latest_is_before_a_pending_commit_that_would_be_missed():
    table = TinyTable(6).write("010", "deltacommit").instant("020.deltacommit.inflight")
    view = table.write("030", "deltacommit").open()
    assert initial_offset(view, StreamOptions("latest", 0, 0)) == "010"


def four_commits() -> TinyTable:
    """Of 1, 3, 2 and 5 bytes; they complete at 015, 025, 035 and 045."""
    table = TinyTable(9)
    number = 0
    for time, files in (("010", 1), ("020", 3), ("030", 2), ("040", 5)):
        names = [f"p/{base(f'f{number + i}', time)}" for i in range(files)]
        table.write(time, "deltacommit", *names)
        number += files
    return table


@pytest.mark.parametrize(
    ("start", "options", "until", "limited", "end"),
    [
        pytest.param(FIRST_OFFSET, limits(), "", True, "045", id="no-limit"),
        pytest.param("045", limits(), "", True, "045", id="nothing-new"),
        pytest.param("050", limits(), "", True, "050", id="ahead-of-the-table"),
        pytest.param("015", limits(max_commits=2), "", True, "035", id="commits"),
        pytest.param("015", limits(max_commits=9), "", True, "045", id="fewer-commits"),
        pytest.param("015", limits(max_commits=1), "", False, "045", id="limit-not-asked-for"),
        pytest.param("020", limits(max_commits=1), "", True, "025", id="between-commits"),
        pytest.param(FIRST_OFFSET, limits(max_bytes=4), "", True, "025", id="bytes"),
        pytest.param(FIRST_OFFSET, limits(max_bytes=5), "", True, "025", id="bytes-not-above"),
        pytest.param("015", limits(max_bytes=5), "", True, "035", id="bytes-exactly"),
        pytest.param("015", limits(max_bytes=2), "", True, "025", id="one-commit-at-least"),
        pytest.param("015", limits(max_commits=1, max_bytes=9), "", True, "025", id="both-commits"),
        pytest.param("015", limits(max_commits=3, max_bytes=4), "", True, "025", id="both-bytes"),
        pytest.param(FIRST_OFFSET, limits(), "025", True, "025", id="until"),
        pytest.param(FIRST_OFFSET, limits(), "030", False, "025", id="until-between"),
        pytest.param("025", limits(), "025", True, "025", id="until-reached"),
        pytest.param(FIRST_OFFSET, limits(max_commits=1), "025", True, "015", id="until-limited"),
    ],
)
def test_batch_ends_where_its_limits_say(start, options, until, limited, end):
    view = four_commits().open()
    assert next_offset(view, start, options, until=until, limited=limited) == end


def test_table_without_commits_has_no_batch():
    view = TinyTable(9).open()
    assert next_offset(view, FIRST_OFFSET, limits(), until="", limited=True) == FIRST_OFFSET


def test_limit_in_bytes_needs_no_commit_before_the_batch():
    table = four_commits()
    table.instant("010_015.deltacommit", b"{ not read")
    view = table.open()
    assert next_offset(view, "015", limits(max_bytes=5), until="", limited=True) == "035"


@pytest.mark.parametrize("case", [V9_CDC, V6_CDC])
def test_changes_of_all_batches_are_those_of_the_table_wherever_it_is_cut(case, golden_table):
    read_batch = batch_reader(HudiTable(str(golden_table(case))), cdc="true")
    (whole,), *_ = every_cut(case)
    assert differs_from(read_batch(*whole), query(case, "cdc_all")) == []
    changes: dict[tuple[str, str], Counter[tuple[object, ...]]] = {}
    for batch in {batch for batches in every_cut(case) for batch in batches}:
        answer = read_batch(*batch)
        assert answer.schema == read_batch(*whole).schema
        changes[batch] = Counter(tuple(row.values()) for row in answer.to_pylist())
    for batches in every_cut(case):
        assert sum((changes[batch] for batch in batches), Counter()) == changes[whole], batches


@pytest.mark.parametrize("case", WITHOUT_DELETES)
def test_last_rows_of_all_batches_are_the_table_wherever_it_is_cut(case, golden_table):
    read_batch = batch_reader(HudiTable(str(golden_table(case))))
    expected = query(case, "snapshot")
    for batches in every_cut(case):
        found = last_rows(pa.concat_tables(read_batch(*batch) for batch in batches))
        # A row that clustering or a later update moved came out of another file.
        assert differs_from(found, expected, without="_hoodie_file_name") == [], batches


@pytest.mark.parametrize("case", [*WITHOUT_DELETES, *WITH_DELETES])
def test_no_batch_tells_a_row_again_wherever_the_table_is_cut(case, golden_table):
    read_batch = batch_reader(HudiTable(str(golden_table(case))))
    names = ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key"]
    offsets = commits_of(case)
    rows = {
        batch: list(zip(*(read_batch(*batch)[name].to_pylist() for name in names), strict=True))
        for batches in every_cut(case)
        for batch in batches
    }
    for (begin, end), told in rows.items():
        assert all(begin < offsets[row[0]] <= end for row in told)
    for batches in every_cut(case):
        times = Counter(row for batch in batches for row in rows[batch])
        assert max(times.values()) == 1, batches


@pytest.mark.parametrize(
    ("case", "begin", "end", "golden"),
    [
        pytest.param(V9_CDC, "20261121063211574", "20261121063212416", "cdc_mid", id="v9-mid"),
        pytest.param(V9_CDC, "20261121063212416", "20261121063212825", "cdc_c3_c4", id="v9-one"),
        pytest.param(V6_CDC, "20261121065958962", "20261121070004238", "cdc_mid", id="v6-mid"),
        pytest.param(V6_CDC, "20261121070004238", "20261121070005243", "cdc_c3_c4", id="v6-one"),
        pytest.param(V9_CDC, FIRST_OFFSET, LAST_OFFSET, "incr_all", id="v9-rows"),
        pytest.param(
            V9_CDC, "20261121063211574", "20261121063212825", "incr_mid", id="v9-rows-mid"
        ),
        pytest.param(
            V6_CDC, "20261121065958962", "20261121070006172", "incr_mid", id="v6-rows-mid"
        ),
    ],
)
def test_one_batch_answers_as_apache_hudi_over_the_same_commits(
    case, begin, end, golden, golden_table
):
    options = {"cdc": "true"} if golden.startswith("cdc") else {}
    table = HudiTable(str(golden_table(case)))
    answer = table._scan(batch_options(options, begin, end)).to_arrow()
    assert answer.num_rows > 0
    assert differs_from(answer, query(case, golden)) == []


def test_changes_of_a_batch_go_by_completion_time_unlike_those_of_a_query(golden_table):
    # The last commit was requested before this begin and completed a millisecond after it.
    last = query(V9_CDC, "cdc_last")
    assert last.expected_rows().num_rows == 0
    table = HudiTable(str(golden_table(V9_CDC)))
    answer = table._scan(
        batch_options({"cdc": "true"}, last.options[BEGIN], LAST_OFFSET)
    ).to_arrow()
    assert answer.select(["op", "ts_ms"]).to_pylist() == [{"op": "d", "ts_ms": "20261121063213677"}]


def test_batch_of_nothing_has_no_rows_but_columns(golden_table):
    table = HudiTable(str(golden_table(V9_CDC)))
    answer = table._scan(batch_options({}, "20261121063211574", "20261121063211574")).to_arrow()
    assert (answer.num_rows, answer.schema) == (0, table.schema)


def test_archived_commits_of_a_batch_are_refused_where_none_may_be_missing(golden_table):
    table = HudiTable(str(golden_table("v9_mor_archived")))
    end = next(iter(commits_of("v9_mor_archived").values()))
    with pytest.raises(IncrementalRangeError, match="is archived"):
        table._scan(batch_options({"on_missing": "fail"}, FIRST_OFFSET, end)).to_arrow()


def test_batches_over_an_archived_begin_add_up_to_the_table(golden_table):
    table = HudiTable(str(golden_table("v9_mor_archived")))
    points = [FIRST_OFFSET, *commits_of("v9_mor_archived").values()]
    first, *others = pairwise(points)
    with pytest.warns(UserWarning, match="is archived"):
        tables = [table._scan(batch_options({}, *first)).to_arrow()]
    tables += [table._scan(batch_options({}, *pair)).to_arrow() for pair in others]
    found = last_rows(pa.concat_tables(tables))
    expected = query("v9_mor_archived", "snapshot")
    assert differs_from(found, expected, without="_hoodie_file_name") == []


def every_cut(case: str) -> Iterator[list[tuple[str, str]]]:
    """All ways to divide the commits of a table among the batches of a stream."""
    *between, last = sorted(commits_of(case).values())
    for count in range(len(between) + 1):
        for cuts in combinations(between, count):
            yield list(pairwise([FIRST_OFFSET, *cuts, last]))


def batch_reader(table: HudiTable, **options: str) -> Callable[[str, str], pa.Table]:
    """Reads batches of a stream; two ways to divide the commits share many of them."""
    return cache(lambda begin, end: table._scan(batch_options(options, begin, end)).to_arrow())


def last_rows(rows: pa.Table) -> pa.Table:
    """The last row of each key."""
    paths, keys = (rows[n].to_pylist() for n in ("_hoodie_partition_path", "_hoodie_record_key"))
    last = {key: number for number, key in enumerate(zip(paths, keys, strict=True))}
    return rows.take(sorted(last.values()))


def query(case: str, name: str) -> Query:
    return next(q for q in load_case(GOLDEN / case).queries if q.name == name)


def differs_from(answer: pa.Table, expected: Query, *, without: str = "") -> list[str]:
    """Differences from Apache Hudi's answer."""
    rows = expected.expected_rows()
    schema = expected.expected_schema()
    if without:
        answer, rows = answer.drop_columns([without]), rows.drop_columns([without])
        schema = [field for field in schema if field["name"] != without]
    return differences(answer, rows, schema)
