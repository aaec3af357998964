import re
from pathlib import Path

from hudi_pyspark.read.hudi_rs_options import HUDI_RS_IGNORED, HUDI_RS_KEYS
from hudi_pyspark.read.options import OPTIONS
from hudi_pyspark.storage_options import SETTINGS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"


def test_page_lists_every_option_with_its_alias_and_no_other():
    table = PAGE.read_text(encoding="utf-8").split("## ")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \| (?:`(\w+)`)? ?\|", table, re.MULTILINE))
    known = {(option.key, option.alias) if option.key else (option.alias, "") for option in OPTIONS}
    assert listed == known


def section(title: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_page_lists_every_key_of_hudi_rs_and_no_other():
    listed = set(re.findall(r"`(hoodie\.(?:read|plan)\.[^`]+)`", section("Keys of hudi-rs")))
    assert listed == set(HUDI_RS_KEYS) | HUDI_RS_IGNORED


def test_page_lists_the_settings_of_each_storage():
    listed = set(re.findall(r"`([^`]+)`", section("Storage")))
    known = {setting.argument for settings in SETTINGS.values() for setting in settings}
    azure_endpoints = {name for name in known if name.startswith(("blob_", "dfs_"))}
    assert known - listed == azure_endpoints
