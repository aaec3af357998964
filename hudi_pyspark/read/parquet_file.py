"""Parquet base file to Arrow tables, a bounded number of rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.errors import CorruptBaseFileError
from hudi_pyspark.format.avro_annotation import annotated_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_pyspark.read.row_groups import RowGroupFilter
    from hudi_pyspark.storage import Storage


def read_parquet_file(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    batch_rows: int,
    row_groups: RowGroupFilter,
) -> Iterator[pa.Table]:
    """Stream the chosen row groups of a Parquet file; see `read_base_file`."""
    try:
        with storage.open_input(path) as file:
            parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us", pre_buffer=True)
            schema = annotated_schema(parquet.schema_arrow)
            wanted = [name for name in columns if name in schema.names]
            target = pa.schema([schema.field(name) for name in wanted])
            chosen = row_groups.choose(parquet)
            # Slices are read side by side, by Spark's tasks or by threads: more threads for the
            # columns of one would only get in each other's way.
            batches = parquet.iter_batches(batch_rows, chosen, wanted, use_threads=False)
            for batch in batches if chosen else ():
                table = pa.Table.from_batches([batch])
                yield table.select(wanted).cast(target) if wanted else table
    except FileNotFoundError:
        raise
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        problem = f"not readable as Parquet: {error}"
        raise CorruptBaseFileError(storage.describe(path), problem) from error
