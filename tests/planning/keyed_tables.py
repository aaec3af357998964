"""COPY_ON_WRITE tables of version 6 whose rows have any record keys, as their writer made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.table.meta_columns import META_COLUMNS
from tests.written_table import WrittenTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rows = Sequence[tuple[str, Mapping[str, Any]]]  # record key, and the values of the columns

TIME, LATER = "20240101000000000", "20240301000000000"
FILE_ID = "f1f1f1f1-0000-4000-8000-000000000000-0"
NAME = f"{FILE_ID}_0-0-0_{TIME}.parquet"


def write_table(
    folder: Path,
    columns: Mapping[str, Any],
    rows: Mapping[str, Rows],
    types: Mapping[str, pa.DataType] | None = None,
    **properties: str,
) -> str:
    """Write a table with one base file in each partition, and return its path.

    Args:
        folder: to be made.
        columns: data columns of the table, with their Avro types.
        rows: by the path of their partition.
        types: of the columns in the files; those of their values by default.
        properties: of the table, without ``hoodie.`` and with ``__`` for dots.
    """
    named = {"hoodie.timeline.layout.version": "1", "hoodie.table.type": "COPY_ON_WRITE"}
    named |= {f"hoodie.{key.replace('__', '.')}": text for key, text in properties.items()}
    fields = [
        *({"name": name, "type": ["null", "string"]} for name in META_COLUMNS),
        *({"name": name, "type": ["null", kind]} for name, kind in columns.items()),
    ]
    table = WrittenTable(folder, {"type": "record", "name": "r", "fields": fields}, named)
    files = [(FILE_ID, _write_file(table, path, of_path, types)) for path, of_path in rows.items()]
    table.commit(TIME, "commit", files)
    return str(folder)


def forget_partitions(path: str) -> None:
    """Put a later commit without files in the place of a table's own, which is archived now."""
    timeline = Path(path) / ".hoodie"
    content = json.loads((timeline / f"{TIME}.commit").read_text())
    (timeline / f"{LATER}.commit").write_text(json.dumps({**content, "partitionToWriteStats": {}}))
    for state in (".requested", ".inflight"):
        (timeline / f"{LATER}.commit{state}").write_bytes(b"")
    for file in timeline.glob(f"{TIME}.*"):
        file.unlink()


def _write_file(
    table: WrittenTable, partition: str, rows: Rows, types: Mapping[str, pa.DataType] | None
) -> str:
    """Write a base file, whose footer has its least and its greatest key, and return its path."""
    meta = [(TIME, f"{TIME}_0_{n}", key, partition, NAME) for n, (key, _) in enumerate(rows)]
    named = [dict(zip(META_COLUMNS, values, strict=True)) for values in meta]
    stored = pa.Table.from_pylist(
        [{**of_meta, **values} for of_meta, (_, values) in zip(named, rows, strict=True)]
    )
    for name, data_type in (types or {}).items():
        place = stored.schema.get_field_index(name)
        stored = stored.set_column(place, name, stored.column(name).cast(data_type))
    keys = [key for key, _ in rows]
    ends = {"hoodie_min_record_key": min(keys), "hoodie_max_record_key": max(keys)}
    path = f"{partition}/{NAME}"
    table.put_parquet(path, stored.replace_schema_metadata(ends))
    return path
