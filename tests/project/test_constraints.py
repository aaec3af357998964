"""constraints.txt: one version of everything that a cluster installs, for each Python."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.ci_script import load

PROJECT = Path(__file__).resolve().parents[2]
TEXT = (PROJECT / "constraints.txt").read_text(encoding="utf-8")
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
PINS = [Requirement(line) for line in TEXT.splitlines() if not line.startswith("#")]
ABOUT = load("release_check").tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
EXTRAS = ABOUT["project"]["optional-dependencies"]
ENGINES = {"spark", "connect", "polars", "duckdb", "lance"}
PYTHONS = [
    name.rpartition(" ")[2]
    for name in ABOUT["project"]["classifiers"]
    if re.search(r"Python :: 3\.\d+$", name)
]
(CLUSTER_EXTRAS,) = re.findall(r"^CLUSTER_EXTRAS := (.*)$", MAKEFILE, re.MULTILINE)
ROOTS = [
    Requirement(text)
    for group in (ABOUT["project"]["dependencies"], *map(EXTRAS.get, CLUSTER_EXTRAS.split()))
    for text in group
]


def versions(python: str) -> dict[str, list[str]]:
    """The pinned versions of each package that hold for a Python on Linux."""
    place = {name: str(value) for name, value in default_environment().items()}
    place |= {"python_version": python, "python_full_version": f"{python}.9"}
    found: dict[str, list[str]] = {}
    for pin in PINS:
        if pin.marker is None or pin.marker.evaluate(place):
            found.setdefault(canonicalize_name(pin.name), []).extend(
                limit.version for limit in pin.specifier if limit.operator == "=="
            )
    return found


def test_file_says_which_command_writes_it():
    assert "#    make constraints\n" in TEXT
    assert "\nconstraints:" in MAKEFILE


def test_every_extra_is_for_clusters_or_for_another_engine():
    assert {*CLUSTER_EXTRAS.split()} | ENGINES == {*EXTRAS}


@pytest.mark.parametrize("python", PYTHONS)
def test_each_dependency_has_one_version_that_the_package_allows(python):
    found = versions(python)
    for wanted in ROOTS:
        (version,) = found[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), f"{wanted}: {version}"


@pytest.mark.parametrize("python", PYTHONS)
def test_no_package_has_two_versions(python):
    assert {name: pins for name, pins in versions(python).items() if len(pins) != 1} == {}


def test_dependencies_of_dependencies_have_a_version_too():
    """As far as they are installed here."""
    pinned = {canonicalize_name(pin.name) for pin in PINS}
    seen: set[str] = set()
    waiting = list(ROOTS)
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        assert name in pinned, wanted
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            continue
        waiting += [
            need
            for need in needs
            if need.marker is None
            or any(need.marker.evaluate({"extra": extra}) for extra in wanted.extras or {""})
        ]
    assert len(seen) > len(ROOTS)


def test_pyarrow_is_one_that_was_tested():
    page = (PROJECT / "docs" / "platforms.md").read_text(encoding="utf-8")
    for python in PYTHONS:
        (row,) = re.findall(rf"^\| {re.escape(python)} \|.*$", page, re.MULTILINE)
        assert versions(python)["pyarrow"][0] in row, row
