"""Decode the content of data blocks: the keys, and where their values are."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.format.bytes_source import Offsets, cut_values
from hudi_pyspark.format.hfile import HFileError

_LENGTHS = struct.Struct(">II")
_OVERHEAD = _LENGTHS.size + 1  # the two lengths before the key, one zero byte after the value
_ROW_OFFSET = _LENGTHS.size + 2  # the row's own length is between them
# A key is the row after its length (2 bytes). HBase and releases of Apache Hudi add the length of
# the family (1), a timestamp (8) and a type (1); development builds of 2025 did not.
_KEY_OVERHEADS = (2, 12)
_SMALLEST = _OVERHEAD + min(_KEY_OVERHEADS)


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no equality that is a bool
class HFile:
    """Entries of an HFile in file order, which is ascending by key.

    Keys are sorted as unsigned bytes, or in some HFiles as Java sorts strings.
    """

    keys: pa.BinaryArray  # rows of the HBase keys: the UTF-8 record keys of a Hudi table
    values_data: bytes  # the values, and other bytes between them
    value_starts: Offsets  # value i is values_data[value_starts[i]:value_ends[i]]
    value_ends: Offsets
    file_info: Mapping[str, bytes]  # "schema" is the Avro schema (JSON) of the values

    def filter(self, mask: pa.BooleanArray) -> "HFile":
        """Return the entries for which a mask is true, with only the bytes of their values."""
        rows = np.flatnonzero(to_numpy(mask))
        starts, ends = self.value_starts[rows], self.value_ends[rows]
        edges = np.append(0, np.cumsum(ends - starts))
        values = cut_values(pa.py_buffer(self.values_data), starts, ends, pa.large_binary())
        data = bytes(values.buffers()[2] or b"")
        return HFile(self.keys.take(to_arrow(rows)), data, edges[:-1], edges[1:], self.file_info)


def concat_hfiles(parts: Sequence[HFile], file_info: Mapping[str, bytes]) -> HFile:
    """Concatenate parts of an HFile; ``file_info`` is used if there are none or several."""
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, np.int64)
    bases = np.cumsum([0, *(len(part.values_data) for part in parts)])[:-1].tolist()
    pairs = list(zip(parts, bases, strict=True))
    return HFile(
        keys=pa.concat_arrays([pa.array([], pa.binary()), *(part.keys for part in parts)]),
        values_data=b"".join(part.values_data for part in parts),
        value_starts=np.concatenate([empty, *(part.value_starts + base for part, base in pairs)]),
        value_ends=np.concatenate([empty, *(part.value_ends + base for part, base in pairs)]),
        file_info=file_info,
    )


def decode_entries(
    contents: Sequence[bytes | memoryview], offsets: Sequence[int], file_info: Mapping[str, bytes]
) -> HFile:
    """Decode the entries of data blocks.

    Args:
        contents: of the blocks, inflated.
        offsets: of the blocks in the HFile, for errors.
        file_info: of the HFile.

    Raises:
        HFileError: the entries do not fill their block, or have keys of an unknown form.
    """
    data = b"".join(contents)
    blocks = _Blocks(np.cumsum([0, *map(len, contents)]), offsets)
    starts = _entry_starts(data, blocks)
    lengths = _unsigned(data, ">u4")
    key_lengths = lengths[starts].astype(np.int64)
    value_starts = starts + _LENGTHS.size + key_lengths
    value_ends = value_starts + lengths[starts + 4]
    row_lengths = _unsigned(data, ">u2")[starts + _LENGTHS.size].astype(np.int64)
    wrong = np.flatnonzero(~np.isin(key_lengths - row_lengths, _KEY_OVERHEADS))
    if wrong.size:
        row = f"a row of {row_lengths[wrong[0]]} in a key of {key_lengths[wrong[0]]} bytes"
        problem = f"HFile entry {wrong[0]} has {row}: expected 2 or 12 bytes more"
        raise blocks.corrupt(problem, starts[wrong[0]])
    marked = np.flatnonzero(np.frombuffer(data, np.uint8)[value_ends])
    if marked.size:
        problem = f"HFile entry {marked[0]} has a version mark after its value: expected none"
        raise blocks.corrupt(problem, starts[marked[0]])
    row_starts = starts + _ROW_OFFSET
    row_ends = row_starts + row_lengths
    keys = cut_values(pa.py_buffer(data), row_starts, row_ends, pa.large_binary())
    return HFile(keys.cast(pa.binary()), data, value_starts, value_ends, file_info)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The data blocks that the entries are of."""

    edges: Offsets  # block i is [edges[i], edges[i + 1]) of the inflated bytes
    offsets: Sequence[int]  # of the blocks in the HFile

    def corrupt(self, problem: str, position: int) -> HFileError:
        block = int(np.searchsorted(self.edges, position, "right")) - 1
        return HFileError(problem, self.offsets[min(block, len(self.offsets) - 1)])


def _entry_starts(data: bytes, blocks: _Blocks) -> Offsets:
    """Return the offsets of the entries, which are consecutive in each block.

    An entry starts where the previous one ends, so this is a loop. It takes less than a tenth of
    the time that decoding the values takes.
    """
    starts: list[int] = []
    lengths_at = _LENGTHS.unpack_from
    for first, end in pairwise(blocks.edges.tolist()):
        position = first
        last = end - _SMALLEST
        while position <= last:
            starts.append(position)
            key_length, value_length = lengths_at(data, position)
            position += _OVERHEAD + key_length + value_length
        if position != end:
            problem = f"HFile entries end at {position - first} of {end - first} decompressed bytes"
            raise blocks.corrupt(problem, first)
    return np.array(starts, np.int64)


def _unsigned(data: bytes, dtype: str) -> npt.NDArray[np.unsignedinteger[Any]]:
    """View the bytes as unsigned integers that begin at every offset."""
    count = max(len(data) - np.dtype(dtype).itemsize + 1, 0)
    return np.ndarray((count,), dtype, data, strides=(1,))
