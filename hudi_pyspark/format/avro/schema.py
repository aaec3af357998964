"""Parse Avro schemas, and convert them to Arrow schemas."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeGuard, Union

import pyarrow as pa

from hudi_pyspark.errors import CorruptAvroError, UnsupportedTypeError
from hudi_pyspark.format.nested_types import (
    TYPED_VALUE,
    UUID_MARK,
    VARIANT_MARK,
    VECTOR_ELEMENTS,
    vector_mark,
)

JsonValue: TypeAlias = Union[bool, int, float, str, "list[JsonValue]", "dict[str, JsonValue]", None]
JsonObject: TypeAlias = dict[str, JsonValue]

DECIMAL_DIGITS: Final = 38  # most digits of an Arrow decimal128 and of a Spark decimal
# A named type may be part of many types: a schema of a kilobyte can have more parts than memory.
_MOST_PARTS: Final = 100_000
_DEEPEST: Final = 100  # levels of types


class Primitive(Enum):
    """The Avro types that have neither a name nor parts, each with its Arrow type."""

    NULL = pa.null()
    BOOLEAN = pa.bool_()
    INT = pa.int32()
    LONG = pa.int64()
    FLOAT = pa.float32()
    DOUBLE = pa.float64()
    BYTES = pa.binary()
    STRING = pa.string()


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A logical type that is valid for its carrier."""

    name: str
    precision: int = 0  # of a decimal: its digits
    scale: int = 0  # of a decimal: digits after the point
    element: str = ""  # of a vector: FLOAT, DOUBLE or INT8, little-endian, without gaps


class AvroType(ABC):
    """Base of the Avro types."""

    __slots__ = ()

    @abstractmethod
    def arrow_type(self, path: str) -> pa.DataType:
        """Convert the type to an Arrow type; ``path`` is the dotted name of the column, for errors.

        Raises:
            UnsupportedTypeError: Arrow or Spark has no such type: a decimal of more than 38 digits,
                nanoseconds, a variant of other fields, a type that contains itself.
        """


@dataclass(frozen=True, slots=True)
class AvroPrimitive(AvroType):
    """A primitive type, and its logical type if that is valid."""

    kind: Primitive
    logical: LogicalType | None = None

    def arrow_type(self, path: str) -> pa.DataType:
        return _arrow_logical(self.logical, path) if self.logical else self.kind.value


@dataclass(frozen=True, slots=True)
class AvroFixed(AvroType):
    """Byte strings of one length."""

    name: str  # with namespace
    size: int  # bytes
    logical: LogicalType | None = None

    def arrow_type(self, path: str) -> pa.DataType:
        return _arrow_logical(self.logical, path) if self.logical else pa.binary()


@dataclass(frozen=True, slots=True)
class AvroEnum(AvroType):
    """One of several symbols, stored as its ordinal."""

    name: str  # with namespace
    symbols: tuple[str, ...]

    def arrow_type(self, path: str) -> pa.DataType:  # noqa: ARG002  (cannot fail)
        return pa.string()


@dataclass(frozen=True, slots=True)
class AvroArray(AvroType):
    """A list of items of one type."""

    item: AvroType

    def arrow_type(self, path: str) -> pa.DataType:
        return pa.list_(arrow_field(AvroField("element", self.item), path))


@dataclass(frozen=True, slots=True)
class AvroMap(AvroType):
    """String keys, and values of one type."""

    value: AvroType

    def arrow_type(self, path: str) -> pa.DataType:
        return pa.map_(pa.string(), arrow_field(AvroField("value", self.value), path))


@dataclass(frozen=True, slots=True)
class AvroUnion(AvroType):
    """One of several types, stored as the ordinal of a branch and a value of that type."""

    branches: tuple[AvroType, ...]
    # Both follow from the branches, and are asked for several times per column of a table.
    null_branch: int | None = field(init=False, repr=False, compare=False)  # None if there is none
    members: tuple[AvroType, ...] = field(init=False, repr=False, compare=False)  # without null

    def __post_init__(self) -> None:
        members = tuple(branch for branch in self.branches if not _is_null(branch))
        nulls = [i for i, branch in enumerate(self.branches) if _is_null(branch)]
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "null_branch", nulls[0] if nulls else None)

    @property
    def promotion(self) -> Primitive | None:
        """LONG for a union of int and long, DOUBLE for float and double, else None."""
        kinds = {m.kind if isinstance(m, AvroPrimitive) else None for m in self.members}
        if kinds == {Primitive.INT, Primitive.LONG}:
            return Primitive.LONG
        if kinds == {Primitive.FLOAT, Primitive.DOUBLE}:
            return Primitive.DOUBLE
        return None

    def arrow_type(self, path: str) -> pa.DataType:
        if not self.members:
            return pa.null()
        if len(self.members) == 1:
            return self.members[0].arrow_type(path)
        if self.promotion is not None:
            return self.promotion.value
        members = ((f"member{i}", member) for i, member in enumerate(self.members))
        return pa.struct([(name, member.arrow_type(f"{path}.{name}")) for name, member in members])


@dataclass(frozen=True, slots=True)
class AvroReference(AvroType):
    """The place at which a named type contains itself."""

    name: str  # with namespace

    def arrow_type(self, path: str) -> pa.DataType:
        """Refuse the type.

        Raises:
            UnsupportedTypeError: always.
        """
        raise UnsupportedTypeError(f"column {path!r} has the type '{self.name}, in itself'")


@dataclass(frozen=True, slots=True)
class AvroField:
    """One field of a record."""

    name: str
    type: AvroType
    default: JsonValue = field(default=None, hash=False)  # None also if there is none


@dataclass(frozen=True, slots=True)
class AvroRecord(AvroType):
    """Named fields, stored one after another."""

    name: str  # with namespace
    # Not hashed: caches look up the schema of each block, and a schema may have 3,000 fields.
    fields: tuple[AvroField, ...] = field(hash=False)
    logical: str | None = None  # "variant" of Hudi 1.2 and later; a "blob" is an ordinary record

    def arrow_type(self, path: str) -> pa.DataType:
        fields = [arrow_field(field, path) for field in self.fields]
        return pa.struct(fields if self.logical is None else _mark_variant(fields, path))


_PRIMITIVES: Final = {kind.name.lower(): AvroPrimitive(kind) for kind in Primitive}

# By logical type: its carrier, and its Arrow type if it has one. Avro ignores other carriers.
LOGICAL_TYPES: Final[dict[str, tuple[Primitive | None, pa.DataType | None]]] = {
    "date": (Primitive.INT, pa.date32()),
    "time-millis": (Primitive.INT, pa.int32()),  # Spark has no type for a time of day
    "time-micros": (Primitive.LONG, pa.int64()),
    "timestamp-millis": (Primitive.LONG, pa.timestamp("ms", tz="UTC")),
    "timestamp-micros": (Primitive.LONG, pa.timestamp("us", tz="UTC")),
    "timestamp-nanos": (Primitive.LONG, None),
    "local-timestamp-millis": (Primitive.LONG, pa.timestamp("ms")),
    "local-timestamp-micros": (Primitive.LONG, pa.timestamp("us")),
    "local-timestamp-nanos": (Primitive.LONG, None),
    "uuid": (Primitive.STRING, pa.string()),
    "decimal": (Primitive.BYTES, None),  # its Arrow type depends on its digits
    "vector": (None, pa.binary()),  # on a fixed type; the stored bytes, see `vector_element`
}
_NO_CARRIER: Final = (None, None)


@lru_cache(maxsize=256)  # all files and blocks of a writer have the same text
def parse_schema(text: str) -> AvroRecord:
    """Parse the Avro schema of a table, log block or file.

    References to named types are replaced by the types, so an `AvroReference` remains only in a
    type that contains itself. A logical type that does not fit its carrier is dropped, as by Avro's
    own parsers.

    Raises:
        CorruptAvroError: the text is not JSON or not an Avro schema. The error names the place in
            the schema; the caller names the file.
        UnsupportedTypeError: the schema does not describe a record, or it has more than 100,000
            types or 100 levels.
    """
    try:
        parsed = _Parser().type_of(parse_json(text), namespace="", path="")
    except (ValueError, RecursionError) as error:
        raise CorruptAvroError(f"the Avro schema is not valid JSON: {error}", 0, "") from error
    if not isinstance(parsed, AvroRecord):
        raise UnsupportedTypeError(f"expected the Avro schema of a record, found {text[:80]!r}")
    return parsed


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401  (any JSON)
    """Parse JSON, as schemas and timeline files have it.

    Raises:
        ValueError: the text is not JSON, or has half of a surrogate pair, which no text may have.
    """
    value = json.loads(text)
    if b"\\u" in text if isinstance(text, bytes) else "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def parts_of(avro: AvroType) -> tuple[AvroType, ...]:
    """Return the types of a record's fields, of a union's branches, or of the items; else ()."""
    match avro:
        case AvroArray(part) | AvroMap(part):
            return (part,)
        case AvroUnion(branches):
            return branches
        case AvroRecord():
            return tuple(field.type for field in avro.fields)
    return ()


@lru_cache(maxsize=64)
def arrow_schema(record: AvroRecord) -> pa.Schema:
    """Convert a record to an Arrow schema: Spark's types, but timestamps keep their unit.

    Raises:
        UnsupportedTypeError: Arrow or Spark has no such type.
    """
    return pa.schema([arrow_field(field) for field in record.fields])


def arrow_field(avro: AvroField, parent: str = "") -> pa.Field:
    """Convert a field to an Arrow field; ``parent`` is the dotted name of its record, for errors.

    Fields of vectors and of UUIDs as bytes, at any depth, are marked: see `vector_element` and
    `may_be_uuid_bytes`.

    Raises:
        UnsupportedTypeError: Arrow or Spark has no such type.
    """
    path = f"{parent}.{avro.name}" if parent else avro.name
    data_type = avro.type.arrow_type(path)
    mark = _mark(avro.type, path)
    return pa.field(avro.name, data_type, nullable=is_nullable(avro.type), metadata=mark)


def _mark(avro: AvroType, path: str) -> Mapping[bytes, bytes] | None:
    """Return the metadata of a field of vectors or of UUIDs as bytes; None for other types.

    Raises:
        UnsupportedTypeError: a vector has elements of an unknown type.
    """
    if isinstance(avro, AvroUnion):
        return _mark(avro.members[0], path) if len(avro.members) == 1 else None
    if not isinstance(avro, AvroFixed) or avro.logical is None:
        return None
    if avro.logical.name == "uuid":
        return UUID_MARK
    if avro.logical.name != "vector":
        return None
    if avro.logical.element not in VECTOR_ELEMENTS:
        raise UnsupportedTypeError(
            f"column {path!r} is a vector of {avro.logical.element}; supported: "
            f"{', '.join(VECTOR_ELEMENTS)}"
        )
    return vector_mark(avro.logical.element)


def _mark_variant(fields: list[pa.Field], path: str) -> list[pa.Field]:
    """Mark the fields of a record as those of a variant; see `is_variant`."""
    names = {field.name for field in fields}
    if not {"metadata"} < names <= {"metadata", "value", TYPED_VALUE}:
        raise UnsupportedTypeError(
            f"column {path!r} is a variant of {', '.join(sorted(names))}; expected metadata, "
            f"and value or {TYPED_VALUE}"
        )
    return [f.with_metadata(VARIANT_MARK) if f.name == "metadata" else f for f in fields]


def is_nullable(avro: AvroType) -> bool:
    """Return whether a value of the type can be null."""
    return _is_null(avro) or (isinstance(avro, AvroUnion) and avro.null_branch is not None)


def _arrow_logical(logical: LogicalType, path: str) -> pa.DataType:
    if logical.name == "decimal":
        if logical.precision > DECIMAL_DIGITS:
            raise UnsupportedTypeError(
                f"column {path!r} is a decimal of {logical.precision} digits: "
                f"at most {DECIMAL_DIGITS} are supported"
            )
        return pa.decimal128(logical.precision, logical.scale)
    _, arrow = LOGICAL_TYPES[logical.name]
    if arrow is None:
        raise UnsupportedTypeError(f"column {path!r} has the type {logical.name!r}")
    return arrow


def _is_null(avro: AvroType) -> bool:
    return isinstance(avro, AvroPrimitive) and avro.kind is Primitive.NULL


class _Parser:
    """Converts schema JSON to types, and remembers the named types."""

    def __init__(self) -> None:
        self.named_types: dict[str, AvroType] = {}
        # By the identity of each type: how many types it consists of, and how many levels.
        self.extents: dict[int, tuple[int, int]] = {}
        # By the names of primitive types: most columns of a wide table share a few unions.
        self.unions: dict[tuple[str, ...], AvroUnion] = {}
        self.parsed = 0  # types so far: a large schema is refused before its end

    def type_of(self, schema: JsonValue, *, namespace: str, path: str) -> AvroType:
        """Parse a type; ``namespace`` is that of the enclosing type."""
        avro: AvroType
        if isinstance(schema, str):
            avro = self._reference(schema, namespace, path)
        elif isinstance(schema, list):
            avro = self._union(schema, namespace, path)
        elif isinstance(schema, dict):
            avro = self._object(schema, namespace, path)
        else:
            raise CorruptAvroError(f"expected an Avro type, found {schema!r}", 0, path)
        extents = [self.extents[id(part)] for part in parts_of(avro)]
        self.parsed += 1
        parts = 1 + sum(parts for parts, _ in extents)
        most = max(parts, self.parsed)
        depth = 1 + max((depth for _, depth in extents), default=0)
        if most > _MOST_PARTS or depth > _DEEPEST:
            raise UnsupportedTypeError(
                f"the Avro schema has {most} types, nested {depth} deep, at {path!r}; at most "
                f"{_MOST_PARTS} and {_DEEPEST} are supported"
            )
        self.extents[id(avro)] = parts, depth
        return avro

    def _object(self, schema: JsonObject, namespace: str, path: str) -> AvroType:
        parsed: AvroType
        match schema.get("type"):
            case "array":
                item = self._part(schema, "items", namespace, f"{path}.element")
                if _has_no_bytes(item):  # a few bytes could claim billions of items
                    raise UnsupportedTypeError(f"column {path!r} has items that take no bytes")
                parsed = AvroArray(item)
            case "map":
                parsed = AvroMap(self._part(schema, "values", namespace, f"{path}.value"))
            case "record" | "error" | "fixed" | "enum" as kind:
                name, inner = _full_name(schema, namespace, path)
                self.named_types[name] = AvroReference(name)
                if kind == "fixed":
                    parsed = _fixed(schema, name, path)
                elif kind == "enum":
                    parsed = _enum(schema, name, path)
                else:
                    parsed = self._record(schema, name, inner, path)
                self.named_types[name] = parsed
            case _:
                parsed = self._part(schema, "type", namespace, path)
                if isinstance(parsed, AvroPrimitive) and parsed.logical is None:
                    parsed = AvroPrimitive(parsed.kind, _primitive_logical(parsed.kind, schema))
        return parsed

    def _part(self, schema: JsonObject, key: str, namespace: str, path: str) -> AvroType:
        if key not in schema:
            raise CorruptAvroError(f"expected an Avro type with {key!r}, found {schema}", 0, path)
        return self.type_of(schema[key], namespace=namespace, path=path)

    def _reference(self, name: str, namespace: str, path: str) -> AvroType:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        qualified = name if "." in name or not namespace else f"{namespace}.{name}"
        named_type = self.named_types.get(qualified) or self.named_types.get(name)
        if named_type is None:
            raise CorruptAvroError(f"the Avro schema has no type {qualified!r}", 0, path)
        return named_type

    def _union(self, schema: list[JsonValue], namespace: str, path: str) -> AvroUnion:
        names = tuple(s for s in schema if isinstance(s, str) and s in _PRIMITIVES)
        if len(names) == len(schema) and names in self.unions:
            self.parsed += len(names)
            return self.unions[names]
        branches = tuple(self.type_of(s, namespace=namespace, path=path) for s in schema)
        if not branches or any(isinstance(branch, AvroUnion) for branch in branches):
            raise CorruptAvroError(f"a union cannot be empty or contain a union: {schema}", 0, path)
        if sum(map(_is_null, branches)) > 1:
            raise CorruptAvroError(f"a union has null more than once: {schema}", 0, path)
        union = AvroUnion(branches)
        if len(names) == len(schema):
            self.unions[names] = union
        return union

    def _record(self, schema: JsonObject, name: str, namespace: str, path: str) -> AvroRecord:
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise CorruptAvroError(f"expected the fields of a record, found {fields!r}", 0, path)
        parsed = tuple(self._field(field, namespace, path) for field in fields)
        names = [field.name for field in parsed]
        if len(set(names)) < len(names):
            raise CorruptAvroError(f"a field name occurs twice in {names}", 0, path)
        logical = "variant" if schema.get("logicalType") == "variant" else None
        return AvroRecord(name, parsed, logical)

    def _field(self, schema: JsonValue, namespace: str, path: str) -> AvroField:
        name = schema.get("name") if isinstance(schema, dict) else None
        if not isinstance(schema, dict) or not isinstance(name, str):
            raise CorruptAvroError(f"expected a field with a name, found {schema!r}", 0, path)
        avro = self._part(schema, "type", namespace, f"{path}.{name}" if path else name)
        return AvroField(name, avro, schema.get("default"))


def _fixed(schema: JsonObject, name: str, path: str) -> AvroFixed:
    size = schema.get("size")
    if not _is_int(size) or not 0 <= size < 1 << 31:
        raise CorruptAvroError(f"expected the size of a fixed type, found {size!r}", 0, path)
    return AvroFixed(name, size, _fixed_logical(size, schema))


def _enum(schema: JsonObject, name: str, path: str) -> AvroEnum:
    symbols = schema.get("symbols")
    texts = [s for s in symbols if isinstance(s, str)] if isinstance(symbols, list) else []
    if texts != symbols:
        raise CorruptAvroError(f"expected the symbols of an enum, found {symbols!r}", 0, path)
    return AvroEnum(name, tuple(texts))


def _has_no_bytes(avro: AvroType) -> bool:
    """Return whether values of a type take no bytes."""
    match avro:
        case AvroPrimitive(kind):
            return kind is Primitive.NULL
        case AvroFixed(size=size):
            return size == 0
        case AvroRecord():
            return all(map(_has_no_bytes, parts_of(avro)))
    return False


def _full_name(schema: JsonObject, namespace: str, path: str) -> tuple[str, str]:
    """Return a type's name with its namespace, and the namespace for its parts."""
    name = schema.get("name")
    if not isinstance(name, str) or not name:
        raise CorruptAvroError(f"expected a named type, found the name {name!r}", 0, path)
    if "." in name:
        return name, name.rpartition(".")[0]
    own = schema.get("namespace")
    space = own if isinstance(own, str) else namespace
    return (f"{space}.{name}" if space else name), space


def _primitive_logical(kind: Primitive, schema: JsonObject) -> LogicalType | None:
    name = schema.get("logicalType")
    if not isinstance(name, str) or LOGICAL_TYPES.get(name, _NO_CARRIER)[0] is not kind:
        return None
    return _decimal(schema) if name == "decimal" else LogicalType(name)


def _fixed_logical(size: int, schema: JsonObject) -> LogicalType | None:
    name = schema.get("logicalType")
    if name == "vector":
        return LogicalType("vector", element=str(schema.get("elementType")))
    if name == "uuid" and size == 16:
        return LogicalType("uuid")
    decimal = _decimal(schema) if name == "decimal" else None
    # As many digits always fit a two's complement number of this size.
    digits = math.floor((8 * size - 1) * math.log10(2)) if size else 0
    return None if decimal is None or decimal.precision > digits else decimal


def _decimal(schema: JsonObject) -> LogicalType | None:
    precision = schema.get("precision")
    scale = schema.get("scale", 0)
    if not _is_int(precision) or not _is_int(scale) or not 0 <= scale <= precision != 0:
        return None
    return LogicalType("decimal", precision, scale)


def _is_int(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
