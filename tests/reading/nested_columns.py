"""The Avro schema of a table that has one type as a column and within each kind of nested type."""

from __future__ import annotations

from typing import Any

from hudi_pyspark.table.meta_columns import META_COLUMNS


def avro_record(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a table with a named Avro type.

    Its columns are the meta columns, the key ``id``, the ordering field ``ts``, ``v`` of the type,
    a struct ``s`` with the fields ``n`` and ``v``, a list ``l`` and a map ``m``.
    """
    name = definition["name"]
    struct = {
        "type": "record",
        "name": "s",
        "fields": [{"name": "n", "type": "int"}, {"name": "v", "type": ["null", name]}],
    }
    return {
        "type": "record",
        "name": "r",
        "fields": [
            *({"name": column, "type": ["null", "string"]} for column in META_COLUMNS),
            {"name": "id", "type": "int"},
            {"name": "ts", "type": "long"},
            {"name": "v", "type": ["null", definition]},
            {"name": "s", "type": ["null", struct]},
            {"name": "l", "type": ["null", {"type": "array", "items": ["null", name]}]},
            {"name": "m", "type": ["null", {"type": "map", "values": ["null", name]}]},
        ],
    }
