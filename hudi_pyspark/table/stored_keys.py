"""Some record keys of a data file, read with one or two requests."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.log.data_block import decode_first_records, decode_native_deletes
from hudi_pyspark.format.log.delete_block import decode_deletes
from hudi_pyspark.format.log.log_block import DATA_BLOCKS, LogBlock, LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.format.parquet.checked_file import open_parquet
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import failures_of, fetch_end
from hudi_pyspark.table.file_group import BaseFile, LogFile
from hudi_pyspark.table.log_files import LogFiles
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

MOST_KEYS = 1_000  # of a base file, or of a block
_MOST_BYTES = 4 << 20  # of a log file
_BUFFER = 1 << 20  # bytes of a column that are read at once
_PLACEHOLDERS = {None: "__null__", "": "__empty__"}


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """Some record keys of a file, deleted ones included, and the commits that wrote them."""

    keys: tuple[str, ...]
    instants: frozenset[str]


def stored_keys(
    storage: Storage, file: BaseFile | LogFile, key_fields: Sequence[str]
) -> StoredKeys:
    """Read the first record keys of a file; those of the first blocks of a log file.

    Args:
        storage: of the table.
        file: a Parquet base file or any log file.
        key_fields: fields that make up the record key if files do not contain it; else ().

    Raises:
        FileNotFoundError, MissingFileError: the file is gone.
        HudiError, pyarrow.ArrowException, OSError, UnicodeDecodeError: it cannot be read.
        UnsupportedTableError: it is of another format, a block is too large to be read for a few
            keys, or key fields have types of which writers make text in several ways.
    """
    columns = list(key_fields) or [RECORD_KEY_COLUMN]
    if isinstance(file, BaseFile):
        rows = _first_rows(storage, file.path, columns)
        return StoredKeys(tuple(_keys(rows, key_fields)), frozenset({file.instant_time}))
    keys: list[str] = []
    instants: set[str] = set()
    with closing(LogFiles(storage)) as files:
        for block in frame_log_file(files.open(file.path), path=file.path):
            if block.offset >= _MOST_BYTES:
                break
            keys += _keys_of_block(block, columns, key_fields)
            instants.add(block.instant_time or "")
    return StoredKeys(tuple(keys), frozenset(instants))


def _first_rows(storage: Storage, path: str, columns: list[str]) -> pa.Table:
    if not path.endswith(".parquet"):
        raise UnsupportedTableError(f"{path}: keys are only sampled from Parquet base files")
    with storage.open_input(path) as source, failures_of(source):
        fetch_end(source)
        file = open_parquet(source, pre_buffer=False, buffer_size=_BUFFER)
        batches = file.iter_batches(MOST_KEYS, columns=columns, use_threads=False)
        batch = next(batches, None)
        return pa.table({}) if batch is None else pa.Table.from_batches([batch])


def _keys_of_block(
    block: LogBlock, columns: Sequence[str], key_fields: Sequence[str]
) -> Iterable[str]:
    if block.block_type in DATA_BLOCKS:
        return _keys(decode_first_records(block, columns, MOST_KEYS), key_fields)
    if block.block_type is LogBlockType.DELETE_BLOCK and not key_fields:
        deletes = decode_deletes(block, decode_native_deletes(block))
        return (key for key in deletes.record_keys[:MOST_KEYS].to_pylist() if key)
    return ()


def _keys(rows: pa.Table, key_fields: Sequence[str]) -> Iterator[str]:
    """Yield the record keys of rows, or those that key generators make of their key fields."""
    if not rows.num_columns or not rows.num_rows:
        return
    if not key_fields:
        yield from (key for key in rows.column(RECORD_KEY_COLUMN).to_pylist() if key)
        return
    fields = [rows.schema.field(name) for name in key_fields]
    if not all(pa.types.is_string(f.type) or pa.types.is_integer(f.type) for f in fields):
        raise UnsupportedTableError(f"the key fields {', '.join(key_fields)} are not texts")
    texts = [
        [value if value is None else str(value) for value in rows.column(field.name).to_pylist()]
        for field in fields
    ]
    if len(fields) == 1:
        yield from (text for text in texts[0] if text)
        return
    for row in zip(*texts, strict=True):
        parts = zip(key_fields, row, strict=True)
        yield ",".join(f"{name}:{_PLACEHOLDERS.get(text, text)}" for name, text in parts)
