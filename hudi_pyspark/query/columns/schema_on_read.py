"""Columns of old files under their present names, matched by the ids of the internal schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.format.timeline.internal_schema import ListPart, MapPart, StructPart
from hudi_pyspark.query.columns.schema_evolution import without_offset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_pyspark.format.timeline.internal_schema import InternalSchema, Part


@dataclass(frozen=True, slots=True)
class SchemaOnRead:
    """The columns of a query and all versions of the table's columns."""

    target: InternalSchema
    versions: tuple[InternalSchema, ...]  # oldest first

    def stored_names(self, names: Sequence[str], instant: str) -> dict[str, str]:
        """Map top-level columns of a query to their names in a file, without those that it lacks.

        Args:
            names: columns of the query. One that the internal schema does not know, such as a
                partition column, keeps its name.
            instant: that wrote the file.
        """
        stored = self._version_of(instant)
        names_in_file: dict[str, str] = {}
        for name in names:
            wanted = self.target.root.by_name(name)
            if wanted is None:
                names_in_file[name] = name
            elif (field := stored.by_id(wanted.id)) is not None:
                names_in_file[name] = field.name
        return names_in_file

    def rename(self, table: pa.Table, stored_names: Mapping[str, str], instant: str) -> pa.Table:
        """Rename a file's columns to the names of the query, nested fields too.

        Args:
            table: as read from the file; has some of the stored names.
            stored_names: of the wanted columns.
            instant: that wrote the file.
        """
        stored = self._version_of(instant)
        columns = {}
        for name, stored_name in stored_names.items():
            if stored_name not in table.schema.names:
                continue
            column = table.column(stored_name)
            new, old = self.target.root.by_name(name), stored.by_name(stored_name)
            if new is not None and old is not None and new.part != old.part:
                chunks = [_rename(chunk, new.part, old.part) for chunk in column.chunks]
                column = pa.chunked_array(chunks) if chunks else column
            columns[name] = column
        if not columns:
            return table.select([])
        return pa.table(columns)

    def _version_of(self, instant: str) -> StructPart:
        """Return the columns when a file was written; the oldest ones before all versions."""
        past = [v for v in self.versions if v.version_id <= int(instant)]
        return (past[-1] if past else self.versions[0]).root


def stored_columns(
    schema_on_read: SchemaOnRead | None, names: Sequence[str], instant: str
) -> dict[str, str]:
    """Map columns of a query to their names in a file; without schema on read they are the same."""
    if schema_on_read is None:
        return {name: name for name in names}
    return schema_on_read.stored_names(names, instant)


def _rename(array: pa.Array, new: Part, old: Part) -> pa.Array:
    if isinstance(new, StructPart) and isinstance(old, StructPart):
        return _rename_struct(array, new, old)
    if isinstance(new, ListPart) and isinstance(old, ListPart):
        array = without_offset(array)
        values = _rename(array.values, new.element, old.element)
        mask = pc.is_null(array) if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, values, mask=mask)
    if isinstance(new, MapPart) and isinstance(old, MapPart):
        array = without_offset(array)
        items = _rename(array.items, new.value, old.value)
        mask = pc.is_null(array) if array.null_count else None
        return pa.MapArray.from_arrays(array.offsets, array.keys, items, mask=mask)
    return array


def _rename_struct(array: pa.StructArray, new: StructPart, old: StructPart) -> pa.Array:
    names, children = [], []
    for field in new.fields:
        stored = old.by_id(field.id)
        index = array.type.get_field_index(stored.name) if stored is not None else -1
        if stored is None or index < 0:
            continue
        names.append(field.name)
        children.append(_rename(pc.struct_field(array, [index]), field.part, stored.part))
    if not children:
        return pa.nulls(len(array), pa.struct([]))
    mask = pc.is_null(array) if array.null_count else None
    return pa.StructArray.from_arrays(children, names=names, mask=mask)
