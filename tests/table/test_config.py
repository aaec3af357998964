import re
import zlib

import pytest

from hudi_pyspark.errors import (
    CorruptTableError,
    UnsupportedTableError,
    UnsupportedVersionError,
)
from hudi_pyspark.table.config import TableConfig, TableType, load_properties
from tests.conftest import PROJECT
from tests.memory_storage import MemoryStorage

MAIN = ".hoodie/hoodie.properties"
BACKUP = ".hoodie/hoodie.properties.backup"
_COMPARES_VERSIONS = re.compile(r"(?:config|self)\.version\s*(?:[<>]=?|[!=]=|in\b)")


def config(version="9", **properties):
    return parse(
        {f"hoodie.{key.replace('__', '.')}": text for key, text in properties.items()}, version
    )


def parse(properties, version="9"):
    return TableConfig.parse({"hoodie.table.version": version, **properties})


def load(storage):
    return TableConfig.parse(load_properties(storage).values)


def text(name, version="9"):
    return f"hoodie.table.name={name}\nhoodie.table.version={version}\n".encode()


@pytest.mark.parametrize("version", range(11))
def test_versions_0_to_10_are_read(version):
    assert parse({}, str(version)).version == version


# Each is a property of `TableConfig`, so that a reader of the code meets no bare number.
@pytest.mark.parametrize(
    ("what", "versions"),
    [
        ("has_partition_fields", range(2, 11)),
        ("has_checksum", range(4, 11)),
        ("has_old_null_folders", range(5)),
        ("has_completion_times", range(8, 11)),
        ("has_merge_mode", range(8, 11)),
        ("has_payload_rules", range(9, 11)),
    ],
)
def test_what_a_version_brings_has_a_name(what, versions):
    assert [v for v in range(11) if getattr(parse({}, str(v)), what)] == [*versions]


def test_only_the_properties_compare_versions():
    package = PROJECT / "hudi_pyspark"
    sources = {
        path.relative_to(package).as_posix(): path.read_text("utf-8")
        for path in package.rglob("*.py")
    }
    comparing = {name for name, text in sources.items() if _COMPARES_VERSIONS.search(text)}
    assert comparing == {"table/config.py"}, "name what the version brings by a property"


@pytest.mark.parametrize("version", ["baz", "abc", "", "-6", "6.0", "\N{SUPERSCRIPT TWO}"])
def test_version_that_is_not_a_number_is_called_so(version):
    with pytest.raises(UnsupportedVersionError, match="not a number"):
        parse({}, version)


@pytest.mark.parametrize("version", ["11", "42"])
def test_other_versions_are_refused_by_name(version):
    with pytest.raises(UnsupportedVersionError, match=r"hoodie\.table\.version is") as raised:
        parse({}, version)
    assert repr(version) in str(raised.value)
    assert "versions 0 to 10" in str(raised.value)


def test_absent_version_is_version_0():
    found = TableConfig.parse({"hoodie.table.name": "t"})
    assert (found.version, found.layout, found.timeline_folder) == (0, 1, ".hoodie")


def test_table_that_was_downgraded_to_version_0_keeps_newer_properties():
    found = parse({"hoodie.table.checksum": "1", "hoodie.timeline.layout.version": "1"}, "0")
    assert (found.version, found.timeline_folder) == (0, ".hoodie")


@pytest.mark.parametrize(
    ("version", "layout"),
    [("0", "2"), ("6", "2"), ("7", "2"), ("8", "1"), ("9", "1"), ("6", "x"), ("9", "-2")],
)
def test_version_with_the_timeline_of_others_is_refused(version, layout):
    # Commits would be looked for in the wrong folder, and the table be empty.
    with pytest.raises(UnsupportedVersionError, match=rf"layout\.version is '{layout}', but") as e:
        parse({"hoodie.timeline.layout.version": layout}, version)
    assert f"hoodie.table.version {version}" in str(e.value)


@pytest.mark.parametrize(
    ("initial", "expected"), [("9", False), ("8", False), ("6", True), ("x", True), ("", True)]
)
def test_table_that_began_before_version_8_was_upgraded(initial, expected):
    assert parse({"hoodie.table.initial.version": initial}).was_upgraded is expected


@pytest.mark.parametrize("version", range(1, 10))
def test_defaults(version):
    found = parse({}, str(version))
    assert found.table_type is TableType.COPY_ON_WRITE
    assert not found.is_merge_on_read
    assert found.base_file_format == "PARQUET"
    assert not found.base_file_formats_mixed
    assert found.record_key_fields == found.ordering_fields == found.partition_fields == ()
    assert found.populate_meta_fields
    assert not found.url_encode_partitions
    assert not found.slash_separated_dates
    assert not found.may_have_slash_dates
    assert not found.denies_hive_style
    assert not found.drop_partition_columns
    assert not found.cdc_enabled
    assert found.cdc_logging_mode == "DATA_BEFORE_AFTER"
    assert found.timeline_timezone == "LOCAL"
    assert found.metadata_partitions == ()
    assert (found.database, found.key_generator, found.create_schema) == ("", "", "")
    assert (found.payload_class, found.merge_mode, found.merge_strategy_id) == ("", "", "")


@pytest.mark.parametrize(
    ("text", "expected"), [("false", True), ("False", True), ("true", False), ("", False)]
)
def test_properties_may_deny_that_folders_have_names(text, expected):
    key = "hoodie.datasource.write.hive_style_partitioning"
    assert parse({key: text}).denies_hive_style is expected
    # The folders may be those of the source.
    assert not parse({key: text, "hoodie.bootstrap.base.path": "/source"}).denies_hive_style


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"hoodie.datasource.write.slash.separated.date.partitioning": "true"}, (True, True)),
        ({"hoodie.table.partition_extractor_class": "a.SlashEncodedDay"}, (False, False)),
        (
            {
                "hoodie.table.partition_extractor_class": (
                    "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"
                )
            },
            (False, True),
        ),
    ],
)
def test_extractor_says_that_dates_may_have_slashes(properties, expected):
    found = parse(properties)
    assert (found.slash_separated_dates, found.may_have_slash_dates) == expected


@pytest.mark.parametrize("version", range(1, 10))
def test_folders_follow_the_layout_of_the_version(version):
    found = parse({}, str(version))
    folders = found.layout, found.timeline_folder, found.archive_folders
    if version >= 8:
        assert folders == (2, ".hoodie/timeline", (".hoodie/timeline/history",))
    else:
        assert folders == (1, ".hoodie", (".hoodie", ".hoodie/archived"))


@pytest.mark.parametrize(
    ("version", "properties", "timeline", "archives"),
    [
        pytest.param(
            "6",
            {"archivelog.folder": "old"},
            ".hoodie",
            (".hoodie", ".hoodie/archived", ".hoodie/old"),
            id="named-and-those-of-a-downgrade-and-of-0.9",
        ),
        pytest.param(
            "6", {"archivelog.folder": ""}, ".hoodie", (".hoodie", ".hoodie/archived"), id="empty"
        ),
        pytest.param(
            "6",
            {"timeline.path": "t", "timeline.history.path": "h"},
            ".hoodie",
            (".hoodie", ".hoodie/archived"),
            id="layout-1-ignores-the-names-of-layout-2",
        ),
        pytest.param(
            "8",
            {"timeline.path": "t", "timeline.history.path": "h"},
            ".hoodie/t",
            (".hoodie/t/h",),
            id="named-on-layout-2",
        ),
        pytest.param(
            "9",
            {"archivelog.folder": "archived"},
            ".hoodie/timeline",
            (".hoodie/timeline/history",),
            id="layout-2-ignores-the-archive-folder",
        ),
    ],
)
def test_named_folders(version, properties, timeline, archives):
    found = parse({f"hoodie.{k}": v for k, v in properties.items()}, version)
    assert (found.timeline_folder, found.archive_folders) == (timeline, archives)


@pytest.mark.parametrize("version", ["6", "8", "9"])
@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        pytest.param({"precombine.field": "ts"}, ("ts",), id="precombine"),
        pytest.param({"ordering.fields": "ts, seq"}, ("ts", "seq"), id="ordering"),
        pytest.param({"ordering.fields": "a", "precombine.field": "b"}, ("a",), id="both"),
        pytest.param({"ordering.fields": "", "precombine.field": "b"}, ("b",), id="one-empty"),
        pytest.param({"ordering.fields": "m.ts"}, ("m.ts",), id="nested"),
    ],
)
def test_ordering_fields_of_either_property(version, properties, expected):
    found = parse({f"hoodie.table.{k}": v for k, v in properties.items()}, version)
    assert found.ordering_fields == expected


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        pytest.param({"type": "SIMPLE"}, "SIMPLE", id="type"),
        pytest.param({"type": "timestamp"}, "TIMESTAMP", id="lower-case"),
        pytest.param({"type": "TIMESTAMP_AVRO"}, "TIMESTAMP", id="avro-twin"),
        pytest.param({"class": "org.apache.hudi.keygen.SimpleKeyGenerator"}, "SIMPLE", id="simple"),
        pytest.param(
            {"class": "org.apache.hudi.keygen.ComplexAvroKeyGenerator"}, "COMPLEX", id="complex"
        ),
        pytest.param(
            {"class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}, "TIMESTAMP", id="time"
        ),
        pytest.param(
            {"class": "org.apache.hudi.keygen.TimestampBasedAvroKeyGenerator"},
            "TIMESTAMP",
            id="time-avro",
        ),
        pytest.param({"class": "org.apache.hudi.keygen.CustomKeyGenerator"}, "CUSTOM", id="custom"),
        pytest.param(
            {"class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator"},
            "NON_PARTITION",
            id="unpartitioned",
        ),
        pytest.param({"class": "com.acme.OwnKeyGenerator"}, "", id="own-class"),
        pytest.param(
            {"type": "CUSTOM", "class": "org.apache.hudi.keygen.SimpleKeyGenerator"},
            "CUSTOM",
            id="type-before-class",
        ),
    ],
)
def test_key_generator_by_type_or_class(properties, expected):
    found = parse({f"hoodie.table.keygenerator.{k}": v for k, v in properties.items()})
    assert found.key_generator == expected


@pytest.mark.parametrize(
    ("fields", "key_generator", "names", "formatted"),
    [
        ("a", "SIMPLE", ("a",), ()),
        ("a, b", "COMPLEX", ("a", "b"), ()),
        ("a:SIMPLE,b:TIMESTAMP", "CUSTOM", ("a", "b"), ("b",)),
        ("a:simple,b:timestamp", "CUSTOM", ("a", "b"), ("b",)),
        ("a,b", "CUSTOM", ("a", "b"), ("a", "b")),  # 0.15 records no types
        ("a", "TIMESTAMP", ("a",), ("a",)),
        ("", "NON_PARTITION", (), ()),
    ],
)
def test_partition_fields_without_their_types(fields, key_generator, names, formatted):
    found = config(table__partition__fields=fields, table__keygenerator__type=key_generator)
    assert (found.partition_fields, found.timestamp_partition_fields) == (names, formatted)


@pytest.mark.parametrize(
    ("properties", "attribute", "expected"),
    [
        ({"hoodie.table.type": "MERGE_ON_READ"}, "is_merge_on_read", True),
        ({"hoodie.table.type": "merge_on_read"}, "is_merge_on_read", True),
        ({"hoodie.table.base.file.format": "orc"}, "base_file_format", "ORC"),
        ({"hoodie.table.ro.file.format": "HFILE"}, "base_file_format", "HFILE"),
        ({"hoodie.table.recordkey.fields": "a,b"}, "record_key_fields", ("a", "b")),
        ({"hoodie.populate.meta.fields": "false"}, "populate_meta_fields", False),
        (
            {"hoodie.datasource.write.partitionpath.urlencode": "TRUE"},
            "url_encode_partitions",
            True,
        ),
        (
            {"hoodie.compaction.record.merger.strategy": "old"},
            "merge_strategy_id",
            "old",
        ),
        (
            {
                "hoodie.record.merge.strategy.id": "new",
                "hoodie.compaction.record.merger.strategy": "old",
            },
            "merge_strategy_id",
            "new",
        ),
        ({"hoodie.record.merge.mode": "event_time_ordering"}, "merge_mode", "EVENT_TIME_ORDERING"),
        (
            {"hoodie.record.merge.property.hoodie.payload.delete.field": "Op", "hoodie.other": "x"},
            "merge_properties",
            {"hoodie.payload.delete.field": "Op"},
        ),
        (
            {"hoodie.table.metadata.partitions": "files,column_stats"},
            "metadata_partitions",
            ("files", "column_stats"),
        ),
    ],
)
def test_property_becomes_a_typed_value(properties, attribute, expected):
    assert getattr(parse(properties), attribute) == expected


@pytest.mark.parametrize("table_format", ["native", "NATIVE"])
def test_native_table_format_is_read(table_format):
    assert config(table__format=table_format).version == 9


def test_other_table_format_is_refused_by_name():
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.table\.format is 'iceberg'"):
        config(table__format="iceberg")


@pytest.mark.parametrize(
    ("key", "value", "known"),
    [
        ("hoodie.table.type", "MERGE", "COPY_ON_WRITE, MERGE_ON_READ"),
        ("hoodie.table.base.file.format", "PARQUES", "PARQUET, ORC, HFILE, LANCE"),
        ("hoodie.table.ro.file.format", "AVRO", "PARQUET, ORC, HFILE, LANCE"),
        ("hoodie.table.timeline.timezone", "UTB", "LOCAL, UTC"),
        (
            "hoodie.table.cdc.supplemental.logging.mode",
            "ALL",
            "DATA_BEFORE_AFTER, DATA_BEFORE, OP_KEY_ONLY",
        ),
        ("hoodie.populate.meta.fields", "trud", "true, false"),
        ("hoodie.datasource.write.partitionpath.urlencode", "yes", "true, false"),
    ],
)
def test_unknown_value_is_refused_by_name(key, value, known):
    message = re.escape(f"{key} is {value!r}; known: {known}")
    with pytest.raises(UnsupportedTableError, match=f"{message}$"):
        parse({key: value})


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({MAIN: text("main")}, id="only-main"),
        pytest.param({MAIN: text("main"), BACKUP: text("backup")}, id="main-before-backup"),
        pytest.param({MAIN: text("main"), BACKUP: b"\\uXY"}, id="backup-not-read"),
    ],
)
def test_properties_come_from_the_main_file(files):
    assert load(MemoryStorage(files)).name == "main"


@pytest.mark.parametrize(
    "main",
    [
        pytest.param({}, id="missing"),
        pytest.param({MAIN: b""}, id="empty"),
        pytest.param({MAIN: b"hoodie.table.name=main\\u00"}, id="garbled"),
        pytest.param({MAIN: b"PAR1 or anything"}, id="something-else"),
    ],
)
def test_properties_come_from_the_backup_while_the_main_file_is_replaced(main):
    assert load(MemoryStorage({**main, BACKUP: text("backup")})).name == "backup"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        pytest.param({MAIN: b""}, "neither hoodie.table.name nor", id="empty"),
        pytest.param({MAIN: b"", BACKUP: b"# nothing"}, "neither hoodie.table.name nor", id="both"),
        pytest.param({MAIN: b"hoodie.table.name=\\u00"}, "four hexadecimal digits", id="garbled"),
        pytest.param({BACKUP: b""}, "neither hoodie.table.name nor", id="only-an-empty-backup"),
    ],
)
def test_unreadable_properties_are_corrupt(files, problem):
    with pytest.raises(CorruptTableError, match=problem) as raised:
        load(MemoryStorage(files))
    assert MAIN in str(raised.value)
    assert "Restore" in str(raised.value)


CHECKED = (
    b"hoodie.table.name=t\nhoodie.database.name=d\nhoodie.table.version=9\nhoodie.table.checksum="
)
OF_D_T = 3_975_153_383


@pytest.mark.parametrize(
    ("recorded", "is_right"),
    [
        (f"{OF_D_T}", True),
        (f"+0{OF_D_T}", True),  # Java parses a long
        (f"{OF_D_T + 1}", False),
        (f"-{OF_D_T}", False),
        (f"{OF_D_T} ", False),
        ("", False),
        ("x", False),
        ("9" * 5000, False),
    ],
)
def test_checksum_is_compared_with_the_names_as_java_does(recorded, is_right):
    files = {MAIN: CHECKED + recorded.encode()}
    if is_right:
        assert load_properties(MemoryStorage(files)).path == MAIN
        return
    with pytest.raises(CorruptTableError, match=f"'d' and table 't' give {OF_D_T}"):
        load_properties(MemoryStorage(files))
    stored = load_properties(MemoryStorage({**files, BACKUP: text("backup")}))
    assert (stored.path, stored.values["hoodie.table.name"]) == (BACKUP, "backup")
    assert "hoodie.table.checksum is" in stored.problem


@pytest.mark.parametrize("key", ["hoodie.table.checksum", "hoodie.timeline.path"])
def test_absent_version_of_a_newer_table_shows_that_the_file_is_cut(key):
    # Its timeline would be looked for in another folder, and the table be empty.
    files = {MAIN: f"hoodie.table.name=t\n{key}={zlib.crc32(b'.t')}\n".encode()}
    with pytest.raises(CorruptTableError, match=f"is missing, but the table has {key}"):
        load_properties(MemoryStorage(files))
    stored = load_properties(MemoryStorage({**files, BACKUP: text("backup")}))
    assert (stored.path, stored.values["hoodie.table.name"]) == (BACKUP, "backup")


class Finishing(MemoryStorage):
    """A storage on which a writer puts the new file in place before the backup is asked for."""

    def read_bytes(self, path):
        try:
            return super().read_bytes(path)
        finally:
            self.files[MAIN] = text("new")


@pytest.mark.parametrize("main", [{}, {MAIN: b"hoodie.table"}], ids=["missing", "half-written"])
def test_file_that_a_writer_has_just_replaced_is_read_again(main):
    assert load_properties(Finishing(main)).values["hoodie.table.name"] == "new"


def ordered(fields, version="9"):
    return text("t", version) + (
        b"\nhoodie.record.merge.mode=EVENT_TIME_ORDERING\nhoodie.table.ordering.fields=" + fields
    )


@pytest.mark.parametrize(
    ("main", "backup", "path"),
    [
        (ordered(b""), ordered(b"ts"), BACKUP),
        (ordered(b"n"), ordered(b"ts"), MAIN),
        (ordered(b""), ordered(b""), MAIN),  # a writer that was given only a payload class
        (ordered(b"", "8"), ordered(b"ts"), MAIN),  # a downgrade was interrupted
        (ordered(b""), b"\\uXY", MAIN),
    ],
)
def test_ordering_fields_that_only_the_backup_has(main, backup, path):
    assert load_properties(MemoryStorage({MAIN: main, BACKUP: backup})).path == path


WHOLE = text("t", "10") + b"hoodie.table.type=MERGE_ON_READ\n"


@pytest.mark.parametrize(
    ("main", "path"),
    [
        (WHOLE[:-6], BACKUP),  # the type is cut off in the middle
        (text("t", "1")[:-1], BACKUP),  # the version is
        (text("t", "10")[:-1], BACKUP),  # only the end of its line is
        (WHOLE[:-1], MAIN),  # as some editors leave it
        (text("t", "10") + b"hoodie.table.type=COPY_ON_WRITE", MAIN),
        # Edited: nothing of the backup is lost.
        (b"hoodie.table.type=COPY_ON_WRITE\n" + text("t", "10")[:-1], MAIN),
        (text("t", "9") + b"hoodie.table.type=MERGE", MAIN),  # of an upgrade
        (text("t", "10"), MAIN),
    ],
)
def test_file_that_ends_within_a_line_of_its_backup_is_cut(main, path):
    assert load_properties(MemoryStorage({MAIN: main, BACKUP: WHOLE})).path == path


def test_without_any_properties_there_is_no_table():
    with pytest.raises(FileNotFoundError, match=r"hoodie\.properties"):
        load(MemoryStorage({".hoodie/001.commit": b""}))


def test_unsupported_version_in_the_main_file_does_not_fall_back():
    files = {MAIN: text("main", "11"), BACKUP: text("backup", "9")}
    with pytest.raises(UnsupportedVersionError, match="'11'"):
        load(MemoryStorage(files))


def test_storage_layout_is_read_and_an_unknown_one_refused():
    key = "hoodie.table.storage.layout"
    assert parse({}, "10").storage_layout == "DEFAULT"
    assert parse({key: "default"}, "10").storage_layout == "DEFAULT"
    assert parse({key: "lsm_tree"}, "10").storage_layout == "LSM_TREE"
    with pytest.raises(UnsupportedTableError, match=f"{key} is 'heap'; known: DEFAULT, LSM_TREE"):
        parse({key: "heap"}, "10")
