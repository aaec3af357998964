"""The sections of a report: what the table is, what happened, where its bytes are, its columns."""

import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.type_text import type_text
from hudi_pyspark.errors import HudiError
from hudi_pyspark.exact_decimals import parse_decimal
from hudi_pyspark.format.timeline.instant import WriteOperationType, moment_of
from hudi_pyspark.inspection.commits import KnownCommit, counts_of, schema_history
from hudi_pyspark.inspection.files import committed_by_path
from hudi_pyspark.inspection.statistics import SMALL_FILE_BYTES
from hudi_pyspark.report.facts import Facts
from hudi_pyspark.short_name import SHORT_NAME

# Lanes of the timeline.
_SERVICES = ("compaction", "log compaction", "clustering", "clean", "rollback", "savepoint")
# How much a page shows.
_MOST_MARKS = 1_000  # instants
_MOST_COMMITS = 200  # with details
_MOST_WRITTEN = 8  # partitions in the details of a commit
_MOST_DAYS = 400
_LONGEST_VALUE = 200  # characters
_WRITTEN = ("records", "written_bytes")
_CHANGED = ("inserts", "updates", "deletes")
_MOST_PARTITIONS = 200
_MOST_GROUPS = 100
LARGEST_FILE_BYTES = 125_829_120  # hoodie.parquet.max.file.size, 120 MiB
_EDGES = [0, *(1024 << power for power in range(31)), 1 << 62]  # of the histogram: KiB to TiB
_LONGEST_BOUND = 80  # characters
_MOST_CHANGES = 100
_MOST_QUOTED = 20  # instants to choose from, for incremental queries


def head(facts: Facts) -> dict[str, Any]:
    """Return the main facts about the table, the state of its services included."""
    config = facts.view.config
    last = facts.commits[-1] if facts.commits else {}
    time = last.get("completion_time") or last.get("requested_time")
    rows, is_exact = _rows(facts)
    archived = sum(mark["state"] == "archived" for mark in facts.marks)
    services = filter(None, (_service(facts, lane) for lane in _SERVICES))
    return {
        "name": config.name,
        "database": config.database,
        "path": facts.view.storage.describe(""),
        "type": config.table_type.value,
        "version": config.version,
        "record_key_fields": config.record_key_fields,
        "ordering_fields": config.ordering_fields,
        "partition_fields": config.partition_fields,
        "merging": config.merge_mode or config.payload_class.rpartition(".")[2],
        "indexes": [name for name in config.metadata_partitions if name != "files"],
        "has_metadata_table": bool(config.metadata_partitions),
        "timezone": config.timeline_timezone,
        "rows": rows,
        "rows_are_exact": is_exact,
        "last_commit": time,
        "last_commit_age": facts.age(time),
        "last_operation": last.get("operation"),
        "active_instants": len(facts.marks) - archived,
        "archived_instants": archived,
        "services": list(services),
        "listed_by": "storage" if facts.is_listed else "metadata table",
    }


def _service(facts: Facts, lane: str) -> dict[str, Any] | None:
    """Return the state of a table service; None if it never ran and the table may not need it."""
    marks = [mark for mark in facts.marks if mark["lane"] == lane]
    is_needed = lane == "clean" or (lane == "compaction" and facts.view.config.is_merge_on_read)
    if not marks and not is_needed:
        return None
    done = [mark for mark in marks if mark["state"] in ("completed", "archived")]
    last = max((mark["completed"] or mark["instant"] for mark in done), default=None)
    counts = {"completed": len(done), "pending": len(marks) - len(done)}
    name = "cleaning" if lane == "clean" else lane
    return {"service": name, **counts, "last": last, "last_age": facts.age(last)}


def _rows(facts: Facts) -> tuple[int | None, bool]:
    """Return the number of rows, and whether it is exact.

    Commits record the rows of base files. For log files, the number is an estimate: their inserts
    less their deletes. It is None if a base file's commit is no longer known.
    """
    rows = facts.partitions["rows"]
    if not rows.null_count:
        return pc.sum(rows).as_py() or 0, True
    committed = committed_by_path(facts.known_commits)
    bases: list[Any] = facts.slices["base_file"].drop_null().to_pylist()
    if not all(path in committed for path in bases):
        return None, False
    logs = {path for chunk in facts.slices["log_files"].chunks for path in chunk.flatten().tolist()}
    stats = (stat for c in facts.known_commits for _, stat in c.metadata.all_stats())
    changes = (stat.num_inserts - stat.num_deletes for stat in stats if stat.path in logs)
    return max(0, sum(committed[path].rows for path in bases) + sum(changes)), False


def timeline_section(facts: Facts) -> dict[str, Any]:
    """Return the newest instants, and details of the newest commits."""
    newest = zip(facts.commits[-_MOST_COMMITS:], facts.known_commits[-_MOST_COMMITS:], strict=True)
    return {
        "instants": len(facts.marks),
        "marks": facts.marks[-_MOST_MARKS:],
        "commits": [
            {
                **row,
                "changed": changed_records(row),
                "extra_metadata": {k: str(v)[:_LONGEST_VALUE] for k, v in row["extra_metadata"]},
                "by_partition": _by_partition(commit),
            }
            for row, commit in newest
        ],
    }


def changed_records(commit: dict[str, Any]) -> int:
    """Return how many records a commit inserted, updated or deleted; 0 for table services.

    Args:
        commit: a row of `Inspection.commits`.
    """
    is_service = WriteOperationType.parse(commit["operation"]).is_table_service
    return 0 if is_service else sum(commit[name] for name in _CHANGED)


def _by_partition(commit: KnownCommit) -> list[dict[str, Any]]:
    """Return what a commit wrote, the partitions with the most bytes first."""
    rows: list[dict[str, Any]] = [
        {"partition_path": path, "files": len(stats), **counts_of(stats)}
        for path, stats in commit.metadata.write_stats.items()
    ]
    return sorted(rows, key=lambda row: -row["written_bytes"])[:_MOST_WRITTEN]


def growth_section(facts: Facts) -> dict[str, Any]:
    """Return what commits wrote, by day. Table services count as bytes, not as changes."""
    days: dict[str, Counter[str]] = defaultdict(Counter)
    for row in facts.commits:
        moment = moment_of(row["requested_time"])
        if moment is not None:  # a bootstrap has an instant that is not a time
            names = (*_WRITTEN, *_CHANGED) if changed_records(row) else _WRITTEN
            days[moment.date().isoformat()].update({"commits": 1, **{n: row[n] for n in names}})
    all_names = ("commits", *_CHANGED, *_WRITTEN)
    rows = [{"day": day, **{n: sums[n] for n in all_names}} for day, sums in sorted(days.items())]
    return {"days": rows[-_MOST_DAYS:], "known_days": len(rows)}


def storage_section(facts: Facts) -> dict[str, Any]:
    """Return the largest partitions and file groups, and a histogram of the base files."""
    slices = facts.slices
    statistics = facts.statistics
    older = older_bytes(facts.files)
    names = ["partition_path", "file_id", "base_instant_time", "base_bytes", "log_count"]
    groups = [
        {**group, "older_bytes": older.get((group["partition_path"], group["file_id"]), 0)}
        for group in largest_groups(slices.select([*names, "log_bytes"]), _MOST_GROUPS)
    ]
    base_bytes, log_bytes = statistics["base_bytes"], statistics["log_bytes"]
    by_size = [("bytes", "descending"), ("partition_path", "ascending")]
    partitions = facts.partitions.sort_by(by_size)
    names = [name for name in partitions.column_names if name != "partition"]  # the path has it
    shown = partitions.select(names).slice(0, _MOST_PARTITIONS)
    hidden = partitions.slice(_MOST_PARTITIONS)
    sums = {name: pc.sum(hidden[name]).as_py() or 0 for name in ("slices", "bytes", "log_bytes")}
    return {
        "partitions": shown.to_pylist(),
        "other_partitions": {"partitions": hidden.num_rows, **sums},
        "histogram": histogram(slices["base_bytes"]),
        "small_file_bytes": SMALL_FILE_BYTES,
        "largest_file_bytes": LARGEST_FILE_BYTES,
        "groups": groups,
        "read_optimized_bytes": base_bytes,
        "snapshot_bytes": base_bytes + log_bytes,
        "snapshot_factor": (base_bytes + log_bytes) / base_bytes if base_bytes else None,
    }


def largest_groups(slices: pa.Table, most: int) -> list[dict[str, Any]]:
    """Return the ``most`` slices with the most bytes in log files, or else in base files, as dicts.

    Args:
        slices: with columns of `Inspection.file_slices`.
        most: slices to return.
    """
    order = [("log_bytes", "descending"), ("base_bytes", "descending")]
    names = [("partition_path", "ascending"), ("file_id", "ascending")]
    return list(slices.sort_by([*order, *names]).slice(0, most).to_pylist())


def older_bytes(files: pa.Table) -> dict[tuple[str, str], int]:
    """Map (partition path, file id) to the bytes of the group's older base and log files.

    Args:
        files: the table `Inspection.files`.
    """
    is_older = pc.invert(pc.or_(files["in_latest_slice"], pc.equal(files["kind"], "cdc")))
    keys = ["partition_path", "file_id"]
    grouped = files.filter(is_older).group_by(keys).aggregate([("bytes", "sum")]).to_pylist()
    return {(row["partition_path"], row["file_id"]): row["bytes_sum"] for row in grouped}


def histogram(sizes: pa.ChunkedArray) -> list[dict[str, int]]:
    """Count files by size, in ranges that double from 1 KiB on.

    Args:
        sizes: bytes of each file; null for no file.

    Returns:
        A dict for each range from the smallest file's to the largest file's: its edges, the number
        of files, and their bytes.
    """
    known_sizes = np.asarray(sizes.drop_null(), np.int64)
    ranges = np.searchsorted(_EDGES, known_sizes, side="right") - 1
    files = np.bincount(ranges)
    first = int(ranges.min()) if len(ranges) else 0
    return [
        {
            "from": _EDGES[number],
            "to": _EDGES[number + 1],
            "files": int(files[number]),
            "bytes": int(known_sizes[ranges == number].sum()),
        }
        for number in range(first, len(files))
    ]


def schema_section(facts: Facts) -> dict[str, Any]:
    """Return the columns with their statistics, and the newest changes with their commits."""
    table = facts.column_statistics
    history = schema_history(facts.view)
    avro_fields = json.loads(history["avro_schema"][-1].as_py())["fields"] if history else ()
    comments = {field["name"]: str(field["doc"]) for field in avro_fields if field.get("doc")}
    changes = history.drop_columns(["avro_schema"]).to_pylist()
    return {
        "columns": [
            {**_column(field, table), "comment": comments.get(field.name, "")}
            for field in facts.schema
        ],
        "files_with_statistics": pc.count_distinct(table["path"]).as_py(),
        "statistics_problems": facts.problems,
        "sampled_file_groups": facts.sampled_slices.num_rows,
        "changes": changes[-_MOST_CHANGES:],
        "all_changes": len(changes),
    }


def _column(field: pa.Field, statistics: pa.Table) -> dict[str, Any]:
    rows = statistics.filter(pc.equal(statistics["column"], field.name))
    has_counts = rows and not rows["nulls"].null_count
    counts = (rows[name] for name in ("values", "nulls"))
    values, nulls = (pc.sum(counted).as_py() if has_counts else None for counted in counts)
    low, high = (rows[name].drop_null().to_pylist() for name in ("min", "max"))
    order = order_of(field.type, [*low, *high])
    return {
        "column": field.name,
        "type": type_text(field.type),
        "values": values,
        "nulls": nulls,
        "null_share": nulls / values if values else None,
        "min": min(low, key=order)[:_LONGEST_BOUND] if low else None,
        "max": max(high, key=order)[:_LONGEST_BOUND] if high else None,
        "bytes": pc.sum(rows["bytes"]).as_py() or None,
        "files_per_value": files_per_value(rows, order),
    }


def order_of(data_type: pa.DataType, texts: Iterable[str]) -> Callable[[str], Any]:
    """Return the sort key that orders texts of bounds like the values of a type.

    Args:
        data_type: of the column.
        texts: all bounds that will be ordered; if one is not a value of the type, the order is that
            of texts.
    """
    order: Callable[[str], Any] = str
    if pa.types.is_floating(data_type):
        order = float
    elif pa.types.is_integer(data_type) or pa.types.is_decimal(data_type):
        order = parse_decimal
    try:
        for text in texts:
            order(text)
    except ValueError:  # a bound from before the column had this type
        return str
    return order


def files_per_value(rows: pa.Table, order: Callable[[str], Any]) -> float | None:
    """Return the average share of files that a search for one value reads.

    The average is over the minima of the files. 1 means that the statistics rule out no file.

    Args:
        rows: of `Inspection.column_statistics`, for one column.
        order: see `order_of`.

    Returns:
        A share above 0; None if fewer than two files have bounds.
    """
    pairs = [(row["min"], row["max"]) for row in rows.to_pylist() if row["min"] is not None]
    if len(pairs) < 2:
        return None
    lows, highs = (sorted(map(order, bounds)) for bounds in zip(*pairs, strict=True))
    # Read are the files that begin at or below a value, less the files that end below it.
    read_files = sum(bisect_right(lows, value) - bisect_left(highs, value) for value in lows)
    return read_files / len(pairs) ** 2


def reading_section(
    facts: Facts, scan: Callable[..., object], changes: Callable[[], object]
) -> dict[str, Any]:
    """Return code that reads the table, its newest instants, and the queries that are refused.

    Args:
        facts: about the table.
        scan: plans a query; takes the arguments of `HudiTable.scan`.
        changes: plans a query of the table's changes.
    """
    path = facts.view.storage.describe("")
    column = "completion_time" if facts.view.config.has_completion_times else "requested_time"
    commits = facts.commits[-_MOST_QUOTED:]
    instants = [row[column] for row in commits if row[column]]
    begin = instants[-2] if len(instants) > 1 else "earliest"
    load = f'spark.read.format("{SHORT_NAME}")'
    quoted = ascii(path)  # escapes characters that would reorder or hide text on the page
    end = f".load({quoted})"
    queries: dict[str, Callable[[], object]] = {
        "snapshot": scan,
        "read_optimized": lambda: scan(query_type="read_optimized"),
        "incremental": lambda: scan(begin="earliest"),
    }
    if facts.view.config.cdc_enabled:
        queries["changes"] = changes
    if instants:
        queries["time travel"] = lambda: scan(as_of=commits[-1]["requested_time"])
    refusals = {name: _refusal(query) for name, query in queries.items()}
    return {
        "spark": {
            "snapshot": f"{load}{end}",
            "incremental": f'{load}.option("begin", "{begin}"){end}',
        },
        "python": {
            "open": f"from hudi_pyspark import HudiTable\n\ntable = HudiTable({quoted})",
            "snapshot": "rows = table.scan().to_arrow()  # or pandas, polars, duckdb",
            "incremental": f'changed = table.scan(begin="{begin}").to_arrow()',
        },
        "instants": [
            {"instant": row[column], "changed": changed_records(row)}
            | {name: row[name] for name in ("operation", "records")}
            for row in reversed(commits)
        ],
        "refused": [{"query": name, "reason": text} for name, text in refusals.items() if text],
    }


def _refusal(query: Callable[[], object]) -> str:
    """Return why a query is refused; "" if it is accepted."""
    try:
        query()
    except HudiError as error:
        return str(error)
    return ""
