"""Hints that somebody else than the maker of a query wrote: words of this package, with values.

A hint that is believed hides rows, changes values to null or runs code. So each value here would be
seen in an answer.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from hudi_pyspark.spark.hints import Hint

if TYPE_CHECKING:
    import random
    from pathlib import Path


class Harm:
    """An object whose pickle makes a folder when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def harmful_words(mark: Path) -> dict[str, str]:
    """Return words with values that hide rows, or make a folder.

    Args:
        mark: the folder.
    """
    harm = base64.b64encode(pickle.dumps(Harm(mark))).decode()
    values = {
        Hint.FILTERS: "1 = 0",
        Hint.KEYS: "false",
        Hint.LIMIT: "1",
        Hint.PLACEHOLDER: "true",
        Hint.PINNED: "true",
        Hint.KEEPS: "true",
        Hint.CORES: "-1",
        Hint.STATE: harm,
    }
    words = {f"hudi-py.{hint.value}": value for hint, value in values.items()}
    hints = json.dumps([[["id"]], ["false"], 1])
    # As a client writes them, unsigned and with signatures of nobody.
    words |= {"hudi-py.hints": hints, "hudi-py.request": "r"}
    return words


OPTIONS = [
    {"hudi-py.hints": text, "hudi-py.request": "r"}
    for unsigned in ('[null, ["false"], null]', "[null, [], 1]", '[[["id"]], [], null]', "[")
    for text in (unsigned, f"{'0' * 64} {unsigned}", f" {unsigned}")
]
"""Hints of a client, as somebody could write them who does not know its secret."""


def marked(schema: StructType, metadata: dict[str, str], rng: random.Random) -> StructType:
    """Return a schema with words in the metadata of its first column and of some others."""
    columns = [_marked_field(field, metadata, rng, always=False) for field in schema]
    columns[0] = _marked_field(schema[0], metadata, rng, always=True)
    return StructType(columns)


def _marked_field(
    field: StructField, metadata: dict[str, str], rng: random.Random, *, always: bool
) -> StructField:
    words = [word for word in metadata if always or rng.random() < 0.3]
    data_type = _marked_type(field.dataType, metadata, rng)
    return StructField(
        field.name, data_type, nullable=True, metadata={word: metadata[word] for word in words}
    )


def _marked_type(data_type: DataType, metadata: dict[str, str], rng: random.Random) -> DataType:
    match data_type:
        case StructType():
            fields = [_marked_field(f, metadata, rng, always=False) for f in data_type]
            return StructType(fields)
        case ArrayType():
            return ArrayType(_marked_type(data_type.elementType, metadata, rng))
        case MapType():
            return MapType(data_type.keyType, _marked_type(data_type.valueType, metadata, rng))
    return data_type
