"""CRC-32C (Castagnoli), which neither Python nor pyarrow computes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_POLYNOMIAL = 0x82F63B78  # bits reversed
_WIDTH = 128  # bytes in a row
_ROWS = 128
_ONES = 0xFFFFFFFF

_Table = npt.NDArray[np.uint32]


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C of some bytes.

    A CRC without its initial value is linear: that of the whole is the sum of those of its bytes,
    each with zeros after it. So the bytes are laid out in rows; a table per column gives what each
    byte adds to its row's CRC, and tables per row move that to the end of the data.
    """
    columns, rows = _column_tables(), _row_tables()
    state = _ONES
    for start in range(0, len(data), _WIDTH * _ROWS):
        octets = np.frombuffer(data[start : start + _WIDTH * _ROWS], np.uint8)
        padded = np.zeros(-(-max(len(octets), 4) // _WIDTH) * _WIDTH, np.uint8)
        first = len(padded) - len(octets)
        padded[first:] = octets  # zeros in front change nothing while the state is zero
        # The state so far mixes with the first bytes; what is left of it if there are fewer moves.
        mixed = np.frombuffer(state.to_bytes(4, "little"), np.uint8)
        padded[first : first + 4] ^= mixed[: len(octets)]
        by_row = np.bitwise_xor.reduce(columns[np.arange(_WIDTH), padded.reshape(-1, _WIDTH)], 1)
        parts = by_row.view(np.uint8).reshape(-1, 4)  # little-endian, as the tables expect
        moved = rows[len(rows) - len(parts) :][
            np.arange(len(parts))[:, None], np.arange(4)[None, :], parts
        ]
        left = state >> 8 * len(octets) if len(octets) < 4 else 0
        state = int(np.bitwise_xor.reduce(moved, axis=None)) ^ left
    return state ^ _ONES


@lru_cache(maxsize=1)
def _column_tables() -> _Table:
    """Return what each byte adds to the CRC, by its distance from the end of a row."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    tables = [table]
    for _ in range(_WIDTH - 1):
        tables.append(_after_zero(tables[-1], table))
    return np.stack(tables[::-1])


@lru_cache(maxsize=1)
def _row_tables() -> _Table:
    """Return, by row and byte of the row's CRC, what the byte is after all the rows that follow."""
    step = _column_tables()[-1]
    octets = np.arange(256, dtype=np.uint32)
    identity = np.stack([octets << np.uint32(8 * i) for i in range(4)])
    one_row = identity
    for _ in range(_WIDTH):
        one_row = _after_zero(one_row, step)
    tables = [identity]
    for _ in range(_ROWS - 1):
        before = tables[-1]
        parts = [(before >> np.uint32(8 * i)) & np.uint32(0xFF) for i in range(4)]
        tables.append(np.bitwise_xor.reduce([one_row[i][parts[i]] for i in range(4)]))
    return np.stack(tables[::-1])


def _after_zero(states: _Table, table: _Table) -> _Table:
    """Return states of the CRC after one more byte, zero."""
    moved: _Table = (states >> np.uint32(8)) ^ table[states & np.uint32(0xFF)]
    return moved
