"""Options that this package does not have: which are ignored, and which are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.messages import warn
from hudi_pyspark.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Collection

    from hudi_pyspark.options.option import Option

# Query features of Apache Hudi, and a switch of hudi-rs, that would change the rows if they were
# ignored; by key, or by a prefix of keys that ends with a dot.
_REFUSED = {
    "hoodie.read.blob.inline.mode": "blobs are always read with their content, as CONTENT does",
    "hoodie.datasource.read.paths": "load the base path and filter on partition columns instead",
    "hoodie.datasource.read.incr.filters": "use .filter() on the DataFrame instead",
    "hoodie.write.record.merge.custom.implementation.classes": "Java mergers cannot run here",
    "hoodie.datasource.write.record.merger.impls": "Java mergers cannot run here",
    "hoodie.read.use.read_optimized.mode": "give hoodie.datasource.query.type=read_optimized",
    "hoodie.datasource.write.": "this source only reads",
    "hoodie.datasource.read.table.valued.function.": "table-valued functions need Apache Hudi",
}
# Settings of the JVM reader and of hudi-rs that change their speed or code path, never the rows.
HUDI_RS_IGNORED: Final = frozenset(
    {
        "hoodie.plan.listing.parallelism",
        "hoodie.read.listing.parallelism",
        "hoodie.read.file.group.reader.version",
        "hoodie.read.file.slice.read.concurrency",
        "hoodie.read.input.partitions",
        "hoodie.read.scan.max.memory.size",
    }
)
# Options that Spark itself passes to every source.
SPARK_OPTIONS: Final = frozenset({"path", "paths", "inferschema", "header", "mergeschema"})
_IGNORED = HUDI_RS_IGNORED | SPARK_OPTIONS
_IGNORED_PREFIXES = (
    "hoodie.bucket.index.",
    "hoodie.index.bucket.engine",
    "hoodie.common.diskmap.",
    "hoodie.common.spillable.",
    "hoodie.compaction.lazy.block.read",
    "hoodie.compaction.reverse.log.read",
    "hoodie.datasource.read.file.index.listing.",
    "hoodie.datasource.read.streaming.table.version",
    "hoodie.datasource.read.use.new.parquet.file.format",
    "hoodie.file.group.reader.enabled",
    "hoodie.file.index.enable",
    "hoodie.filesystem.view.",
    "hoodie.hfile.block.cache.",
    "hoodie.memory.",
    "hoodie.metadata.",
    "hoodie.optimized.log.blocks.scan.enable",
    "spark.",
)
# Likeness of a key and its misspelling by a letter or two. Keys of Apache Hudi are less alike:
# the nearest are hoodie.bucket.index.num.buckets and hoodie.bucket.index.max.num.buckets (0.94).
_MISSPELT = 0.95


# Options here, and their names in Delta Lake, delta-rs, Iceberg, PyIceberg and older hudi-rs.
OTHER_WORDS: Final = {
    "as_of": "timestampAsOf versionAsOf version snapshot-id snapshot_id as-of-timestamp branch tag "
    "as_of_timestamp timestamp",
    "begin (of a stream: start_offset)": "startingVersion startingTimestamp start-snapshot-id "
    "start_timestamp stream-from-timestamp",
    "end": "endingVersion endingTimestamp end-snapshot-id end_timestamp",
    "cdc=true": "readChangeFeed readChangeData",
    "filter": "filters partitions row_filter",
    "columns": "selected_fields projection",
    "batch_rows": "batch_size",
    "maxCommitsPerTrigger": "maxFilesPerTrigger",
}
_NAME_HERE = {word.lower(): here for here, words in OTHER_WORDS.items() for word in words.split()}


def check_other_option(name: str, value: str, options: Collection[Option]) -> None:
    """Decide about an option that this package does not have.

    It is accepted if it concerns Spark, or cannot change the rows, unless it looks like a key of
    this package that is misspelt. Such a key, and another one of Apache Hudi, is ignored with a
    warning, and any other name is refused.

    Args:
        name: of the option, in lower case.
        value: of the option.
        options: that this package has.

    Raises:
        InvalidOptionError: the name is unknown.
        UnsupportedQueryError: Apache Hudi's option would change the rows.
    """
    prefix = next((p for p in _REFUSED if p.endswith(".") and name.startswith(p)), "")
    reason = _REFUSED.get(name) or _REFUSED.get(prefix)
    is_content = name == "hoodie.read.blob.inline.mode" and value.upper() == "CONTENT"
    if reason is not None and value and not is_content:
        raise UnsupportedQueryError(f"option {name} is not supported: {reason}")
    if reason is not None or name in _IGNORED:
        return
    keys = {alias.lower(): option.key for option in options for alias in option.names}
    if name.startswith(_IGNORED_PREFIXES):
        misspelt = nearest(name, keys, cutoff=_MISSPELT)
        if misspelt:
            warn(f"unknown option {name} is ignored; did you mean {misspelt}?")
        return
    if name in _NAME_HERE:
        raise InvalidOptionError(
            f"unknown option {name!r}: it is called {_NAME_HERE[name]} here",
            advice="Hudi has instants, not versions: inspect.commits() lists them",
        )
    is_key = name.startswith("hoodie.")
    short_names = {n.lower(): n for option in options for n in option.names if "." not in n}
    near = nearest(name, {} if is_key else short_names)
    near = near or nearest(name, keys)
    hint = f"; did you mean {near}?" if near else ""
    if is_key:
        warn(f"unknown option {name} is ignored{hint}")
        return
    known = f" (known: {', '.join(sorted(short_names.values()))}, and the keys of Apache Hudi)"
    raise InvalidOptionError(f"unknown option {name!r}{hint or known}")
