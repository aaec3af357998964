"""Hash of record keys to bucket numbers, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.uint64]

BUCKETS = 256
_WORD = 8  # bytes that are mixed in at a time
_FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)  # odd, its bits without pattern: 2**64 / golden ratio
_SHIFT = np.uint64(32)
_TO_BUCKET = np.uint64(56)


def key_buckets(keys: pa.Array) -> npt.NDArray[np.int64]:
    """Return numbers below BUCKETS, equal for equal keys and spread evenly over different ones.

    Args:
        keys: text of any Arrow type. Null counts as the empty text.
    """
    texts = keys.cast(pa.large_string()).fill_null("")
    _, offsets_buffer, octets_buffer = texts.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[texts.offset :][: len(texts) + 1]
    if not len(texts):
        return np.empty(0, np.int64)
    first, end = int(offsets[0]), int(offsets[-1])
    octets = np.frombuffer(octets_buffer or b"", np.uint8)[first:end]
    hashes = _hashes(octets, offsets[:-1] - first, np.diff(offsets))
    return (hashes >> _TO_BUCKET).astype(np.int64)


def _hashes(
    octets: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Numbers:
    """Hash texts word by word: one round for all texts that are long enough."""
    padded = np.concatenate((octets, np.zeros(_WORD, np.uint8)))
    # A word begins at every byte.
    words = np.lib.stride_tricks.as_strided(
        padded[:_WORD].view("<u8"), (len(octets) + 1,), (1,), writeable=False
    )
    hashes = _mixed(lengths.astype(np.uint64), np.uint64(1))
    open_texts = np.flatnonzero(lengths)
    for done in range(0, int(lengths.max(initial=0)), _WORD):
        open_texts = open_texts[lengths[open_texts] > done]
        word = words[starts[open_texts] + done]
        left = np.minimum(lengths[open_texts] - done, _WORD).astype(np.uint64)
        beyond = (np.uint64(_WORD) - left) * np.uint64(8)  # bits of the next text
        hashes[open_texts] = _mixed(hashes[open_texts], (word << beyond) >> beyond)
    return _mixed(hashes, np.uint64(0))


def _mixed(hashes: Numbers, words: Numbers | np.uint64) -> Numbers:
    product = (hashes ^ words) * _FACTOR
    return product ^ (product >> _SHIFT)
