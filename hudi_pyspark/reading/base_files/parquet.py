"""Parquet base files to Arrow tables, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.columns.arrays import Mask
from hudi_pyspark.columns.column_names import match_columns, rename_columns
from hudi_pyspark.columns.nested_fields import leaf_paths, narrow_fields
from hudi_pyspark.errors import CorruptBaseFileError
from hudi_pyspark.filter.bounds import keys_array
from hudi_pyspark.format.parquet.checked_file import (
    check_row_count,
    open_parquet,
    unknown_type_error,
)
from hudi_pyspark.format.parquet.legacy_calendar import LegacyCalendar, with_instants
from hudi_pyspark.messages import logger
from hudi_pyspark.reading.base_files.page_reads import PagedFile, is_among, read_keyed_rows
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import fetch_end
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.reading.base_files.row_groups import RowGroupFilter

_BUFFER = 1 << 16  # bytes of a column that are read from a local file at once
_NONE = np.empty(0, np.bool_)
_log = logger(__name__)
_MOST_BYTES = 64 << 20  # of a table, by the average size of its rows in the footer


def read_parquet_file(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    batch_rows: int,
    row_groups: RowGroupFilter,
    *,
    fields: pa.Schema,
    verify_checksums: bool = True,
) -> Iterator[pa.Table]:
    """Stream the wanted row groups of a Parquet file; see `read_base_file`.

    Raises:
        CorruptBaseFileError: the file cannot be decoded, or has other rows than when it was merged.
        UnsupportedTableError: it has instants before 1900 in a zone that is not known, or types
            that this pyarrow does not know.
    """
    try:
        with storage.open_input(path) as file:
            fetch_end(file)
            parquet = open_parquet(
                file,
                verify_checksums=verify_checksums,
                coerce_int96_timestamp_unit="us",
                pre_buffer=False,  # would fetch ranges of a Python file in turn: see `prefetch`
                buffer_size=_BUFFER if storage.is_local else 0,
            )
            schema = with_instants(parquet.schema_arrow, parquet.schema)
            names = match_columns(columns, schema.names, source=storage.describe(path))
            wanted = list(names.values())
            calendar = LegacyCalendar.of(parquet, storage.describe(path))
            groups, keys = row_groups.choose(parquet, names, is_legacy=calendar is not None)
            _log.debug(
                "%s: %d of %d row groups, columns %s",
                path, len(groups), parquet.metadata.num_row_groups, wanted,
            )  # fmt: skip
            stored = pa.schema([parquet.schema_arrow.field(name) for name in wanted])
            chosen = narrow_fields(stored, fields)
            leaves = wanted if chosen.equals(stored) else leaf_paths(parquet, chosen)
            for table in _read_row_groups(
                PagedFile(file, parquet),
                groups,
                wanted,
                leaves=leaves,
                batch_rows=_rows_at_once(parquet.metadata, groups, leaves, batch_rows),
                keys=keys_as_stored(keys, parquet.schema_arrow),
                masks=row_groups.dropped_in(parquet.metadata),
            ):
                # Rows that were picked from pages have all nested fields, others the chosen ones.
                target = narrow_fields(pa.schema([schema.field(n) for n in wanted]), table.schema)
                rows = table.select(wanted).cast(target) if wanted else table
                rows = rows if calendar is None else calendar.to_gregorian(rows)
                yield rename_columns(rows, names) if wanted else rows
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        place, problem = storage.describe(path), f"not readable as Parquet: {error}"
        raise unknown_type_error(error, place) or CorruptBaseFileError(place, problem) from error


def keys_as_stored(keys: Sequence[str] | None, schema: pa.Schema) -> pa.Array | None:
    """Return record keys as an array; None for all, or if a file of that schema has no keys."""
    array = keys_array(keys)
    if array is None or len(schema.get_all_field_indices(RECORD_KEY_COLUMN)) != 1:
        return None
    return array if schema.field(RECORD_KEY_COLUMN).type == array.type else None


def _rows_at_once(
    metadata: pq.FileMetaData, groups: Sequence[int], leaves: Sequence[str], most: int
) -> int:
    """Return the rows of a table: the most, or fewer if that would take too much memory."""
    row_groups = [metadata.row_group(group) for group in groups]
    if sum(row_group.total_byte_size for row_group in row_groups) <= _MOST_BYTES:
        return most
    chunks = [row_group.column(i) for row_group in row_groups for i in range(metadata.num_columns)]
    size = sum(
        chunk.total_uncompressed_size for chunk in chunks if is_among(leaves, chunk.path_in_schema)
    )
    rows = sum(row_group.num_rows for row_group in row_groups)
    return max(1, min(most, int(rows * _MOST_BYTES // max(size, 1))))


def _read_row_groups(
    file: PagedFile,
    groups: Sequence[int],
    columns: Sequence[str],
    *,
    leaves: Sequence[str],
    batch_rows: int,
    keys: pa.Array | None,
    masks: Sequence[Mask],
) -> Iterator[pa.Table]:
    """Read columns, of whose leaves some are wanted, in file order; other keys may be missing.

    Rows of the masks, one for each row group of the file, are left out; [] for none.

    What is fetched for a read stays in memory as long as that: so from another machine, the columns
    of one row group at a time.
    """
    one_by_one = keys is not None or file.is_remote
    for at_once in [[group] for group in groups] if one_by_one else [groups] if groups else []:
        picked = None
        if keys is not None:
            mask = masks[at_once[0]] if masks else None
            picked = read_keyed_rows(file, at_once[0], columns, keys, mask)
        if picked is None:
            begin = 0
            dropped = np.concatenate([masks[group] for group in at_once]) if masks else _NONE
            for table in _stream(file, at_once, leaves, batch_rows):
                mask = dropped[begin : begin + table.num_rows]
                begin += table.num_rows
                yield _without(table, mask) if mask.any() else table
            continue
        for start in range(0, picked.num_rows, batch_rows):
            yield picked.slice(start, batch_rows)


def _without(table: pa.Table, dropped: Mask) -> pa.Table:
    if not table.num_columns:  # then Arrow's filter loses the number of rows
        return table.slice(0, table.num_rows - int(dropped.sum()))
    return table.filter(pa.array(~dropped))


def _stream(
    file: PagedFile, groups: Sequence[int], leaves: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    file.prefetch(groups, leaves)
    count = 0
    # Slices are read in parallel, by Spark's tasks or by threads: more threads for the columns of
    # one would only compete with these.
    for batch in file.parquet.iter_batches(batch_rows, groups, leaves, use_threads=False):
        count += batch.num_rows
        yield pa.Table.from_batches([batch])
    check_row_count(file.parquet.metadata, groups, count)
