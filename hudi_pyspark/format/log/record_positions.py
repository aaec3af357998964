"""Decode the RECORD_POSITIONS header: row ordinals in the base file."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from hudi_pyspark.errors import CorruptLogBlockError

Ordinals = npt.NDArray[np.int64]

_COOKIE = 12346  # without run containers
_COOKIE_WITH_RUNS = 12347
_RUNS_OFFSETS_FROM = 4  # with run containers, offsets are present only from this container count on
_MOST_CONTAINERS = 65536
_ARRAY_LIMIT = 4096  # a container of more values is a bitmap
_BITMAP_BYTES = 8192
_BYTE, _SHORT, _INT, _LONG = map(np.dtype, ("u1", "<u2", "<u4", "<u8"))
_BIG_ENDIAN_INT = np.dtype(">i4")
_LONGEST_VARINT = 9  # bytes: no file has 2**63 rows


class _TooMany(Exception):
    """There are more positions than allowed; a few bytes may claim very many."""


def decode_positions(
    text: str, most: int, *, is_list: bool, path: str, offset: int
) -> Ordinals | None:
    """Decode the positions of a block; None if there are more than ``most``.

    Args:
        text: Base64 of a Roaring bitmap of 64-bit numbers in its portable form, which ascend; or in
            a native log of a list of numbers in any order: a count, then LEB128 numbers.
        most: how many positions the block can have; a few bytes may claim very many.
        is_list: the text is a list.
        path: of the log file, for errors.
        offset: of the block in the file in bytes, for errors.

    Raises:
        CorruptLogBlockError: the text cannot be decoded.
    """
    try:
        octets = base64.b64decode(text, validate=True)
        return _parse_list(octets, most) if is_list else _parse_bitmap64(octets, most)
    except _TooMany:
        return None
    except (ValueError, OverflowError) as error:
        problem = f"record positions cannot be decoded: {error}"
        raise CorruptLogBlockError(problem, path, offset) from error


def _parse_list(content: bytes, most: int) -> Ordinals:
    """Decode a count and as many LEB128 numbers of up to 63 bits, which fill the octets."""
    stream = BytesIO(content)
    count = int(_read(stream, 1, _BIG_ENDIAN_INT)[0])
    if count > most:
        raise _TooMany
    octets = np.frombuffer(stream.read(), np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if len(ends) != count or (len(octets) - 1 != ends[-1] if count else len(octets)):
        raise ValueError(f"expected {count} numbers in {len(octets)} bytes, found {len(ends)}")
    if not count:
        return np.empty(0, np.int64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if lengths.max() > _LONGEST_VARINT:
        raise ValueError(f"a number of {lengths.max()} bytes")
    places = np.arange(len(octets)) - np.repeat(starts, lengths)
    bits = (octets & 0x7F).astype(np.int64) << (7 * places)
    return np.add.reduceat(bits, starts)


def _parse_bitmap64(content: bytes, most: int) -> Ordinals:
    """Parse bitmaps; before each are the high 32 bits of all of its values."""
    if not content:
        return np.empty(0, np.int64)
    stream = BytesIO(content)
    pieces = [np.empty(0, np.int64)]
    for _ in range(int(_read(stream, 1, _LONG)[0])):
        high = int(_read(stream, 1, _INT)[0])
        pieces.append(_parse_bitmap32(stream, most) | np.int64(high << 32))
        most -= len(pieces[-1])
    if stream.tell() != len(content):
        raise ValueError(f"{len(content) - stream.tell()} bytes remain")
    positions = np.concatenate(pieces)
    if np.any(np.diff(positions) <= 0):
        raise ValueError("values do not ascend")
    return positions


def _parse_bitmap32(stream: BytesIO, most: int) -> Ordinals:
    cookie = int(_read(stream, 1, _INT)[0])
    with_runs = cookie & 0xFFFF == _COOKIE_WITH_RUNS
    if cookie != _COOKIE and not with_runs:
        raise ValueError(f"expected cookie {_COOKIE} or {_COOKIE_WITH_RUNS}, found {cookie}")
    count = (cookie >> 16) + 1 if with_runs else int(_read(stream, 1, _INT)[0])
    if count > _MOST_CONTAINERS:
        raise ValueError(f"expected at most {_MOST_CONTAINERS} containers, found {count}")
    is_run = np.zeros(count, np.bool_)
    if with_runs:
        flags = _read(stream, (count + 7) // 8, _BYTE)
        is_run = np.unpackbits(flags, count=count, bitorder="little").astype(np.bool_)
    descriptions = _read(stream, 2 * count, _SHORT).astype(np.int64).reshape(count, 2)
    sizes = descriptions[:, 1] + 1
    if sizes.sum() > most:
        raise _TooMany
    if not with_runs or count >= _RUNS_OFFSETS_FROM:
        _read(stream, count, _INT)  # offsets, which consecutive containers do not need
    containers = [
        _parse_container(stream, int(size), is_run=bool(run)) | (high << 16)
        for high, size, run in zip(descriptions[:, 0], sizes, is_run, strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *containers])


def _parse_container(stream: BytesIO, size: int, *, is_run: bool) -> Ordinals:
    """Parse the low 16 bits of ``size`` values."""
    if is_run:  # pairs of a first value and the number of values that follow it
        count = int(_read(stream, 1, _SHORT)[0])
        runs = _read(stream, 2 * count, _SHORT).astype(np.int64).reshape(count, 2)
        firsts = runs[:, 0]
        lengths = runs[:, 1] + 1
        _check_size(size, int(lengths.sum()))
        before = np.cumsum(lengths) - lengths
        return np.repeat(firsts - before, lengths) + np.arange(size)
    if size <= _ARRAY_LIMIT:
        return _read(stream, size, _SHORT).astype(np.int64)
    bits = np.unpackbits(_read(stream, _BITMAP_BYTES, _BYTE), bitorder="little")
    values = np.flatnonzero(bits).astype(np.int64)
    _check_size(size, len(values))
    return values


def _check_size(expected: int, actual: int) -> None:
    if actual != expected:
        raise ValueError(f"expected {expected} values in a container, found {actual}")


def _read(stream: BytesIO, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Read the next numbers of a type."""
    length = count * dtype.itemsize
    octets = stream.read(length)
    if len(octets) < length:
        size = stream.tell()
        raise ValueError(f"expected {length} bytes at {size - len(octets)} of {size}")
    return np.frombuffer(octets, dtype)
