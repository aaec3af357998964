"""Fixture that unpacks a table of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.golden.case import load_case

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def practice_table(tmp_path: Path) -> Callable[[str], Path]:
    """Unpack a table, by ``folder/name``, and return its base path."""

    def unpack(name: str) -> Path:
        return load_case(Path(__file__).parent / name).extract(tmp_path)

    return unpack
