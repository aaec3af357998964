"""docs/how-a-read-works.md names no module that is gone."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "how-a-read-works.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE))))
def test_file_on_the_page_exists(name):
    assert (PROJECT / "hudi_pyspark" / name).exists() or (PROJECT / name).exists()


NOUNS = re.findall(r"(~~)?`([A-Z]\w+)`", PAGE.partition("## The parts")[0])


def test_forty_nouns_stand_between_a_question_and_a_row():
    assert len(NOUNS) == len({name for _, name in NOUNS}) == 40


@pytest.mark.parametrize(("crossed", "name"), NOUNS)
def test_noun_is_crossed_out_if_it_is_gone(crossed, name):
    sources = (PROJECT / "hudi_pyspark").rglob("*.py")
    pattern = re.compile(rf"^class {name}\b", re.MULTILINE)
    is_there = any(pattern.search(path.read_text(encoding="utf-8")) for path in sources)
    assert is_there != bool(crossed), f"{name}: cross it out on the page if its class is gone"
