"""Parse protobuf messages, in which ORC files and HFiles keep metadata."""

from collections.abc import Iterator


class ProtobufError(ValueError):
    """Bytes are not a protobuf message; ``offset`` counts from the start of the view."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem, offset)
        self.problem = problem
        self.offset = offset


def parse_message(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and value of each field: an unsigned varint, or bytes with a length.

    Raises:
        ProtobufError: a field has no number or another wire type, or is cut off.
    """
    position = 0
    while position < len(message):
        start = position
        tag, position = parse_varint(message, position)
        number, position = parse_varint(message, position)
        if not tag >> 3:
            raise ProtobufError("protobuf field without a number", start)
        match tag & 7:
            case 0:
                yield tag >> 3, number
            case 2 if number <= len(message) - position:
                yield tag >> 3, message[position : position + number]
                position += number
            case wire_type:
                problem = f"protobuf field {tag >> 3} of wire type {wire_type} cannot be read"
                raise ProtobufError(problem, start)


def parse_varint(view: memoryview, offset: int) -> tuple[int, int]:
    """Parse an unsigned varint of at most ten bytes; also return the offset after it.

    Raises:
        ProtobufError: it does not end within ten bytes, or within the view.
    """
    number = 0
    for index, octet in enumerate(view[offset : offset + 10]):
        number |= (octet & 0x7F) << 7 * index
        if octet < 0x80:
            return number, offset + index + 1
    raise ProtobufError("expected a varint, found none", offset)


def decode_zigzag(number: int) -> int:
    """Return the signed number that an unsigned zig-zag number encodes."""
    return (number >> 1) ^ -(number & 1)
