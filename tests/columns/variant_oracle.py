"""Slow decoder of variants: one value after the other, as the specification describes them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

_WIDTHS = {0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8, 7: 8, 8: 5, 9: 9, 10: 17, 11: 4, 12: 8, 13: 8,
           14: 4, 17: 8, 18: 8, 19: 8, 20: 16}  # fmt: skip


def decoded(value: bytes, metadata: bytes) -> object:
    """Return a tree: objects as dicts, arrays as lists, others as their type and bytes.

    A tree has nothing of the freedom that the encoding leaves, such as the places of names in the
    dictionary. Short and long texts have one type. Fields that are not in the order of their names,
    and bytes that are left over, are errors.
    """
    names = _names(metadata)
    tree, end = _value(value, 0, names)
    assert end == len(value), f"{len(value) - end} bytes are left over"
    return tree


def decoded_in(row: object) -> object:
    """Return nested values in which each variant is its tree; text where there is none."""
    if isinstance(row, Mapping) and set(row) == {"value", "metadata"}:
        return decoded(row["value"], row["metadata"])
    if isinstance(row, Mapping):
        return {name: decoded_in(part) for name, part in row.items()}
    if isinstance(row, list | tuple):
        return [decoded_in(part) for part in row]
    return f"{row!r}"


def _number(octets: bytes, place: int, width: int) -> int:
    assert place + width <= len(octets), "the bytes end early"
    return int.from_bytes(octets[place : place + width], "little")


def _names(metadata: bytes) -> list[str]:
    assert metadata[0] & 15 == 1
    width = (metadata[0] >> 6) + 1
    count = _number(metadata, 1, width)
    ends = [_number(metadata, 1 + width * (i + 1), width) for i in range(count + 1)]
    texts = metadata[1 + width * (count + 2) :]
    return [texts[a:b].decode() for a, b in itertools.pairwise(ends)]


def _value(octets: bytes, place: int, names: list[str]) -> tuple[Any, int]:
    basic = octets[place] & 3
    header = octets[place] >> 2
    place += 1
    if basic == 1:
        return ("text", octets[place : place + header]), place + header
    if basic == 0 and header in (15, 16):
        begin = place + 4
        size = _number(octets, place, 4)
        kind = "text" if header == 16 else "binary"
        return (kind, octets[begin : begin + size]), begin + size
    if basic == 0:
        end = place + _WIDTHS[header]
        assert end <= len(octets)
        return (header, octets[place:end]), end
    is_large = header >> (4 if basic == 2 else 2) & 1
    count = _number(octets, place, 4 if is_large else 1)
    place += 4 if is_large else 1
    ids = []
    if basic == 2:
        width = (header >> 2 & 3) + 1
        ids = [_number(octets, place + i * width, width) for i in range(count)]
        place += count * width
    width = (header & 3) + 1
    offsets = [_number(octets, place + i * width, width) for i in range(count + 1)]
    place += (count + 1) * width
    parts = [_value(octets, place + offset, names) for offset in offsets[:-1]]
    assert (
        sum(end - place - offset for (_, end), offset in zip(parts, offsets, strict=False))
        == (offsets[-1])
    ), "values overlap, or have gaps"
    trees = [tree for tree, _ in parts]
    if basic == 3:
        return trees, place + offsets[-1]
    fields = [names[i] for i in ids]
    by_name = sorted(set(fields), key=lambda name: name.encode("utf-16-be"))
    assert fields == by_name, "fields are not in the order of names, as Java sorts them"
    return dict(zip(fields, trees, strict=True)), place + offsets[-1]
