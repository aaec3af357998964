"""Mutants of good bytes are made to keep to the formats: to lengths and checksums."""

from __future__ import annotations

import struct

_LOG_MAGIC = b"#HUDI#"
_HFILE_MAGICS = (b"DATABLK*", b"IDXROOT2", b"IDXLEAF2", b"IDXINTE2", b"FILEINF2", b"METABLKc")
_CHECKSUM_TYPE_AT = 24  # in a block of an HFile


def with_block_lengths(data: bytes) -> bytes:
    """Give the blocks of a log file the right lengths."""
    head, *blocks = data.split(_LOG_MAGIC)
    out = [head]
    for block in blocks:
        inner = block[8:-8]
        length = struct.pack(">q", len(inner) + 8)
        out += [_LOG_MAGIC, length, inner, struct.pack(">q", len(inner) + 8 + len(_LOG_MAGIC))]
    return b"".join(out)


def without_checksums(data: bytes) -> bytes:
    """Let the blocks of an HFile claim that they have no checksums."""
    repaired = bytearray(data)
    for magic in _HFILE_MAGICS:
        at = repaired.find(magic)
        while 0 <= at < len(repaired) - _CHECKSUM_TYPE_AT:
            repaired[at + _CHECKSUM_TYPE_AT] = 0
            at = repaired.find(magic, at + 1)
    return bytes(repaired)
