"""Parse facts of an ORC file that pyarrow does not offer: its time zone and timestamp bounds."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark.errors import UnsupportedTypeError
from hudi_pyspark.format.protobuf import ProtobufError, decode_zigzag, parse_message, parse_varint

_STRIPES, _STATISTICS = 3, 7  # fields of the footer
_TIMESTAMP_STATISTICS = 9  # field of a column's statistics
_MOST_INFLATED = 8 << 20  # bytes of a chunk; ORC's writers stay below 256 KiB


@dataclass(frozen=True, slots=True)
class OrcFooter:
    """The parts of an ORC footer that are needed to read timestamps."""

    stripe_footers: tuple[tuple[int, int], ...]  # offset and size of each, in bytes
    # By column id: the first and the last timestamp, in milliseconds. Other columns are absent.
    timestamp_bounds: Mapping[int, tuple[int, int]]


def parse_orc_footer(octets: bytes, compression: str) -> OrcFooter:
    """Parse the footer of an ORC file (v1).

    Args:
        octets: the bytes of the footer.
        compression: of the file, by pyarrow's name.

    Raises:
        ProtobufError: the bytes are not a footer.
        UnsupportedTypeError: the compression is not supported.
        ValueError: a chunk cannot be inflated.
    """
    fields = _fields(_decompress(octets, compression))
    stripes = [dict(_fields(value)) for number, value in fields if number == _STRIPES]
    statistics = [dict(_fields(value)) for number, value in fields if number == _STATISTICS]
    timestamp_bounds = {
        column: bounds
        for column, of_column in enumerate(statistics)
        if (bounds := _bounds(dict(_fields(of_column.get(_TIMESTAMP_STATISTICS, b"")))))
    }
    return OrcFooter(tuple(map(_footer_span, stripes)), timestamp_bounds)


def parse_writer_zone(octets: bytes, compression: str) -> str:
    """Parse the writer's time zone in the footer of a stripe; "" if it names none.

    Args:
        octets: the bytes of the stripe's footer.
        compression: of the file, by pyarrow's name.

    Raises:
        ProtobufError: the bytes are not a footer.
        UnsupportedTypeError: the compression is not supported.
        ValueError: a chunk cannot be inflated, or the name is not UTF-8.
    """
    zone = dict(_fields(_decompress(octets, compression))).get(3, b"")
    if isinstance(zone, int):
        raise ProtobufError("expected the name of a time zone, found a number", 0)
    return str(zone, "utf-8")


def _fields(message: int | bytes | memoryview) -> list[tuple[int, int | memoryview]]:
    if isinstance(message, int):
        raise ProtobufError("expected a message, found a number", 0)
    return list(parse_message(memoryview(message)))


def _footer_span(stripe: Mapping[int, int | memoryview]) -> tuple[int, int]:
    # The offset of the stripe, and the lengths of its index, data and footer.
    values = (stripe.get(number, 0) for number in (1, 2, 3, 4))
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) < 4:
        raise ProtobufError("expected the lengths of a stripe, found bytes", 0)
    offset, index, data, footer = numbers
    return offset + index + data, footer


def _bounds(statistics: Mapping[int, int | memoryview]) -> tuple[int, int] | None:
    """Return the least and greatest timestamp: in UTC if recorded, else on the writer's clock."""
    for first, last in ((3, 4), (1, 2)):
        least, greatest = statistics.get(first), statistics.get(last)
        if isinstance(least, int) and isinstance(greatest, int):
            return decode_zigzag(least), decode_zigzag(greatest)
    return None


def _decompress(octets: bytes, compression: str) -> bytes:
    """Inflate and join the chunks; each has a header of three bytes: its size, and if it is raw."""
    if compression == "UNCOMPRESSED":
        return octets
    content = bytearray()
    position = 0
    while position < len(octets):
        header = int.from_bytes(octets[position : position + 3], "little")
        chunk = octets[position + 3 : position + 3 + (header >> 1)]
        content += chunk if header & 1 else _inflate(chunk, compression)
        position += 3 + (header >> 1)
    return bytes(content)


def _inflate(chunk: bytes, compression: str) -> bytes:
    inflate = _INFLATERS.get(compression)
    if inflate is None:
        raise UnsupportedTypeError(
            f"timestamps in an ORC file with {compression} compression are not supported: their "
            f"time zone cannot be read; supported: NONE, {', '.join(_INFLATERS)}"
        )
    try:
        return inflate(chunk)
    except (zlib.error, OSError) as error:
        raise ValueError(f"not valid {compression}: {error}") from error


def _inflate_snappy(chunk: bytes) -> bytes:
    size, _ = parse_varint(memoryview(chunk), 0)
    if size > _MOST_INFLATED:
        raise ValueError(f"a SNAPPY chunk of {size} bytes is too large")
    return bytes(pa.decompress(chunk, size, "snappy", asbytes=True))


_INFLATERS: Mapping[str, Callable[[bytes], bytes]] = {
    "ZLIB": lambda chunk: zlib.decompress(chunk, -zlib.MAX_WBITS),
    "SNAPPY": _inflate_snappy,
    "ZSTD": lambda chunk: pa.CompressedInputStream(pa.BufferReader(chunk), "zstd").read(),
}
