"""Decode the body of a timeline file to one record: JSON, or an Avro container with its schema.

A field of a record may have any type: `get_value`, `get_list` and `get_required` return it, or
raise ValueError if it has another type than the caller expects.
"""

import io
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, Protocol, TypeAlias, TypeVar

import fastavro
from fastavro.schema import SchemaParseException

from hudi_pyspark.errors import CorruptTimelineError, HudiError
from hudi_pyspark.format.avro.schema import (
    AvroReference,
    AvroType,
    parse_json,
    parse_schema,
    parts_of,
)

_T = TypeVar("_T")
_ValueOf: TypeAlias = Callable[[Mapping[str, Any]], _T]
_T_co = TypeVar("_T_co", covariant=True)
AVRO_MAGIC = b"Obj\x01"
# The exceptions that fastavro, json and the getters raise if the bytes or their shape are wrong.
UNDECODABLE = (
    ValueError,  # also JSONDecodeError and UnicodeDecodeError
    LookupError,
    ArithmeticError,
    EOFError,
    struct.error,
    MemoryError,  # a corrupt length asks for petabytes
    RecursionError,
)


_SHOWN_FIELDS = 4  # of a record of another kind


def of_kind(what: str, *fields: str) -> Callable[[_ValueOf[_T]], _ValueOf[_T]]:
    """Make a function that converts a record refuse a record of another kind of timeline file.

    All files of a timeline are JSON or Avro, and nearly all fields may be missing: a file in the
    place of another would look like one that says nothing. So each kind has a field, or one of
    several, that all writers of all releases write and that no other kind has. The record of an
    empty file has no fields, and is of each kind.

    Args:
        what: the kind, for errors.
        fields: names, one of which the record has; its value may be null.
    """

    def decorate(value_of: _ValueOf[_T]) -> _ValueOf[_T]:
        @wraps(value_of)
        def of_this_kind(record: Mapping[str, Any]) -> _T:
            if record and not any(field in record for field in fields):
                found = ", ".join(sorted(record)[:_SHOWN_FIELDS])
                expected = f"{what}, which has {' or '.join(fields)}"
                raise ValueError(f"expected {expected}, found a record of {found}")
            return value_of(record)

        return of_this_kind

    return decorate


class BodyParser(Protocol[_T_co]):
    """Decodes a timeline file; raises CorruptTimelineError if it has another shape."""

    def __call__(self, body: bytes, *, path: str) -> _T_co: ...


def body_parser(value_of: _ValueOf[_T]) -> BodyParser[_T]:
    """Make a parser of timeline files out of a function that converts their record.

    The parser has the docstring of the function.
    """

    def parse(body: bytes, *, path: str) -> _T:
        with undecodable_as_corrupt(path):
            return value_of(_record_of(body))

    parse.__doc__ = value_of.__doc__
    return parse


def read_body(body: bytes, *, path: str) -> dict[str, Any]:
    """Decode the single record of a timeline file; {} for an empty file.

    The first bytes show the format: commits are JSON up to table version 7 and Avro from 8 on, and
    an upgrade of the table leaves its old commits as they are.

    Args:
        body: the whole file.
        path: of the file, for errors.

    Raises:
        CorruptTimelineError: the bytes are neither format, or not one whole record.
    """
    with undecodable_as_corrupt(path):
        return _record_of(body)


def _record_of(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    if body.startswith(AVRO_MAGIC):
        record = next(read_container(body), None)
    elif body.lstrip()[:1] == b"{":
        record = parse_json(body)
    else:
        raise ValueError(f"neither JSON nor Avro: it begins with {body[:4]!r}")
    if not isinstance(record, dict):
        raise ValueError("expected a record, found none")  # noqa: TRY004  (wrong bytes)
    return record


@contextmanager
def undecodable_as_corrupt(path: str, what: str = "") -> Iterator[None]:
    """Turn any error that wrong bytes cause into an error that names the file.

    Args:
        path: of the file.
        what: comes before the message of the error.

    Raises:
        CorruptTimelineError: the block raised one of `UNDECODABLE`.
    """
    try:
        yield
    except UNDECODABLE as error:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CorruptTimelineError(path, f"{what}: {problem}" if what else problem) from error


def get_required(record: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a field that must be there.

    Args:
        record: a decoded record.
        name: of the field.
        kind: its type: str, int, list or dict.

    Raises:
        ValueError: the field is missing or has another type.
    """
    value = record.get(name)
    if type(value) is not kind:  # a bool is not a number
        raise ValueError(f"{name}: expected {kind.__name__}, found {type(value).__name__}")
    return value


def get_value(record: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a field of a type, such as dict for a map or a record.

    It is empty, or 0, if the field is null or missing.

    Raises:
        ValueError: the field has another type.
    """
    return kind() if record.get(name) is None else get_required(record, name, kind)


def get_list(record: Mapping[str, Any], name: str, kind: type[_T]) -> list[_T]:
    """Return a field that is a list of items of a type; [] if it is null or missing.

    Raises:
        ValueError: the field or an item has another type.
    """
    items: list[_T] = get_value(record, name, list)
    for item in items:
        if type(item) is not kind:
            raise ValueError(f"{name}: expected {kind.__name__}, found {type(item).__name__} in it")
    return items


_SCHEMA = "avro.schema"
_CODEC = "avro.codec"
_MOST_ZEROS = 64  # pairs of zeros that are tried as the end of a map


def read_container(body: bytes) -> Iterator[Any]:
    """Yield the records of an Avro container file, which Hudi never compresses.

    Raises:
        ValueError: the file is compressed, or its schema cannot be parsed. Iterating raises
            whatever fastavro raises; `undecodable_as_corrupt` turns all of it into one error.
    """
    try:
        reader = fastavro.reader(io.BytesIO(body))
    except (TypeError, AttributeError, SchemaParseException) as error:
        raise ValueError(f"the Avro schema cannot be parsed: {error}") from error
    codec = reader.metadata.get(_CODEC, "null")
    if codec != "null":
        raise ValueError(f"expected an Avro file without compression, found {codec}")
    load_schema(reader.metadata[_SCHEMA])
    return iter(reader)


def read_ends(body: bytes) -> tuple[Any, dict[str, Any]]:
    """Decode the first list item and the last fields of a record, and skip the items in between.

    The record begins with a map of lists, as commit metadata does, which may have many items. It
    is null in the answer.

    Raises:
        Exception: the record has another shape, or the end of the map cannot be found: any of
            `UNDECODABLE`, TypeError, StopIteration or fastavro's SchemaParseException.
    """
    blocks = fastavro.block_reader(io.BytesIO(body))
    schema = parse_json(blocks.metadata[_SCHEMA])
    _, lists = schema["fields"][0]["type"]  # a union with null
    parts = {"branch": "long", "keys": "long", "key": "string", "items": "long"}
    types = {**parts, "item": lists["values"]["items"]}
    fields = [{"name": name, "type": part} for name, part in types.items()]
    beginning = {"type": "record", "name": "Beginning", "fields": fields}
    block: Any = next(blocks)
    ends: Any = fastavro.schemaless_reader(block.bytes_, beginning, None)
    if ends["branch"] != 1 or ends["keys"] <= 0 or ends["items"] <= 0:
        raise ValueError("expected a list of items")
    if block.num_records != 1 or block.codec != "null":
        raise ValueError("expected one record, not compressed")
    last_fields = fastavro.parse_schema({**schema, "fields": schema["fields"][1:]})
    skipped = {schema["fields"][0]["name"]: None}
    return ends["item"], skipped | _read_end(block.bytes_.getvalue(), last_fields)


def _read_end(content: bytes, schema: Any) -> dict[str, Any]:  # noqa: ANN401
    """Decode the fields after a map of lists; ValueError if they cannot be found.

    Searches backwards for the two zeros that end the map, and accepts a match only if the remaining
    bytes decode completely.
    """
    end = len(content) + 1
    for _ in range(_MOST_ZEROS):
        end = content.rfind(b"\0\0", 0, end - 1) + 2
        tail = io.BytesIO(content[end:])
        try:
            record: Any = fastavro.schemaless_reader(tail, schema, None)
        except UNDECODABLE:
            continue
        if not tail.read(1):
            return dict(record)
    raise ValueError("the map of lists has no end")


@lru_cache(maxsize=32)  # one text per kind of file and Hudi release
def load_schema(text: str) -> Any:  # noqa: ANN401  (of any shape that Avro allows)
    """Check the Avro schema of a record, and return its JSON.

    Raises:
        ValueError: the text is not an Avro schema, or has a type that contains itself.
    """
    try:
        schema = parse_schema(text)
    except HudiError as error:
        raise ValueError(error.reason()) from error
    _refuse_recursion(schema)
    return parse_json(text)


def _refuse_recursion(avro: AvroType) -> None:
    match avro:
        case AvroReference(name):
            raise ValueError(f"the Avro schema has {name} in itself")
    for part in parts_of(avro):
        _refuse_recursion(part)
