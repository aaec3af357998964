import re

import pytest

from hudi_pyspark.errors import InvalidOptionError, UnknownQueryTypeError, UnsupportedQueryError
from hudi_pyspark.options.option import TRUSTED, Index, OnMissing, QueryType
from hudi_pyspark.options.other_options import HUDI_RS_IGNORED, OTHER_WORDS
from hudi_pyspark.options.read_options import (
    BY_NAME,
    OPTIONS,
    ReadOptions,
    columns_text,
)
from hudi_pyspark.table.on_damage import OnDamage

parse = ReadOptions.parse
MERGE_TYPE = "hoodie.datasource.merge.type"
DELETE_FIELD, DELETE_MARKER = "hoodie.payload.delete.field", "hoodie.payload.delete.marker"


def test_defaults():
    assert parse({}) == ReadOptions(
        query_type=QueryType.SNAPSHOT,
        as_of=None,
        columns=None,
        use_record_positions=True,
        verify_checksums=True,
        partition_values_from_path=False,
        schema_on_read=None,
        delete_field="",
        delete_marker="",
        batch_rows=16_384,
        include_meta_columns=True,
        on_damage=OnDamage.FAIL,
    )


VALUES = [
    ("hoodie.datasource.query.type", "query_type", "read_optimized", QueryType.READ_OPTIMIZED),
    ("hoodie.datasource.view.type", "query_type", "read_optimized", QueryType.READ_OPTIMIZED),
    ("query_type", "query_type", "snapshot", QueryType.SNAPSHOT),
    ("query_type", "query_type", "Read_Optimized", QueryType.READ_OPTIMIZED),
    ("as.of.instant", "as_of", "2024-01-31", "2024-01-31"),
    ("as_of", "as_of", "20240131010203", "20240131010203"),
    ("hoodie.merge.use.record.positions", "use_record_positions", "false", False),
    ("use_record_positions", "use_record_positions", "TRUE", True),
    ("verify_checksums", "verify_checksums", "false", False),
    (
        "hoodie.datasource.read.extract.partition.values.from.path",
        "partition_values_from_path",
        "true",
        True,
    ),
    ("partition_values_from_path", "partition_values_from_path", "True", True),
    ("hoodie.schema.on.read.enable", "schema_on_read", "false", False),
    ("schema_on_read", "schema_on_read", "true", True),
    ("columns", "columns", "b, a", ("b", "a")),
    ("columns", "columns", "a,", ("a",)),
    ("batch_rows", "batch_rows", "1", 1),
    ("batch_rows", "batch_rows", "2147483647", 2**31 - 1),
    ("hoodie.memory.merge.max.size", "merge_memory", "1", 1),
    ("merge_memory", "merge_memory", str(2**63 - 1), 2**63 - 1),
    ("hoodie.memory.spillable.map.path", "spill_folder", "/Disk 1/tmp", "/Disk 1/tmp"),
    ("include_meta_columns", "include_meta_columns", "false", False),
    ("on_damage", "on_damage", "warn", OnDamage.WARN),
    ("on_damage", "on_damage", "IGNORE", OnDamage.IGNORE),
]


@pytest.mark.parametrize(("key", "attribute", "text", "expected"), VALUES)
@pytest.mark.parametrize("in_case", [str, str.lower, str.upper], ids=["as-is", "lower", "upper"])
def test_option_in_any_case_becomes_a_typed_value(key, attribute, text, expected, in_case):
    assert getattr(parse({in_case(key): text}), attribute) == expected


TYPED = [
    ("query_type", QueryType.READ_OPTIMIZED, QueryType.READ_OPTIMIZED),
    ("use_record_positions", False, False),
    ("columns", ["b", "a"], ("b", "a")),
    ("columns", ("a,b", " a"), ("a,b", " a")),
    ("batch_rows", 7, 7),
    ("on_damage", OnDamage.WARN, OnDamage.WARN),
    ("delete_marker", True, "true"),
]


@pytest.mark.parametrize(("name", "value", "expected"), TYPED)
def test_typed_value_is_taken_as_it_is(name, value, expected):
    others = {"delete_field": "Op"} if name == "delete_marker" else {}
    assert getattr(parse({name: value, **others}), name) == expected


def test_columns_become_text_for_spark_unless_that_would_change_a_name():
    assert columns_text(["b", "a"]) == "b,a"
    assert columns_text("b, a") == "b,a"
    for name in ("a,b", " a"):
        with pytest.raises(UnsupportedQueryError, match=f"the column name '{name}'"):
            columns_text(["id", name])


@pytest.mark.parametrize(
    "keys",
    [(DELETE_FIELD, DELETE_MARKER), ("delete_field", "delete_marker")],
    ids=["key", "alias"],
)
def test_delete_field_comes_with_its_marker(keys):
    options = parse(dict(zip(keys, ("Op", "D"), strict=True)))
    assert (options.delete_field, options.delete_marker) == ("Op", "D")


@pytest.mark.parametrize("key", [DELETE_FIELD, "delete_marker"])
def test_half_a_delete_marker_is_refused(key):
    names = {DELETE_FIELD: f"delete_field ({DELETE_FIELD})"}
    names["delete_marker"] = f"delete_marker ({DELETE_MARKER})"
    field, marker = {**names, key: key if "." in key else names[key]}.values()
    with pytest.raises(InvalidOptionError, match=re.escape(f"give both {field} and {marker}")):
        parse({key: "D"})


ALIASES = [
    ("hoodie.datasource.query.type", "query_type", "snapshot"),
    ("as.of.instant", "as_of", "20240101000000"),
    (MERGE_TYPE, "merge_type", "payload_combine"),
    ("hoodie.merge.use.record.positions", "use_record_positions", "false"),
    (
        "hoodie.datasource.read.extract.partition.values.from.path",
        "partition_values_from_path",
        "true",
    ),
    ("hoodie.schema.on.read.enable", "schema_on_read", "true"),
    ("hoodie.metadata.enable", "use_metadata_table", "false"),
    ("hoodie.enable.data.skipping", "data_skipping", "true"),
]


@pytest.mark.parametrize(("key", "alias", "text"), ALIASES, ids=[alias for _, alias, _ in ALIASES])
def test_key_and_alias_may_say_the_same_but_not_contradict(key, alias, text):
    assert parse({key: text, alias: text}) == parse({key: text}) == parse({alias: text})
    with pytest.raises(InvalidOptionError, match="'other'"):
        parse({key: text, alias: "other"})


@pytest.mark.parametrize(
    ("value", "trusted"),
    [
        ("false", set()),
        ("true", set(TRUSTED.values())),
        (True, set(TRUSTED.values())),
        ("Secondary, record", {Index.SECONDARY_INDEX, Index.RECORD_INDEX}),
        (["expression", "partition_stats"], {Index.EXPRESSION_INDEX, Index.PARTITION_STATS}),
    ],
)
def test_trusted_indexes(value, trusted):
    assert parse({"trust_indexes": value}).trust_indexes == trusted
    assert parse({}).trust_indexes == set()
    assert parse({"trust_indexes": value}).unique_keys is False


@pytest.mark.parametrize("value", ["", "secondary_index", "record,other", "true,record", []])
def test_unknown_index_is_not_trusted(value):
    with pytest.raises(InvalidOptionError, match="give true, false or some of record, secondary"):
        parse({"trust_indexes": value})


def test_both_names_of_the_query_type_must_agree():
    old, new = "hoodie.datasource.view.type", "hoodie.datasource.query.type"
    assert parse({old: "SNAPSHOT", new: "snapshot"}).query_type is QueryType.SNAPSHOT
    with pytest.raises(InvalidOptionError, match=f"option {new} is set twice"):
        parse({old: "read_optimized", new: "snapshot"})


NAMES = [name for option in OPTIONS for name in (option.key, option.short_name) if name]


@pytest.mark.parametrize("name", NAMES)
def test_every_option_of_the_list_is_known(name):
    try:
        parse({name: "text"})  # an unknown one warns, or is refused as unknown
    except InvalidOptionError as error:
        assert "unknown option" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param({"batch_rows": "0"}, "batch_rows is '0'; give a whole number from 1", id="0"),
        pytest.param(
            {"merge_memory": "0"}, "merge.max.size\\) is '0'; give a whole", id="no-memory"
        ),
        pytest.param({"merge_memory": "1g"}, "merge.max.size\\) is '1g'", id="memory-with-unit"),
        pytest.param({"merge_memory": str(2**63)}, "merge.max.size\\) is '9", id="too-much-memory"),
        pytest.param({"batch_rows": "-1"}, "batch_rows is '-1'", id="negative"),
        pytest.param({"batch_rows": "1e3"}, "batch_rows is '1e3'", id="scientific"),
        pytest.param({"batch_rows": "2147483648"}, "batch_rows is '2147483648'", id="too-large"),
        pytest.param({"batch_rows": "٣"}, "batch_rows is '٣'", id="digit-of-another-script"),
        pytest.param({"batch_rows": ""}, "batch_rows is ''", id="no-number"),
        pytest.param({"include_meta_columns": "yes"}, "is 'yes'; known: true, false", id="yes"),
        pytest.param({"schema_on_read": "1"}, "schema.on.read.enable\\) is '1'", id="one"),
        pytest.param(
            {"use_record_positions": ""}, "positions\\) is ''; known: true, false", id="bool"
        ),
        pytest.param({"on_damage": "skip"}, "on_damage is 'skip'; known: fail, warn", id="damage"),
        pytest.param(
            {"columns": " ,"}, "columns is ' ,': name at least one column", id="no-column"
        ),
        pytest.param({"columns": "a,b,a"}, "each once", id="column-twice"),
        pytest.param(
            {MERGE_TYPE: "foo"}, f"{MERGE_TYPE} is 'foo'; known: payload_combine", id="merge-type"
        ),
        pytest.param(
            {MERGE_TYPE: "payload_combine", "query_type": "read_optimized"},
            f"{MERGE_TYPE} cannot be combined with query type read_optimized",
            id="merge-type-of-base-files",
        ),
    ],
)
def test_bad_values_are_refused_with_what_is_allowed(options, problem):
    with pytest.raises(InvalidOptionError, match=problem):
        parse(options)


@pytest.mark.parametrize("text", ["foo", "realtime", "snapshots"])
def test_unknown_query_type_is_refused_with_the_known_ones(text):
    pattern = f"query.type is '{text}'; known: snapshot, read_optimized, incremental"
    with pytest.raises(UnknownQueryTypeError, match=pattern):
        parse({"hoodie.datasource.query.type": text})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"use_metadata_table": "no"},
            "use_metadata_table (hoodie.metadata.enable) is 'no'; known: true, false",
        ),
        (
            {"Hoodie.Metadata.Enable": "no"},
            "Hoodie.Metadata.Enable is 'no'; known: true, false",
        ),
        (
            {"hoodie.datasource.view.type": "base"},
            "hoodie.datasource.view.type (hoodie.datasource.query.type) is 'base'; known: snapshot",
        ),
        (
            {"cdc": "yes"},
            "cdc (hoodie.datasource.query.incremental.format) is 'yes'; known: latest_state, false",
        ),
        (
            {"hoodie.datasource.query.type": "incremantal"},
            "hoodie.datasource.query.type is 'incremantal'; known: snapshot, read_optimized, inc",
        ),
        (
            {"on_missing": "fial"},
            "on_missing (hoodie.datasource.read.incr.fallback.fulltablescan.enable) is 'fial'; k",
        ),
        (
            {"begin": "2024", "query_type": "read_optimized"},
            "begin (hoodie.datasource.read.begin.instanttime) needs the query type incremental, bu",
        ),
        (
            {"end": "2024"},
            "an incremental query needs begin (hoodie.datasource.read.begin.instanttime)",
        ),
        ({"batch_rows": "x"}, "batch_rows is 'x'"),  # its only name
    ],
    ids=str,
)
def test_errors_name_options_as_the_user_wrote_them(options, message):
    with pytest.raises(InvalidOptionError, match=re.escape(f"] {message}")):
        parse(options)


def test_value_that_is_nearly_right_is_suggested():
    with pytest.raises(InvalidOptionError, match=r"; did you mean incremental\?$"):
        parse({"query_type": "incremantal"})


@pytest.mark.parametrize("text", ["false", "realtime"])
def test_only_a_close_value_is_suggested(text):
    with pytest.raises(InvalidOptionError) as caught:
        parse({"query_type": text})
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.datasource.read.paths",
        "hoodie.datasource.read.incr.filters",
        "hoodie.read.use.read_optimized.mode",
        "hoodie.datasource.write.operation",
        "hoodie.datasource.write.record.merger.impls",
        "hoodie.write.record.merge.custom.implementation.classes",
        "hoodie.datasource.read.table.valued.function.filegroup",
    ],
)
def test_feature_that_cannot_be_honoured_is_refused_by_name(key):
    with pytest.raises(UnsupportedQueryError, match=f"option {key} is not supported: "):
        parse({key.upper(): "x"})


def test_empty_value_of_a_refused_feature_asks_for_nothing():
    assert parse({"hoodie.datasource.read.incr.filters": ""}) == ReadOptions()


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("hoodie.datasource.query.typ", "hoodie.datasource.query.type"),
        ("hoodie.merge.use.record.position", "hoodie.merge.use.record.positions"),
        ("hoodie.datasource.QUERY.types", "hoodie.datasource.query.type"),
    ],
)
def test_unknown_key_of_hudi_is_ignored_with_a_warning_that_names_the_nearest(key, nearest):
    pattern = f"unknown option {key.lower()} is ignored; did you mean {nearest}\\?"
    with pytest.warns(UserWarning, match=pattern):
        assert parse({key: "x"}) == ReadOptions()


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("hoodie.metadata.enabel", "hoodie.metadata.enable"),
        ("hoodie.metadata.enabled", "hoodie.metadata.enable"),
        ("hoodie.metadata.Enabel", "hoodie.metadata.enable"),
        ("hoodie.metadata.nable", "hoodie.metadata.enable"),
        ("hoodie.memory.merge.max.sise", "hoodie.memory.merge.max.size"),
        ("hoodie.bucket.index.num.bucket", "hoodie.bucket.index.num.buckets"),
    ],
)
def test_misspelt_key_is_not_taken_for_one_of_hudi_that_is_ignored(key, meant):
    with pytest.warns(UserWarning, match=f"{key.lower()} is ignored; did you mean {meant}\\?"):
        assert parse({key: "x"}) == ReadOptions()


def test_unknown_key_without_a_near_one_is_ignored_with_a_plain_warning():
    with pytest.warns(UserWarning, match=r"^unknown option hoodie\.zzz is ignored$"):
        parse({"hoodie.zzz": "x"})


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("batch_row", r"unknown option 'batch_row'; did you mean batch_rows\?$"),
        ("asof", r"unknown option 'asof'; did you mean as_of\?$"),
        ("querytype", r"unknown option 'querytype'; did you mean query_type\?$"),
        ("zzz", r"unknown option 'zzz' \(known: as_of, batch_rows, .*query_type, "),
    ],
)
def test_unknown_key_of_our_own_is_refused_with_the_nearest(key, problem):
    with pytest.raises(InvalidOptionError, match=problem):
        parse({key: "x"})


@pytest.mark.parametrize(
    "key",
    [
        "path",
        "paths",
        "inferSchema",
        "header",
        "mergeSchema",
        "spark.anything",
        "hoodie.file.group.reader.enabled",
        "hoodie.memory.merge.fraction",
        "hoodie.filesystem.view.type",
        "hoodie.metadata.index.column.stats.enable",
        "hoodie.metadata.metrics.enable",
        "hoodie.memory.compaction.max.size",
        "hoodie.bucket.index.max.num.buckets",
        "hoodie.bucket.index.min.num.buckets",
        "hoodie.datasource.read.file.index.listing.mode",
    ],
)
def test_keys_that_change_no_row_are_accepted_without_a_word(key):
    assert parse({key: "x"}) == ReadOptions()


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"hoodie.read.query.type": "snapshot"}, {}),
        ({"hoodie.read.as.of.timestamp": "20260101000000000"}, {"as_of": "20260101000000000"}),
        (
            {
                "hoodie.read.query.type": "incremental",
                "hoodie.read.start.timestamp": "20260101000000000",
                "hoodie.read.end.timestamp": "20260102000000000",
            },
            {"query_type": "incremental", "begin": "20260101000000000", "end": "20260102000000000"},
        ),
        (
            {
                "query_type": "incremental",
                "hoodie.read.file_group.start_timestamp": "20260101000000000",
                "hoodie.read.file_group.end_timestamp": "20260102000000000",
            },
            {"query_type": "incremental", "begin": "20260101000000000", "end": "20260102000000000"},
        ),
        ({"hoodie.read.stream.batch_size": "1024"}, {"batch_rows": "1024"}),
    ],
)
def test_keys_of_hudi_rs_mean_the_same(options, same):
    assert ReadOptions.parse(options) == ReadOptions.parse(same)


FALLBACK = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
FORMAT = "hoodie.datasource.query.incremental.format"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({FALLBACK: "true"}, OnMissing.FULL_SCAN),
        ({FALLBACK: "false"}, OnMissing.FAIL),
        ({FALLBACK: False}, OnMissing.FAIL),
        ({FALLBACK: "false", "on_missing": "fail"}, OnMissing.FAIL),
        ({"on_missing": "earliest"}, OnMissing.EARLIEST),
    ],
)
def test_fallback_of_apache_hudi_says_what_to_do_about_missing_commits(given, expected):
    found = parse({"query_type": "incremental", "begin": "000", **given}).incremental
    assert found is not None
    assert found.on_missing is expected


def test_fallback_and_what_to_do_must_agree():
    options = {"query_type": "incremental", "begin": "000", FALLBACK: "true"}
    with pytest.raises(InvalidOptionError, match=f"{FALLBACK}\\) is set twice"):
        parse({**options, "on_missing": "fail"})


@pytest.mark.parametrize(
    "given", [{"cdc": "true"}, {"cdc": True}, {FORMAT: "cdc"}, {FORMAT: "CDC", "cdc": "true"}]
)
def test_format_cdc_asks_for_an_incremental_query(given):
    found = parse({"begin": "000", **given})
    assert found.query_type is QueryType.INCREMENTAL
    assert found.incremental is not None
    assert found.incremental.cdc
    with pytest.raises(InvalidOptionError, match=rf"{FORMAT}\)? needs"):
        parse({"query_type": "snapshot", **given})


@pytest.mark.parametrize("given", [{}, {"cdc": "false"}, {"begin": "000"}])
def test_format_of_images_without_changes_is_refused(given):
    """Else the answer would have the latest rows, where the user asked for images."""
    with pytest.raises(InvalidOptionError, match=rf"cdc_format is .*\({FORMAT}\) is not true"):
        parse({**given, "cdc_format": "struct"})


def test_key_of_hudi_rs_and_an_alias_must_agree():
    options = {"hoodie.read.as.of.timestamp": "20260101000000000", "as_of": "20260102000000000"}
    with pytest.raises(InvalidOptionError, match=r"as_of \(as\.of\.instant\) is set twice"):
        ReadOptions.parse(options)


def test_misspelt_key_of_hudi_rs_leads_to_the_option():
    with pytest.warns(UserWarning, match=r"did you mean as\.of\.instant"):
        ReadOptions.parse({"hoodie.read.as.of.timestmp": "20260101000000000"})


@pytest.mark.parametrize("key", sorted(HUDI_RS_IGNORED))
def test_tuning_of_hudi_rs_is_accepted_without_a_word(key, recwarn):
    assert ReadOptions.parse({key: "4"}) == ReadOptions()
    assert len(recwarn) == 0


def test_keys_of_hudi_rs_are_those_of_its_package():
    """Every read option of an installed hudi-rs has its place here."""
    hudi = pytest.importorskip("hudi")
    keys = {member.value for member in hudi.HudiReadConfig}
    assert keys - BY_NAME.keys() - HUDI_RS_IGNORED == {"hoodie.read.use.read_optimized.mode"}


def test_options_take_precedence_over_the_environment():
    environment = {"HOODIE_ENV_hoodie_DOT_datasource_DOT_query_DOT_type": "read_optimized"}
    assert ReadOptions.parse({}, environment) == ReadOptions(query_type=QueryType.READ_OPTIMIZED)
    assert ReadOptions.parse({"query_type": "snapshot"}, environment) == ReadOptions()


def test_defaults_that_are_no_read_options_may_be_meant_for_others(recwarn):
    environment = {
        "HOODIE_ENV_hoodie_DOT_datasource_DOT_write_DOT_operation": "upsert",  # refused in a read
        "HOODIE_ENV_hoodie_DOT_unknown": "1",
        "HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key": "a",
        "HOODIE_ENV_columns": "id",  # a name of our own, not a key
        "HOODIE_ENV_as_DOT_of_DOT_instant": "20260101000000000",
    }
    assert ReadOptions.parse({}, environment) == ReadOptions(as_of="20260101000000000")
    assert len(recwarn) == 0


def test_options_of_the_storage_are_no_read_options():
    options = {"storage.access_key": "a", "fs.s3a.endpoint": "e", "s3.region": "r"}
    assert ReadOptions.parse(options) == ReadOptions()


@pytest.mark.parametrize(
    ("word", "here"),
    [(word, here) for here, words in OTHER_WORDS.items() for word in words.split()],
)
def test_word_of_another_project_is_refused_with_the_name_here(word, here):
    assert word.lower() not in BY_NAME
    assert re.split("[ =]", here)[0].lower() in BY_NAME
    with pytest.raises(InvalidOptionError, match=re.escape(f"it is called {here} here. Hudi has")):
        parse({word: "1"})
