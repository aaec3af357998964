"""What SQL says about a read: options that the catalogs in `jvm/` pass on, and their meaning.

A catalog knows nothing of this package's options. It passes on what an entry of a metastore says,
the instant of ``VERSION AS OF`` and ``TIMESTAMP AS OF``, and the options of ``WITH (…)``. Its names
for them begin with `_PREFIX`. They count only from a catalog, whose source is `CatalogDataSource`.
In the options of any other read they are ignored: see `options_of_users`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from pyspark.sql.types import StructType

from hudi_pyspark.catalogs.entry_columns import EntryColumns
from hudi_pyspark.catalogs.hive_entry import READ_OPTIMIZED, reads_base_files
from hudi_pyspark.errors import InvalidOptionError, PathNotFoundError, UnsupportedQueryError
from hudi_pyspark.format.timeline.instant import moment_of
from hudi_pyspark.messages import logger
from hudi_pyspark.options.instant_text import OF_THE_SESSION
from hudi_pyspark.options.option import CdcFormat, QueryType
from hudi_pyspark.options.read_options import BY_NAME, INSPECT, GivenOptions, key_of
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.hints import OPTION, REQUEST
from hudi_pyspark.storage.options import is_storage_option

_INTERNAL = f"{SHORT_NAME}."  # begins each option that this package gives, and no user
_PREFIX = f"{_INTERNAL}sql."
_STORED = f"{_PREFIX}stored."  # before the name of a storage property of an entry
_FORMAT = f"{_PREFIX}format"  # Hive's input format of an entry that Spark does not know
_COLUMNS = f"{_PREFIX}columns"  # those of an entry or of CREATE TABLE, as Spark's JSON of a schema
_PARTITIONS = f"{_PREFIX}partitions"  # the partition columns among them, with \0 between
_STREAM = f"{_PREFIX}stream"  # whether a stream reads a table by name
_INSTANT = f"{_PREFIX}instant"
_DECLARED = f"{_PREFIX}declared"  # the columns of CREATE TABLE, as Spark's JSON of a struct
_FUNCTION = f"{_PREFIX}function"  # the name of a table function of Apache Hudi
# Spark's words for CHANGES: the mode of deduplication, a blank, and the range.
_CHANGES = f"{_PREFIX}changes"
_ARGUMENT = f"{_PREFIX}argument."  # before the position of an argument, from 0
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
_log = logger(__name__)
_VERSIONS = re.compile(
    r"VersionRange\[startingVersion=(.*), endingVersion=Optional(?:\.empty|\[(.*)\]), "
    r"startingBoundInclusive=(true|false), endingBoundInclusive=(true|false)\]"
)
_ALL_VERSIONS = "UnboundedRange[]"
_UNSUPPORTED = f"[{UnsupportedQueryError.code}]"
_INVALID = f"[{InvalidOptionError.code}]"
SQL_WORDS = {
    "STORED": _STORED,
    "FORMAT": _FORMAT,
    "COLUMNS": _COLUMNS,
    "PARTITIONS": _PARTITIONS,
    "STREAM": _STREAM,
    "INSTANT": _INSTANT,
    "DECLARED": _DECLARED,
    "FUNCTION": _FUNCTION,
    "ARGUMENT": _ARGUMENT,
    "CHANGES": _CHANGES,
    "SESSION": OF_THE_SESSION,
    "INTERNAL": _INTERNAL,
    "READ_ONLY": f"{_UNSUPPORTED} %s is not supported for %s: hudi-pyspark only reads tables of "
    "Apache Hudi. Use Apache Hudi, format('hudi'), in a session with its "
    "bundle",
    "NO_PATH": f"{_INVALID} CREATE TABLE %s has no path: hudi-pyspark makes entries of tables that "
    "exist. Give LOCATION, or OPTIONS (path '...')",
    "NO_FOLDER": f"[{PathNotFoundError.code}] CREATE TABLE %s LOCATION '%s': Spark puts a relative "
    "location below the folder of the database, and %s does not exist: give the whole path",
    "NO_TABLE": f"{_INVALID} %s: %s is neither a path, which has a slash, nor the name of a table "
    "of Apache Hudi in the metastore: %s",
    "NO_TEXT": f"{_INVALID} %s is refused: %s. Give each argument as a constant, in its place: a "
    "text, a whole number, a boolean, a day or a time",
    "NO_FILES": f"{_INVALID} %s: spark.sql.runSQLOnFiles is false, so SQL does not read the path "
    "%s. Give the name of a table",
    "NO_SOURCE": f"{_UNSUPPORTED} %s: the session has another source with the name {SHORT_NAME} "
    "than hudi_pyspark.register gave it. Call hudi_pyspark.register(spark) once more",
    "NO_OPTION": f"{_INVALID} unknown option '%s': names that begin like this are not for users",
    "LIKE_OTHER": f"{_INVALID} CREATE TABLE %s LIKE %s would make a table without files: "
    "hudi-pyspark makes entries of tables that exist. Use CREATE TABLE … USING hudi LOCATION '…'",
    "LIKE_ENTRY": f"{_UNSUPPORTED} CREATE TABLE %s LIKE %s is refused, since the metastore may "
    "have other columns than a table of Apache Hudi. Use CREATE TABLE … USING parquet AS SELECT * "
    "FROM … LIMIT 0, or CREATE TABLE … USING hudi LOCATION '…' for another entry of the same table",
    "OVERWRITES": f"{_UNSUPPORTED} INSERT OVERWRITE DIRECTORY %s is refused, since Spark deletes "
    "what is there, and this is a table of Apache Hudi: %s. Give another folder, or delete the "
    "table yourself",
    "OTHER_COLUMNS": f"{_INVALID} the options of a query of %s change its columns, which SQL does "
    "not allow: %s would become %s. Use VERSION AS OF for an instant, hudi_table_changes for a "
    "range, or a view with these options",
    "DROPS_ENTRY": f"{_UNSUPPORTED} DROP DATABASE %s is refused, since it has %s, the entry of a "
    "table of Apache Hudi. Use DROP TABLE first, which leaves the files alone",
    "DROPS_FOLDER": f"{_UNSUPPORTED} DROP DATABASE %s is refused, since Spark deletes its folder, "
    "which holds a table of Apache Hudi: %s. Move the table, or delete it yourself",
    "DROPS_FILES": f"{_UNSUPPORTED} DROP TABLE %s is refused, since the metastore would delete the "
    "files of a table of Apache Hudi: %s. Drop the entry with the tools of the metastore, without "
    "its data",
}
"""The constants that the catalogs in Java share with Python, by name; messages have ``%s``."""


def options_of_users(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read without the names that only this package gives.

    A client of Spark Connect gives two of them, which count if it has signed them: see `hints.py`.
    """
    ignored = sorted(
        name
        for name in options
        if name.lower().startswith(_INTERNAL) and name not in (OPTION, REQUEST)
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
    entry = _entry_options(by_name)
    if _FUNCTION in by_name:
        arguments = [by_name[name] for name in sorted(by_name) if name.startswith(_ARGUMENT)]
        plain |= function_options(by_name[_FUNCTION], arguments)
    if _CHANGES in by_name:
        plain = {n: text for n, text in plain.items() if not n.lower().startswith(_OF_CHANGES)}
        plain |= _changes_options(by_name[_CHANGES])
    if (instant := by_name.get(_INSTANT)) is not None:
        for name, value in plain.items():
            if _key(name) == _key("as_of") and value != instant:
                raise InvalidOptionError(
                    f"the query has two instants, {instant} and {value}: give one of them"
                )
        plain[key_of("as_of")] = instant
    if INSPECT in plain:
        return plain
    given = {_key(name) for name in plain}
    return plain | {name: value for name, value in entry.items() if _key(name) not in given}


def _entry_options(by_name: Mapping[str, str]) -> dict[str, str]:
    """Return the options of reads that an entry of a metastore stores.

    Args:
        by_name: the options of SQL, with names in lower case.

    Raises:
        InvalidOptionError: ``CREATE TABLE`` has options that an entry may not store.
    """
    stored = {
        name.removeprefix(_STORED): value
        for name, value in by_name.items()
        if name.startswith(_STORED) and name != f"{_STORED}path"
    }
    refused = [
        name
        for name in stored
        if is_storage_option(name) or _key(name) in _NEVER_STORED or name.startswith(_INTERNAL)
    ]
    if refused and _DECLARED in by_name:
        raise InvalidOptionError(
            f"CREATE TABLE cannot store {', '.join(refused)}: an entry names a table, and whoever "
            "may change the metastore could otherwise send the credentials of readers elsewhere, "
            "or run code in readers. Give these options to each query or view, or set storage "
            "options for all queries in the environment, as HOODIE_ENV_fs_DOT_s3a_DOT_endpoint"
        )
    is_read_optimized = reads_base_files(stored, by_name.get(_FORMAT, ""))
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
        f"{function} does not take the arguments {', '.join(map(repr, arguments))}. Write "
        "hudi_query(table, 'snapshot'), hudi_query(table, 'read_optimized'), "
        "hudi_table_changes(table, 'latest_state', begin), with 'cdc' for images and with an end, "
        "hudi_query_timeline(table, 'true') with archived instants, or "
        "hudi_filesystem_view(table, folders)"
    )


def _is_flag(arguments: Sequence[str]) -> bool:
    """Return whether all arguments are true or false, and no numbers."""
    return all(text.lower() in ("true", "false") for text in arguments)


def _has_time(arguments: Sequence[str]) -> bool:
    """Return whether an argument was a day or a time, which is no folder."""
    return any(text.endswith(OF_THE_SESSION) for text in arguments)


def _changes_options(text: str) -> dict[str, str]:
    """Return the options of a read that ``CHANGES`` stands for.

    Raises:
        UnsupportedQueryError: net changes are requested.
        InvalidOptionError: the range is not one of versions, or a version is not an instant.
    """
    mode, _, bounds = text.partition(" ")
    if mode == _NET_CHANGES:
        raise UnsupportedQueryError(
            "CHANGES has every change of a row, net changes are not supported: use "
            "hudi_table_changes(table, 'latest_state', begin)"
        )
    changes = {"query_type": QueryType.INCREMENTAL.value, "cdc": "true"}
    changes["cdc_format"] = CdcFormat.CHANGELOG.value
    if bounds == _ALL_VERSIONS:
        return {**changes, "begin": "earliest"}
    versions = _VERSIONS.fullmatch(bounds)
    if versions is None:
        raise InvalidOptionError(
            f"CHANGES has a range that is not one of versions: {bounds}. Give the requested times "
            "of commits: CHANGES FROM VERSION 20261121062657910 TO VERSION …"
        )
    first, last, has_first, has_last = versions.groups()
    # The begin of a range is exclusive, its end inclusive.
    changes["begin"] = _before(first) if has_first == "true" else first
    if last is not None:
        changes["end"] = last if has_last == "true" else _before(last)
    return changes


def _before(version: str) -> str:
    """Return an instant before a version, and after all earlier ones of its precision.

    Raises:
        InvalidOptionError: the version is not an instant.
    """
    moment = moment_of(version)
    if moment is None:
        raise InvalidOptionError(
            f"CHANGES: version {version!r} is not an instant. Give the requested time of a commit, "
            "as _commit_version has it"
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
        if not given[_CHANGES].endswith(_ALL_VERSIONS):
            # Versions are requested times, offsets completion times.
            is_exclusive = "startingBoundInclusive=false" in given[_CHANGES]
            options["start_offset"] = (is_exclusive and completion_time(begin)) or begin
    return options


def _is_of_sql(name: str) -> bool:
    return name.lower().startswith(_PREFIX)


def _key(name: str) -> str:
    option = BY_NAME.get(name.lower())
    return name.lower() if option is None else option.key


def is_of_entry(options: Mapping[str, str]) -> bool:
    """Return whether Spark's metastore has an entry of the table, or is about to get one."""
    return _COLUMNS in options


def entry_columns(options: Mapping[str, str]) -> EntryColumns:
    """Return what an entry of Spark's metastore, or ``CREATE TABLE``, says about columns."""
    fields = json.loads(options[_COLUMNS])["fields"]
    comments = {field["name"]: field["metadata"].get("comment") for field in fields}
    return EntryColumns(
        partitions=tuple(filter(None, options.get(_PARTITIONS, "").split("\0"))),
        is_of_hive=_FORMAT in options,
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
    if not (is_of_entry(options) or given.has("table")):
        return False
    is_cdc = given.value("cdc") and given.value("cdc_format") is not CdcFormat.CHANGELOG
    return not (is_cdc or given.has("columns") or options.keys() & {_INSTANT, _FUNCTION, _STREAM})


def check_declared(options: Mapping[str, str], schema: StructType) -> None:
    """Check that the columns of ``CREATE TABLE`` are columns of the table at its location.

    Args:
        options: of the read.
        schema: the columns of the table.

    Raises:
        InvalidOptionError: a column does not exist, or has another type.
    """
    if _DECLARED not in options:
        return
    types = {field.name.lower(): field.dataType.simpleString() for field in schema}
    problems = []
    for field in StructType.fromJson(json.loads(options[_DECLARED])):
        stored = types.get(field.name.lower())
        declared = field.dataType.simpleString()
        if stored is None:
            problems.append(f"it has no column {field.name}")
        elif stored != declared:
            problems.append(f"its column {field.name} is {stored}, not {declared}")
    if problems:
        raise InvalidOptionError(
            f"CREATE TABLE contradicts the table at its location: {'; '.join(problems)}. Correct "
            "these columns, or leave all of them out"
        )
