"""The options of a read: each is a field, and text or typed values become one checked value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from hudi_pyspark.errors import InvalidOptionError, UnknownQueryTypeError, UnsupportedQueryError
from hudi_pyspark.options.option import (
    BOOLEAN,
    BOOLEAN_OR_TABLE,
    CDC,
    COLUMNS,
    INDEXES,
    INSTANT,
    START,
    option,
    options_of,
    parse_columns,
    range_instant,
    text,
    whole_number,
    word,
)
from hudi_pyspark.options.unknown_options import check_other_option
from hudi_pyspark.options.values import (
    CdcFormat,
    HollowCommits,
    Index,
    MergeType,
    OnMissing,
    QueryType,
    RangeMerge,
)
from hudi_pyspark.table.live_blocks import OnDamage
from hudi_pyspark.table.merge_mode import DELETE_FIELD, DELETE_MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed import DataclassInstance

    from hudi_pyspark.options.option import Option

    _T = TypeVar("_T", bound=DataclassInstance)

CATALOG_PREFIX: Final = "catalog."  # of the settings of a catalog
INSPECT: Final = "inspect"  # chooses a table about the table; inspect.<argument> are its arguments


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Which table is meant."""

    path: str = option(
        "the folder that has `.hoodie` in it",
        text("one base path, no glob"),
        default_text="required",
    )
    table: str = option(
        "instead of a path, the name of the table in a [catalog](storage.md#catalogs)",
        text("`catalog.schema.table`"),
    )
    catalog_type: str = option(
        "the kind of catalog", text("`hive`, `glue`, `unity` or `polaris`"), key="catalog.type"
    )
    catalog_uri: str = option("where it is", text("a URI"), key="catalog.uri")
    catalog_token: str = option(
        "bearer token for Unity Catalog or Polaris",
        text("a secret", is_secret=True),
        key="catalog.token",
    )
    catalog_credential: str = option(
        "exchanged for a token by Polaris",
        text("`id:secret`", is_secret=True),
        key="catalog.credential",
    )
    catalog_region: str = option("of Glue", text("a region"), key="catalog.region")
    credentials_provider: str = option(
        "supplies [short-lived credentials](storage.md#short-lived-credentials)",
        text("`module:function`"),
    )
    inspect: str = option(
        "instead of its rows, a [table about the table](looking-inside.md); the arguments of "
        "its function are the options `inspect.instant`, `inspect.file` and so on",
        text("`timeline`, `commits`, …"),
    )

    @classmethod
    def parse(cls, options: Mapping[str, object]) -> TableOptions:
        """Take the options that name a table among others, by name in any case."""
        return GivenOptions.of(options).parse(cls)


@dataclass(frozen=True, slots=True)
class IncrementalOptions:
    """The options of an incremental or CDC query."""

    # digits, exclusive
    begin: str = option(
        "incremental and CDC queries: what was written after it",
        range_instant("an instant, digits of any length, `earliest`"),
        key="hoodie.datasource.read.begin.instanttime",
        default_text="required",
        other_keys=("hoodie.read.start.timestamp", "hoodie.read.file_group.start_timestamp"),
        in_streams=False,
    )
    # digits, inclusive; "" for the latest
    end: str = option(
        "up to it, inclusive",
        range_instant("the same"),
        key="hoodie.datasource.read.end.instanttime",
        default_text="the latest",
        other_keys=("hoodie.read.end.timestamp", "hoodie.read.file_group.end_timestamp"),
        in_streams=False,
    )
    cdc: bool = option(
        "the rows of a range as they are at its end, or its changes with their images; `cdc` "
        "asks for an incremental query",
        CDC,
        key="hoodie.datasource.query.incremental.format",
        default_text="`latest_state`",
    )
    cdc_format: CdcFormat = option(
        "images of changes as JSON text, or as structs of the table's columns", word(CdcFormat)
    )
    on_missing: OnMissing = option(
        "if commits or files of the range are gone: its latest rows, an error, or what can still "
        "be answered, the first and last with a warning. A CDC query cannot scan: it fails",
        word(OnMissing, true=OnMissing.FULL_SCAN, false=OnMissing.FAIL),
        key="hoodie.datasource.read.incr.fallback.fulltablescan.enable",
    )
    range_merge: RangeMerge = option(
        "incremental query: merge rows of the range among themselves, as Apache Hudi does, or with "
        "all rows at its end; [which one to take](incremental-and-cdc.md#rows-that-arrive-late)",
        word(RangeMerge),
    )
    incremental_path_glob: str = option(
        "incremental query: only file slices with a file whose full path ends like it",
        text("a glob"),
        key="hoodie.datasource.read.incr.path.glob",
        default_text="all",
    )
    skip_compaction: bool = option(
        "incremental query: leave out `commit` actions of a MERGE_ON_READ table",
        BOOLEAN,
        key="hoodie.datasource.read.incr.skip_compact",
    )
    skip_clustering: bool = option(
        "incremental query: leave out clusterings",
        BOOLEAN,
        key="hoodie.datasource.read.incr.skip_cluster",
    )
    # 0 for the table's own
    table_version: int = option(
        "incremental query: below 8 ranges compare requested times, from 8 on completion times",
        whole_number("a table version"),
        key="hoodie.datasource.read.incr.table.version",
        default_text="the table's",
        in_streams=False,
    )
    use_end_schema: bool = option(
        "incremental query: the schema at the end of the range, not the latest",
        BOOLEAN,
        key="hoodie.datasource.read.schema.use.end.instanttime",
        in_streams=False,
    )
    hollow_commits: HollowCommits = option(
        "incremental query before version 8, with a pending commit inside the range: refuse, "
        "end before it, or read on",
        word(HollowCommits),
        key="hoodie.read.timeline.holes.resolution.policy",
    )
    # CDC ranges compare requested times; those of a stream compare its offsets.
    by_offset: bool = False

    @classmethod
    def of(cls, given: GivenOptions) -> IncrementalOptions:
        """Check the options of a range."""
        if given.has("as_of"):
            raise InvalidOptionError(
                f"{key_of('as_of')} cannot be combined with an incremental query; set "
                f"{key_of('end')} (end) instead"
            )
        if not given.has("begin"):
            raise InvalidOptionError(
                f"an incremental query needs {key_of('begin')} (begin): an instant, exclusive, or "
                "earliest"
            )
        options = given.parse(cls)
        if options.cdc and options.range_merge is RangeMerge.TABLE:
            raise InvalidOptionError(
                "range_merge=table cannot be combined with a CDC query, whose images always show "
                "the rows as the table had them; leave out range_merge"
            )
        for name in ("skip_compaction", "skip_clustering"):
            if options.cdc and given.has(name):
                problem = f"{key_of(name)} has no effect on a CDC query: compaction and clustering "
                warnings.warn(problem + "change no rows", UserWarning, stacklevel=2)
        return options


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Every option of a batch read, typed and checked."""

    query_type: QueryType = option(
        "base files merged with their log files, the latest base files alone, or what a range "
        "of commits wrote",
        word(QueryType, UnknownQueryTypeError),
        key="hoodie.datasource.query.type",
        other_keys=("hoodie.datasource.view.type", "hoodie.read.query.type"),
    )
    # as the user wrote it; see instant_text.resolve_as_of
    as_of: str | None = option(
        "the table as it was, its schema included",
        INSTANT,
        key="as.of.instant",
        default_text="now",
        other_keys=("hoodie.read.as.of.timestamp",),
        in_streams=False,
    )
    columns: tuple[str, ...] | None = option(
        "columns to read, in this order; the others are neither read nor decoded",
        COLUMNS,
        default_text="all",
    )
    # see sql_text.parse_filter
    filter: str = option(
        "rows to read: comparisons of columns with literals, `IN`, `BETWEEN`, `LIKE`, `IS "
        "NULL`, `AND`, `OR`, `NOT`",
        text("a condition, as in a WHERE clause"),
        default_text="all rows",
    )
    include_meta_columns: bool = option(
        "`false` leaves the `_hoodie_*` columns out", BOOLEAN, default=True
    )
    batch_rows: int = option(
        "most rows of an Arrow batch; wide rows of base files come in fewer, about 64 MiB",
        whole_number(),
        default=16_384,
        other_keys=("hoodie.read.stream.batch_size",),
    )
    task_bytes: int = option(
        "bytes that a Spark task should read: small file slices share a task, large base files "
        "without logs are read by several; there are never more than 100,000 tasks",
        whole_number(),
        default=64 << 20,
    )
    # 0 for the worker's default
    merge_memory: int = option(
        "memory for the log records of a file slice while it is merged, for each of the "
        "slices that `to_batches` reads at a time; beyond it they go to local disk",
        whole_number("bytes, from 1 on", 2**63 - 1),
        key="hoodie.memory.merge.max.size",
        default_text="1 GiB, at most a third of `spark.executor.pyspark.memory` per task",
    )
    # "" for the worker's default
    spill_folder: str = option(
        "where these records go, in a file that disappears with the process",
        text("a local folder"),
        key="hoodie.memory.spillable.map.path",
        default_text="`SPARK_LOCAL_DIRS`, else the folder for temporary files",
    )
    on_damage: OnDamage = option(
        "about a log file that lost committed records; Apache Hudi does `ignore`", word(OnDamage)
    )
    merge_type: MergeType = option(
        "merge log records into base records, or return the rows of both, deletes ignored",
        word(MergeType),
        key="hoodie.datasource.merge.type",
    )
    payload_merger: str = option(
        "[merges the records](migration.md#your-own-mergers) of a payload class that Apache Hudi "
        "does not have",
        text("`module:function`"),
    )
    use_record_positions: bool = option(
        "merge by row position where the log blocks carry positions that can be used",
        BOOLEAN,
        default=True,
        key="hoodie.merge.use.record.positions",
    )
    verify_checksums: bool = option(
        "compare the pages of Parquet base files with their checksums; GZIP always does",
        BOOLEAN,
        default=True,
    )
    partition_values_from_path: bool = option(
        "take partition columns from the path even if the files hold them",
        BOOLEAN,
        key="hoodie.datasource.read.extract.partition.values.from.path",
    )
    schema_on_read: bool | None = option(
        "match columns that schema on read changed by id; `false` matches them by name",
        BOOLEAN_OR_TABLE,
        key="hoodie.schema.on.read.enable",
        default_text="the table decides",
    )
    delete_field: str = option(
        "the column that marks deletes; only together with the marker",
        text("a column"),
        key=DELETE_FIELD,
        default_text="the table's",
    )
    delete_marker: str = option(
        "its value in deleted records",
        text("a text"),
        key=DELETE_MARKER,
        default_text="the table's",
    )
    bootstrap_base_path: str = option(
        "the folder to use as `hoodie.bootstrap.base.path` of a bootstrapped table",
        text("a path or URI"),
        default_text="found, see below",
    )
    use_metadata_table: bool = option(
        "find files in the metadata table where it can be relied upon; else list folders",
        BOOLEAN,
        default=True,
        key="hoodie.metadata.enable",
    )
    data_skipping: frozenset[Index] = option(
        "skip files by the statistics and indexes of the metadata table, if it is used: by "
        "all of them, by none, or by some; the record index finds one row of several with the "
        "same key",
        INDEXES,
        key="hoodie.enable.data.skipping",
        default_text="`true`",
    )
    incremental: IncrementalOptions | None = None  # None unless the query is incremental

    @property
    def skip_merge(self) -> bool:
        """Whether the rows of base and log files stay side by side."""
        return self.merge_type is MergeType.SKIP_MERGE

    @classmethod
    def parse(
        cls, options: Mapping[str, object], defaults: Mapping[str, str] | None = None
    ) -> ReadOptions:
        """Parse options by any of their names, in any case; they win over ``defaults``.

        An unknown ``hoodie.*`` key is ignored, as Apache Hudi does, with a warning that names the
        nearest known key. Defaults that are not read options by key may be meant for others.
        """
        _check_no_inspection(options)
        for name, value in options.items():
            if name.lower() not in BY_NAME:
                check_other_option(name.lower(), value, OPTIONS)
        keys = {k: v for k, v in (defaults or {}).items() if "." in k}  # of Hudi or hudi-rs
        by_default = GivenOptions.of(keys)
        given = GivenOptions({**by_default.values, **GivenOptions.of(options).values})
        query_type = given.value("query_type")
        if (given.value("delete_field") == "") != (given.value("delete_marker") == ""):
            raise InvalidOptionError(f"give both {DELETE_FIELD} and {DELETE_MARKER}, or none")
        if given.has("merge_type") and query_type is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                f"{key_of('merge_type')} cannot be combined with query type read_optimized, which "
                "reads no log files; leave it out"
            )
        if query_type is QueryType.INCREMENTAL:
            return given.parse(cls, incremental=IncrementalOptions.of(given))
        _check_no_range(given)
        return given.parse(cls)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options that only streams have; a batch ignores them."""

    start_offset: str = option(
        "stream: where it starts, exclusive", START, key="hoodie.datasource.streaming.startOffset"
    )
    # 0 for no limit
    max_commits: int = option(
        "stream: most commits of one batch",
        whole_number("from 1 on", None),
        key="maxCommitsPerTrigger",
        default_text="all",
    )
    # 0 for no limit
    max_bytes: int = option(
        "stream: most bytes that the commits of one batch wrote, but one commit at least",
        whole_number("from 1 on", None),
        key="maxBytesPerTrigger",
        default_text="all",
    )

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> StreamOptions:
        """Parse the options of a stream, by name in any case; refuse those it cannot have."""
        for name in options:
            found = BY_NAME.get(name.lower())
            if found is not None and not found.in_streams:
                raise InvalidOptionError(
                    f"{name} cannot be combined with a stream, which starts at start_offset, goes "
                    "on from there, and has one schema"
                )
        given = GivenOptions.of(options)
        if given.value("query_type") is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                "a stream reads all changes: leave out the query type read_optimized"
            )
        return given.parse(cls)


# By the names of the fields, in the order of the docs.
_BY_FIELD: Final = {
    name: found
    for kind in (TableOptions, ReadOptions, IncrementalOptions, StreamOptions)
    for name, found in options_of(kind).items()
}
OPTIONS: Final = tuple(_BY_FIELD.values())
BY_NAME: Final = {name.lower(): found for found in OPTIONS for name in found.names}  # all names


def key_of(name: str) -> str:
    """Return the key of the option that a field holds."""
    return _BY_FIELD[name].key


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """The read options that somebody gave; a value is parsed when it is asked for."""

    values: Mapping[str, object]  # as given, by the option's key

    @classmethod
    def of(cls, options: Mapping[str, object]) -> GivenOptions:
        """Take the read options among others, by any of their names, in any case."""
        query_type = key_of("query_type")
        values: dict[str, object] = {}
        for name, value in options.items():
            found = BY_NAME.get(name.lower())
            if found is None or (found.key == query_type and value == ""):
                continue
            if found.key in values and not _say_the_same(found, values[found.key], value):
                shown = "" if found.kind.is_secret else f", as {values[found.key]!r} and {value!r}"
                raise InvalidOptionError(f"option {found.key} is given twice{shown}")
            values[found.key] = value
        given = cls(values)
        if query_type not in values and given.has("cdc") and given.value("cdc"):
            values[query_type] = QueryType.INCREMENTAL
        return given

    def has(self, name: str) -> bool:
        """Return whether the option of a field is given."""
        return key_of(name) in self.values

    def value(self, name: str) -> object:
        """Return the typed value of a field's option, or its default."""
        return self._parse(_BY_FIELD[name])

    def parse(self, kind: type[_T], **others: object) -> _T:
        """Make the value of a class from its options and other fields."""
        make: Callable[..., _T] = kind
        return make(**{n: self._parse(found) for n, found in options_of(kind).items()}, **others)

    def _parse(self, found: Option) -> object:
        if found.key not in self.values:
            return found.default
        return found.kind.parse(found.key, self.values[found.key])


def _say_the_same(found: Option, one: object, other: object) -> bool:
    if one == other:
        return True
    try:
        return found.kind.parse(found.key, one) == found.kind.parse(found.key, other)
    except InvalidOptionError:
        return False


def columns_text(columns: object) -> str:
    """Return names of columns as the text of the option ``columns``, if that can hold them."""
    names = parse_columns("columns", columns)
    joined = ",".join(names)
    if parse_columns("columns", joined) != names:
        changed = [name for name in names if "," in name or name != name.strip()]
        raise UnsupportedQueryError(
            f"Spark cannot be handed the column name {changed[0]!r}: its option columns separates "
            "names by commas. Select the column from the DataFrame instead"
        )
    return joined


def _check_no_inspection(options: Mapping[str, object]) -> None:
    stray = [name for name in options if name.lower().partition(".")[0] == INSPECT]
    if stray:
        raise InvalidOptionError(
            f"option {stray[0]} belongs to batch reads of Spark with the option {INSPECT}; from "
            "Python call HudiTable(path).inspect"
        )


def _check_no_range(given: GivenOptions) -> None:
    stray = [key_of(name) for name in ("begin", "end", "range_merge") if given.has(name)]
    stray += [key_of("cdc")] if given.value("cdc") else []
    if stray:
        # Spark asks for the columns of a stream as for those of a batch.
        hint = "; a stream has start_offset instead" if given.has("begin") else ""
        raise InvalidOptionError(f"{stray[0]} needs {key_of('query_type')}=incremental{hint}")
