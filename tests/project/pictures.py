"""The pictures of docs/pictures.md: a golden table with a compaction and logs on top of it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_pyspark import HudiTable

if TYPE_CHECKING:
    from hudi_pyspark.plot import Picture

PROJECT = Path(__file__).resolve().parents[2]
CASE = "v9_mor_compaction_inline"
FOLDER = PROJECT / "docs" / "images"


def pictures() -> dict[str, Picture]:
    """Name to picture."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(PROJECT / "tests" / "golden" / CASE / "table.zip", folder)
        plot = HudiTable(f"{folder}/{CASE}").plot
        return {"timeline.svg": plot.timeline(), "file_groups.svg": plot.file_groups()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, drawn in pictures().items():
        drawn.save(FOLDER / name)
