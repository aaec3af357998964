"""Mutants of good bytes that keep to the formats: lengths, checksums and parts of other files."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import Literal

_LOG_MAGIC = b"#HUDI#"
_HFILE_MAGICS = (b"DATABLK*", b"IDXROOT2", b"IDXLEAF2", b"IDXINTE2", b"FILEINF2", b"METABLKc")
_CHECKSUM_TYPE_AT = 24  # in a block of an HFile
_INTEGERS = (0, 1, -1, 2, 127, 128, -128, 255, 65535, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
_TOKENS = (
    b"#HUDI#",
    b"PAR1",
    b'"null"',
    b'{"type":"array","items":',
    b'{"type":"record","name":"r","fields":[',
    b'{"name":"a","type":',
    b"../",
    b"\\u0000",
    b"\xff" * 10,
    b"\x80" * 9 + b"\x01",
    b"[" * 50,
)


def mutate(data: bytes, others: Sequence[bytes], generator: random.Random) -> bytes:
    """Return a mutant of some bytes, with a few changes of one kind or another."""
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        data = generator.choice(_CHANGES)(data, others, generator)
    return data


def mutate_block(data: bytes, others: Sequence[bytes], generator: random.Random) -> bytes:
    """Return a mutant of a log file; mostly its blocks have the right lengths nevertheless."""
    mutant = mutate(data, others, generator)
    return mutant if generator.random() < 0.2 else _with_block_lengths(mutant)


def mutate_hfile(data: bytes, others: Sequence[bytes], generator: random.Random) -> bytes:
    """Return a mutant of an HFile, whose blocks mostly claim that they have no checksums."""
    mutant = bytearray(mutate(data, others, generator))
    if generator.random() < 0.8:
        for magic in _HFILE_MAGICS:
            at = mutant.find(magic)
            while 0 <= at < len(mutant) - _CHECKSUM_TYPE_AT:
                mutant[at + _CHECKSUM_TYPE_AT] = 0
                at = mutant.find(magic, at + 1)
    return bytes(mutant)


def _with_block_lengths(data: bytes) -> bytes:
    head, *blocks = data.split(_LOG_MAGIC)
    out = [head]
    for block in blocks:
        inner = block[8:-8]
        length = struct.pack(">q", len(inner) + 8)
        out += [_LOG_MAGIC, length, inner, struct.pack(">q", len(inner) + 8 + len(_LOG_MAGIC))]
    return b"".join(out)


def _set_byte(data: bytes, _: Sequence[bytes], generator: random.Random) -> bytes:
    at = generator.randrange(len(data) + 1)
    return data[:at] + bytes([generator.randrange(256)]) + data[at + 1 :]


def _flip_bit(data: bytes, _: Sequence[bytes], generator: random.Random) -> bytes:
    if not data:
        return data
    at = generator.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << generator.randrange(8)]) + data[at + 1 :]


def _set_integer(data: bytes, _: Sequence[bytes], generator: random.Random) -> bytes:
    """Overwrite some bytes with a number on an edge, as the formats write numbers."""
    number = generator.choice(_INTEGERS) + generator.choice((0, 0, 1, -1))
    size = generator.choice((1, 2, 4, 8))
    order: Literal["big", "little"] = generator.choice(("big", "little"))
    octets = (number % (1 << 8 * size)).to_bytes(size, order)
    at = generator.randrange(len(data) + 1)
    return data[:at] + octets + data[at + size :]


def _insert_token(data: bytes, _: Sequence[bytes], generator: random.Random) -> bytes:
    at = generator.randrange(len(data) + 1)
    return data[:at] + generator.choice(_TOKENS) + data[at:]


def _cut(data: bytes, _: Sequence[bytes], generator: random.Random) -> bytes:
    start, end = sorted(generator.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def _repeat(data: bytes, _: Sequence[bytes], generator: random.Random) -> bytes:
    start, end = sorted(generator.randrange(len(data) + 1) for _ in range(2))
    end = min(end, start + 1024)
    return data[:end] + data[start:end] * generator.choice((1, 1, 3)) + data[end:]


def _splice(data: bytes, others: Sequence[bytes], generator: random.Random) -> bytes:
    other = generator.choice(others) if others else data
    return data[: generator.randrange(len(data) + 1)] + other[generator.randrange(len(other) + 1) :]


_CHANGES: tuple[Callable[[bytes, Sequence[bytes], random.Random], bytes], ...] = (
    _set_byte, _flip_bit, _set_integer, _insert_token, _cut, _repeat, _splice,
)  # fmt: skip
