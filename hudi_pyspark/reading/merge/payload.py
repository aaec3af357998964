"""Rules of the merge: one function for each merge mode and payload class.

Each takes the older and the newer record of some keys, pair by pair, and decides. Names are those
of Apache Hudi's payload classes, whose method ``combineAndGetUpdateValue`` the functions follow.
Functions named `fill_*` add to a decision on whole records, column by column, the pairs in which
the winner takes the loser's value. A delete on either side takes and gives nothing.

Who beats whom, from the strongest rule to the weakest:

1. A delete without an ordering value beats whatever is older, and any newer row beats it, in each
   mode and for each payload class. So does a record over nothing: then there is no pair to decide.
2. By COMMIT_TIME_ORDERING the newer record wins, also over a greater ordering value.
3. By EVENT_TIME_ORDERING the greater ordering value wins, and on a tie the newer record. A delete
   with an ordering value takes part like a row.
4. A payload class decides by itself, and may turn a row into a delete. Its winner may be a mix.
5. Last, columns are filled: those that a partial update lacks, or those that the table's partial
   update mode names. This changes no winner.

A record that only the payload calls a delete keeps no row (`Decision.without_row`): nothing is left
of it that a later record, or the base row, could be compared with. A row that was flagged as a
delete keeps its values, since its ordering value still counts against the base row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import any_of, as_one_array, is_null, is_true
from hudi_pyspark.errors import CorruptTableError, InvalidOptionError
from hudi_pyspark.reading.log_records.records import (
    OrderingValues,
    Records,
    comparable_ordering,
    ordering_field,
)
from hudi_pyspark.table.merge_mode import (
    DMS_OPERATION_FIELD,
    MYSQL_SEQUENCE_FIELD,
    OPERATION_FIELD,
    POSTGRES_LSN_FIELD,
    RecordMergeMode,
)
from hudi_pyspark.table.meta_columns import DELETED_COLUMN, META_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hudi_pyspark.columns.arrays import Mask
    from hudi_pyspark.custom_mergers import PayloadMerger
    from hudi_pyspark.reading.log_records.records import ColumnSets, SetNumbers
    from hudi_pyspark.table.merge_mode import MergeRule

    Decide = Callable[[Records, Records, MergeRule], "Decision"]

UNAVAILABLE_VALUE = "hoodie.write.partial.update.unavailable.value"
DEBEZIUM_UNAVAILABLE = "__debezium_unavailable_value"


@dataclass(frozen=True, slots=True)
class Decision:
    """The winners of some pairs of records; all arrays have one entry per pair."""

    newer_wins: Mask
    filled: Mapping[str, Mask]  # column to the pairs in which the winner takes the loser's value
    is_delete: Mask  # the merged record is a delete
    columns: SetNumbers  # set of columns that the merged record has
    without_row: Mask | None = None  # the merged record is a delete that keeps no row; None: none
    ordering_fields: tuple[str, ...] = ()  # where filled, the ordering value is the loser's too

    @classmethod
    def pick(cls, older: Records, newer: Records, newer_wins: Mask) -> Decision:
        """Decide for whole records: the winner takes nothing from the loser."""
        return cls(
            newer_wins=newer_wins,
            filled={},
            is_delete=np.where(newer_wins, newer.marks.is_delete, older.marks.is_delete),
            columns=np.where(newer_wins, newer.marks.columns, older.marks.columns),
        )

    def fill(self, names: Iterable[str], mask_of: Callable[[str], Mask]) -> Decision:
        """Return the decision where the winner takes columns from the loser, in masked pairs."""
        masks = ((name, mask_of(name)) for name in names)
        return replace(self, filled={name: mask for name, mask in masks if mask.any()})

    def apply(self, older: Records, newer: Records) -> Records:
        """Return the merged record of each pair."""
        pairs = Records.concat([older, newer])
        count = len(older)
        winner = np.arange(count) + count * self.newer_wins
        loser = np.arange(count) + count * ~self.newer_wins
        merged = pairs.take(winner)
        sources = {name: np.where(filled, loser, winner) for name, filled in self.filled.items()}
        columns = [
            pairs.rows.column(name).take(pa.array(sources[name]))
            if name in sources
            else merged.rows.column(name)
            for name in merged.rows.schema.names
        ]
        ordering = list(merged.marks.ordering.fields)
        for number, name in enumerate(self.ordering_fields):
            source = sources.get(name.partition(".")[0])
            if source is not None:
                ordering[number] = pairs.marks.ordering.fields[number].take(pa.array(source))
        return Records(
            rows=pa.Table.from_arrays(columns, schema=merged.rows.schema),
            has_row=merged.has_row
            if self.without_row is None
            else merged.has_row & ~self.without_row,
            marks=replace(
                merged.marks,
                is_delete=self.is_delete,
                columns=self.columns,
                ordering=OrderingValues(tuple(ordering), count),
            ),
        )


def fill_missing_columns(
    older: Records, newer: Records, decision: Decision, sets: ColumnSets
) -> Decision:
    """Fill the columns that the winner's block lacks, as MERGE INTO and UPDATE write them.

    A column that the block has sets null where it is null.
    """
    alive = _both_rows(older, newer)
    winner = np.where(decision.newer_wins, newer.marks.columns, older.marks.columns)
    names = older.rows.schema.names
    filled = decision.fill(names, lambda name: alive & sets.lacking(name, winner))
    union = sets.union(older.marks.columns, newer.marks.columns)
    return replace(filled, columns=np.where(alive, union, decision.columns))


def fill_by_mode(
    older: Records, newer: Records, decision: Decision, mode: str, properties: Mapping[str, str]
) -> Decision:
    """Apply ``hoodie.table.partial.update.mode``, one of `PARTIAL_UPDATE_MODES`.

    IGNORE_DEFAULTS fills the nulls of the winner, FILL_UNAVAILABLE its text that equals a marker.
    Bytes are left as they are, as by Apache Hudi 1.2.0 (case x_v9_mor_pl_postgres_toast). Source:
    Hudi's PartialUpdateHandler.
    """
    marker = properties.get(UNAVAILABLE_VALUE, DEBEZIUM_UNAVAILABLE)

    alive = _both_rows(older, newer)

    def is_open(column: pa.ChunkedArray) -> Mask:
        if mode == "IGNORE_DEFAULTS":
            return is_null(column)
        if pa.types.is_string(column.type):
            return equals_marker(column, marker)
        return np.zeros(len(column), np.bool_)

    def mask_of(name: str) -> Mask:
        open_values = (is_open(records.rows.column(name)) for records in (newer, older))
        return alive & np.where(decision.newer_wins, *open_values)

    return decision.fill(older.rows.schema.names, mask_of)


def equals_marker(column: pa.ChunkedArray, marker: str) -> Mask:
    """Return the rows whose text or bytes equal a marker; none in columns of other types."""
    data_type = column.type
    if pa.types.is_string(data_type):
        equal = pc.equal(column, marker)
    elif pa.types.is_binary(data_type):
        equal = pc.equal(column, pa.scalar(marker.encode(), pa.binary()))
    else:
        return np.zeros(len(column), np.bool_)
    return is_true(equal)


def _both_rows(older: Records, newer: Records) -> Mask:
    deletes = older.marks.is_delete | newer.marks.is_delete
    return older.has_row & newer.has_row & ~deletes


def decide(older: Records, newer: Records, rule: MergeRule, sets: ColumnSets) -> Decision:
    """Decide which of two records wins by the table's rule, and what it takes from the other."""
    if rule.mode is RecordMergeMode.CUSTOM:
        return _custom(older, newer, rule)
    if rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING:
        decision = overwrite_with_latest(older, newer, rule)
    else:
        decision = event_time(older, newer, rule)
    if len(sets):
        return fill_missing_columns(older, newer, decision, sets)
    if rule.partial_update_mode:
        mode, properties = rule.partial_update_mode, dict(rule.merge_properties)
        decision = fill_by_mode(older, newer, decision, mode, properties)
    return decision


def event_time(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide by EVENT_TIME_ORDERING: the greater ordering value wins, the newer record on a tie.

    A delete without ordering value beats what is older and is beaten by any newer row; a delete-
    block record behind it changes nothing. A delete-block record whose ordering value has another
    Java class beats what is older.
    """
    wins = ~newer.marks.ordering.older_than(older.marks.ordering)
    wins |= newer.marks.is_commit_time_delete | newer.marks.has_other_class
    wins = np.where(older.marks.is_commit_time_delete, newer.has_row, wins)
    return Decision.pick(older, newer, wins)


def _custom(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Let a payload class decide, unless there is no older row or a delete beats everything."""
    decision = PAYLOADS[rule.payload_name](older, newer, rule)
    unconditional = ~older.has_row
    unconditional |= older.marks.is_commit_time_delete | newer.marks.is_commit_time_delete
    is_new_delete = decision.is_delete & ~newer.marks.is_delete
    return Decision(
        newer_wins=decision.newer_wins | unconditional,
        filled={name: mask & ~unconditional for name, mask in decision.filled.items()},
        is_delete=np.where(unconditional, newer.marks.is_delete, decision.is_delete),
        columns=decision.columns,
        # Where only the payload says "delete", nothing is left to be compared with the base row
        # later. A row that was flagged as a delete keeps its values.
        without_row=is_new_delete & decision.newer_wins & ~unconditional,
        ordering_fields=decision.ordering_fields,
    )


def overwrite_with_latest(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide like OverwriteWithLatestAvroPayload, and by COMMIT_TIME_ORDERING: the newer wins."""
    return Decision.pick(older, newer, np.ones(len(older), np.bool_))


def default_payload(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like DefaultHoodieRecordPayload and EventTimeAvroPayload: the newer wins a tie."""
    wins = ~newer.marks.ordering.older_than(older.marks.ordering) | _is_unordered(older, rule)
    return Decision.pick(older, newer, wins)


def first_value(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like FirstValueAvroPayload: by ordering value, and the older wins a tie."""
    wins = older.marks.ordering.older_than(newer.marks.ordering) | _is_unordered(older, rule)
    return Decision.pick(older, newer, wins)


def _is_unordered(records: Records, rule: MergeRule) -> Mask:
    """Return the rows whose only ordering field is null: a payload class prefers the newer one."""
    if len(rule.ordering_fields) != 1:
        return np.zeros(len(records), np.bool_)
    values = ordering_field(records.rows, rule.ordering_fields[0])
    return is_null(values) & records.has_row


def overwrite_non_defaults(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like OverwriteNonDefaultsWithLatestAvroPayload: defaults take older values."""
    decision = overwrite_with_latest(older, newer, rule)
    kept = ~newer.marks.is_delete & newer.has_row
    names = newer.rows.schema.names
    return decision.fill(names, lambda name: _is_default(newer.rows, name, rule) & kept)


def partial_update(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like PartialUpdateAvroPayload.

    The greater ordering value wins, and takes the other value where it has null. A newer delete
    deletes whatever its ordering value; meta columns are always those of the newer record.
    """
    deletes = newer.marks.is_delete | ~newer.has_row
    wins = deletes | ~newer.marks.ordering.older_than(older.marks.ordering)
    wins |= _of_other_class(older, newer, rule) | _is_unordered(older, rule)
    merges = ~deletes & (wins | ~older.marks.is_delete)

    def mask_of(name: str) -> Mask:
        if name in META_COLUMNS:
            return ~wins
        # Only nulls: unlike OverwriteNonDefaults..., it does not look at the schema's defaults.
        open_values = (is_null(records.rows.column(name)) for records in (newer, older))
        return np.where(wins, *open_values) & merges

    decision = Decision.pick(older, newer, wins).fill(newer.rows.schema.names, mask_of)
    return replace(decision, ordering_fields=rule.ordering_fields)


def _of_other_class(older: Records, newer: Records, rule: MergeRule) -> Mask:
    """Return the pairs whose ordering values do not compare in Java: a null is the Integer 0."""
    # Of decimals, dates and texts, Spark has classes that are never those of the payload's record.
    types = [ordering_field(newer.rows, name).type for name in rule.ordering_fields]
    differs = np.full(len(older), any(map(_HAS_SPARK_CLASS, types)))
    for one, other in zip(older.marks.ordering.fields, newer.marks.ordering.fields, strict=True):
        differs |= is_null(one) != is_null(other)
    return differs


_HAS_SPARK_CLASS = any_of(pa.types.is_decimal, pa.types.is_date, pa.types.is_string)


def aws_dms(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like AWSDmsAvroPayload: the newer record wins; ``Op`` D or d deletes."""
    decision = overwrite_with_latest(older, newer, rule)
    deletes = _operation_is(newer, DMS_OPERATION_FIELD, "d") | ~newer.has_row
    return replace(decision, is_delete=decision.is_delete | deletes)


def mysql_debezium(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide like MySqlDebeziumAvroPayload: the later binary log position wins; d deletes."""
    older_sequence, newer_sequence = _mysql_sequence(older), _mysql_sequence(newer)
    if (newer.has_row & is_null(newer.rows.column(MYSQL_SEQUENCE_FIELD))).any():
        raise CorruptTableError(f"a log record has no {MYSQL_SEQUENCE_FIELD}, so it has no order")
    return _debezium(older, newer, newer_sequence.older_than(older_sequence))


def postgres_debezium(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide like PostgresDebeziumAvroPayload.

    The greater LSN wins, and takes the older values where TOAST left out its own. Apache Hudi 1.1
    and later leave the marker text of such values in the result on tables before version 9; here
    they are filled, as by 0.15 and on version 9.
    """
    fields = (POSTGRES_LSN_FIELD,)
    older_lsn = comparable_ordering(older.rows, fields)
    newer_lsn = comparable_ordering(newer.rows, fields)
    decision = _debezium(older, newer, newer_lsn.older_than(older_lsn))
    kept = decision.newer_wins & ~decision.is_delete

    def is_toasted(name: str) -> Mask:
        return equals_marker(newer.rows.column(name), DEBEZIUM_UNAVAILABLE) & kept

    return decision.fill(newer.rows.schema.names, is_toasted)


def _debezium(older: Records, newer: Records, is_late: Mask) -> Decision:
    decision = Decision.pick(older, newer, ~is_late | ~newer.has_row)
    deletes = _operation_is(newer, OPERATION_FIELD, "d") | ~newer.has_row
    return replace(decision, is_delete=decision.is_delete | (decision.newer_wins & deletes))


def _mysql_sequence(records: Records) -> OrderingValues:
    """Parse ``file.position`` into two numbers; null is smaller than all others."""
    column = as_one_array(records.rows.column(MYSQL_SEQUENCE_FIELD))
    parts = pc.extract_regex(column, r"^(?P<file>[0-9]+)\.(?P<position>[0-9]+)$")
    bad = is_null(parts) & ~is_null(column)
    if bad.any():
        text = column[int(bad.argmax())].as_py()
        raise CorruptTableError(f"{MYSQL_SEQUENCE_FIELD} is {text!r}; expected <file>.<position>")
    fields = tuple(pc.struct_field(parts, [i]).cast(pa.int64()) for i in range(2))
    return OrderingValues(fields, len(records))


def _operation_is(records: Records, field: str, operation: str) -> Mask:
    if field not in records.rows.schema.names:
        return np.zeros(len(records), np.bool_)
    text = pc.utf8_lower(records.rows.column(field))
    return is_true(pc.equal(text, operation))


def _is_default(rows: pa.Table, name: str, rule: MergeRule) -> Mask:
    """Return the rows where a column has its default: null, unless the schema has another."""
    default: pa.Scalar | None = dict(rule.column_defaults).get(name)
    column = rows.column(name)
    if default is None:
        return is_null(column)
    return is_true(pc.equal(column, default))


PAYLOADS: Mapping[str, Decide] = {
    "OverwriteWithLatestAvroPayload": overwrite_with_latest,
    "DefaultHoodieRecordPayload": default_payload,
    "EventTimeAvroPayload": default_payload,
    "FirstValueAvroPayload": first_value,
    "OverwriteNonDefaultsWithLatestAvroPayload": overwrite_non_defaults,
    "PartialUpdateAvroPayload": partial_update,
    "AWSDmsAvroPayload": aws_dms,
    "MySqlDebeziumAvroPayload": mysql_debezium,
    "PostgresDebeziumAvroPayload": postgres_debezium,
}


def merge_pairs(merger: PayloadMerger, older: Records, newer: Records, rule: MergeRule) -> Records:
    """Merge pairs of records with a user's function.

    Deletes need no function: without an older row, or with a delete, the newer record counts.

    Raises:
        InvalidOptionError: the function returned another number of rows, or other columns or types.
    """
    deletes = older.marks.is_delete | newer.marks.is_delete
    by_function = older.has_row & newer.has_row & ~deletes
    others = Decision.pick(older, newer, ~by_function).apply(older, newer)
    pairs = np.flatnonzero(by_function)
    if not len(pairs):
        return others
    names = older.rows.schema.names
    taken = pa.array(pairs)
    returned = merger.merge(older.rows.take(taken), newer.rows.take(taken))
    _check_returned(returned, older.rows.schema, len(pairs))
    try:
        rows = returned.select(names).cast(older.rows.schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidOptionError(
            f"the payload merger must return columns in the types that it gets: {error}"
        ) from error
    merged = Records.of_rows(rows, comparable_ordering(rows, rule.ordering_fields))
    if DELETED_COLUMN in returned.schema.names:
        is_delete = is_true(returned.column(DELETED_COLUMN))
        merged = replace(merged, marks=replace(merged.marks, is_delete=is_delete))
    source = np.arange(len(older))
    source[pairs] = len(older) + np.arange(len(pairs))
    return Records.concat([others, merged]).take(source)


def _check_returned(merged: pa.Table, schema: pa.Schema, length: int) -> None:
    if not isinstance(merged, pa.Table) or merged.num_rows != length:
        returned = (
            f"{merged.num_rows} rows" if isinstance(merged, pa.Table) else type(merged).__name__
        )
        raise InvalidOptionError(
            f"the payload merger must return a pyarrow.Table of {length} rows, one for each pair "
            f"of records; it returned {returned}"
        )
    missing = ", ".join(name for name in schema.names if name not in merged.schema.names)
    if missing:
        raise InvalidOptionError(
            f"the payload merger must return all columns that it gets; missing: {missing}"
        )
