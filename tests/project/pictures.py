"""The pictures of docs/: a golden table as `HudiTable.plot` draws it, and the map of the package.

Run as a module, it writes them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hudi_pyspark import HudiTable
from tests.damage import set_property, unpack
from tests.project import package_map

PROJECT = Path(__file__).resolve().parents[2]
CASE = "v9_mor_compaction_inline"  # a compaction, and logs on top of it
FOLDER = PROJECT / "docs" / "images"


def pictures() -> dict[str, str]:
    """Name to SVG."""
    with tempfile.TemporaryDirectory() as folder:
        table = unpack(CASE, Path(folder))
        set_property(table, "hoodie.table.name", "orders")  # as the tables of the examples
        plot = HudiTable(str(table)).plot
        return {
            "timeline.svg": plot.timeline().to_svg(),
            "file_groups.svg": plot.file_groups().to_svg(),
            "package_map.svg": package_map.render(),
        }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
