"""The definition of a table: its properties, and its columns over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.columns.type_text import type_text
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.timeline.internal_schema import parse_internal_schema
from hudi_pyspark.inspection.commits import known_commits
from hudi_pyspark.inspection.timeline import instant_row, schema_of
from hudi_pyspark.table.timeline import instant_path

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

PROPERTIES = schema_of("key, value")
SCHEMA_HISTORY = schema_of(
    "requested_time, completion_time, operation, version_id int, added texts, dropped texts, "
    "changed texts, columns int, avro_schema"
)


def properties(view: TableView) -> pa.Table:
    """Return one row per property; see `Inspection.properties`."""
    rows = [{"key": k, "value": v} for k, v in sorted(view.config.properties.items())]
    return pa.Table.from_pylist(rows, schema=PROPERTIES)


def schema_history(view: TableView) -> pa.Table:
    """Return one row per change of the columns; see `Inspection.schema_history`."""
    rows = []
    earlier: dict[str, str] = {}
    last_text, last_version = "", None
    for commit in known_commits(view, archived=True):
        text = commit.metadata.schema_text
        internal = commit.metadata.internal_schema_text
        path = instant_path(commit.instant, view.config)
        version = parse_internal_schema(internal, path=path).version_id if internal else None
        if not text or (text == last_text and version == last_version):
            continue
        types = {field.name: type_text(field.type) for field in arrow_schema(parse_schema(text))}
        both = [name for name in types if name in earlier]
        row = {
            **instant_row(commit.instant),
            "operation": commit.metadata.operation_type.value,
            "version_id": version,
            "added": [f"{name}: {kind}" for name, kind in types.items() if name not in earlier],
            "dropped": [f"{name}: {kind}" for name, kind in earlier.items() if name not in types],
            "changed": [f"{n}: {earlier[n]} -> {types[n]}" for n in both if earlier[n] != types[n]],
            "columns": len(types),
            "avro_schema": text,
        }
        # Writers spell schemas differently (record names, defaults): only columns are compared.
        if version != last_version or list(types.items()) != list(earlier.items()):
            rows.append(row)
        last_text, last_version, earlier = text, version, types
    return pa.Table.from_pylist(rows, schema=SCHEMA_HISTORY)
