"""What Apache Hudi's bucket indexes hash, record by record: the slow twin of the reader."""

from __future__ import annotations

from collections.abc import Sequence

MASK = 0xFFFFFFFF
POSITIVE = 0x7FFFFFFF
PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)


def java_hash(text: str | None) -> int:
    """``String.hashCode``, without its sign; 0 for null."""
    units = (text or "").encode("utf-16-be")
    code = 0
    for place in range(0, len(units), 2):
        code = (31 * code + 256 * units[place] + units[place + 1]) & MASK
    return code


def list_hash(values: Sequence[str | None]) -> int:
    """``List.hashCode() & Integer.MAX_VALUE``."""
    code = 1
    for value in values:
        code = (31 * code + java_hash(value)) & MASK
    return code & POSITIVE


def ring_hash(values: Sequence[str | None]) -> int:
    """The 32-bit xxHash of the joined values, with the seed 0, without its sign."""
    data = "".join("null" if value is None else value for value in values).encode()
    return xxhash32(data) & POSITIVE


def xxhash32(data: bytes) -> int:
    one, two, three, four, five = PRIMES
    place = 0
    if len(data) >= 16:
        lanes = [(one + two) & MASK, two, 0, -one & MASK]
        while place + 16 <= len(data):
            for lane in range(4):
                word = int.from_bytes(data[place : place + 4], "little")
                lanes[lane] = rotate((lanes[lane] + word * two) & MASK, 13) * one & MASK
                place += 4
        code = sum(map(rotate, lanes, (1, 7, 12, 18))) & MASK
    else:
        code = five
    code = (code + len(data)) & MASK
    while place + 4 <= len(data):
        word = int.from_bytes(data[place : place + 4], "little")
        code = rotate((code + word * three) & MASK, 17) * four & MASK
        place += 4
    for octet in data[place:]:
        code = rotate((code + octet * five) & MASK, 11) * one & MASK
    code = (code ^ code >> 15) * two & MASK
    code = (code ^ code >> 13) * three & MASK
    return code ^ code >> 16


def rotate(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & MASK


def hashed_values(
    key: str, fields: Sequence[str], values: Sequence[str | None], *, is_old: bool
) -> list[str | None]:
    """Return what a writer hashes of a record key of some hash fields.

    Args:
        key: the record key.
        fields: hash fields, which are in the key unless it is of a single field.
        values: of the hash fields.
        is_old: whether the writer is of release 0.15, which ends values at commas. Later releases
            find the values; keys of which they do not are not written here.
    """
    if not is_old:
        return [key] if "," not in key or ":" not in key else list(values)
    if ":" not in key:
        return [key]
    found: list[str | None] = []
    for part in key.rstrip(",").split(","):
        name, colon, value = part.partition(":")
        if not colon:
            found.append(name)
        elif name in fields:
            found.append({"__null__": None, "__empty__": ""}.get(value, value))
    return found
