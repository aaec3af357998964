"""Column statistics of each file, from the metadata table or from Parquet footers."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from hudi_pyspark.columns.text import scalar_text
from hudi_pyspark.errors import CorruptBaseFileError, MissingFileError
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.format.parquet.checked_file import (
    chunk_bounds,
    chunk_statistics,
    open_parquet,
    unknown_type_error,
)
from hudi_pyspark.inspection.definition import InspectionRows, with_columns
from hudi_pyspark.metadata_table.column_stats import bound_value
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.storage import Storage
from hudi_pyspark.table.view import TableView

METADATA_TABLE = "metadata_table"
PARQUET_FOOTER = "parquet_footer"
_WITH_STATISTICS = tuple(
    base_format.suffix for base_format in BaseFileFormat if base_format.has_row_groups
)
INDEX = "column_stats"


@with_columns(
    "path, partition_path, column, min, max, values int, nulls int, bytes int, "
    "uncompressed_bytes int, source"
)
def column_statistics(view: TableView, slices: pa.Table) -> InspectionRows:
    """Return one row per column of each file of some slices; see `Inspection.column_statistics`.

    Args:
        view: the table.
        slices: columns ``partition_path``, ``base_file``, ``log_files`` and ``missing_files`` of
            `Inspection.file_slices`.

    Raises:
        CorruptTableError: the metadata table or a footer cannot be read.
    """
    partition_of: dict[str, str] = {}
    names = ("partition_path", "base_file", "log_files", "missing_files")
    for row in slices.select(names).to_pylist():
        paths = {row["base_file"], *row["log_files"]}.difference(row["missing_files"], [None])
        partition_of.update(dict.fromkeys(paths, row["partition_path"]))
    indexed_rows = _indexed_rows(view)
    rows = []
    for path, partition in partition_of.items():
        name = path.rpartition("/")[2]
        file_rows = indexed_rows.get(name)
        if file_rows is None and name.endswith(_WITH_STATISTICS):
            file_rows = list(_footer_rows(view.storage, path))
        rows += [{"path": path, "partition_path": partition, **row} for row in file_rows or ()]
    return sorted(rows, key=lambda row: (str(row["path"]), str(row["column"])))


def _indexed_rows(view: TableView) -> dict[str, list[dict[str, object]]]:
    """Return the rows of the metadata table by file name, which is unique: it has the file id."""
    rows: dict[str, list[dict[str, object]]] = {}
    if INDEX not in view.config.metadata_partitions:
        return rows
    try:
        values = [value for *_, value in MetadataTable(view).records(INDEX)]
    except MissingFileError:
        return rows  # so all statistics come from footers, as in a read
    for value in values:
        row = {
            "column": value["columnName"],
            "min": _text(bound_value(value, "minValue")),
            "max": _text(bound_value(value, "maxValue")),
            "values": value["valueCount"],
            "nulls": value["nullCount"],
            "bytes": value["totalSize"],
            "uncompressed_bytes": value["totalUncompressedSize"],
            "source": METADATA_TABLE,
        }
        rows.setdefault(value["fileName"], []).append(row)
    return rows


def _footer_rows(storage: Storage, path: str) -> Iterator[dict[str, object]]:
    """Yield one row per leaf column; values are null if a row group has no statistics."""
    try:
        with storage.open_input(path) as file:
            metadata = open_parquet(file, verify_checksums=False).metadata
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        place = storage.describe(path)
        problem = f"cannot be read as Parquet: {error}"
        raise unknown_type_error(error, place) or CorruptBaseFileError(place, problem) from error
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    for number in range(metadata.num_columns):
        chunks = [group.column(number) for group in groups]
        statistics = [chunk_statistics(metadata, group, number) for group in range(len(groups))]
        present = [s for s in statistics if s is not None]
        null_counts = [s.null_count for s in present if s.has_null_count]
        # A chunk that has only nulls has no bounds, and needs none.
        are_complete = len(present) == len(groups) and all(
            s.has_min_max or (s.has_null_count and s.num_values == 0) for s in present
        )
        bounds = [chunk_bounds(s) for s in present if s.has_min_max and s.physical_type != "INT96"]
        lows, highs = zip(*bounds, strict=True) if are_complete and bounds else ((), ())
        yield {
            "column": metadata.schema.column(number).path,
            "min": _text(min(lows, key=_order, default=None)),
            "max": _text(max(highs, key=_order, default=None)),
            "values": sum(chunk.num_values for chunk in chunks),
            "nulls": sum(null_counts) if len(null_counts) == len(groups) else None,
            "bytes": sum(chunk.total_compressed_size for chunk in chunks),
            "uncompressed_bytes": sum(chunk.total_uncompressed_size for chunk in chunks),
            "source": PARQUET_FOOTER,
        }


def _order(value: pa.Scalar) -> Any:  # noqa: ANN401  (a number, a text or bytes)
    is_time = pa.types.is_date(value.type) or pa.types.is_timestamp(value.type)
    return value.value if is_time else value.as_py()


def _text(value: pa.Scalar | None) -> str | None:
    if value is None:
        return None
    if pa.types.is_binary(value.type) or pa.types.is_fixed_size_binary(value.type):
        return str(value.as_py().hex())
    text = scalar_text(value)
    return text.lower() if pa.types.is_boolean(value.type) else text
