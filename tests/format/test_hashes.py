"""Hashes against published values: those of the xxHash project, and of Java's String.hashCode."""

import numpy as np
import pytest

from hudi_pyspark.format.hashes import java_hash_codes, xxhash64

XXHASHES = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,  # more than 32 bytes
}
CODES = {"": 0, "a": 97, "hello": 99162322, "polygenelubricants": -(2**31)}


def test_xxhashes_are_the_published_ones():
    texts = [*XXHASHES, *reversed(XXHASHES)]  # of several lengths, each twice
    assert [int(h) for h in xxhash64(texts, 0)] == [XXHASHES[text] for text in texts]


@pytest.mark.parametrize(
    ("text", "seed", "expected"),
    [(b"a", 1, 0xDEC2BC81C3CD46C6), (b"id", 0xFFFFFFFFDABADABA, 0xB0B6686AC268B1E7)],
)
def test_seed_counts(text, seed, expected):  # values of the package xxhash
    assert int(xxhash64([text], seed)[0]) == expected


def test_hash_codes_are_those_of_java():
    texts = [*CODES, *CODES]
    assert java_hash_codes(texts).tolist() == [CODES[text] for text in texts]
    assert java_hash_codes(texts).dtype == np.int32


def test_characters_beyond_16_bits_count_as_two_units():
    # By the definition: 31 * 0xD83D + 0xDE00 for U+1F600.
    assert java_hash_codes(["\U0001f600"])[0] == 31 * 0xD83D + 0xDE00
