"""What SQL says about a read: options that the catalogs in `jvm/` pass on, and their meaning.

A catalog knows nothing of this package's options. It passes on what an entry of a metastore says,
the instant of ``VERSION AS OF`` and ``TIMESTAMP AS OF``, and the options of ``WITH (…)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.options.instant_text import OF_THE_SESSION
from hudi_pyspark.options.option import QueryType
from hudi_pyspark.options.read_options import BY_NAME, key_of
from hudi_pyspark.storage_options import CREDENTIALS_PROVIDER, SPARK_PREFIX, is_storage_option

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_PREFIX = "hudi-py.sql."
_STORED = f"{_PREFIX}stored."  # before the name of a storage property of an entry
_FORMAT = f"{_PREFIX}format"  # Hive's input format of an entry that Spark does not know
_INSTANT = f"{_PREFIX}instant"
_DECLARED = f"{_PREFIX}declared"  # the columns of CREATE TABLE, a line each: name, \0, type
_FUNCTION = f"{_PREFIX}function"  # the name of a table function of Apache Hudi
_ARGUMENT = f"{_PREFIX}argument."  # before the position of an argument, from 0
TABLE_FUNCTIONS = ("hudi_query", "hudi_table_changes")
# Apache Hudi's sync writes it into the entries `…_ro` and `…_rt`.
_READ_OPTIMIZED = "hoodie.query.as.ro.table"
_FORMAT_OF_BASE_FILES = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
# What an entry may not say, since others may have written it: functions that this reader imports,
# and folders of its disk.
_NEVER_STORED = (
    "path",
    "payload_merger",
    "merge_cache_folder",
    key_of("spill_folder"),
    CREDENTIALS_PROVIDER,
    f"{SPARK_PREFIX}{CREDENTIALS_PROVIDER}",
)
_UNSUPPORTED = f"[{UnsupportedQueryError.code}]"
_INVALID = f"[{InvalidOptionError.code}]"
SQL_WORDS = {
    "STORED": _STORED,
    "FORMAT": _FORMAT,
    "INSTANT": _INSTANT,
    "DECLARED": _DECLARED,
    "FUNCTION": _FUNCTION,
    "ARGUMENT": _ARGUMENT,
    "SESSION": OF_THE_SESSION,
    "READ_ONLY": f"{_UNSUPPORTED} %s is not supported for %s: hudi-pyspark only reads tables of "
    "Apache Hudi. Use Apache Hudi, format('hudi'), in a session with its "
    "bundle",
    "NO_PATH": f"{_INVALID} CREATE TABLE %s has no path: hudi-pyspark makes entries of tables that "
    "exist. Give LOCATION, or OPTIONS (path '...')",
    "NO_TABLE": f"{_INVALID} %s: %s is neither a path, which has a slash, nor the name of a table "
    "of Apache Hudi in the metastore: %s",
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


def plain_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read without those of SQL, whose meaning is added.

    Options of the query take precedence over those that an entry stores. An entry has no say in
    functions to import and in folders of the local disk.

    Raises:
        InvalidOptionError: the query has two instants.
    """
    plain = {name: value for name, value in options.items() if not _is_of_sql(name)}
    if len(plain) == len(options):
        return plain
    by_name = {name.lower(): value for name, value in options.items() if _is_of_sql(name)}
    stored = {
        name.removeprefix(_STORED): value
        for name, value in by_name.items()
        if name.startswith(_STORED)
    }
    if _FUNCTION in by_name:
        plain |= _function_options(by_name)
    is_read_optimized = stored.pop(_READ_OPTIMIZED, "")
    if not is_read_optimized and by_name.get(_FORMAT) == _FORMAT_OF_BASE_FILES:
        is_read_optimized = "true"  # as Hive reads the entry
    if is_read_optimized:
        is_optimized = is_read_optimized.lower() == "true"
        kind = QueryType.READ_OPTIMIZED if is_optimized else QueryType.SNAPSHOT
        stored = {name: text for name, text in stored.items() if _key(name) != _key("query_type")}
        stored["query_type"] = kind.value
    instant = by_name.get(_INSTANT)
    if instant is not None:
        for name, value in plain.items():
            if _key(name) == _key("as_of") and value != instant:
                raise InvalidOptionError(
                    f"the query has two instants, {instant} and {value}: give one of them"
                )
        plain[key_of("as_of")] = instant
    given = {_key(name) for name in plain}
    for name, value in stored.items():
        is_option = name in BY_NAME or name.startswith("hoodie.") or is_storage_option(name)
        if is_option and _key(name) not in (*_NEVER_STORED, *given):
            plain[name] = value
    return plain


def _function_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read that a call of a table function stands for.

    Raises:
        InvalidOptionError: the function does not take these arguments.
    """
    function = options[_FUNCTION]
    arguments = [options[name] for name in sorted(options) if name.startswith(_ARGUMENT)]
    match [function, *arguments]:
        case ["hudi_query", _, "snapshot" | "read_optimized" as query_type]:
            return {"query_type": query_type}
        case ["hudi_table_changes", _, "latest_state" | "cdc" as kind, begin, *end] if len(end) < 2:
            changes = {"query_type": QueryType.INCREMENTAL.value, "begin": begin}
            changes |= {"end": end[0]} if end else {}
            return {**changes, "cdc": str(kind == "cdc").lower()}
    raise InvalidOptionError(
        f"{function} does not take the arguments {', '.join(map(repr, arguments))}. Write "
        "hudi_query(table, 'snapshot'), hudi_query(table, 'read_optimized') or "
        "hudi_table_changes(table, 'latest_state', begin), with 'cdc' for images, and with an end"
    )


def _is_of_sql(name: str) -> bool:
    return name.lower().startswith(_PREFIX)


def _key(name: str) -> str:
    option = BY_NAME.get(name.lower())
    return name.lower() if option is None else option.key


def check_declared(options: Mapping[str, str], schema: StructType) -> None:
    """Check that the columns of ``CREATE TABLE`` are columns of the table at its location.

    Args:
        options: of the read.
        schema: the columns of the table.

    Raises:
        InvalidOptionError: a column does not exist, or has another type.
    """
    types = {field.name.lower(): field.dataType.simpleString() for field in schema}
    problems = []
    for line in options.get(_DECLARED, "").splitlines():
        name, _, declared = line.partition("\0")
        stored = types.get(name.lower())
        if stored is None:
            problems.append(f"it has no column {name}")
        elif stored != declared:
            problems.append(f"its column {name} is {stored}, not {declared}")
    if problems:
        raise InvalidOptionError(
            f"CREATE TABLE contradicts the table at its location: {'; '.join(problems)}. Correct "
            "these columns, or leave all of them out"
        )
