"""The schema of a table by its newest readable data file, for tables whose commits have none."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing

import pyarrow as pa
from pyarrow import orc

from hudi_pyspark.errors import HudiError, StorageError
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.bytes_source import BytesSource
from hudi_pyspark.format.data_files import BaseFileFormat, is_log_file_name
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.log_block import DATA_BLOCKS
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.format.nested_types import TYPED_VALUE, VARIANT, with_fields
from hudi_pyspark.format.parquet.checked_file import open_parquet
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, WriteStat
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import failures_of
from hudi_pyspark.table.log_files import LogFiles

_AVRO_SCHEMA_KEYS = (b"parquet.avro.schema", b"orc.avro.schema")


def newest_data_file_schema(
    storage: Storage, commits: Iterable[CommitMetadata]
) -> pa.Schema | None:
    """Return the columns of the newest readable data file, meta columns included, or None.

    Args:
        storage: of the table.
        commits: newest first; no more of them are taken than needed.
    """
    deletes: list[WriteStat] = []  # of files that have no rows, and no schema
    for metadata in commits:
        sample = metadata.sample
        tried = sample if sample and sample.num_writes else None
        if tried and (schema := _file_schema(storage, tried)) is not None:
            return schema
        stats = [s for _, s in metadata.all_stats() if s.path and s != tried]
        # Of base files the footer is enough, so they come before log files, and both by size.
        for stat in sorted(stats, key=lambda s: (is_log_file_name(s.file_name), s.file_size)):
            if stat.num_deletes and not stat.num_writes:
                deletes.append(stat)
            elif (schema := _file_schema(storage, stat)) is not None:
                return schema
    schemas = (_file_schema(storage, stat) for stat in deletes)
    return next((schema for schema in schemas if schema is not None), None)


def _file_schema(storage: Storage, stat: WriteStat) -> pa.Schema | None:
    path = stat.path
    try:
        if is_log_file_name(stat.file_name):
            with closing(LogFiles(storage)) as files:
                return _log_file_schema(files.open(path), path)
        return _READERS[BaseFileFormat.of(path)](storage, path)
    except (StorageError, MemoryError):
        raise  # a guess would make a failure of the storage change the columns
    except (OSError, HudiError, pa.ArrowException, ValueError):  # ValueError: of HFiles and UTF-8
        # Cleaned away, damaged or of an unknown format: reading the rows says so, if the file is
        # needed at all.
        return None


def _log_file_schema(data: BytesSource, path: str) -> pa.Schema | None:
    texts = [
        block.schema_text
        for block in frame_log_file(data, path=path)
        if block.block_type in DATA_BLOCKS and not block.is_partial and block.schema_text
    ]
    return arrow_schema(parse_schema(texts[-1])) if texts else None


def _parquet_schema(storage: Storage, path: str) -> pa.Schema:
    with storage.open_input(path) as file, failures_of(file):
        return _footer_schema(open_parquet(file, verify_checksums=False).schema_arrow)


def _orc_schema(storage: Storage, path: str) -> pa.Schema:
    with storage.open_input(path) as file, failures_of(file):
        return _footer_schema(orc.ORCFile(file).schema)


def _hfile_schema(storage: Storage, path: str) -> pa.Schema | None:
    text = read_hfile(storage.read_bytes(path), path=path).file_info.get(SCHEMA_INFO)
    return arrow_schema(parse_schema(str(text, "utf-8"))) if text else None


def _no_schema(_storage: Storage, _path: str) -> None:
    """Return None: commits that write Lance files have the schema of the table."""


def _footer_schema(schema: pa.Schema) -> pa.Schema:
    """Return the writer's Avro schema, which says more than the file's own types; else these types.

    A variant that is shredded is known by its fields, as Apache Hudi does, and has its own type.
    """
    metadata = schema.metadata or {}
    texts = (str(metadata[key], "utf-8") for key in _AVRO_SCHEMA_KEYS if key in metadata)
    text = next(texts, "")
    return arrow_schema(parse_schema(text)) if text else pa.schema(map(_whole, schema))


def _whole(field: pa.Field) -> pa.Field:
    names = [part.name for part in field.type] if pa.types.is_struct(field.type) else []
    is_shredded = {"metadata", TYPED_VALUE} <= {*names}
    return field.with_type(VARIANT if is_shredded else with_fields(field.type, _whole))


_READERS: Mapping[BaseFileFormat, Callable[[Storage, str], pa.Schema | None]] = {
    BaseFileFormat.PARQUET: _parquet_schema,
    BaseFileFormat.ORC: _orc_schema,
    BaseFileFormat.HFILE: _hfile_schema,
    BaseFileFormat.LANCE: _no_schema,
}
