"""Parse the Kryo bytes of delete blocks of versions 1 and 2: keys and ordering values.

Hudi up to 0.12 serialised deletes with Kryo, a format that follows the Java classes. This module
reads only the classes in these blocks: HoodieKey, DeleteRecord and the types of ordering values.
Kryo writes a repeated class or object as a number, so the bytes must be read from the beginning.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias, TypeVar

from hudi_pyspark.errors import CorruptLogBlockError, UnsupportedTableError
from hudi_pyspark.exact_decimals import scaled_decimal

T = TypeVar("T")

KryoValue: TypeAlias = int | float | bool | str | Decimal

_HOODIE_KEY = "org.apache.hudi.common.model.HoodieKey"
_DELETE_RECORD = "org.apache.hudi.common.model.DeleteRecord"
# Arrow's decimals have up to 76 digits.
_MOST_DECIMAL_BYTES = 32
_MOST_SCALE = 76

# Kryo writes these classes as numbers, class i as i + 2, and all other classes by name.
_REGISTERED = ("int", "String", "float", "boolean", "byte", "char", "short", "long", "double")
_NULL = 0
_NAMED_CLASS = 1
_NEW_OBJECT = 1
_FIRST_REGISTERED = 2
_FIRST_OBJECT = 2


class KryoDelete(NamedTuple):
    """One deleted record, its ordering value and the Java class of that value."""

    record_key: str | None
    java_class: str = ""  # "int", "String" … or a full name; "" if there is no value
    value: KryoValue | None = None  # a java.sql.Date is milliseconds since the epoch
    partition_path: str | None = None


def parse_deletes(payload: memoryview, version: int, *, path: str, offset: int) -> list[KryoDelete]:
    """Parse the deletes of a block, in block order.

    Args:
        payload: an array of `HoodieKey`, or of `DeleteRecord`.
        version: of the delete block: 1 with `HoodieKey`, 2 with `DeleteRecord`.
        path: of the log file, for errors.
        offset: of the block in the file in bytes, for errors.

    Raises:
        CorruptLogBlockError: the bytes are not such an array.
        UnsupportedTableError: an ordering value has an unknown Java class.
    """
    element_class, read_element = _ELEMENTS[version]
    reader = _KryoReader(payload, path, offset)

    def read_elements(reader: _KryoReader) -> list[KryoDelete]:
        count = reader.read_varint() - 1
        return [reader.read_object(element_class, read_element) for _ in range(count)]

    deletes = reader.read_object(f"[L{element_class};", read_elements)
    reader.expect_end()
    return deletes


def _read_key(reader: _KryoReader) -> KryoDelete:
    # Kryo writes fields in the order of their names.
    partition_path = reader.read_shared(_KryoReader.read_string)
    record_key = reader.read_shared(_KryoReader.read_string)
    return KryoDelete(record_key, partition_path=partition_path)


def _read_delete(reader: _KryoReader) -> KryoDelete:
    key = reader.read_object(_HOODIE_KEY, _read_key)
    java_class = reader.read_class()
    if java_class is None:
        return key
    read_value = _ORDERING_READERS.get(java_class)
    if read_value is None:
        raise UnsupportedTableError(
            f"{reader.path}: the delete block at byte {reader.base} has an ordering value of class "
            f"{java_class}; supported: {', '.join(_ORDERING_READERS)}"
        )
    value = read_value(reader)
    return key if value is None else key._replace(java_class=java_class, value=value)


_ELEMENTS = {1: (_HOODIE_KEY, _read_key), 2: (_DELETE_RECORD, _read_delete)}


def _read_decimal(reader: _KryoReader) -> Decimal:
    size = reader.read_varint() - 1
    if not 0 < size <= _MOST_DECIMAL_BYTES:
        raise reader.corrupt(f"expected a decimal of at most {_MOST_DECIMAL_BYTES} bytes")
    unscaled = int.from_bytes(reader.read_bytes(size), "big", signed=True)
    scale = reader.read_zigzag()
    if abs(scale) > _MOST_SCALE:
        raise reader.corrupt(f"expected a decimal of scale {_MOST_SCALE} at most, found {scale}")
    return scaled_decimal(unscaled, scale)


def _read_millis(reader: _KryoReader) -> int:
    number = reader.read_varint()
    return number - (1 << 64) if number >= 1 << 63 else number


_ORDERING_READERS: dict[str, Callable[[_KryoReader], KryoValue | None]] = {
    "int": lambda reader: reader.read_zigzag(),
    "long": lambda reader: reader.read_zigzag(),
    "float": lambda reader: reader.read_float(">f"),
    "double": lambda reader: reader.read_float(">d"),
    "boolean": lambda reader: reader.read_bytes(1) != b"\0",
    "String": lambda reader: reader.read_shared(_KryoReader.read_string),
    "java.math.BigDecimal": lambda reader: reader.read_shared(_read_decimal),
    "java.sql.Date": lambda reader: reader.read_shared(_read_millis),
}


class _KryoReader:
    """Reads one Kryo stream from its start, and remembers the classes and objects in it."""

    def __init__(self, payload: memoryview, path: str, base: int) -> None:
        self.payload = payload
        self.path = path
        self.base = base
        self.position = 0
        self.class_names: list[str] = []
        # Each object with the function that read it, which stands for its type. An object gets its
        # number before the objects inside it.
        self.objects: list[tuple[Callable[[_KryoReader], Any], Any]] = []

    def corrupt(self, problem: str) -> CorruptLogBlockError:
        place = f"byte {self.position} of the delete block's {len(self.payload)} bytes of Kryo"
        return CorruptLogBlockError(f"{problem} at {place}", self.path, self.base)

    def expect_end(self) -> None:
        if self.position != len(self.payload):
            raise self.corrupt("expected the end")

    def read_object(self, java_class: str, read: Callable[[_KryoReader], T]) -> T:
        """Read an object that must not be null and must have exactly this class."""
        stored_class = self.read_class()
        if stored_class != java_class:
            raise self.corrupt(f"expected class {java_class}, found {stored_class}")
        value = self.read_shared(read)
        if value is None:
            raise self.corrupt(f"expected an object of class {java_class}, found null")
        return value

    def read_class(self) -> str | None:
        """Read the class name of the next value; None if the value is null."""
        marker = self.read_varint()
        if marker == _NULL:
            return None
        if marker == _NAMED_CLASS:
            number = self.read_varint()
            if number > len(self.class_names):
                raise self.corrupt(f"expected the number of an earlier class, found {number}")
            if number == len(self.class_names):
                self.class_names.append(self.read_string())
            return self.class_names[number]
        if marker - _FIRST_REGISTERED >= len(_REGISTERED):
            raise self.corrupt(f"expected a known class, found number {marker}")
        return _REGISTERED[marker - _FIRST_REGISTERED]

    def read_shared(self, read: Callable[[_KryoReader], T]) -> T | None:
        """Read a value that may be null, new, or the number of an earlier object."""
        marker = self.read_varint()
        if marker == _NULL:
            return None
        if marker == _NEW_OBJECT:
            number = len(self.objects)
            self.objects.append((read, None))
            value = read(self)
            self.objects[number] = (read, value)
            return value
        number = marker - _FIRST_OBJECT
        if number >= len(self.objects) or self.objects[number][0] is not read:
            raise self.corrupt(f"expected the number of an earlier object, found {number}")
        earlier_value: T | None = self.objects[number][1]
        return earlier_value

    def read_string(self) -> str:
        """Read ASCII that ends with a high bit, or a length and UTF-16 units as UTF-8."""
        if self.position < len(self.payload) and self.payload[self.position] < 0x80:
            octets = bytearray()
            while not octets or octets[-1] < 0x80:
                octets += self.read_bytes(1)
            octets[-1] &= 0x7F
            return octets.decode("ascii")
        # The number of UTF-16 units plus 1, 0 for null: six bits, then seven in each byte.
        first = self.read_bytes(1)[0]
        length = first & 0x3F | (self.read_varint() << 6 if first & 0x40 else 0)
        if length == 0:
            raise self.corrupt("expected a string, found null")
        start = self.position
        for _ in range(length - 1):
            # One byte for a unit below 0x80; else 110xxxxx starts two bytes, 1110xxxx three.
            first = self.read_bytes(1)[0]
            if first >= 0x80:
                self.read_bytes(1 if first < 0xE0 else 2)
        try:
            # Surrogates were encoded one by one; UTF-16 joins them to pairs again.
            units = str(self.payload[start : self.position], "utf-8", "surrogatepass")
            return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as error:
            raise self.corrupt(f"expected text, found invalid bytes ({error})") from error

    def read_varint(self) -> int:
        """Read an unsigned number: seven bits a byte, lowest first; a ninth byte has eight."""
        number = 0
        for index in range(8):
            octet = self.read_bytes(1)[0]
            number |= (octet & 0x7F) << 7 * index
            if octet < 0x80:
                return number
        return number | self.read_bytes(1)[0] << 56

    def read_zigzag(self) -> int:
        number = self.read_varint()
        return (number >> 1) ^ -(number & 1)

    def read_float(self, form: str) -> float:
        return float(struct.unpack(form, self.read_bytes(struct.calcsize(form)))[0])

    def read_bytes(self, length: int) -> bytes:
        if not 0 <= length <= len(self.payload) - self.position:
            raise self.corrupt(f"expected {length} more bytes")
        start = self.position
        self.position += length
        return bytes(self.payload[start : self.position])
