"""Read options: strings parsed once, in one place."""

from __future__ import annotations

import difflib
import enum
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError, UnknownQueryTypeError, UnsupportedQueryError
from hudi_pyspark.query.hudi_rs_options import HUDI_RS_IGNORED, HUDI_RS_KEYS, READ_OPTIMIZED_MODE
from hudi_pyspark.query.instants import parse_instant, parse_range_instant
from hudi_pyspark.storage_options import is_storage_option
from hudi_pyspark.table.merge_mode import DELETE_FIELD, DELETE_MARKER

if TYPE_CHECKING:
    from collections.abc import Mapping

_BEGIN = "hoodie.datasource.read.begin.instanttime"
_END = "hoodie.datasource.read.end.instanttime"
_INCREMENTAL_FORMAT = "hoodie.datasource.query.incremental.format"
_FALLBACK = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
_SKIP_COMPACTION = "hoodie.datasource.read.incr.skip_compact"
_SKIP_CLUSTERING = "hoodie.datasource.read.incr.skip_cluster"
_RANGE_MERGE = "range_merge"
_USE_END_SCHEMA = "hoodie.datasource.read.schema.use.end.instanttime"
QUERY_TYPE = "hoodie.datasource.query.type"
INSPECT = "inspect"  # chooses a table about the table; inspect.<argument> are its arguments
AS_OF = "as.of.instant"
_OLD_QUERY_TYPE = "hoodie.datasource.view.type"
_MERGE_MEMORY = "hoodie.memory.merge.max.size"
_SPILL_FOLDER = "hoodie.memory.spillable.map.path"
_MAX_INT = 2**31 - 1
_MAX_LONG = 2**63 - 1


class QueryType(enum.Enum):
    """``hoodie.datasource.query.type``."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"


class OnDamage(enum.Enum):
    """What to do when a log file holds less than completed commits say."""

    FAIL = "fail"
    WARN = "warn"
    IGNORE = "ignore"


class RangeMerge(enum.Enum):
    """With which rows an incremental query merges those that its range wrote."""

    RANGE = "range"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Option:
    """One read option: its names, and what `docs/options.md` says of it, as Markdown."""

    key: str  # as Hudi writes it; "" for an option that Hudi does not have
    alias: str  # "" when there is none
    values: str
    default: str
    meaning: str


OPTIONS = (
    Option(
        "path",
        "",
        values="one base path, no glob",
        default="required",
        meaning="the folder that has `.hoodie` in it",
    ),
    Option(
        QUERY_TYPE,
        "query_type",
        values="`snapshot`, `read_optimized`, `incremental`",
        default="`snapshot`",
        meaning="base files merged with their log files, the latest base files alone, or what a "
        "range of commits wrote",
    ),
    Option(
        _OLD_QUERY_TYPE,
        "",
        values="the same",
        default="",
        meaning="older name of the query type",
    ),
    Option(
        AS_OF,
        "as_of",
        values="an instant, see below",
        default="now",
        meaning="the table as it was, its schema included",
    ),
    Option(
        "",
        INSPECT,
        values="`timeline`, `commits`, …",
        default="",
        meaning="instead of its rows, a [table about the table](looking-inside.md); what its "
        "function takes comes as `inspect.instant`, `inspect.file` and so on",
    ),
    Option(
        "",
        "columns",
        values="names with commas between",
        default="all",
        meaning="columns to read, in this order; the others are neither read nor decoded",
    ),
    Option(
        "",
        "filter",
        values="a condition, as in a WHERE clause",
        default="all rows",
        meaning="rows to read: comparisons of columns with literals, `IN`, `BETWEEN`, `LIKE`, `IS "
        "NULL`, `AND`, `OR`, `NOT`",
    ),
    Option(
        "",
        "include_meta_columns",
        values="`true`, `false`",
        default="`true`",
        meaning="`false` leaves the `_hoodie_*` columns out",
    ),
    Option(
        "",
        "batch_rows",
        values="1 to 2147483647",
        default="16384",
        meaning="most rows of an Arrow batch; wide rows of base files come in fewer, about 64 MiB",
    ),
    Option(
        "",
        "task_bytes",
        values="1 to 2147483647",
        default="67108864",
        meaning="bytes that a Spark task should read: smaller file slices share a task, larger "
        "base files without logs are read by several",
    ),
    Option(
        _MERGE_MEMORY,
        "merge_memory",
        values="bytes, from 1 on",
        default="1 GiB, or a third of `spark.executor.pyspark.memory` per task if that is less",
        meaning="what the log records of a file slice may take while it is merged, and of each of "
        "several that `to_batches` reads at a time; past it they go to local disk",
    ),
    Option(
        _SPILL_FOLDER,
        "spill_folder",
        values="a local folder",
        default="`SPARK_LOCAL_DIRS`, else that for temporary files",
        meaning="where they go; made if there is none. The file has no name, and goes with the "
        "process",
    ),
    Option(
        "",
        "on_damage",
        values="`fail`, `warn`, `ignore`",
        default="`fail`",
        meaning="what to do about a log file that is shorter than its commit says, or that is "
        "corrupt within committed blocks; `ignore` is what Apache Hudi does",
    ),
    Option(
        "hoodie.datasource.merge.type",
        "merge_type",
        values="`payload_combine`, `skip_merge`",
        default="`payload_combine`",
        meaning="merge log records into base records, or give the rows of both side by side, where "
        "deletes delete nothing",
    ),
    Option(
        "",
        "payload_merger",
        values="`module:function`",
        default="",
        meaning="[merges the records](custom-mergers.md) of a payload class that Apache Hudi does "
        "not have",
    ),
    Option(
        "hoodie.merge.use.record.positions",
        "use_record_positions",
        values="`true`, `false`",
        default="`true`",
        meaning="merge by row position where the log blocks carry positions that can be used",
    ),
    Option(
        "hoodie.datasource.read.extract.partition.values.from.path",
        "partition_values_from_path",
        values="`true`, `false`",
        default="`false`",
        meaning="take partition columns from the path even where the files hold them",
    ),
    Option(
        "hoodie.schema.on.read.enable",
        "schema_on_read",
        values="`true`, `false`",
        default="the table decides",
        meaning="match columns by id where they were renamed or dropped with schema on read; "
        "`false` matches them by name",
    ),
    Option(
        DELETE_FIELD,
        "delete_field",
        values="a column",
        default="the table's",
        meaning="the column that marks deletes; only together with the marker",
    ),
    Option(
        DELETE_MARKER,
        "delete_marker",
        values="a text",
        default="the table's",
        meaning="its value in deleted records",
    ),
    Option(
        "",
        "bootstrap_base_path",
        values="a path or URI",
        default="found, see below",
        meaning="the folder that stands for `hoodie.bootstrap.base.path` of a bootstrapped table",
    ),
    Option(
        _BEGIN,
        "begin",
        values="an instant, digits of any length, `earliest`",
        default="required",
        meaning="incremental and CDC queries: what was written after it",
    ),
    Option(
        _END,
        "end",
        values="the same",
        default="the latest",
        meaning="up to it, inclusive",
    ),
    Option(
        _INCREMENTAL_FORMAT,
        "incremental_format",
        values="`latest_state`, `cdc`",
        default="`latest_state`",
        meaning="the rows of a range as they are at its end, or its changes with their images",
    ),
    Option(
        "",
        "cdc",
        values="`true`, `false`",
        default="`false`",
        meaning="`true` asks for an incremental query in format `cdc`",
    ),
    Option(
        "",
        "cdc_format",
        values="`json`, `struct`",
        default="`json`",
        meaning="images of changes as JSON text, or as structs of the table's columns",
    ),
    Option(
        _FALLBACK,
        "incremental_fallback",
        values="`true`, `false`",
        default="`true`",
        meaning="where commits or files of the range are gone: the latest rows that were written "
        "in it, with a warning; `false` refuses",
    ),
    Option(
        "",
        "on_missing",
        values="`full_scan`, `fail`, `earliest`",
        default="by the fallback",
        meaning="the same choice; `earliest` begins where it can, with a warning. Changes cannot "
        "be told by a full scan: they fail, or begin at the earliest",
    ),
    Option(
        "",
        _RANGE_MERGE,
        values="`range`, `table`",
        default="`range`",
        meaning="incremental query: merge the rows that the range wrote among themselves, as "
        "Apache Hudi does, or with all rows that the table had at the end of the range; "
        "[which one to take](incremental-and-cdc.md#rows-that-arrive-late)",
    ),
    Option(
        "hoodie.datasource.read.incr.path.glob",
        "incremental_path_glob",
        values="a glob",
        default="all",
        meaning="incremental query: only file slices with a file whose full path ends like it",
    ),
    Option(
        _SKIP_COMPACTION,
        "skip_compaction",
        values="`true`, `false`",
        default="`false`",
        meaning="incremental query: leave out `commit` actions of a MERGE_ON_READ table",
    ),
    Option(
        _SKIP_CLUSTERING,
        "skip_clustering",
        values="`true`, `false`",
        default="`false`",
        meaning="incremental query: leave out clusterings",
    ),
    Option(
        "hoodie.datasource.read.incr.table.version",
        "",
        values="a table version",
        default="the table's",
        meaning="incremental query: below 8 ranges compare requested times, from 8 on completion "
        "times",
    ),
    Option(
        _USE_END_SCHEMA,
        "use_end_schema",
        values="`true`, `false`",
        default="`false`",
        meaning="incremental query: the schema at the end of the range, not the latest",
    ),
    Option(
        "hoodie.read.timeline.holes.resolution.policy",
        "hollow_commits",
        values="`fail`, `block`, `use_transition_time`",
        default="`fail`",
        meaning="incremental query before version 8, with a pending commit inside the range: "
        "refuse, end before it, or read on",
    ),
    Option(
        "hoodie.datasource.streaming.startOffset",
        "start_offset",
        values="`earliest`, `latest`, an instant",
        default="`earliest`",
        meaning="stream: where it starts, exclusive",
    ),
    Option(
        "",
        "maxCommitsPerTrigger",
        values="from 1 on",
        default="all",
        meaning="stream: most commits of one batch",
    ),
    Option(
        "",
        "maxBytesPerTrigger",
        values="from 1 on",
        default="all",
        meaning="stream: most bytes that the commits of one batch wrote, but one commit at least",
    ),
    Option(
        "hoodie.metadata.enable",
        "use_metadata_table",
        values="`true`, `false`",
        default="`true`",
        meaning="accepted without effect: files are found by listing, which gives the same ones",
    ),
    Option(
        "hoodie.enable.data.skipping",
        "data_skipping",
        values="`true`, `false`",
        default="`true`",
        meaning="accepted without effect: what statistics rule out is always skipped",
    ),
)
# Query features of Apache Hudi that this release refuses by name instead of ignoring them.
_BLOB_MODE = "hoodie.read.blob.inline.mode"
_REFUSED = {
    _BLOB_MODE: "blobs are always read with their content, as CONTENT does",
    "hoodie.datasource.read.paths": "load the base path and filter on partition columns instead",
    "hoodie.datasource.read.incr.filters": "use .filter() on the DataFrame instead",
    "hoodie.write.record.merge.custom.implementation.classes": "Java mergers cannot run here",
    "hoodie.datasource.write.record.merger.impls": "Java mergers cannot run here",
}
_REFUSED_PREFIXES = {
    "hoodie.datasource.write.": "this source only reads",
    "hoodie.datasource.read.table.valued.function.": "table-valued functions need Apache Hudi",
}
# Switches of the JVM reader that change its speed or its code path, never its rows.
_IGNORED = frozenset(
    {
        "hoodie.file.index.enable",
        "hoodie.datasource.read.file.index.listing.mode",
        "hoodie.datasource.read.file.index.listing.partition-path-prefix.analysis.enabled",
        "hoodie.file.group.reader.enabled",
        "hoodie.datasource.read.use.new.parquet.file.format",
        "hoodie.compaction.lazy.block.read",
        "hoodie.compaction.reverse.log.read",
        "hoodie.optimized.log.blocks.scan.enable",
        "hoodie.datasource.read.streaming.table.version",
    }
)
_IGNORED_PREFIXES = (
    "hoodie.memory.",
    "hoodie.common.spillable.",
    "hoodie.common.diskmap.",
    "hoodie.filesystem.view.",
    "hoodie.hfile.block.cache.",
    "hoodie.metadata.",
)
# Options that Spark itself hands to every source.
SPARK_OPTIONS = frozenset({"path", "paths", "inferschema", "header", "mergeschema"})


@dataclass(frozen=True, slots=True)
class IncrementalOptions:
    """The options of an incremental or CDC query."""

    begin: str  # digits, exclusive
    end: str  # digits, inclusive; "" for the latest
    is_cdc: bool = False
    on_missing: str = "full_scan"  # or fail, earliest
    range_merge: RangeMerge = RangeMerge.RANGE
    path_glob: str = ""
    skip_compaction: bool = False
    skip_clustering: bool = False
    table_version: int = 0  # 0 for the table's own
    use_end_schema: bool = False
    hollow_commits: str = "fail"  # or block, use_transition_time
    cdc_as_struct: bool = False  # images as structs, not as JSON text
    # CDC ranges compare requested times; those of a stream compare its offsets.
    by_offset: bool = False


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Every read option, typed and checked."""

    query_type: QueryType = QueryType.SNAPSHOT
    skip_merge: bool = False  # hoodie.datasource.merge.type=skip_merge
    payload_merger: str = ""  # module:function, "" for none
    as_of: str | None = None  # as the user wrote it; see instants.resolve_as_of
    filter: str = ""  # see filter_text.parse_filter; "" for all rows
    columns: tuple[str, ...] | None = None  # None for all
    use_record_positions: bool = True
    partition_values_from_path: bool = False
    schema_on_read: bool | None = None  # None: the table decides
    delete_field: str = ""
    delete_marker: str = ""
    bootstrap_base_path: str = ""  # "" for the recorded folder, or the table's sibling
    batch_rows: int = 16_384
    task_bytes: int = 64 << 20
    merge_memory: int = 0  # bytes; 0 for the worker's default
    spill_folder: str = ""  # "" for the worker's default
    include_meta_columns: bool = True
    on_damage: OnDamage = OnDamage.FAIL
    incremental: IncrementalOptions | None = None  # None unless the query is incremental

    @classmethod
    def parse(
        cls, options: Mapping[str, str], defaults: Mapping[str, str] | None = None
    ) -> ReadOptions:
        """Options by Hudi's keys, by hudi-rs's or by their aliases, in any case.

        Unknown ``hoodie.*`` keys are ignored, as Apache Hudi does, with a warning that names the
        nearest known key.

        Args:
            options: as given for this read.
            defaults: more of them by key, which stand back, such as those of the environment; what
                is no read option is ignored, since it may be meant for others.

        Raises:
            InvalidOptionError: an unknown own option, a bad value, or options that contradict.
            UnsupportedQueryError: a query type or option that this release does not cover.
        """
        _check_no_inspection(options)
        known = {option.key.lower() for option in OPTIONS} | set(HUDI_RS_KEYS)
        standing_back = {k: v for k, v in (defaults or {}).items() if k.lower() in known}
        given = {**_by_key(standing_back), **_by_key(options)}
        query_type = _query_type(given)
        field, marker = given.get(DELETE_FIELD, ""), given.get(DELETE_MARKER, "")
        if bool(field) != bool(marker):
            raise InvalidOptionError(f"give both {DELETE_FIELD} and {DELETE_MARKER}, or none")
        if AS_OF in given:
            parse_instant(given[AS_OF])
        return cls(
            query_type=query_type,
            skip_merge=_skip_merge(given, query_type),
            payload_merger=given.get("payload_merger", ""),
            as_of=given.get(AS_OF),
            filter=given.get("filter", "").strip(),
            columns=_column_names(given.get("columns")),
            use_record_positions=_boolean(given, "hoodie.merge.use.record.positions", default=True),
            partition_values_from_path=_boolean(
                given, "hoodie.datasource.read.extract.partition.values.from.path", default=False
            ),
            schema_on_read=(
                _boolean(given, "hoodie.schema.on.read.enable", default=False)
                if "hoodie.schema.on.read.enable" in given
                else None
            ),
            delete_field=field,
            delete_marker=marker,
            bootstrap_base_path=given.get("bootstrap_base_path", ""),
            batch_rows=_positive(given, "batch_rows", default=16_384),
            task_bytes=_positive(given, "task_bytes", default=64 << 20),
            merge_memory=(
                _positive(given, _MERGE_MEMORY, default=1, most=_MAX_LONG)
                if _MERGE_MEMORY in given
                else 0
            ),
            spill_folder=given.get(_SPILL_FOLDER, ""),
            include_meta_columns=_boolean(given, "include_meta_columns", default=True),
            on_damage=OnDamage(_one_of(given, "on_damage", tuple(d.value for d in OnDamage))),
            incremental=_incremental(given, query_type),
        )


def _check_no_inspection(options: Mapping[str, str]) -> None:
    stray = [key for key in options if key.lower().partition(".")[0] == INSPECT]
    if stray:
        raise InvalidOptionError(
            f"option {stray[0]} belongs to batch reads of Spark with the option {INSPECT}; from "
            "Python call HudiTable(path).inspect"
        )


def _by_key(options: Mapping[str, str]) -> dict[str, str]:
    """Options by Hudi's key, or by alias where Hudi has none; refuses and warns on the way."""
    names = [(name, o.key or o.alias) for o in OPTIONS for name in (o.key, o.alias) if name]
    canonical = {**{name.lower(): key for name, key in names}, **HUDI_RS_KEYS}
    given: dict[str, str] = {}
    for name, value in options.items():
        key = name.lower()
        if key in canonical:
            target = canonical[key]
            if target in given and given[target] != value:
                raise InvalidOptionError(
                    f"option {target} is given twice, as {given[target]!r} and {value!r}"
                )
            given[target] = str(value)
        else:
            _check_unknown(key, value, canonical)
    if _boolean(given, "cdc", default=False):
        given.setdefault(QUERY_TYPE, QueryType.INCREMENTAL.value)
        given.setdefault(_INCREMENTAL_FORMAT, "cdc")
    if _boolean(given, READ_OPTIMIZED_MODE, default=False):
        # In hudi-rs the mode goes together with the type snapshot.
        if given.get(QUERY_TYPE, "snapshot").lower() == QueryType.INCREMENTAL.value:
            raise InvalidOptionError(f"{READ_OPTIMIZED_MODE} has no meaning for a range of commits")
        given[QUERY_TYPE] = QueryType.READ_OPTIMIZED.value
    return given


def _check_unknown(key: str, value: str, canonical: Mapping[str, str]) -> None:
    if key == _BLOB_MODE and value.upper() == "CONTENT":
        return
    reason = _REFUSED.get(key) or next(
        (why for prefix, why in _REFUSED_PREFIXES.items() if key.startswith(prefix)), None
    )
    if reason is not None and value != "":
        raise UnsupportedQueryError(f"option {key} is not supported: {reason}")
    if reason is not None or key in _IGNORED or key in SPARK_OPTIONS:
        return
    if key.startswith(_IGNORED_PREFIXES) or key.startswith("spark."):
        return
    if key in HUDI_RS_IGNORED or is_storage_option(key):
        return
    near = difflib.get_close_matches(key, canonical, n=1, cutoff=0.6)
    hint = f"; did you mean {canonical[near[0]]}?" if near else ""
    if key.startswith("hoodie."):
        warnings.warn(f"unknown option {key} is ignored{hint}", UserWarning, stacklevel=2)
        return
    known = ", ".join(sorted(o.alias for o in OPTIONS if o.alias))
    raise InvalidOptionError(f"unknown option {key!r}{hint} (known: {known}, and Hudi's own keys)")


def _query_type(given: Mapping[str, str]) -> QueryType:
    text, older = given.get(QUERY_TYPE, ""), given.get(_OLD_QUERY_TYPE, "")
    if text and older and text.lower() != older.lower():
        raise InvalidOptionError(f"{QUERY_TYPE} is {text!r}, but {_OLD_QUERY_TYPE} is {older!r}")
    text = text or older or QueryType.SNAPSHOT.value
    try:
        query_type = QueryType(text.lower())
    except ValueError:
        known = ", ".join(member.value for member in QueryType)
        raise UnknownQueryTypeError(f"{QUERY_TYPE} is {text!r}; known: {known}") from None
    return query_type


def _incremental(given: Mapping[str, str], query_type: QueryType) -> IncrementalOptions | None:
    """The options of a range.

    Raises:
        InvalidOptionError: no begin, or range options on a query of another type.
    """
    if query_type is not QueryType.INCREMENTAL:
        keys = (_BEGIN, _END, _INCREMENTAL_FORMAT, _RANGE_MERGE)
        stray = [key for key in keys if key in given]
        if stray:
            raise InvalidOptionError(f"{stray[0]} needs {QUERY_TYPE}=incremental")
        return None
    if AS_OF in given:
        raise InvalidOptionError(f"{AS_OF} has no meaning for an incremental query: end it there")
    if _BEGIN not in given:
        raise InvalidOptionError(
            f"an incremental query needs its begin: give {_BEGIN} (begin), an instant, exclusive, "
            "or earliest"
        )
    is_cdc = _one_of(given, _INCREMENTAL_FORMAT, ("latest_state", "cdc")) == "cdc"
    useless = [key for key in (_SKIP_COMPACTION, _SKIP_CLUSTERING) if is_cdc and key in given]
    if useless:
        text = f"{useless[0]} has no effect on changes: compaction and clustering make none"
        warnings.warn(text, UserWarning, stacklevel=2)
    range_merge = RangeMerge(_one_of(given, _RANGE_MERGE, tuple(m.value for m in RangeMerge)))
    if is_cdc and range_merge is RangeMerge.TABLE:
        raise InvalidOptionError(
            f"{_RANGE_MERGE}=table cannot be combined with a CDC query, whose images always show "
            f"the rows as the table had them; leave out {_RANGE_MERGE}"
        )
    fallback = _boolean(given, _FALLBACK, default=True)
    default = "full_scan" if fallback else "fail"
    return IncrementalOptions(
        begin=parse_range_instant(given[_BEGIN]),
        end=parse_range_instant(given[_END]) if _END in given else "",
        is_cdc=is_cdc,
        cdc_as_struct=_one_of(given, "cdc_format", ("json", "struct")) == "struct",
        on_missing=_one_of(given, "on_missing", (default, "full_scan", "fail", "earliest")),
        range_merge=range_merge,
        path_glob=given.get("hoodie.datasource.read.incr.path.glob", ""),
        skip_compaction=_boolean(given, _SKIP_COMPACTION, default=False),
        skip_clustering=_boolean(given, _SKIP_CLUSTERING, default=False),
        table_version=_version(given),
        use_end_schema=_boolean(given, _USE_END_SCHEMA, default=False),
        hollow_commits=_one_of(
            given,
            "hoodie.read.timeline.holes.resolution.policy",
            ("fail", "block", "use_transition_time"),
        ),
    )


def _one_of(given: Mapping[str, str], key: str, known: tuple[str, ...]) -> str:
    """A word of a closed vocabulary; the first is the default."""
    text = given.get(key, known[0]).lower()
    if text not in known:
        raise InvalidOptionError(f"{key} is {given[key]!r}; known: {', '.join(known)}")
    return text


def _version(given: Mapping[str, str]) -> int:
    key = "hoodie.datasource.read.incr.table.version"
    return _positive(given, key, default=1) if key in given else 0


def _skip_merge(given: Mapping[str, str], query_type: QueryType) -> bool:
    key = "hoodie.datasource.merge.type"
    merge_type = _one_of(given, key, ("payload_combine", "skip_merge"))
    if key in given and query_type is QueryType.READ_OPTIMIZED:
        raise InvalidOptionError(f"{key} has no meaning for read_optimized")
    return merge_type == "skip_merge"


def _column_names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names or len(set(names)) != len(names):
        raise InvalidOptionError(f"columns is {text!r}: name at least one column, each once")
    return names


def _boolean(given: Mapping[str, str], key: str, *, default: bool) -> bool:
    text = given.get(key, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise InvalidOptionError(f"{key} is {given[key]!r}; give true or false")
    return text == "true"


def _positive(given: Mapping[str, str], key: str, *, default: int, most: int = _MAX_INT) -> int:
    text = given.get(key, str(default)).strip()
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= most:
        raise InvalidOptionError(f"{key} is {text!r}; give a whole number from 1 to {most}")
    return int(text)
