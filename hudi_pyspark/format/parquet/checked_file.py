"""Open Parquet files with the checks that pyarrow leaves out.

pyarrow finds columns by their names in the schema and does not compare these with the names in the
column chunks, so a damaged name looks like a missing column. It skips pages of unknown types, and
ends with the shortest column. If the type of a chunk contradicts the schema, asking for its
statistics ends the process.

Types are those of the Parquet schema. Writers on Arrow add their own types to the footer, such as
views, durations and extensions; Apache Hudi ignores them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.errors import UnsupportedTypeError
from hudi_pyspark.exact_decimals import scaled_decimal

_ARROW_SCHEMA = b"ARROW:schema"
_NOT_ARROW_SCHEMA = _ARROW_SCHEMA.lower()  # of the same length
_TYPE_OPTIONS = (
    {"arrow_extensions_enabled": False}  # pyarrow before 21 has no extensions for Parquet types
    if "arrow_extensions_enabled" in signature(pq.ParquetFile).parameters
    else {}
)


def open_parquet(
    source: pa.NativeFile | IO[bytes],
    *,
    verify_checksums: bool = True,
    footer: pq.FileMetaData | None = None,
    **options: object,
) -> pq.ParquetFile:
    """Open a file so that a changed byte in a page or a name is an error.

    Args:
        source: the file; it stays open.
        verify_checksums: of pages, if the writer added them.
        footer: of the file; None to read it.
        options: further arguments of `pyarrow.parquet.ParquetFile`.

    Raises:
        pyarrow.ArrowInvalid, OSError, UnicodeDecodeError: the footer contradicts itself. Pages are
            checked when they are read, and raise OSError then.
    """
    options = {**_TYPE_OPTIONS, **options, "page_checksum_verification": verify_checksums}
    file = pq.ParquetFile(source, metadata=footer, **options)
    metadata = file.metadata
    if _ARROW_SCHEMA in (metadata.metadata or {}):
        metadata = _without_arrow_schema(metadata)
        file = pq.ParquetFile(source, metadata=metadata, **options)
    if metadata.num_row_groups:
        schema = metadata.schema
        row_group = metadata.row_group(0)
        if row_group.num_columns != len(schema):
            raise pa.ArrowInvalid(
                f"the schema has {len(schema)} columns, the first row group {row_group.num_columns}"
            )
        for index in range(row_group.num_columns):
            name = schema.column(index).path
            chunk_name = row_group.column(index).path_in_schema
            if name != chunk_name:
                raise pa.ArrowInvalid(f"column {name!r} of the schema is stored as {chunk_name!r}")
    check_row_count(metadata, range(metadata.num_row_groups), metadata.num_rows)
    return file


def unknown_type_error(error: Exception, path: str) -> UnsupportedTypeError | None:
    """Return the error for a file with types that this pyarrow lacks; None if the file is damaged.

    Before release 22, pyarrow opens no file with a VARIANT column, whichever columns are read.

    Args:
        error: what pyarrow raised.
        path: of the file.
    """
    if "logical" not in str(error).lower() or int(pa.__version__.partition(".")[0]) >= 22:
        return None
    return UnsupportedTypeError(
        f"{path}: pyarrow {pa.__version__} does not know a type of this file ({error})",
        advice=(
            "Files with VARIANT columns need pyarrow 22 or later: upgrade it in each Python that "
            "reads the table, those of Spark's executors included. If that does not help, the "
            "file is damaged"
        ),
    )


def _without_arrow_schema(metadata: pq.FileMetaData) -> pq.FileMetaData:
    """Return a footer in which pyarrow does not find Arrow's types."""
    value = metadata.metadata[_ARROW_SCHEMA]
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    footer = sink.getvalue().to_pybytes()
    # Other values may have the same bytes, but only this one follows the key.
    entry = footer.rindex(value)
    key = footer.rindex(_ARROW_SCHEMA, 0, entry)
    return pq.read_metadata(
        pa.BufferReader(footer[:key] + _NOT_ARROW_SCHEMA + footer[key + len(_ARROW_SCHEMA) :])
    )


def read_columns(file: pq.ParquetFile, columns: Sequence[str]) -> pa.Table:
    """Read columns of a whole file in one thread.

    Args:
        file: from `open_parquet`.
        columns: names of top-level columns, or dotted paths of leaves.

    Raises:
        pyarrow.ArrowInvalid, OSError: a page is damaged, or rows are missing.
    """
    table = file.read(columns, use_threads=False)
    check_row_count(file.metadata, range(file.num_row_groups), table.num_rows)
    return table


def check_row_count(metadata: pq.FileMetaData, groups: Iterable[int], rows: int) -> None:
    """Compare the number of rows that were read with the footer.

    Args:
        metadata: the footer.
        groups: ordinals of the row groups that were read.
        rows: how many rows were read.

    Raises:
        pyarrow.ArrowInvalid: the numbers differ: pyarrow skipped a page.
    """
    expected = sum(metadata.row_group(group).num_rows for group in groups)
    if rows != expected:
        raise pa.ArrowInvalid(f"expected {expected} rows in the row groups, found {rows}")


def chunk_begin(chunk: pq.ColumnChunkMetaData) -> int:
    """Return the offset of a column chunk, in bytes from the start of the file."""
    pages = (chunk.data_page_offset, chunk.dictionary_page_offset)
    return int(min(offset for offset in pages if offset is not None))


def chunk_statistics(metadata: pq.FileMetaData, group: int, leaf: int) -> pq.Statistics | None:
    """Return the statistics of a column chunk; None if it has none, or has another type."""
    chunk = metadata.row_group(group).column(leaf)
    is_typed = chunk.physical_type == metadata.schema.column(leaf).physical_type
    return chunk.statistics if is_typed else None


def chunk_bounds(
    statistics: pq.Statistics, data_type: pa.DataType | None = None
) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the minimum and maximum of a column chunk that has both.

    Args:
        statistics: of the chunk.
        data_type: of the column as Arrow reads it. Without it, dates and timestamps get the type
            that the file declares, and other values any type that fits.

    Raises:
        pyarrow.ArrowException: the values do not fit the type, or have no order (INT96).
    """
    logical = json.loads(statistics.logical_type.to_json())
    if logical["Type"] == "Decimal":
        return _decimal_bounds(statistics, logical, data_type)
    data_type = _time_type(logical) if data_type is None else data_type
    number = {"INT32": pa.int32(), "INT64": pa.int64()}.get(statistics.physical_type)
    if data_type is None or not (pa.types.is_date(data_type) or pa.types.is_timestamp(data_type)):
        try:
            return pa.scalar(statistics.min, data_type), pa.scalar(statistics.max, data_type)
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid(f"a bound is no text: {error}") from error
    if number is None:
        raise pa.ArrowInvalid("INT96 has no order")
    # Python's dates end at the years 1 and 9999.
    ends = (pa.scalar(end, number) for end in (statistics.min_raw, statistics.max_raw))
    low, high = (end.cast(data_type) for end in ends)
    return low, high


def _decimal_bounds(
    statistics: pq.Statistics, logical: Mapping[str, Any], data_type: pa.DataType | None
) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the bounds of decimals from their bytes: how pyarrow scales them is its own matter."""
    scale = logical["scale"]
    data_type = pa.decimal128(logical["precision"], scale) if data_type is None else data_type
    low, high = (
        end if isinstance(end, int) else int.from_bytes(end, "big", signed=True)
        for end in (statistics.min_raw, statistics.max_raw)
    )
    return (
        pa.scalar(scaled_decimal(low, scale), data_type),
        pa.scalar(scaled_decimal(high, scale), data_type),
    )


def _time_type(logical: Mapping[str, Any]) -> pa.DataType | None:
    """Return the declared type of a column of dates or timestamps; None for other types."""
    if logical["Type"] == "Timestamp":
        unit = {"milliseconds": "ms", "microseconds": "us"}.get(logical["timeUnit"], "ns")
        return pa.timestamp(unit, "UTC" if logical["isAdjustedToUTC"] else None)
    return pa.date32() if logical["Type"] == "Date" else None


def has_only_value(file: pq.ParquetFile, field: pa.Field, value: pa.Scalar) -> bool:
    """Return whether the footer proves that a column has the same value in every row.

    Args:
        file: from `open_parquet`.
        field: the name and type of the column; without it the answer is False.
        value: of that type.

    Raises:
        pyarrow.ArrowException: statistics of the footer contradict the column's type.
    """
    leaves = [file.schema.column(place).path for place in range(len(file.schema))]
    if field.name not in leaves:
        return False
    for group in range(file.num_row_groups):
        statistics = chunk_statistics(file.metadata, group, leaves.index(field.name))
        if statistics is None or not statistics.has_min_max or statistics.null_count != 0:
            return False
        if any(bound != value for bound in chunk_bounds(statistics, field.type)):
            return False
    return True
