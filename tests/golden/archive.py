"""Zip files whose bytes depend on nothing but what is in them."""

from __future__ import annotations

import zipfile
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NO_TIME = (1980, 1, 1, 0, 0, 0)


@cache
def members(archive: Path) -> Mapping[str, bytes]:
    """Return the contents of a zip file by name; it is opened once in a process."""
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write_archive(archive: Path, contents: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in sorted(contents.items()):
            member = zipfile.ZipInfo(name, _NO_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(member, content, compresslevel=9)
    members.cache_clear()
