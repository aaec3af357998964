"""tests/golden_extra/README.md describes every case there, and no others."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "golden_extra"


def test_every_case_has_a_row():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(x_\w+[a-z0-9])` \| .+ \|$", page, re.MULTILINE)
    assert described == sorted(case.parent.name for case in FOLDER.glob("*/case.toml"))
