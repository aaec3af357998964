from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.planning.partitions import partition_scalars
from hudi_pyspark.table.config import TableConfig

NULL = "__HIVE_DEFAULT_PARTITION__"


def config(fields, *flags, version="9"):
    keys = {
        "encoded": "hoodie.datasource.write.partitionpath.urlencode",
        "slashes": "hoodie.datasource.write.slash.separated.date.partitioning",
        "hive": "hoodie.datasource.write.hive_style_partitioning",
    }
    properties = {"hoodie.table.version": version, "hoodie.table.partition.fields": fields}
    return TableConfig.parse(properties | {keys[flag]: "true" for flag in flags})


def texts(path, table):
    """Texts of the values in a path, if all columns are text."""
    types = dict.fromkeys(table.partition_fields, pa.string())
    return {n: v.as_py() for n, v in partition_scalars(path, table, types).items()}


@pytest.mark.parametrize(
    ("fields", "flags", "path", "expected"),
    [
        pytest.param("", [], "", {}, id="unpartitioned"),
        pytest.param("p", [], "sf", {"p": "sf"}, id="bare"),
        pytest.param("p", [], "p=sf", {"p": "sf"}, id="hive"),
        pytest.param("p", [], "p=x=1", {"p": "x=1"}, id="hive-value-with-equals"),
        pytest.param("p", [], "p=", {"p": ""}, id="hive-empty-value"),
        pytest.param("p", [], "q=1", {"p": "q=1"}, id="name-of-another-column-is-part-of-value"),
        pytest.param("p,q", [], "sf/7", {"p": "sf", "q": "7"}, id="two-bare"),
        pytest.param("p,q", [], "p=sf/q=7", {"p": "sf", "q": "7"}, id="two-hive"),
        pytest.param("p", [], "x y/z", {"p": "x y/z"}, id="one-column-with-slashes"),
        pytest.param("p", [], "p=x/y", {"p": "x/y"}, id="one-hive-column-with-slashes"),
        pytest.param("p", ["encoded"], "x y%2Fz%3A%25", {"p": "x y/z:%"}, id="encoded"),
        pytest.param("p", ["encoded"], "p=x y%2Fz%3A%25", {"p": "x y/z:%"}, id="hive-encoded"),
        pytest.param("p,q", ["encoded"], "a%2Fb/c%3Dd", {"p": "a/b", "q": "c=d"}, id="two-encoded"),
        pytest.param("p", ["encoded"], "Z%C3%BCrich", {"p": "Zürich"}, id="encoded-utf-8"),
        pytest.param("p", ["encoded"], "a+b", {"p": "a+b"}, id="plus-is-no-blank"),
        pytest.param("p", [], "x%2Fy", {"p": "x%2Fy"}, id="bare-is-not-decoded"),
        pytest.param("p", [], NULL, {"p": None}, id="null"),
        pytest.param("p", [], f"p={NULL}", {"p": None}, id="hive-null"),
        pytest.param("p,q", [], f"{NULL}/7", {"p": None, "q": "7"}, id="null-of-two"),
        pytest.param("p", [], "default", {"p": "default"}, id="default-is-text"),
        pytest.param("p", ["slashes"], "2024/01/31", {"p": "2024-01-31"}, id="slash-date"),
        pytest.param("p", ["slashes"], "p=2024/01/31", {"p": "2024-01-31"}, id="hive-date"),
        pytest.param("p", ["slashes"], "us/east/1", {"p": "us-east-1"}, id="hyphens-of-any-text"),
        pytest.param("p", [], "2024/01/31", {"p": "2024/01/31"}, id="slashes-without-the-property"),
        pytest.param("p:SIMPLE,q:TIMESTAMP", [], "a/b", {"p": "a", "q": "b"}, id="custom-keygen"),
    ],
)
def test_texts_of_a_partition_path(fields, flags, path, expected):
    assert texts(path, config(fields, *flags)) == expected


@pytest.mark.parametrize("flags", [[], ["hive"]], ids=["no-flag", "flag"])
@pytest.mark.parametrize("path", ["sf", "p=sf"])
def test_folders_say_whether_they_are_hive_style_and_the_property_does_not(path, flags):
    assert texts(path, config("p", *flags)) == {"p": "sf"}


def test_default_folder_of_old_versions_is_text():
    assert texts("default", config("p", version="4")) == {"p": "default"}


@pytest.mark.parametrize(
    ("fields", "path", "count"),
    [("p,q", "sf", 1), ("p,q", "sf/7/8", 3), ("p,q", "", 1), ("p,q,r", "2024/01", 2)],
)
def test_wrong_number_of_folders_is_corrupt(fields, path, count):
    message = rf"{path!r} has {count} folders, but .* names {len(fields.split(','))} columns: p, q"
    with pytest.raises(CorruptTableError, match=message):
        texts(path, config(fields))


UTC = pa.timestamp("us", tz="UTC")
MOMENT = datetime(2024, 1, 31, 1, 2, 3)  # noqa: DTZ001  (a time without zone is meant)


@pytest.mark.parametrize(
    ("text", "column_type", "expected"),
    [
        pytest.param("sf", pa.string(), "sf", id="string"),
        pytest.param("", pa.string(), "", id="empty-string"),
        pytest.param("-3", pa.int32(), -3, id="int"),
        pytest.param("9223372036854775807", pa.int64(), 2**63 - 1, id="long"),
        pytest.param("1.5", pa.float64(), 1.5, id="double"),
        pytest.param("1.0E10", pa.float64(), 1e10, id="double-as-java-prints-it"),
        pytest.param("1.5", pa.float32(), 1.5, id="float"),
        pytest.param("true", pa.bool_(), True, id="true"),
        pytest.param("false", pa.bool_(), False, id="false"),
        pytest.param("12.50", pa.decimal128(10, 2), Decimal("12.50"), id="decimal"),
        pytest.param("-0.01", pa.decimal128(10, 2), Decimal("-0.01"), id="negative-decimal"),
        pytest.param("2024-01-31", pa.date32(), date(2024, 1, 31), id="date"),
        pytest.param("19753", pa.date32(), date(2024, 1, 31), id="date-as-days"),
        pytest.param("-1", pa.date32(), date(1969, 12, 31), id="date-before-the-epoch"),
        pytest.param("2024-01-31 01:02:03", pa.timestamp("us"), MOMENT, id="timestamp"),
        pytest.param(
            "1706662923000000", UTC, MOMENT.replace(tzinfo=timezone.utc), id="timestamp-as-micros"
        ),
        pytest.param("1706662923000000", pa.timestamp("us"), MOMENT, id="without-zone-as-micros"),
    ],
)
def test_text_is_cast_to_the_type_of_its_column(text, column_type, expected):
    value = partition_scalars(f"p={text}", config("p"), {"p": column_type})["p"]
    assert value.type == column_type
    assert value.as_py() == expected
    assert type(value.as_py()) is type(expected)


@pytest.mark.parametrize(
    "column_type", [pa.string(), pa.int32(), pa.date32(), UTC, pa.decimal128(10, 2), pa.bool_()]
)
def test_null_folder_is_a_typed_null(column_type):
    value = partition_scalars(NULL, config("p"), {"p": column_type})["p"]
    assert value == pa.scalar(None, column_type)


@pytest.mark.parametrize(
    ("text", "column_type"),
    [
        pytest.param("sf", pa.int32(), id="int"),
        pytest.param("3000000000", pa.int32(), id="int-overflow"),
        pytest.param("1.5", pa.int64(), id="fraction"),
        pytest.param("", pa.int32(), id="empty-int"),
        pytest.param("2024-13-01", pa.date32(), id="no-such-month"),
        pytest.param("2024/01/31", pa.date32(), id="date-with-slashes"),
        pytest.param("99999999999", pa.date32(), id="too-many-days"),
        pytest.param("19700102", pa.date32(), id="date-without-hyphens"),
        pytest.param("20240131", pa.date32(), id="date-of-this-time-without-hyphens"),
        pytest.param("--5", pa.date32(), id="two-signs"),
        pytest.param("\xb2", UTC, id="a-digit-that-is-no-number"),
        pytest.param("9" * 30, UTC, id="too-many-microseconds"),
        pytest.param("noon", UTC, id="timestamp"),
        pytest.param("1.505", pa.decimal128(10, 2), id="decimal-of-larger-scale"),
        pytest.param("maybe", pa.bool_(), id="bool"),
        pytest.param("x", pa.list_(pa.string()), id="type-without-text"),
    ],
)
def test_text_that_is_no_value_of_the_type_is_corrupt(text, column_type):
    with pytest.raises(CorruptTableError, match="is not a value of type") as raised:
        partition_scalars(text, config("p"), {"p": column_type})
    assert repr(text) in str(raised.value)
    assert "'p'" in str(raised.value)


def test_only_columns_with_a_type_are_cast():
    values = partition_scalars("x/7", config("p,q"), {"q": pa.int32(), "other": pa.int32()})
    assert values == {"q": pa.scalar(7, pa.int32())}


@pytest.mark.parametrize("column_type", [pa.int32(), pa.date32(), pa.bool_(), pa.float64()])
def test_default_folder_of_old_versions_is_null_in_columns_that_are_no_text(column_type):
    types = {"p": column_type, "q": pa.string()}
    found = partition_scalars("default/default", config("p,q", version="4"), types)
    assert {name: value.as_py() for name, value in found.items()} == {"p": None, "q": "default"}
    with pytest.raises(CorruptTableError, match="'default' is not a value"):
        partition_scalars("default/default", config("p,q", version="5"), types)
