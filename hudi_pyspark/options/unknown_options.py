"""Options that are not read options of this source: refused, ignored, or reported as unknown."""

from __future__ import annotations

import difflib
import warnings
from typing import TYPE_CHECKING, Final

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.options.option import as_text
from hudi_pyspark.storage_options import is_storage_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_pyspark.options.option import Option

# Query features of Apache Hudi that this release refuses by name instead of ignoring them.
_BLOB_MODE = "hoodie.read.blob.inline.mode"
# A switch of hudi-rs, which would return other rows if it were ignored.
READ_OPTIMIZED_MODE: Final = "hoodie.read.use.read_optimized.mode"
_REFUSED = {
    _BLOB_MODE: "blobs are always read with their content, as CONTENT does",
    "hoodie.datasource.read.paths": "load the base path and filter on partition columns instead",
    "hoodie.datasource.read.incr.filters": "use .filter() on the DataFrame instead",
    "hoodie.write.record.merge.custom.implementation.classes": "Java mergers cannot run here",
    "hoodie.datasource.write.record.merger.impls": "Java mergers cannot run here",
    READ_OPTIMIZED_MODE: "give hoodie.datasource.query.type=read_optimized instead",
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
# The same of hudi-rs.
HUDI_RS_IGNORED: Final = frozenset(
    {
        "hoodie.plan.listing.parallelism",
        "hoodie.read.file.group.reader.version",
        "hoodie.read.file.slice.read.concurrency",
        "hoodie.read.input.partitions",
        "hoodie.read.listing.parallelism",
        "hoodie.read.scan.max.memory.size",
    }
)
# Options that Spark itself hands to every source.
SPARK_OPTIONS: Final = frozenset({"path", "paths", "inferschema", "header", "mergeschema"})


def check_other_option(name: str, value: object, options: Iterable[Option]) -> None:
    """Accept an option (in lower case) that is not a read option, or refuse it.

    An unknown key of Hudi is ignored, as Apache Hudi does, with a warning.
    """
    text = as_text(value)
    if name == _BLOB_MODE and text.upper() == "CONTENT":
        return
    reason = _REFUSED.get(name) or next(
        (why for prefix, why in _REFUSED_PREFIXES.items() if name.startswith(prefix)), None
    )
    if reason is not None and text != "":
        raise UnsupportedQueryError(f"option {name} is not supported: {reason}")
    if reason is not None or name in _IGNORED or name in HUDI_RS_IGNORED or name in SPARK_OPTIONS:
        return
    if name.startswith((*_IGNORED_PREFIXES, "spark.")) or is_storage_option(name):
        return
    is_key = name.startswith("hoodie.")
    known = {name: found.key for found in options for name in found.names}
    short_names = {name: name for name in known if "." not in name}
    near = _nearest(name, {} if is_key else short_names) or _nearest(name, known)
    hint = f"; did you mean {near}?" if near else ""
    if is_key:
        warnings.warn(f"unknown option {name} is ignored{hint}", UserWarning, stacklevel=2)
        return
    raise InvalidOptionError(
        f"unknown option {name!r}{hint} (known: {', '.join(sorted(short_names))}, and the keys of "
        "Apache Hudi)"
    )


def _nearest(name: str, names: Mapping[str, str]) -> str:
    """Return what the nearest name means, in any case; "" for none."""
    lower = {known.lower(): meant for known, meant in names.items()}
    near = difflib.get_close_matches(name, lower, n=1, cutoff=0.6)
    return lower[near[0]] if near else ""
