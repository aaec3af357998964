"""Partitions that a filter leaves, against each path's own values and plain Python."""

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark import HudiTable
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.planning.partitions import PartitionPruner
from hudi_pyspark.table.config import TableConfig
from tests.planning.keyed_tables import forget_partitions, write_table

TEXTS = ["a", "b", "a b", "x=1", "50%", "2024", "10", "9", "ü"]
SCHEMA = pa.schema([("p", pa.string()), ("q", pa.int32()), ("v", pa.int64())])


def config(fields="p,q", **properties):
    given_properties = {
        "hoodie.table.name": "t",
        "hoodie.table.version": "8",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.partition.fields": fields,
        "hoodie.table.keygenerator.type": "COMPLEX",
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    return TableConfig.parse(given_properties)


def pruner(text, table=None, schema=SCHEMA, *, always=False):
    return PartitionPruner(parse_filter(text, schema), table or config(), schema, always)


PATHS = ["a/1", "a/2", "b/1", "b/10", "p=a/q=3", "__HIVE_DEFAULT_PARTITION__/1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p = 'a'", ["a/1", "a/2", "p=a/q=3", "__HIVE_DEFAULT_PARTITION__/1"][:3]),
        ("q = 1", ["a/1", "b/1", "__HIVE_DEFAULT_PARTITION__/1"]),
        ("q > 2 and p = 'b'", ["b/10"]),
        ("q in (2, 3)", ["a/2", "p=a/q=3"]),
        ("p like 'b%' or q = 2", ["a/2", "b/1", "b/10"]),
        ("v = 3", PATHS),
        ("p = 'a' or v = 3", PATHS),
        ("p is null", ["__HIVE_DEFAULT_PARTITION__/1"]),
        ("p = ''", ["__HIVE_DEFAULT_PARTITION__/1"]),  # null and "" share a folder
        ("p = 'c'", []),
    ],
)
def test_partitions_are_chosen_by_their_values(text, expected):
    assert pruner(text).choose(PATHS) == expected


def test_an_int_that_a_path_does_not_hold_is_kept_for_the_files_to_decide():
    assert pruner("q = 1").choose(["a/x", "a/1", "a/2"]) == ["a/x", "a/1"]


def test_path_of_other_depth_is_kept():
    assert pruner("p = 'b'").choose(["a/1/2", "a/1"]) == ["a/1/2"]


def test_value_of_a_single_column_may_span_folders():
    by_day = pruner("p >= '2024/02'", config("p"))
    assert by_day.choose(["2024/01/31", "2024/02/01", "2023"]) == ["2024/02/01"]
    assert by_day.containing(["2024"])
    assert by_day.containing(["2024/02"])
    assert not by_day.containing(["2023"])
    assert not by_day.containing(["2024/01"])


def test_folders_are_left_out_level_by_level():
    wanted = pruner("p = 'a' and q = 1")
    assert wanted.containing(["a"])
    assert wanted.containing(["p=a"])
    assert not wanted.containing(["b"])
    assert wanted.containing(["a/1"])
    assert not wanted.containing(["a/2"])
    assert wanted.containing(["a/1/deeper"])


def test_folder_that_is_the_beginning_of_a_value_is_listed():
    # Without encoding, the value a/b lies in folder a.
    assert pruner("p = 'a/b'").containing(["a"])


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        # The value may be a/1 or a, and q = 1 may lie below or not.
        (["a/1", "a/2", "b/2"], ["a/1", "a/2", "b/2"]),
        (["p=a/2", "p=b/2"], ["p=a/2", "p=b/2"]),
        (["p=a/q=1", "p=a/q=2"], ["p=a/q=1"]),  # a name ends the value
    ],
)
def test_folder_may_be_a_part_of_the_value_before_it(folders, expected):
    assert pruner("q = 1").containing(folders) == expected
    encoded = config(**{"hoodie.datasource.write.partitionpath.urlencode": "true"})
    only = [folder for folder in folders if folder.endswith("1")]
    assert pruner("q = 1", encoded).containing(folders) == only


def test_folder_that_continues_a_value_is_compared_with_it():
    assert pruner("p = 'a/2' and q = 1").containing(["a/2", "a/3", "b/2"]) == ["a/2"]
    three = pruner("p = 'a' and q = 1 and v = 2", config("p,q,v"))
    assert three.containing(["a/1/2", "a/1/3", "a/2/2", "b/1/2"]) == ["a/1/2"]
    last = pruner("v = 2", config("q,p,v"))
    assert last.containing(["1/a/2", "1/a/3", "1/p=a/v=3"]) == ["1/a/2", "1/a/3"]


@pytest.mark.parametrize("kind", [pa.string(), pa.date32()])
@pytest.mark.parametrize("encodes", ["true", "false"])
def test_part_of_a_date_with_slashes_is_no_date(kind, encodes):
    slashes = {
        "hoodie.datasource.write.slash.separated.date.partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": encodes,
    }
    schema = pa.schema([("p", kind), ("q", pa.int32())])
    by_day = pruner("p = '2024-01-31'", config("p", **slashes), schema)
    for folders in (["2024"], ["2024/01"], ["p=2024/01"]):
        assert by_day.containing(folders) == folders
    assert by_day.choose(["2024/01/31", "2024/02/01"]) == ["2024/01/31"]
    by_number = pruner("q = 7", config("p,q", **slashes), schema)
    for folders in (["2024/01"], ["2024/01/31"], ["2024/01/31/7"]):
        assert by_number.containing(folders) == folders


@pytest.mark.parametrize("text", ["p = 'x'", "p = 'p=x'", "p = 'y' or q = 1", "p like 'p%'"])
def test_folder_that_may_be_a_name_and_a_value_or_a_value_is_kept(text):
    bare = replace(config(), denies_hive_style=True)
    assert pruner(text, bare).choose(["p=x/1", "z/2"]) == ["p=x/1"]
    assert pruner(text, bare).containing(["p=x"]) == ["p=x"]
    # A number is never written with a name in its text.
    assert pruner("q = 2", bare).choose(["p=x/q=1", "p=x/q=2"]) == ["p=x/q=2"]


def test_value_may_continue_in_a_folder_that_looks_named():
    three = replace(config("p,q,v"), denies_hive_style=True)
    schema = pa.schema(dict.fromkeys("pqv", pa.string()))
    found = pruner("p = 'x/q=1' and v = '3'", three, schema)
    assert found.containing(["x/q=1/2"])  # 3 is in the folder below
    assert not found.containing(["y/q=1/2"])


def test_folders_of_a_date_with_slashes_or_hyphens_decide_no_text():
    days = replace(config("p"), may_have_slash_dates=True)
    for text in ("p = '2024-01-31'", "p = '2024/01/31'"):
        assert pruner(text, days).choose(["2024/01/31", "2024-02-01"]) == ["2024/01/31"]
        for folder in ("2024", "2024/01"):
            assert pruner(text, days).containing([folder]) == [folder]


@pytest.mark.parametrize("text", ["us-east-1", "us/east/1"])
def test_folders_of_any_text_with_slashes_or_hyphens_decide_no_text(text):
    """Apache Hudi 1.2.0 makes slashes of all hyphens, whether or not the text is a date."""
    slashes = {"hoodie.datasource.write.slash.separated.date.partitioning": "true"}
    regions = pruner(f"p = '{text}'", config("p", **slashes))
    assert regions.choose(["us/east/1", "us", "2024/01/31"]) == ["us/east/1"]
    assert regions.containing(["us/east"]) == ["us/east"]


DAY = {"type": "int", "logicalType": "date"}
DAYS = [date(2024, 1, 31), date(2024, 2, 1), date(2025, 1, 1)]


@pytest.mark.parametrize("hive_style", [True, False])
def test_partitions_of_archived_commits_are_found_in_folders_of_date_parts(tmp_path, hive_style):
    name = "day=" if hive_style else ""
    path = write_table(
        tmp_path / "t",
        {"id": "long", "day": DAY},
        {f"{name}{day:%Y/%m/%d}": [(f"{day}", {"id": day.day, "day": day})] for day in DAYS},
        table__partition__fields="day",
        datasource__write__slash__separated__date__partitioning="true",
    )
    forget_partitions(path)
    found = HudiTable(path).scan(["day"], filter="day >= '2024-02-01'").to_arrow()
    assert sorted(found["day"].to_pylist()) == DAYS[1:]


def test_partitions_of_archived_commits_are_found_below_values_with_slashes(tmp_path):
    path = write_table(
        tmp_path / "t",
        {"kind": "string", "shop": "string"},
        {
            "food/fruit/emea": [("1", {"kind": "food/fruit", "shop": "emea"})],
            "food/emea": [("2", {"kind": "food", "shop": "emea"})],
            "food/apac": [("3", {"kind": "food", "shop": "apac"})],
        },
        table__partition__fields="kind,shop",
    )
    forget_partitions(path)
    found = HudiTable(path).scan(["kind"], filter="shop = 'emea'").to_arrow()
    assert sorted(found["kind"].to_pylist()) == ["food", "food/fruit"]


def test_encoded_values_are_compared_decoded():
    encoded = config(**{"hoodie.datasource.write.partitionpath.urlencode": "true"})
    assert pruner("p = 'a/b'", encoded).choose(["a%2Fb/1", "a/1"]) == ["a%2Fb/1"]
    assert not pruner("p = 'a/b'", encoded).containing(["a"])


def test_folders_of_null_in_old_versions_are_listed():
    old = config(hoodie_table_version="3")
    for text in ("p = ''", "p is null", "p = 'default'", "p <= 'a'"):
        wanted = pruner(text, old)
        assert wanted.containing(["default", "p=default"]) == ["default", "p=default"]
        assert wanted.choose(["default/1", "z/1"]) == ["default/1"]
    assert not pruner("p = 'z'", old).containing(["default"])
    # A value with a slash may continue below.
    assert pruner("p = 'default/x'", old).containing(["default"])
    assert pruner("p = '__HIVE_DEFAULT_PARTITION__/x'", old).containing([PATHS[-1].split("/")[0]])


def test_part_of_a_formatted_time_is_no_value():
    schema = pa.schema([("p", pa.date32()), ("q", pa.int32())])
    custom = config("p:timestamp,q:simple", hoodie_table_keygenerator_type="CUSTOM")
    by_day = pruner("p = '2024-01-31' and q = 7", custom, schema, always=True)
    for folders in (["2024"], ["2024/01"]):
        assert by_day.containing(folders) == folders


def test_timestamps_are_left_to_the_files():
    schema = pa.schema([("p", pa.timestamp("us", "UTC")), ("q", pa.int32())])
    chosen = pruner("p = '2024-01-31 00:00:00+00:00'", schema=schema).choose(["1/1", "x/2"])
    assert chosen == ["1/1", "x/2"]


def test_ordering_columns_are_left_to_the_files():
    ordered = replace(config(), ordering_fields=("q",))
    assert pruner("q = 1", ordered).choose(["a/1", "a/2"]) == ["a/1", "a/2"]


@given(
    paths=st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(-3, 12)), max_size=20),
    text=st.sampled_from(
        ["p = 'a'", "p <> 'a'", "p < 'b'", "q >= 9", "q in (1, 2) or p = '10'", "not p in ('9')"]
    ),
    is_hive_style=st.booleans(),
)
def test_no_folder_above_a_chosen_partition_is_left_out(paths, text, is_hive_style):
    shown = "p={}/q={}" if is_hive_style else "{}/{}"
    names = [shown.format(p, q) for p, q in paths]
    wanted = pruner(text)
    chosen = wanted.choose(names)
    assert chosen == [name for name in names if wanted.choose([name])]  # alone as among others
    for folders in ([name.split("/")[0] for name in names], names):
        kept = wanted.containing(folders)
        assert {*chosen, *(name.split("/")[0] for name in chosen)} & {*folders} <= {*kept}
        assert kept == [folder for folder in folders if wanted.containing([folder])]


@given(
    rows=st.lists(st.tuples(st.sampled_from(["a", "b", "10", "9", "ü"]), st.integers(-3, 12))),
    p=st.sampled_from(["a", "b", "10", "zz"]),
    q=st.integers(-3, 12),
    shape=st.sampled_from(["{p}/{q}", "p={p}/q={q}", "{q}/{p}", "q={q}/p={p}"]),
    columns=st.permutations(["p", "q", "v"]),
)
def test_chosen_partitions_are_those_of_plain_python(rows, p, q, shape, columns):
    # The properties order the folders, whatever the order of the columns (apache/hudi-rs#580).
    table = config("p,q" if shape.index("{p}") < shape.index("{q}") else "q,p")
    names = [shape.format(p=a, q=b) for a, b in rows]
    expected = [shape.format(p=a, q=b) for a, b in rows if a <= p and b > q]
    wanted = pruner(f"p <= '{p}' and q > {q}", table, pa.schema(map(SCHEMA.field, columns)))
    assert wanted.choose(names) == expected
