"""docs/how-a-read-works.md names every module of the pipeline, and no others."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "hudi_pyspark"
PAGE = (PROJECT / "docs" / "how-a-read-works.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([\w/]+\.py)`", PAGE))
MODULES = [
    path.relative_to(PACKAGE).as_posix()
    for folder in ("options", "filter", "columns", "planning", "reading", "table", "format")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if path.name != "__init__.py"
]


@pytest.mark.parametrize("module", MODULES)
def test_module_is_on_the_page(module):
    assert re.search(rf"^\| `{module}` \|", PAGE, re.MULTILINE), "add a row for it"


@pytest.mark.parametrize("name", sorted(NAMED))
def test_file_on_the_page_exists(name):
    assert (PACKAGE / name).exists() or (PROJECT / name).exists()
