"""What a release consists of beside the package: recipe, citation, sizes."""

import re
import subprocess
import sys
from pathlib import Path

import hudi_pyspark
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


def test_version_stands_in_one_file():
    version = hudi_pyspark.__version__
    names = subprocess.run(
        ["git", "grep", "-lF", version], cwd=PROJECT, capture_output=True, text=True, check=False
    ).stdout.split()
    # The bill of materials and the tests of releases have versions as their content.
    expected = {"hudi_pyspark/version.py", ".ci/hudi_pyspark.cdx.json"}
    assert {name for name in names if not name.startswith("tests/")} <= expected


def test_source_distribution_is_small_and_complete(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    assert archive.stat().st_size < 2_200_000
