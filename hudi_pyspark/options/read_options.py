"""Read options: text or typed values to one checked value, in one place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.options import option_table as table
from hudi_pyspark.options.indexes import Index
from hudi_pyspark.options.option_table import (
    CdcFormat,
    HollowCommits,
    IncrementalFormat,
    MergeType,
    OnMissing,
    QueryType,
    RangeMerge,
    as_text,
)
from hudi_pyspark.options.unknown_options import check_other_option
from hudi_pyspark.table.live_blocks import OnDamage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.options.option_table import Option

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """The read options that somebody gave; a value is parsed when it is asked for.

    Attributes:
        values: value as given by the option's name.
    """

    values: Mapping[str, object]

    @classmethod
    def of(cls, options: Mapping[str, object]) -> GivenOptions:
        """Take the read options among others, by any of their names, in any case.

        Raises:
            InvalidOptionError: options that contradict each other.
        """
        values: dict[str, object] = {}
        for name, value in options.items():
            option = table.BY_NAME.get(name.lower())
            if option is None:
                continue
            if option.name in values and values[option.name] != value:
                shown = "" if option.is_secret else f", as {values[option.name]!r} and {value!r}"
                raise InvalidOptionError(f"option {option.name} is given twice{shown}")
            values[option.name] = value
        for query_type in (table.QUERY_TYPE, table.OLD_QUERY_TYPE):
            if values.get(query_type.name) == "":
                del values[query_type.name]
        return _with_implied_values(cls(values))

    def __contains__(self, option: Option[object]) -> bool:
        return option.name in self.values

    def __getitem__(self, option: Option[_T]) -> _T:
        """Return the option's value, or its default.

        Raises:
            InvalidOptionError: the option does not take the given value.
        """
        if option not in self:
            return option.default
        return option.kind.parse(option.name, self.values[option.name])

    def fields_of(self, kind: type[IncrementalOptions | ReadOptions]) -> dict[str, Any]:
        """Return the values of the fields that have the name of an option.

        Raises:
            InvalidOptionError: an option does not take the given value.
        """
        return {
            f.name: self[table.BY_NAME[f.name]] for f in fields(kind) if f.name in table.BY_NAME
        }

    @property
    def query_type(self) -> QueryType:
        """The query type, by either of its names.

        Raises:
            InvalidOptionError: an unknown one, or two that contradict each other.
        """
        newer, older = table.QUERY_TYPE, table.OLD_QUERY_TYPE
        if newer in self and older in self and self[newer] is not self[older]:
            raise InvalidOptionError(
                f"{newer.name} is {as_text(self[newer])!r}, but {older.name} is "
                f"{as_text(self[older])!r}"
            )
        return self[newer] if newer in self else self[older]


@dataclass(frozen=True, slots=True)
class IncrementalOptions:
    """The options of an incremental or CDC query; see `GivenOptions.fields_of`."""

    begin: str  # digits, exclusive
    end: str  # digits, inclusive; "" for the latest
    is_cdc: bool = False
    on_missing: OnMissing = OnMissing.FULL_SCAN
    range_merge: RangeMerge = RangeMerge.RANGE
    path_glob: str = ""
    skip_compaction: bool = False
    skip_clustering: bool = False
    table_version: int = 0  # 0 for the table's own
    use_end_schema: bool = False
    hollow_commits: HollowCommits = HollowCommits.FAIL
    cdc_as_struct: bool = False  # images as structs, not as JSON text
    # CDC ranges compare requested times; those of a stream compare its offsets.
    by_offset: bool = False

    @classmethod
    def of(cls, given: GivenOptions) -> IncrementalOptions:
        """Check the options of a range.

        Raises:
            InvalidOptionError: no begin, a bad value, or options that contradict each other.
        """
        if table.AS_OF in given:
            raise InvalidOptionError(
                f"{table.AS_OF.name} cannot be combined with an incremental query; set "
                f"{table.END.name} (end) instead"
            )
        if table.BEGIN not in given:
            raise InvalidOptionError(
                f"an incremental query needs {table.BEGIN.name} (begin): an instant, exclusive, or "
                "earliest"
            )
        is_cdc = given[table.INCREMENTAL_FORMAT] is IncrementalFormat.CDC
        if is_cdc and given[table.RANGE_MERGE] is RangeMerge.TABLE:
            raise InvalidOptionError(
                f"{table.RANGE_MERGE.name}=table cannot be combined with a CDC query, whose images "
                f"always show the rows as the table had them; leave out {table.RANGE_MERGE.name}"
            )
        for option in (table.SKIP_COMPACTION, table.SKIP_CLUSTERING):
            if is_cdc and option in given:
                text = f"{option.name} has no effect on a CDC query: compaction and clustering "
                warnings.warn(text + "change no rows", UserWarning, stacklevel=2)
        fallback = OnMissing.FULL_SCAN if given[table.INCREMENTAL_FALLBACK] else OnMissing.FAIL
        values = {
            **given.fields_of(cls),
            "is_cdc": is_cdc,
            "on_missing": given[table.ON_MISSING] or fallback,
            "path_glob": given[table.PATH_GLOB],
            "table_version": given[table.TABLE_VERSION],
            "cdc_as_struct": given[table.CDC_FORMAT] is CdcFormat.STRUCT,
        }
        return cls(**values)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Every read option, typed and checked; see `GivenOptions.fields_of`."""

    query_type: QueryType = QueryType.SNAPSHOT
    skip_merge: bool = False  # hoodie.datasource.merge.type=skip_merge
    payload_merger: str = ""  # module:function, "" for none
    as_of: str | None = None  # as the user wrote it; see instants.resolve_as_of
    filter: str = ""  # see sql_text.parse_filter; "" for all rows
    columns: tuple[str, ...] | None = None  # None for all
    use_metadata_table: bool = True
    data_skipping: frozenset[Index] = frozenset(Index)  # of the metadata table, if it is used
    use_record_positions: bool = True
    verify_checksums: bool = True
    partition_values_from_path: bool = False
    schema_on_read: bool | None = None  # None: the table decides
    delete_field: str = ""
    delete_marker: str = ""
    bootstrap_base_path: str = ""  # "" for the recorded folder, or the table's sibling
    batch_rows: int = table.BATCH_ROWS.default
    task_bytes: int = table.TASK_BYTES.default
    merge_memory: int = 0  # bytes; 0 for the worker's default
    spill_folder: str = ""  # "" for the worker's default
    include_meta_columns: bool = True
    on_damage: OnDamage = OnDamage.FAIL
    incremental: IncrementalOptions | None = None  # None unless the query is incremental

    @classmethod
    def parse(
        cls, options: Mapping[str, object], defaults: Mapping[str, str] | None = None
    ) -> ReadOptions:
        """Parse options by Hudi's keys, by hudi-rs's or by their aliases, in any case.

        An unknown ``hoodie.*`` key is ignored, as Apache Hudi does, with a warning that names the
        nearest known key.

        Args:
            options: as given for this read, as text or typed.
            defaults: more of them by key, e.g. from the environment. The options take precedence.
                Those that are not read options are ignored, since they may be meant for others.

        Raises:
            InvalidOptionError: an unknown own option, a bad value, or options that contradict.
            UnsupportedQueryError: a query type or option that this release does not cover.
        """
        _check_no_inspection(options)
        for name, value in options.items():
            if name.lower() not in table.BY_NAME:
                check_other_option(name.lower(), value)
        by_default = GivenOptions.of({k: v for k, v in (defaults or {}).items() if _is_key(k)})
        given = GivenOptions({**by_default.values, **GivenOptions.of(options).values})
        query_type = given.query_type
        if (given[table.DELETE_FIELD] == "") != (given[table.DELETE_MARKER] == ""):
            raise InvalidOptionError(
                f"give both {table.DELETE_FIELD.name} and {table.DELETE_MARKER.name}, or none"
            )
        if table.MERGE_TYPE in given and query_type is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                f"{table.MERGE_TYPE.name} cannot be combined with query type read_optimized, which "
                "reads no log files; leave it out"
            )
        is_incremental = query_type is QueryType.INCREMENTAL
        if not is_incremental:
            _check_no_range(given)
        values = {
            **given.fields_of(cls),
            "query_type": query_type,
            "skip_merge": given[table.MERGE_TYPE] is MergeType.SKIP_MERGE,
            "filter": given[table.FILTER].strip(),
            "incremental": IncrementalOptions.of(given) if is_incremental else None,
        }
        return cls(**values)


def _with_implied_values(given: GivenOptions) -> GivenOptions:
    values = dict(given.values)
    if given[table.CDC]:
        values.setdefault(table.QUERY_TYPE.name, QueryType.INCREMENTAL)
        values.setdefault(table.INCREMENTAL_FORMAT.name, IncrementalFormat.CDC)
    if given[table.READ_OPTIMIZED_MODE]:
        # In hudi-rs the mode goes together with the type snapshot.
        if given[table.CDC] or given[table.QUERY_TYPE] is QueryType.INCREMENTAL:
            raise InvalidOptionError(
                f"{table.READ_OPTIMIZED_MODE.name} cannot be combined with a range of commits"
            )
        values[table.QUERY_TYPE.name] = QueryType.READ_OPTIMIZED
    return GivenOptions(values)


def columns_text(columns: object) -> str:
    """Return names of columns as the text of the option ``columns``.

    Raises:
        UnsupportedQueryError: a name that the text would change.
    """
    names = table.COLUMNS.kind.parse(table.COLUMNS.name, columns)
    text = ",".join(names or ())
    if table.COLUMNS.kind.parse(table.COLUMNS.name, text) != names:
        changed = [name for name in names or () if "," in name or name != name.strip()]
        raise UnsupportedQueryError(
            f"Spark cannot be handed the column name {changed[0]!r}: its option columns separates "
            "names by commas. Select the column from the DataFrame instead"
        )
    return text


def _is_key(name: str) -> bool:
    """Return whether a read option has the name as its key in Hudi or hudi-rs."""
    return name.lower() in table.BY_NAME and "." in name


def _check_no_inspection(options: Mapping[str, object]) -> None:
    stray = [name for name in options if name.lower().partition(".")[0] == table.INSPECT]
    if stray:
        raise InvalidOptionError(
            f"option {stray[0]} belongs to batch reads of Spark with the option {table.INSPECT}; "
            "from Python call HudiTable(path).inspect"
        )


def _check_no_range(given: GivenOptions) -> None:
    range_options = (table.BEGIN, table.END, table.INCREMENTAL_FORMAT, table.RANGE_MERGE)
    stray = [option.name for option in range_options if option in given]
    if stray:
        # Spark asks for the columns of a stream as for those of a batch.
        hint = f"; a stream has {table.START_OFFSET.alias} instead" if table.BEGIN in given else ""
        raise InvalidOptionError(f"{stray[0]} needs {table.QUERY_TYPE.name}=incremental{hint}")
