"""The site of README and docs: each page has a place in it, and each link leads somewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_site_is_built_without_a_warning(tmp_path):
    done = build(PROJECT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    pages = {page.with_suffix("").name for page in (PROJECT / "docs").glob("*.md")}
    built = {page.with_suffix("").name for page in tmp_path.glob("*.html")}
    assert pages | {"index", "CHANGELOG"} == built - {"404"}


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
    told = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    for name in ("gone.md", "#gone", "gone.ipynb"):
        assert any(f"'{name}'" in line or f"/{name}'" in line for line in told), done.stderr
    assert "stray.md" in done.stderr
