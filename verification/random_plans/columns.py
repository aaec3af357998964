"""Columns with their types, and which of them an expression may use.

An expression knows its *kind*: columns of one kind compare with each other whatever their types
are, so that few plans are errors. A kind is no type: texts of numbers are of the kind ``num``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

FLAT = ("num", "text", "time", "bool", "bytes")
# What Spark orders, groups and compares.
ORDERED = (*FLAT, "meta", "struct", "array")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOST_VALUES = 60


@dataclass(frozen=True)
class Column:
    """A column in scope, or an expression."""

    ref: str  # text of SQL that means it
    name: str  # of the column that it is, or becomes
    kind: str  # what it compares with
    type: pa.DataType | None = None  # None for an expression whose type does not matter
    # Some values of the column, which literals are drawn from.
    values: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    python: str = ""  # how the API says it; "" for what `api` makes of the text

    @classmethod
    def of(cls, ref: str, name: str, data_type: pa.DataType, values: Iterable[Any]) -> Column:
        """Return a column of a table; nulls may be among its values."""
        distinct = {repr(value): value for value in values if value is not None}
        known = tuple(distinct.values())[:_MOST_VALUES]
        kind = "meta" if name.startswith("_hoodie") else _kind_of(data_type, known)
        return cls(ref, name, kind, data_type, known)

    def result(self, name: str) -> Column:
        """Return the column of a result that this one becomes."""
        return replace(self, ref=name, name=name, python="")

    def made(self, ref: str, kind: str) -> Column:
        """Return an expression of the column, whose values are alike if it is of the same kind."""
        values = self.values if kind == self.kind else ()
        return Column(ref, self.name, kind, values=values)

    @property
    def fields(self) -> list[Column]:
        """The fields of a struct; none of another type."""
        if self.type is None or not pa.types.is_struct(self.type):
            return []
        return [
            Column.of(
                f"{self.ref}.{each.name}",
                each.name,
                each.type,
                (value[each.name] for value in self.values),
            )
            for each in self.type
        ]

    @property
    def item(self) -> Column:
        """The column that the items of an array become."""
        if self.type is None:
            return Column(self.ref, self.name, "num")
        items = (item for value in self.values for item in value)
        return Column.of(self.ref, self.name, self.type.value_type, items)


def _kind_of(data_type: pa.DataType, values: tuple[Any, ...]) -> str:
    if pa.types.is_string(data_type):
        if values and all(map(_NUMBER.fullmatch, values)):
            return "num"
        if values and all(map(_DAY.fullmatch, values)):
            return "time"
        return "text"
    ways = {
        "struct": pa.types.is_struct,
        "array": pa.types.is_list,
        "map": pa.types.is_map,
        "time": pa.types.is_temporal,
        "bool": pa.types.is_boolean,
        "bytes": pa.types.is_binary,
    }
    return next((kind for kind, is_kind in ways.items() if is_kind(data_type)), "num")


@dataclass(frozen=True)
class Scope:
    """The columns that an expression may use."""

    columns: tuple[Column, ...]  # in order; several may share a name
    # Columns that together have no two equal rows; empty if unknown.
    unique: tuple[Column, ...] = ()

    def named(self, alias: str) -> Scope:
        """Return the scope of a relation that gets an alias: columns of a shared name are lost."""
        own = self.without_shared_names()
        renamed = {c.ref: replace(c, ref=f"{alias}.{c.name}") for c in own}
        is_known = all(column.ref in renamed for column in self.unique)
        unique = tuple(renamed[c.ref] for c in self.unique) if is_known else ()
        return Scope(tuple(renamed.values()), unique)

    def without_shared_names(self) -> list[Column]:
        """Return the columns that their names mean alone."""
        counts = Counter(column.name.lower() for column in self.columns)
        return [column for column in self.columns if counts[column.name.lower()] == 1]

    def of(self, *kinds: str) -> list[Column]:
        """Return the columns of some kinds."""
        return [column for column in self.columns if column.kind in kinds]

    def beside(self, other: Scope) -> Scope:
        """Return the scope of a join."""
        is_known = self.unique and other.unique
        unique = (*self.unique, *other.unique) if is_known else ()
        # What USING merged goes by its name alone, which the other side may have, too.
        own = tuple(column for column in self.columns if "." in column.ref)
        return Scope((*own, *other.columns), unique)

    @property
    def is_ordered(self) -> bool:
        """Whether all of the columns can be sorted by."""
        return all(column.kind in ORDERED for column in self.columns)


def scope_of(*columns: Column) -> Scope:
    """Return the scope of a result: its columns go by their names."""
    return Scope(tuple(column.result(column.name) for column in columns))
