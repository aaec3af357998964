"""Body of a timeline file → one record: JSON text, or an Avro container with its own schema.

A field of a record may have any type: `get_text`, `get_int` and so on return it, or raise
ValueError if it has another type.
"""

import io
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import fastavro
from fastavro.schema import SchemaParseException

from hudi_pyspark.errors import CorruptTimelineError, HudiError
from hudi_pyspark.format.avro.json_text import parse_json
from hudi_pyspark.format.avro.schema import AvroReference, AvroType, parse_schema, parts_of

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
AVRO_MAGIC = b"Obj\x01"
# What fastavro, json and the getters raise when the bytes or their shape are wrong.
UNDECODABLE = (
    ValueError,  # also JSONDecodeError and UnicodeDecodeError
    LookupError,
    ArithmeticError,
    EOFError,
    struct.error,
    MemoryError,  # a corrupt length asks for petabytes
    RecursionError,
)


def read_body(body: bytes, *, path: str) -> dict[str, Any]:
    """Decode the single record of a timeline file; {} for an empty file.

    Its first bytes show the format: commits are JSON up to table version 7 and Avro from 8 on, but
    those of an upgraded table stay as they were.

    Raises:
        CorruptTimelineError: the bytes are neither, or not one whole record, with the path.
    """
    if not body:
        return {}
    with undecodable_as_corrupt(path):
        if body.startswith(AVRO_MAGIC):
            record = next(read_container(body), None)
        elif body.lstrip()[:1] == b"{":
            record = parse_json(body)
        else:
            raise ValueError(f"expected '{{' or {AVRO_MAGIC!r}, found {body[:4]!r}")
        if not isinstance(record, dict):
            raise ValueError("expected a record, found none")  # noqa: TRY004  (of the bytes)
        return record


class BodyParser(Protocol[_T_co]):
    """Decodes a timeline file; CorruptTimelineError where it has another shape."""

    def __call__(self, body: bytes, *, path: str) -> _T_co: ...


def body_parser(value_of: Callable[[dict[str, Any]], _T]) -> BodyParser[_T]:
    """Return the parser of files whose record a function takes apart."""

    def parse(body: bytes, *, path: str) -> _T:
        record = read_body(body, path=path)
        with undecodable_as_corrupt(path):
            return value_of(record)

    return parse


@contextmanager
def undecodable_as_corrupt(path: str, what: str = "") -> Iterator[None]:
    """Turn any error that wrong bytes cause into one that names the file.

    Raises:
        CorruptTimelineError: one of `UNDECODABLE` was raised; ``what`` comes before its message.
    """
    try:
        yield
    except UNDECODABLE as error:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CorruptTimelineError(path, f"{what}: {problem}" if what else problem) from error


def get_required(record: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a field of a JSON type.

    Raises:
        ValueError: the field is missing, or of another type; the message names both.
    """
    value = record.get(name)
    if type(value) is not kind:  # a bool is not a number
        raise ValueError(f"{name}: expected {kind.__name__}, found {type(value).__name__}")
    return value


def get_text(record: Mapping[str, Any], name: str) -> str:
    """Return a text; "" for null.

    Raises:
        ValueError: the field is of another type; the message names both.
    """
    return "" if record.get(name) is None else get_required(record, name, str)


def get_int(record: Mapping[str, Any], name: str) -> int:
    """Return a whole number; 0 for null.

    Raises:
        ValueError: the field is of another type; the message names both.
    """
    return 0 if record.get(name) is None else get_required(record, name, int)


def get_mapping(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a map or a record; {} for null.

    Raises:
        ValueError: the field is of another type; the message names both.
    """
    return {} if record.get(name) is None else get_required(record, name, dict)


def get_texts(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts; () for null.

    Raises:
        ValueError: the field is of another type; the message names both.
    """
    return tuple(_items(record, name, str))


def get_records(record: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a list of records; [] for null.

    Raises:
        ValueError: the field is of another type; the message names both.
    """
    return _items(record, name, dict)


def _items(record: Mapping[str, Any], name: str, kind: type[_T]) -> list[_T]:
    if record.get(name) is None:
        return []
    items: list[_T] = get_required(record, name, list)
    for item in items:
        if type(item) is not kind:
            raise ValueError(f"{name}: expected {kind.__name__}, found {type(item).__name__} in it")
    return items


_SCHEMA, _CODEC = "avro.schema", "avro.codec"
_MOST_ZEROS = 64  # places behind two zeros that are tried as the end of a map


def read_container(body: bytes) -> Iterator[Any]:
    """Yield the records of an Avro container file, which Hudi never compresses.

    Raises:
        ValueError: the file is compressed. Errors of fastavro pass, too: `undecodable_as_corrupt`
            turns all of them into one.
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
    """Return the first item of a record that begins with a map of lists, and its other fields.

    Raises some error if the record has another shape, or if its ends cannot be found.
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
    rest = fastavro.parse_schema({**schema, "fields": schema["fields"][1:]})
    return ends["item"], _read_end(block.bytes_.getvalue(), rest)


def _read_end(content: bytes, schema: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the fields behind a map of lists, found from the end; ValueError if they are not.

    Two zeros end the last list and the map. Behind the map there are none without an empty key or a
    zero in a text, and the fields have to take all bytes behind them.
    """
    end = len(content) + 1
    for _ in range(_MOST_ZEROS):
        end = content.rfind(b"\0\0", 0, end - 1) + 2
        rest = io.BytesIO(content[end:])
        try:
            record: Any = fastavro.schemaless_reader(rest, schema, None)
        except UNDECODABLE:
            continue
        if not rest.read(1):
            return dict(record)
    raise ValueError("the map of lists has no end")


@lru_cache(maxsize=32)  # one text per kind of file and Hudi release
def load_schema(text: str) -> Any:  # noqa: ANN401  (of any shape that Avro allows)
    """Return the JSON of a record's schema.

    Raises:
        ValueError: the text is not an Avro schema, or has a type that contains itself.
    """
    try:
        schema = parse_schema(text)
    except HudiError as error:
        raise ValueError(error.reason()) from error
    _check(schema)
    return parse_json(text)


def _check(avro: AvroType) -> None:
    match avro:
        case AvroReference(name):
            raise ValueError(f"the Avro schema has {name} in itself")
    for part in parts_of(avro):
        _check(part)
