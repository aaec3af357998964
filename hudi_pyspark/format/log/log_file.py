"""Cut any log file into blocks: a file of inline blocks, or a native log.

A native log (table version 10 and later) is a file of the base file format and is one block: its
footer has what an inline block has in its header.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.errors import CorruptLogBlockError, UnsupportedTableError
from hudi_pyspark.format.avro.schema import parse_json
from hudi_pyspark.format.bytes_source import BytesSource
from hudi_pyspark.format.data_files import LogFileName, LogKind, is_native_log_name
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import HFileReader
from hudi_pyspark.format.log import log_block

# Builds of August 2026 write the header as one entry with a JSON object; other builds write one
# entry for each key. The names of all entries begin with the prefix.
_HEADER_ENTRY = "hudi.log.format.metadata"
_ENTRY_PREFIX = "hudi.log.format."
_NEWEST_VERSION = 2
_LONGEST_VERSION = 9  # digits, since Hudi parses an int
_KEYS = {key.name: key for key in log_block.HeaderKey}
_OTHER_BLOCKS = {
    LogKind.DELETES: log_block.LogBlockType.DELETE_BLOCK,
    LogKind.CDC: log_block.LogBlockType.CDC_DATA_BLOCK,
}


def frame_log_file(
    data: bytes | BytesSource, *, path: str, report: log_block.Report = None
) -> Iterator[log_block.LogBlock]:
    """Cut a log file into its blocks, as `frame_blocks` does.

    Args:
        data: the whole file, or a source that reads parts of it.
        path: of the file; its name tells native logs from files of inline blocks.
        report: see `frame_blocks`.

    Raises:
        CorruptLogBlockError: a block, or the footer of a native log, cannot be parsed.
        UnsupportedTableError: a native log has an unsupported format or version.
    """
    name = LogFileName.parse(path.rpartition("/")[2])
    if name is not None and name.native_extension:
        yield _frame_native_log(data, name, path=path)
    else:
        yield from log_block.frame_blocks(data, path=path, report=report)


def salvage_log_file(data: bytes | BytesSource, *, path: str) -> Iterator[log_block.SalvagedBlock]:
    """Cut a damaged log file into blocks as far as possible, as `salvage_blocks` does."""
    if not is_native_log_name(path.rpartition("/")[2]):
        yield from log_block.salvage_blocks(data, path=path)
        return
    try:
        yield from map(log_block.SalvagedBlock, frame_log_file(data, path=path))
    except (CorruptLogBlockError, UnsupportedTableError) as error:
        problem = error.found if isinstance(error, CorruptLogBlockError) else error.reason()
        file = memoryview(data) if isinstance(data, bytes) else data
        yield log_block.SalvagedBlock(log_block.corrupt_block(file, 0, len(file), path), problem)


def _frame_native_log(
    data: bytes | BytesSource, name: LogFileName, *, path: str
) -> log_block.LogBlock:
    """Read the header of a native log, but none of its records."""
    data_block = log_block.NATIVE_BLOCKS.get(name.native_extension)
    if data_block is None:
        raise UnsupportedTableError(
            f"{path}: log files in the format {name.native_extension!r} are not supported; "
            "Parquet and HFile are",
            advice=(
                "Read the table with Apache Hudi, or compact it and use query_type=read_optimized"
            ),
        )
    file = memoryview(data) if isinstance(data, bytes) else data
    footer = None
    if name.native_extension == "hfile":
        entries = _hfile_entries(file, path)
    else:
        footer, entries = _parquet_entries(file, path)
    header = _parse_header(entries, path)
    if log_block.HeaderKey.SCHEMA not in header:
        raise CorruptLogBlockError("expected a SCHEMA in the file's footer, found none", path, 0)
    return log_block.LogBlock(
        block_type=_OTHER_BLOCKS.get(name.kind, data_block),
        header={log_block.HeaderKey.INSTANT_TIME: name.instant, **header},
        content_offset=0,
        content_length=len(file),
        offset=0,
        size=len(file),
        path=path,
        file=file,
        native_extension=name.native_extension,
        parquet_footer=footer,
    )


def _parquet_entries(file: BytesSource, path: str) -> tuple[pq.FileMetaData, Mapping[str, str]]:
    try:
        with log_block.open_span(file, 0, len(file)) as source:
            footer = pq.read_metadata(source)
        metadata = footer.metadata or {}
        prefix = _ENTRY_PREFIX.encode()
        entries = {key: metadata[key] for key in metadata if key.startswith(prefix)}
        return footer, {str(key, "utf-8"): str(value, "utf-8") for key, value in entries.items()}
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorruptLogBlockError(f"expected a Parquet file: {error}", path, 0) from error


def _hfile_entries(file: BytesSource, path: str) -> Mapping[str, str]:
    try:
        entries = HFileReader.open(file, path=path).file_info
        return {k: str(v, "utf-8") for k, v in entries.items() if k.startswith(_ENTRY_PREFIX)}
    except HFileError as error:
        raise CorruptLogBlockError(error.problem, path, error.offset) from error
    except UnicodeDecodeError as error:
        raise CorruptLogBlockError(f"the file info is not UTF-8: {error}", path, 0) from error


def _parse_header(entries: Mapping[str, str], path: str) -> dict[log_block.HeaderKey, str]:
    """Parse the entries of a footer to a header; unknown keys are left out."""
    header = {key.removeprefix(_ENTRY_PREFIX): value for key, value in entries.items()}
    if _HEADER_ENTRY in entries:
        try:
            header = parse_json(entries[_HEADER_ENTRY])
        except (ValueError, RecursionError) as error:
            raise CorruptLogBlockError(f"the header is not JSON: {error}", path, 0) from error
        if not isinstance(header, dict) or not all(isinstance(v, str) for v in header.values()):
            raise CorruptLogBlockError("expected a header of texts, found other JSON", path, 0)
    version = header.get("VERSION", "0").strip()
    if not version.isdecimal() or len(version) > _LONGEST_VERSION:
        raise CorruptLogBlockError(f"the header's VERSION is {version!r}", path, 0)
    if int(version) > _NEWEST_VERSION:
        raise UnsupportedTableError(
            f"{path}: version {version} of native logs; up to {_NEWEST_VERSION} are supported",
            advice="Upgrade hudi-pyspark, or read the table with Apache Hudi",
        )
    return {_KEYS[name]: text for name, text in header.items() if name in _KEYS}
