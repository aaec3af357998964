"""What a query needs of a scan, beyond what Spark's API passes on.

The optimizer's rule writes hints into the metadata of the first column that it asks for, and a
client of Spark Connect writes them into an option of the read. The rule gets the words from here:
see `optimizer.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from hudi_pyspark.format.nested_types import is_variant

Path: TypeAlias = tuple[str, ...]  # names of a column and of nested fields, maybe after an alias

OPTION = "hudi-py.hints"
# A server of Spark Connect keeps the plans of a session, and in them the state of a table, as long
# as a read looks the same. The name of a request makes its reads look new.
REQUEST = "hudi-py.request"
FILTERS = "hudi-py.filters"
KEYS = "hudi-py.keys"
LIMIT = "hudi-py.limit"
PLACEHOLDER = "hudi-py.placeholder"
PINNED = "hudi-py.pinned"
KEEPS = "hudi-py.keeps"
CORES = "hudi-py.cores"
STATE = "hudi-py.state"
# Before the bytes of the rows, an explanation and the number of slices that await their merge, each
# with \0 at its end. The optimizer's rule finds it in the pickle of a partition.
EXPLAINED = "\0hudi-py\0"


@dataclass(frozen=True, slots=True)
class Hints:
    """What the rule says of a query, beyond its columns."""

    columns: StructType  # those whose values matter
    filters: tuple[str, ...]  # texts of conditions that Spark applies above the scan as well
    # Texts of conditions on the keys of joins, which are known when the query runs. They choose
    # partitions; the readers that Spark made before, which know no keys, read them.
    keys: tuple[str, ...]
    limit: int | None  # rows after which Spark stops; None for all
    # The source has the state that the query reads: its scans are planned one by one, and must
    # agree. Otherwise the newest state is read.
    is_pinned: bool
    # Spark's local folders, which are not encrypted, may have what merges decided.
    keeps_merges: bool
    cores: int  # tasks that Spark runs at the same time, by its default parallelism; 0: unknown
    # Instead of rows, the rule asks for the newest state of the table: "" if no other scan of the
    # query has one, else the source whose state this one has to share. None where rows are read.
    state: str | None


def read_hints(schema: StructType) -> Hints:
    """Read the hints out of the schema that Spark asks for."""
    first: dict[str, Any] = schema[0].metadata or {} if len(schema) else {}
    limit = first.get(LIMIT)
    return Hints(
        columns=StructType([f for f in schema if PLACEHOLDER not in (f.metadata or {})]),
        filters=_lines(first.get(FILTERS, "")),
        keys=_lines(first.get(KEYS, "")),
        limit=int(limit) if limit is not None else None,
        is_pinned=PINNED in first,
        keeps_merges=KEEPS in first,
        cores=int(first.get(CORES, 0)),
        state=first.get(STATE),
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()  # splitlines() would also split texts of users


@dataclass(frozen=True, slots=True)
class ClientHints:
    """What a client of Spark Connect says of a query; conditions and limit as in `Hints`."""

    # Of columns and fields that may be needed, in lower case, among other names; None for all.
    paths: frozenset[Path] | None = None
    filters: tuple[str, ...] = ()
    limit: int | None = None
    is_given: bool = True  # the client says so, even if everything is needed

    def to_option(self) -> str:
        """Return the hints as a text, the same for the same hints."""
        paths = None if self.paths is None else sorted(self.paths)
        return json.dumps([paths, self.filters, self.limit])

    @classmethod
    def from_option(cls, text: str) -> ClientHints:
        """Read what `to_option` returned; "" has no hints."""
        if not text:
            return cls(is_given=False)
        paths, filters, limit = json.loads(text)
        return cls(None if paths is None else frozenset(map(tuple, paths)), tuple(filters), limit)

    def narrow(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns and fields that may be needed; one that is not, where none is."""
        if self.paths is None:
            return schema
        rests = {field.name: _after(field.name, self.paths) for field in schema}
        narrowed = [f.with_type(_narrowed(f.type, rests[f.name])) for f in schema if rests[f.name]]
        return pa.schema(narrowed or [min(schema, key=_width)])

    def without_placeholder(self, schema: StructType) -> StructType:
        """Return the columns whose values matter: not the one that is there for the others."""
        if self.paths is None:
            return schema
        return StructType([field for field in schema if _after(field.name, self.paths)])


def _after(name: str, paths: Iterable[Path]) -> set[Path]:
    """Return what follows a name in paths; a part before it may be the alias of a table."""
    return {
        path[place + 1 :]
        for path in paths
        for place, part in enumerate(path)
        if part == name.lower()
    }


def _narrowed(data_type: pa.DataType, rests: set[Path]) -> pa.DataType:
    """Return a type with the fields that paths go on with; whole where one of them ends."""
    if () in rests or is_variant(data_type):
        return data_type
    if pa.types.is_list(data_type):
        item = data_type.value_field
        return pa.list_(item.with_type(_narrowed(item.type, rests)))
    if not pa.types.is_struct(data_type):
        return data_type
    names = {field.name.lower() for field in data_type}
    if not {rest[0] for rest in rests} <= names:
        return data_type
    return pa.struct(
        field.with_type(_narrowed(field.type, {r[1:] for r in rests if r[0] == field.name.lower()}))
        for field in data_type
        if field.name.lower() in {rest[0] for rest in rests}
    )


def _width(field: pa.Field) -> int:
    """Return the bits of a value; very many where they differ."""
    try:
        return int(field.type.bit_width)
    except ValueError:
        return 1 << 30
