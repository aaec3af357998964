"""The schema that the newest data file of a table was written with."""

from __future__ import annotations

import posixpath
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from hudi_pyspark.errors import HudiError, StorageError
from hudi_pyspark.format.avro.annotation import avro_schema_text
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.file_name import is_log_file_name
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.log_block import DATA_BLOCKS
from hudi_pyspark.format.log.log_file import frame_log_file
from hudi_pyspark.storage.remote_file import failures_of
from hudi_pyspark.table.log_file import LogFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hudi_pyspark.format.bytes_source import BytesSource
    from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata, WriteStat
    from hudi_pyspark.storage import Storage

_FOOTER_READERS: Mapping[str, Callable[[Any], pa.Schema]] = {
    ".parquet": pq.read_schema,
    ".orc": lambda file: orc.ORCFile(file).schema,
}


def newest_data_file_schema(
    storage: Storage, commit_metadata: Mapping[str, CommitMetadata]
) -> pa.Schema | None:
    """Return the columns of the newest readable data file, meta columns included, or None."""
    deletes: list[WriteStat] = []  # of files that have no rows, and no schema
    for time in sorted(commit_metadata, reverse=True):
        for stat in _cheapest_first(stat for _, stat in commit_metadata[time].all_stats()):
            if stat.num_deletes and not stat.num_writes:
                deletes.append(stat)
            elif (schema := _file_schema(storage, stat)) is not None:
                return schema
    schemas = (_file_schema(storage, stat) for stat in deletes)
    return next((schema for schema in schemas if schema is not None), None)


def _cheapest_first(stats: Iterable[WriteStat]) -> list[WriteStat]:
    """Sort base files, whose footer is enough, before log files, and both by size."""
    written = (s for s in stats if s.path)
    return sorted(written, key=lambda s: (is_log_file_name(s.file_name), s.file_size))


def _file_schema(storage: Storage, stat: WriteStat) -> pa.Schema | None:
    path = stat.path
    try:
        if is_log_file_name(stat.file_name):
            with closing(LogFiles(storage)) as files:
                return _log_file_schema(files.open(path), path)
        read_schema = _FOOTER_READERS.get(posixpath.splitext(path)[1])
        if read_schema is not None:
            with storage.open_input(path) as file, failures_of(file):
                return _footer_schema(read_schema(file))
        if path.endswith(".hfile"):
            return _hfile_schema(storage.read_bytes(path), path)
    except (StorageError, MemoryError):
        raise  # a guess would make a failure of the storage change the columns
    except (OSError, HudiError, pa.ArrowException, ValueError):  # ValueError: of HFiles and UTF-8
        # Cleaned away or damaged: reading the rows says so, if the file is needed at all.
        return None
    return None


def _log_file_schema(data: BytesSource, path: str) -> pa.Schema | None:
    texts = [
        block.schema_text
        for block in frame_log_file(data, path=path)
        if block.block_type in DATA_BLOCKS and not block.is_partial and block.schema_text
    ]
    return arrow_schema(parse_schema(texts[-1])) if texts else None


def _footer_schema(schema: pa.Schema) -> pa.Schema:
    """Return the writer's Avro schema, since the file's own types say less; else these."""
    text = avro_schema_text(schema)
    return arrow_schema(parse_schema(text)) if text else schema.remove_metadata()


def _hfile_schema(data: bytes, path: str) -> pa.Schema | None:
    text = read_hfile(data, path=path).file_info.get(SCHEMA_INFO)
    return arrow_schema(parse_schema(str(text, "utf-8"))) if text else None
