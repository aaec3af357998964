"""Accepted differences of docs/differences.md, each with a predicate: when it applies."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hudi_pyspark import HudiTable, InvalidOptionError
from verification.histories.compare import Answer, Difference, Failure, Row, difference
from verification.histories.comparison import (
    Comparison,
    NoColumnError,
    all_in,
    are_replaced,
    file_id,
    identity,
    in_files,
    lacks_files,
    without_file_name,
)
from verification.histories.flink_deviations import (
    agree_but_for_compacted_logs,
    flink_served_offline,
    keys_in_delete_blocks,
    logs_of_compacted_groups,
    operation_that_deletes,
    timestamp_key_generator,
    without_partition_columns,
)
from verification.histories.history import LAGS
from verification.histories.instants import Instant, completed_commits
from verification.histories.ours import read_ours
from verification.histories.queries import (
    END,
    METADATA,
    PARTIAL_PAYLOADS,
    QUERY_TYPE,
    Query,
    QueryKind,
    as_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_EVENT_TIME_PAYLOADS = ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")
_GLOBAL_INDEXES = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX")


def explaining_rule(comparison: Comparison) -> str:
    """Number of the rule that explains why two answers differ; "" if none does."""
    if number := _first_rule(comparison):
        return number
    # Partition values that Apache Hudi shows differently may hide a second reason.
    decoded = _with_decoded_folders(comparison)
    candidates = (
        decoded,
        _with_null_for_empty(decoded or comparison),
        _with_null_for_empty(comparison),
        _with_folders_as_shown(comparison),
    )
    for alike in candidates:
        if number := _first_rule(alike):
            return f"D7 {number}"
    number = _first_rule(without_partition_columns(comparison))
    return f"D8 {number}" if number else ""


def _first_rule(comparison: Comparison | None) -> str:
    """Return the number of the first rule that applies; "" if none does."""
    for number, applies in RULES:
        with suppress(NoColumnError):
            if comparison is not None and applies(comparison):
                return number
    return ""


def _with_decoded_folders(c: Comparison) -> Comparison | None:
    """The same comparison with the values of encoded folders decoded on Apache Hudi's side."""
    is_encoded = c.properties.get("hoodie.datasource.write.partitionpath.urlencode") == "true"
    if not is_encoded or not c.query.is_incremental:
        return None
    return replace(c, reference=_with_partition_values(c, c.reference, lambda v: v and unquote(v)))


def _with_null_for_empty(c: Comparison) -> Comparison:
    """The same comparison with null where a partition value is the empty string."""
    return _with_values_everywhere(c, lambda v: v or None)


def _with_folders_as_shown(c: Comparison) -> Comparison | None:
    """The same comparison with the values that Apache Hudi makes of folders without encoding."""
    if c.properties.get("hoodie.datasource.write.partitionpath.urlencode") == "true":
        return None
    is_hive_style = c.properties.get("hoodie.datasource.write.hive_style_partitioning") == "true"

    def shown(value: Any) -> Any:
        if not value:
            return value
        return unquote(value if is_hive_style else value.partition("=")[2] or value)

    return _with_values_everywhere(c, shown)


def _with_values_everywhere(c: Comparison, change: Callable[[Any], Any]) -> Comparison:
    def shown(answer: Answer | Failure) -> Answer | Failure:
        return _with_partition_values(c, answer, change)

    def ask_hudi(query: Query) -> Answer | Failure:
        return shown(c.ask_hudi(query))

    return replace(c, reference=shown(c.reference), ours=shown(c.ours), ask_hudi=ask_hudi)


def _with_partition_values(
    c: Comparison, answer: Answer | Failure, change: Callable[[Any], Any]
) -> Answer | Failure:
    if isinstance(answer, Failure):
        return answer
    fields = [f for f in c.history.partition_fields if c.history.column_type(f) == "string"]
    places = {answer.names.index(field) for field in fields if field in answer.names}
    rows = (tuple(change(v) if n in places else v for n, v in enumerate(r)) for r in answer.rows)
    return replace(answer, rows=tuple(rows))


def _missing_path(refusal: Failure) -> str:
    """Return the path of the committed file that an error misses; "" if it misses none.

    The folder of a partition may have spaces in its name.
    """
    named = re.search(r"(/.+?) was committed", refusal.message)
    return named[1] if named else ""


def _missing_file(c: Comparison) -> bool:
    """D3: a committed file is gone, within the instants that were asked for."""
    if not isinstance(c.ours, Failure) or c.ours.error != "MissingFileError":
        return False
    missing = _missing_path(c.ours)
    if not missing:
        return False
    name = missing.rpartition("/")[2]
    if any(file.name == name for file in c.path.rglob(name)):
        return False
    first = next((i for i in c.instants if _writes(c.path, i, name)), None)
    until = c.query.options.get("as.of.instant") or c.query.end
    return first is not None and (not until or first.requested <= until)


def _writes(path: Path, instant: Instant, name: str) -> bool:
    files = (path / ".hoodie").rglob(f"{instant.requested}*.{instant.action}")
    return any(name.encode() in file.read_bytes() for file in files)


def _partition_value(c: Comparison) -> bool:
    """D7: Apache Hudi takes the value from the folder's name, which cannot hold all of them.

    It shows null for the empty string. Where folders are not encoded it still decodes them,
    and takes what follows the first `=` of a folder without hive style; where they are encoded, it
    does not decode them in incremental queries. What looks like an escape in a folder that is not
    encoded may belong to the value: the file decides, also about a row that a global index left.
    """
    found = c.difference()
    fields = [f for f in c.history.partition_fields if c.history.column_type(f) == "string"]
    if not found or not fields or c.query.kind.value == "cdc":
        return False
    assert isinstance(c.ours, Answer)
    places = {c.ours.names.index(field) for field in fields}
    is_encoded = c.properties.get("hoodie.datasource.write.partitionpath.urlencode") == "true"
    is_hive_style = c.properties.get("hoodie.datasource.write.hive_style_partitioning") == "true"

    def theirs(value: Any) -> Any:
        return unquote(value) if value and is_encoded and c.query.is_incremental else value

    def shown(value: Any) -> Any:
        if not value or is_encoded:
            return value or None
        text = value.partition("=")[2] if "=" in value and not is_hive_style else value
        return text if c.query.is_incremental else unquote(text)

    def alike(row: Row, change: Callable[[Any], Any]) -> Row:
        return tuple(change(v) if n in places else v for n, v in enumerate(row))

    if _pruned_as_null(c, found, places):
        return True
    if _moved_in_unclear_folders(c, found, places, is_encoded=is_encoded):
        return True
    missing = Counter(alike(row, theirs) for row in found.missing.elements())
    return missing == Counter(alike(row, shown) for row in found.extra.elements())


def _pruned_as_null(c: Comparison, found: Difference, places: set[int]) -> bool:
    """Whether a condition made Apache Hudi skip rows with an empty value that it has without it.

    It takes the folder that they share with null for null, although it shows them as the file does.
    """
    if found.missing or not c.query.filter:
        return False
    plain = c.ask_hudi(c.query.with_filter(""))
    return (
        isinstance(plain, Answer)
        and not found.extra - Counter(plain.rows)
        and all(any(row[place] == "" for place in places) for row in found.extra)
    )


def _moved_in_unclear_folders(
    c: Comparison, found: Difference, places: set[int], *, is_encoded: bool
) -> bool:
    """Whether the rows differ in text values alone, and all lie in folders with a percent sign."""
    if "_hoodie_partition_path" not in c.our_names:
        return False
    is_global = c.history.options.get("hoodie.index.type", "") in _GLOBAL_INDEXES
    folders = {c.column(row, "_hoodie_partition_path") for row in (*found.missing, *found.extra)}
    if is_encoded or not is_global or any(unquote(f) == f for f in folders):
        return False

    def others(rows: Counter[Row]) -> Counter[Row]:
        return Counter(
            tuple(value for place, value in enumerate(row) if place not in places)
            for row in rows.elements()
        )

    return others(found.missing) == others(found.extra)


def _archived_begin(c: Comparison) -> bool:
    """D11: before version 8 Apache Hudi leaves out what was archived.

    Its own rows are late records that lose against rows or deletes of archived commits, since its
    time travel to the end of the range does not have them, or versions that later commits have
    replaced: the fallback does not have these, and warns. It has the others in later files. Where
    the cleaner has passed the end of the range, they are in files of the range, and its snapshot
    does not have them.
    """
    found = c.difference()
    active = completed_commits(c.path)
    if not found or c.table_version >= 8 or c.query.kind is not QueryKind.INCREMENTAL:
        return False
    missing, extra = _apart_from_file_names(c, found)
    keys = {identity(c, row) for row in extra}
    unmatched = Counter(r for r in missing.elements() if identity(c, r) not in keys)
    at_end = c.rows_at_end()
    if not at_end and not (in_files(c, unmatched) and are_replaced(c, unmatched)):
        return False
    archived = [i for i in c.instants if active and i < active[0] and i.requested > c.query.begin]
    times = {i.requested for i in archived}
    is_archived = all(c.column(row, "_hoodie_commit_time") in times for row in extra)
    if not is_archived and c.payload in PARTIAL_PAYLOADS:  # values of the archived are in others
        is_archived = all_in(extra, c.rows_at_end())
    return bool(archived) and is_archived


def _apart_from_file_names(c: Comparison, found: Difference) -> tuple[Counter[Row], Counter[Row]]:
    """Return the missing and the extra rows without those that differ in their file name only."""
    both = without_file_name(c, found.missing) & without_file_name(c, found.extra)

    def others(rows: Counter[Row]) -> Counter[Row]:
        left = Counter(rows)
        for row in rows:
            if both[next(iter(without_file_name(c, Counter([row]))))]:
                del left[row]
        return left

    return others(found.missing), others(found.extra)


def _partial_updates(c: Comparison) -> bool:
    """D23: partial updates, which Apache Hudi merges without the rows below; its own time travel
    to the end of the range has the rows that we give."""
    found = c.difference()
    if not found or c.query.kind.value != "incremental":
        return False
    groups = _groups_with_partial_updates(c.path)
    if not all(file_id(c.column(row, "_hoodie_file_name")) in groups for row in found.extra):
        return False
    ids = (file_id(c.column(row, "_hoodie_file_name")) for row in found.missing)
    at_end = c.rows_at_end()
    return (
        all(name in groups or not name for name in ids)
        and all_in(found.extra, at_end)
        and not found.missing & at_end
    )


def _groups_with_partial_updates(path: Path) -> frozenset[str]:
    files = [file.relative_to(path).as_posix() for file in path.rglob(".*.log.*")]
    names = (f for f in files if ".hoodie/" not in f and not f.endswith((".crc", ".cdc")))
    inspect = HudiTable(str(path)).inspect
    found = set()
    for name in names:
        if any(inspect.log_blocks(name)["is_partial"].to_pylist()):
            found.add(file_id(name.rpartition("/")[2][1:]))
    return frozenset(found)


def _metadata_table_lacks_files(c: Comparison) -> bool:
    """D24: Apache Hudi without its metadata table agrees, which lacks files.

    It lacks some after an upgrade from version 6, after an offline compaction or clustering by
    Flink, where an older copy was put back, or where a writer did not use it and left it there, as
    the Java client does. Before version 8, incremental queries take no notice
    of the option: time travel to the end of the range does.
    """
    is_upgraded = c.properties.get("hoodie.table.initial.version") == "6" and c.table_version >= 8
    if is_upgraded and c.query.options.get(METADATA) != "true":
        return False
    lags = any(step.text == LAGS for step in c.history.steps)
    lacks = _metadata_table_lacks_commit(c)
    if not is_upgraded and not lags and not lacks and not flink_served_offline(c):
        return False
    without = {METADATA: "false"}
    other = c.ask_hudi(c.query.with_options(**without))
    last = c.last_of_range()
    if c.table_version < 8 and c.query.kind is QueryKind.INCREMENTAL and last is not None:
        at_end = as_of(last.requested).with_options(**without).with_filter(c.query.filter)
        other = _rows_since(c.query.begin, c.ask_hudi(at_end))
    return (
        isinstance(other, Answer)
        and isinstance(c.ours, Answer)
        and agree_but_for_compacted_logs(c, other, c.ours)
    )


def _metadata_table_lacks_commit(c: Comparison) -> bool:
    """Whether a commit of the table is not among those of its metadata table since its first."""
    recorded = {i.requested for i in completed_commits(c.path / ".hoodie" / "metadata")}
    first = min((time for time in recorded if not time.startswith("00000000000000")), default="")
    times = (i.requested for i in c.instants)
    return bool(recorded) and any(time >= first and time not in recorded for time in times)


def _rows_since(begin: str, answer: Answer | Failure) -> Answer | Failure:
    """Return an answer without the rows that were written at an instant or before it."""
    if isinstance(answer, Failure):
        return answer
    place = answer.names.index("_hoodie_commit_time")
    return replace(answer, rows=tuple(row for row in answer.rows if row[place] > begin))


def _text_ordering(c: Comparison) -> bool:
    """D25: event-time ordering by a string in Parquet log blocks: the higher value wins here."""
    found = c.difference()
    fields = c.history.ordering_fields
    is_by_event_time = c.properties.get("hoodie.record.merge.mode") == "EVENT_TIME_ORDERING"
    if (
        not found
        or len(fields) != 1
        or c.history.column_type(fields[0]) != "string"
        or c.history.options.get("hoodie.logfile.data.block.format") != "parquet"
        or not (is_by_event_time or c.payload in _EVENT_TIME_PAYLOADS)
    ):
        return False
    return _has_higher_ordering(c, found, fields[0])


def _has_higher_ordering(c: Comparison, found: Difference, field: str) -> bool:
    """Return whether ours have ordering values that are not lower, or other keys are deleted."""
    theirs, ours = (
        {identity(c, row): c.column(row, field) for row in side}
        for side in (found.missing, found.extra)
    )
    alone = theirs.keys() ^ ours.keys()
    rows = [row for row in (*found.missing, *found.extra) if identity(c, row) in alone]
    deleted = keys_in_delete_blocks(c.path) if rows else frozenset()
    return all(ours[k] >= v for k, v in theirs.items() if v and k in ours) and all(
        c.column(row, "_hoodie_record_key") in deleted for row in rows
    )


def _end_inside_commit(c: Comparison) -> bool:
    """D26: the end lies inside a commit; with the end of the commit before, Hudi agrees with us."""
    last = c.last_of_range()
    if c.query.kind.value != "incremental" or c.table_version < 8 or not c.query.end or not last:
        return False
    if not any(i.requested <= c.query.end < i.completion for i in c.instants):
        return False
    other = c.ask_hudi(c.query.with_options(**{END: last.completion}))
    return (
        isinstance(other, Answer) and isinstance(c.ours, Answer) and not difference(other, c.ours)
    )


def _unneeded_file(c: Comparison) -> bool:
    """D27: a file of the range is gone, and the files that are there hold our rows.

    The rows of that answer come from the latest files, which other commits may have written.
    Where they have written partial updates, a row may have values of these and its old commit time.
    Its time travel to the end of the range, where it is not refused, shows our rows, too, except
    for late records of the range, which lose against a record from before it.
    """
    found = c.difference()
    if not found or c.query.kind.value != "incremental" or not c.query.end:
        return False
    ours = without_file_name(c, found.extra)
    others = Counter(
        {row: n for row, n in found.missing.items() if without_file_name(c, Counter([row])) - ours}
    )
    return (
        lacks_files(c)
        and (not others or _are_partly_updated(c, others))
        and in_files(c, found.extra - c.rows_at_end())
    )


def _are_partly_updated(c: Comparison, rows: Counter[Row]) -> bool:
    """Whether the latest rows have these, and partial updates can have changed them."""
    latest = c.ask_hudi(Query(QueryKind.SNAPSHOT, {}))
    if not isinstance(latest, Answer) or not all_in(rows, Counter(latest.rows)):
        return False
    if c.payload in PARTIAL_PAYLOADS or "hoodie.table.partial.update.mode" in c.properties:
        return True
    groups = _groups_with_partial_updates(c.path)
    return all(file_id(c.column(row, "_hoodie_file_name")) in groups for row in rows)


def _skipped_by_statistics(c: Comparison) -> bool:
    """D28: with statistics of the metadata table Apache Hudi loses rows; without them it agrees."""
    found = c.difference()
    uses_metadata = c.query.options.get(METADATA) != "false"
    if not found or found.missing or not c.query.filter or not uses_metadata:
        return False
    other = c.ask_hudi(c.query.with_options(**{METADATA: "false"}))
    if isinstance(other, Failure):  # it reads no file, and cannot read these
        return "timestamp_millis" in c.query.filter
    return isinstance(c.ours, Answer) and not difference(other, c.ours)


def _travel_before_plan(c: Comparison) -> bool:
    """D31: an instant before a compaction was planned, within a delta commit.

    It is that of the time travel, or the last that begins in a range of commits.
    """
    found, until = c.difference(), c.query.options.get("as.of.instant", "")
    last = c.last_of_range()
    if c.query.kind.value == "incremental" and last:
        until = last.requested
    if not found or not until or c.table_version < 8:
        return False
    requested = (c.path / ".hoodie" / "timeline").glob("*.compaction.requested")
    plans = [file.name.partition(".")[0] for file in requested]
    left_out = {
        i.requested
        for i in c.instants
        if any(i.requested <= until < plan < i.completion for plan in plans)
    }
    times = {c.column(row, "_hoodie_commit_time") for row in found.extra}
    return bool(left_out) and times <= left_out


def _filtered_before_merge(c: Comparison) -> bool:
    """D30: rows of a filtered query that Apache Hudi does not return without the filter."""
    found = c.difference()
    if not found or found.extra or not c.query.filter:
        return False
    unfiltered = c.ask_hudi(c.query.with_filter(""))
    return isinstance(unfiltered, Answer) and not found.missing & Counter(unfiltered.rows)


def _losing_delete(c: Comparison) -> bool:
    """D29: changes with a delete of a record that Apache Hudi's own time travel still shows."""
    found = c.difference()
    if not found or found.extra or c.query.kind.value != "cdc":
        return False
    return all(_survives(c, row) for row in found.missing)


def _survives(c: Comparison, change: Row) -> bool:
    at_commit = c.ask_hudi(as_of(c.column(change, "ts_ms")))
    if c.column(change, "op") != "d" or not isinstance(at_commit, Answer):
        return False
    before = dict(c.column(change, "before"))
    keys = (*c.history.record_keys, *c.history.partition_fields)
    places = [at_commit.names.index(key) for key in keys]
    return tuple(before[k] for k in keys) in {tuple(r[n] for n in places) for r in at_commit.rows}


def _filtered_log_blocks(c: Comparison) -> bool:
    """D32: the fallback with Parquet log blocks returns rows that its own snapshot replaced."""
    found = c.difference()
    is_range = c.query.kind is QueryKind.INCREMENTAL
    if not found or not is_range or not lacks_files(c) or not found.missing:
        return False
    if c.history.options.get("hoodie.logfile.data.block.format") != "parquet":
        return False
    # A metadata table that lacks commits would lead to older rows (D24).
    present = c.ask_hudi(Query(QueryKind.SNAPSHOT, {"hoodie.metadata.enable": "false"}))
    if found.extra or not isinstance(present, Answer):
        return False
    rows = without_file_name(c, Counter(present.rows))
    return not without_file_name(c, found.missing) & rows


def _replaced_twice(c: Comparison) -> bool:
    """D35: time travel returns keys twice: from replaced file groups, and as we do from others."""
    found = c.difference()
    until = c.query.options.get("as.of.instant", "")
    if not found or found.extra or not until:
        return False
    shown = {identity(c, row) for row in c.answer_of_ours().rows}
    inspect = HudiTable(str(c.path)).inspect
    for row in found.missing:
        try:
            events = inspect.history(file_id(c.column(row, "_hoodie_file_name"))).to_pylist()
        except InvalidOptionError:  # no instant names its file group any more
            return False
        times = [e["requested_time"] for e in events if e["event"] == "replaced"]
        if identity(c, row) not in shown or not times or not min(times) <= until < max(times):
            return False
    return True


def _uncommitted_files(c: Comparison) -> bool:
    """D59: a table that became COPY_ON_WRITE shows base files of a delta commit that failed."""
    found = c.difference()
    if not found or not found.missing or c.properties.get("hoodie.table.type") != "COPY_ON_WRITE":
        return False
    if "_hoodie_file_name" not in c.our_names:  # of changes, or of a table without meta columns
        return False
    instants = HudiTable(str(c.path)).inspect.timeline().to_pylist()
    pending = {
        i["requested_time"]
        for i in instants
        if i["action"] == "deltacommit" and i["state"] != "completed"
    }
    files = HudiTable(str(c.path)).inspect.files().to_pylist()
    groups = {file["file_id"] for file in files if file["instant_time"] in pending}
    names = [c.column(row, "_hoodie_file_name") for row in found.missing]
    return all(
        name.removesuffix(".parquet").rpartition("_")[2] in pending for name in names
    ) and all(file_id(c.column(row, "_hoodie_file_name")) in groups for row in found.extra)


def _changes_of_delta_commits(c: Comparison) -> bool:
    """D74: changes of delta commits, which do not count in a table that became COPY_ON_WRITE."""
    found = c.difference()
    became = c.properties.get("hoodie.table.type") == "COPY_ON_WRITE"
    if not found or found.extra or not became or c.query.kind is not QueryKind.CDC:
        return False
    instants = HudiTable(str(c.path)).inspect.timeline().to_pylist()
    times = {i["requested_time"] for i in instants if i["action"] == "deltacommit"}
    return all(c.column(row, "ts_ms") in times for row in found.missing)


def _cleaned_replaced_group(c: Comparison) -> bool:
    """D60: the cleaner has removed the rows that a commit replaced: their deletes are not known."""
    if c.query.kind is not QueryKind.CDC or not isinstance(c.ours, Failure):
        return False
    missing = _missing_path(c.ours)
    named = re.search(r"changes of commit (\d+) are no longer known", c.ours.message)
    if named is None or c.ours.error != "IncrementalRangeError" or Path(missing).exists():
        return False
    replacing = {i.requested for i in c.instants if i.action == "replacecommit"}
    return named[1] in replacing


def _lost_by_record_index(c: Comparison) -> bool:
    """D36: the record index has one place, or none, of a key with more rows: Apache Hudi loses
    rows, which it has without its metadata table."""
    names = c.properties.get("hoodie.table.metadata.partitions", "").split(",")
    if not c.query.filter or c.query.options.get(METADATA) == "false":
        return False
    found = c.difference()
    if "record_index" not in names or found is None or found.missing:
        return False
    query = c.query.with_options(**{METADATA: "false"})
    theirs, ours = c.ask_hudi(query), read_ours(c.path, query)
    both = isinstance(theirs, Answer) and isinstance(ours, Answer)
    return both and not difference(theirs, ours)  # type: ignore[arg-type]


def _nested_as_another_kind(c: Comparison) -> bool:
    """D57: files hold a nested value, the table a type of another kind; a snapshot fails."""
    if not isinstance(c.ours, Failure) or "no rule of schema evolution" not in c.ours.message:
        return False
    is_nested = any(f"is stored as {kind}<" in c.ours.message for kind in ("struct", "list", "map"))
    snapshot = Query(QueryKind.SNAPSHOT, {QUERY_TYPE: "snapshot"})
    return is_nested and isinstance(c.ask_hudi(snapshot), Failure)


RULES: Sequence[tuple[str, Callable[[Comparison], bool]]] = (
    ("D3", _missing_file),
    ("D7", _partition_value),
    ("D8", timestamp_key_generator),
    ("D11", _archived_begin),
    ("D23", _partial_updates),
    ("D24", _metadata_table_lacks_files),
    ("D25", _text_ordering),
    ("D26", _end_inside_commit),
    ("D27", _unneeded_file),
    ("D28", _skipped_by_statistics),
    ("D29", _losing_delete),
    ("D30", _filtered_before_merge),
    ("D31", _travel_before_plan),
    ("D32", _filtered_log_blocks),
    ("D33", operation_that_deletes),
    ("D34", logs_of_compacted_groups),
    ("D35", _replaced_twice),
    ("D36", _lost_by_record_index),
    ("D57", _nested_as_another_kind),
    ("D59", _uncommitted_files),
    ("D74", _changes_of_delta_commits),
    ("D60", _cleaned_replaced_group),
)


def numbers() -> Iterable[str]:
    return (number for number, _ in RULES)
