"""Some record keys of a data file, read with one or two requests."""

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark import thresholds
from hudi_pyspark.errors import HudiError, UnsupportedTableError
from hudi_pyspark.format.bucket_keys import EMPTY_PART, NULL_PART
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.format.log.data_block import decode_first_records
from hudi_pyspark.format.log.delete_block import decode_deletes
from hudi_pyspark.format.log.log_block import DATA_BLOCKS, LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.format.parquet.checked_file import open_parquet
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import failures_of, fetch_end
from hudi_pyspark.table.file_group import BaseFile, LogFile
from hudi_pyspark.table.log_files import LogFiles
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN, RECORD_KEY_COLUMN

MOST_KEYS = 1_000  # of a block, and of each commit in a base file
_MOST_ROWS = 1 << 16  # that are decoded at once
_BUFFER = 1 << 20  # bytes of a column that are read at once
FAILURES = (HudiError, pa.ArrowException, OSError, ValueError)
"""What may be raised about a file, or part of it, that is only read for a hint."""
_PLACEHOLDERS = {None: NULL_PART, "": EMPTY_PART}


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """Some record keys of a file, deleted ones included, and the commits that wrote them."""

    keys: tuple[str, ...]
    instants: frozenset[str]
    is_of_one_commit: bool = True  # false also if rows do not say which commit wrote them
    have_texts_of_fields: bool = True  # false if a key differs from the texts of its key fields


def keys_or_reason(
    storage: Storage,
    file: BaseFile | LogFile,
    key_fields: Sequence[str],
    *,
    keys_are_stored: bool,
) -> StoredKeys | str:
    """Return the first record keys of a file, or why it cannot be read; see `stored_keys`."""
    try:
        return stored_keys(storage, file, key_fields, keys_are_stored=keys_are_stored)
    except MemoryError:  # pyarrow's MemoryError is an ArrowException
        raise
    except FAILURES as error:
        return f"{storage.describe(file.path)} has no keys that can be read: {error}"


def stored_keys(
    storage: Storage,
    file: BaseFile | LogFile,
    key_fields: Sequence[str],
    *,
    keys_are_stored: bool,
) -> StoredKeys:
    """Read the first record keys of a file; those of the first blocks of a log file.

    Args:
        storage: of the table.
        file: a Parquet base file or any log file.
        key_fields: fields that make up the record key.
        keys_are_stored: whether files contain record keys; if not, they are made of their fields.

    Raises:
        FileNotFoundError, MissingFileError: the file is gone.
        HudiError, pyarrow.ArrowException, OSError, UnicodeDecodeError: it cannot be read.
        UnsupportedTableError: it is of another format, a block is too large to be read for a few
            keys, or key fields have types of which writers make text in several ways.
    """
    columns = [*([RECORD_KEY_COLUMN] if keys_are_stored else ()), *key_fields]
    needed = columns[:1] if keys_are_stored else columns
    if isinstance(file, BaseFile):
        commit_times, rows = _rows_of_each_commit(storage, file.path, columns, needed)
        keys_of_rows, have_texts = _keys(rows, key_fields, keys_are_stored=keys_are_stored)
        instants = frozenset({file.instant_time, *commit_times})
        is_of_one = commit_times == [file.instant_time]
        return StoredKeys(tuple(keys_of_rows), instants, is_of_one, have_texts)
    keys: list[str] = []
    have_texts = True
    block_instants: set[str] = set()
    with closing(LogFiles(storage)) as files:
        for block in frame_log_file(files.open(file.path), path=file.path):
            if block.offset >= thresholds.LOOKED_AT_BYTES:
                break
            if block.block_type in DATA_BLOCKS:
                in_block = [of_block.name for of_block in block.avro_schema().fields]
                names = _names_in_file(columns, in_block, needed, block.path)
                decoded = decode_first_records(block, list(names.values()), MOST_KEYS)
                name_of = {name_in_block: name for name, name_in_block in names.items()}
                records = decoded.rename_columns([name_of[name] for name in decoded.column_names])
                of_block, fit = _keys(records, key_fields, keys_are_stored=keys_are_stored)
                keys += of_block
                have_texts &= fit
            elif block.block_type is LogBlockType.DELETE_BLOCK and keys_are_stored:
                deletes = decode_deletes(block)
                keys += filter(None, deletes.record_keys[:MOST_KEYS].to_pylist())
            block_instants.add(block.instant_time or "")
    return StoredKeys(tuple(keys), frozenset(block_instants), have_texts_of_fields=have_texts)


def _names_in_file(
    columns: Sequence[str], stored: Sequence[str], needed: Sequence[str], path: str
) -> dict[str, str]:
    """Map columns to their names in a file or a block of it; others than ``needed`` may be missing.

    Raises:
        UnsupportedTableError: it lacks a column.
        SchemaEvolutionError: it has one under several names.
    """
    names = match_names(columns, stored, place=path)
    if missing := [name for name in needed if name not in names]:
        raise UnsupportedTableError(f"{path} has no column {', '.join(missing)}")
    return names


def _rows_of_each_commit(
    storage: Storage, path: str, columns: Sequence[str], needed: Sequence[str]
) -> tuple[list[str], pa.Table]:
    """Return the commits of a base file's rows, as far as rows name them, and rows of each.

    A writer puts rows that are new behind those that it merges, so the last row groups come first.
    """
    if not BaseFileFormat.of(path).has_row_groups:
        raise UnsupportedTableError(f"{path}: keys are only looked at in Parquet base files")
    with storage.open_input(path) as source, failures_of(source):
        fetch_end(source)
        file = open_parquet(source, pre_buffer=False, buffer_size=_BUFFER)
        schema = file.schema_arrow  # pyarrow converts it anew each time
        names = _names_in_file((*columns, COMMIT_TIME_COLUMN), schema.names, needed, path)
        stored = list(names.values())
        groups = _row_groups(file.metadata, stored)
        batches = file.iter_batches(_MOST_ROWS, groups, stored, use_threads=False)
        if not groups:
            last = file.metadata.num_row_groups - 1
            batches = islice(file.iter_batches(MOST_KEYS, [last], stored, use_threads=False), 1)
        of_file = pa.Table.from_batches(batches, pa.schema(map(schema.field, stored)))
        rows = of_file.rename_columns([*names])
    if COMMIT_TIME_COLUMN not in names:
        return [], rows.take(_spread(np.arange(rows.num_rows)))
    encoded = rows.column(COMMIT_TIME_COLUMN).combine_chunks().dictionary_encode("encode")
    codes = np.asarray(encoded.indices)
    of_each = [_spread(np.flatnonzero(codes == code)) for code in range(len(encoded.dictionary))]
    chosen = np.concatenate(of_each) if of_each else codes
    return [time for time in encoded.dictionary.to_pylist() if time], rows.take(chosen)


def _row_groups(metadata: pq.FileMetaData, names: Collection[str]) -> list[int]:
    """Return the last row groups whose columns are few bytes."""
    groups: list[int] = []
    size = 0
    for group in reversed(range(metadata.num_row_groups)):
        chunks = map(metadata.row_group(group).column, range(metadata.num_columns))
        size += sum(c.total_compressed_size for c in chunks if c.path_in_schema in names)
        if size > thresholds.LOOKED_AT_BYTES:
            break
        groups.append(group)
    return groups


def _spread(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return some of the numbers, from the first to the last."""
    if len(rows) <= MOST_KEYS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_KEYS).astype(np.int64)]


def _keys(
    rows: pa.Table, key_fields: Sequence[str], *, keys_are_stored: bool
) -> tuple[list[str], bool]:
    """Return the record keys of rows, and whether they have the texts of their key fields."""
    if not rows.num_columns or not rows.num_rows:
        return [], True
    if not keys_are_stored:
        return [key for key in _made_keys(rows, key_fields) if key], True
    keys = rows.column(RECORD_KEY_COLUMN).to_pylist()
    return [key for key in keys if key], _have_texts_of_fields(rows, keys, key_fields)


def _have_texts_of_fields(
    rows: pa.Table, keys: Sequence[str | None], key_fields: Sequence[str]
) -> bool:
    """Return whether record keys are those that key generators make of texts and whole numbers.

    A column that is text by now may have had another type, of which writers make text in several
    ways: the key of a date may be a number of days.
    """
    if not key_fields or not {*key_fields} <= {*rows.column_names}:
        return True  # a partial update need not have them
    try:
        made = _made_keys(rows, key_fields)
    except UnsupportedTableError:
        return False
    name = key_fields[0]
    return all(
        not key or key in (text, f"{name}:{text}") for key, text in zip(keys, made, strict=True)
    )


def _made_keys(rows: pa.Table, key_fields: Sequence[str]) -> list[str | None]:
    """Return the record keys that key generators make of key fields, without the name of one.

    Raises:
        UnsupportedTableError: a field has a type of which writers make text in several ways.
    """
    fields = [rows.schema.field(name) for name in key_fields]
    if not all(pa.types.is_string(f.type) or pa.types.is_integer(f.type) for f in fields):
        raise UnsupportedTableError(f"the key fields {', '.join(key_fields)} are not texts")
    texts = [
        [value if value is None else str(value) for value in rows.column(field.name).to_pylist()]
        for field in fields
    ]
    if len(fields) == 1:
        return texts[0]
    return [
        ",".join(
            f"{name}:{_PLACEHOLDERS.get(text, text)}"
            for name, text in zip(key_fields, row, strict=True)
        )
        for row in zip(*texts, strict=True)
    ]
