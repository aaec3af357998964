"""Hudi's internal schema: columns with ids that survive renames (schema on read)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_pyspark.format.timeline.instant_body import undecodable_as_corrupt

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Part: TypeAlias = "StructPart" | "ListPart" | "MapPart" | None


@dataclass(frozen=True, slots=True)
class InternalField:
    """A column or a field of a struct."""

    id: int
    name: str
    part: Part  # None for a type without fields inside


@dataclass(frozen=True, slots=True)
class StructPart:
    """Fields of a struct; ids are unique within the whole schema."""

    fields: tuple[InternalField, ...]

    def by_id(self, field_id: int) -> InternalField | None:
        """Return the field with an id; None if there is none."""
        return next((f for f in self.fields if f.id == field_id), None)

    def by_name(self, name: str) -> InternalField | None:
        """Return the field with a name; None if there is none."""
        return next((f for f in self.fields if f.name == name), None)


@dataclass(frozen=True, slots=True)
class ListPart:
    """Elements of an array."""

    element: Part


@dataclass(frozen=True, slots=True)
class MapPart:
    """Values of a map."""

    value: Part


@dataclass(frozen=True, slots=True)
class InternalSchema:
    """One version of a table's columns."""

    version_id: int  # instant from which on it holds, as a number; 0 for the first
    root: StructPart


def parse_internal_schema(text: str | bytes, *, path: str) -> InternalSchema:
    """Parse one schema, as commit metadata holds it under ``latest_schema``."""
    return _parse(text, path, lambda record: (_schema(record),))[0]


def parse_schema_history(text: bytes, *, path: str) -> tuple[InternalSchema, ...]:
    """Parse all schemas of a ``.schemacommit`` file, oldest first."""
    schemas = _parse(text, path, lambda record: tuple(_schema(s) for s in record["schemas"]))
    return tuple(sorted(schemas, key=lambda s: s.version_id))


def _parse(
    text: str | bytes,
    path: str,
    build: Callable[[dict[str, Any]], tuple[InternalSchema, ...]],
) -> tuple[InternalSchema, ...]:
    with undecodable_as_corrupt(path, "not an internal schema"):
        return build(json.loads(text))


def _schema(record: dict[str, Any]) -> InternalSchema:
    return InternalSchema(int(record["version_id"]), StructPart(_fields(record["fields"])))


def _fields(records: list[dict[str, Any]]) -> tuple[InternalField, ...]:
    return tuple(InternalField(int(r["id"]), str(r["name"]), _part(r["type"])) for r in records)


def _part(kind: str | dict[str, Any]) -> Part:
    if isinstance(kind, str):
        return None
    if kind["type"] == "record":
        return StructPart(_fields(kind["fields"]))
    if kind["type"] == "array":
        return ListPart(_part(kind["element"]))
    if kind["type"] == "map":
        return MapPart(_part(kind["value"]))
    raise ValueError(f"unknown type {kind['type']!r}")
