"""The values that travel from the driver to an executor: what to read, and how to read it.

Planning makes them and reading follows them; neither imports the other.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, as_one_array, repeat
from hudi_pyspark.columns.nested_fields import narrow_fields
from hudi_pyspark.custom_mergers import PayloadMerger
from hudi_pyspark.table.file_group import FileSlice, LogFile, OnDamage
from hudi_pyspark.table.merge_mode import MergeCache
from hudi_pyspark.table.meta_columns import META_COLUMNS, OPERATION_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.columns.schema_evolution import SchemaOnRead
    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.table.live_blocks import BlockFilter
    from hudi_pyspark.table.merge_mode import MergeRule

_EMPTY = pa.scalar("")
_NULL = pa.scalar(None, pa.string())


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The read options that reading uses; the fields have the same names and meanings."""

    skip_merge: bool = False
    use_record_positions: bool = True
    on_damage: OnDamage = OnDamage.FAIL
    batch_rows: int = 16_384
    merge_memory: int = 0  # bytes; 0 for the worker's default
    spill_folder: str = ""  # "" for the worker's default
    verify_checksums: bool = True  # of the pages of Parquet files
    merge_cache: MergeCache = MergeCache.MEMORY
    merge_cache_folder: str = ""  # "" for the usual one
    merge_cache_bytes: int = 0  # 0 for the default


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits of an incremental query.

    ``begin`` is exclusive and ``end`` inclusive. They are completion times from table version 8 on
    and requested times before. Commits are always named by their requested times.
    """

    begin: str
    end: str  # "" while the table has no commit
    by_completion_time: bool
    commits: tuple[str, ...]  # requested times, ascending; archived ones included
    full_scan: str  # why the latest slices are read instead of the range's files; "" if not
    moved: str = ""  # why the range begins later than requested; "" if it does not

    def contains(self, commit_times: pa.ChunkedArray) -> Mask:
        """Return which rows are of the range: by their commits, before version 8 by the bounds.

        The bounds contain delta commits, too, that do not count once a table is COPY_ON_WRITE:
        their rows in files of later commits, as in Apache Hudi.
        """
        if self.by_completion_time:
            written = pc.is_in(commit_times, value_set=pa.array(self.commits, pa.string()))
        else:
            is_later = pc.greater(commit_times, self.begin)
            is_in_time = pc.less_equal(commit_times, self.end)
            written = pc.fill_null(pc.and_(is_later, is_in_time), False)  # noqa: FBT003
        return np.asarray(as_one_array(written))

    @property
    def bounds(self) -> str:
        """The range in words."""
        kind = "completion" if self.by_completion_time else "requested"
        last = f"{self.end}, inclusive" if self.end else "the latest"
        return f"{kind} times after {self.begin} up to {last} ({len(self.commits)} commits)"

    def __str__(self) -> str:
        notes = [self.bounds]
        if self.moved:
            notes.append(f"begins later than requested, since {self.moved}")
        if self.full_scan:
            notes.append(f"full scan of the latest file slices, since {self.full_scan}")
        return "; ".join(notes)


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """Where the partition columns of one file slice take their values from."""

    columns: tuple[str, ...] = ()  # the table's partition columns
    # Column and value, where the path has one; fill in where a file lacks the column.
    path_values: tuple[tuple[str, pa.Scalar], ...] = ()
    from_path: tuple[str, ...] = ()  # columns whose value is the path's, whatever the files hold
    # Text columns whose folder means null or "": the file says which of the two a row has.
    null_or_empty: tuple[str, ...] = ()
    never_read: tuple[str, ...] = ()  # columns that are not read from the files at all

    def __reduce__(self) -> tuple[object, ...]:
        # pyarrow pickles a scalar as a value of Python, which has no years beyond 9999.
        values = tuple(
            (name, repeat(value, 1) if pa.types.is_temporal(value.type) else value)
            for name, value in self.path_values
        )
        others = self.from_path, self.null_or_empty, self.never_read
        return _unpickled, (self.columns, values, *others)

    @property
    def constants(self) -> dict[str, pa.Scalar]:
        return dict(self.path_values)

    def show(self, rows: pa.Table) -> pa.Table:
        """Return the rows with the partition values that the answer has."""
        constants = self.constants
        for name in self.from_path:
            if name in rows.schema.names and name not in self.never_read:
                data_type = rows.schema.field(name).type
                rows = _replace(rows, name, repeat(constants[name].cast(data_type), rows.num_rows))
        for name in self.null_or_empty:
            if name in rows.schema.names:
                is_empty = pc.equal(rows.column(name), _EMPTY)
                rows = _replace(rows, name, pc.if_else(is_empty, _EMPTY, _NULL))
        return rows

    def is_as_stored(self, name: str) -> bool:
        """Return whether a column's values are those that the files hold, if they hold it."""
        return name not in self.from_path and name not in self.null_or_empty


def _unpickled(
    columns: tuple[str, ...],
    values: tuple[tuple[str, pa.Scalar | pa.Array], ...],
    *others: tuple[str, ...],
) -> PartitionValues:
    scalars = ((name, v[0] if isinstance(v, pa.Array) else v) for name, v in values)
    return PartitionValues(columns, tuple(scalars), *others)


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """All that many tasks of a plan have in common; picklable."""

    settings: ReadSettings
    result: pa.Schema  # columns of the answer
    working: pa.Schema  # the result's columns and those that the filter and the merge need
    rule: MergeRule
    block_filter: BlockFilter
    needed: tuple[str, ...] = ()  # columns that the filter and the merge look at
    whole: tuple[str, ...] = ()  # columns that may lack no nested field
    predicate: Predicate | None = None  # only rows for which it is true; None for all
    key_fields: tuple[str, ...] = ()  # make up the record key if the files do not hold it
    merger: PayloadMerger | None = None  # a user's, for a payload class that Hudi does not have
    schema_on_read: SchemaOnRead | None = None  # matches columns by id; None to match by name
    commit_range: CommitRange | None = None  # only rows that these commits wrote; None for all
    record_keys: tuple[str, ...] | None = None  # no other keys can pass the filter; None: any
    # For a commit range: rows that other commits wrote take part in the merge, too.
    merges_whole_table: bool = False
    # All that the outcome of a merge depends on, but for the slice; "" where none is kept.
    merge_basis: str = ""

    def narrowed(self, wanted: pa.Schema) -> SharedPlan:
        """Return the plan of the same rows with fewer columns; those of the merge stay.

        Columns whose names differ in case alone stay together: a file may have one of them.
        """
        names = {name.lower() for name in (*self.needed, *wanted.names)}
        columns = pa.schema(field for field in self.working if field.name.lower() in names)
        return replace(
            self,
            result=pa.schema(field for field in self.result if field.name in wanted.names),
            working=narrow_fields(columns, wanted, whole=self.whole),
        )


@dataclass(slots=True, unsafe_hash=True)  # made faster than a frozen one; nothing changes it
class ScanTask:
    """One file slice to read; small and picklable."""

    file_slice: FileSlice
    shared: SharedPlan
    partition: PartitionValues
    byte_range: tuple[int, int] | None = None  # part of a base file without logs; None for all
    # For a commit range: the whole file slice, needed to complete partial updates.
    whole_slice: FileSlice | None = None

    @property
    def settings(self) -> ReadSettings:
        """How to read; the same for all tasks of a plan."""
        return self.shared.settings

    @property
    def working(self) -> pa.Schema:
        """The result's columns and those that the filter and the merge need."""
        return self.shared.working

    @property
    def predicate(self) -> Predicate | None:
        """Only rows for which it is true are wanted; None for all."""
        return self.shared.predicate

    @property
    def stored_columns(self) -> list[str]:
        """Names of the working columns whose values are read from the files."""
        return [n for n in self.working.names if n not in self.partition.never_read]

    def narrowed(self, wanted: pa.Schema) -> ScanTask:
        """Return the read of fewer columns of the answer, of which structs may lack fields."""
        return replace(self, shared=self.shared.narrowed(wanted))

    def of_whole_slice(self) -> ScanTask:
        """Return the read of the whole slice, for a range of partial updates."""
        assert self.whole_slice is not None  # only a range has partial updates on top of it
        shared = replace(self.shared, merges_whole_table=True)
        return replace(self, file_slice=self.whole_slice, whole_slice=None, shared=shared)


class ChangeSource(enum.Enum):
    """Where the changes of one file come from."""

    CDC_LOG = "a CDC log file"
    BASE_FILE_INSERT = "a base file of inserts"
    BASE_FILE_DELETE = "the base file before, all of it deleted"
    LOG_FILE = "a log file against the slice below"
    REPLACED = "a replaced file group"


@dataclass(frozen=True, slots=True)
class CdcTask:
    """The changes that one commit made to one file group; small and picklable."""

    source: ChangeSource
    instant: str  # requested time of the commit
    images: pa.Schema  # data columns of the images
    as_struct: bool  # images as structs instead of JSON text
    before: ScanTask | None = None  # the slice as it was; None if none was or is needed
    after: ScanTask | None = None  # the files that the commit wrote; None if none are needed
    cdc_files: tuple[LogFile, ...] = ()  # of `CDC_LOG`
    settings: ReadSettings = ReadSettings()
    predicate: Predicate | None = None  # only changes for which it is true; None for all
    shown: frozenset[str] = frozenset({"before", "after"})  # images that the query needs


ReadTask: TypeAlias = ScanTask | CdcTask


def cdc_schema(table_schema: pa.Schema, *, as_struct: bool) -> pa.Schema:
    """Return the columns ``op, ts_ms, before, after``; images are JSON text, or structs."""
    images = pa.struct(list(data_columns(table_schema))) if as_struct else pa.string()
    return pa.schema({"op": pa.string(), "ts_ms": pa.string(), "before": images, "after": images})


def data_columns(table_schema: pa.Schema) -> pa.Schema:
    """Return the columns that images have: those of the table, without meta columns."""
    hidden = (*META_COLUMNS, OPERATION_COLUMN)
    return pa.schema([field for field in table_schema if field.name not in hidden])


def _replace(rows: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    index = rows.schema.get_field_index(name)
    return rows.set_column(index, rows.schema.field(index), column)
