"""Incremental queries that merge with the whole table: ``range_merge=table``."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_pyspark import HudiTable, IncrementalRangeError, InvalidOptionError
from hudi_pyspark.planning.stream_offsets import range_options, schema_options
from tests.conftest import GOLDEN
from tests.golden.case import load_case, load_cases
from tests.golden.compare import differences
from tests.golden.deviations import accepted_deviations
from tests.sampling import SAMPLED, sample

EXTRA = GOLDEN.with_name("golden_extra")
BEGIN = "hoodie.datasource.read.begin.instanttime"
LATE = "x_v9_mor_rg_late_compaction"
PARTIAL = "x_v9_mor_rg_partial_payload"


def commit_times(case):
    """Requested time of each completed commit to the time that ranges compare."""
    instants = [text.partition(".")[0] for text in case.facts["timeline"]]
    pairs = [(i.partition("_")[0], i.partition("_")[2]) for i in instants]
    return {r: (c if case.facts["table_version"] >= 8 and c else r) for r, c in pairs}


def is_known(case):
    """Whether Apache Hudi's snapshot is known, and every commit is still on the timeline."""
    # Ranges of a table that became COPY_ON_WRITE do not have the delta commits from before.
    words = ("archived", "no_meta_fields", "virtual", "clean", "hollow", "failed_stays", "was_mor")
    known = any(
        q.name == "snapshot" and q.answer is not None and q.key not in accepted_deviations()
        for q in case.queries
    )
    return known and not any(word in case.name for word in words)


def ranges_of(case):
    """Queries of ranges that begin after a commit and have no end."""
    return [
        query
        for query in case.queries
        if query.answer is not None
        and query.options.keys() == {"hoodie.datasource.query.type", BEGIN}
        and query.options[BEGIN] != "earliest"
    ]


CASES = [
    case for case in [*load_cases(GOLDEN), *load_cases(EXTRA)] if is_known(case) and ranges_of(case)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@SAMPLED
def test_range_without_end_gives_the_rows_of_the_snapshot_that_it_wrote(case, is_whole, tmp_path):
    snapshot = next(q for q in case.queries if q.name == "snapshot")
    rows = snapshot.expected_rows()
    times = commit_times(case)
    path = str(case.extract(tmp_path))
    ranges = ranges_of(case)
    for query in ranges if is_whole else sample(ranges, case.name, 2):
        written = [t for t, at in times.items() if at > query.options[BEGIN]]
        expected = rows.filter(
            pc.is_in(rows["_hoodie_commit_time"], value_set=pa.array(written, pa.string()))
        )
        options = {**query.options, "range_merge": "table"}
        answer = HudiTable(path).scan(**options).to_arrow()
        assert differences(answer, expected, snapshot.expected_schema()) == [], query.name


def late_table(tmp_path, case=LATE):
    known = load_case(EXTRA / case)
    return str(known.extract(tmp_path)), list(commit_times(known).values())


def rows_of(path, columns=("_hoodie_record_key", "ts"), **options):
    table = HudiTable(path).scan(list(columns), **options).to_arrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


# c1 inserts k1 to k4 at 100, c2 writes k2 at 110, c3 compacts, c4 brings k1 at 50, k2 at 105 and k3
# at 120: the first two are late, and the table keeps k1 at 100 and k2 at 110.
@pytest.mark.parametrize(
    ("begin", "merge", "expected"),
    [
        (0, "range", [("k1", 50), ("k2", 110), ("k3", 120)]),
        (0, "table", [("k2", 110), ("k3", 120)]),
        (1, "range", [("k1", 50), ("k2", 105), ("k3", 120)]),
        (1, "table", [("k3", 120)]),
        (2, "range", [("k1", 50), ("k2", 105), ("k3", 120)]),
        (2, "table", [("k3", 120)]),
    ],
)
def test_late_records_are_part_of_the_range_and_not_of_the_table(tmp_path, begin, merge, expected):
    path, times = late_table(tmp_path)
    assert rows_of(path, begin=times[begin], range_merge=merge) == expected


def test_end_of_the_range_is_the_state_that_counts(tmp_path):
    path, times = late_table(tmp_path)
    found = rows_of(path, begin=times[0], end=times[2], range_merge="table")
    assert found == [("k2", 110)]  # before c4


def test_values_that_the_range_did_not_write_are_completed(tmp_path):
    path, times = late_table(tmp_path, PARTIAL)
    columns = ("_hoodie_record_key", "a", "b")
    # c4 writes k0 with a alone, at 120; b is of c1.
    of_range = rows_of(path, columns, begin=times[2], end=times[3])
    of_table = rows_of(path, columns, begin=times[2], end=times[3], range_merge="table")
    assert ("k0", "a-c4", None) in of_range
    assert ("k0", "a-c4", "b0") in of_table


@pytest.mark.parametrize("case", [LATE, "x_v6w120_mor_rg_late_compaction"])
def test_filter_and_columns_change_nothing(tmp_path, case):
    path, times = late_table(tmp_path, case)
    found = rows_of(path, ("v",), begin=times[0], range_merge="table", filter="id = 'k2'")
    assert found == [("c2",)]
    assert rows_of(path, ("v",), begin=times[0], filter="id = 'k1'") == [("c4",)]


def test_state_whose_files_are_gone_is_refused_or_read_as_it_is_now(tmp_path):
    path, times = late_table(tmp_path)
    first, compacted = sorted(
        (tmp_path / LATE).glob("*.parquet"), key=lambda file: file.name.rpartition("_")[2]
    )
    assert compacted.exists()
    first.unlink()
    wanted = {"begin": times[0], "end": times[1], "range_merge": "table"}
    with pytest.raises(
        IncrementalRangeError, match="the table had at the end of the range is gone"
    ):
        rows_of(path, **wanted, on_missing="fail")
    with pytest.warns(UserWarning, match="full scan|latest rows"):
        assert rows_of(path, **wanted) == [("k2", 110)]
    assert rows_of(path, begin=times[0], end=times[1]) == [("k2", 110)]  # its own log file is there


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"range_merge": "table"}, "range_merge needs the query type incremental"),
        ({"cdc": "true", "begin": "000", "range_merge": "table"}, "combined with a CDC query"),
        ({"query_type": "incremental", "begin": "0", "range_merge": "all"}, "known: range, table"),
    ],
)
def test_option_is_refused_where_it_has_no_effect(tmp_path, options, message):
    path, _ = late_table(tmp_path)
    with pytest.raises(InvalidOptionError, match=message):
        HudiTable(path).scan(**options)


def test_stream_passes_the_option_to_each_of_its_batches(tmp_path):
    path, times = late_table(tmp_path)
    given = {"range_merge": "table"}
    of_schema: dict[str, Any] = schema_options(given)
    of_batch: dict[str, Any] = range_options(given, times[2], times[3])
    assert HudiTable(path).scan(**of_schema).to_arrow().num_rows == 0
    batch = HudiTable(path).scan(**of_batch).to_arrow()
    assert batch["_hoodie_record_key"].to_pylist() == ["k3"]
