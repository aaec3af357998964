"""Tables of Apache Hudi's own tests whose files and schemas disagree about timestamps.

The rows and counts are those that its test `testLogicalTypesReadRepair` states; answers of other
queries derive from what Apache Hudi 1.2.0 reads.
"""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.sampling import SAMPLED, sample

PREFIX = "hudi_trips_logical_types_json_"
AVRO_LOGS = f"{PREFIX}mor_read_v6"
PARQUET_LOGS = f"{PREFIX}mor_read_v9_parquet_log"
REWRITTEN = f"{PREFIX}cow_read_v9"  # its last commit wrote true microseconds, and says so
MISLABELLED = (AVRO_LOGS, PARQUET_LOGS)
COLUMNS = ("ts_millis", "ts_micros", "local_ts_millis", "local_ts_micros")
# By the parity of the hash of the record's key.
EVEN = (
    "2020-01-01T00:00:00.001+00:00",
    "2020-06-01T12:00:00.000001+00:00",
    "2015-05-20T12:34:56.001",
    "2017-07-07T07:07:07.000001",
)
ODD = (
    "2019-12-31T23:59:59.999+00:00",
    "2020-06-01T11:59:59.999999+00:00",
    "2015-05-20T12:34:55.999",
    "2017-07-07T07:07:06.999999",
)
COUNTS = {
    "ts_millis > TIMESTAMP '2020-01-01 00:00:00Z'": 10,
    "ts_millis < TIMESTAMP '2020-01-01 00:00:00Z'": 10,
    "ts_millis > TIMESTAMP '2020-01-01 00:00:00.001Z'": 0,
    "ts_millis < TIMESTAMP '2019-12-31 23:59:59.999Z'": 0,
    "ts_micros > TIMESTAMP '2020-06-01 12:00:00Z'": 10,
    "ts_micros < TIMESTAMP '2020-06-01 12:00:00Z'": 10,
    "ts_micros > TIMESTAMP '2020-06-01 12:00:00.000001Z'": 0,
    "ts_micros < TIMESTAMP '2020-06-01 11:59:59.999999Z'": 0,
    "local_ts_millis > TIMESTAMP '2015-05-20 12:34:56'": 10,
    "local_ts_millis < TIMESTAMP '2015-05-20 12:34:56'": 10,
    "local_ts_millis > TIMESTAMP '2015-05-20 12:34:56.001'": 0,
    "local_ts_millis < TIMESTAMP '2015-05-20 12:34:55.999'": 0,
    "local_ts_micros > TIMESTAMP '2017-07-07 07:07:07'": 10,
    "local_ts_micros < TIMESTAMP '2017-07-07 07:07:07'": 10,
    "local_ts_micros > TIMESTAMP '2017-07-07 07:07:07.000001'": 0,
    "local_ts_micros < TIMESTAMP '2017-07-07 07:07:06.999999'": 0,
}
WAYS = pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_metadata_table": "false"},
        {"data_skipping": "false"},
        {"use_record_positions": "false"},
        {"batch_rows": "1"},
    ],
    ids=lambda options: next(iter(options), "as-is"),
)


def hash_in_java(text: str) -> int:
    value = 0
    for character in text:
        value = value * 31 + ord(character)
    return value


@pytest.mark.parametrize("case", [*MISLABELLED, REWRITTEN])
@WAYS
def test_rows_are_those_that_apache_hudi_states(golden_table, case, options):
    rows = HudiTable(str(golden_table(case))).scan(**options).to_arrow().to_pylist()
    assert len(rows) == 20
    for row in rows:
        stated = ODD if hash_in_java(row["_row_key"]) & 1 else EVEN
        assert [row[name] for name in COLUMNS] == [datetime.fromisoformat(s) for s in stated]


@pytest.mark.parametrize("case", [*MISLABELLED, REWRITTEN])
@WAYS
def test_filters_count_what_apache_hudi_states(golden_table, case, options):
    table = HudiTable(str(golden_table(case)))
    found = {text: table.scan(**options, filter=text).count() for text in COUNTS}
    assert found == COUNTS


@pytest.mark.filterwarnings("ignore:incremental query of")
@pytest.mark.parametrize(
    "name", [*MISLABELLED, REWRITTEN, "hudi_repair_trips_logical_types_json_mor_write_avro_log"]
)
@SAMPLED
def test_every_part_of_an_answer_is_that_part_of_the_whole(golden_table, name, is_whole):
    table = HudiTable(str(golden_table(name)))
    for query in load_case(GOLDEN / name).queries:
        expected = query.expected_rows()

        def scan(query=query, **options):
            return table.scan(**query.options, **options)

        assert scan().count() == expected.num_rows
        columns = [column for column in COLUMNS if column in expected.schema.names]
        for column in columns if is_whole else sample(columns, query.key, 2):
            values = Counter(expected.column(column).to_pylist())
            assert Counter(scan(columns=column).to_arrow().column(0).to_pylist()) == values
            few = table.scan(**query.options, columns=column, limit=3).to_arrow()
            assert few.num_rows == min(3, expected.num_rows)
            assert Counter(few.column(0).to_pylist()) <= values
            for value, count in values.items():
                literal = value if isinstance(value, int) else f"TIMESTAMP '{value}'"
                text = f"{column} = {literal}"
                assert scan(filter=text).count() == count, (query.name, text)


def test_time_travel_before_a_rewrite_has_the_schema_of_that_time(golden_table):
    """The answers differ by the type of the column, and show the same instants."""
    table = HudiTable(str(golden_table(REWRITTEN)))
    first, second, _ = table.inspect.commits().column("requested_time").to_pylist()
    stored = [table.scan(as_of=time, columns=list(COLUMNS)).to_arrow() for time in (first, second)]
    years = [{row["ts_millis"].year for row in rows.to_pylist()} for rows in stored]
    # The table itself said microseconds at first, so that Apache Hudi answers 1970, too.
    assert years == [{1970}, {2019, 2020}]
    assert stored[0].schema.field("local_ts_millis").type == pa.int64()


def test_statistics_in_the_unit_of_the_file_rule_nothing_out(tmp_path):
    """A table whose schema counts milliseconds, over files and statistics with microseconds."""
    path = load_case(GOLDEN / REWRITTEN).extract(tmp_path)
    declare_milliseconds(next((path / ".hoodie" / "timeline").glob("20251107224258258_*.commit")))
    table = HudiTable(str(path))
    # The stored numbers, 1577836799999000 and one more, are milliseconds now: the year 51970.
    for use_metadata_table in (True, False):
        scan = table.scan(
            use_metadata_table=use_metadata_table,
            filter="ts_millis > TIMESTAMP '9999-01-01 00:00:00Z'",
        )
        assert scan.count() == 20
        numbers = scan.to_arrow().column("ts_millis").cast(pa.int64()).to_pylist()
        assert set(numbers) == {1577836799999000_000, 1577836800001000_000}


def declare_milliseconds(commit: Path) -> None:
    with commit.open("rb") as stream:
        reader = fastavro.reader(stream)
        records: list[Any] = list(reader)
        schema: Any = reader.writer_schema
    extra = records[0]["extraMetadata"]
    before, name, after = extra["schema"].partition('"name":"ts_millis"')
    assert name
    extra["schema"] = before + name + after.replace("timestamp-micros", "timestamp-millis", 1)
    with commit.open("wb") as stream:
        fastavro.writer(stream, schema, records)


LONG = "v6_mor_local_timestamp_to_long"  # in the schema of the last write


@pytest.mark.parametrize("case", [LONG, f"{LONG}_parquet_log"])
@pytest.mark.parametrize(
    ("query", "counts"), [("snapshot", (7, 7, 1, 0)), ("read_optimized", (6, 6, 1, 0))]
)
@WAYS
def test_filters_compare_the_numbers_of_local_timestamps(
    golden_table, case, query, counts, options
):
    """The counts are those of Apache Hudi 1.2.0."""
    filters = (
        "c0 > 1500000000000000",
        "c1 > 1500000000000",
        "c0 = 1500000002000002",
        "c0 < 1500000000000",
    )
    table = HudiTable(str(golden_table(case)))
    scans = (table.scan(**options, query_type=query, filter=f) for f in filters)
    assert tuple(scan.count() for scan in scans) == counts
