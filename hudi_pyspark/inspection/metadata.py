"""The records of the metadata table, and where it differs from the table."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.inspection.files import (
    commits_of,
    committed_by_path,
    stored_files,
)
from hudi_pyspark.inspection.metadata_validation import differences
from hudi_pyspark.inspection.timeline import texts
from hudi_pyspark.planning.metadata_table.table import MetadataTable, load_metadata

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

METADATA_RECORDS = pa.schema(texts("metadata_partition", "file_id", "key", "type", "value"))

METADATA_VALIDATION = pa.schema(texts("check", "subject", "metadata_table", "table", "problem"))


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


def metadata_validation(view: TableView, sample: int) -> pa.Table:
    """Return one row per difference; see `Inspection.metadata_validation`."""
    if not view.config.metadata_partitions:
        return METADATA_VALIDATION.empty_table()
    on_storage = [
        (f.path, f.name.instant, f.size) for f in stored_files(view) if f.name is not None
    ]
    commits = commits_of(view, ((path, instant) for path, instant, _ in on_storage))
    found = differences(
        MetadataTable.open(view),
        stored={path: size for path, _, size in on_storage},
        committed=committed_by_path(commits).keys(),
        sample=sample,
    )
    rows = [
        {
            "check": difference.check.value,
            "subject": difference.subject,
            "metadata_table": difference.metadata_table,
            "table": difference.table,
            "problem": difference.problem,
        }
        for difference in found
    ]
    return pa.Table.from_pylist(rows, schema=METADATA_VALIDATION)


def _json_value(value: object) -> str:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)
