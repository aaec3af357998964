"""Hash many texts at once, as the keys of Hudi's indexes are hashed."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

UInt64s = npt.NDArray[np.uint64]
UInt32s = npt.NDArray[np.uint32]

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
# Of the 32-bit hash.
_Q1, _Q2, _Q3, _Q4, _Q5 = (
    np.uint32(prime) for prime in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
)
_TEXTS_AT_A_TIME = 16_384  # as one matrix of bytes


def java_hash_codes(texts: Sequence[str]) -> npt.NDArray[np.int32]:
    """Return Java's ``String.hashCode`` of each text: 31 · h + c over UTF-16 code units."""
    units = [text.encode("utf-16-le", "surrogatepass") for text in texts]
    hashes = np.zeros(len(texts), np.uint32)
    for rows, octets in group_by_length(units):
        matrix = octets.view("<u2").astype(np.uint32)
        codes = np.zeros(len(rows), np.uint32)
        for column in matrix.T:
            codes = codes * np.uint32(31) + column
        hashes[rows] = codes
    return hashes.view(np.int32)


def xxhash64(texts: Sequence[bytes], seed: int) -> UInt64s:
    """Return the 64-bit xxHash of each text; ``seed`` is an unsigned number of 64 bits."""
    hashes = np.zeros(len(texts), np.uint64)
    for rows, octets in group_by_length(texts):
        hashes[rows] = _xxhash64_of_one_length(octets, np.uint64(seed))
    return hashes


def xxhash32(texts: Sequence[bytes]) -> UInt32s:
    """Return the 32-bit xxHash of each text, with the seed 0."""
    hashes = np.zeros(len(texts), np.uint32)
    with np.errstate(over="ignore"):
        for rows, octets in group_by_length(texts):
            hashes[rows] = _xxhash32_of_one_length(octets)
    return hashes


def group_by_length(
    texts: Sequence[bytes],
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]:
    """Yield groups of texts of equal length: their ordinals, and a matrix with a text per row."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    order = np.argsort(lengths, kind="stable")
    for same in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        for start in range(0, len(same), _TEXTS_AT_A_TIME):
            rows = same[start : start + _TEXTS_AT_A_TIME]
            joined = b"".join(map(texts.__getitem__, rows.tolist()))
            yield rows, np.frombuffer(joined, np.uint8).reshape(len(rows), -1)


def _xxhash64_of_one_length(octets: npt.NDArray[np.uint8], seed: np.uint64) -> UInt64s:
    count, length = octets.shape
    position = 0
    with np.errstate(over="ignore"):
        if length >= 32:
            lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
            sums = [np.full(count, lane, np.uint64) for lane in lanes]
            while length - position >= 32:
                words = _words(octets, position, 32, "<u8")
                sums = [_round(total, words[:, i]) for i, total in enumerate(sums)]
                position += 32
            result = sum(
                (_rotate(total, bits) for total, bits in zip(sums, (1, 7, 12, 18), strict=True)),
                np.zeros(count, np.uint64),
            )
            for total in sums:
                result = (result ^ _round(np.zeros(count, np.uint64), total)) * _P1 + _P4
        else:
            result = np.full(count, seed + _P5, np.uint64)
        result = result + np.uint64(length)
        while length - position >= 8:
            word = _words(octets, position, 8, "<u8")[:, 0]
            result = result ^ _round(np.zeros(count, np.uint64), word)
            result = _rotate(result, 27) * _P1 + _P4
            position += 8
        if length - position >= 4:
            word = _words(octets, position, 4, "<u4")[:, 0].astype(np.uint64)
            result = _rotate(result ^ (word * _P1), 23) * _P2 + _P3
            position += 4
        for column in range(position, length):
            result = _rotate(result ^ (octets[:, column].astype(np.uint64) * _P5), 11) * _P1
        result = (result ^ (result >> np.uint64(33))) * _P2
        result = (result ^ (result >> np.uint64(29))) * _P3
        return result ^ (result >> np.uint64(32))


def _xxhash32_of_one_length(octets: npt.NDArray[np.uint8]) -> UInt32s:
    count, length = octets.shape
    words = _words(octets, 0, length // 4 * 4, "<u4")
    stripes = length // 16 * 4  # words that are read four at a time
    result = np.full(count, _Q5, np.uint32)
    if stripes:
        lanes = [np.full(count, lane, np.uint32) for lane in (_Q1 + _Q2, _Q2, 0, 0 - _Q1)]
        for place in range(stripes):
            lane = lanes[place % 4] + words[:, place] * _Q2
            lanes[place % 4] = _rotate32(lane, 13) * _Q1
        first, second, third, fourth = map(_rotate32, lanes, (1, 7, 12, 18))
        result = first + second + third + fourth
    result = result + np.uint32(length)
    for place in range(stripes, words.shape[1]):
        result = _rotate32(result + words[:, place] * _Q3, 17) * _Q4
    for column in range(length // 4 * 4, length):
        result = _rotate32(result + octets[:, column].astype(np.uint32) * _Q5, 11) * _Q1
    result = (result ^ (result >> np.uint32(15))) * _Q2
    result = (result ^ (result >> np.uint32(13))) * _Q3
    return result ^ (result >> np.uint32(16))


def _rotate32(number: UInt32s, bits: int) -> UInt32s:
    return (number << np.uint32(bits)) | (number >> np.uint32(32 - bits))


def _words(octets: npt.NDArray[np.uint8], start: int, width: int, dtype: str) -> UInt64s:
    return np.ascontiguousarray(octets[:, start : start + width]).view(dtype)


def _round(total: UInt64s, word: UInt64s) -> UInt64s:
    return _rotate(total + word * _P2, 31) * _P1


def _rotate(number: UInt64s, bits: int) -> UInt64s:
    return (number << np.uint64(bits)) | (number >> np.uint64(64 - bits))
