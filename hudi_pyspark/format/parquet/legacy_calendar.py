"""Convert dates and timestamps of Parquet files from Spark's legacy calendar.

Before Spark 3, and later on demand (``datetimeRebaseModeInWrite=LEGACY``), Spark counted days as
java.util.GregorianCalendar does: dates up to 1582-10-04 by the Julian calendar, and instants before
1900 by the zone's present standard offset. Keys in the footer say so. Spark reads such values as
the same dates and local times in the calendar and the zones of java.time.

Source: ``DataSourceUtils`` and ``RebaseDateTime`` of Apache Spark 3.5 and 4.3, which decide alike.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format import nested_types

Int64s = npt.NDArray[np.int64]

INT96_ZONE = "Etc/UTC"
"""The zone that marks timestamps of the old type INT96, which are instants."""

_VERSION = b"org.apache.spark.version"
_ZONE = b"org.apache.spark.timeZone"
_LEGACY_TIMES, _LEGACY_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
# From these days and seconds since the epoch on, both calendars agree: 1582-10-15 and 1900-01-01.
_FIRST_DAY, _FIRST_SECOND = -141_427, -2_208_988_800
_DAY = 86_400  # seconds
_MARCH_OF_YEAR_0 = -719_470  # days since the epoch, by the Julian calendar
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# Besides regions, java.util.TimeZone has such names; it takes any other offset for UTC.
_OFFSET = re.compile(r"GMT([+-])(\d\d?)(?::?([0-5]\d))?")
_ANY_OFFSET = re.compile(r"(?:UTC|UT|GMT|Z)?(?:[+-][\d:]+)?")


@dataclass(frozen=True, slots=True)
class LegacyCalendar:
    """Which values of a Parquet file are in the legacy calendar."""

    has_dates: bool
    has_instants: bool
    zone: str  # of the session that wrote the file; Spark 2 does not say: this machine's zone
    path: str  # for errors

    @classmethod
    def of(cls, file: pq.ParquetFile, path: str) -> "LegacyCalendar | None":
        """Read the keys of a footer; None unless Spark wrote it in a legacy calendar."""
        keys = file.metadata.metadata or {}
        if _VERSION not in keys:
            return None
        version = keys[_VERSION]
        leaves = range(len(file.schema))
        is_legacy = version < b"3.0.0" or _LEGACY_TIMES in keys
        is_legacy_int96 = version < b"3.1.0" or _LEGACY_INT96 in keys
        if not is_legacy and not is_legacy_int96:
            return None
        # A writer uses only one type for instants.
        has_int96 = any(file.schema.column(leaf).physical_type == "INT96" for leaf in leaves)
        has_instants = is_legacy_int96 if has_int96 else is_legacy
        return cls(is_legacy, has_instants, keys.get(_ZONE, b"").decode() or _own_zone(), path)

    def to_gregorian(self, table: pa.Table) -> pa.Table:
        """Convert the dates and instants of a table, at any depth, as Spark reads them.

        Args:
            table: rows of the file.

        Raises:
            UnsupportedTableError: there is an instant before 1900 in an unknown zone.
        """
        converted = {}
        for index, field in enumerate(table.schema):
            if self._rebase_of(field.type) or pa.types.is_nested(field.type):
                chunks = [self._converted(chunk) for chunk in table.column(index).chunks]
                converted[index] = field, pa.chunked_array(chunks, field.type)
        return nested_types.replace_columns(table, converted)

    def _converted(self, array: pa.Array) -> pa.Array:
        data_type = array.type
        rebase = self._rebase_of(array.type)
        if rebase is not None:
            return _replace_old(array, *rebase)
        if pa.types.is_struct(data_type):
            children = [self._converted(array.field(i)) for i in range(data_type.num_fields)]
            return nested_types.with_children(array, children, list(data_type))
        if pa.types.is_list(data_type):
            array = nested_types.without_offset(array)
            return nested_types.with_items(array, self._converted(array.values), data_type)
        if pa.types.is_map(data_type):
            array = nested_types.without_offset(array)
            keys = self._converted(array.keys)
            items = self._converted(array.items)
            return nested_types.with_entries(array, keys, items, data_type)
        return array

    def _rebase_of(self, data_type: pa.DataType) -> tuple[int, Callable[[Int64s], Int64s]] | None:
        """Return the first number of a type that stays, and how to rebase lower numbers."""
        if pa.types.is_date32(data_type):
            return (_FIRST_DAY, _gregorian_days) if self.has_dates else None
        if not pa.types.is_timestamp(data_type) or data_type.tz is None or not self.has_instants:
            return None  # Spark writes local timestamps only in one way
        ticks = _TICKS[data_type.unit]
        return _FIRST_SECOND * ticks, lambda instants: self._gregorian_instants(instants, ticks)

    def _gregorian_instants(self, instants: Int64s, ticks: int) -> Int64s:
        standard, instants_of_change, offsets = self._offsets()
        day = _DAY * ticks
        local = instants + standard * ticks
        local += (_gregorian_days(local // day) - local // day) * day
        # A local time that a change skips or repeats belongs to the offset after the change, from
        # the first moment by that offset on.
        changes = (instants_of_change + offsets[1:]) * ticks
        return local - offsets[np.searchsorted(changes, local, side="right")] * ticks

    def _offsets(self) -> tuple[int, Int64s, Int64s]:
        """Return the zone's standard offset, when offsets changed, and each of them, in seconds."""
        zone = _zones().get(self.zone)
        if zone is not None:
            standard, *numbers = map(int, zone.split())
        elif match := _OFFSET.fullmatch(self.zone):
            standard = int(f"{match[1]}1") * (int(match[2]) * 60 + int(match[3] or 0)) * 60
            numbers = [standard]
        elif _ANY_OFFSET.fullmatch(self.zone):
            standard = 0
            numbers = [0]
        else:
            raise UnsupportedTableError(
                f"{self.path}: Spark wrote timestamps before 1900 in its legacy calendar, in the "
                f"time zone {self.zone!r}, which this release does not know",
                advice=(
                    "Leave out such columns, or write the table again with "
                    "spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED"
                ),
            )
        return standard, np.array(numbers[1::2], np.int64), np.array(numbers[::2], np.int64)


def _gregorian_days(days: Int64s) -> Int64s:
    """Convert days before 1582-10-15 to days that have the same dates by the Gregorian calendar.

    Years begin in March, so leap days are at their end. Four Julian years have 1,461 days.
    """
    years = (4 * (days - _MARCH_OF_YEAR_0) + 3) // 1461
    return np.where(days < _FIRST_DAY, days + 2 - (years // 100 - years // 400), days)


def _replace_old(array: pa.Array, first: int, rebase: Callable[[Int64s], Int64s]) -> pa.Array:
    numbers = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    is_old = pc.less(numbers, first)
    if not pc.any(is_old).as_py():
        return array
    old = np.asarray(numbers.filter(is_old)).astype(np.int64)
    rebased = pa.array(rebase(old)).cast(numbers.type)
    return pc.replace_with_mask(numbers, is_old.fill_null(False), rebased).view(array.type)  # noqa: FBT003


def widen_bounds(low: pa.Array, high: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Widen the bounds of a column until they hold in both calendars.

    In the other calendar, old dates are up to 10 days earlier, or later up to the day from which on
    both calendars agree; instants differ by some hours more. Other types have one calendar.

    Args:
        low: lower bounds, one per file or row group.
        high: upper bounds of the same type.
    """
    data_type = low.type
    numbers: pa.DataType
    if pa.types.is_date32(data_type):
        numbers = pa.int32()
        day = 1
        first = _FIRST_DAY
    elif pa.types.is_timestamp(data_type):
        numbers = pa.int64()
        day = _DAY * _TICKS[data_type.unit]
        first = _FIRST_SECOND * _TICKS[data_type.unit]
    else:
        return low, high
    low, high = low.view(numbers), high.view(numbers)
    is_old = pc.less(low, first)
    margin = 12 * day
    least = margin - 2 ** (numbers.bit_width - 1)
    lower = pc.subtract(pc.max_element_wise(low, pa.scalar(least, numbers)), margin)
    higher = pc.max_element_wise(high, pa.scalar(first + day, numbers))
    low, high = pc.if_else(is_old, lower.cast(numbers), low), pc.if_else(is_old, higher, high)
    return low.view(data_type), high.view(data_type)


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """Load the offsets of each zone; `verification/generate/local_times.py` describes them."""
    text = (resources.files(__package__ or "") / "local_times.txt").read_text(encoding="utf-8")
    lines = (line.partition("|") for line in text.splitlines())
    return {name: numbers for numbers, _, names in lines for name in names.split()}


def _own_zone() -> str:
    """Return this machine's zone, as Java finds it."""
    zone = os.environ.get("TZ") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    return zone or "UTC"


def with_instants(schema: pa.Schema, leaves: pq.ParquetSchema) -> pa.Schema:
    """Mark INT96 timestamps as instants; Arrow reads them as local timestamps.

    Args:
        schema: of the whole file, as Arrow reads it.
        leaves: of the file, in the same order.
    """
    are_int96 = [leaves.column(i).physical_type == "INT96" for i in range(len(leaves))]
    if not any(are_int96):
        return schema
    of_leaves = iter(are_int96)
    return pa.schema([_as_instants(f, of_leaves) for f in schema], metadata=schema.metadata)


def _as_instants(field: pa.Field, of_leaves: Iterator[bool]) -> pa.Field:
    """Mark the INT96 timestamps in a field; the iterator says of each leaf whether it is one.

    Names do not tell: a struct may have INT96 timestamps beside local ones.
    """
    data_type = field.type
    if pa.types.is_map(data_type):
        key = _as_instants(data_type.key_field, of_leaves)
        return field.with_type(pa.map_(key, _as_instants(data_type.item_field, of_leaves)))
    if pa.types.is_nested(data_type):
        marked = nested_types.with_fields(data_type, lambda part: _as_instants(part, of_leaves))
        return field.with_type(marked)
    if not next(of_leaves) or not pa.types.is_timestamp(data_type):
        return field
    return field.with_type(pa.timestamp(data_type.unit, data_type.tz or INT96_ZONE))
