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
PRIVATE = re.compile(r"_(?!_)\w+")  # but not __version__
REPLACING = ("setattr", "patch", "patch.object")
# Private names that tests may replace, and why nothing visible says the same.
REASONS = {
    "_as_structs": "images of changes that nobody asked for cost time alone",
    "_merged": "slices that are merged together and one by one read the same files",
    "_recorded_files": "no writer leaves a metadata table that lacks files or sizes",
    "_store": "a disk that is full or broken at a given moment",
    "_read": "a page that is damaged after some rows have come",
    "_VOLUMES": "only Databricks mounts /Volumes",
    "_BUNDLE": "Apache Hudi's bundle does not run on this Spark",
    "_register_in_jvm": "each Spark that is installed has the private part",
    "_verdict": "the referee of bucket indexes must notice an index with a defect",
    "_inflate": "the harness of flipped bytes must notice a reader without checksums",
}


def patches(text: str) -> Iterator[str]:
    """The names that code replaces by `setattr` or `patch`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(REPLACING):
            targets = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
            yield from (str(target).rpartition(".")[2] for target in targets[:1])


def private_patches() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted((PROJECT / "tests").rglob("*.py")):
        for name in patches(path.read_text(encoding="utf-8")):
            if PRIVATE.fullmatch(name):
                found.setdefault(name, set()).add(path.relative_to(PROJECT).as_posix())
    return found


def test_private_names_are_replaced_only_where_nothing_visible_says_the_same():
    assert private_patches().keys() - REASONS.keys() == set()


def test_reasons_are_of_names_that_tests_replace():
    assert REASONS.keys() - private_patches().keys() == set()


@pytest.mark.parametrize(
    "text",
    [
        'monkeypatch.setattr(module, "_name", 1)',
        'monkeypatch.setattr("hudi_pyspark.module._name", 1)',
        'monkeypatch.setattr(Class, "_name", property(f))',
        'with patch("hudi_pyspark.module._name"): pass',
        'with mock.patch.object(module, "_name"): pass',
    ],
)
def test_patch_of_a_private_name_is_noticed(text):
    assert list(patches(text)) == ["_name"]
