"""What SQL says about a read: options that the catalogs in `jvm/` pass on, and their meaning.

A catalog knows nothing of this package's options. It passes on what an entry of a metastore says,
the instant of ``VERSION AS OF`` and ``TIMESTAMP AS OF``, and the options of ``WITH (…)``. Its names
for them begin with `_PREFIX`. They count only from a catalog, whose source is `CatalogDataSource`.
In the options of any other read they are ignored: see `options_of_users`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql.types import StructType

from hudi_pyspark.catalogs.entry_columns import EntryColumns
from hudi_pyspark.catalogs.hive_entry import READ_OPTIMIZED, reads_base_files
from hudi_pyspark.errors import InvalidOptionError, SchemaEvolutionError, UnsupportedQueryError
from hudi_pyspark.format.column_names import match_names
from hudi_pyspark.format.timeline.instant import moment_of
from hudi_pyspark.messages import logger
from hudi_pyspark.options.instant_text import names_zone
from hudi_pyspark.options.option import QueryType
from hudi_pyspark.options.read_options import BY_NAME, INSPECT, GivenOptions, key_of
from hudi_pyspark.spark.hints import INTERNAL, OPTION, REQUEST
from hudi_pyspark.storage.options import is_storage_option
from hudi_pyspark.table.cdc_format import CdcFormat

_PREFIX = f"{INTERNAL}sql."
# What the catalogs give; the values of three are JSON objects.
_ENTRY = f"{_PREFIX}entry"  # see `_Entry`
_FUNCTION = f"{_PREFIX}function"  # a table function of Apache Hudi: its name and its arguments
_CHANGES = f"{_PREFIX}changes"  # the mode of deduplication, and the range: see `_changes_options`
_INSTANT = f"{_PREFIX}instant"
_STREAM = f"{_PREFIX}stream"  # whether a stream reads a table by name
TABLE_FUNCTIONS = (
    "hudi_query",
    "hudi_table_changes",
    "hudi_query_timeline",
    "hudi_filesystem_view",
)
# What an entry may not say, since others may have written it: functions that this reader imports,
# folders of its disk, and other places that would get requests with its credentials. Storage
# options are refused as well. Nor may an entry, which names a table, be a table about the table.
_NEVER_STORED = (
    INSPECT,
    "table",
    "bootstrap_base_path",
    "payload_merger",
    "merge_cache_folder",
    key_of("spill_folder"),
)
# How Spark's own options begin, in lower case; Spark 4.2 passes them on beside the range.
_OF_CHANGES = ("starting", "ending", "deduplicationmode", "computeupdates")
_NET_CHANGES = "NET_CHANGES"
SQL_WORDS = {
    "ENTRY": _ENTRY,
    "STREAM": _STREAM,
    "INSTANT": _INSTANT,
    "FUNCTION": _FUNCTION,
    "CHANGES": _CHANGES,
    "INTERNAL": INTERNAL,
}
"""The names and marks that the catalogs in Java share with Python."""
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What Spark's metastore has of a table, or is about to get from ``CREATE TABLE``."""

    stored: Mapping[str, str]  # storage properties, by name in lower case
    hive_format: str  # Hive's input format, if Spark does not know the entry; else ""
    fields: Sequence[Mapping[str, Any]]  # the columns, as Spark's JSON of a schema has them
    partitions: tuple[str, ...]
    is_new: bool  # whether CREATE TABLE is about to make it

    @classmethod
    def of_read(cls, options: Mapping[str, str]) -> _Entry | None:
        """Return the entry that the options of a read name; None if they name none."""
        text = next((value for name, value in options.items() if name.lower() == _ENTRY), None)
        if text is None:
            return None
        given = json.loads(text)
        return cls(
            stored={name.lower(): value for name, value in given["stored"].items()},
            hive_format=given["hive_format"],
            fields=given["schema"]["fields"],
            partitions=tuple(given["partitions"]),
            is_new=given["is_new"],
        )


def options_of_users(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read without the names that only this package gives.

    A client of Spark Connect gives two of them, which count if it has signed them: see `hints.py`.
    """
    ignored = sorted(
        name
        for name in options
        if name.lower().startswith(INTERNAL) and name not in (OPTION, REQUEST)
    )
    if ignored:
        _log.warning("options of this package's own are ignored: %.300s", ", ".join(ignored))
    return {name: value for name, value in options.items() if name not in ignored}


def plain_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read without those of SQL, whose meaning is added.

    Options of the query take precedence over those that an entry stores. Only a query can name
    functions to import, folders of the local disk, and where requests go.

    Raises:
        UnsupportedQueryError: net changes are requested.
        InvalidOptionError: the query has two instants, or calls a function with other arguments
            than it takes, or ``CREATE TABLE`` has options that an entry may not store.
    """
    plain = {name: value for name, value in options.items() if not _is_of_sql(name)}
    if len(plain) == len(options):
        return plain
    by_name = {name.lower(): value for name, value in options.items() if _is_of_sql(name)}
    if _FUNCTION in by_name:
        call = json.loads(by_name[_FUNCTION])
        plain |= function_options(call["name"], call["arguments"])
    if _CHANGES in by_name:
        plain = {n: text for n, text in plain.items() if not n.lower().startswith(_OF_CHANGES)}
        plain |= _changes_options(json.loads(by_name[_CHANGES]))
    if (instant := by_name.get(_INSTANT)) is not None:
        for name, value in plain.items():
            if _key(name) == _key("as_of") and value != instant:
                raise InvalidOptionError(
                    f"the query has two instants, {instant} and {value}: give one of them"
                )
        plain[key_of("as_of")] = instant
    entry = _Entry.of_read(options)
    if entry is None:
        return plain
    stored_options = _entry_options(entry)
    if INSPECT in plain:
        return plain
    given = {_key(name) for name in plain}
    return plain | {n: value for n, value in stored_options.items() if _key(n) not in given}


def _entry_options(entry: _Entry) -> dict[str, str]:
    """Return the options of reads that an entry of a metastore stores.

    Raises:
        InvalidOptionError: ``CREATE TABLE`` has options that an entry may not store.
    """
    stored = {name: value for name, value in entry.stored.items() if name != "path"}
    refused = [
        name
        for name in stored
        if is_storage_option(name) or _key(name) in _NEVER_STORED or name.startswith(INTERNAL)
    ]
    if refused and entry.is_new:
        raise InvalidOptionError(
            f"CREATE TABLE cannot store {', '.join(refused)}: an entry names a table, and whoever "
            "may change the metastore could otherwise send the credentials of readers elsewhere, "
            "or run code in readers",
            advice=(
                "Give these options to each query or view, or set storage options for all queries "
                "in the environment, as HOODIE_ENV_fs_DOT_s3a_DOT_endpoint"
            ),
        )
    is_read_optimized = reads_base_files(stored, entry.hive_format)
    options = {
        name: value
        for name, value in stored.items()
        if (name in BY_NAME or name.startswith("hoodie."))
        and name not in (*refused, READ_OPTIMIZED)
        and not (is_read_optimized is not None and _key(name) == _key("query_type"))
    }
    if is_read_optimized is not None:
        kind = QueryType.READ_OPTIMIZED if is_read_optimized else QueryType.SNAPSHOT
        options["query_type"] = kind.value
    return options


def function_options(function: str, arguments: Sequence[str]) -> dict[str, str]:
    """Return the options of a read that a call of a table function stands for.

    Args:
        function: one of `TABLE_FUNCTIONS`.
        arguments: as texts; the first is the table.

    Raises:
        InvalidOptionError: the function does not take these arguments.
    """
    match [function, *arguments]:
        case ["hudi_query", _, "snapshot" | "read_optimized" as query_type]:
            return {"query_type": query_type}
        case ["hudi_table_changes", _, "latest_state" | "cdc" as kind, begin, *end] if len(end) < 2:
            changes = {"query_type": QueryType.INCREMENTAL.value, "begin": begin}
            changes |= {"end": end[0]} if end else {}
            return {**changes, "cdc": str(kind == "cdc").lower()}
        case ["hudi_query_timeline", _, *flag] if len(flag) < 2 and _is_flag(flag):
            is_archived = flag in (["true"], ["TRUE"])  # "True" is false, as in Apache Hudi
            return {INSPECT: function, f"{INSPECT}.archived": str(is_archived).lower()}
        case ["hudi_filesystem_view", _, *folders] if len(folders) < 2 and not _has_time(folders):
            return {INSPECT: function, **{f"{INSPECT}.folders": glob for glob in folders}}
    raise InvalidOptionError(
        f"{function} does not take the arguments {', '.join(map(repr, arguments))}",
        advice=(
            "Write hudi_query(table, 'snapshot'), hudi_query(table, 'read_optimized'), "
            "hudi_table_changes(table, 'latest_state', begin), with 'cdc' for images and with an "
            "end, hudi_query_timeline(table, 'true') with archived instants, or "
            "hudi_filesystem_view(table, folders)"
        ),
    )


def _is_flag(arguments: Sequence[str]) -> bool:
    """Return whether all arguments are true or false, and no numbers."""
    return all(text.lower() in ("true", "false") for text in arguments)


def _has_time(arguments: Sequence[str]) -> bool:
    """Return whether an argument was a day or a time, which is no folder."""
    return any(map(names_zone, arguments))


def _changes_options(changes: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a read that ``CHANGES`` stands for.

    Args:
        changes: the mode of deduplication, and of a range of versions ``first``, ``last`` (None for
            the newest), ``has_first`` and ``has_last``; of another range its text, which is empty
            for all versions.

    Raises:
        UnsupportedQueryError: net changes are requested.
        InvalidOptionError: the range is not one of versions, or a version is not an instant.
    """
    if changes["mode"] == _NET_CHANGES:
        raise UnsupportedQueryError(
            "CHANGES has every change of a row, net changes are not supported: use "
            "hudi_table_changes(table, 'latest_state', begin)"
        )
    options = {"query_type": QueryType.INCREMENTAL.value, "cdc": "true"}
    options["cdc_format"] = CdcFormat.CHANGELOG.value
    if changes.get("other_range"):
        raise InvalidOptionError(
            f"CHANGES has a range that is not one of versions: {changes['other_range']}",
            advice=(
                "Give the requested times of commits: CHANGES FROM VERSION 20261121062657910 TO "
                "VERSION …"
            ),
        )
    if "first" not in changes:
        return {**options, "begin": "earliest"}
    # The begin of a range is exclusive, its end inclusive.
    first, last = changes["first"], changes["last"]
    options["begin"] = _before(first) if changes["has_first"] else first
    if last is not None:
        options["end"] = last if changes["has_last"] else _before(last)
    return options


def _before(version: str) -> str:
    """Return an instant before a version, and after all earlier ones of its precision.

    Raises:
        InvalidOptionError: the version is not an instant.
    """
    moment = moment_of(version)
    if moment is None:
        raise InvalidOptionError(
            f"CHANGES: version {version!r} is not an instant",
            advice="Give the requested time of a commit, as _commit_version has it",
        )
    # Fourteen digits precede all times of their second, although they mean its end.
    earlier = moment - (timedelta(seconds=1) if len(version) == 14 else timedelta(milliseconds=1))
    return f"{earlier:%Y%m%d%H%M%S}{earlier.microsecond // 1000:03}"


def stream_options(
    given: Mapping[str, str], plain: Mapping[str, str], completion_time: Callable[[str], str | None]
) -> dict[str, str]:
    """Return the options of a stream, whose range of ``CHANGES`` begins at an offset.

    Args:
        given: the options with those of SQL.
        plain: what `plain_options` makes of them.
        completion_time: returns the completion time of a commit, by its requested time; None if
            the table has no such commit.
    """
    options = dict(plain)
    if _CHANGES in given:
        begin = options.pop("begin")
        options.pop("query_type")
        changes = json.loads(given[_CHANGES])
        if "first" in changes:
            # Versions are requested times, offsets completion times.
            completed = None if changes["has_first"] else completion_time(begin)
            options["start_offset"] = completed or begin
    return options


def _is_of_sql(name: str) -> bool:
    return name.lower().startswith(_PREFIX)


def _key(name: str) -> str:
    option = BY_NAME.get(name.lower())
    return name.lower() if option is None else option.key


def entry_columns(options: Mapping[str, str], of_catalog: EntryColumns | None) -> EntryColumns:
    """Return what an entry of Spark's metastore says about columns, or else that of a catalog."""
    entry = _Entry.of_read(options)
    if entry is None:
        return of_catalog or EntryColumns()
    comments = {field["name"]: field["metadata"].get("comment") for field in entry.fields}
    return EntryColumns(
        partitions=entry.partitions,
        is_of_hive=bool(entry.hive_format),
        comments={name: comment for name, comment in comments.items() if comment},
    )


def is_by_name(options: Mapping[str, str]) -> bool:
    """Decide whether a read has the columns in the order of a table by name: see `EntryColumns`.

    In Apache Hudi 1.2.0 an instant (``TIMESTAMP AS OF``), a table function and a stream have the
    table's own order, even by name. A user's own order of columns stays, and so do those of CDC.

    Args:
        options: of the read, those of SQL included.
    """
    given = GivenOptions.of(options)
    if not (_ENTRY in options or given.has("table")):
        return False
    is_cdc = given.value("cdc") and given.value("cdc_format") is not CdcFormat.CHANGELOG
    return not (is_cdc or given.has("columns") or options.keys() & {_INSTANT, _FUNCTION, _STREAM})


def check_declared(options: Mapping[str, str], schema: StructType) -> None:
    """Check that the columns of ``CREATE TABLE`` are columns of the table at its location.

    Args:
        options: of the read.
        schema: the columns of the table.

    Raises:
        InvalidOptionError: a column does not exist, has another type, or may be several.
    """
    entry = _Entry.of_read(options)
    if entry is None or not entry.is_new:
        return
    columns = StructType.fromJson({"fields": entry.fields})
    try:
        names = match_names(columns.names, schema.names)
    except SchemaEvolutionError as error:
        raise InvalidOptionError(f"CREATE TABLE: {error.found}") from error
    types = {field.name: field.dataType.simpleString() for field in schema}
    problems = []
    for field in columns:
        stored = types[names[field.name]] if field.name in names else None
        declared = field.dataType.simpleString()
        if stored is None:
            problems.append(f"it has no column {field.name}")
        elif stored != declared:
            problems.append(f"its column {field.name} is {stored}, not {declared}")
    if problems:
        raise InvalidOptionError(
            f"CREATE TABLE contradicts the table at its location: {'; '.join(problems)}",
            advice="Correct these columns, or leave all of them out",
        )
