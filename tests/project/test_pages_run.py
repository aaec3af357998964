"""Each code block of README and docs runs as printed, or says why it cannot.

A page runs in an empty folder outside of the checkout, with a Python that is not on the PATH, as
that of a Jupyter kernel. The only command of its environment that is there is `hudi-py`.
"""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.project.page_blocks import CODE, blocks_of

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
OTHERS = [PROJECT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "verification/README.md")]
RUNNER = PROJECT / "tests" / "project" / "page_blocks.py"


def code_of(page: Path) -> str:
    """What runs of a page."""
    return "\n".join(block.text for block in blocks_of(page) if not block.reason)


def needs_spark(page: Path) -> bool:
    return "SparkSession" in code_of(page)


def by_name(page: Path) -> str:
    return page.name


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, for a process whose first python3 on the PATH has no package at all."""
    bare, empty = tmp_path / "bare", tmp_path / "empty"
    venv.EnvBuilder(symlinks=True).create(bare)
    hudi_py = bare / "bin" / "hudi-py"
    hudi_py.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hudi_pyspark.cli "$@"\n')
    hudi_py.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(hudi_py.parent), "/usr/bin", "/bin"]))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    empty.mkdir()
    return empty


def run(page: Path, folder: Path) -> str:
    """Run the blocks of a page; return what they print."""
    command = [sys.executable, str(RUNNER), str(page)]
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page.name == "README.md" else pytest.mark.cluster)
        for page in PAGES
        if needs_spark(page)
    ],
    ids=by_name,
)
def test_page_with_spark_runs(page, elsewhere):
    shown = run(page, elsewhere)
    for output in outputs_of(page):
        assert output in shown


@pytest.mark.parametrize(
    "page", [page for page in PAGES if code_of(page) and not needs_spark(page)], ids=by_name
)
def test_page_without_spark_runs(page, elsewhere):
    run(page, elsewhere)


def outputs_of(page: Path) -> list[str]:
    """What a page shows as the output of its code: text right below a block."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```\n\n```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=by_name)
def test_each_block_has_a_language(page):
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(.*)$", text, re.MULTILINE)
    assert {*fences[::2]} <= {*CODE, "text"}


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_marks_stand_above_blocks(page):
    marks = re.findall("<!-- (?:not run|needs)", page.read_text(encoding="utf-8"))
    assert len(marks) == sum(bool(block.reason or block.spark) for block in blocks_of(page))
