"""Order of columns by name, as Apache Hudi 1.2.0 has it for entries of each kind."""

import pytest

from hudi_pyspark.catalogs.entry_columns import EntryColumns

MID = ["id", "region", "name", "ts"]
TWO = ["region", "id", "hour", "name", "ts"]


@pytest.mark.parametrize(
    ("table", "fields", "entry", "expected"),
    [
        (MID, ("region",), EntryColumns(), ["id", "name", "ts", "region"]),
        (MID, (), EntryColumns(), MID),
        (TWO, ("hour", "region"), EntryColumns(), ["id", "name", "ts", "hour", "region"]),
        (
            ["day", "place", "id", "ts"],
            ("place.region", "day"),
            EntryColumns(("region", "day")),
            ["place", "id", "ts", "day"],
        ),
        # A sync that gave the partition another name.
        (MID, ("region",), EntryColumns(("r",)), ["id", "name", "ts", "region"]),
        (MID, ("region",), EntryColumns(("r",), is_of_hive=True), MID),
        (
            TWO,
            ("hour", "region"),
            EntryColumns(("region", "hour"), is_of_hive=True),
            ["id", "name", "ts", "region", "hour"],
        ),
        # Hive writes names in lower case.
        (
            ["Id", "Region", "ts"],
            ("Region",),
            EntryColumns(("region",), is_of_hive=True),
            ["Id", "ts", "Region"],
        ),
        # A release that did not record partition columns.
        (MID, (), EntryColumns(("region",)), ["id", "name", "ts", "region"]),
        (["id", "Day", "day", "ts"], ("DAY", "day"), EntryColumns(), ["id", "Day", "ts", "day"]),
    ],
    ids=[
        "middle",
        "unpartitioned",
        "two",
        "nested",
        "renamed",
        "renamed-in-hive",
        "two-in-hive",
        "lower-case",
        "unrecorded",
        "ambiguous",
    ],
)
def test_partition_columns_are_last(table, fields, entry, expected):
    assert entry.order(table, fields) == expected


def test_comments_have_the_names_of_the_table():
    entry = EntryColumns(comments={"region": "where", "Id": "the key", "gone": "before"})
    comments = entry.comments_of(["id", "Region", "name"])
    assert comments == {"Region": "where", "id": "the key"}
