"""The site of README and docs: each page has a place in it, and each link leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hudi_pyspark

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once without a warning."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: it hides warnings from --strict.
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_site_has_every_page(site):
    pages = {page.with_suffix("").name for page in (PROJECT / "docs").glob("*.md")}
    built = {page.with_suffix("").name for page in site.glob("*.html")}
    assert pages | {
        "index",
        "CHANGELOG",
        "CODE_OF_CONDUCT",
        "CONTRIBUTING",
        "SECURITY",
    } == built - {"404"}


def test_api_page_describes_every_public_name(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    described = set(re.findall(r'<h\d id="hudi_pyspark\.(\w+)"', page))
    assert described == set(hudi_pyspark.__all__)


def test_api_page_has_the_docstrings(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "opens no data file" in page  # HudiTable
    assert "Base of all errors" in page  # an error
    assert 'id="hudi_pyspark.Scan.to_arrow"' in page


def test_names_in_tables_break_after_dots_and_underscores(site):
    page = (site / "options.html").read_text(encoding="utf-8")
    assert "<code>hoodie.<wbr>datasource.<wbr>query.<wbr>type</code>" in page
    assert "<wbr>" not in (site / "quickstart.html").read_text(encoding="utf-8")
