"""CONTRIBUTING.md and the recipes name what exists, and say what each target takes."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGES = ("CONTRIBUTING.md", "docs/recipes.md")
PAGE = "".join((PROJECT / name).read_text(encoding="utf-8") for name in PAGES)
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
SOURCES = ("hudi_pyspark", "tests", "verification", "benchmarks", ".ci", ".github")
# What the page names and the project does not have: names of Apache Hudi, of Spark and of files
# that commands make, and texts that are examples.
OF_OTHERS = {
    "combineAndGetUpdateValue",
    "getInsertValue",
    "executeColumnar",
    "dist",
    ".venv-build",
    ".venv-engines",
    ".crc",
    "case.json",
    "secondary_index_<name>",
    "## 1.0.0 - 2026-01-31",
}
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))))
ROWS = [  # of the table of six commands, and of that of every command
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| `make ")
]


@cache
def paths() -> frozenset[str]:
    """Files and folders of the project, each with ``/`` before its path."""
    listed = [
        path.relative_to(PROJECT)
        for folder in (*SOURCES, "docs", "examples")
        for path in (PROJECT / folder).rglob("*")
        if "__pycache__" not in path.parts
    ]
    listed += [path.relative_to(PROJECT) for path in PROJECT.iterdir()]
    return frozenset(f"/{path.as_posix()}" for path in listed)


@cache
def words() -> frozenset[str]:
    """Words of the sources, without those of docstrings and comments."""
    suffixes = {".py", ".java", ".toml", ".yml", ".js", ".sh", ".ini"}
    texts = [
        path.read_text(encoding="utf-8")
        for folder in SOURCES
        for path in (PROJECT / folder).rglob("*")
        if path.suffix in suffixes and path.name != Path(__file__).name
    ]
    texts += [(PROJECT / "pyproject.toml").read_text(encoding="utf-8"), MAKEFILE]
    code = (re.sub(r'""".*?"""|#[^\n]*', "", text, flags=re.DOTALL) for text in texts)
    return frozenset(word for text in code for word in re.findall(r"\w+", text))


def targets() -> set[str]:
    """The targets that `make help` lists."""
    return set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))


def problem_of(span: str) -> str:
    """What the project lacks of a text in backticks; "" if it has all."""
    program, *arguments = span.split()
    if program == "make":
        return "" if not arguments or arguments[0] in targets() else "no such target"
    if span.startswith("python -m "):
        module = arguments[1].replace(".", "/")
        has_module = bool({f"/{module}.py", f"/{module}"} & paths())
        return "" if has_module else "no such module"
    if program == "hudi-py":
        missing = [word for word in arguments if word.islower() and word not in words()]
        return f"no such command: {missing}" if missing else ""
    if "/" in span or re.search(r"\.(py|java|md|toml|txt|yml|json)$", span):
        ending = f"/{span.rstrip('/')}"
        return "" if any(path.endswith(ending) for path in paths()) else "no such file"
    if not re.fullmatch(r"@?[\w.]+(\(.*\)[\w.()]*)?(=[\w.…-]+)?", span):
        return "neither a command nor a file nor a name: say in this test what it is"
    missing = [word for word in re.findall(r"[^\W\d]\w*", span) if word not in words()]
    return f"no such name: {missing}" if missing else ""


@pytest.mark.parametrize("span", [span for span in SPANS if span not in OF_OTHERS])
def test_text_in_backticks_names_what_exists(span):
    assert problem_of(span) == ""


@pytest.mark.parametrize(
    "span",
    [
        "@inspection_tabel(function.schema)",
        "make tset",
        "python -m tests.project.mesure",
        "hudi-py docter PATH",
        "options/opton.py",
        "base_flie.py",
        "table.inspect.file_slice_s()",
        "merge_cash=off",
        "a sentence",
    ],
)
def test_name_that_does_not_exist_is_noticed(span):
    assert problem_of(span) != ""


def test_exceptions_are_on_the_page():
    assert set(SPANS) >= OF_OTHERS


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0].strip('`')} {len(row)}" for row in ROWS])
def test_target_says_what_it_does_how_long_it_takes_and_what_it_needs(row):
    assert all(row)
    _, _, time, *_ = row
    assert re.search(r"second|minute|hour", time), time


def test_each_target_is_on_a_page():
    pages = PAGE + "".join(
        (PROJECT / name).read_text(encoding="utf-8")
        for name in ("README.md", "verification/README.md", "docs/benchmarks.md")
    )
    named = set(re.findall(r"\bmake ([a-z-]+)", pages))
    assert targets() - named == {"help"}


def test_make_knows_the_targets():
    shown = subprocess.run(
        ["make", "help"], cwd=PROJECT, check=True, capture_output=True, text=True
    ).stdout
    assert set(re.findall(r"make ([a-z-]+)", shown)) >= targets() - {"help"}
