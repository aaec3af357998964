"""Accepted differences of docs/differences.md: `RULES` says where each can apply, and when it does.

A rule names queries, versions of tables, sides on which rows may differ, and a condition of the
table or the query. Its effect says whether the answers differ as they then would. If an effect asks
for a column that the query does not return, the rule explains nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from hudi_pyspark import InvalidOptionError
from tests.golden.compare import Row
from verification.histories.answers import Answer, Failure, difference
from verification.histories.comparison import (
    FILE,
    KEY,
    PRESENT,
    TIME,
    Comparison,
    NoColumnError,
    file_id,
)
from verification.histories.history import LAGS, StepKind
from verification.histories.instants import completed_commits, data_logs
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
    QueryKind,
    as_of,
)

_EVENT_TIME_PAYLOADS = ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")
_WITHOUT_METADATA = {METADATA: "false"}
_OPERATION = "_hoodie_operation"
_DELETING = ("D", "-U")


@dataclass(frozen=True)
class Rule:
    """Why answers differ: a number of the page, an effect, and where it can be."""

    number: str
    effect: Callable[[Comparison], bool]
    kinds: Sequence[QueryKind] = tuple(QueryKind)
    versions: range = range(100)  # of the table
    when: Callable[[Comparison], bool] = lambda _: True
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
            return self.when(c) and self.effect(c)
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
    until = c.query.options.get("as.of.instant") or c.query.end
    for instant in c.instants:
        commits = (c.path / ".hoodie").rglob(f"{instant.requested}*.{instant.action}")
        if any(name.encode() in commit.read_bytes() for commit in commits):
            return not until or instant.requested <= until
    return False


def _archived_begin(c: Comparison) -> bool:
    """D11: before version 8 Apache Hudi leaves out what was archived.

    Its own rows are late records that lose against rows or deletes of archived commits, since its
    time travel to the end of the range does not have them, or versions that later commits have
    replaced: the fallback does not have these, and warns. It has the others in later files. Where
    the cleaner has passed the end of the range, they are in files of the range, and its snapshot
    does not have them.
    """
    missing, extra = _apart_from_file_names(c, c.missing, c.extra)
    keys = c.identities(extra)
    unmatched = [row for row in missing if c.identity(row) not in keys]
    at_end = c.rows_at_end()
    if not at_end and not (c.are_in_files(unmatched) and c.are_replaced(unmatched)):
        return False
    active = completed_commits(c.path)
    archived = [i for i in c.instants if active and i < active[0] and i.requested > c.query.begin]
    is_archived = c.values(extra, TIME) <= {i.requested for i in archived}
    if not is_archived and c.payload in PARTIAL_PAYLOADS:  # values of the archived are in others
        is_archived = not extra - at_end
    return bool(archived) and is_archived


def _apart_from_file_names(
    c: Comparison, missing: Counter[Row], extra: Counter[Row]
) -> tuple[Counter[Row], Counter[Row]]:
    """Return the missing and the extra rows without those that differ in their file name only."""
    both = c.without_file(missing) & c.without_file(extra)

    def others(rows: Counter[Row]) -> Counter[Row]:
        return Counter({r: n for r, n in rows.items() if not c.without_file(Counter([r])) & both})

    return others(missing), others(extra)


def _partial_updates(c: Comparison) -> bool:
    """D23: partial updates, which Apache Hudi merges without the rows below; its own time travel
    to the end of the range has the rows that we give."""
    groups = _groups_with_partial_updates(c)
    if not (groups >= c.groups(c.extra) and groups | {""} >= c.groups(c.missing)):
        return False
    at_end = c.rows_at_end()
    return not c.extra - at_end and not c.missing & at_end


def _groups_with_partial_updates(c: Comparison) -> set[str]:
    return {
        file_id(log.rpartition("/")[2][1:])
        for log in data_logs(c.path)
        if any(c.inspect.log_blocks(log)["is_partial"].to_pylist())
    }


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
    if not is_upgraded and not lags and not lacks and not _flink_served_offline(c):
        return False
    other = c.ask_hudi(c.query.with_options(**_WITHOUT_METADATA))
    last = c.last_of_range()
    if c.table_version < 8 and c.query.kind is QueryKind.INCREMENTAL and last is not None:
        at_end = as_of(last.requested).with_options(**_WITHOUT_METADATA)
        other = _rows_since(c.query.begin, c.ask_hudi(at_end.with_filter(c.query.filter)))
    return _agree_but_for_compacted_logs(c, other, c.ours)


def _metadata_table_lacks_commit(c: Comparison) -> bool:
    """Whether a commit of the table is not among those of its metadata table since its first."""
    recorded = {i.requested for i in completed_commits(c.path / ".hoodie" / "metadata")}
    first = min((time for time in recorded if not time.startswith("00000000000000")), default="")
    times = (i.requested for i in c.instants)
    return bool(recorded) and any(time >= first and time not in recorded for time in times)


def _flink_served_offline(c: Comparison) -> bool:
    """Whether a job of Flink beside the writer compacted or clustered the table."""
    has_metadata = c.history.options.get(METADATA) == "true"
    kinds = {step.kind for step in c.history.steps}
    is_served = not kinds.isdisjoint((StepKind.COMPACT, StepKind.CLUSTER))
    return c.history.hudi.startswith("flink") and has_metadata and is_served


def _rows_since(begin: str, answer: Answer | Failure) -> Answer | Failure:
    """Return an answer without the rows that were written at an instant or before it."""
    if isinstance(answer, Failure):
        return answer
    place = answer.names.index(TIME)
    return replace(answer, rows=tuple(row for row in answer.rows if row[place] > begin))


def _text_ordering(c: Comparison) -> bool:
    """D25: event-time ordering by a string in Parquet log blocks: the higher value wins here.

    Ours have ordering values that are not lower, or other keys are deleted.
    """
    field = c.history.ordering_fields[0]
    theirs = {c.identity(row): c.column(row, field) for row in c.missing}
    ours = {c.identity(row): c.column(row, field) for row in c.extra}
    alone = theirs.keys() ^ ours.keys()
    rows = [row for row in (*c.missing, *c.extra) if c.identity(row) in alone]
    if not all(ours[k] >= v for k, v in theirs.items() if v and k in ours):
        return False
    return not rows or c.values(rows, KEY) <= {r["key"] for r in c.log_records if r["is_delete"]}


def _is_ordered_by_text(c: Comparison) -> bool:
    fields = c.history.ordering_fields
    is_by_event_time = c.properties.get("hoodie.record.merge.mode") == "EVENT_TIME_ORDERING"
    return (
        [c.history.column_type(field) for field in fields] == ["string"]
        and _has_parquet_log_blocks(c)
        and (is_by_event_time or c.payload in _EVENT_TIME_PAYLOADS)
    )


def _has_parquet_log_blocks(c: Comparison) -> bool:
    return c.history.options.get("hoodie.logfile.data.block.format") == "parquet"


def _end_inside_commit(c: Comparison) -> bool:
    """D26: the end lies inside a commit; with the end of the commit before, Hudi agrees with us."""
    last = c.last_of_range()
    if not last or not any(i.requested <= c.query.end < i.completion for i in c.instants):
        return False
    return c.agrees(c.ask_hudi(c.query.with_options(**{END: last.completion})))


def _unneeded_file(c: Comparison) -> bool:
    """D27: a file of the range is gone, and the files that are there hold our rows.

    The rows of that answer come from the latest files, which other commits may have written.
    Where they have written partial updates, a row may have values of these and its old commit time.
    Its time travel to the end of the range, where it is not refused, shows our rows, too, except
    for late records of the range, which lose against a record from before it.
    """
    ours = c.without_file(c.extra)
    missing = c.missing.items()
    others = Counter({row: n for row, n in missing if c.without_file(Counter([row])) - ours})
    if others and not _are_partly_updated(c, others):
        return False
    return c.are_in_files(c.extra - c.rows_at_end())


def _are_partly_updated(c: Comparison, rows: Counter[Row]) -> bool:
    """Whether the latest rows have these, and partial updates can have changed them."""
    latest = c.hudi_rows(PRESENT)
    if latest is None or rows - latest:
        return False
    if c.payload in PARTIAL_PAYLOADS or "hoodie.table.partial.update.mode" in c.properties:
        return True
    return _groups_with_partial_updates(c) >= c.groups(rows)


def _skipped_by_statistics(c: Comparison) -> bool:
    """D28: with statistics of the metadata table Apache Hudi loses rows; without them it agrees."""
    other = c.ask_hudi(c.query.with_options(**_WITHOUT_METADATA))
    if isinstance(other, Failure):  # it reads no file, and cannot read these
        return "timestamp_millis" in c.query.filter
    return c.agrees(other)


def _losing_delete(c: Comparison) -> bool:
    """D29: changes with a delete of a record that Apache Hudi's own time travel still shows."""
    return all(_survives(c, row) for row in c.missing)


def _survives(c: Comparison, change: Row) -> bool:
    at_commit = c.ask_hudi(as_of(c.column(change, "ts_ms")))
    if c.column(change, "op") != "d" or isinstance(at_commit, Failure):
        return False
    before = dict(c.column(change, "before"))
    keys = (*c.history.record_keys, *c.history.partition_fields)
    places = [at_commit.names.index(key) for key in keys]
    return tuple(before[k] for k in keys) in {tuple(r[n] for n in places) for r in at_commit.rows}


def _lost_delete(c: Comparison) -> bool:
    """D86: no delete of a record that Apache Hudi's own time travel does not show any more."""
    return all(_is_gone(c, row) for row in c.extra)


def _is_gone(c: Comparison, change: Row) -> bool:
    at_commit = c.ask_hudi(as_of(c.column(change, "ts_ms")))
    is_known = c.column(change, "op") == "d" and not isinstance(at_commit, Failure)
    return is_known and not _survives(c, change)


def _filtered_before_merge(c: Comparison) -> bool:
    """D30: rows of a filtered query that Apache Hudi does not return without the filter."""
    unfiltered = c.hudi_rows(c.query.with_filter(""))
    return unfiltered is not None and not c.missing & unfiltered


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
    return bool(left_out) and c.values(c.extra, TIME) <= left_out


def _filtered_log_blocks(c: Comparison) -> bool:
    """D32: the fallback with Parquet log blocks returns rows that its own snapshot replaced."""
    # A metadata table that lacks commits would lead to older rows (D24).
    present = c.hudi_rows(PRESENT.with_options(**_WITHOUT_METADATA))
    return present is not None and not c.without_file(c.missing) & c.without_file(present)


def _operation_that_deletes(c: Comparison) -> bool:
    """D33: only keys differ of which a log record says that it is deleted.

    Apache Hudi merges such a record as if it were a row, and shows it, by these payload classes.
    """
    if _OPERATION not in c.names:
        return False
    records = (found["record"] or {} for found in c.log_records)
    keys = {record[KEY] for record in records if record.get(_OPERATION) in _DELETING}
    return c.values((*c.missing, *c.extra), KEY) <= keys


def _logs_of_compacted_groups(c: Comparison) -> bool:
    """D34: 1.2.0 reads log files again that a compaction by Flink has merged."""
    return _agree_but_for_compacted_logs(c, c.reference, c.ours)


def _agree_but_for_compacted_logs(
    c: Comparison, theirs: Answer | Failure, ours: Answer | Failure
) -> bool:
    """Whether answers differ only where a log file is older than its completion shows.

    These rows name the group instead of the base file that has them, too. Without merge there is
    one more of each. A row that the compaction kept though its operation deletes is deleted when
    its log record is merged again.
    """
    if isinstance(theirs, Failure) or isinstance(ours, Failure):
        return False
    found = difference(theirs, ours, c.history.image_columns)
    if not found:
        return True
    groups = _groups_compacted_early(c.path)
    if found.columns or c.table_version >= 8 or not groups:
        return False
    if not groups >= c.groups((*found.missing, *found.extra)):
        return False
    if c.query.kind is QueryKind.SKIP_MERGE:
        return not found.extra and c.are_in_files(found.missing)
    missing, extra = c.without_file(found.missing), c.without_file(found.extra)
    names = [name for name in c.names if name != FILE]
    kept = [dict(zip(names, row, strict=True)) for row in extra - missing]
    return not missing - extra and all(row.get(_OPERATION) in _DELETING for row in kept)


def _groups_compacted_early(table: Path) -> set[str]:
    """Return groups with a base file whose instant is lower than the completion of their log.

    Flink gives a compaction an instant between the last commit and the next. Before version 8
    1.2.0 takes the modification time of the commit's file for the completion.
    """
    found = set()
    for log in table.rglob(".*.log.*"):
        named = re.match(r"\.(.+?)_(\d+)\.log\.", log.name)
        commit = table / ".hoodie" / f"{named[2]}.deltacommit" if named else None
        if named is None or commit is None or not commit.exists():
            continue
        completion = datetime.fromtimestamp(commit.stat().st_mtime, timezone.utc)
        until = completion.strftime("%Y%m%d%H%M%S%f")[:17]
        bases = (base.stem.rpartition("_")[2] for base in log.parent.glob(f"{named[1]}_*.parquet"))
        if any(named[2] < base < until for base in bases):
            found.add(named[1])
    return found


def _replaced_twice(c: Comparison) -> bool:
    """D35: time travel returns keys twice: from replaced file groups, and as we do from others."""
    until = c.query.options.get("as.of.instant", "")
    return c.identities(c.missing) <= c.shown() and all(
        _is_replaced_around(c, group, until) for group in c.groups(c.missing)
    )


def _is_replaced_around(c: Comparison, group: str, until: str) -> bool:
    """Whether one instant replaced a file group before a time, and another one after it."""
    try:
        events = c.inspect.history(group).to_pylist()
    except InvalidOptionError:  # no instant names its file group any more
        return False
    times = [e["requested_time"] for e in events if e["event"] == "replaced"]
    return bool(times) and min(times) <= until < max(times)


def _lost_by_record_index(c: Comparison) -> bool:
    """D36: the record index has one place, or none, of a key with more rows: Apache Hudi loses
    rows, which it has without its metadata table."""
    query = c.query.with_options(**_WITHOUT_METADATA)
    return replace(c, ours=read_ours(c.path, query)).agrees(c.ask_hudi(query))


def _files_in_table_folder(c: Comparison) -> bool:
    """D87: files of a partitioned table lie in its folder, which the metadata table calls ``.``.

    Without that table Apache Hudi agrees, or fails to make partition values of the folder's path.
    """
    if not c.properties.get("hoodie.table.partition.fields") or not any(c.path.glob("*.parquet")):
        return False
    other = c.ask_hudi(c.query.with_options(**_WITHOUT_METADATA))
    return isinstance(other, Failure) or c.agrees(other)


def _nested_as_another_kind(c: Comparison) -> bool:
    """D57: files hold a nested value, the table a type of another kind; a snapshot fails."""
    if not isinstance(c.ours, Failure) or "no rule of schema evolution" not in c.ours.message:
        return False
    is_nested = any(f"is stored as {kind}<" in c.ours.message for kind in ("struct", "list", "map"))
    return is_nested and c.hudi_rows(PRESENT.with_options(**{QUERY_TYPE: "snapshot"})) is None


def _uncommitted_files(c: Comparison) -> bool:
    """D59: a table that became COPY_ON_WRITE shows base files of a delta commit that failed."""
    if not c.missing:
        return False
    pending = {
        i["requested_time"]
        for i in c.inspect.timeline().to_pylist()
        if i["action"] == "deltacommit" and i["state"] != "completed"
    }
    files = c.inspect.files().to_pylist()
    groups = {file["file_id"] for file in files if file["instant_time"] in pending}
    names = c.values(c.missing, FILE)
    times = {name.removesuffix(".parquet").rpartition("_")[2] for name in names}
    return times <= pending and groups >= c.groups(c.extra)


def _changes_of_delta_commits(c: Comparison) -> bool:
    """D74: changes of delta commits, which do not count in a table that became COPY_ON_WRITE."""
    instants = c.inspect.timeline().to_pylist()
    times = {i["requested_time"] for i in instants if i["action"] == "deltacommit"}
    return c.values(c.missing, "ts_ms") <= times


def _cleaned_replaced_group(c: Comparison) -> bool:
    """D60: the cleaner has removed the rows that a commit replaced: their deletes are not known."""
    refusal = c.refusal("IncrementalRangeError")
    named = re.search(r"changes of commit (\d+) are no longer known", refusal)
    if named is None or Path(_missing_path(refusal)).exists():
        return False
    replacing = {i.requested for i in c.instants if i.action == "replacecommit"}
    return named[1] in replacing


def _uses_metadata_table(c: Comparison) -> bool:
    return c.query.options.get(METADATA) != "false"


def _uses_record_index(c: Comparison) -> bool:
    names = c.properties.get("hoodie.table.metadata.partitions", "").split(",")
    return "record_index" in names and _uses_metadata_table(c)


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
    Rule("D25", _text_ordering, when=_is_ordered_by_text),
    Rule("D26", _end_inside_commit, _RANGE, _SINCE_8, has_rows=False),
    Rule("D27", _unneeded_file, _RANGE, when=lambda c: bool(c.query.end) and c.lacks_files),
    Rule("D28", _skipped_by_statistics, when=_uses_metadata_table, only="extra", is_filtered=True),
    Rule("D29", _losing_delete, _CHANGES, only="missing"),
    Rule("D30", _filtered_before_merge, only="missing", is_filtered=True),
    Rule("D31", _travel_before_plan, versions=_SINCE_8),
    Rule(
        "D32",
        _filtered_log_blocks,
        _RANGE,
        when=lambda c: _has_parquet_log_blocks(c) and c.lacks_files,
        only="missing",
    ),
    Rule("D33", _operation_that_deletes, when=lambda c: c.payload in PARTIAL_PAYLOADS),
    Rule("D34", _logs_of_compacted_groups, has_rows=False),
    Rule("D35", _replaced_twice, _TRAVEL, only="missing"),
    Rule("D36", _lost_by_record_index, when=_uses_record_index, only="extra", is_filtered=True),
    Rule("D57", _nested_as_another_kind, has_rows=False),
    Rule("D59", _uncommitted_files, when=lambda c: c.is_copy_on_write),
    Rule(
        "D74",
        _changes_of_delta_commits,
        _CHANGES,
        when=lambda c: c.is_copy_on_write,
        only="missing",
    ),
    Rule("D60", _cleaned_replaced_group, _CHANGES, has_rows=False),
    Rule("D86", _lost_delete, _CHANGES, only="extra"),
    Rule("D87", _files_in_table_folder, only="extra"),
)
