"""Bloom filters of record keys, which Hudi writes into the footers of base files."""

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudi_pyspark.format.hashes import group_by_length

Hashes = npt.NDArray[np.uint32]

_HEADER = struct.Struct(">iibi")  # version, number of hashes, kind of hash, bits
_DYNAMIC_HEADER = struct.Struct(">iii")  # keys per vector, keys in the last one, vectors
_VERSION = -1
_MURMUR = 1
_LONGEST_KEY = 4096  # bytes
_MOST_HASHES = 256  # Hudi takes 30 for one false positive in a billion
_MULTIPLIER = np.uint32(0x5BD1E995)


class BloomFilterError(ValueError):
    """A Bloom filter cannot be used; without it no key is ruled out."""


@dataclass(frozen=True)
class BloomFilter:
    """Bit vectors of keys. A key is certainly absent if no vector has all of its bits set."""

    vectors: tuple[npt.NDArray[np.uint8], ...]  # packed bits; a dynamic filter has several vectors
    bits: int  # length of each vector
    hash_count: int  # bits per key

    @classmethod
    def parse(cls, text: str, kind: str) -> "BloomFilter":
        """Parse the base64 text of a footer; ``kind`` is ``SIMPLE`` or ``DYNAMIC_V0``.

        Source: Hudi's SimpleBloomFilter and HoodieDynamicBoundedBloomFilter.

        Raises:
            BloomFilterError: the text is not a filter of this kind, or the kind is unknown.
        """
        try:
            return cls._of(base64.b64decode(text, validate=True), kind)
        except (ValueError, struct.error) as error:
            raise BloomFilterError(f"not a Bloom filter: {error}") from error

    @classmethod
    def _of(cls, data: bytes, kind: str) -> "BloomFilter":
        bits, hash_count = _header(data, 0)
        if kind == "SIMPLE":
            return cls((_vector(data, _HEADER.size, bits),), bits, hash_count)
        if kind != "DYNAMIC_V0":
            raise BloomFilterError(f"unknown kind of filter {kind!r}")
        _, _, count = _DYNAMIC_HEADER.unpack_from(data, _HEADER.size)
        vectors = []
        position = _HEADER.size + _DYNAMIC_HEADER.size
        for _ in range(count):
            if _header(data, position) != (bits, hash_count):
                raise BloomFilterError("vectors of different sizes")
            position += _HEADER.size
            vectors.append(_vector(data, position, bits))
            position += len(vectors[-1])
        return cls(tuple(vectors), bits, hash_count)

    def may_contain(self, keys: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return for each key whether it may be in the file; false is certain.

        Keys that are not ASCII may always be in it: no table proves how Hudi hashes signed bytes.
        Very long keys are not hashed, since that costs more than to read the file.
        """
        may_be_in = np.array([not k.isascii() or len(k) > _LONGEST_KEY for k in keys], np.bool_)
        hashed = np.flatnonzero(~may_be_in)
        for rows, octets in group_by_length([keys[place].encode() for place in hashed.tolist()]):
            places = self._bits_of(octets)
            for vector in self.vectors:
                is_set = vector[places >> 3] >> (places & 7) & 1
                may_be_in[hashed[rows]] |= is_set.all(axis=1).astype(np.bool_)
        return may_be_in

    def _bits_of(self, keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return the bits of keys of one length, one key a row."""
        hashes = []
        seed = np.zeros(len(keys), np.uint32)
        for _ in range(self.hash_count):
            seed = _murmur(keys, seed)
            hashes.append(seed)
        # Hashes are signed numbers of 32 bits; the absolute value of the least one needs 33 bits.
        return np.abs(np.stack(hashes, axis=1).view(np.int32).astype(np.int64)) % self.bits


def _header(data: bytes, position: int) -> tuple[int, int]:
    version, hash_count, hash_kind, bits = _HEADER.unpack_from(data, position)
    is_known = (version, hash_kind) == (_VERSION, _MURMUR)
    if not is_known or bits <= 0 or not 0 < hash_count <= _MOST_HASHES:
        raise BloomFilterError(
            f"version {version} with {hash_count} hashes of kind {hash_kind} and {bits} bits"
        )
    return bits, hash_count


def _vector(data: bytes, position: int, bits: int) -> npt.NDArray[np.uint8]:
    size = (bits + 7) // 8
    if len(data) < position + size:
        raise BloomFilterError(f"{len(data)} bytes, too few for {bits} bits")
    return np.frombuffer(data, np.uint8, size, position)


def _murmur(data: npt.NDArray[np.uint8], seed: Hashes) -> Hashes:
    """Return MurmurHash 2 of each row; the bytes after the last whole word are as in Hadoop."""
    count, length = data.shape
    whole = length // 4 * 4
    words = np.ascontiguousarray(data[:, :whole]).view("<u4").reshape(count, whole // 4)
    hashes = seed ^ np.uint32(length)
    for index in range(words.shape[1]):
        word = words[:, index] * _MULTIPLIER
        word ^= word >> np.uint32(24)
        hashes = hashes * _MULTIPLIER ^ word * _MULTIPLIER
    if length > whole:
        for back in range(length - whole, 0, -1):
            tail = data[:, length - back].view(np.int8).astype(np.int32).view(np.uint32)
            hashes = hashes ^ tail << np.uint32(8 * (back - 1))
        hashes = hashes * _MULTIPLIER
    hashes = hashes ^ hashes >> np.uint32(13)
    hashes = hashes * _MULTIPLIER
    return hashes ^ hashes >> np.uint32(15)
