"""docs/how-a-read-works.md and its picture name no module and no class that is gone."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "how-a-read-works.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE))))
def test_file_on_the_page_exists(name):
    assert (PROJECT / "hudi_pyspark" / name).exists() or (PROJECT / name).exists()


NOUNS = re.findall(r"`([A-Z]\w+)`", PAGE.partition("## The parts")[0])
PICTURE = (PROJECT / "docs" / "images" / "read.svg").read_text(encoding="utf-8")
# Names of classes have two capitals; other words of the picture have one.
DRAWN = sorted(set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", PICTURE)))


def test_at_most_forty_nouns_stand_between_a_question_and_a_row():
    assert len(NOUNS) == len(set(NOUNS)) <= 40


@pytest.mark.parametrize("name", [*NOUNS, *DRAWN])
def test_noun_is_a_class(name):
    sources = (PROJECT / "hudi_pyspark").rglob("*.py")
    pattern = re.compile(rf"^class {name}\b", re.MULTILINE)
    assert any(pattern.search(path.read_text(encoding="utf-8")) for path in sources)
