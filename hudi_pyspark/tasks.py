"""Tasks: values that travel from the driver to executors, and say what to read and how.

Planning makes tasks and reading follows them. Neither imports the other.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import text_scalar
from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.columns.arrays import ONLY_ROW_COUNT, Mask, as_one_array, repeat
from hudi_pyspark.columns.nested_fields import narrow_fields
from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.filter.predicate import Predicate
from hudi_pyspark.format.column_names import case_variants
from hudi_pyspark.format.timeline.instant import RequestedTime
from hudi_pyspark.table.cdc_format import CdcFormat
from hudi_pyspark.table.file_group import FileSlice, LogFile
from hudi_pyspark.table.merge_mode import MergeCache, MergeRule
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN, META_COLUMNS, OPERATION_COLUMN
from hudi_pyspark.table.on_damage import OnDamage

if TYPE_CHECKING:
    from hudi_pyspark.columns.schema_evolution import SchemaOnRead
    from hudi_pyspark.table.log_files import BlockFilter

BOTH_IMAGES = frozenset({"before", "after"})
CHANGELOG_COLUMNS = pa.schema(
    {
        "_change_type": pa.string(),
        "_commit_version": pa.int64(),
        "_commit_timestamp": pa.timestamp("us", "UTC"),
    }
)
"""Columns behind the data columns of a changelog, named as in Spark and in Delta Lake."""

_EMPTY = text_scalar("")
_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The options of a read that tasks need; fields have the options' names and meanings."""

    skip_merge: bool = False
    use_record_positions: bool = True
    on_damage: OnDamage = OnDamage.FAIL
    batch_rows: int = 16_384
    merge_memory: int = 0  # bytes; 0 for the worker's default
    spill_folder: str = ""  # "" for the worker's default
    verify_checksums: bool = True  # of the pages of Parquet files
    merge_cache: MergeCache = MergeCache.MEMORY
    merge_cache_folder: str = ""  # "" for the usual folder
    merge_cache_bytes: int = 0  # 0 for the default


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits of an incremental query.

    ``begin`` is exclusive and ``end`` inclusive. From table version 8 on they are completion times,
    before that requested times.
    """

    begin: str
    end: str  # "" while the table has no commit
    by_completion_time: bool
    commits: tuple[RequestedTime, ...]  # all, even archived ones; ascending
    full_scan: str  # why the latest slices are read instead of the range's files; "" if not
    moved: str = ""  # why the range begins later than requested; "" if it begins as requested

    def wrote(self, rows: pa.Table) -> Mask:
        """Return the rows that commits of the range wrote; before version 8 the bounds decide.

        As in Apache Hudi, the bounds contain rows of delta commits that stopped to count when the
        table became COPY_ON_WRITE, if files of later commits have these rows.

        Raises:
            UnsupportedTableError: a row does not say which commit wrote it.
        """
        commit_times = rows.column(COMMIT_TIME_COLUMN)
        if commit_times.null_count:
            raise UnsupportedTableError(
                f"{commit_times.null_count} rows in files of the range have no "
                f"{COMMIT_TIME_COLUMN}: they were written without it "
                "(hoodie.populate.meta.fields=false or hoodie.meta.fields.mode), so the range "
                "cannot be told from other commits",
                advice="Read the table as of its end instead",
            )
        if self.by_completion_time:
            written = pc.is_in(commit_times, value_set=pa.array(self.commits, pa.string()))
        else:
            is_later = pc.greater(commit_times, self.begin)
            is_in_time = pc.less_equal(commit_times, self.end)
            written = pc.and_(is_later, is_in_time)
        return np.asarray(as_one_array(written))

    @property
    def bounds(self) -> str:
        """The range as text."""
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


class ValueSource(enum.Enum):
    """Where the values of a partition column come from."""

    FILE = "the file, since the path does not show the value"
    FILE_OR_PATH = "the file, or the path if the file lacks the column"
    # The folder stands for null, "" and perhaps its own name.
    FILE_IN_SHARED_FOLDER = "the path, except for null and empty text in the file"
    PATH = "the path, although the merge reads the file's values"
    PATH_ALONE = "the path; the file's values are never read"


class PartitionColumn(NamedTuple):
    """A partition column of one partition."""

    name: str
    value: pa.Scalar | None  # in the path; None if the path does not show it
    source: ValueSource


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """Where the partition columns of one file slice take their values from."""

    values: tuple[PartitionColumn, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        # pyarrow pickles a scalar as a value of Python, which has no years beyond 9999.
        parts = [(n, None if v is None else repeat(v, 1), s.name) for n, v, s in self.values]
        return _unpickled, (parts,)

    @property
    def names(self) -> list[str]:
        """The table's partition columns."""
        return [column.name for column in self.values]

    @property
    def constants(self) -> dict[str, pa.Scalar]:
        """Column to its value in the path, for columns that a file may lack."""
        return {name: value for name, value, _ in self.values if value is not None}

    @property
    def from_path(self) -> tuple[str, ...]:
        """Columns that take the path's value, whatever the files hold."""
        sources = (ValueSource.PATH, ValueSource.PATH_ALONE)
        return tuple(column.name for column in self.values if column.source in sources)

    @property
    def in_shared_folder(self) -> tuple[str, ...]:
        """Columns of text whose folder has rows with other values."""
        source = ValueSource.FILE_IN_SHARED_FOLDER
        return tuple(column.name for column in self.values if column.source is source)

    def from_files(self) -> PartitionValues:
        """Return the same columns with the values of the files, unless a file lacks a column."""
        columns = (
            PartitionColumn(
                name, value, ValueSource.FILE if value is None else ValueSource.FILE_OR_PATH
            )
            for name, value, _ in self.values
        )
        return PartitionValues(tuple(columns))

    def show(self, rows: pa.Table) -> pa.Table:
        """Return rows with the partition values of the answer instead of the file's."""
        for name, value, source in self.values:
            index = rows.schema.get_field_index(name)
            if index < 0 or value is None:
                continue
            field = rows.schema.field(index)
            if source is ValueSource.PATH:
                values = repeat(value.cast(field.type), rows.num_rows)
                rows = rows.set_column(index, field, values)
            elif source is ValueSource.FILE_IN_SHARED_FOLDER:
                # Of null this is null.
                is_empty = pc.equal(rows.column(index), _EMPTY)
                rows = rows.set_column(index, field, pc.if_else(is_empty, _EMPTY, value))
        return rows

    def is_as_stored(self, name: str) -> bool:
        """Say whether a column has the values that the files hold, if they hold it."""
        return name not in self.from_path and name not in self.in_shared_folder


def _unpickled(parts: list[tuple[str, pa.Array | None, str]]) -> PartitionValues:
    return PartitionValues(
        tuple(
            PartitionColumn(name, None if value is None else value[0], ValueSource[source])
            for name, value, source in parts
        )
    )


@dataclass(frozen=True)
class PlannedColumns(PickledWithoutCache):
    """The columns of a read by what they are for; a column may be for several purposes.

    The filter and the merge look at columns with all of their nested fields.
    """

    result: pa.Schema  # columns of the answer; their structs may lack fields
    filter: pa.Schema = _NO_COLUMNS  # columns that decide which rows the answer has
    merge: pa.Schema = _NO_COLUMNS  # columns that the merge looks at
    compares_values: bool = False  # a merge may compare any two values, so structs lack no field

    @cached_property
    def working(self) -> pa.Schema:
        """All columns: those of the answer, and others that the filter and the merge need."""
        columns = {field.name: field for field in self.result}
        columns.update({field.name: field for field in (*self.filter, *self.merge)})
        return pa.schema(columns.values())

    @cached_property
    def requested(self) -> pa.Schema:
        """The columns that the answer has, or that decide which rows it has."""
        names = {*self.result.names, *self.filter.names}
        return pa.schema(field for field in self.working if field.name in names)

    def narrowed(self, requested: pa.Schema) -> PlannedColumns:
        """Return fewer columns of the answer, with the nested fields that ``requested`` has.

        Columns that differ from them in case alone are still read.
        """
        names = {*requested.names}
        result = pa.schema(field for field in self.result if field.name in names)
        known_names = {*result.names, *self.filter.names}
        variants = case_variants(names, self.result.names).keys() - known_names
        others = [field for field in self.result if field.name in variants]
        if not self.compares_values:
            result = narrow_fields(result, requested)
        return replace(self, result=result, filter=pa.schema([*self.filter, *others]))


@dataclass(frozen=True)
class SharedPlan(PickledWithoutCache):
    """What many tasks of a plan have in common; picklable."""

    settings: ReadSettings
    planned_columns: PlannedColumns
    rule: MergeRule
    block_filter: BlockFilter
    predicate: Predicate | None = None  # only rows for which it is true; None for all
    key_fields: tuple[str, ...] = ()  # make up the record key if the files do not hold it
    schema_on_read: SchemaOnRead | None = None  # matches columns by id; None to match by name
    commit_range: CommitRange | None = None  # only rows that these commits wrote; None for all
    record_keys: tuple[str, ...] | None = None  # only these keys can pass the filter; None: any
    # Key fields, if the keys are made of the texts of their values; () if the filter names keys.
    # Files may show that their keys have other texts: then they are read whole.
    key_texts: tuple[str, ...] = ()
    merges_whole_table: bool = False  # a commit range's rows are merged with other commits' rows
    # Options that change rows and do not have their defaults, from `ReadOptions.row_options`. Their
    # names alone: values would import the options on executors.
    row_options: tuple[str, ...] = ()
    # Digest of all that the outcome of a merge depends on, except its slice; "" to keep no outcome.
    outcome_key_basis: str = ""

    @cached_property
    def wanted_keys(self) -> pa.Array | None:
        """The only record keys that can pass the filter; None for any key."""
        return None if self.record_keys is None else pa.array(self.record_keys, pa.string())

    def narrowed(self, requested: pa.Schema) -> SharedPlan:
        """Return the plan of the same rows with fewer columns, and all columns for the merge."""
        return replace(self, planned_columns=self.planned_columns.narrowed(requested))


@dataclass(slots=True, unsafe_hash=True)
class ScanTask:
    """One file slice to read; small and picklable.

    Not frozen, because plans make many and frozen instances take longer. Treat as immutable.
    """

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
    def is_merged(self) -> bool:
        """Whether log records are merged with base rows, none of which the filter leaves out."""
        return bool(self.file_slice.log_files) and not self.settings.skip_merge

    @property
    def working(self) -> pa.Schema:
        """Columns of the answer, and columns that the filter and the merge need."""
        return self.shared.planned_columns.working

    @property
    def stored_columns(self) -> list[str]:
        """Names of the working columns whose values are read from the files."""
        source = ValueSource.PATH_ALONE
        never_read = {column.name for column in self.partition.values if column.source is source}
        return [name for name in self.working.names if name not in never_read]

    def narrowed(self, requested: pa.Schema) -> ScanTask:
        """Return the task for fewer columns of the answer; their structs may lack fields."""
        return replace(self, shared=self.shared.narrowed(requested))

    def with_plan(self, **changes: Any) -> ScanTask:  # noqa: ANN401  (fields of any type)
        """Return the task with other values in its shared plan."""
        return replace(self, shared=replace(self.shared, **changes))

    def with_columns(self, columns: pa.Schema, **changes: Any) -> ScanTask:  # noqa: ANN401
        """Return the task that reads only these columns, perhaps with another shared plan."""
        # No file has a column of a schema that counts rows.
        planned = PlannedColumns(columns if columns.names else ONLY_ROW_COUNT)
        return self.with_plan(planned_columns=planned, **changes)

    def of_whole_slice(self) -> ScanTask:
        """Return the task for the whole slice, which a range of partial updates needs."""
        assert self.whole_slice is not None  # only a range has partial updates on top of it
        whole = replace(self, file_slice=self.whole_slice, whole_slice=None)
        record_keys = None if self.shared.key_texts else self.shared.record_keys
        return whole.with_plan(merges_whole_table=True, record_keys=record_keys)


class ChangeSource(enum.Enum):
    """Where the changes of a commit to one file group come from."""

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
    answer: pa.Schema  # of the change rows
    before: ScanTask | None = None  # the slice as it was; None if none was or is needed
    after: ScanTask | None = None  # the files that the commit wrote; None if none are needed
    cdc_files: tuple[LogFile, ...] = ()  # of `CDC_LOG`
    cdc_format: CdcFormat = CdcFormat.JSON  # of the answer
    settings: ReadSettings = ReadSettings()
    predicate: Predicate | None = None  # only changes for which it is true; None for all
    shown: frozenset[str] = BOTH_IMAGES  # images that the query asks for
    moment: datetime | None = None  # of the commit, with a zone; None if its instant is no time
    schema_on_read: SchemaOnRead | None = None  # of CDC log files, as for `SharedPlan`
    partition: PartitionValues = PartitionValues()  # of CDC log files, as for `ScanTask`


ReadTask: TypeAlias = ScanTask | CdcTask


def data_columns(table_schema: pa.Schema) -> pa.Schema:
    """Return the columns that CDC images have: those of the table without meta columns."""
    hidden = (*META_COLUMNS, OPERATION_COLUMN)
    return pa.schema([field for field in table_schema if field.name not in hidden])
