"""What a release consists of beside the package: recipe, citation, sizes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.ci_script import load

PROJECT = Path(__file__).resolve().parents[2]
METADATA = load("release_check").tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
RECIPE = (PROJECT / ".ci" / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def test_recipe_for_conda_requires_what_the_package_requires():
    required = [re.sub(r"([<>=])", r" \1", text, count=1) for text in dependencies()]
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    assert re.findall(r"- (.+)", run)[1:] == sorted(required)


def dependencies():
    return METADATA["project"]["dependencies"]


@pytest.mark.parametrize("file", [".ci/conda/recipe.yaml", "CITATION.cff"])
def test_version_is_that_of_the_package(file):
    text = (PROJECT / file).read_text(encoding="utf-8")
    found = re.findall(r"^\s*version: (\d.*)$", text, re.MULTILINE)
    assert found == [METADATA["project"]["version"]]


def test_source_distribution_is_small_and_complete(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    assert archive.stat().st_size < 2_000_000
