"""Run the Spark tests on many pairs of Python and PySpark (`make matrix`).

python .ci/matrix.py [--python 3.10,3.13] [--spark 4.0,4.3] [--pyarrow lowest,newest] [--pairs]
                     [TESTS...]

Each cell gets its environment in `.venv-matrix/`, which is made once. A cell whose Python
is not on this machine, or for which pip finds no packages, is reported as such: it does not count
as passed. The report is a Markdown table; the exit code is 1 where a test failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from versions import PYPROJECT, group_requirements, lowest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROJECT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = PROJECT / ".venv-matrix"
# Batches, Connect, the optimizer's rule, streams, and files that Spark reads itself.
TESTS = (PROJECT / ".ci" / "platform_tests.txt").read_text(encoding="utf-8").split()
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
SPARKS = ("4.0", "4.1", "4.2", "4.3")
PYARROWS = ("lowest", "newest")
_TOOLS = ("pytest", "hypothesis", "chispa", "pandas", "fsspec")  # of the group test


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination, and what came of it."""

    python: str
    spark: str
    pyarrow: str
    outcome: str = ""
    versions: str = ""  # those that pip chose
    seconds: float = 0.0

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return ENVIRONMENTS / f"python{self.python}-spark{self.spark}-{self.pyarrow}"

    @property
    def is_failure(self) -> bool:
        """Whether tests ran and did not all pass."""
        return bool(re.search(r"failed|error", self.outcome))


def requirements(cell: Cell) -> list[str]:
    """Return what pip installs beside the package."""
    pyproject = tomllib.loads(PYPROJECT.read_text("utf-8"))
    declared = [Requirement(text) for text in pyproject["project"]["dependencies"]]
    if cell.pyarrow == "lowest":
        declared = [lowest(found) if found.name == "pyarrow" else found for found in declared]
    group = group_requirements(pyproject["dependency-groups"], "test")
    tools = [found for found in group if found.name in _TOOLS]
    return [f"pyspark[connect]=={cell.spark}.*", *map(str, [*declared, *tools])]


def run(cell: Cell, tests: Sequence[str]) -> Cell:
    """Make the environment of a cell where it is missing, run the tests, and return the outcome."""
    begin = time.monotonic()
    refusal = _environment(cell)
    if refusal:
        return Cell(cell.python, cell.spark, cell.pyarrow, refusal)
    python = str(cell.folder / "bin" / "python")
    environment = {**os.environ, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    done = _call([python, "-m", "pytest", "-q", *_QUIET, "-m", "spark", *tests], environment)
    summary = re.sub(r" in [\d.]+s.*", "", (done.stdout.strip().splitlines() or ["no output"])[-1])
    if done.returncode:
        log = cell.folder.with_name(f"{cell.folder.name}.log")  # the name has dots
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
    found = _call([python, "-c", _VERSIONS], environment).stdout.strip()
    seconds = time.monotonic() - begin
    return Cell(cell.python, cell.spark, cell.pyarrow, summary.strip("= "), found, seconds)


# PySpark 4.0 leaves sockets for the garbage collector to close.
_QUIET = ("-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning")
_VERSIONS = "import pyspark, pyarrow, numpy; print(pyspark.__version__, pyarrow.__version__)"


def _environment(cell: Cell) -> str:
    """Make the environment; return why it cannot be made, or ""."""
    stamp = cell.folder / ".made"
    if stamp.exists():
        return ""
    try:
        made = _call([f"python{cell.python}", "-m", "venv", "--clear", str(cell.folder)])
    except FileNotFoundError:
        made = None
    if made is None or made.returncode:
        return f"no Python {cell.python}"
    pip = [str(cell.folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    # Other source distributions would be compiled: a missing wheel is an answer, too.
    wheels = ["install", "-q", "--only-binary", ":all:", "--no-binary", "pyspark"]
    for arguments in ([*wheels, *requirements(cell)], ["install", "-q", "--no-deps", "-e", "."]):
        installed = _call([*pip, *arguments])
        if installed.returncode:
            lines = [line for line in installed.stderr.splitlines() if line.startswith("ERROR")]
            return f"pip: {(lines or ['refused'])[0].removeprefix('ERROR: ')[:90]}"
    stamp.touch()
    return ""


def _call(
    command: list[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )


def report(cells: Sequence[Cell]) -> str:
    """Return the outcomes as a Markdown table."""
    lines = ["| Python | PySpark | pyarrow | PySpark and pyarrow installed | outcome | seconds |"]
    lines.append("|---|---|---|---|---|---:|")
    lines += [
        f"| {c.python} | {c.spark} | {c.pyarrow} | {c.versions} | {c.outcome} | {c.seconds:.0f} |"
        for c in cells
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Run all cells; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=",".join(PYTHONS))
    parser.add_argument("--spark", default=",".join(SPARKS))
    parser.add_argument("--pyarrow", default=",".join(PYARROWS))
    parser.add_argument(
        "--pairs", action="store_true", help="half of the cells, with every two values"
    )
    parser.add_argument("tests", nargs="*", default=TESTS)
    given = parser.parse_args(arguments)
    done: list[Cell] = []
    for cell in _cells(given):
        done.append(run(cell, given.tests))
        print(report(done[-1:]).splitlines()[-1], flush=True)
    print(f"\n{report(done)}")
    return int(any(cell.is_failure for cell in done))


def _cells(given: argparse.Namespace) -> Iterator[Cell]:
    lists = [getattr(given, name).split(",") for name in ("python", "spark", "pyarrow")]
    for places in product(*map(range, map(len, lists))):
        # As on a chessboard: neighbours differ in pyarrow, so each two values come together.
        if not given.pairs or sum(places) % 2 == 0:
            yield Cell(*(values[place] for values, place in zip(lists, places, strict=True)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
