"""The keys of statistics and Bloom filters: hashes of columns, partitions and file names."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import TYPE_CHECKING

from hudi_pyspark.format.hashes import xxhash64
from hudi_pyspark.planning.metadata_table.records import UNPARTITIONED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_pyspark.table.file_group import BaseFile, LogFile

_SEED = 0xFFFFFFFFDABADABA  # of Hudi's HashID


def column_keys(names: Iterable[str]) -> dict[str, str]:
    """Return the part of a key that says which column, by the column's dotted name."""
    listed = list(names)
    hashes = xxhash64([name.encode() for name in listed], _SEED).tolist()
    keys = (b64encode(number.to_bytes(8, "big")).decode() for number in hashes)
    return dict(zip(listed, keys, strict=True))


def partition_keys(paths: Iterable[str]) -> dict[str, str]:
    """Return the part of a key that says which partition, by its path."""
    names = {path: path or UNPARTITIONED for path in paths}
    keys = column_keys(names.values())  # hashed in the same way
    return {path: keys[name] for path, name in names.items()}


def file_key(file: BaseFile | LogFile) -> str:
    """Return the part of a key that says which file of its partition."""
    name = file.path.rpartition("/")[2].encode()
    return b64encode(hashlib.md5(name, usedforsecurity=False).digest()).decode()
