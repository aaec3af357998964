"""Folders that stand for several texts of a partition column.

The rows are those that were written: Apache Hudi 1.2.0 shows other texts, fails or loses rows (D7).
"""

from __future__ import annotations

import pytest

from hudi_pyspark import HudiTable, UnsupportedTableError

OWN_NAMES = {1: ("p=x", "q=1"), 2: ("x", "1"), 3: ("q=b", "p=c"), 4: ("P=y", "Q=="), 5: ("p=", "b")}
DAYS = {1: "2026-01-05", 2: "2026-01-06", 3: "2026/01/05", 4: "none"}


@pytest.fixture
def names(practice_table):
    return HudiTable(practice_table("partition_texts/own_name"))


@pytest.fixture
def days(practice_table):
    return HudiTable(practice_table("partition_texts/slash_days"))


def values(scan, *columns):
    rows = scan.select(["id", *columns]).to_arrow().to_pylist()
    found = {row.pop("id"): tuple(row.values()) for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("options", [{}, {"begin": "000"}, {"query_type": "read_optimized"}])
def test_text_that_begins_with_the_name_of_its_column_is_kept(names, options):
    assert values(names.scan(**options), "p", "q") == OWN_NAMES


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("p = 'p=x'", {1}),
        ("p = 'x'", {2}),
        ("p = 'p='", {5}),
        ("p = ''", set()),
        ("p = 'P=y' AND q = 'Q=='", {4}),
        ("q = '1'", {2}),
        ("q LIKE 'q=%' OR q = 'b'", {1, 5}),
    ],
)
def test_conditions_find_texts_that_begin_with_a_name(names, condition, expected):
    assert values(names.scan(filter=condition)).keys() == expected


def test_partitions_show_no_value_that_the_path_does_not_decide(names):
    shown = {
        row["partition_path"]: tuple(row["partition"].values())
        for row in names.inspect.partitions().to_pylist()
    }
    assert shown == {
        "p=x/q=1": (None, None),
        "x/1": ("x", "1"),
        "q=b/p=c": ("q=b", "p=c"),
        "P=y/Q==": (None, None),
        "p=/b": (None, "b"),
    }


@pytest.mark.parametrize("options", [{}, {"begin": "000"}, {"query_type": "read_optimized"}])
def test_days_have_the_hyphens_or_slashes_that_were_written(days, options):
    assert values(days.scan(**options), "day") == {key: (day,) for key, day in DAYS.items()}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("day = '2026-01-05'", {1}),
        ("day = '2026/01/05'", {3}),
        ("day >= '2026-01-06'", {2, 3, 4}),
        ("day LIKE '2026-%'", {1, 2}),
        ("day IN ('2026-01-06', 'none')", {2, 4}),
    ],
)
def test_conditions_find_days_with_hyphens_and_slashes(days, condition, expected):
    assert values(days.scan(filter=condition)).keys() == expected


def test_partition_whose_path_is_not_that_of_its_folder_is_refused(practice_table):
    table = HudiTable(practice_table("partition_texts/slash_at_end"))
    for condition in ("p = 'q/'", "p > 'a'", "id = 2"):
        with pytest.raises(UnsupportedTableError, match="'q/', whose files lie in the folder 'q'"):
            table.scan(filter=condition).to_arrow()
    with pytest.raises(UnsupportedTableError, match="is not in the folder of its partition"):
        table.scan(use_metadata_table=False).to_arrow()
    assert values(table.scan(filter="p = 's'"), "p") == {2: ("s",)}
