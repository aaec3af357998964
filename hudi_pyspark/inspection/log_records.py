"""The records of a log file as they were written."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import field_array
from hudi_pyspark.columns.schema_evolution import conform, repair_timestamps
from hudi_pyspark.errors import CorruptTableError, HudiError
from hudi_pyspark.format.log.delete_block import OrderingGroup
from hudi_pyspark.format.log.log_block import LogBlockType
from hudi_pyspark.inspection import log_blocks
from hudi_pyspark.inspection.commits import known_schema
from hudi_pyspark.inspection.record_rows import (
    damage_rows,
    ordering_texts,
    records_table,
    structs,
)
from hudi_pyspark.reading.log_records.marks import deleting_rows
from hudi_pyspark.reading.log_records.record_keys import record_keys
from hudi_pyspark.table.merge_mode import MergeRule, resolve_merge_rule
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.table.schema import as_shown
from hudi_pyspark.table.view import TableView


def written_records(view: TableView, path: str) -> pa.Table:
    """Return one row per record, in file order; see `Inspection.log_records`."""
    files = list(log_blocks.salvage_logs(view, [log_blocks.relative_path(view, path)]))
    rule = resolve_merge_rule(view.config, "", "")
    columns = _record_columns(view, files)
    parts = []
    for file in files:
        for block in file.blocks:
            if block.rows is not None and block.rows.num_rows:
                parts.append(_data_rows(view, block, rule, columns))
            if block.deletes is not None:
                parts.append(_delete_rows(block, len(rule.ordering_fields)))
        parts.append(damage_rows(file.problems))
    return records_table(parts, columns)


def _record_columns(view: TableView, files: Sequence[log_blocks.SalvagedLog]) -> pa.Schema:
    """Return the table's columns, then the columns that only the files have."""
    data_blocks = [block for file in files for block in file.blocks if block.rows is not None]
    # Records of changes do not have the table's columns.
    is_cdc = any(block.block.block_type is LogBlockType.CDC_DATA_BLOCK for block in data_blocks)
    fields = {} if is_cdc else {field.name: field for field in known_schema(view)}
    for block in data_blocks:
        for field in block.rows.schema if block.rows is not None else ():
            fields.setdefault(field.name, as_shown(field))
    return pa.schema(list(fields.values()))


def _data_rows(
    view: TableView, block: log_blocks.DecodedBlock, rule: MergeRule, columns: pa.Schema
) -> pa.Table:
    rows, problem = _conform(block, columns)
    key_fields = () if view.config.populate_meta_fields else view.config.record_key_fields
    return pa.table(
        {
            **_block_columns(block, "data"),
            "key": _keys(rows, key_fields),
            "is_delete": pa.array(deleting_rows(rows, rule)),
            "ordering": ordering_texts(rows, rule),
            "problem": pa.array([problem or None] * rows.num_rows, pa.string()),
            "record": structs(rows),
        }
    )


def _conform(block: log_blocks.DecodedBlock, schema: pa.Schema) -> tuple[pa.Table, str]:
    """Convert the rows of a block to the types of a schema.

    Returns:
        The rows, and why columns are null that could not be converted; "" if all could.
    """
    rows = block.rows
    source = block.block.path
    assert rows is not None
    in_avro = block.block.block_type is LogBlockType.AVRO_DATA_BLOCK
    problems = []
    columns = []
    for field in schema:
        column_schema = pa.schema([field])
        try:
            repaired = repair_timestamps(rows, column_schema, in_avro=in_avro)
            columns.append(conform(repaired, column_schema, {}, source=source).column(0))
        except HudiError as error:
            problems.append(error.reason())
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema), "; ".join(problems)


def _keys(rows: pa.Table, key_fields: Sequence[str]) -> pa.Array:
    """Return the record keys; null if the records have no keys, as in a CDC log."""
    try:
        return record_keys(rows, key_fields) if key_fields else field_array(rows, RECORD_KEY_COLUMN)
    except CorruptTableError:
        return pa.nulls(rows.num_rows, pa.string())


def _delete_rows(block: log_blocks.DecodedBlock, fields: int) -> pa.Table:
    deletes = block.deletes
    count = block.record_count or 0
    assert deletes is not None
    ordering: list[list[str | None] | None] = [None] * count
    for row, text in _texts_by_row(deletes.ordering):
        ordering[row] = [text]
    if deletes.array_rows is not None:
        texts = [dict(_texts_by_row(groups)) for groups in deletes.array_fields]
        texts += [{}] * (fields - len(texts))
        for row in np.asarray(deletes.array_rows).tolist():
            ordering[row] = [of_field.get(row) for of_field in texts]
    columns = {
        "key": deletes.record_keys,
        "is_delete": pa.array([True] * count, pa.bool_()),
        "ordering": pa.array(ordering, pa.list_(pa.string())),
    }
    return pa.table({**_block_columns(block, "delete"), **columns})


def _texts_by_row(groups: Iterable[OrderingGroup]) -> Iterator[tuple[int, str]]:
    for group in groups:
        texts = group.values.cast(pa.string()).to_pylist()
        yield from zip(group.rows.to_pylist(), texts, strict=True)


def _block_columns(salvaged: log_blocks.DecodedBlock, kind: str) -> dict[str, pa.Array]:
    block = salvaged.block
    count = salvaged.record_count or 0
    return {
        "path": pa.repeat(block.path, count),
        "block": pa.repeat(salvaged.number, count),
        "offset": pa.repeat(block.offset, count),
        "instant_time": pa.repeat(block.instant_time or "", count),
        "record_number": pa.array(np.arange(count)),
        "kind": pa.repeat(kind, count),
    }
