"""The options of a read: each is a field of a dataclass.

`ReadOptions.parse` turns text or typed values, by any name of an option, into one checked value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from hudi_pyspark.errors import InvalidOptionError, UnknownQueryTypeError, UnsupportedQueryError
from hudi_pyspark.messages import warn
from hudi_pyspark.options.option import (
    ANY_NUMBER,
    BOOLEAN,
    BOOLEAN_OR_TABLE,
    CDC,
    COLUMNS,
    FUNCTION,
    INDEXES,
    INSTANT,
    RANGE_INSTANT,
    START,
    SWITCH,
    TRUSTED_INDEXES,
    HollowCommits,
    Index,
    MergeType,
    OnMissing,
    QueryType,
    RangeMerge,
    as_text,
    option,
    options_of,
    parse_columns,
    text,
    whole_number,
    word,
)
from hudi_pyspark.options.other_options import check_other_option
from hudi_pyspark.storage.options import (
    CATALOG_PREFIX,
    SPARK_PREFIX,
    from_environment,
    is_storage_option,
    storage_options_of,
    without_prefix,
)
from hudi_pyspark.table.cdc_format import CdcFormat
from hudi_pyspark.table.merge_mode import DELETE_FIELD, DELETE_MARKER, MergeCache
from hudi_pyspark.table.on_damage import OnDamage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed import DataclassInstance

    _T = TypeVar("_T", bound=DataclassInstance)

INSPECT: Final = "inspect"  # chooses a table about the table, inspect.<argument> its arguments


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options that choose a table."""

    path: str = option(text("one base path, no glob"), changes_rows=False)
    """the folder that has `.hoodie` in it"""
    table: str = option(text("`catalog.schema.table`"), changes_rows=False)
    """instead of a path, a name in a [catalog](storage.md#catalogs)"""
    credentials_provider: str = option(FUNCTION, changes_rows=False)
    """supplies [short-lived credentials](storage.md#short-lived-credentials)"""
    inspect: str = option(text("`timeline`, `commits`, …"), changes_rows=False)
    """a [table about the table](looking-inside.md), with arguments as options
    (`inspect.instant`)"""
    # Settings by their names, without the prefixes that options of Spark have.
    storage: Mapping[str, str | bool | float] = field(default_factory=dict, repr=False)
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> TableOptions:
        """Parse the options of Spark that choose a table, by its path or its name in a catalog.

        Raises:
            InvalidOptionError: the options name a path and a table, or a value is invalid.
        """
        given_options = GivenOptions.of(options)
        lower = {name.lower(): value for name, value in options.items()}
        catalog = without_prefix(lower, CATALOG_PREFIX)
        parsed = given_options.parse(cls, storage=storage_options_of(options), catalog=catalog)
        if given_options.has("path") and given_options.has("table"):
            raise InvalidOptionError("give a path or the option table, not both")
        return parsed

    @property
    def spark_options(self) -> dict[str, object]:
        """The options of Spark that `parse` takes."""
        storage = {f"{SPARK_PREFIX}{name}": value for name, value in self.storage.items()}
        catalog = {f"{CATALOG_PREFIX}{name}": value for name, value in self.catalog.items()}
        place = {"table": self.table} if self.table else {"path": self.path}
        return {**storage, **catalog, **place}


@dataclass(frozen=True, slots=True)
class IncrementalOptions:
    """The options of an incremental or CDC query."""

    # Digits, or a time with a zone, see `planning.time_travel.resolve_range_end`; exclusive.
    begin: str = option(
        RANGE_INSTANT,
        "hoodie.datasource.read.begin.instanttime hoodie.read.start.timestamp "
        "hoodie.read.file_group.start_timestamp",
        changes_rows=False,
        in_streams=False,
    )
    """required: read what was written after it"""
    # Likewise, inclusive; "" for the latest.
    end: str = option(
        RANGE_INSTANT,
        "hoodie.datasource.read.end.instanttime hoodie.read.end.timestamp "
        "hoodie.read.file_group.end_timestamp",
        changes_rows=False,
        in_streams=False,
    )
    """read up to it, inclusive; by default the latest"""
    cdc: bool = option(CDC, "hoodie.datasource.query.incremental.format", changes_rows=True)
    """the rows of a range as they are at its end, or its changes with their images"""
    cdc_format: CdcFormat = option(word(CdcFormat), changes_rows=False)
    """with `cdc=true`: images as JSON text, as structs, or as rows of
    [a changelog](incremental-and-cdc.md#a-changelog)"""
    on_missing: OnMissing = option(
        word(OnMissing, true=OnMissing.FULL_SCAN, false=OnMissing.FAIL),
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable",
        changes_rows=False,
    )
    """if commits or files of a range are gone:
    [what to answer](incremental-and-cdc.md#archived-commits-and-cleaned-files). `fail` also refuses
    an `as_of` before the first commit, a `begin` after the last, and a commit that is lost or whose
    empty file may hide columns"""
    range_merge: RangeMerge = option(word(RangeMerge), changes_rows=True)
    """merge rows of the range among themselves, or with all rows at its end;
    [which one to take](incremental-and-cdc.md#rows-that-arrive-late)"""
    incremental_path_glob: str = option(
        text("a glob"), "hoodie.datasource.read.incr.path.glob", changes_rows=False
    )
    """only file slices with a file whose full path ends like it"""
    skip_compaction: bool = option(
        BOOLEAN, "hoodie.datasource.read.incr.skip_compact", changes_rows=False
    )
    """leave out `commit` actions of a MERGE_ON_READ table"""
    skip_clustering: bool = option(
        BOOLEAN, "hoodie.datasource.read.incr.skip_cluster", changes_rows=False
    )
    """leave out clusterings"""
    # 0 for the table's own.
    table_version: int = option(
        whole_number("a table version; by default the table's"),
        "hoodie.datasource.read.incr.table.version",
        changes_rows=False,
        in_streams=False,
    )
    """below 8 ranges compare requested times, from 8 on completion times"""
    use_end_schema: bool = option(
        BOOLEAN,
        "hoodie.datasource.read.schema.use.end.instanttime",
        changes_rows=False,
        in_streams=False,
    )
    """use the schema at the end of the range, not the latest"""
    hollow_commits: HollowCommits = option(
        word(HollowCommits), "hoodie.read.timeline.holes.resolution.policy", changes_rows=False
    )
    """before version 8, with a pending commit inside the range: refuse, end before it, read on"""
    # CDC ranges compare requested times, but the ranges of a stream compare its offsets.
    by_offset: bool = False

    @classmethod
    def of(cls, given_options: GivenOptions) -> IncrementalOptions:
        """Parse the options of a range.

        Raises:
            InvalidOptionError: ``begin`` is missing, an option does not take its value, or options
                contradict each other.
        """
        if given_options.has("as_of"):
            raise InvalidOptionError(
                f"{given_options.called('as_of')} cannot be combined with an incremental query; "
                f"set {given_options.called('end')} instead"
            )
        if not given_options.has("begin"):
            raise InvalidOptionError(
                f"an incremental query needs {given_options.called('begin')}: an instant, "
                "exclusive, or earliest"
            )
        options = given_options.parse(cls)
        if options.cdc and options.range_merge is RangeMerge.TABLE:
            raise InvalidOptionError(
                "range_merge=table cannot be combined with a CDC query, whose images always show "
                "the rows as the table had them; leave out range_merge"
            )
        for name in ("skip_compaction", "skip_clustering"):
            if options.cdc and given_options.has(name):
                warn(
                    f"{given_options.called(name)} has no effect on a CDC query: compaction and "
                    "clustering change no rows"
                )
        return options


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a batch read, typed and checked."""

    query_type: QueryType = option(
        word(QueryType, UnknownQueryTypeError),
        "hoodie.datasource.query.type hoodie.datasource.view.type hoodie.read.query.type",
        changes_rows=True,
    )
    """base files merged with log files, base files alone, or what a range of commits wrote"""
    # As the user wrote it; see `planning.time_travel.resolve_as_of`.
    as_of: str | None = option(
        INSTANT, "as.of.instant hoodie.read.as.of.timestamp", changes_rows=False, in_streams=False
    )
    """the table as it was, its schema included"""
    columns: tuple[str, ...] | None = option(COLUMNS, changes_rows=False)
    """columns to read, in this order"""
    # `parse_filter` parses it.
    filter: str = option(text("a condition, as in a WHERE clause"), changes_rows=False)
    """comparisons of columns with literals, `IN`, `BETWEEN`, `LIKE`, `IS NULL`, `AND`, `OR`,
    `NOT`"""
    include_meta_columns: bool = option(SWITCH, changes_rows=False)
    """read the `_hoodie_*` columns"""
    batch_rows: int = option(
        whole_number(default=16_384), "batch_rows hoodie.read.stream.batch_size", changes_rows=False
    )
    """maximum rows per Arrow batch; wide rows make smaller batches, about 64 MiB"""
    task_bytes: int = option(whole_number(default=64 << 20), changes_rows=False)
    """bytes per task: small file slices share one, a large base file without log files is divided;
    there are at most 100,000 tasks"""
    # 0 for the worker's default.
    merge_memory: int = option(
        whole_number("bytes, from 1 on", most=2**63 - 1),
        "hoodie.memory.merge.max.size",
        changes_rows=False,
    )
    """memory for the log records of a file slice; more go to local disk. By default 1 GiB, at most
    a third of `spark.executor.pyspark.memory` per task"""
    # "" for the worker's default.
    spill_folder: str = option(
        text("a local folder"), "hoodie.memory.spillable.map.path", changes_rows=False
    )
    """where these records go: by default `SPARK_LOCAL_DIRS`, else the folder of temporary files"""
    merge_cache: MergeCache = option(word(MergeCache), changes_rows=False)
    """where to keep what merges decided, for later queries: with a `HudiTable`, or in files of this
    user. In Spark the default is files if `register` has narrowed a classic session whose disks are
    not encrypted (`spark.io.encryption.enabled`), else nowhere"""
    # "" for the usual one.
    merge_cache_folder: str = option(text("a local folder"), changes_rows=False)
    """for `merge_cache=disk`: by default `SPARK_LOCAL_DIRS`, else this user's folder for caches. A
    user without a home folder has none, and keeps nothing"""
    # 0 for the default.
    merge_cache_bytes: int = option(
        whole_number("bytes, from 1 on", most=2**63 - 1), changes_rows=False
    )
    """how much is kept, the most recently used. By default 512 MiB in memory, for all tables of a
    process together, 4 GiB on disk"""
    on_damage: OnDamage = option(word(OnDamage), changes_rows=True)
    """if a log file lost committed records, or a base file is not the committed one; Apache Hudi
    does `ignore`"""
    merge_type: MergeType = option(
        word(MergeType), "hoodie.datasource.merge.type", changes_rows=True
    )
    """merge log records into base records, or return the rows of both, deletes ignored"""
    payload_merger: str = option(FUNCTION, changes_rows=True)
    """[merges the records](migration.md#your-own-mergers) of your own payload class"""
    use_record_positions: bool = option(
        SWITCH, "hoodie.merge.use.record.positions", changes_rows=True
    )
    """merge by row position if log blocks have usable positions"""
    verify_checksums: bool = option(SWITCH, changes_rows=True)
    """compare the pages of Parquet base files with their checksums"""
    partition_values_from_path: bool = option(
        BOOLEAN, "hoodie.datasource.read.extract.partition.values.from.path", changes_rows=True
    )
    """take partition columns from the path even if the files have them"""
    schema_on_read: bool | None = option(
        BOOLEAN_OR_TABLE, "hoodie.schema.on.read.enable", changes_rows=True
    )
    """match columns that schema on read changed by id; `false` matches them by name"""
    delete_field: str = option(text("a column"), DELETE_FIELD, changes_rows=True)
    """marks deletes, in place of the table's own column; needs `delete_marker`"""
    delete_marker: str = option(text("a text"), DELETE_MARKER, changes_rows=True)
    """its value in deleted records, [as Java prints it](supported.md#merging)"""
    bootstrap_base_path: str = option(text("a path or URI"), changes_rows=True)
    """replaces `hoodie.bootstrap.base.path`, see below"""
    use_metadata_table: bool = option(SWITCH, "hoodie.metadata.enable", changes_rows=False)
    """find files in the metadata table if it can be relied upon; else list folders"""
    data_skipping: frozenset[Index] = option(
        INDEXES, "hoodie.enable.data.skipping", changes_rows=False
    )
    """skip files by their buckets, and by indexes of the metadata table; some only with
    `trust_indexes`"""
    index_type: str = option(
        text("an index of Apache Hudi"), "hoodie.index.type", changes_rows=False
    )
    """the index of the writer; with another than `BUCKET`, buckets skip no files. The table shows
    its [bucket index](tuning.md#look-up-rows-by-key), so leave this and the next two out"""
    num_buckets: int = option(whole_number(), "hoodie.bucket.index.num.buckets", changes_rows=False)
    """buckets of each partition, with `index_type=BUCKET`. Fewer files are looked at then; refused
    if the table contradicts it"""
    hash_field: tuple[str, ...] | None = option(
        COLUMNS, "hoodie.bucket.index.hash.field", changes_rows=False
    )
    """fields of the key that are hashed, with `index_type=BUCKET`; refused if the table contradicts
    it"""
    unique_keys: bool = option(BOOLEAN, changes_rows=False)
    """your word that no two rows have the same record key: the record index then
    [leaves out file slices](tuning.md#look-up-rows-by-key) for keys that it has"""
    trust_indexes: frozenset[Index] = option(TRUSTED_INDEXES, changes_rows=False)
    """your word that these indexes know all rows: they then
    [leave out file slices](tuning.md#indexes-that-you-trust)"""
    incremental: IncrementalOptions | None = None  # None unless the query is incremental
    fails_on_missing: bool = False  # on_missing=fail

    @property
    def skip_merge(self) -> bool:
        """Whether log records are returned beside base rows, not merged into them."""
        return self.merge_type is MergeType.SKIP_MERGE

    @property
    def merges_whole_table(self) -> bool:
        """Whether the rows of a range are merged with all rows of the table."""
        incremental = self.incremental
        return incremental is not None and incremental.range_merge is RangeMerge.TABLE

    @property
    def row_options(self) -> tuple[tuple[str, object], ...]:
        """Name and value of the options that change rows and do not have their defaults.

        They change which rows a file slice has, not which of its rows are read.
        """
        owners = (self,) if self.incremental is None else (self, self.incremental)
        return tuple(
            (each.name, value)
            for owner in owners
            for each in fields(owner)
            if each.metadata.get("changes_rows")
            and (value := getattr(owner, each.name)) != each.default
        )

    @classmethod
    def parse(
        cls, options: Mapping[str, object], environment: Mapping[str, str] | None = None
    ) -> ReadOptions:
        """Parse read options.

        Args:
            options: by any of their names, in any case; text or typed values.
            environment: variables such as ``HOODIE_ENV_hoodie_DOT_metadata_DOT_enable``, for
                options that are not among ``options``; only keys of Apache Hudi and hudi-rs, which
                have dots, are looked at.

        Raises:
            InvalidOptionError: an option is unknown or does not take its value, two names of one
                option have different values, or options contradict each other.
            UnsupportedQueryError: an option of Apache Hudi is not supported; the message says what
                to use instead.
        """
        for name, value in options.items():
            if name.lower().partition(".")[0] == INSPECT:
                raise InvalidOptionError(
                    f"option {name} belongs to batch reads of Spark with the option {INSPECT}; "
                    "from Python call HudiTable(path).inspect"
                )
            lower = name.lower()
            is_setting = is_storage_option(lower) or lower.startswith(CATALOG_PREFIX)
            if lower not in BY_NAME and not is_setting:
                check_other_option(lower, as_text(value), OPTIONS)
        defaults = from_environment(environment or {})
        keys = {k: v for k, v in defaults.items() if "." in k}
        of_environment = GivenOptions.of(keys)
        given = GivenOptions.of(options)
        given_options = GivenOptions(
            of_environment.values | given.values, of_environment.written | given.written
        )
        value = given_options.value
        query_type = value("query_type")
        if (value("delete_field") == "") != (value("delete_marker") == ""):
            names = f"{given_options.called('delete_field')} and "
            names += given_options.called("delete_marker")
            raise InvalidOptionError(f"give both {names}, or neither")
        if given_options.has("merge_type") and query_type is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                f"{given_options.called('merge_type')} cannot be combined with query type "
                "read_optimized, which reads no log files; leave it out"
            )
        if given_options.has("cdc_format") and not value("cdc"):
            raise InvalidOptionError(
                "cdc_format is the form of a CDC query's images, but "
                f"{given_options.called('cdc')} is not true: set it, or leave cdc_format out"
            )
        incremental = None
        if query_type is QueryType.INCREMENTAL:
            incremental = IncrementalOptions.of(given_options)
        else:
            _check_no_range(given_options)
        fails = value("on_missing") is OnMissing.FAIL
        return given_options.parse(cls, incremental=incremental, fails_on_missing=fails)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options that only streams have; batch reads ignore them."""

    start_offset: str = option(START, "hoodie.datasource.streaming.startOffset", changes_rows=False)
    """where the stream starts, exclusive"""
    max_commits: int = option(ANY_NUMBER, "maxCommitsPerTrigger", changes_rows=False)
    """maximum commits per batch"""
    max_bytes: int = option(ANY_NUMBER, "maxBytesPerTrigger", changes_rows=False)
    """maximum bytes that the commits of a batch wrote; a batch has at least one commit"""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> StreamOptions:
        """Parse the options of a stream; see `ReadOptions.parse`, which parses those of its reads.

        Raises:
            InvalidOptionError: an option of batch reads only, or a value that an option does not
                take.
        """
        for name in options:
            option = BY_NAME.get(name.lower())
            if option is not None and not option.in_streams:
                raise InvalidOptionError(
                    f"{name} cannot be combined with a stream, which starts at start_offset, goes "
                    "on from there, and has one schema"
                )
        given_options = GivenOptions.of(options)
        if given_options.value("query_type") is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                "a stream reads all changes: leave out the query type read_optimized"
            )
        return given_options.parse(cls)


# In the order of the docs.
_BY_FIELD: Final = {
    name: option
    for owner in (TableOptions, ReadOptions, IncrementalOptions, StreamOptions)
    for name, option in options_of(owner).items()
}
OPTIONS: Final = tuple(_BY_FIELD.values())
BY_NAME: Final = {name.lower(): option for option in OPTIONS for name in option.names}  # all names


def opens_table(name: str) -> bool:
    """Return whether an option, by any of its names, decides how a table is opened.

    These are the options of `TableOptions`, and all options that are not listed here.
    """
    option = BY_NAME.get(name.lower())
    return option is None or option in options_of(TableOptions).values()


def key_of(field_name: str) -> str:
    """Return the key of an option by the name of its field, such as ``as_of``."""
    return _BY_FIELD[field_name].key


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """The options that a user set, with values as the user wrote them; asking for one parses it."""

    values: dict[str, object]  # by the name of the option's field
    written: dict[str, str]  # the name that the user wrote, by the name of the field

    @classmethod
    def of(cls, options: Mapping[str, object]) -> GivenOptions:
        """Pick the known options from a mapping, by any of their names, in any case.

        A begin, an end, or CDC makes the query incremental unless a query type is set.

        Raises:
            InvalidOptionError: two names of an option have different values.
        """
        values: dict[str, object] = {}
        written: dict[str, str] = {}
        for name, value in options.items():
            option = BY_NAME.get(name.lower())
            if option is None or (option.field == "query_type" and value == ""):
                continue
            first = values.get(option.field, value)
            parse = partial(option.kind.parse, option.called())
            if first != value and parse(first) != parse(value):
                raise InvalidOptionError(
                    f"option {option.called(name)} is set twice with different values, {first!r} "
                    f"and {value!r}: leave one of them out"
                )
            values[option.field] = value
            written[option.field] = name
        given_options = cls(values, written)
        is_range = any(map(given_options.has, ("begin", "end"))) or given_options.value("cdc")
        if "query_type" not in values and is_range:
            values["query_type"] = QueryType.INCREMENTAL
        return given_options

    def has(self, field_name: str) -> bool:
        """Return whether the user set an option, by the name of its field."""
        return field_name in self.values

    def value(self, field_name: str) -> object:
        """Return the typed value of an option by the name of its field, or the default.

        Raises:
            InvalidOptionError: the option does not take the value.
        """
        option = _BY_FIELD[field_name]
        if field_name not in self.values:
            return option.kind.default
        return option.kind.parse(self.called(field_name), self.values[field_name])

    def called(self, field_name: str) -> str:
        """Return the name of an option for messages: as the user wrote it, with its key."""
        return _BY_FIELD[field_name].called(self.written.get(field_name, ""))

    def parse(self, owner: type[_T], **other_fields: object) -> _T:
        """Make an instance of a class of options from the set options and other fields.

        Raises:
            InvalidOptionError: an option does not take its value.
        """
        make: Callable[..., _T] = owner
        names = [each.name for each in fields(owner) if each.name in _BY_FIELD]
        return make(**{name: self.value(name) for name in names}, **other_fields)


def spark_texts(options: Mapping[str, object]) -> dict[str, str]:
    """Return read options, typed or as text, as Spark takes them.

    Raises:
        InvalidOptionError, UnsupportedQueryError: as `columns_text`.
    """
    return {
        name: columns_text(value) if name.lower() == "columns" else as_text(value)
        for name, value in options.items()
    }


def columns_text(columns: object) -> str:
    """Return names of columns as the value of Spark's option ``columns``: with commas between them.

    Raises:
        InvalidOptionError: there is no name, or one is repeated.
        UnsupportedQueryError: the text cannot express a name with a comma, or blanks at an end.
    """
    names = parse_columns("columns", columns)
    joined = ",".join(names)
    if parse_columns("columns", joined) != names:
        changed = [name for name in names if "," in name or name != name.strip()]
        raise UnsupportedQueryError(
            f"Spark cannot be given the column name {changed[0]!r}: the option columns separates "
            "names by commas",
            advice="Select the column from the DataFrame instead",
        )
    return joined


def _check_no_range(given_options: GivenOptions) -> None:
    """Refuse options of a range in a query that is not incremental."""
    stray = [name for name in ("begin", "end", "range_merge") if given_options.has(name)]
    stray += ["cdc"] if given_options.value("cdc") else []
    if stray:
        # Spark asks for the columns of a stream with the options of the stream.
        hint = "; a stream has start_offset instead" if given_options.has("begin") else ""
        name = given_options.called(stray[0])
        query_type = given_options.called("query_type")
        raise InvalidOptionError(
            f"{name} needs the query type incremental, but {query_type} is "
            f"{as_text(given_options.value('query_type'))}{hint}"
        )
