"""Parse Hudi's internal schema: columns with ids that survive renames (schema on read)."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from hudi_pyspark.format.avro.schema import parse_json
from hudi_pyspark.format.timeline.instant_body import (
    get_list,
    get_required,
    undecodable_as_corrupt,
)

Part: TypeAlias = "StructPart | ListPart | MapPart | None"

_PROBLEM = "not an internal schema"


@dataclass(frozen=True, slots=True)
class InternalField:
    """A column or a field of a struct."""

    id: int
    name: str
    part: Part  # None for a type that has no fields


@dataclass(frozen=True, slots=True)
class StructPart:
    """Fields of a struct. Ids are unique in the whole schema."""

    fields: tuple[InternalField, ...]

    def by_id(self) -> dict[int, InternalField]:
        """Map ids to fields."""
        return {field.id: field for field in self.fields}

    def by_name(self) -> dict[str, InternalField]:
        """Map names to fields."""
        return {field.name: field for field in self.fields}


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

    version_id: int  # the instant from which on it applies, as a number; 0 for the first version
    root: StructPart


def parse_internal_schema(text: str | bytes, *, path: str) -> InternalSchema:
    """Parse one schema, which commit metadata has under ``latest_schema``.

    Args:
        text: JSON.
        path: of the commit, for errors.

    Raises:
        CorruptTimelineError: the text is not an internal schema.
    """
    with undecodable_as_corrupt(path, _PROBLEM):
        return _schema(get_required({"schema": parse_json(text)}, "schema", dict))


def parse_schema_history(text: bytes, *, path: str) -> tuple[InternalSchema, ...]:
    """Parse all schemas of a ``.schemacommit`` file, oldest first.

    Args:
        text: JSON.
        path: of the file, for errors.

    Raises:
        CorruptTimelineError: the text is not a history of internal schemas.
    """
    with undecodable_as_corrupt(path, _PROBLEM):
        history = get_required({"history": parse_json(text)}, "history", dict)
        get_required(history, "schemas", list)
        schemas = map(_schema, get_list(history, "schemas", dict))
        return tuple(sorted(schemas, key=lambda s: s.version_id))


def _schema(record: dict[str, Any]) -> InternalSchema:
    return InternalSchema(get_required(record, "version_id", int), _struct(record))


def _struct(record: dict[str, Any]) -> StructPart:
    return StructPart(tuple(map(_field, get_list(record, "fields", dict))))


def _field(record: dict[str, Any]) -> InternalField:
    field_id = get_required(record, "id", int)
    name = get_required(record, "name", str)
    return InternalField(field_id, name, _part(record.get("type")))


def _part(data_type: object) -> Part:
    if isinstance(data_type, str):
        return None
    if isinstance(data_type, dict):
        match data_type.get("type"):
            case "record":
                return _struct(data_type)
            case "array":
                return ListPart(_part(data_type.get("element")))
            case "map":
                return MapPart(_part(data_type.get("value")))
    raise ValueError(f"unknown type {data_type!r}")
