"""What SQL says about a read becomes the options of a read."""

import json

import pytest
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType

from hudi_pyspark import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.spark.sql_options import check_declared, plain_options, stream_options

QUERY_TYPE = "hoodie.datasource.query.type"
FORMATS = "org.apache.hudi.hadoop."
INSTANT = "hudi-py.sql.instant"


def entry(stored=(), *, hive_format="", schema=None, is_new=False):
    """The option with which a catalog passes on an entry."""
    values = {"stored": dict(stored), "hive_format": hive_format, "partitions": []}
    values |= {"schema": schema or {"type": "struct", "fields": []}, "is_new": is_new}
    return {"hudi-py.sql.entry": json.dumps(values)}


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        pytest.param({"path": "/a", "Begin": "1"}, {"path": "/a", "Begin": "1"}, id="plain"),
        pytest.param(
            {"path": "/a", **entry({"primaryKey": "id", "serialization.format": "1"})},
            {"path": "/a"},
            id="properties that are no options",
        ),
        pytest.param(
            entry({"hoodie.query.as.ro.table": "true", QUERY_TYPE: "snapshot"}),
            {"query_type": "read_optimized"},
            id="read-optimized entry",
        ),
        pytest.param(
            entry({"hoodie.query.as.ro.table": "FALSE"}),
            {"query_type": "snapshot"},
            id="snapshot entry",
        ),
        pytest.param(
            {**entry({QUERY_TYPE: "read_optimized"}), "query_type": "snapshot"},
            {"query_type": "snapshot"},
            id="query before entry",
        ),
        pytest.param(
            {**entry({"fs.s3a.access.key": "a", "path": "/b"}), "path": "/a"},
            {"path": "/a"},
            id="storage of the entry",
        ),
        pytest.param(
            {**entry({"fs.s3a.endpoint": "a"}), "path": "/a", "fs.s3a.endpoint": "b"},
            {"path": "/a", "fs.s3a.endpoint": "b"},
            id="storage of the query",
        ),
        pytest.param(
            entry(hive_format=f"{FORMATS}HoodieParquetInputFormat"),
            {"query_type": "read_optimized"},
            id="format of base files",
        ),
        pytest.param(
            entry(hive_format=f"{FORMATS}realtime.HoodieParquetRealtimeInputFormat"),
            {},
            id="format of snapshots",
        ),
        pytest.param({INSTANT: "2026"}, {"as.of.instant": "2026"}, id="instant"),
        pytest.param(
            {INSTANT: "2026", **entry({"as_of": "2025"})}, {"as.of.instant": "2026"}, id="instants"
        ),
    ],
)
def test_options_of_sql_become_options_of_a_read(options, plain):
    assert plain_options(options) == plain


@pytest.mark.parametrize(
    "name",
    [
        *("payload_merger", "credentials_provider", "storage.credentials_provider"),
        *("merge_cache_folder", "spill_folder", "hoodie.memory.spillable.map.path"),
        *("fs.s3a.endpoint", "s3.endpoint", "aws_endpoint_url", "storage.endpoint_override"),
        *("s3.proxy-uri", "hdfs.host", "adls.dfs-storage-authority", "gcs.service.host"),
        *("fs.s3a.access.key", "azure_storage_account_name", "catalog.uri", "catalog.type"),
        *("table", "bootstrap_base_path", "Bootstrap_Base_Path", "FS.S3A.Endpoint"),
        *("inspect", "Inspect"),
    ],
)
def test_entry_names_no_function_no_local_folder_and_no_place_for_requests(name):
    """Whoever may write to a metastore would run code in readers, or get their credentials."""
    assert plain_options({"path": "/a", **entry({name: "os:getcwd"})}) == {"path": "/a"}
    assert plain_options({**entry({"x": "1"}), name: "os:getcwd"}) == {name: "os:getcwd"}


@pytest.mark.parametrize(
    "name", ["fs.s3a.endpoint", "payload_merger", "bootstrap_base_path", "hudi-py.sql.instant"]
)
def test_statement_that_would_store_such_an_option_is_refused(name):
    stored = entry({name: "x", "path": "/a"}, is_new=True)
    with pytest.raises(
        InvalidOptionError, match=rf"CREATE TABLE cannot store {name}: .*HOODIE_ENV"
    ):
        plain_options({"path": "/a", **stored})


def test_options_of_rows_that_an_entry_stores_are_no_arguments_of_inspection_tables():
    stored = entry({"hoodie.query.as.ro.table": "true"})
    options = {**stored, "inspect": "timeline", "path": "/a"}
    assert plain_options(options) == {"inspect": "timeline", "path": "/a"}


def call(function, *arguments):
    text = json.dumps({"name": function, "arguments": arguments})
    return {"path": "/a", "hudi-py.sql.function": text}


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        (call("hudi_query", "/a", "read_optimized"), {"query_type": "read_optimized"}),
        (
            call("hudi_table_changes", "/a", "latest_state", "1"),
            {"query_type": "incremental", "begin": "1", "cdc": "false"},
        ),
        (
            call("hudi_table_changes", "/a", "cdc", "earliest", "2"),
            {"query_type": "incremental", "begin": "earliest", "end": "2", "cdc": "true"},
        ),
        *(
            (
                call("hudi_query_timeline", "/a", *flag),
                {"inspect": "hudi_query_timeline", "inspect.archived": archived},
            )
            for flag, archived in (
                ([], "false"),
                (["true"], "true"),
                (["TRUE"], "true"),
                (["True"], "false"),  # as in Apache Hudi
                (["false"], "false"),
            )
        ),
        (call("hudi_filesystem_view", "/a"), {"inspect": "hudi_filesystem_view"}),
        (
            call("hudi_filesystem_view", "/a", "emea/*"),
            {"inspect": "hudi_filesystem_view", "inspect.folders": "emea/*"},
        ),
    ],
)
def test_calls_of_functions_become_options_of_a_read(options, plain):
    assert plain_options(options) == {"path": "/a", **plain}


@pytest.mark.parametrize(
    "options",
    [
        call("hudi_query", "/a"),
        call("hudi_query", "/a", "incremental"),
        call("hudi_query", "/a", "snapshot", "1"),
        call("hudi_table_changes", "/a", "cdc"),
        call("hudi_table_changes", "/a", "all", "1"),
        call("hudi_table_changes", "/a", "cdc", "1", "2", "3"),
        call("hudi_query_timeline", "/a", "true", "true"),
        call("hudi_query_timeline", "/a", "1"),
        call("hudi_filesystem_view", "/a", "2026-11-21T00:00:00+00:00[UTC]"),
        call("hudi_filesystem_view", "/a", "*", "*"),
    ],
)
def test_calls_with_other_arguments_are_refused(options):
    with pytest.raises(InvalidOptionError, match="does not take the arguments"):
        plain_options(options)


def changes(mode="DROP_CARRYOVERS", **span):
    """The option with which a catalog passes on a range of changes; without a span all versions."""
    return {"path": "/a", "hudi-py.sql.changes": json.dumps({"mode": mode, **span})}


def versions(first, last, *, has_first=True, has_last=True, mode="DROP_CARRYOVERS"):
    return changes(mode, first=first, last=last or None, has_first=has_first, has_last=has_last)


CHANGES = {"path": "/a", "query_type": "incremental", "cdc": "true", "cdc_format": "changelog"}
TIME, SECOND = "20261121062700000", "20261121062700"


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        (versions(TIME, ""), {"begin": "20261121062659999"}),
        (versions(TIME, "", has_first=False), {"begin": TIME}),
        (versions(SECOND, ""), {"begin": "20261121062659999"}),
        (versions("1", TIME, has_first=False), {"begin": "1", "end": TIME}),
        (
            versions("1", TIME, has_first=False, has_last=False),
            {"begin": "1", "end": "20261121062659999"},
        ),
        (changes(), {"begin": "earliest"}),
    ],
)
def test_changes_become_a_range_of_changelogs(options, ends):
    assert plain_options(options) == CHANGES | ends


def test_words_of_spark_beside_a_range_are_no_options_of_a_read():
    given = versions("1", "", has_first=False) | {"startingVersion": "1", "computeUpdates": "true"}
    assert plain_options(given) == CHANGES | {"begin": "1"}


def completion_time(version):
    return {TIME: "20261121062700500"}.get(version)


@pytest.mark.parametrize(
    ("given", "start"),
    [
        (versions(TIME, "", has_first=False), {"start_offset": "20261121062700500"}),
        (versions("20261121062700001", "", has_first=False), {"start_offset": TIME[:-1] + "1"}),
        # The millisecond before a version may be another commit, which completes later.
        (versions("20261121062700001", ""), {"start_offset": TIME}),
        (changes(), {}),
    ],
)
def test_stream_of_changes_begins_at_an_offset(given, start):
    plain = {"path": "/a", "cdc": "true", "cdc_format": "changelog"}
    options = stream_options(given, plain_options(given), completion_time)
    assert options == {**plain, **start}


def test_stream_without_changes_keeps_its_options():
    assert stream_options({"path": "/a"}, {"path": "/a"}, completion_time) == {"path": "/a"}


@pytest.mark.parametrize(
    ("options", "kind", "problem"),
    [
        (versions("12", ""), InvalidOptionError, "version '12' is not an instant"),
        (versions("1", "", mode="NET_CHANGES"), UnsupportedQueryError, "net changes"),
        (
            changes(other_range="TimestampRange[startingTimestamp=1]"),
            InvalidOptionError,
            "not one of versions: TimestampRange",
        ),
    ],
)
def test_changes_of_another_kind_are_refused(options, kind, problem):
    with pytest.raises(kind, match=problem):
        plain_options(options)


def test_two_instants_are_refused():
    with pytest.raises(InvalidOptionError, match="two instants, 2026 and 2025"):
        plain_options({INSTANT: "2026", "as_of": "2025"})


TAGS = ArrayType(StringType())
COLUMNS = StructType().add("id", StringType()).add("Qty", IntegerType()).add("tags", TAGS)


def test_table_without_declared_columns_has_its_own():
    check_declared({}, COLUMNS)


def test_declared_column_is_the_one_of_its_case():
    table = StructType().add("v", IntegerType()).add("V", StringType())
    declared = StructType().add("v", IntegerType())
    check_declared(entry(schema=declared.jsonValue(), is_new=True), table)
    declared = StructType().add("q", IntegerType())
    table = StructType().add("Qty", IntegerType())
    with pytest.raises(InvalidOptionError, match="it has no column q"):
        check_declared(entry(schema=declared.jsonValue(), is_new=True), table)


def test_declared_column_that_may_be_one_of_two_is_refused():
    table = StructType().add("qty", IntegerType()).add("Qty", IntegerType())
    declared = StructType().add("QTY", IntegerType())
    with pytest.raises(InvalidOptionError, match="column 'QTY' may be 'qty' or 'Qty'"):
        check_declared(entry(schema=declared.jsonValue(), is_new=True), table)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("ID STRING, qty INT", ""),
        ("ID STRING COLLATE UTF8_BINARY NOT NULL COMMENT 'a key'", ""),
        ("tags ARRAY<STRING>", ""),
        ("qty BIGINT", "its column qty is int, not bigint. Correct"),
        ("ID STRING COLLATE UTF8_LCASE", "its column ID is string, not string collate UTF8_LCASE"),
        ("nope INT, tags ARRAY<INT>", "no column nope; its column tags is array<string>, not"),
    ],
)
def test_declared_columns_are_those_of_the_table(spark, declared, problem):
    columns = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(declared)
    options = entry(schema=json.loads(columns.json()), is_new=True)
    if not problem:
        check_declared(options, COLUMNS)
        return
    with pytest.raises(InvalidOptionError, match=problem):
        check_declared(options, COLUMNS)
