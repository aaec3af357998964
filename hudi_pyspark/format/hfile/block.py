"""Frame, check and inflate blocks, the units in which an HFile is compressed and read."""

import struct
import zlib
from dataclasses import dataclass

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.bytes_source import BytesSource
from hudi_pyspark.format.hfile import HFileError

# Magic; stored and inflated size, both without the header; offset of the previous block; checksum
# type; bytes per checksum; stored size with the header and without the checksums.
_HEADER = struct.Struct(">8siiqBii")
HEADER_SIZE = _HEADER.size

DATA_MAGIC = b"DATABLK*"
ROOT_INDEX_MAGIC = b"IDXROOT2"
FILE_INFO_MAGIC = b"FILEINF2"
_ENCODED_DATA_MAGIC = b"DATABLKE"
_ENCODINGS = {2: "PREFIX", 3: "DIFF", 4: "FAST_DIFF", 6: "PREFIX_TREE", 7: "ROW_INDEX_V1"}

GZIP, NO_COMPRESSION = 1, 2
_UNREADABLE_CODECS = {0: "lzo", 3: "snappy", 4: "lz4", 5: "bz2", 6: "zstd"}
_GZIP_WINDOW = 31  # zlib's code for a gzip header and trailer around the stream
_MOST_INFLATION = 1032  # bytes that one byte of deflate inflates to at most

_CHECKSUM_SIZE = 4
_NO_CHECKSUM, _CRC32, _CRC32C = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it is stored; nothing is checked or inflated yet."""

    offset: int  # from the start of the HFile
    octets: memoryview  # from its header to the end of its checksums

    @classmethod
    def frame(cls, octets: memoryview, offset: int) -> "Block":
        """Cut out the block at the start of ``octets``.

        Args:
            octets: bytes of the HFile from the block on.
            offset: of the block in the HFile.

        Raises:
            HFileError: the bytes end within the block, or its size is negative.
        """
        if len(octets) < HEADER_SIZE:
            raise HFileError("expected an HFile block, found the end of the HFile", offset)
        _, size, *_ = _HEADER.unpack_from(octets)
        if not 0 <= size <= len(octets) - HEADER_SIZE:
            raise HFileError(f"HFile block of {size} bytes does not fit", offset)
        return cls(offset, octets[: HEADER_SIZE + size])

    @property
    def magic(self) -> bytes:
        """Eight bytes that name the kind of block."""
        return bytes(self.octets[: len(DATA_MAGIC)])

    @property
    def content_size(self) -> int:
        """Bytes of the inflated content, according to the header."""
        return int(_HEADER.unpack_from(self.octets)[2])

    def check_magic(self, magic: bytes, path: str) -> None:
        """Check the kind of the block.

        Raises:
            UnsupportedTableError: it is a data block with encoded entries.
            HFileError: it is another kind of block.
        """
        if self.magic == _ENCODED_DATA_MAGIC:
            code = int.from_bytes(self.octets[HEADER_SIZE : HEADER_SIZE + 2], "big")
            raise UnsupportedTableError(
                f"{path}: the HFile has encoded data blocks ({_ENCODINGS.get(code, code)}); "
                "only plain ones can be read"
            )
        if self.magic != magic:
            raise self.corrupt(f"expected HFile block {magic!r}, found {self.magic!r}")

    def content(self, codec: int, path: str) -> bytes | memoryview:
        """Verify the checksums and inflate the content.

        Raises:
            HFileError: a checksum is wrong, the stream is not valid, or its size differs from that
                in the header.
            UnsupportedTableError: the codec is neither gz nor none.
        """
        _, _, size, _, checksum_type, per_checksum, end = _HEADER.unpack_from(self.octets)
        if not HEADER_SIZE <= end <= len(self.octets):
            raise self.corrupt(f"HFile block content of {end} bytes does not fit")
        self._verify(checksum_type, per_checksum, end)
        compressed = self.octets[HEADER_SIZE:end]
        if codec == NO_COMPRESSION:
            content: bytes | memoryview = compressed
        elif codec == GZIP:
            content = self._inflate(compressed, size)
        else:
            name = _UNREADABLE_CODECS.get(codec, str(codec))
            raise UnsupportedTableError(
                f"{path}: HFile compression codec {name!r} cannot be read; supported: gz, none"
            )
        if len(content) != size:
            raise self.corrupt(f"expected {size} bytes in the HFile block, found {len(content)}")
        return content

    def corrupt(self, problem: str) -> HFileError:
        """Return the error for a problem in this block."""
        return HFileError(problem, self.offset)

    def _verify(self, kind: int, per_checksum: int, end: int) -> None:
        """Compare the checksums after the content: one per piece of the block, header included.

        CRC32C is not compared, since Python lacks it; gzip streams have a CRC-32 of their own.
        """
        if kind == _NO_CHECKSUM:
            return  # Hudi's own writer leaves zeros in their place
        # HBase does not write pieces that are smaller than the header.
        if kind not in (_CRC32, _CRC32C) or per_checksum < HEADER_SIZE:
            problem = f"HFile checksums of type {kind}, of {per_checksum} bytes each"
            raise self.corrupt(f"{problem}: expected NULL, CRC32 or CRC32C")
        pieces = range(0, end, per_checksum)
        if len(self.octets) - end != len(pieces) * _CHECKSUM_SIZE:
            problem = f"expected {len(pieces)} checksums after the HFile block"
            raise self.corrupt(f"{problem}, found {len(self.octets) - end} bytes")
        if kind == _CRC32C:
            return
        for index, start in enumerate(pieces):
            piece = self.octets[start : min(start + per_checksum, end)]
            expected = int.from_bytes(self.octets[end + 4 * index : end + 4 * index + 4], "big")
            if zlib.crc32(piece) != expected:
                raise self.corrupt(f"HFile block has a wrong checksum at its byte {start}")

    def _inflate(self, compressed: memoryview, size: int) -> bytes:
        if not 0 <= size <= len(compressed) * _MOST_INFLATION:
            raise self.corrupt(f"{len(compressed)} bytes of gzip cannot inflate to {size}")
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        try:
            content = inflater.decompress(compressed, size + 1)
        except zlib.error as error:
            raise self.corrupt(f"HFile block is not valid gzip: {error}") from error
        if len(content) <= size and (not inflater.eof or inflater.unused_data):
            raise self.corrupt("HFile block is not valid gzip: the stream and the block end apart")
        return content


def block_content(
    octets: memoryview, offset: int, magic: bytes, codec: int, path: str
) -> bytes | memoryview:
    """Check and inflate the block at the start of ``octets``.

    Args:
        octets: bytes of the HFile from the block on.
        offset: of the block in the HFile.
        magic: the expected kind of block.
        codec: the compression, by the number in the trailer.
        path: of the file, for errors.

    Raises:
        HFileError: see `Block.frame` and `Block.content`; or it is another kind of block.
        UnsupportedTableError: its entries are encoded, or its codec is neither gz nor none.
    """
    block = Block.frame(octets, offset)
    block.check_magic(magic, path)
    return block.content(codec, path)


def read_range(source: BytesSource, offset: int, length: int) -> memoryview:
    """Read a range of an HFile.

    Raises:
        HFileError: the range is not within the file, or the source ends early.
    """
    size = len(source)
    if not (0 <= offset <= size and 0 <= length <= size - offset):
        problem = f"expected {length} bytes of the HFile of {size}"
        raise HFileError(problem, max(0, min(offset, size)))
    octets = source[offset : offset + length]
    if len(octets) != length:
        raise HFileError(f"expected {length} bytes of the HFile, found {len(octets)}", offset)
    return octets
