"""Hints: what a query needs of a scan, beyond what Spark's API passes on.

The optimizer's rule writes hints into the metadata of the first column that it requests, and a
client of Spark Connect writes them into an option of the read. The rule takes the words for hints
from here: see `optimizer.py`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from hudi_pyspark.format.nested_types import is_variant

FieldPath: TypeAlias = tuple[str, ...]
"""The names of a column and of its nested fields, which the alias of a table may precede."""

OPTION = "hudi-py.hints"
REQUEST = "hudi-py.request"
"""The option that names a request, so that its reads look new to a server of Spark Connect.

A server keeps the plans of a session, and with them the state of a table, as long as a read looks
the same.
"""
EXPLAINED = "\0hudi-py\0"
"""Marks the row bytes, an explanation and the number of slices that await their merge.

Each of the three ends with ``\\0``. The optimizer's rule searches the pickle of a partition for the
mark.
"""


class Hint(str, Enum):
    """The keys of the rule's hints in a column's metadata; the rule's constants have these names.

    `Hints` describes the values.
    """

    FILTERS = "hudi-py.filters"
    KEYS = "hudi-py.keys"
    LIMIT = "hudi-py.limit"
    PLACEHOLDER = "hudi-py.placeholder"
    PINNED = "hudi-py.pinned"
    KEEPS = "hudi-py.keeps"
    CORES = "hudi-py.cores"
    STATE = "hudi-py.state"


@dataclass(frozen=True, slots=True)
class Hints:
    """What the rule says about a query."""

    columns: StructType  # the columns whose values the query uses
    filters: tuple[str, ...]  # texts of conditions, which Spark also applies above the scan
    # Texts of conditions on the keys of joins, which are known when the query runs. They choose
    # partitions. Spark made the readers of these partitions before it knew the keys.
    keys: tuple[str, ...]
    limit: int | None  # the number of rows after which Spark stops; None for all rows
    # The source already has the state that the query reads: Spark plans the scans of a query one
    # by one, and they must agree. If not pinned, the scan reads the newest state.
    is_pinned: bool
    # Merge outcomes may be kept in Spark's local folders; false if Spark has to encrypt its files.
    keeps_merges: bool
    cores: int  # tasks that Spark runs at the same time, by its default parallelism; 0: unknown
    # None if the rule asks for rows. Otherwise it asks for the newest state of the table: "" if no
    # other scan of the query has one, else the source whose state this scan has to share.
    state: str | None


def read_hints(schema: StructType) -> Hints:
    """Read the rule's hints from the schema that Spark requests."""
    first: dict[str, Any] = schema[0].metadata or {} if len(schema) else {}
    limit = first.get(Hint.LIMIT)
    return Hints(
        columns=StructType([f for f in schema if Hint.PLACEHOLDER not in (f.metadata or {})]),
        filters=_lines(first.get(Hint.FILTERS, "")),
        keys=_lines(first.get(Hint.KEYS, "")),
        limit=int(limit) if limit is not None else None,
        is_pinned=Hint.PINNED in first,
        keeps_merges=Hint.KEEPS in first,
        cores=int(first.get(Hint.CORES, 0)),
        state=first.get(Hint.STATE),
    )


def _lines(text: str) -> tuple[str, ...]:
    # splitlines() would also split at line separators inside a user's literals.
    return tuple(text.split("\n")) if text else ()


@dataclass(frozen=True, slots=True)
class ClientHints:
    """What a client of Spark Connect says about a query; conditions and limit as in `Hints`."""

    # All names that the query uses, in lower case. Some may be no columns. None: any column.
    paths: frozenset[FieldPath] | None = None
    filters: tuple[str, ...] = ()
    limit: int | None = None
    is_given: bool = True  # False if no client sent hints; True even if the query needs everything

    def to_option(self) -> str:
        """Return the hints as text; equal hints give the same text."""
        paths = None if self.paths is None else sorted(self.paths)
        return json.dumps([paths, self.filters, self.limit])

    @classmethod
    def from_option(cls, text: str) -> "ClientHints":
        """Parse the text of `to_option`; "" stands for no hints."""
        if not text:
            return cls(is_given=False)
        paths, filters, limit = json.loads(text)
        return cls(None if paths is None else frozenset(map(tuple, paths)), tuple(filters), limit)

    def narrow(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns and fields that the query may need, or one column if it needs none.

        The one column is a placeholder: it lets the scan count rows.
        """
        if self.paths is None:
            return schema
        subpaths = {field.name: _subpaths(field.name, self.paths) for field in schema}
        narrowed = [
            field.with_type(_narrow_type(field.type, subpaths[field.name]))
            for field in schema
            if subpaths[field.name]
        ]
        return pa.schema(narrowed or [min(schema, key=_width)])

    def without_placeholder(self, schema: StructType) -> StructType:
        """Return the columns of a narrowed schema without the placeholder of `narrow`."""
        if self.paths is None:
            return schema
        return StructType([field for field in schema if _subpaths(field.name, self.paths)])


def _subpaths(name: str, paths: Iterable[FieldPath]) -> set[FieldPath]:
    """Return what follows a name in paths; the alias of a table may precede the name."""
    return {
        path[place + 1 :]
        for path in paths
        for place, part in enumerate(path)
        if part == name.lower()
    }


def _narrow_type(data_type: pa.DataType, subpaths: set[FieldPath]) -> pa.DataType:
    """Return a type with only the fields that paths name; the whole type if a path ends at it."""
    if () in subpaths or is_variant(data_type):
        return data_type
    if pa.types.is_list(data_type):
        item = data_type.value_field
        return pa.list_(item.with_type(_narrow_type(item.type, subpaths)))
    if not pa.types.is_struct(data_type):
        return data_type
    by_name: dict[str, set[FieldPath]] = {}
    for name, *subpath in subpaths:
        by_name.setdefault(name, set()).add(tuple(subpath))
    if not by_name.keys() <= {field.name.lower() for field in data_type}:
        return data_type
    return pa.struct(
        field.with_type(_narrow_type(field.type, by_name[field.name.lower()]))
        for field in data_type
        if field.name.lower() in by_name
    )


def _width(field: pa.Field) -> int:
    """Return the bits of a value; a very large number if values differ in size."""
    try:
        return int(field.type.bit_width)
    except ValueError:
        return 1 << 30
