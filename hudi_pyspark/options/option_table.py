"""The table of read options: names, values, defaults and meanings, in the order of the docs."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from hudi_pyspark.errors import InvalidOptionError, UnknownQueryTypeError
from hudi_pyspark.options.indexes import Index
from hudi_pyspark.options.instant_text import check_as_of_text, parse_range_instant
from hudi_pyspark.storage_options import CREDENTIALS_PROVIDER
from hudi_pyspark.table.live_blocks import OnDamage
from hudi_pyspark.table.merge_mode import DELETE_FIELD as DELETE_FIELD_KEY
from hudi_pyspark.table.merge_mode import DELETE_MARKER as DELETE_MARKER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

_T_co = TypeVar("_T_co", covariant=True)
_E = TypeVar("_E", bound=enum.Enum)

CATALOG_PREFIX: Final = "catalog."  # of the settings of a catalog
INSPECT: Final = "inspect"  # chooses a table about the table; inspect.<argument> are its arguments
_MAX_INT = 2**31 - 1
_MAX_LONG = 2**63 - 1


class QueryType(enum.Enum):
    """``hoodie.datasource.query.type``."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"


class MergeType(enum.Enum):
    """``hoodie.datasource.merge.type``."""

    PAYLOAD_COMBINE = "payload_combine"
    SKIP_MERGE = "skip_merge"


class IncrementalFormat(enum.Enum):
    """``hoodie.datasource.query.incremental.format``."""

    LATEST_STATE = "latest_state"
    CDC = "cdc"


class CdcFormat(enum.Enum):
    """How a CDC query shows the images of a row."""

    JSON = "json"
    STRUCT = "struct"


class OnMissing(enum.Enum):
    """What to do if commits or files of an incremental query's range are gone."""

    FULL_SCAN = "full_scan"
    FAIL = "fail"
    EARLIEST = "earliest"


class RangeMerge(enum.Enum):
    """With which rows an incremental query merges those that its range wrote."""

    RANGE = "range"
    TABLE = "table"


class HollowCommits(enum.Enum):
    """What to do if a commit inside a range of requested times is still pending."""

    FAIL = "fail"
    BLOCK = "block"  # end before it
    USE_TRANSITION_TIME = "use_transition_time"  # read on


class StreamUse(enum.Enum):
    """Whether a stream takes an option."""

    TAKES = enum.auto()
    REFUSES = enum.auto()
    ONLY = enum.auto()  # a batch ignores it


@dataclass(frozen=True, slots=True)
class Kind(Generic[_T_co]):
    """The values that an option takes.

    Attributes:
        values: for docs/options.md, as Markdown.
        parse: takes the option's name, for errors, and a value, typed or as text; returns it typed,
            or raises InvalidOptionError.
    """

    values: str
    parse: Callable[[str, object], _T_co]


@dataclass(frozen=True, slots=True)
class Option(Generic[_T_co]):
    """One read option.

    Attributes:
        name: Apache Hudi's key, or a name of our own if Apache Hudi does not have the option.
        kind: the values that it takes.
        default: its value if it is not given.
        meaning: for docs/options.md, as Markdown.
        alias: another name, of our own; "" for none.
        default_text: the default for docs/options.md; None to show the value itself.
        hudi_rs: keys of hudi-rs, releases 0.1 to 0.5, that mean the same.
        stream: whether a stream takes it.
        is_secret: whether errors must not show its value.
    """

    name: str
    kind: Kind[_T_co]
    default: _T_co
    meaning: str
    alias: str = ""
    default_text: str | None = None
    hudi_rs: tuple[str, ...] = ()
    stream: StreamUse = StreamUse.TAKES
    is_secret: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names that it may be given by."""
        return tuple(name for name in (self.name, self.alias, *self.hudi_rs) if name)


def as_text(value: object) -> str:
    """Return an option's value as Spark's options spell it."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return value.isoformat(" ", "milliseconds")  # the digits of an instant
    return str(value).lower() if isinstance(value, bool) else str(value)


def _word(kind: type[_E], error: type[InvalidOptionError] = InvalidOptionError) -> Kind[_E]:
    """Make the kind of an enum's members, given by their values in any case."""
    words = [str(member.value) for member in kind]

    def parse(name: str, value: object) -> _E:
        if isinstance(value, kind):
            return value
        text = as_text(value)
        try:
            return kind(text.lower())
        except ValueError:
            raise error(f"{name} is {text!r}; known: {', '.join(words)}") from None

    return Kind(", ".join(f"`{word}`" for word in words), parse)


def _whole_number(values: str = "", most: int | None = _MAX_INT) -> Kind[int]:
    """Make the kind of whole numbers from 1 to `most`; None for no bound."""
    bound = f"to {most}" if most is not None else "on"

    def parse(name: str, value: object) -> int:
        text = as_text(value).strip()
        number = int(text) if text.isascii() and text.isdigit() else 0
        if number < 1 or (most is not None and number > most):
            raise InvalidOptionError(f"{name} is {text!r}; give a whole number from 1 {bound}")
        return number

    return Kind(values or f"1 {bound}", parse)


def _text(values: str) -> Kind[str]:
    return Kind(values, lambda _name, value: as_text(value))


def _parse_boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = as_text(value)
    if text.strip().lower() not in ("true", "false"):
        raise InvalidOptionError(f"{name} is {text!r}; give true or false")
    return text.strip().lower() == "true"


def _parse_columns(name: str, value: object) -> tuple[str, ...]:
    """Return the names out of a text with commas between them, or of a sequence as they are."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        names = tuple(part.strip() for part in as_text(value).split(",") if part.strip())
    else:
        names = tuple(map(str, value))
    if not names or len(set(names)) != len(names):
        shown = value if isinstance(value, str) else list(names)
        raise InvalidOptionError(f"{name} is {shown!r}: name at least one column, each once")
    return names


def _parse_indexes(name: str, value: object) -> frozenset[Index]:
    """Return the indexes to use: all, none, or those with names in a text or a sequence."""
    if isinstance(value, bool) or as_text(value).strip().lower() in ("true", "false"):
        return frozenset(Index) if _parse_boolean(name, value) else frozenset()
    known = {index.value: index for index in Index}
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = as_text(value).split(",")
    names = [as_text(word).strip().lower() for word in value]
    unknown = [word for word in names if word not in known]
    if unknown or not names:
        raise InvalidOptionError(
            f"{name} is {', '.join(names)!r}; give true, false or some of {', '.join(known)}"
        )
    return frozenset(known[word] for word in names)


def _parse_as_of(_name: str, value: object) -> str:
    """Check an instant and return it as the user wrote it; its meaning depends on the table."""
    check_as_of_text(as_text(value))
    return as_text(value)


def _parse_start(_name: str, value: object) -> str:
    text = as_text(value) or "earliest"
    return text.lower() if text.lower() in ("earliest", "latest") else parse_range_instant(text)


_BOOLEAN = Kind("`true`, `false`", _parse_boolean)
_QUERY_TYPE = _word(QueryType, UnknownQueryTypeError)


def _range_instant(values: str) -> Kind[str]:
    return Kind(values, lambda _name, value: parse_range_instant(as_text(value)))


PATH = Option(
    "path",
    _text("one base path, no glob"),
    default="",
    default_text="required",
    meaning="the folder that has `.hoodie` in it",
)
TABLE = Option(
    "table",
    _text("`catalog.schema.table`"),
    default="",
    meaning="instead of a path, the name of the table in a [catalog](storage.md#catalogs)",
)
CATALOG_TYPE = Option(
    "catalog.type",
    _text("`hive`, `glue`, `unity` or `polaris`"),
    default="",
    meaning="the kind of catalog",
)
CATALOG_URI = Option("catalog.uri", _text("a URI"), default="", meaning="where it is")
CATALOG_TOKEN = Option(
    "catalog.token",
    _text("a secret"),
    default="",
    meaning="bearer token for Unity Catalog or Polaris",
    is_secret=True,
)
CATALOG_CREDENTIAL = Option(
    "catalog.credential",
    _text("`id:secret`"),
    default="",
    meaning="exchanged for a token by Polaris",
    is_secret=True,
)
CATALOG_REGION = Option("catalog.region", _text("a region"), default="", meaning="of Glue")
CREDENTIALS = Option(
    CREDENTIALS_PROVIDER,
    _text("`module:function`"),
    default="",
    meaning="supplies [short-lived credentials](storage.md#short-lived-credentials) of the "
    "storage, in every process",
)
QUERY_TYPE = Option(
    "hoodie.datasource.query.type",
    _QUERY_TYPE,
    alias="query_type",
    default=QueryType.SNAPSHOT,
    meaning="base files merged with their log files, the latest base files alone, or what a range "
    "of commits wrote",
    hudi_rs=("hoodie.read.query.type",),
)
OLD_QUERY_TYPE = Option(
    "hoodie.datasource.view.type",
    Kind("the same", _QUERY_TYPE.parse),
    default=QueryType.SNAPSHOT,
    default_text="",
    meaning="older name of the query type",
)
AS_OF: Option[str | None] = Option(
    "as.of.instant",
    Kind("an instant, see below", _parse_as_of),
    alias="as_of",
    default=None,
    default_text="now",
    meaning="the table as it was, its schema included",
    hudi_rs=("hoodie.read.as.of.timestamp",),
    stream=StreamUse.REFUSES,
)
_INSPECT = Option(
    INSPECT,
    _text("`timeline`, `commits`, …"),
    default="",
    meaning="instead of its rows, a [table about the table](looking-inside.md); the arguments of "
    "its function are the options `inspect.instant`, `inspect.file` and so on",
)
COLUMNS: Option[tuple[str, ...] | None] = Option(
    "columns",
    Kind("names with commas between", _parse_columns),
    default=None,
    default_text="all",
    meaning="columns to read, in this order; the others are neither read nor decoded",
)
FILTER = Option(
    "filter",
    _text("a condition, as in a WHERE clause"),
    default="",
    default_text="all rows",
    meaning="rows to read: comparisons of columns with literals, `IN`, `BETWEEN`, `LIKE`, `IS "
    "NULL`, `AND`, `OR`, `NOT`",
)
INCLUDE_META_COLUMNS = Option(
    "include_meta_columns",
    _BOOLEAN,
    default=True,
    meaning="`false` leaves the `_hoodie_*` columns out",
)
BATCH_ROWS = Option(
    "batch_rows",
    _whole_number(),
    default=16_384,
    meaning="most rows of an Arrow batch; wide rows of base files come in fewer, about 64 MiB",
    hudi_rs=("hoodie.read.stream.batch_size",),
)
TASK_BYTES = Option(
    "task_bytes",
    _whole_number(),
    default=64 << 20,
    meaning="bytes that a Spark task should read: smaller file slices share a task, larger base "
    "files without logs are read by several; tasks are larger where there would be more than "
    "100,000",
)
MERGE_MEMORY = Option(
    "hoodie.memory.merge.max.size",
    _whole_number("bytes, from 1 on", _MAX_LONG),
    alias="merge_memory",
    default=0,
    default_text="1 GiB, or a third of `spark.executor.pyspark.memory` per task if that is less",
    meaning="memory for the log records of a file slice while it is merged, for each of the slices "
    "that `to_batches` reads at a time; beyond it they go to local disk",
)
SPILL_FOLDER = Option(
    "hoodie.memory.spillable.map.path",
    _text("a local folder"),
    alias="spill_folder",
    default="",
    default_text="`SPARK_LOCAL_DIRS`, else the folder for temporary files",
    meaning="where these records go; made if it does not exist. The file has no name and "
    "disappears with the process",
)
ON_DAMAGE = Option(
    "on_damage",
    _word(OnDamage),
    default=OnDamage.FAIL,
    meaning="what to do about a log file that is shorter than its commit says, or that is corrupt "
    "within committed blocks; `ignore` is what Apache Hudi does",
)
MERGE_TYPE = Option(
    "hoodie.datasource.merge.type",
    _word(MergeType),
    alias="merge_type",
    default=MergeType.PAYLOAD_COMBINE,
    meaning="merge log records into base records, or return the rows of both side by side, where "
    "deletes delete nothing",
)
PAYLOAD_MERGER = Option(
    "payload_merger",
    _text("`module:function`"),
    default="",
    meaning="[merges the records](custom-mergers.md) of a payload class that Apache Hudi does not "
    "have",
)
USE_RECORD_POSITIONS = Option(
    "hoodie.merge.use.record.positions",
    _BOOLEAN,
    alias="use_record_positions",
    default=True,
    meaning="merge by row position where the log blocks carry positions that can be used",
)
VERIFY_CHECKSUMS = Option(
    "verify_checksums",
    _BOOLEAN,
    default=True,
    meaning="compare the pages of Parquet base files with their checksums; those of GZIP have "
    "checksums of the codec, which are always compared",
)
PARTITION_VALUES_FROM_PATH = Option(
    "hoodie.datasource.read.extract.partition.values.from.path",
    _BOOLEAN,
    alias="partition_values_from_path",
    default=False,
    meaning="take partition columns from the path even if the files hold them",
)
SCHEMA_ON_READ: Option[bool | None] = Option(
    "hoodie.schema.on.read.enable",
    _BOOLEAN,
    alias="schema_on_read",
    default=None,
    default_text="the table decides",
    meaning="match columns by id where they were renamed or dropped with schema on read; `false` "
    "matches them by name",
)
DELETE_FIELD = Option(
    DELETE_FIELD_KEY,
    _text("a column"),
    alias="delete_field",
    default="",
    default_text="the table's",
    meaning="the column that marks deletes; only together with the marker",
)
DELETE_MARKER = Option(
    DELETE_MARKER_KEY,
    _text("a text"),
    alias="delete_marker",
    default="",
    default_text="the table's",
    meaning="its value in deleted records",
)
BOOTSTRAP_BASE_PATH = Option(
    "bootstrap_base_path",
    _text("a path or URI"),
    default="",
    default_text="found, see below",
    meaning="the folder to use as `hoodie.bootstrap.base.path` of a bootstrapped table",
)
BEGIN = Option(
    "hoodie.datasource.read.begin.instanttime",
    _range_instant("an instant, digits of any length, `earliest`"),
    alias="begin",
    default="",
    default_text="required",
    meaning="incremental and CDC queries: what was written after it",
    hudi_rs=("hoodie.read.start.timestamp", "hoodie.read.file_group.start_timestamp"),
    stream=StreamUse.REFUSES,
)
END = Option(
    "hoodie.datasource.read.end.instanttime",
    _range_instant("the same"),
    alias="end",
    default="",
    default_text="the latest",
    meaning="up to it, inclusive",
    hudi_rs=("hoodie.read.end.timestamp", "hoodie.read.file_group.end_timestamp"),
    stream=StreamUse.REFUSES,
)
INCREMENTAL_FORMAT = Option(
    "hoodie.datasource.query.incremental.format",
    _word(IncrementalFormat),
    alias="incremental_format",
    default=IncrementalFormat.LATEST_STATE,
    meaning="the rows of a range as they are at its end, or its changes with their images",
)
CDC = Option(
    "cdc",
    _BOOLEAN,
    default=False,
    meaning="`true` asks for an incremental query in format `cdc`",
)
CDC_FORMAT = Option(
    "cdc_format",
    _word(CdcFormat),
    default=CdcFormat.JSON,
    meaning="images of changes as JSON text, or as structs of the table's columns",
)
INCREMENTAL_FALLBACK = Option(
    "hoodie.datasource.read.incr.fallback.fulltablescan.enable",
    _BOOLEAN,
    alias="incremental_fallback",
    default=True,
    meaning="if commits or files of the range are gone: the latest rows that were written in it, "
    "with a warning; `false` refuses",
)
ON_MISSING: Option[OnMissing | None] = Option(
    "on_missing",
    _word(OnMissing),
    default=None,
    default_text="by the fallback",
    meaning="the same choice; `earliest` begins where it can, with a warning. A full scan cannot "
    "show changes: a CDC query fails, or begins at the earliest",
)
RANGE_MERGE = Option(
    "range_merge",
    _word(RangeMerge),
    default=RangeMerge.RANGE,
    meaning="incremental query: merge the rows that the range wrote among themselves, as Apache "
    "Hudi does, or with all rows that the table had at the end of the range; "
    "[which one to take](incremental-and-cdc.md#rows-that-arrive-late)",
)
PATH_GLOB = Option(
    "hoodie.datasource.read.incr.path.glob",
    _text("a glob"),
    alias="incremental_path_glob",
    default="",
    default_text="all",
    meaning="incremental query: only file slices with a file whose full path ends like it",
)
SKIP_COMPACTION = Option(
    "hoodie.datasource.read.incr.skip_compact",
    _BOOLEAN,
    alias="skip_compaction",
    default=False,
    meaning="incremental query: leave out `commit` actions of a MERGE_ON_READ table",
)
SKIP_CLUSTERING = Option(
    "hoodie.datasource.read.incr.skip_cluster",
    _BOOLEAN,
    alias="skip_clustering",
    default=False,
    meaning="incremental query: leave out clusterings",
)
TABLE_VERSION = Option(
    "hoodie.datasource.read.incr.table.version",
    _whole_number("a table version"),
    default=0,
    default_text="the table's",
    meaning="incremental query: below 8 ranges compare requested times, from 8 on completion times",
    stream=StreamUse.REFUSES,
)
USE_END_SCHEMA = Option(
    "hoodie.datasource.read.schema.use.end.instanttime",
    _BOOLEAN,
    alias="use_end_schema",
    default=False,
    meaning="incremental query: the schema at the end of the range, not the latest",
    stream=StreamUse.REFUSES,
)
HOLLOW_COMMITS = Option(
    "hoodie.read.timeline.holes.resolution.policy",
    _word(HollowCommits),
    alias="hollow_commits",
    default=HollowCommits.FAIL,
    meaning="incremental query before version 8, with a pending commit inside the range: refuse, "
    "end before it, or read on",
)
START_OFFSET = Option(
    "hoodie.datasource.streaming.startOffset",
    Kind("`earliest`, `latest`, an instant", _parse_start),
    alias="start_offset",
    default="earliest",
    meaning="stream: where it starts, exclusive",
    stream=StreamUse.ONLY,
)
MAX_COMMITS = Option(
    "maxCommitsPerTrigger",
    _whole_number("from 1 on", None),
    default=0,
    default_text="all",
    meaning="stream: most commits of one batch",
    stream=StreamUse.ONLY,
)
MAX_BYTES = Option(
    "maxBytesPerTrigger",
    _whole_number("from 1 on", None),
    default=0,
    default_text="all",
    meaning="stream: most bytes that the commits of one batch wrote, but one commit at least",
    stream=StreamUse.ONLY,
)
USE_METADATA_TABLE = Option(
    "hoodie.metadata.enable",
    _BOOLEAN,
    alias="use_metadata_table",
    default=True,
    meaning="find files in the metadata table where it can be relied upon; else list folders",
)
DATA_SKIPPING = Option(
    "hoodie.enable.data.skipping",
    Kind(
        "`true`, `false`, or some of " + ", ".join(f"`{index.value}`" for index in Index),
        _parse_indexes,
    ),
    alias="data_skipping",
    default=frozenset(Index),
    default_text="`true`",
    meaning="skip files by the statistics and indexes of the metadata table, if it is used: by all "
    "of them, by none, or by some; the record index finds one row of several with the same key",
)
# All options above, in their order, which is that of the docs.
OPTIONS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, Option))
# Options that say which table is meant, and not what is read of it.
LOCATION_OPTIONS: Final = frozenset(
    option.name for option in OPTIONS if option is TABLE or option.name.startswith(CATALOG_PREFIX)
)
# A switch of hudi-rs; a query type here.
READ_OPTIMIZED_MODE = Option(
    "hoodie.read.use.read_optimized.mode",
    _BOOLEAN,
    default=False,
    meaning="`true`: query type `read_optimized`",
)
# Options by all their names, in lower case.
BY_NAME: Final = {
    name.lower(): option for option in (*OPTIONS, READ_OPTIMIZED_MODE) for name in option.names
}
