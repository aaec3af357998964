"""docs/choosing.md says what pyproject.toml, the tests and the other pages say."""

import re
from pathlib import Path

import hudi_pyspark
from tests.golden.case import load_cases
from tests.project.ci_script import load

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
PAGE = (DOCS / "choosing.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())
PLATFORMS = (DOCS / "platforms.md").read_text(encoding="utf-8")
ABOUT = load("release_check").tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
CI = (PROJECT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def row(name: str) -> list[str]:
    """The cells of the row of the page that begins with a name."""
    (found,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def test_page_names_the_maturity():
    is_development = "its version is one of development" in WORDS
    assert is_development == (".dev" in hudi_pyspark.__version__)
    assert "Development Status :: 4 - Beta" in ABOUT["project"]["classifiers"]


def test_pythons_are_those_of_the_package():
    declared = [c.rpartition(" ")[2] for c in ABOUT["project"]["classifiers"] if "3." in c]
    assert row("Python")[0].split(", ") == declared


def test_sparks_are_those_that_public_ci_and_the_platforms_name():
    (matrix,) = re.findall(r"^        pyspark: \[(.*)\]", CI, re.MULTILINE)
    sparks = re.findall(r"[\d.]+", matrix)
    (heading,) = re.findall(r"^\| Python \| PySpark.*$", PLATFORMS, re.MULTILINE)
    assert re.findall(r"PySpark (\d\.\d)\.", heading) == sparks
    assert row("Spark")[0].split(", ") == sparks
    assert f"Spark {', '.join(sparks)}, classic or Connect" in row("Runs in")[0]


def test_lowest_and_newest_pyarrow_are_those_that_were_tested():
    lowest, newest = row("pyarrow")[0].split(" to ")
    assert f"pyarrow>={lowest}" in ABOUT["project"]["dependencies"]
    (table,) = re.findall(r"^\| Python \| PySpark.*\n((?:\|.*\n)+)", PLATFORMS, re.MULTILINE)
    found = set(re.findall(r"\d+\.\d+\.\d+", table))
    assert {lowest, newest} <= found
    assert max(found, key=lambda text: tuple(map(int, text.split(".")))) == newest


def test_releases_of_hudi_are_those_that_wrote_golden_tables():
    cases = [
        case
        for folder in ("golden", "golden_extra")
        for case in load_cases(PROJECT / "tests" / folder)
    ]
    releases = {case.facts["hudi_version"] for case in cases}
    written = {release for release in releases if re.fullmatch(r"[\d.]+", release)}
    named = set(re.findall(r"\b[01]\.\d+\.\d\b", row("tables")[0]))
    assert named == written


def test_measurements_are_those_of_the_benchmarks():
    benchmarks = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^## Speed and memory\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line for line in table.splitlines() if re.search(r"\| *\d", line)]
    numbers = [number for line in rows for number in re.findall(r"\| (\d+\.\d+)", line)]
    assert len(numbers) >= 18
    assert [number for number in numbers if number not in benchmarks] == []


def test_engines_of_the_command_exist():
    from benchmarks.engine import MODULES

    (names,) = re.findall(r"--engines ([\w,-]+)", PAGE)
    assert set(names.split(",")) <= set(MODULES)


def test_extras_of_the_constraints_are_those_of_the_command():
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    (extras,) = re.findall(r"^CLUSTER_EXTRAS := (.*)$", makefile, re.MULTILINE)
    (named,) = re.findall(r"with the extras ([\w, ]+):", WORDS)
    assert re.split(r", | and ", named) == extras.split()
