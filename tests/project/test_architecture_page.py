"""docs/how-a-read-works.md names no module that is gone."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "how-a-read-works.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE))))
def test_file_on_the_page_exists(name):
    assert (PROJECT / "hudi_pyspark" / name).exists() or (PROJECT / name).exists()
