"""Base tables and log records to merged tables.

The merge has two phases. First the log records of a key are folded, oldest to newest, into one
winner; then that winner meets the base row. This is not the same as taking the greatest ordering
value of all: a delete without ordering value beats everything before it, also what would beat the
base row later (see "Worked consequences" in the tests' oracle).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError, UnsupportedMergeError
from hudi_pyspark.query.columns.arrays import as_one_array
from hudi_pyspark.query.columns.json_text import json_text
from hudi_pyspark.query.log_records.decoder import NO_ROW, LogRecords
from hudi_pyspark.query.log_records.ordering import comparable_ordering
from hudi_pyspark.query.log_records.records import base_records
from hudi_pyspark.query.merge.custom_merger import merge_pairs
from hudi_pyspark.query.merge.fold import fold_in_rounds
from hudi_pyspark.query.merge.payload import decide
from hudi_pyspark.table.merge_mode import RecordMergeMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from hudi_pyspark.query.log_records.column_sets import ColumnSets
    from hudi_pyspark.query.log_records.ordering import OrderingValues
    from hudi_pyspark.query.log_records.records import Records
    from hudi_pyspark.query.merge.custom_merger import PayloadMerger
    from hudi_pyspark.table.merge_mode import MergeRule

    Rows = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]
    Outcome = Callable[[Records, Records], Records]
    RowFilter = Callable[[pa.Table], Mask]


def merge(
    base: Iterable[pa.Table],
    log: LogRecords,
    rule: MergeRule,
    *,
    key_column: str,
    batch_rows: int,
    merger: PayloadMerger | None = None,
    takes_part: RowFilter | None = None,
) -> Iterator[pa.Table]:
    """Merge a slice.

    Args:
        base: tables of the log records' schema, in file order; consumed one at a time.
        log: the slice's log records.
        rule: which record of a key wins, and what it takes from the others.
        key_column: the column that holds the record key.
        batch_rows: most rows of a table that is made of log records.
        merger: a user's function for payload classes that Apache Hudi does not have.
        takes_part: which rows of a base table are merged; the others are left out, but count where
            log records name row positions. None for all.

    Yields:
        What is left of each base table, then the log rows that met no base row.

    Raises:
        CorruptTableError: a base row without record key.
    """
    if _must_fold(log, rule):
        folded = _fold(log, rule, merger, key_column, takes_part)
        yield from _merge_by_folding(base, folded, batch_rows=batch_rows)
        return
    winners = fold_log_records(log, rule)
    matcher = _Matcher(winners.keys, winners.positions, key_column, takes_part)
    for table in base:
        yield _merge_base_table(table, winners, matcher, rule)
    yield from _chosen_rows(log.rows, winners.row[winners.is_alive], batch_rows)


def changed_rows(
    before: Iterable[pa.Table],
    log: LogRecords,
    rule: MergeRule,
    *,
    key_column: str,
    merger: PayloadMerger | None = None,
) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
    """What log records do to the rows of a slice: inserts, updates and deletes.

    Args:
        before: tables of the log records' schema: the slice as it was.
        log: the log records of one commit.
        rule: which record of a key wins.
        key_column: the column that holds the record key.
        merger: a user's function for payload classes that Apache Hudi does not have.

    Yields:
        ``i``, ``u`` or ``d``, the rows before (None for inserts) and after (None for deletes). A
        record that loses against the row that is there changes nothing and is not told.
    """
    folded = _fold(log, rule, merger, key_column)
    for table in before:
        _, touched, merged = folded.meet(table)
        deleted = np.flatnonzero(merged.is_delete)
        yield "d", touched.take(pa.array(deleted)), None
        updated = np.flatnonzero(~merged.is_delete & _differs(touched, merged.rows))
        yield "u", touched.take(pa.array(updated)), merged.rows.take(pa.array(updated))
    yield "i", None, folded.winners.rows.take(pa.array(folded.left()))


def _differs(older: pa.Table, newer: pa.Table) -> Mask:
    """Rows that are not the same cell by cell."""
    if not older.num_rows:
        return np.zeros(0, np.bool_)
    texts = [json_text(as_one_array(t.to_struct_array())) for t in (older, newer)]
    return np.asarray(pc.not_equal(*texts))


def unmerged(
    base: Iterable[pa.Table], log: Iterable[LogRecords], *, batch_rows: int
) -> Iterator[pa.Table]:
    """``skip_merge``: all base rows, then all rows of data blocks, also those that mean deletes.

    Args:
        base: consumed one at a time.
        log: the records of each block, consumed one at a time.
        batch_rows: most rows of a table that is made of log records.
    """
    yield from base
    for records in log:
        for start in range(0, records.rows.num_rows, batch_rows):
            yield records.rows.slice(start, batch_rows).combine_chunks()


def _chosen_rows(rows: pa.Table, chosen: Rows, batch_rows: int) -> Iterator[pa.Table]:
    """Log rows in log order; never all at once, since a slice's may be gigabytes."""
    is_chosen = np.zeros(rows.num_rows, np.bool_)
    is_chosen[chosen] = True
    for start in range(0, rows.num_rows, batch_rows):
        kept = pa.array(is_chosen[start : start + batch_rows])
        table = rows.slice(start, batch_rows).filter(kept).combine_chunks()
        if table.num_rows:
            yield table


def _outcome(rule: MergeRule, sets: ColumnSets, merger: PayloadMerger | None) -> Outcome:
    """Older and newer records, pair by pair, to what they come to."""
    if merger is not None:
        return lambda older, newer: merge_pairs(merger, older, newer, rule)
    return lambda older, newer: decide(older, newer, rule, sets).apply(older, newer)


def _merge_by_folding(
    base: Iterable[pa.Table], folded: _Folded, *, batch_rows: int
) -> Iterator[pa.Table]:
    """The same two phases where the winner takes values from the loser."""
    for table in base:
        untouched, _, merged = folded.meet(table)
        yield untouched
        yield merged.rows.filter(pa.array(~merged.is_delete))
    left = folded.left()
    for start in range(0, len(left), batch_rows):
        yield folded.winners.rows.take(pa.array(left[start : start + batch_rows]))


@dataclass(frozen=True, slots=True)
class _Folded:
    """What phase one came to where winners take values from losers, ready to meet the base rows."""

    winners: Records  # one per key
    matcher: _Matcher
    outcome: Outcome
    ordering_fields: tuple[str, ...]

    def meet(self, table: pa.Table) -> tuple[pa.Table, pa.Table, Records]:
        """The base rows that meet no winner, those that meet one, and what these come to."""
        base, rows, matched = self.matcher.match(table)
        keep = np.ones(base.num_rows, np.bool_)
        keep[rows] = False
        touched = base.take(pa.array(rows))
        older = base_records(touched, comparable_ordering(touched, self.ordering_fields))
        return (
            base.filter(pa.array(keep)),
            touched,
            self.outcome(older, self.winners.take(matched)),
        )

    def left(self) -> Rows:
        """Winners that have met no base row and are rows themselves."""
        winners = self.winners
        return np.flatnonzero(~self.matcher.is_met & winners.has_row & ~winners.is_delete)


def _fold(
    log: LogRecords,
    rule: MergeRule,
    merger: PayloadMerger | None,
    key_column: str,
    takes_part: RowFilter | None = None,
) -> _Folded:
    """Phase one: one record per key, which has taken what it takes from older log records."""
    winners, keys, positions = _folded(log, rule, merger)
    # Java classes are compared among log records only.
    winners = replace(winners, has_other_class=np.zeros(len(winners), np.bool_))
    matcher = _Matcher(keys, positions, key_column, takes_part)
    outcome = _outcome(rule, log.column_sets, merger)
    return _Folded(winners, matcher, outcome, rule.ordering_fields)


def _folded(
    log: LogRecords, rule: MergeRule, merger: PayloadMerger | None
) -> tuple[Records, pa.Array, Rows | None]:
    """One record per key, and keys or positions in the same order."""
    if rule.needs_fold and len(log.column_sets):
        # Apache Hudi's payload classes do not know of them, and a partial update mode counts only
        # until the first of them in the log: no table is known that shows what comes out.
        named = rule.payload_class or rule.merge_strategy_id or rule.partial_update_mode
        raise UnsupportedMergeError(
            f"the log files hold partial updates (MERGE INTO, UPDATE), and the table merges by "
            f"{named}: the two together are not covered. Run a compaction with Apache Hudi"
        )
    codes, keys, positions = _identities(log)
    folded, order = fold_in_rounds(codes, log.records, _outcome(rule, log.column_sets, merger))
    return folded.take(np.argsort(order)), keys, positions


def _must_fold(log: LogRecords, rule: MergeRule) -> bool:
    """Whether winners take values from losers."""
    return rule.needs_fold or len(log.column_sets) > 0


def newest(log: LogRecords, rule: MergeRule, merger: PayloadMerger | None = None) -> LogRecords:
    """The same records with one for each key: what they come to among themselves.

    Records that were written later may follow: the fold of all is the fold of this one and them.
    """
    if _must_fold(log, rule):
        records, keys, positions = _folded(log, rule, merger)
    else:
        codes, keys, positions = _identities(log)
        records = log.records(_winners(codes, log, rule))
    return LogRecords.of(records, keys, positions, log.column_sets)


@dataclass(slots=True)
class LogWinners:
    """One record per key: what the log files say of it, before the base row is seen."""

    keys: pa.Array  # distinct record keys; null where positions identify the records
    positions: Rows | None  # distinct row ordinals in the base file; None to match by key
    row: Rows  # ordinal in the log rows, NO_ROW for a delete-block record
    is_delete: Mask
    beats_all: Mask  # wins over the base row whatever its ordering value
    ordering: OrderingValues
    is_alive: Mask  # no base row has won so far, and the record is no delete


def fold_log_records(log: LogRecords, rule: MergeRule) -> LogWinners:
    """Phase one: the newest record of each key, by the rule's ordering."""
    codes, keys, positions = _identities(log)
    chosen = _winners(codes, log, rule)
    return LogWinners(
        keys=keys,
        positions=positions,
        row=log.row[chosen],
        is_delete=log.is_delete[chosen],
        beats_all=(
            np.ones(len(chosen), np.bool_)
            if rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING
            else log.is_delete[chosen] & log.has_default_ordering[chosen]
        ),
        ordering=log.ordering.take(chosen),
        is_alive=~log.is_delete[chosen],
    )


def _identities(log: LogRecords) -> tuple[Rows, pa.Array, Rows | None]:
    """A number per record that is equal for records of one key, and the keys by that number."""
    if log.positions is not None:
        positions, codes = np.unique(log.positions, return_inverse=True)
        return codes.astype(np.int64), pa.nulls(len(positions), pa.string()), positions
    encoded = pc.dictionary_encode(log.keys)
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary, None


def _winners(codes: Rows, log: LogRecords, rule: MergeRule) -> Rows:
    """Per code, from 0 on, the record that is newer than all others."""
    if rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING:
        return _last_of_each(codes)
    return _newest_of_each(codes, log)


def _last_of_each(codes: Rows) -> Rows:
    """Per code, from 0 on, the last record that has it."""
    last = np.empty(int(codes.max()) + 1 if len(codes) else 0, np.int64)
    last[codes] = np.arange(len(codes))
    return last


def _newest_of_each(codes: Rows, log: LogRecords) -> Rows:
    """Per code, from 0 on, the outcome of folding its records in event-time order."""
    candidates = _after_resets(codes, log)
    ranks = log.ordering.ranks()[candidates]
    order = np.lexsort((candidates, ranks, codes[candidates]))
    sorted_codes = codes[candidates][order]
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = sorted_codes[1:] != sorted_codes[:-1]
    return candidates[order[is_last]]


def _after_resets(codes: Rows, log: LogRecords) -> Rows:
    """Records that still matter once deletes that beat everything before them are heeded.

    A delete without ordering value beats every older record of its key and loses against any newer
    row; further delete-block records right after it change nothing. A delete-block record whose
    ordering value has another Java class than the column beats every older record, too.
    """
    everything = np.arange(len(codes))
    commit_time = log.is_delete & log.has_default_ordering
    if not commit_time.any() and not log.has_other_class.any():
        return everything
    count = int(codes.max()) + 1
    last_commit_time = _last_where(commit_time, codes, count)[codes]
    is_candidate = everything >= last_commit_time
    # Behind such a delete the first row replaces it; until then delete-block records are void.
    is_row = log.row != NO_ROW
    first_row = _first_where(is_row & (everything > last_commit_time), codes, count)[codes]
    has_reset = last_commit_time != NO_ROW
    is_reset_itself = everything == last_commit_time
    replaced = has_reset & (first_row < len(codes))
    is_candidate &= ~(is_reset_itself & replaced)
    is_candidate &= ~(has_reset & ~is_reset_itself & (everything < first_row))
    other_class = log.has_other_class & ~commit_time & is_candidate
    last_other_class = _last_where(other_class, codes, count)[codes]
    return everything[is_candidate & (everything >= last_other_class)]


def _last_where(mask: Mask, codes: Rows, count: int) -> Rows:
    """Per code, the last record of the mask; NO_ROW without one."""
    last = np.full(count, NO_ROW, np.int64)
    rows = np.flatnonzero(mask)
    last[codes[rows]] = rows
    return last


def _first_where(mask: Mask, codes: Rows, count: int) -> Rows:
    """Per code, the first record of the mask; the number of records without one."""
    first = np.full(count, len(codes), np.int64)
    rows = np.flatnonzero(mask)[::-1]
    first[codes[rows]] = rows
    return first


class _Matcher:
    """Finds the log winner of each base row; remembers which winners have met their row."""

    def __init__(
        self,
        keys: pa.Array,
        positions: Rows | None,
        key_column: str,
        takes_part: RowFilter | None = None,
    ) -> None:
        self._keys = keys
        self._positions = positions
        self._key_column = key_column
        self._takes_part = takes_part
        self.is_met = np.zeros(len(keys), np.bool_)
        self._rows_before = 0

    def match(self, table: pa.Table) -> tuple[pa.Table, Rows, Rows]:
        """The rows that take part, ordinals of those that meet a log winner, and of these winners.

        A winner meets one base row only: of duplicate keys in a base file, the first.
        """
        if self._positions is not None:
            rows, matched = self._match_positions(self._positions, table.num_rows)
            if self._takes_part is not None:
                takes_part = self._takes_part(table)
                is_left = takes_part[rows]
                rows, matched = (np.cumsum(takes_part) - 1)[rows[is_left]], matched[is_left]
                table = table.filter(pa.array(takes_part))
        else:
            if self._takes_part is not None:
                table = table.filter(pa.array(self._takes_part(table)))
            rows, matched = self._match_keys(table)
        is_new = ~self.is_met[matched]
        self.is_met[matched] = True
        return table, rows[is_new], matched[is_new]

    def _match_positions(self, positions: Rows, length: int) -> tuple[Rows, Rows]:
        first_row, self._rows_before = self._rows_before, self._rows_before + length
        begin, end = np.searchsorted(positions, (first_row, first_row + length))
        return positions[begin:end] - first_row, np.arange(begin, end)

    def _match_keys(self, table: pa.Table) -> tuple[Rows, Rows]:
        """Per winner that the table has, its first row."""
        keys = as_one_array(table.column(self._key_column))
        if keys.null_count:
            raise CorruptTableError(
                "a base file has a record without record key, so log records cannot be matched"
            )
        # The value set is hashed anew for each table, so it had better be the smaller side: with
        # a million winners that is ten times faster.
        if len(keys) < len(self._keys):
            first_rows = _index_in(self._keys, keys)
            matched = np.flatnonzero(first_rows != NO_ROW)
            return first_rows[matched], matched
        found = _index_in(keys, self._keys)
        rows = np.flatnonzero(found != NO_ROW)
        matched, first = np.unique(found[rows], return_index=True)
        return rows[first], matched


def _index_in(values: pa.Array, value_set: pa.Array) -> Rows:
    """Per value, where the set has it first, or NO_ROW."""
    found = pc.index_in(values, value_set=value_set)
    return np.asarray(pc.fill_null(found, NO_ROW)).astype(np.int64)


def _merge_base_table(
    table: pa.Table, winners: LogWinners, matcher: _Matcher, rule: MergeRule
) -> pa.Table:
    """Phase two: drop the base rows that a log winner replaces or deletes."""
    base, rows, matched = matcher.match(table)
    if not len(rows):
        return base
    base_wins = np.zeros(len(rows), np.bool_)
    if rule.mode is RecordMergeMode.EVENT_TIME_ORDERING:
        base_ordering = comparable_ordering(base, rule.ordering_fields).take(rows)
        base_wins = winners.ordering.take(matched).older_than(base_ordering)
        base_wins &= ~winners.beats_all[matched]
    winners.is_alive[matched[base_wins]] = False
    keep = np.ones(base.num_rows, np.bool_)
    keep[rows[~base_wins]] = False
    return base.filter(pa.array(keep))
