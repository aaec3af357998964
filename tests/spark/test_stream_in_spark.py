"""Streams over real files: a table grows commit by commit while Spark reads it into a sink."""

import json
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_pyspark import HudiTable
from hudi_pyspark.format.timeline.instant import FIRST_OFFSET
from hudi_pyspark.planning.stream_offsets import OFFSET_KEY
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.stream import _HAS_READ_LIMITS, HudiStreamReader
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import changelog_rows, differences
from tests.growing_table import GrowingTable, commits_of, table_at
from tests.spark.frames import assert_same_rows, hudi_rows
from tests.spark.running_stream import RunningStream

pytestmark = pytest.mark.spark

# Seven commits: updates, a late update, deletes, a compaction.
V9_CDC = "v9_mor_cdc_data_before_after"
# Eight: updates, deletes, insert overwrite, delete partition.
V6_CDC = "v6_cow_cdc_op_key_only"
V6_MOR = "v6_mor_compaction_inline"
# Three commits, the last of which adds a column.
THREE = "v9_cow_incr_options"
C1, C2, C3 = "20261121064531390", "20261121064532099", "20261121064532792"
ARCHIVED = "v9_mor_archived"
needs_limits = pytest.mark.skipif(not _HAS_READ_LIMITS, reason="read limits came with Spark 4.2")


@pytest.fixture
def replay(spark, tmp_path):
    """A golden table put back to one of its commits (0: the first), and a stream over it."""

    def replay(case: str, commit: int = -1) -> tuple[GrowingTable, RunningStream]:
        growing = table_at(case, list(commits_of(case))[commit], tmp_path)
        return growing, RunningStream(spark, growing.path, tmp_path)

    return replay


def expected_changes(case: str, query: str) -> pa.Table:
    """Apache Hudi's changes."""
    found = next(q for q in load_case(GOLDEN / case).queries if q.name == query)
    return found.expected_rows()


def changes_differ(answer: DataFrame, case: str, query: str) -> list[str]:
    """Differences from Apache Hudi's changes, whose images are compared as parsed JSON."""
    expected = next(q for q in load_case(GOLDEN / case).queries if q.name == query)
    return differences(answer.toArrow(), expected.expected_rows(), expected.expected_schema())


def ends(batches: list[dict[str, Any]]) -> list[str]:
    return [batch["endOffset"][OFFSET_KEY] for batch in batches]


def written_between(stream: RunningStream, begin: str, end: str) -> DataFrame:
    """The incremental query over the same commits, which the golden tests prove."""
    scan = HudiTable(str(stream.table)).scan(query_type="incremental", begin=begin, end=end)
    return stream.spark.createDataFrame(scan.to_arrow())


def column(answer: DataFrame, name: str) -> set[Any]:
    return {row[0] for row in answer.select(name).distinct().collect()}


def test_sink_is_the_incremental_answer_after_each_commit_and_each_kill(replay):
    growing, stream = replay(V9_CDC, 0)
    begin = "000"
    expected = []
    for number, (instant, end) in enumerate(commits_of(V9_CDC).items()):
        growing.grow(instant)
        batches = stream.run()
        expected.append(written_between(stream, begin, end))
        assert ends(batches)[-1] == end
        assert_same_rows(stream.answer(), reduce(DataFrame.unionAll, expected))
        begin = end
        # The batch is planned again from the table as it has grown by then.
        (stream.lose_last_batch, stream.lose_last_commit)[number % 2]()
    # Rows of the first commit came once; later versions come, too.
    assert stream.answer().where("_hoodie_commit_time = 20261121063211338").count() == 10


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        pytest.param(
            V9_CDC,
            {
                "cdc_mid": ("20261121063211574", "20261121063212416"),
                "cdc_c3_c4": ("20261121063212416", "20261121063212825"),
            },
            id="v9-mor",
        ),
        pytest.param(
            V6_CDC,
            {
                "cdc_mid": ("20261121065958962", "20261121070004238"),
                "cdc_c3_c4": ("20261121070004238", "20261121070005243"),
            },
            id="v6-cow",
            marks=pytest.mark.cluster,
        ),
    ],
)
def test_changes_in_the_sink_are_apache_hudis_although_every_batch_was_killed(replay, case, parts):
    growing, stream = replay(case, 0)
    commits = commits_of(case)
    for number, instant in enumerate(list(commits)[::-2][::-1]):
        growing.grow(instant)
        assert ends(stream.run(cdc="true"))[-1] == commits[instant]
        assert column(stream.answer(), "ts_ms") <= {time for time in commits if time <= instant}
        if instant != list(commits)[-1]:
            (stream.lose_last_commit, stream.lose_last_batch)[number % 2]()
    assert changes_differ(stream.answer(), case, "cdc_all") == []
    for query, (begin, end) in parts.items():
        in_range = [time for time, offset in commits.items() if begin < offset <= end]
        part = stream.answer().where(sf.col("ts_ms").isin(in_range))
        assert changes_differ(part, case, query) == []


def test_changelog_in_the_sink_has_the_images_of_apache_hudi(replay):
    growing, stream = replay(V9_CDC, 0)
    for instant in list(commits_of(V9_CDC))[::3]:
        growing.grow(instant)
        stream.run(cdc="true", cdc_format="changelog")
    ours, theirs = changelog_rows(stream.answer().toArrow(), expected_changes(V9_CDC, "cdc_all"))
    assert ours == theirs
    since = {"cdc": "true", "cdc_format": "changelog", "begin": "20261121063211574"}
    batch = stream.spark.read.format("hudi-py").options(**since).load(str(growing.path))
    assert batch.schema == stream.schema
    deleted = batch.where("_change_type = 'delete'").select("_commit_timestamp", "id")
    _, expected = changelog_rows(batch.toArrow(), expected_changes(V9_CDC, "cdc_after_c1"))
    assert deleted.count() == sum(n for row, n in expected.items() if row[0] == "delete") > 0
    ours, theirs = changelog_rows(batch.toArrow(), expected_changes(V9_CDC, "cdc_after_c1"))
    assert ours == theirs


def test_running_stream_follows_the_table_and_reports_how_far_it_is(replay):
    growing, stream = replay(V6_MOR, 0)
    query = stream.start(every="100 milliseconds", maxCommitsPerTrigger="2")
    try:
        query.processAllAvailable()
        expected = [hudi_rows(stream.spark, V6_MOR, "as_of_c1")]
        assert_same_rows(stream.answer(), expected[0])
        begin = next(iter(commits_of(V6_MOR)))
        for instants in (["20261121061744639"], list(commits_of(V6_MOR))[2:]):
            growing.grow(instants[-1])
            query.processAllAvailable()
            for end in instants[1::2] or instants:
                expected.append(written_between(stream, begin, end))
                begin = end
            assert_same_rows(stream.answer(), reduce(DataFrame.unionAll, expected))
        latest = {
            json.loads(p.json)["sources"][0]["latestOffset"][OFFSET_KEY] for p in reports(query)
        }
    finally:
        query.stop()
    assert {"20261121061743601", "20261121061748364"} <= latest


def reports(query: Any) -> list[Any]:
    return [p for p in query.recentProgress if json.loads(p.json)["sources"][0]["latestOffset"]]


def test_stream_from_the_beginning_gives_apache_hudis_rows(replay):
    _, stream = replay(V9_CDC)
    assert ends(stream.run()) == ["20261121063214022"]
    assert_same_rows(stream.answer(), hudi_rows(stream.spark, V9_CDC, "incr_all"))


def test_stream_from_an_instant_gives_apache_hudis_rows_after_it(replay):
    growing, stream = replay(V9_CDC, 3)
    start = {"hoodie.datasource.streaming.startOffset": "20261121063211574"}
    stream.run(**start)
    assert_same_rows(stream.answer(), hudi_rows(stream.spark, V9_CDC, "incr_mid"))
    growing.grow()
    # The checkpoint counts from now on, and not the option.
    assert ends(stream.run(start_offset="earliest")) == ["20261121063214022"]
    assert "20261121063211338" not in column(stream.answer(), "_hoodie_commit_time")


def test_stream_from_the_latest_commit_gives_what_comes_after_its_first_run(replay):
    growing, stream = replay(THREE, 0)
    stream.run(start_offset="latest")
    assert stream.answer().isEmpty()
    growing.grow()
    # Until then nothing but the start was remembered.
    assert ends(stream.run(start_offset="latest")) == [C3]
    assert_same_rows(stream.answer(), hudi_rows(stream.spark, THREE, "incr_after_c1"))


@needs_limits
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({"maxCommitsPerTrigger": "2"}, [C2, C3], id="commits"),
        pytest.param({"maxBytesPerTrigger": "1"}, [C1, C2, C3], id="bytes-below-any-commit"),
        pytest.param({"maxBytesPerTrigger": "50000"}, [C2, C3], id="bytes-of-two-commits"),
    ],
)
def test_batches_keep_to_the_limits_and_the_backlog_is_reported(replay, limits, expected):
    _, stream = replay(THREE)
    batches = stream.run(**limits)
    assert ends(batches) == expected
    assert {batch["latestOffset"][OFFSET_KEY] for batch in batches} == {C3}


def test_column_that_appears_mid_stream_stops_it_and_a_restart_goes_on_with_it(replay):
    growing, stream = replay(THREE, 0)
    query = stream.start(every="100 milliseconds")
    try:
        query.processAllAvailable()
        growing.grow("20261121064531489")
        query.processAllAvailable()
        before = stream.answer()
        first, second = (
            hudi_rows(stream.spark, THREE, query) for query in ("as_of_seconds", "incr_mid")
        )
        assert_same_rows(before, first.unionAll(second.select(first.columns)))
        growing.grow()
        with pytest.raises(StreamingQueryException, match=r"\[HUDI_STREAM_SCHEMA_CHANGED\]") as e:
            query.processAllAvailable()
    finally:
        query.stop()
    assert "added string" in str(e.value)
    assert "Restart the query on the same checkpoint" in str(e.value)
    assert ends(stream.run()) == [C3]
    assert "added" not in before.columns
    last = stream.answer().where("_hoodie_commit_time = 20261121064532196")
    assert_same_rows(last, hudi_rows(stream.spark, THREE, "incr_last_minus_1ms"))
    assert stream.answer().count() == 9 + 5 + 6


def test_stream_of_named_columns_does_not_mind_a_new_one(replay):
    growing, stream = replay(THREE, 0)
    query = stream.start(schema="v int, id string", every="100 milliseconds")
    try:
        query.processAllAvailable()
        growing.grow()
        query.processAllAvailable()
    finally:
        query.stop()
    expected = selected(stream, ["v", "id"], "as_of_seconds", "incr_after_c1")
    assert_same_rows(stream.answer(), expected)


@needs_limits
def test_checkpoint_before_cleaned_files_fails_or_reads_the_latest_rows(replay):
    stream = cleaned_behind_the_checkpoint(replay)
    with pytest.raises(StreamingQueryException, match=r"\[HUDI_INCREMENTAL_RANGE_GONE\]") as error:
        stream.run(on_missing="fail")
    assert "20261121064531489" in str(error.value)
    assert ends(stream.run()) == [C2, C3]
    expected = selected(stream, ["id", "v"], "as_of_seconds", "incr_after_c1")
    assert_same_rows(stream.answer(), expected)


@needs_limits
def test_checkpoint_before_cleaned_files_goes_on_where_it_can(replay):
    stream = cleaned_behind_the_checkpoint(replay)
    assert ends(stream.run(on_missing="earliest")) == [C2, C3]
    expected = selected(stream, ["id", "v"], "as_of_seconds", "incr_last_minus_1ms")
    assert_same_rows(stream.answer(), expected)


def cleaned_behind_the_checkpoint(replay: Any) -> RunningStream:
    """A stream that stopped after the first commit; the second commit's files are gone since."""
    growing: GrowingTable
    stream: RunningStream
    growing, stream = replay(THREE, 0)
    # A batch of both later commits would do without these files: the third wrote all rows again.
    stream.options = {"columns": "id,v", "maxCommitsPerTrigger": "1"}
    stream.run()
    growing.grow()
    assert growing.remove("_20261121064531489.parquet") == 3
    return stream


def selected(stream: RunningStream, columns: list[str], *queries: str) -> DataFrame:
    """The rows of several queries of Apache Hudi, one after the other."""
    answers = (hudi_rows(stream.spark, THREE, query).select(columns) for query in queries)
    return reduce(DataFrame.unionAll, answers)


def test_start_in_the_archived_timeline_fails_or_reads_the_latest_rows(replay):
    _, stream = replay(ARCHIVED)
    start = {"start_offset": "20261121063318351"}
    with pytest.raises(StreamingQueryException, match=r"\[HUDI_INCREMENTAL_RANGE_GONE\]"):
        stream.run(on_missing="fail", **start)
    # The end of the first batch is in the checkpoint by now; where it starts is asked for anew.
    stream.run(**start)
    expected = hudi_rows(stream.spark, ARCHIVED, "incr_archived_fallback")
    assert_same_rows(stream.answer(), expected)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"nonsense": "1"}, "HUDI_INVALID_OPTION", id="unknown"),
        pytest.param({"query_type": "stream"}, "HUDI_UNKNOWN_QUERY_TYPE", id="query-type"),
        pytest.param({"cdc": "true"}, "HUDI_UNSUPPORTED_TABLE", id="cdc-of-a-table-without"),
    ],
)
def test_bad_option_fails_at_load(spark, golden_table, options, code):
    with pytest.raises(AnalysisException, match=rf"\[{code}\]"):
        spark.readStream.format("hudi-py").options(**options).load(str(golden_table(THREE)))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"as_of": C1}, "HUDI_INVALID_OPTION", id="as-of"),
        # Alone it makes a batch incremental, and Spark asks for the columns of both alike.
        pytest.param({"begin": "000"}, "HUDI_INVALID_OPTION", id="begin"),
        pytest.param({"maxCommitsPerTrigger": "0"}, "HUDI_INVALID_OPTION", id="limit"),
        pytest.param({"start_offset": "soon"}, "HUDI_INVALID_INSTANT", id="start"),
    ],
)
def test_option_that_no_stream_can_have_fails_at_start(replay, options, code):
    _, stream = replay(THREE)
    with pytest.raises(StreamingQueryException, match=rf"\[{code}\]"):
        stream.run(**options)


@pytest.fixture
def make_reader():
    """The reader that Spark gets from the source, without Spark around it."""

    def make_reader(growing: GrowingTable, *columns: str, **options: str) -> HudiStreamReader:
        source = HudiDataSource({"path": str(growing.path), **options})
        fields = [StructField(name, StringType()) for name in columns]
        return source.streamReader(StructType(fields) if fields else source.schema())

    return make_reader


def offset(time: str) -> dict[str, str]:
    return {OFFSET_KEY: time}


def read(reader: HudiStreamReader, begin: dict[str, str], end: dict[str, str]) -> int:
    """Number of rows of a batch."""
    parts = reader.partitions(begin, end)
    return sum(batch.num_rows for part in parts for batch in reader.read(part))


def test_offsets_are_the_json_that_apache_hudi_writes(make_reader, tmp_path):
    reader = make_reader(table_at(THREE, "20261121064531489", tmp_path))
    assert json.dumps(reader.initialOffset()) == '{"offsetCommitTime": "00000000000000"}'
    end = reader.latestOffset(reader.initialOffset(), None)
    assert json.dumps(end) == f'{{"offsetCommitTime": "{C2}"}}'


@needs_limits
@pytest.mark.parametrize(
    ("options", "limit"),
    [
        pytest.param({}, "ReadAllAvailable()", id="none"),
        pytest.param({"maxCommitsPerTrigger": "2"}, "ReadMaxFiles(max_files=2)", id="commits"),
        pytest.param({"maxBytesPerTrigger": "7"}, "ReadMaxBytes(max_bytes=7)", id="bytes"),
    ],
)
def test_limit_is_given_to_spark_in_its_own_classes(make_reader, tmp_path, options, limit):
    growing = table_at(THREE, "20261121064532196", tmp_path)
    assert repr(make_reader(growing, **options).getDefaultReadLimit()) == limit


@needs_limits
def test_spark_that_asks_for_all_gets_all_in_spite_of_the_limit(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064532196", tmp_path)
    reader = make_reader(growing, maxCommitsPerTrigger="1")
    start = offset(FIRST_OFFSET)
    everything = make_reader(growing).getDefaultReadLimit()
    assert reader.latestOffset(start, everything) == offset(C3)
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == offset(C1)


@needs_limits
def test_what_is_available_now_does_not_grow(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064531489", tmp_path)
    reader = make_reader(growing, maxCommitsPerTrigger="1")
    reader.prepareForTriggerAvailableNow()
    growing.grow()
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset(offset(C1), limit) == offset(C2)
    assert reader.latestOffset(offset(C2), limit) == offset(C2)
    assert reader.reportLatestOffset() == offset(C3)


def test_what_is_available_now_of_a_table_without_commits_is_nothing(golden_table):
    source = HudiDataSource({"path": str(golden_table("v9_mor_empty_table"))})
    reader = source.streamReader(source.schema())
    begin = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset(begin, None)
    assert [list(reader.read(part)) for part in reader.partitions(begin, end)] == []


@needs_limits
def test_first_batch_of_a_stream_of_the_latest_is_empty(make_reader, tmp_path):
    # Were it killed in that batch, it would ask for the latest anew when it starts again.
    growing = table_at(THREE, "20261121064530916", tmp_path)
    reader = make_reader(growing, start_offset="latest")
    begin = reader.initialOffset()
    assert begin == reader.initialOffset() == offset(C1)
    growing.grow()
    assert reader.latestOffset(begin, None) == begin
    assert reader.latestOffset(begin, None) == offset(C3)


@needs_limits
def test_stream_of_the_latest_loses_no_trigger_to_its_empty_batch(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064530916", tmp_path)
    reader = make_reader(growing, start_offset="latest")
    begin = reader.initialOffset()
    assert reader.latestOffset(begin, None) == begin
    assert reader.initialOffset() == begin  # Spark asks again when it runs the batch
    growing.grow()
    assert reader.latestOffset(begin, None) == offset(C3)


def test_first_batch_of_a_stream_of_the_latest_may_be_planned_again(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064530916", tmp_path)
    first = make_reader(growing, start_offset="latest").initialOffset()
    growing.grow("20261121064531489")
    reader = make_reader(growing, start_offset="latest")
    assert reader.initialOffset() == offset(C2)
    assert reader.partitions(offset(C2), first) == []
    assert reader.latestOffset(first, None) == offset(C2)


def test_older_spark_that_passes_no_start_gets_one_batch_after_the_other(make_reader, tmp_path):
    # Spark 4.0 and 4.1 ask for the latest offset without arguments, even before the initial one.
    growing = table_at(THREE, "20261121064530916", tmp_path)
    reader = make_reader(growing, "id", maxCommitsPerTrigger="1")
    end, begin = reader.latestOffset(), reader.initialOffset()
    found = []
    for _ in range(4):
        found.append((end[OFFSET_KEY], read(reader, begin, end)))
        growing.grow()
        begin, end = end, reader.latestOffset()
    assert found == [(C1, 9), (C2, 5), (C3, 6), (C3, 0)]


def test_older_spark_gets_what_is_committed_between_its_two_first_questions(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064530916", tmp_path)
    reader = make_reader(growing, "id", start_offset="latest")
    end = reader.latestOffset()
    growing.grow()
    assert (end, reader.initialOffset()) == (offset(C1), offset(C3))
    assert read(reader, offset(C3), end) == 0
    assert read(reader, end, reader.latestOffset()) == 8


def test_older_spark_that_restarts_gets_all_that_there_is(make_reader, tmp_path):
    # The offset of the stream is in the checkpoint, and this Spark does not pass it.
    growing = table_at(THREE, "20261121064531489", tmp_path)
    reader = make_reader(growing, "id", maxCommitsPerTrigger="1")
    end = reader.latestOffset()
    assert end == offset(C2)
    assert read(reader, offset(C1), end) == 5
    growing.grow()
    assert reader.latestOffset() == offset(C3)


@pytest.mark.parametrize(
    ("start", "instant"),
    [
        pytest.param({}, FIRST_OFFSET, id="earliest"),
        pytest.param({"start_offset": "2999-01-01"}, "29990101000000000", id="instant-to-come"),
    ],
)
def test_older_spark_that_restarts_before_there_is_anything_stays_at_the_start(
    golden_table, start, instant
):
    source = HudiDataSource({"path": str(golden_table("v9_mor_empty_table")), **start})
    reader = source.streamReader(source.schema())
    assert reader.latestOffset() == offset(instant)
    assert reader.partitions(offset(instant), offset(instant)) == []


def test_older_spark_that_restarts_before_the_start_is_reached_stays_there(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064531489", tmp_path)
    reader = make_reader(growing, start_offset="2999-01-01")
    assert reader.latestOffset() == offset("29990101000000000")


def test_commits_that_were_rolled_back_behind_a_checkpoint_are_no_batch(make_reader, tmp_path):
    growing = table_at(THREE, "20261121064531489", tmp_path)
    reader = make_reader(growing)
    assert reader.latestOffset(offset(C3), None) == offset(C3)
    assert reader.partitions(offset(C3), offset(C2)) == []
