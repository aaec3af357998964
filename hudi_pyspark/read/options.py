"""Read options: strings parsed once, in one place."""

from __future__ import annotations

import difflib
import enum
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError, UnknownQueryTypeError, UnsupportedQueryError
from hudi_pyspark.read.hudi_rs_options import HUDI_RS_IGNORED, HUDI_RS_KEYS, READ_OPTIMIZED_MODE
from hudi_pyspark.read.instants import parse_instant, parse_range_instant
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


@dataclass(frozen=True, slots=True)
class Option:
    """One read option: Hudi's key, the short alias, and what it means."""

    key: str  # as Hudi writes it; "" for an option that Hudi does not have
    alias: str  # "" when there is none
    meaning: str


OPTIONS = (
    Option("path", "", "Base path of the table."),
    Option(QUERY_TYPE, "query_type", "snapshot (default), read_optimized or incremental."),
    Option(_OLD_QUERY_TYPE, "", "Older name of the query type."),
    Option(AS_OF, "as_of", "Read the table as of this instant, inclusive."),
    Option(
        "hoodie.datasource.merge.type",
        "merge_type",
        "payload_combine (default), or skip_merge: base rows and log rows, not merged.",
    ),
    Option(
        "",
        "payload_merger",
        "module:function that merges the records of a payload class that Hudi does not have.",
    ),
    Option(
        "hoodie.merge.use.record.positions",
        "use_record_positions",
        "Merge by row position where log blocks carry usable positions (default true).",
    ),
    Option(
        "hoodie.datasource.read.extract.partition.values.from.path",
        "partition_values_from_path",
        "Take partition columns from the path even where files hold them (default false).",
    ),
    Option(
        "hoodie.schema.on.read.enable",
        "schema_on_read",
        "Match columns by id where they were changed so; the table decides by default.",
    ),
    Option(
        "hoodie.metadata.enable",
        "use_metadata_table",
        "Accepted; files are found by listing directories, which gives the same files.",
    ),
    Option("hoodie.enable.data.skipping", "data_skipping", "Accepted; nothing is skipped yet."),
    Option(_BEGIN, "begin", "Incremental query: from this instant on, exclusive, or earliest."),
    Option(_END, "end", "Incremental query: up to this instant, inclusive; the latest by default."),
    Option(
        _INCREMENTAL_FORMAT,
        "incremental_format",
        "latest_state (default): rows as they are at the end of the range; cdc: changes.",
    ),
    Option("", "cdc", "true asks for an incremental query in format cdc (default false)."),
    Option("", "cdc_format", "CDC images as json text (default) or as struct columns."),
    Option(
        _FALLBACK,
        "incremental_fallback",
        "Where files of the range are gone, read the latest rows that were written in it (default "
        "true); false refuses.",
    ),
    Option("", "on_missing", "The same choice: full_scan, fail, or earliest (begin where it can)."),
    Option(
        "hoodie.datasource.read.incr.path.glob",
        "incremental_path_glob",
        "Incremental query: only files whose full path ends like this glob.",
    ),
    Option(
        _SKIP_COMPACTION,
        "skip_compaction",
        "Incremental query: leave out commit actions of a MERGE_ON_READ table (default false).",
    ),
    Option(
        _SKIP_CLUSTERING,
        "skip_clustering",
        "Incremental query: leave out clusterings (default false).",
    ),
    Option(
        "hoodie.datasource.read.incr.table.version",
        "",
        "Incremental query: below 8 ranges compare requested times, from 8 on completion times.",
    ),
    Option(
        _USE_END_SCHEMA,
        "use_end_schema",
        "Incremental query: the schema at the end of the range, not the latest (default false).",
    ),
    Option(
        "hoodie.read.timeline.holes.resolution.policy",
        "hollow_commits",
        "Incremental query before version 8, with a pending commit inside the range: fail "
        "(default), block (end before it), or use_transition_time (read on).",
    ),
    Option(
        "hoodie.datasource.streaming.startOffset",
        "start_offset",
        "Stream: earliest (default), latest, or an instant, exclusive.",
    ),
    Option("", "maxCommitsPerTrigger", "Stream: most commits of one batch; all by default."),
    Option(
        "",
        "maxBytesPerTrigger",
        "Stream: most bytes that the commits of one batch wrote, but one commit at least.",
    ),
    Option(DELETE_FIELD, "delete_field", "Column that marks deletes; the table's by default."),
    Option(DELETE_MARKER, "delete_marker", "Its value on deletes; the table's by default."),
    Option(
        "",
        "bootstrap_base_path",
        "Where the source files of a bootstrapped table are, instead of the recorded folder.",
    ),
    Option(
        "",
        "filter",
        "Rows to read, as in a WHERE clause: comparisons of columns with literals, IN, BETWEEN, "
        "LIKE, IS NULL, AND, OR, NOT.",
    ),
    Option(
        "",
        INSPECT,
        "A table about the table instead of its rows, e.g. timeline; inspect.<argument> for what "
        "its function takes.",
    ),
    Option("", "columns", "Comma-separated columns to read and decode; all by default."),
    Option("", "batch_rows", "Rows per Arrow batch (default 65536)."),
    Option(
        "",
        "task_bytes",
        "Bytes that a Spark task should read (default 64 MiB): smaller file slices share a task, "
        "larger base files without logs are read by several.",
    ),
    Option(
        _MERGE_MEMORY,
        "merge_memory",
        "Bytes that the log records of a slice may take; past it they go to local disk (default 1 "
        "GiB, or a third of spark.executor.pyspark.memory if that is less).",
    ),
    Option(
        _SPILL_FOLDER,
        "spill_folder",
        "Local folder for log records that do not fit into memory (default Spark's own).",
    ),
    Option("", "include_meta_columns", "false leaves out the _hoodie_* columns (default true)."),
    Option(
        "",
        "on_damage",
        "A log file that is shorter than its commit says, or corrupt inside a committed range: "
        "fail (default), warn, or ignore as Apache Hudi does.",
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
    batch_rows: int = 65_536
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
            batch_rows=_positive(given, "batch_rows", default=65_536),
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
        stray = [key for key in (_BEGIN, _END, _INCREMENTAL_FORMAT) if key in given]
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
    fallback = _boolean(given, _FALLBACK, default=True)
    default = "full_scan" if fallback else "fail"
    return IncrementalOptions(
        begin=parse_range_instant(given[_BEGIN]),
        end=parse_range_instant(given[_END]) if _END in given else "",
        is_cdc=is_cdc,
        cdc_as_struct=_one_of(given, "cdc_format", ("json", "struct")) == "struct",
        on_missing=_one_of(given, "on_missing", (default, "full_scan", "fail", "earliest")),
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
