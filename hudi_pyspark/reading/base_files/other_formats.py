"""Stream base files of the formats other than Parquet: ORC, HFile and Lance.

They have no row groups that a filter could leave out, so each file is read whole; ORC stripe by
stripe.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from hudi_pyspark.columns.arrays import rename_columns
from hudi_pyspark.errors import (
    CorruptAvroError,
    CorruptBaseFileError,
    StorageError,
    UnsupportedTableError,
    UnsupportedTypeError,
)
from hudi_pyspark.format.avro.schema import parse_schema
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.data_files import LANCE_MISSING, BaseFileFormat
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.data_block import decode_hfile_records
from hudi_pyspark.format.nested_types import replace_columns
from hudi_pyspark.format.orc_footer import OrcFooter, parse_orc_footer, parse_writer_zone
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import failures_of

_UTC = frozenset({"", "UTC", "GMT", "Etc/UTC", "Etc/GMT"})
_LAST_MILLIS = (2**63 - 1) // 1_000_000  # of Arrow's nanoseconds: the years 1678 to 2262


def _read_orc_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Stream an ORC file; see `read_base_file`.

    An ORC timestamp without zone is the wall clock of its writer. The file names the writer's time
    zone, so the instant is known, whatever the time zone of this machine. Apache Hudi reads the
    same in a JVM that runs in the writer's zone.

    Raises:
        CorruptBaseFileError: the file cannot be decoded.
        UnsupportedTypeError: it has timestamps whose instant is ambiguous, or that Arrow would read
            wrongly.
        SchemaEvolutionError: it has a requested column under several names.
    """
    place = storage.describe(path)
    try:
        with storage.open_input(path) as file, failures_of(file):
            source = orc.ORCFile(file)
            schema = source.schema
            names = match_names(columns, schema.names, place=place)
            stored_names = list(names.values())
            if not stored_names:
                for start in range(0, source.nrows, batch_rows):
                    rows = pa.nulls(min(batch_rows, source.nrows - start))
                    yield pa.table({"": rows}).select([])
                return
            target = pa.schema([schema.field(name) for name in stored_names])
            clock = _WriterClock.load(source, file, target, place)
            row_count = 0
            for stripe in range(source.nstripes):
                batch = source.read_stripe(stripe, columns=stored_names)
                row_count += batch.num_rows
                table = pa.Table.from_batches([batch]).select(stored_names)
                table = rename_columns(clock.to_instants(table, stripe).cast(clock.schema), names)
                for start in range(0, table.num_rows, batch_rows):
                    yield table.slice(start, batch_rows)
            if row_count != source.nrows:
                problem = f"expected {source.nrows} rows, found {row_count} in the stripes"
                raise pa.ArrowInvalid(problem)
    except (FileNotFoundError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptBaseFileError(place, f"not readable as ORC: {error}") from error


@dataclass(frozen=True, slots=True)
class _WriterClock:
    """The time zones in which a file's timestamps, wall clocks of its writer, are instants."""

    schema: pa.Schema  # the requested columns, timestamps as instants
    zones: tuple[str, ...]  # of the writer, per stripe; () if no column has timestamps
    path: str

    @classmethod
    def load(
        cls, source: orc.ORCFile, file: pa.NativeFile | IO[bytes], schema: pa.Schema, path: str
    ) -> _WriterClock:
        """Read the zones.

        Raises:
            UnsupportedTypeError: a zone is unknown, or Arrow would read timestamps wrongly.
        """
        if not any(_holds(field.type, pa.types.is_timestamp) for field in schema):
            return cls(schema, (), path)
        end = source.file_length - 1 - source.file_postscript_length
        footer_bytes = _read_at(file, end - source.file_footer_length, source.file_footer_length)
        footer = parse_orc_footer(footer_bytes, source.compression)
        _check_range(source.schema, schema.names, footer, path)
        zones = tuple(
            parse_writer_zone(_read_at(file, offset, size), source.compression)
            for offset, size in footer.stripe_footers
        )
        for zone in sorted(set(zones) - _UTC):
            _check_zone(zone, path)
        return cls(schema, zones, path)

    def to_instants(self, table: pa.Table, stripe: int) -> pa.Table:
        """Return the rows of a stripe with wall clocks turned into instants.

        Raises:
            UnsupportedTypeError: a clock shows no instant or several, or a timestamp is nested.
        """
        zone = self.zones[stripe] if self.zones else ""
        if zone in _UTC:
            return table
        instants = {}
        for index, field in enumerate(table.schema):
            if _is_wall_clock(field.type):
                instants[index] = field, self._instants(table.column(index), field.name, zone)
            elif _holds(field.type, _is_wall_clock):
                raise UnsupportedTypeError(
                    f"{self.path}: column {field.name!r} holds timestamps inside {field.type}, "
                    f"written in the time zone {zone}; nested timestamps are covered in UTC only"
                )
        return replace_columns(table, instants)

    def _instants(
        self, column: pa.ChunkedArray, name: str, zone: str
    ) -> pa.Array | pa.ChunkedArray:
        try:
            instants = pc.assume_timezone(column, zone)
        except pa.ArrowInvalid as error:
            raise UnsupportedTypeError(
                f"{self.path}: column {name!r} has timestamps that name no instant or several "
                f"instants in the time zone {zone} ({error})"
            ) from error
        return instants.cast(pa.timestamp(column.type.unit, "UTC")).cast(column.type)


def _read_at(file: pa.NativeFile | IO[bytes], offset: int, size: int) -> bytes:
    file.seek(offset)
    return bytes(file.read(size))


def _check_zone(zone: str, path: str) -> None:
    try:
        pc.assume_timezone(pa.scalar(0, pa.timestamp("ns")), zone)
    except pa.ArrowInvalid as error:
        raise UnsupportedTypeError(
            f"{path}: its timestamps were written in the time zone {zone!r}, which is not known "
            f"here ({error})",
            advice="Install the system's time zone database, or leave these columns out",
        ) from error


def _check_range(schema: pa.Schema, names: Sequence[str], footer: OrcFooter, path: str) -> None:
    """Refuse timestamps that pyarrow 19 reads wrongly, e.g. `9999-12-31`, and 26 refuses."""
    column = 1  # column 0 is the record as a whole
    requested = {*names}
    for field in schema:
        following = column + _column_count(field.type)
        bounds = (footer.timestamp_bounds.get(c, (0, 0)) for c in range(column, following))
        is_beyond = any(max(-least, greatest) > _LAST_MILLIS for least, greatest in bounds)
        if is_beyond and field.name in requested:
            raise UnsupportedTypeError(
                f"{path}: column {field.name!r} has timestamps before the year 1678 or after "
                "2262, which Arrow cannot read from ORC files"
            )
        column = following


def _column_count(data_type: pa.DataType) -> int:
    """Return the number of columns of the ORC file that make up one column of a type."""
    return 1 + sum(_column_count(child) for child in _children(data_type))


def _children(data_type: pa.DataType) -> list[pa.DataType]:
    if pa.types.is_map(data_type):
        return [data_type.key_type, data_type.item_type]
    return [data_type.field(index).type for index in range(data_type.num_fields)]


def _holds(data_type: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    return test(data_type) or any(_holds(child, test) for child in _children(data_type))


def _is_wall_clock(data_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(data_type) and data_type.tz is None


def _read_hfile_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Read a whole HFile and decode some columns; see `read_base_file`.

    The blocks of an HFile are compressed rows, so they cannot be read by column.

    Raises:
        CorruptBaseFileError: the file cannot be decoded.
        SchemaEvolutionError: it has a requested column under several names.
    """
    place = storage.describe(path)
    try:
        hfile = read_hfile(storage.read_bytes(path), path=path)
        schema_text = hfile.file_info.get(SCHEMA_INFO)
        if schema_text is None:
            raise CorruptBaseFileError(place, "expected an Avro schema in its file info")
        schema = parse_schema(str(schema_text, "utf-8"))
        stored = match_names(columns, [field.name for field in schema.fields], place=place)
        table = decode_hfile_records(hfile, schema, [*stored.values()])
        table = rename_columns(table.select([*stored.values()]), stored) if stored else table
    except (HFileError, CorruptAvroError, UnicodeDecodeError) as error:
        reason = error.reason() if isinstance(error, CorruptAvroError) else error
        raise CorruptBaseFileError(place, f"not readable as HFile: {reason}") from error
    for start in range(0, table.num_rows, batch_rows):
        # Arrow does not bound the length of a slice without columns by itself.
        yield table.slice(start, min(batch_rows, table.num_rows - start))


def _read_lance_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Stream a Lance file; see `read_base_file`.

    Raises:
        UnsupportedTableError: the optional library is not installed.
        CorruptBaseFileError: the file cannot be decoded.
        SchemaEvolutionError: it has a requested column under several names.
    """
    try:
        from lance.file import LanceFileReader  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise UnsupportedTableError(f"base file {path}: {LANCE_MISSING}") from error
    with _local_file(storage, path) as local:
        try:
            names = LanceFileReader(str(local)).metadata().schema.names
            stored = match_names(columns, names, place=storage.describe(path))
            stored_names = list(stored.values())
            # The library refuses an empty list.
            reader = LanceFileReader(str(local), columns=stored_names or names[:1])
            for batch in reader.read_all(batch_size=batch_rows).to_batches():
                yield rename_columns(pa.Table.from_batches([batch]).select(stored_names), stored)
        except (pa.ArrowInvalid, OSError, RuntimeError, ValueError) as error:
            problem = f"not readable as Lance: {error}"
            raise CorruptBaseFileError(storage.describe(path), problem) from error


@contextmanager
def _local_file(storage: Storage, path: str) -> Iterator[Path]:
    """Yield the path of the file on this machine, of a copy if need be: the library needs one.

    Raises:
        StorageError: the copy cannot be written.
    """
    with storage.open_input(path) as file:  # raises if the path is missing, or outside of the table
        local = Path(storage.describe(path))
        if storage.is_local and local.is_file():
            yield local
            return
        content = file.read()
    with ExitStack() as stack:
        try:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory()), "base.lance")
            copy.write_bytes(content)
        except OSError as error:  # a full disk, or a machine without a folder for temporary files
            problem = f"a copy in the folder for temporary files cannot be written: {error}"
            raise StorageError(storage.describe(path), problem, 1) from error
        yield copy


# Each takes the storage, the path, the columns and the rows per table of `read_base_file`.
READERS: Mapping[
    BaseFileFormat, Callable[[Storage, str, Sequence[str], int], Iterator[pa.Table]]
] = {
    BaseFileFormat.ORC: _read_orc_file,
    BaseFileFormat.HFILE: _read_hfile_file,
    BaseFileFormat.LANCE: _read_lance_file,
}
