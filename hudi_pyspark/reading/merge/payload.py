"""Rules of the merge: a function for each merge mode and payload class, and for users' functions.

Each function takes the older and the newer records of some keys, pair by pair, and returns a
`Decision`. Functions of payload classes follow the method ``combineAndGetUpdateValue`` of the class
in Apache Hudi.

Who beats whom, from the strongest rule to the weakest:

1. A delete without an ordering value beats every older record, and any newer row beats it, in each
   mode and for each payload class. A record without an older row wins in the same way.
2. By COMMIT_TIME_ORDERING the newer record wins, even over a greater ordering value.
3. By EVENT_TIME_ORDERING the greater ordering value wins, and on a tie the newer record. A delete
   with an ordering value takes part like a row.
4. A payload class decides by itself, and may turn a row into a delete. Its winner may be a mix.
5. Last, columns are filled: columns that a partial update lacks, or columns that the table's
   partial update mode names. This changes no winner.

A record that only the payload class calls a delete keeps no row (`Decision.without_row`): it has
nothing that a later record, or the base row, could be compared with. A row that was flagged as a
delete keeps its values, since its ordering value still counts against the base row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, any_of, as_one_array, is_null, is_true
from hudi_pyspark.columns.text import spark_value_text
from hudi_pyspark.errors import CorruptTableError, InvalidOptionError
from hudi_pyspark.format.column_names import find_path
from hudi_pyspark.reading.log_records.marks import are_older, flagged_rows, ordering_field
from hudi_pyspark.reading.merge.decision import (
    DEBEZIUM_UNAVAILABLE,
    Decision,
    both_rows,
    equals_marker,
    fill_by_mode,
    fill_missing_columns,
)
from hudi_pyspark.table.merge_mode import (
    DMS_OPERATION_FIELD,
    MYSQL_SEQUENCE_FIELD,
    OPERATION_FIELD,
    PAYLOADS,
    POSTGRES_LSN_FIELD,
    MergeRule,
    PayloadMerger,
    RecordMergeMode,
)
from hudi_pyspark.table.meta_columns import DELETED_COLUMN, META_COLUMNS

if TYPE_CHECKING:
    from hudi_pyspark.reading.log_records.records import ColumnSets, Records

    Decide = Callable[[Records, Records, MergeRule], Decision]


def merge_pairs(older: Records, newer: Records, rule: MergeRule, sets: ColumnSets) -> Records:
    """Merge pairs of records; each pair has one key. Arguments are as for `decide`.

    Raises:
        CorruptTableError: as `decide`.
        InvalidOptionError: a user's merger returned something other than rows of its arguments'
            types.
    """
    if rule.merger is not None:
        return _merge_by_function(rule.merger, older, newer, rule)
    return decide(older, newer, rule, sets).apply(older, newer)


def decide(older: Records, newer: Records, rule: MergeRule, sets: ColumnSets) -> Decision:
    """Decide by a table's rule which record of each pair wins, and what it takes from the other.

    Args:
        older: one record of each pair.
        newer: the other record of each pair.
        rule: of the table.
        sets: the sets of columns to which the records' marks refer.

    Raises:
        CorruptTableError: a record lacks the value by which its payload class orders records.
    """
    if rule.mode is RecordMergeMode.CUSTOM:
        return _custom(older, newer, rule)
    if rule.mode is RecordMergeMode.COMMIT_TIME_ORDERING:
        decision = overwrite_with_latest(older, newer, rule)
    else:
        decision = event_time(older, newer, rule)
    if len(sets):
        return fill_missing_columns(older, newer, decision, sets)
    if rule.partial_update_mode:
        mode = rule.partial_update_mode
        properties = dict(rule.merge_properties)
        decision = fill_by_mode(older, newer, decision, mode, properties)
    return decision


def event_time(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide by EVENT_TIME_ORDERING: the greater ordering value wins, the newer record on a tie.

    The table in `fold.py` has the exceptions for deletes.
    """
    wins = ~_is_older(newer, older)
    wins |= newer.marks.is_commit_time_delete | newer.marks.has_other_class
    wins = np.where(older.marks.is_commit_time_delete, newer.has_row, wins)
    return Decision.pick(older, newer, wins)


def _custom(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Let a payload class decide, unless there is no older row or a delete beats every record."""
    decision = DECISIONS[PAYLOADS[rule.payload_name].decision](older, newer, rule)
    unconditional = ~older.has_row
    unconditional |= older.marks.is_commit_time_delete | newer.marks.is_commit_time_delete
    winner = Decision.pick(older, newer, decision.newer_wins)
    is_new_delete = decision.is_delete & ~winner.is_delete
    return replace(
        decision,
        newer_wins=decision.newer_wins | unconditional,
        filled={name: mask & ~unconditional for name, mask in decision.filled.items()},
        is_delete=np.where(unconditional, newer.marks.is_delete, decision.is_delete),
        without_row=is_new_delete & ~unconditional,
    )


def _merge_by_function(
    merger: PayloadMerger, older: Records, newer: Records, rule: MergeRule
) -> Records:
    """Merge pairs of records with a user's function.

    The newer record wins without the function if there is no older row, or if one of them is a
    delete.

    Raises:
        InvalidOptionError: the function returned another number of rows, or other columns or types.
    """
    by_function = both_rows(older, newer)
    by_default = Decision.pick(older, newer, ~by_function).apply(older, newer)
    pairs = np.flatnonzero(by_function)
    if not len(pairs):
        return by_default
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
    is_delete = np.zeros(len(pairs), np.bool_)
    if DELETED_COLUMN in returned.schema.names:
        is_delete = is_true(returned.column(DELETED_COLUMN))
    return by_default.with_rows(pairs, rows, rule.ordering_fields, is_delete)


def _check_returned(merged: pa.Table, schema: pa.Schema, length: int) -> None:
    if not isinstance(merged, pa.Table) or merged.num_rows != length:
        returned = (
            f"{merged.num_rows} rows" if isinstance(merged, pa.Table) else type(merged).__name__
        )
        raise InvalidOptionError(
            f"the payload merger must return a pyarrow.Table of {length} rows, one for each pair "
            f"of records; it returned {returned}"
        )
    returned_names = {*merged.schema.names}
    missing = ", ".join(name for name in schema.names if name not in returned_names)
    if missing:
        raise InvalidOptionError(
            f"the payload merger must return all columns that it gets; missing: {missing}"
        )


def overwrite_with_latest(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide like OverwriteWithLatestAvroPayload and COMMIT_TIME_ORDERING: the newer wins."""
    return Decision.pick(older, newer, np.ones(len(older), np.bool_))


def default_payload(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like DefaultHoodieRecordPayload and EventTimeAvroPayload: the newer wins a tie."""
    wins = ~_is_older(newer, older) | _is_unordered(older, rule)
    return Decision.pick(older, newer, wins)


def first_value(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like FirstValueAvroPayload: by ordering value, and the older wins a tie."""
    wins = _is_older(older, newer) | _is_unordered(older, rule)
    return Decision.pick(older, newer, wins)


def _is_older(first: Records, second: Records) -> Mask:
    """Return the pairs in which the ordering value of the first record is the smaller one."""
    return are_older(first.marks.ordering, second.marks.ordering, len(first))


def _is_unordered(records: Records, rule: MergeRule) -> Mask:
    """Return the rows whose only ordering field is null: payload classes then prefer the newer."""
    if len(rule.ordering_fields) != 1:
        return np.zeros(len(records), np.bool_)
    return is_null(ordering_field(records.rows, rule.ordering_fields[0])) & records.has_row


def overwrite_non_defaults(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like OverwriteNonDefaultsWithLatestAvroPayload: older values replace defaults."""
    decision = overwrite_with_latest(older, newer, rule)
    kept = ~newer.marks.is_delete & newer.has_row
    names = newer.rows.schema.names
    return decision.fill(names, lambda name: _is_default(newer.rows, name, rule) & kept)


def partial_update(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like PartialUpdateAvroPayload.

    The greater ordering value wins, and takes the other record's values for its nulls. A newer
    delete deletes, whatever its ordering value. So does an older delete that wins, and even a
    flagged base row, which other classes take for a row. Meta columns are always the newer
    record's.
    """
    deletes = newer.marks.is_delete | ~newer.has_row
    wins = deletes | ~_is_older(newer, older)
    wins |= _of_other_class(older, newer, rule) | _is_unordered(older, rule)
    merges = ~deletes & (wins | ~older.marks.is_delete)

    def mask_of(name: str) -> Mask:
        if name in META_COLUMNS:
            return ~wins
        # Only nulls: unlike OverwriteNonDefaults..., it does not look at the schema's defaults.
        open_values = (is_null(records.rows.column(name)) for records in (newer, older))
        return np.where(wins, *open_values) & merges

    decision = Decision.pick(older, newer, wins).fill(newer.rows.schema.names, mask_of)
    is_delete = decision.is_delete | (~wins & flagged_rows(older.rows))
    return replace(decision, is_delete=is_delete, ordering_fields=rule.ordering_fields)


def _of_other_class(older: Records, newer: Records, rule: MergeRule) -> Mask:
    """Return the pairs whose ordering values do not compare in Java.

    A null is the Integer 0, and Spark's classes of decimals, dates and texts differ from those of
    the payload's record.
    """
    types = [ordering_field(newer.rows, name).type for name in rule.ordering_fields]
    differs = np.full(len(older), any(map(_HAS_SPARK_CLASS, types)))
    for one, other in zip(older.marks.ordering, newer.marks.ordering, strict=True):
        differs |= is_null(one) != is_null(other)
    return differs


_HAS_SPARK_CLASS = any_of(pa.types.is_decimal, pa.types.is_date, pa.types.is_string)


def aws_dms(older: Records, newer: Records, rule: MergeRule) -> Decision:
    """Decide like AWSDmsAvroPayload: the newer record wins, and deletes if ``Op`` is D or d."""
    decision = overwrite_with_latest(older, newer, rule)
    deletes = _operation_is(newer, DMS_OPERATION_FIELD, "d") | ~newer.has_row
    return replace(decision, is_delete=decision.is_delete | deletes)


def mysql_debezium(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide like MySqlDebeziumAvroPayload: the later binary log position wins; d deletes.

    Raises:
        CorruptTableError: a log record has no position, or a position of another form.
    """
    return _debezium(older, newer, MYSQL_SEQUENCE_FIELD, _mysql_sequence)


def postgres_debezium(older: Records, newer: Records, _rule: MergeRule) -> Decision:
    """Decide like PostgresDebeziumAvroPayload.

    The greater LSN wins, and takes older values for values that TOAST has left out. On tables
    before version 9, Apache Hudi 1.1 and later show the marker text of such values. Here they are
    filled, as in 0.15 and on version 9.

    Raises:
        CorruptTableError: a log record has no LSN, or its LSN is not an integer.
    """
    decision = _debezium(older, newer, POSTGRES_LSN_FIELD, _postgres_lsn)
    kept = decision.newer_wins & ~decision.is_delete

    def is_toasted(name: str) -> Mask:
        return equals_marker(newer.rows.column(name), DEBEZIUM_UNAVAILABLE) & kept

    return decision.fill(newer.rows.schema.names, is_toasted)


def _debezium(
    older: Records, newer: Records, field: str, sequence: Callable[[pa.Array], list[pa.Array]]
) -> Decision:
    """Decide by the numbers of a column; they are null in records from before it existed."""
    older_numbers, newer_numbers = (
        tuple(sequence(_payload_column(records, field))) for records in (older, newer)
    )
    if (older.has_row & newer.has_row & is_null(newer_numbers[0])).any():
        raise CorruptTableError(
            f"a log record has no {field}, so it has no order",
            advice="Read the base files alone with hoodie.datasource.query.type=read_optimized",
        )
    is_late = are_older(newer_numbers, older_numbers, len(newer))
    decision = Decision.pick(older, newer, ~is_late | ~newer.has_row)
    deletes = _operation_is(newer, OPERATION_FIELD, "d") | ~newer.has_row
    return replace(decision, is_delete=decision.is_delete | (decision.newer_wins & deletes))


def _mysql_sequence(column: pa.Array) -> list[pa.Array]:
    """Parse ``file.position`` into two numbers."""
    parts = pc.extract_regex(
        spark_value_text(column), r"^(?P<file>[0-9]{1,18})\.(?P<position>[0-9]{1,18})$"
    )
    bad = is_null(parts) & ~is_null(column)
    if bad.any():
        value = column[int(bad.argmax())].as_py()
        raise CorruptTableError(f"{MYSQL_SEQUENCE_FIELD} is {value!r}; expected <file>.<position>")
    return [pc.struct_field(parts, [i]).cast(pa.int64()) for i in range(2)]


def _postgres_lsn(column: pa.Array) -> list[pa.Array]:
    if not (pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise CorruptTableError(f"{POSTGRES_LSN_FIELD} is of type {column.type}; expected a long")
    return [column.cast(pa.int64())]


def _operation_is(records: Records, field: str, operation: str) -> Mask:
    texts = spark_value_text(_payload_column(records, field))
    return is_true(pc.equal(pc.utf8_lower(texts), operation))


def _payload_column(records: Records, field: str) -> pa.Array:
    """Return a column by its name in any case; nulls if the table lacks it."""
    path = find_path(field, records.rows.schema)
    return as_one_array(records.rows.column(path[0])) if path else pa.nulls(len(records))


def _is_default(rows: pa.Table, name: str, rule: MergeRule) -> Mask:
    """Return the rows where a column has its default: null, unless the schema has another."""
    default: pa.Scalar | None = dict(rule.column_defaults).get(name)
    column = rows.column(name)
    if default is None:
        return is_null(column)
    return is_true(pc.equal(column, default))


DECISIONS: Mapping[str, Decide] = {
    function.__name__: function
    for function in (
        overwrite_with_latest,
        default_payload,
        first_value,
        overwrite_non_defaults,
        partial_update,
        aws_dms,
        mysql_debezium,
        postgres_debezium,
    )
}
"""Functions that decide like payload classes, by the names that `PAYLOADS` has."""
