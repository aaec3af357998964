"""Body of a timeline file → one record: JSON text, or an Avro container with its own schema."""

from __future__ import annotations

import json
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastavro.schema import SchemaParseException, UnknownType

from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.format.avro.fastavro_schema import read_container

if TYPE_CHECKING:
    from collections.abc import Iterator

_AVRO_MAGIC = b"Obj\x01"
# What fastavro, json and the reading of fields raise when the bytes or their shape are wrong.
_UNDECODABLE = (
    ValueError,  # also JSONDecodeError and UnicodeDecodeError
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    EOFError,
    struct.error,
    MemoryError,  # a corrupt length asks for petabytes
    RecursionError,
    SchemaParseException,
    UnknownType,
)


def read_body(body: bytes, *, path: str) -> dict[str, Any]:
    """Decode the single record of a timeline file; {} for an empty file.

    Its first bytes show the format: commits are JSON up to table version 7 and Avro from 8 on, but
    those of an upgraded table stay as they were. Raises CorruptTimelineError.
    """
    if not body:
        return {}
    with undecodable_as_corrupt(path):
        if body.startswith(_AVRO_MAGIC):
            record = next(read_container(body), None)
        elif body.lstrip()[:1] == b"{":
            record = json.loads(body)
        else:
            raise ValueError(f"expected '{{' or {_AVRO_MAGIC!r}, found {body[:4]!r}")
        if not isinstance(record, dict):
            raise TypeError("expected a record, found none")
        return record


@contextmanager
def decoded_body(body: bytes, *, path: str) -> Iterator[dict[str, Any]]:
    """Decode a timeline file for the code below ``with``, which may find it of another shape."""
    record = read_body(body, path=path)
    with undecodable_as_corrupt(path):
        yield record


@contextmanager
def undecodable_as_corrupt(path: str, what: str = "") -> Iterator[None]:
    """Turn any error that wrong bytes cause into CorruptTimelineError, naming the file."""
    try:
        yield
    except _UNDECODABLE as error:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CorruptTimelineError(path, f"{what}: {problem}" if what else problem) from error
