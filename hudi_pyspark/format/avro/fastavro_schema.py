"""Avro schemas by which fastavro can decode any bytes, whoever wrote them.

fastavro decodes records one by one, for what are few: timelines and inspection. It descends in C,
where a type that contains itself ends the process once it is nested deeply enough.
"""

from __future__ import annotations

import io
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import fastavro
from fastavro.schema import SchemaParseException

from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.avro.schema import AvroReference, parse_schema, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.format.avro.schema import AvroType

_SCHEMA, _CODEC = "avro.schema", "avro.codec"


def read_container(body: bytes) -> Iterator[Any]:
    """Yield the records of an Avro container file, which Hudi never compresses."""
    try:
        reader = fastavro.reader(io.BytesIO(body))
    except (TypeError, AttributeError, SchemaParseException) as error:
        raise ValueError(f"the Avro schema cannot be parsed: {error}") from error
    codec = reader.metadata.get(_CODEC, "null")
    if codec != "null":
        raise ValueError(f"expected an Avro file without compression, found {codec}")
    load_schema(reader.metadata[_SCHEMA])
    return iter(reader)


@lru_cache(maxsize=32)  # one text per kind of file and Hudi release
def load_schema(text: str) -> Any:  # noqa: ANN401  (of any shape that Avro allows)
    """Return the JSON of a record's schema; ValueError for one that contains itself."""
    try:
        schema = parse_schema(text)
    except HudiError as error:
        raise ValueError(error.reason()) from error
    _check(schema)
    return json.loads(text)


def _check(avro: AvroType) -> None:
    match avro:
        case AvroReference(name):
            raise ValueError(f"the Avro schema has {name} in itself")
    for part in parts_of(avro):
        _check(part)
