"""Base file to Arrow tables, a bounded number of rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.errors import CorruptBaseFileError, MissingFileError, UnsupportedTableError
from hudi_pyspark.format.parquet_annotation import annotated_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.storage import Storage

READABLE_EXTENSIONS = (".parquet",)


def read_base_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Stream a base file in file order.

    Args:
        storage: of the table.
        path: relative to the base path.
        columns: names of top-level columns; those that the file lacks are left out.
        batch_rows: most rows per table.

    Yields:
        Tables with the file's own types; without any column they still tell their number of rows.

    Raises:
        MissingFileError: the file is gone.
        CorruptBaseFileError: it is no readable Parquet file.
    """
    try:
        with storage.open_input(path) as file:
            parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us", pre_buffer=True)
            schema = annotated_schema(parquet.schema_arrow)
            wanted = [name for name in columns if name in schema.names]
            target = pa.schema([schema.field(name) for name in wanted])
            for batch in parquet.iter_batches(batch_size=batch_rows, columns=wanted):
                table = pa.Table.from_batches([batch])
                yield table.select(wanted).cast(target) if wanted else table
    except FileNotFoundError as error:
        raise MissingFileError(
            f"{storage.describe(path)} is gone since the query was planned. Load the table again; "
            "if it happens often, keep files longer (hoodie.cleaner.commits.retained)"
        ) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        problem = f"not readable as Parquet: {error}"
        raise CorruptBaseFileError(storage.describe(path), problem) from error


def check_readable(path: str) -> None:
    """Refuse base files of other formats at plan time.

    Raises:
        UnsupportedTableError: the file is not Parquet.
    """
    if not path.endswith(READABLE_EXTENSIONS):
        raise UnsupportedTableError(
            f"base file {path} is not Parquet; ORC, HFile and Lance base files are not covered"
        )
