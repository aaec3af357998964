"""Read options by the keys of hudi-rs, releases 0.1 to 0.5, for those who come from there."""

from __future__ import annotations

READ_OPTIMIZED_MODE = "hoodie.read.use.read_optimized.mode"

# Its key to the key or alias of an option that means the same here.
HUDI_RS_KEYS = {
    "hoodie.read.query.type": "hoodie.datasource.query.type",
    "hoodie.read.as.of.timestamp": "as.of.instant",
    "hoodie.read.start.timestamp": "hoodie.datasource.read.begin.instanttime",
    "hoodie.read.end.timestamp": "hoodie.datasource.read.end.instanttime",
    "hoodie.read.file_group.start_timestamp": "hoodie.datasource.read.begin.instanttime",
    "hoodie.read.file_group.end_timestamp": "hoodie.datasource.read.end.instanttime",
    "hoodie.read.stream.batch_size": "batch_rows",
    READ_OPTIMIZED_MODE: READ_OPTIMIZED_MODE,  # a switch there, a query type here
}
# They change its speed or its code path, never its rows.
HUDI_RS_IGNORED = frozenset(
    {
        "hoodie.plan.listing.parallelism",
        "hoodie.read.file.group.reader.version",
        "hoodie.read.file.slice.read.concurrency",
        "hoodie.read.input.partitions",
        "hoodie.read.listing.parallelism",
        "hoodie.read.scan.max.memory.size",
    }
)
