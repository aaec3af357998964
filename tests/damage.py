"""Ways to damage a copy of a golden table."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tests.conftest import GOLDEN

if TYPE_CHECKING:
    from pathlib import Path


def unpack(case: str, folder: Path) -> Path:
    """A copy of a golden table to damage; returns its base path."""
    with zipfile.ZipFile(GOLDEN / case / "table.zip") as archive:
        archive.extractall(folder)
    return folder / case


def damage_column(table: Path, name: str) -> int:
    """Fill one column's pages with zeros in every base file; returns the number of files."""
    files = [path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts]
    for path in files:
        content = bytearray(path.read_bytes())
        metadata = pq.read_metadata(path)
        for group in range(metadata.num_row_groups):
            columns = [metadata.row_group(group).column(i) for i in range(metadata.num_columns)]
            chunk = next(column for column in columns if column.path_in_schema == name)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            content[start : start + chunk.total_compressed_size] = bytes(
                chunk.total_compressed_size
            )
        path.write_bytes(content)
    return len(files)


def data_file(table: Path, pattern: str) -> Path:
    """The newest data file whose name matches, e.g. ``*.parquet`` or ``.*.log.*``."""
    found = [p for p in table.rglob(pattern) if ".hoodie" not in p.parts and p.suffix != ".crc"]
    return max(found, key=lambda path: path.name.rpartition("_")[2])


def set_property(table: Path, key: str, value: str | None) -> None:
    """Set a key of hoodie.properties, or remove it."""
    file = table / ".hoodie" / "hoodie.properties"
    kept = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}=")]
    file.write_text("\n".join([*kept, *([f"{key}={value}"] if value is not None else [])]) + "\n")
