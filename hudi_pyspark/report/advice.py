"""Findings about a table's maintenance: what to compact, cluster, clean and archive."""

import statistics
from collections.abc import Iterator
from typing import Any

from hudi_pyspark.doctor.finding import Finding, Severity
from hudi_pyspark.inspection.statistics import SMALL_FILE_BYTES
from hudi_pyspark.report.facts import Facts
from hudi_pyspark.wording import byte_text, counted, duration_text

_CHECK = "maintenance"
# Statistics of `Inspection.statistics` above which maintenance is due; docs/looking-inside.md lists
# them. Small files count as a share of the base files, older bytes as a share of the base bytes.
DUE = {
    "log_to_base_ratio": 0.5,
    "small_files": 0.5,
    "older_bytes": 1,
    "commits": 10,
    "write_amplification": 10,
}
_MANY_FILES = 10  # small ones per partition, or base files of a table
_SKEW = 10  # bytes of the largest partition, as a multiple of the median
_FEWEST_PARTITIONS = 4  # of a table with skew
_LONG_PENDING = 2 * 3600  # seconds
_MANY_INSTANTS = 100
_NEARLY_ALL_FILES = 0.9  # share of the files that may have a value


def advise(facts: Facts, columns: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield the maintenance that a table needs, with Hudi's commands and settings for it.

    Args:
        facts: about the table.
        columns: of `sections.schema_section`.
    """
    name = "'" + facts.view.config.name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    yield from _sizes(facts.statistics, name)
    yield from _skew(facts)
    yield from _pending(facts, name)
    yield from _columns(facts, columns, name)


def _sizes(row: dict[str, Any], name: str) -> Iterator[Finding]:
    ratio = row["log_to_base_ratio"]
    base_bytes = row["base_bytes"]
    if row["log_bytes"] and (ratio is None or ratio > DUE["log_to_base_ratio"]):
        share = "there is no base file yet" if ratio is None else f"{ratio:.0%} of the base files"
        yield _finding(
            Severity.NOTE if ratio is not None and ratio < 1 else Severity.WARNING,
            "compaction",
            f"{byte_text(row['log_bytes'])} wait in {counted(row['log_files'], 'log file')} of "
            f"{counted(row['slices_with_logs'], 'file group')} ({share}); every snapshot query "
            "merges them",
            f"CALL run_compaction(op => 'scheduleAndExecute', table => {name}); for later writes: "
            "hoodie.compact.inline=true",
        )
    files = row["base_files"]
    small = row["small_files"]
    if small > max(DUE["small_files"] * files, row["partitions"]):
        are_many = small >= _MANY_FILES * row["partitions"]
        yield _finding(
            Severity.WARNING if are_many else Severity.NOTE,
            "small files",
            f"{small:,} of {counted(files, 'base file')} in "
            f"{counted(row['partitions'], 'partition')} are below {byte_text(SMALL_FILE_BYTES)}; "
            f"the average is {byte_text(base_bytes // files)}",
            f"CALL run_clustering(table => {name}); for later writes: "
            "hoodie.clustering.inline=true",
        )
    if row["older_bytes"] > DUE["older_bytes"] * base_bytes and row["commits"] > DUE["commits"]:
        older = byte_text(row["older_bytes"])
        base = byte_text(base_bytes)
        message = f"older slices take {older}, base files {base}"
        advice = (
            f"CALL run_clean(table => {name}, retain_commits => 10). Writers clean by themselves: "
            "look whether they set hoodie.clean.automatic or hoodie.clean.commits.retained"
        )
        yield _finding(Severity.NOTE, "cleaning", message, advice)
    if (row["write_amplification"] or 0) > DUE["write_amplification"]:
        changed, written = row["changed_records"], row["written_records"]
        message = f"commits changed {changed:,} records and wrote {written:,}"
        advice = "MERGE_ON_READ, or smaller files: hoodie.parquet.max.file.size"
        yield _finding(Severity.NOTE, "write amplification", message, advice)


def _skew(facts: Facts) -> Iterator[Finding]:
    sizes = facts.partitions["bytes"].to_pylist()
    if len(sizes) < _FEWEST_PARTITIONS:
        return
    largest = max(sizes)
    median = statistics.median(sizes)
    if largest > max(_SKEW * median, SMALL_FILE_BYTES):
        yield _finding(
            Severity.NOTE,
            facts.partitions["partition_path"][sizes.index(largest)].as_py(),
            f"the partition has {byte_text(largest)}, the median one {byte_text(int(median))}",
            "Partition by a column with more even values, or cluster this partition by the columns "
            "that queries filter on: hoodie.clustering.plan.strategy.sort.columns",
        )


def _pending(facts: Facts, name: str) -> Iterator[Finding]:
    for instant in facts.view.timeline.pending:
        age = facts.age(instant.requested_time) or 0
        if age >= _LONG_PENDING:
            yield _finding(
                Severity.WARNING,
                instant.requested_time,
                f"{instant.action} {instant.state.name.lower()} for {duration_text(age)}",
                f"CALL run_compaction(op => 'run', table => {name})"
                if instant.action == "compaction"
                else "If its writer is gone, the next writer of Apache Hudi rolls it back and "
                "deletes its rows (hoodie.clean.failed.writes.policy=EAGER, or LAZY with several "
                "writers). Before that, make sure that hudi-py doctor finds no problem in the "
                "timeline",
            )
    active = len(facts.view.timeline.instants)
    if active > _MANY_INSTANTS:
        message = f"the active timeline has {active:,} instants; every reader and writer lists them"
        advice = (
            f"CALL archive_commits(table => {name}). Writers archive by themselves: look whether "
            "they set hoodie.archive.automatic or hoodie.keep.max.commits"
        )
        yield _finding(Severity.NOTE, "archiving", message, advice)


def _columns(facts: Facts, columns: list[dict[str, Any]], name: str) -> Iterator[Finding]:
    """Find column statistics that rule out no file, because nearly all files have all values."""
    keys = {*facts.view.config.record_key_fields, *facts.view.config.partition_fields}
    useless = [
        column["column"]
        for column in columns
        if (column["files_per_value"] or 0) >= _NEARLY_ALL_FILES and column["column"] not in keys
    ]
    if useless and facts.statistics["base_files"] >= _MANY_FILES:
        names = ", ".join(useless[:5]) + (", …" if len(useless) > 5 else "")
        yield _finding(
            Severity.NOTE,
            "column statistics",
            f"conditions on {counted(len(useless), 'column')} ({names}) rule out no file: nearly "
            "all files have nearly all values",
            "If queries filter on one of them, cluster by it: CALL run_clustering(table => "
            f"{name}, order => 'COLUMN'); hoodie.metadata.index.column.stats.column.list keeps the "
            "index to columns that help",
        )


def _finding(severity: Severity, subject: str, message: str, advice: str) -> Finding:
    return Finding(severity, _CHECK, subject, message, advice)
