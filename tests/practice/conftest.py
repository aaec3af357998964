"""Fixture that unpacks a table of this folder."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def practice_table(tmp_path: Path) -> Callable[[str], Path]:
    """Unpack a table, by ``folder/name``, and return its base path."""

    def unpack(name: str) -> Path:
        with zipfile.ZipFile(Path(__file__).parent / f"{name}.zip") as file:
            file.extractall(tmp_path)
        return tmp_path / name.rpartition("/")[2]

    return unpack
