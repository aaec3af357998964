"""Tables in zip files."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

_TESTS = Path(__file__).parents[2] / "tests"
_LEFT_OUT = (".crc", "_SUCCESS")  # checksums of Hadoop's local file system, marks of Spark


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack all files, and return the folder."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def golden_folder(case: str) -> Path:
    """Return the folder of a case of `tests/golden` or `tests/golden_extra`."""
    folder = _TESTS / "golden" / case
    return folder if folder.exists() else _TESTS / "golden_extra" / case


def read_files(archive: Path) -> dict[str, bytes]:
    """Return the contents of files by their names, without what only Hadoop and Spark look at."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if not name.endswith(("/", *_LEFT_OUT))]
        return {name: opened.read(name) for name in names}


@cache
def files_of(case: str) -> dict[str, bytes]:
    """Return the files of a golden table by their paths; not to be changed."""
    files = read_files(golden_folder(case) / "table.zip")
    return {name.partition("/")[2]: content for name, content in files.items()}


def pack(folder: Path, archive: Path, tables: tuple[str, ...] = ("",)) -> None:
    """Zip tables of a folder, by default all, without files that only Hadoop and Spark need."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as opened:
        for path in sorted(file for name in tables for file in _files(folder / name)):
            opened.write(path, path.relative_to(folder))


def _files(place: Path) -> list[Path]:
    found = [place] if place.is_file() else list(place.rglob("*"))
    return [path for path in found if path.is_file() and not path.name.endswith(_LEFT_OUT)]
