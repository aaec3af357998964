"""Merges literal rows by the rule of a table's properties, over real log blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.merge_mode import MergeRule, resolve_merge_rule
from tests.reading.log_records.log_files import (
    KEY,
    avro_record,
    data_block,
    delete_block,
    log_records,
    merge,
    nullable,
)

_AVRO: dict[pa.DataType, object] = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.bool_(): "boolean",
    pa.binary(): "bytes",
    pa.float64(): "double",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.decimal128(9, 2): {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": 9,
        "scale": 2,
    },
    pa.struct({"x": pa.int64(), "y": pa.int64()}): {
        "type": "record",
        "name": "xy",
        "fields": [{"name": name, "type": nullable("long")} for name in "xy"],
    },
}


def rule_of_table(version: int, defaults: Any = None, **properties: str) -> MergeRule:
    """The merge rule of a table, its properties without ``hoodie.`` and ``__`` for a dot."""
    named = {f"hoodie.{name.replace('__', '.')}": text for name, text in properties.items()}
    config = TableConfig.parse({"hoodie.table.version": str(version), **named})
    rule = resolve_merge_rule(config, "", "")
    return replace(rule, column_defaults=tuple((defaults or {}).items()))


@dataclass
class Table:
    """Columns of a table, the key first, and how its records are merged."""

    columns: dict[str, pa.DataType]
    rule: MergeRule
    log: list[bytes] = field(default_factory=list)

    def row(self, *values: Any) -> dict[str, Any]:
        return dict(zip(self.schema.names, values, strict=True))

    @property
    def schema(self) -> pa.Schema:
        return pa.schema({KEY: pa.string(), **self.columns}.items())

    def upsert(self, *rows: Sequence[Any]) -> "Table":
        """A block of whole rows."""
        avro = avro_record(**{name: nullable(_AVRO[t]) for name, t in self.columns.items()})
        self.log.append(data_block(avro, [self.row(*values) for values in rows]))
        return self

    def update(self, *rows: dict[str, Any]) -> "Table":
        """A block of partial updates: all rows name the same columns."""
        names = [name for name in self.columns if name in rows[0]]
        avro = avro_record(**{name: nullable(_AVRO[self.columns[name]]) for name in names})
        self.log.append(data_block(avro, rows, more={HeaderKey.IS_PARTIAL: "true"}))
        return self

    def delete(self, *keys: str, ordering: object = None) -> "Table":
        """A delete block; `ordering` is wrapped, None for none."""
        self.log.append(delete_block([(key, ordering) for key in keys]))
        return self

    def merged(self, *base: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows that a read answers, in the order of their keys."""
        log = log_records(b"".join(self.log), schema=self.schema, rule=self.rule)
        table = pa.Table.from_pylist([self.row(*values) for values in base], schema=self.schema)
        tables = merge([table], log, self.rule, batch_rows=10)
        rows = [tuple(row.values()) for result in tables for row in result.to_pylist()]
        return sorted(rows, key=lambda row: row[0])
