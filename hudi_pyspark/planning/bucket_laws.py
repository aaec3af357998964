"""How the buckets of a partition follow from record keys, as keys of the partition show.

See `bucket_index` for the proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isqrt
from typing import TypeAlias

import numpy as np

from hudi_pyspark.format.bucket_keys import (
    Hashes,
    Rule,
    Values,
    bucket_hashes,
    bucket_of,
    ring_hashes,
    values_in_key,
)
from hudi_pyspark.table.hashing_rings import Rings

Candidate: TypeAlias = tuple[tuple[str, ...], Rule]
"""Hash fields, and the rule by which their values are taken from a key."""
LEAST_KEYS = 40
"""Different hashes that show a law."""
_MOST_KEY_FIELDS = 4  # whose subsets are tried
_SCREENED = 32  # keys, which most wrong candidates fail on


class Layout(ABC):
    """How hashes choose the file groups of a partition."""

    @abstractmethod
    def knows(self, file_id: str) -> bool:
        """Return whether a file group is in the layout; any key may be in others."""

    @abstractmethod
    def hashes(self, rows: Sequence[Values]) -> Hashes:
        """Return the hashes of the values of hash fields."""

    @abstractmethod
    def shown_by(self, hashes: Hashes, file_ids: Sequence[str]) -> Layout | None:
        """Return the layout that keys show, by hash and file id; None if a key contradicts it."""

    @abstractmethod
    def may_have(self, hashes: Hashes) -> Callable[[str], bool]:
        """Return a function that says whether a file group may have one of some hashes."""


@dataclass(frozen=True, slots=True)
class SimpleBuckets(Layout):
    """File ids begin with ``hash mod N``."""

    least: int  # N is at least this number, above all buckets
    numbers: tuple[int, ...] = ()  # N is one of them; () for any number

    def knows(self, file_id: str) -> bool:
        return bucket_of(file_id) is not None

    def hashes(self, rows: Sequence[Values]) -> Hashes:
        return bucket_hashes(rows)

    def shown_by(self, hashes: Hashes, file_ids: Sequence[str]) -> SimpleBuckets | None:
        buckets = np.array([bucket_of(file_id) for file_id in file_ids], np.int64)
        divisor = int(np.gcd.reduce(hashes - buckets))
        numbers = self.numbers or _divisors(divisor)
        kept = tuple(n for n in numbers if n >= self.least and divisor % n == 0)
        return SimpleBuckets(self.least, kept) if kept else None

    def may_have(self, hashes: Hashes) -> Callable[[str], bool]:
        buckets = {int(bucket) for n in self.numbers for bucket in np.unique(hashes % n)}
        return lambda file_id: bucket_of(file_id) in buckets

    def __str__(self) -> str:
        return " or ".join(f"{number:,}" for number in self.numbers) + " buckets"


def _divisors(number: int) -> tuple[int, ...]:
    small = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
    return tuple(sorted({*small, *(number // n for n in small)}))


@dataclass(frozen=True, slots=True)
class HashingRing(Layout):
    """Each file group has an arc of a ring."""

    rings: Rings

    def knows(self, file_id: str) -> bool:
        return file_id in self.rings

    def hashes(self, rows: Sequence[Values]) -> Hashes:
        return ring_hashes(rows)

    def shown_by(self, hashes: Hashes, file_ids: Sequence[str]) -> HashingRing | None:
        fits = all(
            any(after < place <= last for arc in self.rings[file_id] for after, last in arc.parts)
            for place, file_id in zip(hashes.tolist(), file_ids, strict=True)
        )
        return self if fits else None

    def may_have(self, hashes: Hashes) -> Callable[[str], bool]:
        ordered = np.sort(hashes)

        def has_place(file_id: str) -> bool:
            parts = np.array([part for arc in self.rings[file_id] for part in arc.parts])
            ranks = np.searchsorted(ordered, parts, side="right")
            return bool((ranks[:, 0] < ranks[:, 1]).any())

        return has_place

    def __str__(self) -> str:
        return "a ring of consistent hashing"


@dataclass(frozen=True, slots=True)
class Law:
    """What the keys of a partition show."""

    candidate: Candidate
    layout: Layout

    def __str__(self) -> str:
        return f"{self.layout}, by {', '.join(self.candidate[0]) or 'the record key'}"


def find_laws(
    layout: Layout, located_keys: Sequence[tuple[str, str]], candidates: Sequence[Candidate]
) -> tuple[tuple[Law, ...], bool]:
    """Find the candidates that all keys fit.

    Args:
        layout: what is known of the partition before keys are looked at.
        located_keys: file id and record key.
        candidates: as `candidates` makes them.

    Returns:
        The laws, () with fewer than `LEAST_KEYS` hashes or keys of one file group; and whether
        each candidate contradicts a key.
    """
    keys = list(dict.fromkeys(located_keys))
    sample = keys[:: len(keys) // _SCREENED or 1]
    # All rules take the whole of a key without separators.
    are_plain = not any("," in key or ":" in key for _, key in keys)
    is_of_several = len({file_id for file_id, _ in keys}) > 1
    laws: list[Law] = []
    fits = not keys
    shown: dict[tuple[Values | None, ...], tuple[Layout | None, int]] = {}
    for fields, rule in candidates:
        for some_keys in (sample, keys):
            rows: tuple[Values | None, ...]
            if are_plain:
                rows = tuple((key,) for _, key in some_keys)
            else:
                rows = tuple(values_in_key(key, fields, rule) for _, key in some_keys)
            if rows not in shown:
                shown[rows] = _shown(layout, rows, [file_id for file_id, _ in some_keys])
            layout_of_keys, count = shown[rows]
            if layout_of_keys is None:
                break
        else:
            fits = True
            if layout_of_keys is not None and count >= LEAST_KEYS and is_of_several:
                laws.append(Law((fields, rule), layout_of_keys))
    return tuple(laws), not fits


def _shown(
    layout: Layout, rows: Sequence[Values | None], file_ids: Sequence[str]
) -> tuple[Layout | None, int]:
    """Return what keys show, and the number of their hashes; None if a key contradicts it."""
    complete = [row for row in rows if row is not None]
    if len(complete) < len(rows) or not rows:
        return None, 0
    hashes = layout.hashes(complete)
    return layout.shown_by(hashes, file_ids), len(np.unique(hashes))


def candidates(
    key_fields: tuple[str, ...], hash_fields: tuple[str, ...] = ()
) -> tuple[Candidate, ...]:
    """Return what writers may hash of a key: each part of its fields by each rule.

    Args:
        key_fields: of the record key.
        hash_fields: the only fields that may be hashed; () for any.
    """
    subsets = [hash_fields or key_fields]
    if not hash_fields and len(key_fields) <= _MOST_KEY_FIELDS:
        sizes = range(len(key_fields) - 1, 0, -1)
        subsets += [part for size in sizes for part in combinations(key_fields, size)]
    rules = [rule for rule in Rule if rule is not Rule.WHOLE]
    # The whole key is hashed, whatever the hash fields are, if the key has none of them.
    return ((key_fields, Rule.WHOLE), *((part, rule) for part in subsets for rule in rules))
