"""Tables in zip files."""

from __future__ import annotations

import zipfile
from pathlib import Path

_LEFT_OUT = (".crc", "_SUCCESS")  # checksums of Hadoop's local file system, marks of Spark


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack all files, and return the folder."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def pack(folder: Path, archive: Path, tables: tuple[str, ...] = ("",)) -> None:
    """Zip tables of a folder, without files that only Hadoop and Spark look at.

    Args:
        folder: in which the tables are.
        archive: a file that is replaced.
        tables: names below the folder; by default all that is there.
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as opened:
        for path in sorted(file for name in tables for file in _files(folder / name)):
            opened.write(path, path.relative_to(folder))


def _files(place: Path) -> list[Path]:
    found = [place] if place.is_file() else list(place.rglob("*"))
    return [path for path in found if path.is_file() and not path.name.endswith(_LEFT_OUT)]
