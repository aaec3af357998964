"""Figures on the pages are those of the code."""

import re
from pathlib import Path

import pytest

import hudi_pyspark
from hudi_pyspark import thresholds
from hudi_pyspark.planning import index_pruning, plan
from hudi_pyspark.reading.merge import loaded_log
from hudi_pyspark.spark.sql_options import TABLE_FUNCTIONS
from tests.project.shipped_tables import shipped

PROJECT = Path(__file__).resolve().parents[2]
WORDS = {"four": 4, "twelve": 12}


def java_constant(source: str, name: str) -> int:
    text = (PROJECT / "hudi_pyspark" / "spark" / "jvm" / source).read_text(encoding="utf-8")
    (value,) = re.findall(rf"int {name} = (\d+);", text)
    return int(value)


# A page, the words around its figures, and the figures of the code.
FIGURES = [
    (
        "docs/how-a-read-works.md",
        r"only the newest (\S+) commits up to the instant",
        [thresholds.CHECKED_COMMITS],
    ),
    (
        "docs/how-a-read-works.md",
        r"prune base files by record key, of up to (\S+) base files",
        [index_pruning._MOST_BLOOM_FILTERS],
    ),
    (
        "docs/tuning.md",
        r"a part of one file for each of up to (\S+) base files",
        [index_pruning._MOST_BLOOM_FILTERS],
    ),
    ("docs/how-a-read-works.md", r"log records go to (\S+) buckets", [loaded_log.BUCKETS]),
    (
        "docs/how-a-read-works.md",
        r"at most (\w+)\. Small slices on another machine get up to (\w+) threads more",
        [plan._MAX_THREADS, plan._MAX_EXTRA_THREADS],
    ),
    ("docs/options.md", r"there are at most (\S+) tasks", [thresholds.MOST_GROUPS]),
    (
        "docs/tuning.md",
        r"`RuntimeFilters` in the plan\): up to (\S+) keys",
        [java_constant("NarrowedScan.java", "MOST_KEYS")],
    ),
]


def text_of(page: str) -> str:
    return " ".join((PROJECT / page).read_text(encoding="utf-8").split())


def number(text: str) -> int:
    return WORDS.get(text) or int(text.replace(",", ""))


@pytest.mark.parametrize(
    ("page", "pattern", "figures"), FIGURES, ids=[pattern for _, pattern, _ in FIGURES]
)
def test_figure_on_a_page_is_that_of_the_code(page, pattern, figures):
    found = re.search(pattern, text_of(page))
    assert found, f"{page} says this no more"
    assert [number(text) for text in found.groups()] == figures


@pytest.mark.parametrize(
    ("page", "pattern"),
    [
        ("docs/supported.md", r"; (\d+) of them, or more, ship with the code"),
        ("README.md", r"compared cell by cell on more than (\d+) tables"),
    ],
)
def test_as_many_tables_ship_as_a_page_says(page, pattern):
    (figure,) = re.findall(pattern, text_of(page))
    assert sum(shipped().values()) >= int(figure)


def test_table_functions_are_those_on_the_page_and_in_python():
    named = set(re.findall(r"`(hudi_\w+)`", text_of("docs/supported.md")))
    assert named >= {*TABLE_FUNCTIONS}
    assert {*TABLE_FUNCTIONS} <= {*hudi_pyspark.__all__}
