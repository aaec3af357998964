"""`make lint` checks what is not Python: the script and the style of reports, and Java sources."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
FOLDERS = ("hudi_pyspark", "pyspark_hudi", "tests", "verification", "benchmarks", "examples")


def listed(variable: str) -> set[Path]:
    """Return the files that a variable of the Makefile lists, by name or by pattern."""
    found = re.search(rf"^{variable} := (.*)$", MAKEFILE, re.MULTILINE)
    assert found is not None
    patterns = found[1].removeprefix("$(wildcard ").removesuffix(")").split()
    return {path for pattern in patterns for path in PROJECT.glob(pattern)}


def existing(*suffixes: str) -> set[Path]:
    return {
        path
        for folder in FOLDERS
        for path in (PROJECT / folder).rglob("*")
        if path.suffix in suffixes
    }


def test_every_java_source_is_checked():
    assert listed("JAVA_FILES") == existing(".java")


def test_every_script_and_style_is_checked():
    assert listed("BIOME_FILES") == existing(".js", ".css")
