"""What Apache Hudi's bucket index hashes of a record key, and how.

A bucket index hashes the values of its *hash fields*, which are fields of the record key. Writers
take the values out of the record key's text, and no file says by which rule. The rules agree on
keys without commas and colons.

==================  =============================================================================
`Rule`              how writers take the values of ``b`` out of ``a:1,b:2``
==================  =============================================================================
``WHOLE``           The whole key is the value.
``PAIRS``           Up to 0.12: pairs of name and value; a value ends at its next colon.
``FIRST_COLON``     0.13 to 0.15: each part between commas ends its name at the first colon, and a
                    part without a colon is a value of its own. A key without a colon is a value as
                    a whole.
``EACH_PART``       The same, also of a key without a colon.
``LAST_COMMA``      From 1.1 on: a value ends at the last comma before the next colon. A key without
                    a comma or without a colon is a value as a whole.
==================  =============================================================================

Source: ``getHashKeys`` of Hudi's BucketIdentifier, ``extractRecordKeysByFields`` of KeyGenUtils.
"""

import enum
import re
from collections.abc import Collection, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hudi_pyspark.format.hashes import java_hash_codes, xxhash32

Values: TypeAlias = tuple[str | None, ...]
"""The values of hash fields, in the order in which they are hashed."""
Hashes: TypeAlias = npt.NDArray[np.int64]

MOST_BUCKETS = 100_000
"""Of a simple bucket index; one UUID in 40,000 begins with eight digits below it."""
_POSITIVE = 0x7FFFFFFF
_BUCKET = re.compile(r"[0-9]{8}-").match
_UUID_OF_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-3").match
_SEPARATORS = re.compile("[,:]")
NULL_PART = "__null__"
EMPTY_PART = "__empty__"
"""What key generators write for a null and for an empty field in a key of several fields."""
_PLACEHOLDERS = {NULL_PART: None, EMPTY_PART: ""}


class Rule(enum.Enum):
    """How a writer takes the values of hash fields out of a record key."""

    WHOLE = enum.auto()
    PAIRS = enum.auto()
    FIRST_COLON = enum.auto()
    EACH_PART = enum.auto()
    LAST_COMMA = enum.auto()


def values_in_key(key: str, hash_fields: Sequence[str], rule: Rule) -> Values | None:
    """Return what a writer hashes of a record key; None if the writer fails on the key."""
    is_whole = rule in (Rule.PAIRS, Rule.FIRST_COLON) and ":" not in key
    if rule is Rule.WHOLE or is_whole or not _SEPARATORS.search(key):
        return (key,)
    if rule is Rule.PAIRS:
        return _by_pairs(key, hash_fields)
    if rule is Rule.LAST_COMMA:
        return _by_last_comma(key, hash_fields)
    return _by_first_colon(key, hash_fields)


def _by_pairs(key: str, hash_fields: Sequence[str]) -> Values | None:
    pairs = [_java_split(part, ":") for part in _java_split(key, ",")]
    names = {pair[0] for pair in pairs if len(pair) > 1}
    if len(names) < len(pairs):  # a part without a value, or a name twice
        return None
    values = {pair[0]: pair[1] for pair in pairs}
    return tuple(values.get(name) for name in hash_fields)


def _by_first_colon(key: str, hash_fields: Collection[str]) -> Values:
    parts = [part.partition(":") for part in _java_split(key, ",")]
    return tuple(
        _PLACEHOLDERS.get(value, value) if colon else name
        for name, colon, value in parts
        if not colon or name in hash_fields
    )


def _by_last_comma(key: str, hash_fields: Collection[str]) -> Values | None:
    if "," not in key or ":" not in key:
        return (key,)
    values: list[str | None] = []
    start = 0
    while start < len(key):
        colon = key.find(":", start)
        if colon < 0:  # Apache Hudi fails on such a key
            return None
        is_hashed = key[start:colon] in hash_fields
        # The value goes on until a colon that has a comma between itself and the value's begin.
        next_colon = key.find(":", colon + 1)
        comma = key.rfind(",", colon, next_colon) if next_colon >= 0 else -1
        while comma < 0 <= next_colon:
            next_colon = key.find(":", next_colon + 1)
            comma = key.rfind(",", colon, next_colon) if next_colon >= 0 else -1
        # Where no colon follows, Apache Hudi finds a comma only before the value.
        end = comma if comma >= 0 else len(key)
        if is_hashed:
            value = key[colon + 1 : end]
            values.append(_PLACEHOLDERS.get(value, value))
        start = end + 1
    return tuple(values) or (key,)


def _java_split(text: str, separator: str) -> list[str]:
    """Split as Java does, which leaves out empty parts at the end."""
    parts = text.split(separator)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if text and parts == [""] else parts


def bucket_of(file_id: str) -> int | None:
    """Return the bucket that a file id begins with; None if it begins with none."""
    number = int(file_id[:8]) if _BUCKET(file_id) else MOST_BUCKETS
    return number if number < MOST_BUCKETS else None


def is_uuid_of_name(file_id: str) -> bool:
    """Return whether a file id is one of those with which a ring of file groups begins."""
    return _UUID_OF_NAME(file_id) is not None


def bucket_hashes(rows: Sequence[Values]) -> Hashes:
    """Return the hash by which a simple bucket index chooses a bucket: that of a Java list."""
    width = max(map(len, rows), default=0)
    hashes = np.ones(len(rows), np.uint32)
    for place in range(width):
        has_value = np.array([len(row) > place for row in rows], np.bool_)
        column = [row[place] if len(row) > place else None for row in rows]
        codes = java_hash_codes([text or "" for text in column]).view(np.uint32)  # of null: 0
        hashes = np.where(has_value, hashes * np.uint32(31) + codes, hashes)
    return hashes.astype(np.int64) & _POSITIVE


def ring_hashes(rows: Sequence[Values]) -> Hashes:
    """Return the place of values on the ring of a consistent hashing index."""
    # Java joins null as "null".
    texts = ["".join("null" if text is None else text for text in row).encode() for row in rows]
    return xxhash32(texts).astype(np.int64) & _POSITIVE
