"""docs/options.md says what the code does."""

import re

import pytest

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.options.other_options import HUDI_RS_IGNORED
from hudi_pyspark.options.read_options import (
    OPTIONS,
    ReadOptions,
    StreamOptions,
    key_of,
)
from hudi_pyspark.storage.stores import STORES
from tests.project.options_page import PAGE, default_text, render

# Options that belong to a range have a meaning only in one; so has every other, but the query type.
RANGE = {key_of("query_type"): "incremental", "begin": "earliest"}
BESIDE = {key_of("query_type"): {}, "cdc_format": RANGE | {"cdc": "true"}}  # what stands beside one
WORDS = {
    option.key: re.findall(r"`([^`]+)`", option.kind.values)
    for option in OPTIONS
    if re.fullmatch(r"(`\w+`(, )?)+", option.kind.values)
}
DEFAULTS = {
    option.key: default_text(option).strip("`")
    for option in OPTIONS
    if re.fullmatch(r"`\w+`|\d+", default_text(option))
}


def parsed(name, **given):
    if name == "hoodie.datasource.streaming.startOffset":
        return StreamOptions.parse(given)
    return ReadOptions.parse(BESIDE.get(name, RANGE) | given)


def test_table_of_the_page_is_up_to_date():
    page = PAGE.read_text(encoding="utf-8")
    assert page == render(page), "run: make docs"


def test_options_with_words_and_defaults_are_found():
    assert len(WORDS) >= 15
    assert len(DEFAULTS) >= 15


@pytest.mark.parametrize(
    ("name", "word"), [(name, word) for name, words in WORDS.items() for word in words]
)
def test_every_word_of_the_table_is_accepted(name, word):
    given = RANGE if word == "incremental" else {}
    parsed(name, **given | {name: word})


@pytest.mark.parametrize("name", sorted(WORDS))
def test_no_other_word_is_accepted(name):
    with pytest.raises(InvalidOptionError, match="other"):
        parsed(name, **{name: "other"})


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_of_the_table_is_what_counts_without_the_option(name):
    assert parsed(name, **{name: DEFAULTS[name]}) == parsed(name)


def section(title: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_page_lists_every_other_key():
    listed = set(
        re.findall(r"`(hoodie\.(?:read|plan|datasource\.view)\.[^`]+)`", section("Other keys"))
    )
    known = {key for option in OPTIONS for key in option.other_keys}
    assert listed == known | HUDI_RS_IGNORED


def test_page_lists_the_settings_of_each_storage():
    listed = set(re.findall(r"`([^`]+)`", section("Storage")))
    known = {setting.argument for store in STORES for setting in store.settings}
    azure_endpoints = {name for name in known if name.startswith(("blob_", "dfs_"))}
    assert known - listed == azure_endpoints
