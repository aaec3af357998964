"""Find the record keys of a column's values, in a secondary index.

A record of the index has no value. Its key is the column's value, a dollar sign and the record
key; dollar signs, backslashes and zeros in both are escaped by a backslash. An entry proves that a
record key had the value when the entry was written. That there is no other proves nothing: Apache
Hudi's writers lose entries. So the index is asked only if the caller trusts it.

=======  =================================  =======================================================
version  the group of an entry is that of   so for one value
=======  =================================  =======================================================
1        its whole key                      every group is asked, and none may be lost
2        the value, with the dollar sign    one group is asked; if it has an entry, it is the right
                                            one, and else none may be lost
=======  =================================  =======================================================

Source: ``SecondaryIndexKeyUtils`` and ``getSecondaryKeyToFileGroupMappingFunction`` of Hudi's
HoodieTableMetadataUtil.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.metadata_table.records import merged_values

if TYPE_CHECKING:
    from hudi_pyspark.metadata_table.slices import Shards

_SEPARATOR = "$"
_SPECIAL = re.compile(r"([\\$\0])")
_PARTS = re.compile(r"((?:\\.|[^\\$])*\$)(.*)", re.DOTALL)


def record_keys_of(shards: Shards, version: int, values: Sequence[str]) -> set[str] | None:
    """Return the record keys of the rows whose column has one of some values.

    Args:
        shards: of the index.
        version: of its layout.
        values: of the column, as text.

    Returns:
        The keys; None if file groups of the index may be lost that have some.

    Raises:
        HudiError: a file of the index is missing or damaged.
    """
    prefixes = [_escaped(value) + _SEPARATOR for value in values]
    if version == 1:
        by_group = dict.fromkeys(range(len(shards.slices)), prefixes)
    else:
        by_group = {}
        for number, prefix in zip(shards.numbers(prefixes).tolist(), prefixes, strict=True):
            by_group.setdefault(number, []).append(prefix)
        shards.check_keys(by_group, _hashed_part)
    found: dict[str, set[str]] = {prefix: set() for prefix in prefixes}
    for number, own_prefixes in by_group.items():
        for key, _, _ in merged_values(shards.slices[number].find_prefixes(own_prefixes)):
            prefix, record_key = _parts(key)
            found[prefix].add(record_key)
    if version == 1:
        in_doubt = list(by_group)
        is_known = shards.are_all(in_doubt)
    else:
        in_doubt = [n for n, own in by_group.items() if not all(map(found.__getitem__, own))]
        is_known = all(shards.are_all([n], _hashed_part) for n in in_doubt)
    return set().union(*found.values()) if is_known else None


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _hashed_part(key: str) -> str:
    """Return what version 2 hashes of a key."""
    return _parts(key)[0]


def _parts(key: str) -> tuple[str, str]:
    """Split a key into the escaped value with its separator, and the record key."""
    parts = _PARTS.fullmatch(key)
    if parts is None:
        raise CorruptTableError(f"a secondary index has the key {key!r}, without a separator")
    return parts[1], re.sub(r"\\(.)", r"\1", parts[2], flags=re.DOTALL)
