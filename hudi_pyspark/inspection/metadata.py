"""The records of the metadata table."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.inspection.timeline import texts
from hudi_pyspark.query.metadata_table.records import load_metadata

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

METADATA_RECORDS = pa.schema(texts("metadata_partition", "file_id", "key", "type", "value"))


def metadata_records(view: TableView, partition: str | None) -> pa.Table:
    """Return one row per key; see `Inspection.metadata_records`."""
    rows = [
        {
            "metadata_partition": record.metadata_partition,
            "file_id": record.file_id,
            "key": record.key,
            "type": record.type_name,
            "value": json.dumps(record.value, default=_json_value, ensure_ascii=False),
        }
        for record in load_metadata(view, partition)
    ]
    return pa.Table.from_pylist(rows, schema=METADATA_RECORDS)


def _json_value(value: object) -> str:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)
