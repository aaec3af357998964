import decimal
from dataclasses import replace

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.format.nested_types import MILLISECONDS
from hudi_pyspark.planning.partitions import (
    PartitionPruner,
    keep_undecided,
    path_type,
    resolve_partition_values,
)
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.tasks import ValueSource

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "name": pa.string(),
        "day": pa.date32(),
        "fare": pa.decimal128(8, 2),
        "at": pa.timestamp("us"),
        "raw": pa.binary(),
    }
)
NULL = "__HIVE_DEFAULT_PARTITION__"
ENCODED = {"datasource__write__partitionpath__urlencode": "true"}
TYPE = "table__keygenerator__type"
FORMATTED = {TYPE: "TIMESTAMP"}
OWN_GENERATOR = {"table__keygenerator__class": "com.acme.HashKeyGenerator"}
HIVE_STYLE = "datasource__write__hive_style_partitioning"
BARE = {HIVE_STYLE: "false"}
EXTRACTOR = "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"
SLASH_DAYS = {"table__partition_extractor_class": EXTRACTOR}
SLASHES = {"datasource__write__slash__separated__date__partitioning": "true"}


def table_of(fields, ordering=(), *, version="6", **properties):
    table = TableConfig.parse(
        {
            "hoodie.table.name": "t",
            "hoodie.table.version": version,
            "hoodie.table.partition.fields": fields,
            **{f"hoodie.{k.replace('__', '.')}": v for k, v in properties.items()},
        }
    )
    return replace(table, ordering_fields=tuple(ordering))


def values(path, fields, *, always=False, ordering=(), merged=(), **properties):
    table = table_of(fields, ordering, **properties)
    return resolve_partition_values(
        path, table, SCHEMA, always_from_path=always, read_for_merge=merged
    )


def decide(path, fields, text, version="6"):
    """Return whether a partition's rows can pass a filter, and what is left to evaluate then."""
    predicate = parse_filter(text, SCHEMA)
    table = table_of(fields, version=version)
    kept = PartitionPruner(predicate, table, SCHEMA, always_from_path=False).choose([path])
    left = keep_undecided(predicate, values(path, fields, version=version)) if kept else None
    return bool(kept), str(left) if left else None


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        pytest.param("id=7/name=x%2Fy", "id,name", {"id": 7, "name": "x/y"}, id="hive-style"),
        pytest.param("-3/a b", "id,name", {"id": -3, "name": "a b"}, id="bare"),
        pytest.param(f"id={NULL}/name=1", "id,name", {"id": None, "name": "1"}, id="null"),
        pytest.param("1.50", "fare", {"fare": decimal.Decimal("1.50")}, id="decimal"),
        pytest.param("seven/x", "id,name", {}, id="text-of-another-type"),
        pytest.param("7", "id,name", {}, id="too-few-folders"),
    ],
)
def test_path_gives_values_in_the_types_of_the_table(path, fields, expected):
    found = values(path, fields)
    assert {name: value.as_py() for name, value in found.constants.items()} == expected
    assert all(value.type == SCHEMA.field(name).type for name, value in found.constants.items())


@pytest.mark.parametrize(
    ("path", "fields", "properties", "from_path"),
    [
        pytest.param("sf/3", "name,id", {}, ("name", "id"), id="path"),
        pytest.param("1706662923000000", "at", {}, (), id="timestamp"),
        pytest.param("x", "raw", {}, (), id="binary"),
        pytest.param("2024-01", "name", FORMATTED, (), id="formatted-time"),
        pytest.param("19753", "day", {}, ("day",), id="days"),
        pytest.param("19700102", "day", {}, (), id="formatted-date"),
        pytest.param("7/x", "id,name", OWN_GENERATOR, (), id="own-key-generator"),
        pytest.param("7/x", "id,name", {TYPE: "USER_PROVIDED"}, (), id="users-key-generator"),
        pytest.param("50%", "name", {}, ("name",), id="no-escape"),
        pytest.param("a%20b", "name", {}, (), id="escape-or-not"),
        pytest.param("a%20b", "name", ENCODED, ("name",), id="escape"),
        pytest.param("a%20b/7", "name,id", {}, ("id",), id="escape-in-another-folder"),
        pytest.param(NULL, "name", {}, (), id="null-or-empty-text"),
        pytest.param(NULL, "id", {}, ("id",), id="null-number"),
        pytest.param("x", "id", {}, (), id="does-not-parse"),
        pytest.param("name=x", "name", {}, ("name",), id="named"),
        pytest.param("name=x", "name", {HIVE_STYLE: "true"}, ("name",), id="hive-style"),
        pytest.param("NAME=x/3", "name,id", BARE, ("id",), id="named-or-not"),
        pytest.param("day=x/id=3", "name,id", BARE, ("name", "id"), id="text-or-named-number"),
        pytest.param("2024/01/31", "name", {}, ("name",), id="slashes"),
        pytest.param("2024/01/31", "name", SLASH_DAYS, (), id="slashes-or-hyphens"),
        pytest.param("2024/1", "name", SLASH_DAYS, ("name",), id="no-date-with-slashes"),
        pytest.param("name=2024/01/31", "name", SLASH_DAYS, (), id="named-slashes-or-hyphens"),
        pytest.param("2024/01/31", "name", SLASH_DAYS | SLASHES, ("name",), id="hyphens"),
        pytest.param("2024/01", "name", SLASHES, (), id="slashes-or-hyphens-of-another-text"),
        pytest.param("sf", "name", SLASHES, ("name",), id="neither"),
    ],
)
def test_path_decides_where_it_can_hold_the_value(path, fields, properties, from_path):
    assert values(path, fields, **properties).from_path == from_path


def test_file_decides_on_an_ordering_column():
    assert values("sf/3", "name,id", ordering=("id",)).from_path == ("name",)


def test_column_that_the_merge_looks_at_is_read_all_the_same():
    found = values("sf/3", "name,id", merged=("id", "ts"))
    assert found.from_path == ("name", "id")
    sources = [column.source for column in found.values]
    assert sources == [ValueSource.PATH_ALONE, ValueSource.PATH]


def test_path_that_must_decide_has_to_parse():
    with pytest.raises(CorruptTableError, match="partition path 'x'"):
        values("x", "id", always=True)


def test_folder_of_null_and_empty_text_shows_what_the_file_has_of_the_two():
    rows = pa.table({"name": pa.array(["", None, "moved here"])})
    shown = values(NULL, "name").show(rows)
    assert shown.column("name").to_pylist() == ["", None, None]


@pytest.mark.parametrize("version", ["0", "1", "2", "3", "4"])
@pytest.mark.parametrize("path", ["default", "name=default"])
def test_default_folder_of_old_versions_shows_what_the_file_has(path, version):
    rows = pa.table({"name": pa.array(["", None, "default", "moved here"])})
    found = values(path, "name", version=version)
    assert found.show(rows).column("name").to_pylist() == ["", None, "default", "default"]
    assert found.from_path == ()
    assert not found.is_as_stored("name")


def test_default_folder_of_newer_versions_is_text():
    found = values("default", "name", version="5")
    assert (found.from_path, found.constants["name"].as_py()) == (("name",), "default")


def test_rows_that_stay_in_their_folder_show_its_value():
    rows = pa.table({"id": pa.array([1, 2]), "name": pa.array(["sf", "la"])})
    # A column that is not read is filled in before.
    shown = values("sf", "name", merged=("name",)).show(rows)
    assert shown.to_pydict() == {"id": [1, 2], "name": ["sf", "sf"]}


@pytest.mark.parametrize(
    ("path", "text", "is_kept", "left"),
    [
        ("sf", "name = 'la'", False, None),
        ("sf", "name = 'sf'", True, None),
        ("sf", "name = 'sf' AND id = 3", True, "id = 3"),
        ("sf", "name = 'la' AND id = 3", False, None),
        ("sf", "name = 'la' OR id = 3", True, "name = 'la' OR id = 3"),
        ("sf", "name IS NULL", False, None),
        ("sf", "name LIKE 's%' AND NOT name = 'la'", True, None),
        (NULL, "name = ''", True, "name = ''"),
        (NULL, "name IS NULL", True, "name IS NULL"),
        (NULL, "name = 'sf'", False, None),
        ("a%20b", "name = 'zz'", True, "name = 'zz'"),
    ],
)
def test_filter_is_decided_by_the_path_as_far_as_it_goes(path, text, is_kept, left):
    assert decide(path, "name", text) == (is_kept, left)


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("name = 'default'", True),
        ("name = ''", True),
        ("name IS NULL", True),
        ("name IS NOT NULL", True),
        ("NOT name = 'default'", True),
        ("name <> ''", True),
        ("name LIKE 'def%'", True),
        ("name IN ('', 'x')", True),
        ("name = 'emea'", False),
        ("name > 'default'", False),
    ],
)
def test_files_in_the_default_folder_of_old_versions_decide_the_filter(text, is_kept):
    assert decide("default", "name", text, version="2")[0] is is_kept
    if is_kept:
        assert decide("default", "name", text, version="2")[1] is not None
    # Other columns are decided by the path all the same.
    assert not decide("default/7", "name,id", f"{text} AND id = 8", version="2")[0]


def test_null_number_of_old_versions_is_decided_by_the_path():
    found = values("default", "id", version="4")
    assert (found.from_path, found.constants["id"].as_py()) == (("id",), None)
    assert decide("default", "id", "id IS NULL", version="4") == (True, None)
    assert not decide("default", "id", "id = 3", version="4")[0]


def test_null_number_passes_only_filters_that_are_true_for_null():
    assert decide(NULL, "id", "id IS NULL") == (True, None)
    assert decide(NULL, "id", "id != 3") == (False, None)
    assert decide(NULL, "id", "id = 3 OR name = 'x'")[0]
    assert not decide(NULL, "id", "id = 3 OR id = 4")[0]


def test_null_of_a_path_rules_out_conditions_on_values_together_with_other_columns():
    may_pass = {
        text: decide(f"{NULL}/x", "id,name", text)[0]
        for text in (
            "id = 5 OR (id > 7 AND fare > 1)",
            "id IS NULL OR fare > 1",
            "id = 5 OR fare > 1",
        )
    }
    assert list(may_pass.values()) == [False, True, True]


def test_column_from_the_path_is_not_as_stored():
    found = values(f"7/{NULL}", "id,name")
    assert found.from_path == ("id",)
    assert [found.is_as_stored(name) for name in ("id", "name", "fare")] == [False, False, True]


@pytest.mark.parametrize(
    ("kind", "metadata", "shown"),
    [
        (pa.timestamp("us", "UTC"), None, pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), {"a": "b"}, pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), MILLISECONDS, pa.timestamp("ms", "UTC")),
        (pa.timestamp("us"), {**MILLISECONDS, b"a": b"b"}, pa.timestamp("ms")),
        (pa.int64(), MILLISECONDS, pa.int64()),
    ],
    ids=str,
)
def test_path_shows_timestamps_in_the_unit_of_the_schema(kind, metadata, shown):
    assert path_type(pa.field("at", kind, metadata=metadata)) == shown
