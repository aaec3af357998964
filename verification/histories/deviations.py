"""Accepted differences of docs/differences.md, each with a predicate: when it applies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hudi_pyspark import InvalidOptionError
from verification.histories.compare import Answer, Failure, Row, agree
from verification.histories.comparison import (
    Comparison,
    NoColumnError,
    are_replaced,
    file_id,
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
)
from verification.histories.history import LAGS
from verification.histories.instants import Instant, completed_commits, data_logs
from verification.histories.ours import read_ours
from verification.histories.partition_deviations import (
    alike_but_for_partitions,
    partition_value,
    timestamp_key_generator,
)
from verification.histories.queries import (
    END,
    METADATA,
    PARTIAL_PAYLOADS,
    QUERY_TYPE,
    Query,
    QueryKind,
    as_of,
)

_EVENT_TIME_PAYLOADS = ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")
WITHOUT_METADATA = {METADATA: "false"}
_PRESENT = Query(QueryKind.SNAPSHOT, {})


@dataclass(frozen=True)
class Rule:
    """Why answers differ: a number of the page, a predicate, and where it can apply at all."""

    number: str
    explains: Callable[[Comparison], bool]
    kinds: Sequence[QueryKind] = tuple(QueryKind)
    versions: range = range(100)  # of the table
    has_rows: bool = True  # both readers answer with the same columns, and the rows differ
    only: str = ""  # ``missing`` or ``extra``, if the other side has no rows
    is_filtered: bool = False

    def applies(self, c: Comparison) -> bool:
        """Whether the rule explains a comparison."""
        if c.query.kind not in self.kinds or (self.is_filtered and not c.query.filter):
            return False
        if self.versions != range(100) and c.table_version not in self.versions:
            return False
        if self.has_rows:
            found = c.difference()
            if not found or (self.only == "missing" and found.extra):
                return False
            if self.only == "extra" and found.missing:
                return False
        with suppress(NoColumnError):
            return self.explains(c)
        return False


def explaining_rule(comparison: Comparison) -> str:
    """Number of the rule that explains why two answers differ; "" if none does."""
    if number := _first_rule(comparison):
        return number
    for first, alike in alike_but_for_partitions(comparison):
        if number := _first_rule(alike):
            return f"{first} {number}"
    return ""


def _first_rule(comparison: Comparison) -> str:
    """Return the number of the first rule that applies; "" if none does."""
    return next((rule.number for rule in RULES if rule.applies(comparison)), "")


def _missing_path(refusal: str) -> str:
    """Return the path of the committed file that an error misses; "" if it misses none.

    The folder of a partition may have spaces in its name.
    """
    named = re.search(r"(/.+?) was committed", refusal)
    return named[1] if named else ""


def _missing_file(c: Comparison) -> bool:
    """D3: a committed file is gone, within the instants that were asked for."""
    name = _missing_path(c.refusal("MissingFileError")).rpartition("/")[2]
    if not name or any(file.name == name for file in c.path.rglob(name)):
        return False
    first = next((i for i in c.instants if _writes(c.path, i, name)), None)
    until = c.query.options.get("as.of.instant") or c.query.end
    return first is not None and (not until or first.requested <= until)


def _writes(path: Path, instant: Instant, name: str) -> bool:
    files = (path / ".hoodie").rglob(f"{instant.requested}*.{instant.action}")
    return any(name.encode() in file.read_bytes() for file in files)


def _archived_begin(c: Comparison) -> bool:
    """D11: before version 8 Apache Hudi leaves out what was archived.

    Its own rows are late records that lose against rows or deletes of archived commits, since its
    time travel to the end of the range does not have them, or versions that later commits have
    replaced: the fallback does not have these, and warns. It has the others in later files. Where
    the cleaner has passed the end of the range, they are in files of the range, and its snapshot
    does not have them.
    """
    missing, extra = _apart_from_file_names(c)
    keys = {c.identity(row) for row in extra}
    unmatched = Counter(row for row in missing.elements() if c.identity(row) not in keys)
    at_end = c.rows_at_end()
    if not at_end and not (in_files(c, unmatched) and are_replaced(c, unmatched)):
        return False
    active = completed_commits(c.path)
    archived = [i for i in c.instants if active and i < active[0] and i.requested > c.query.begin]
    times = {i.requested for i in archived}
    is_archived = all(c.column(row, "_hoodie_commit_time") in times for row in extra)
    if not is_archived and c.payload in PARTIAL_PAYLOADS:  # values of the archived are in others
        is_archived = not extra - at_end
    return bool(archived) and is_archived


def _apart_from_file_names(c: Comparison) -> tuple[Counter[Row], Counter[Row]]:
    """Return the missing and the extra rows without those that differ in their file name only."""
    found = c.rows_that_differ()
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
    found = c.rows_that_differ()
    groups = _groups_with_partial_updates(c)
    at_end = c.rows_at_end()
    return (
        groups.issuperset(c.file_ids(found.extra))
        and {*groups, ""}.issuperset(c.file_ids(found.missing))
        and not found.extra - at_end
        and not found.missing & at_end
    )


def _groups_with_partial_updates(c: Comparison) -> frozenset[str]:
    return frozenset(
        file_id(log.rpartition("/")[2][1:])
        for log in data_logs(c.path)
        if any(c.inspect.log_blocks(log)["is_partial"].to_pylist())
    )


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
    other = c.ask_hudi(c.query.with_options(**WITHOUT_METADATA))
    last = c.last_of_range()
    if c.table_version < 8 and c.query.kind is QueryKind.INCREMENTAL and last is not None:
        at_end = as_of(last.requested).with_options(**WITHOUT_METADATA)
        other = _rows_since(c.query.begin, c.ask_hudi(at_end.with_filter(c.query.filter)))
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
    """D25: event-time ordering by a string in Parquet log blocks: the higher value wins here.

    Ours have ordering values that are not lower, or other keys are deleted.
    """
    found = c.rows_that_differ()
    field, *others = c.history.ordering_fields or ("",)
    is_by_event_time = c.properties.get("hoodie.record.merge.mode") == "EVENT_TIME_ORDERING"
    if (
        others
        or c.history.column_type(field) != "string"
        or c.history.options.get("hoodie.logfile.data.block.format") != "parquet"
        or not (is_by_event_time or c.payload in _EVENT_TIME_PAYLOADS)
    ):
        return False
    theirs, ours = (
        {c.identity(row): c.column(row, field) for row in side}
        for side in (found.missing, found.extra)
    )
    alone = theirs.keys() ^ ours.keys()
    rows = [row for row in (*found.missing, *found.extra) if c.identity(row) in alone]
    deleted = keys_in_delete_blocks(c) if rows else frozenset()
    return all(ours[k] >= v for k, v in theirs.items() if v and k in ours) and all(
        c.column(row, "_hoodie_record_key") in deleted for row in rows
    )


def _end_inside_commit(c: Comparison) -> bool:
    """D26: the end lies inside a commit; with the end of the commit before, Hudi agrees with us."""
    last = c.last_of_range()
    if not c.query.end or not last:
        return False
    if not any(i.requested <= c.query.end < i.completion for i in c.instants):
        return False
    return c.agrees(c.ask_hudi(c.query.with_options(**{END: last.completion})))


def _unneeded_file(c: Comparison) -> bool:
    """D27: a file of the range is gone, and the files that are there hold our rows.

    The rows of that answer come from the latest files, which other commits may have written.
    Where they have written partial updates, a row may have values of these and its old commit time.
    Its time travel to the end of the range, where it is not refused, shows our rows, too, except
    for late records of the range, which lose against a record from before it.
    """
    found = c.rows_that_differ()
    if not c.query.end:
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
    latest = c.ask_hudi(_PRESENT)
    if not isinstance(latest, Answer) or rows - Counter(latest.rows):
        return False
    if c.payload in PARTIAL_PAYLOADS or "hoodie.table.partial.update.mode" in c.properties:
        return True
    return _groups_with_partial_updates(c).issuperset(c.file_ids(rows))


def _skipped_by_statistics(c: Comparison) -> bool:
    """D28: with statistics of the metadata table Apache Hudi loses rows; without them it agrees."""
    if c.query.options.get(METADATA) == "false":
        return False
    other = c.ask_hudi(c.query.with_options(**WITHOUT_METADATA))
    if isinstance(other, Failure):  # it reads no file, and cannot read these
        return "timestamp_millis" in c.query.filter
    return c.agrees(other)


def _losing_delete(c: Comparison) -> bool:
    """D29: changes with a delete of a record that Apache Hudi's own time travel still shows."""
    return all(_survives(c, row) for row in c.rows_that_differ().missing)


def _survives(c: Comparison, change: Row) -> bool:
    at_commit = c.ask_hudi(as_of(c.column(change, "ts_ms")))
    if c.column(change, "op") != "d" or not isinstance(at_commit, Answer):
        return False
    before = dict(c.column(change, "before"))
    keys = (*c.history.record_keys, *c.history.partition_fields)
    places = [at_commit.names.index(key) for key in keys]
    return tuple(before[k] for k in keys) in {tuple(r[n] for n in places) for r in at_commit.rows}


def _filtered_before_merge(c: Comparison) -> bool:
    """D30: rows of a filtered query that Apache Hudi does not return without the filter."""
    unfiltered = c.ask_hudi(c.query.with_filter(""))
    missing = c.rows_that_differ().missing
    return isinstance(unfiltered, Answer) and not missing & Counter(unfiltered.rows)


def _travel_before_plan(c: Comparison) -> bool:
    """D31: an instant before a compaction was planned, within a delta commit.

    It is that of the time travel, or the last that begins in a range of commits.
    """
    until = c.query.options.get("as.of.instant", "")
    last = c.last_of_range()
    if c.query.kind is QueryKind.INCREMENTAL and last:
        until = last.requested
    if not until:
        return False
    requested = (c.path / ".hoodie" / "timeline").glob("*.compaction.requested")
    plans = [file.name.partition(".")[0] for file in requested]
    left_out = {
        i.requested
        for i in c.instants
        if any(i.requested <= until < plan < i.completion for plan in plans)
    }
    times = {c.column(row, "_hoodie_commit_time") for row in c.rows_that_differ().extra}
    return bool(left_out) and times <= left_out


def _filtered_log_blocks(c: Comparison) -> bool:
    """D32: the fallback with Parquet log blocks returns rows that its own snapshot replaced."""
    if c.history.options.get("hoodie.logfile.data.block.format") != "parquet" or not lacks_files(c):
        return False
    # A metadata table that lacks commits would lead to older rows (D24).
    present = c.ask_hudi(_PRESENT.with_options(**WITHOUT_METADATA))
    if not isinstance(present, Answer):
        return False
    rows = without_file_name(c, Counter(present.rows))
    return not without_file_name(c, c.rows_that_differ().missing) & rows


def _replaced_twice(c: Comparison) -> bool:
    """D35: time travel returns keys twice: from replaced file groups, and as we do from others."""
    until = c.query.options.get("as.of.instant", "")
    shown = {c.identity(row) for row in c.answer_of_ours().rows}
    missing = c.rows_that_differ().missing
    return all(c.identity(row) in shown for row in missing) and all(
        _is_replaced_around(c, group, until) for group in c.file_ids(missing)
    )


def _is_replaced_around(c: Comparison, group: str, until: str) -> bool:
    """Whether one instant replaced a file group before a time, and another one after it."""
    try:
        events = c.inspect.history(group).to_pylist()
    except InvalidOptionError:  # no instant names its file group any more
        return False
    times = [e["requested_time"] for e in events if e["event"] == "replaced"]
    return bool(times) and min(times) <= until < max(times)


def _uncommitted_files(c: Comparison) -> bool:
    """D59: a table that became COPY_ON_WRITE shows base files of a delta commit that failed."""
    found = c.rows_that_differ()
    if not found.missing or c.properties.get("hoodie.table.type") != "COPY_ON_WRITE":
        return False
    if "_hoodie_file_name" not in c.our_names:  # of changes, or of a table without meta columns
        return False
    pending = {
        i["requested_time"]
        for i in c.inspect.timeline().to_pylist()
        if i["action"] == "deltacommit" and i["state"] != "completed"
    }
    files = c.inspect.files().to_pylist()
    groups = {file["file_id"] for file in files if file["instant_time"] in pending}
    names = [c.column(row, "_hoodie_file_name") for row in found.missing]
    times = {name.removesuffix(".parquet").rpartition("_")[2] for name in names}
    return times <= pending and groups.issuperset(c.file_ids(found.extra))


def _changes_of_delta_commits(c: Comparison) -> bool:
    """D74: changes of delta commits, which do not count in a table that became COPY_ON_WRITE."""
    if c.properties.get("hoodie.table.type") != "COPY_ON_WRITE":
        return False
    instants = c.inspect.timeline().to_pylist()
    times = {i["requested_time"] for i in instants if i["action"] == "deltacommit"}
    return all(c.column(row, "ts_ms") in times for row in c.rows_that_differ().missing)


def _cleaned_replaced_group(c: Comparison) -> bool:
    """D60: the cleaner has removed the rows that a commit replaced: their deletes are not known."""
    refusal = c.refusal("IncrementalRangeError")
    named = re.search(r"changes of commit (\d+) are no longer known", refusal)
    if named is None or Path(_missing_path(refusal)).exists():
        return False
    replacing = {i.requested for i in c.instants if i.action == "replacecommit"}
    return named[1] in replacing


def _lost_by_record_index(c: Comparison) -> bool:
    """D36: the record index has one place, or none, of a key with more rows: Apache Hudi loses
    rows, which it has without its metadata table."""
    names = c.properties.get("hoodie.table.metadata.partitions", "").split(",")
    if "record_index" not in names or c.query.options.get(METADATA) == "false":
        return False
    query = c.query.with_options(**WITHOUT_METADATA)
    return agree(c.ask_hudi(query), read_ours(c.path, query))


def _nested_as_another_kind(c: Comparison) -> bool:
    """D57: files hold a nested value, the table a type of another kind; a snapshot fails."""
    if not isinstance(c.ours, Failure) or "no rule of schema evolution" not in c.ours.message:
        return False
    is_nested = any(f"is stored as {kind}<" in c.ours.message for kind in ("struct", "list", "map"))
    snapshot = Query(QueryKind.SNAPSHOT, {QUERY_TYPE: "snapshot"})
    return is_nested and isinstance(c.ask_hudi(snapshot), Failure)


_RANGE = (QueryKind.INCREMENTAL,)
_CHANGES = (QueryKind.CDC,)
_TRAVEL = (QueryKind.AS_OF,)
_SINCE_8 = range(8, 100)
RULES: Sequence[Rule] = (
    Rule("D3", _missing_file, has_rows=False),
    Rule("D7", partition_value),
    Rule("D8", timestamp_key_generator, has_rows=False),
    Rule("D11", _archived_begin, _RANGE, range(8)),
    Rule("D23", _partial_updates, _RANGE),
    Rule("D24", _metadata_table_lacks_files, has_rows=False),
    Rule("D25", _text_ordering),
    Rule("D26", _end_inside_commit, _RANGE, _SINCE_8, has_rows=False),
    Rule("D27", _unneeded_file, _RANGE),
    Rule("D28", _skipped_by_statistics, only="extra", is_filtered=True),
    Rule("D29", _losing_delete, _CHANGES, only="missing"),
    Rule("D30", _filtered_before_merge, only="missing", is_filtered=True),
    Rule("D31", _travel_before_plan, versions=_SINCE_8),
    Rule("D32", _filtered_log_blocks, _RANGE, only="missing"),
    Rule("D33", operation_that_deletes),
    Rule("D34", logs_of_compacted_groups, has_rows=False),
    Rule("D35", _replaced_twice, _TRAVEL, only="missing"),
    Rule("D36", _lost_by_record_index, only="extra", is_filtered=True),
    Rule("D57", _nested_as_another_kind, has_rows=False),
    Rule("D59", _uncommitted_files),
    Rule("D74", _changes_of_delta_commits, _CHANGES, only="missing"),
    Rule("D60", _cleaned_replaced_group, _CHANGES, has_rows=False),
)
