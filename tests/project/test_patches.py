"""Tests look at what a read does, and do not put their own functions into the package.

A patch of a private name breaks when the code is arranged anew, and may stay when what it patched
is no longer called. Thresholds are constants of `hudi_pyspark.thresholds`; a storage that counts
says which files are read; `tests.emptied_state` begins as a new process does.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
# Private names, but not __version__, and constants.
OWN = re.compile(r"_(?!_)\w+|[A-Z][A-Z_]+")
REPLACING = ("setattr", "patch", "patch.object")
# Names that tests may replace, and why nothing visible says the same.
REASONS = {
    "TESTED_RELEASES": "releases of Spark that nobody has tested are not installed",
    "OUTCOME_FORMAT": "the next release of this package is not there yet",
    "RULES": "the judge of histories must notice what no rule explains",
    "LEAST_KEYS": "keys of too few groups must be seen to lose rows",
    "LAYOUTS": "the referee of bucket indexes draws tables of one layout",
    "EVENTS": "the referee of bucket indexes draws tables of one kind of event",
    "_as_structs": "images of changes that nobody asked for cost time alone",
    "_merged": "slices that are merged together and one by one read the same files",
    "_recorded_files": "no writer leaves a metadata table that lacks files or sizes",
    "_store": "a disk that is full or broken at a given moment",
    "_read": "a page that is damaged after some rows have come",
    "_VOLUMES": "only Databricks mounts /Volumes",
    "_BUNDLE": "Apache Hudi's bundle does not run on this Spark",
    "_register_in_jvm": "each Spark that is installed has the private part",
    "_batches": "nobody presses Ctrl-C at a given moment",
    "_verdicts": "the referee of bucket indexes must notice an index with a defect",
    "_inflate": "the harness of flipped bytes must notice a reader without checksums",
}


def patches(text: str) -> Iterator[str]:
    """The private names and constants that code replaces by `setattr` or `patch`."""
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).endswith(REPLACING)):
            continue
        if node.args and ast.unparse(node.args[0]) == "thresholds":
            continue
        names = [str(each.value) for each in node.args[:2] if isinstance(each, ast.Constant)]
        yield from (name for each in names[:1] if OWN.fullmatch(name := each.rpartition(".")[2]))


def patches_of_tests() -> set[str]:
    paths = (PROJECT / "tests").rglob("*.py")
    return {name for path in paths for name in patches(path.read_text(encoding="utf-8"))}


def test_names_are_replaced_only_where_nothing_visible_says_the_same():
    assert patches_of_tests() - REASONS.keys() == set()


def test_reasons_are_of_names_that_tests_replace():
    assert REASONS.keys() - patches_of_tests() == set()


@pytest.mark.parametrize(
    "text",
    [
        'monkeypatch.setattr(module, "_name", 1)',
        'monkeypatch.setattr(module, "NAME", 1)',
        'monkeypatch.setattr("hudi_pyspark.module._name", 1)',
        'monkeypatch.setattr(Class, "_name", property(f))',
        'with patch("hudi_pyspark.module._name"): pass',
        'with mock.patch.object(module, "_name"): pass',
    ],
)
def test_patch_is_noticed(text):
    assert [name.lower().strip("_") for name in patches(text)] == ["name"]


@pytest.mark.parametrize(
    "text", ['monkeypatch.setattr(thresholds, "NAME", 1)', 'monkeypatch.setattr(Class, "name", f)']
)
def test_other_patch_is_allowed(text):
    assert list(patches(text)) == []
