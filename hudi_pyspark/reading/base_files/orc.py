"""Stream ORC base files as Arrow tables, stripe by stripe."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from hudi_pyspark.errors import CorruptBaseFileError, UnsupportedTypeError
from hudi_pyspark.format.column_names import match_columns, rename_columns
from hudi_pyspark.format.nested_types import replace_columns
from hudi_pyspark.format.orc_footer import OrcFooter, parse_orc_footer, parse_writer_zone
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.remote_file import failures_of

_UTC = frozenset({"", "UTC", "GMT", "Etc/UTC", "Etc/GMT"})
_LAST_MILLIS = (2**63 - 1) // 1_000_000  # of Arrow's nanoseconds: the years 1678 to 2262


def read_orc_file(
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
            names = match_columns(columns, schema.names, source=place)
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
    ) -> "_WriterClock":
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
            f"here ({error}). Install the system's time zone database, or leave these columns out"
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
