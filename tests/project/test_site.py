"""The site of README and docs: each page has a place in it, and each link leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hudi_pyspark

PROJECT = Path(__file__).resolve().parents[2]


def build(config: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    # Not --quiet: it hides warnings from --strict.
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", site],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once without a warning."""
    folder = tmp_path_factory.mktemp("site")
    done = build(PROJECT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_site_has_every_page(site):
    pages = {page.with_suffix("").name for page in (PROJECT / "docs").glob("*.md")}
    built = {page.with_suffix("").name for page in site.glob("*.html")}
    assert pages | {"index", "CHANGELOG", "CONTRIBUTING", "SECURITY"} == built - {"404"}


def test_api_page_describes_every_public_name(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    described = set(re.findall(r'<h\d id="hudi_pyspark\.(\w+)"', page))
    assert described == set(hudi_pyspark.__all__)


def test_api_page_has_the_docstrings(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "no data file is touched" in page  # HudiTable
    assert "Base of all errors" in page  # an error
    assert 'id="hudi_pyspark.Scan.to_arrow"' in page


def test_link_to_nowhere_and_page_without_a_place_fail_the_build(tmp_path):
    docs = tmp_path / "docs"
    shutil.copytree(PROJECT / "docs", docs)
    (docs / "stray.md").write_text("[a](gone.md) [b](sql.md#gone) [c](../examples/gone.ipynb)\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {PROJECT / 'mkdocs.yml'}\n"
        f"docs_dir: {docs}\n"
        f"hooks: ['{PROJECT / '.ci' / 'site_files.py'}']\n"
    )
    done = build(config, tmp_path / "site")
    assert done.returncode == 1
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    for name in ("gone.md", "#gone", "gone.ipynb"):
        assert any(f"'{name}'" in line or f"/{name}'" in line for line in warnings), done.stderr
    assert "stray.md" in done.stderr
