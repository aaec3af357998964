import re
from pathlib import Path

from hudi_pyspark.read.options import OPTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"


def test_page_lists_every_option_with_its_alias_and_no_other():
    table = PAGE.read_text(encoding="utf-8").split("## ")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \| (?:`(\w+)`)? ?\|", table, re.MULTILINE))
    known = {(option.key, option.alias) if option.key else (option.alias, "") for option in OPTIONS}
    assert listed == known
