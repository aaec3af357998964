"""Payload classes and partial updates, one row at a time: a dict and a loop.

Rows are dicts here, since the outcome of a merge may hold values of several of them. What decides
between two records is a function for each payload class and each way of partial updates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

META = "_hoodie_commit_time"
FLAG = "_hoodie_is_deleted"
TOASTED = "__debezium_unavailable_value"


@dataclass(frozen=True)
class Row:
    """A row of the base file or of a log data block."""

    key: str
    values: dict[str, Any]  # a row of a partial update has only some columns
    ordering: Any  # None for null
    deletes: bool = False  # a row of a log that is flagged as a delete, in whichever way


@dataclass(frozen=True)
class Delete:
    """A record of a delete block, or what a payload made a delete of."""

    key: str
    ordering: Any = None  # None where the writer gave none


Record = Row | Delete


@dataclass(frozen=True)
class Rules:
    """How the records of a table are merged."""

    fold: Callable[[Record, Record, Rules], Record]
    columns: tuple[str, ...]
    ordering: str = "ts"  # "" for no ordering field
    is_int: bool = False  # in an int column null is 0, and 0 is no ordering value
    defaults: dict[str, Any] = field(default_factory=dict)  # of the schema, where not null
    marker: str = TOASTED


def merge(base: list[Row], log: list[Record], rules: Rules) -> list[dict[str, Any]]:
    """The rows that a snapshot query returns."""
    buffer: dict[str, Record] = {}
    for record in log:
        old = buffer.get(record.key)
        buffer[record.key] = record if old is None else rules.fold(old, record, rules)
    result: list[Record] = []
    for row in base:
        winner = buffer.pop(row.key, None)
        result.append(row if winner is None else rules.fold(row, winner, rules))
    rows = [r for r in [*result, *buffer.values()] if isinstance(r, Row) and not r.deletes]
    return [{name: row.values.get(name) for name in rules.columns} for row in rows]


# Ordering


def is_delete(record: Record) -> bool:
    return isinstance(record, Delete) or record.deletes


def beats_all(record: Record, rules: Rules) -> bool:
    """A delete without ordering value, which is the Integer 0."""
    is_default = record.ordering is None or (rules.is_int and record.ordering == 0)
    return is_delete(record) and (not rules.ordering or is_default)


def is_late(older: Record, newer: Record, rules: Rules) -> bool:
    """Whether the newer record has the smaller ordering value."""
    return _comparable(newer, rules) < _comparable(older, rules)


def _comparable(record: Record, rules: Rules) -> tuple[Any, ...]:
    if not rules.ordering:
        return ()
    if rules.is_int:
        return (record.ordering or 0,)
    return () if record.ordering is None else (record.ordering,)  # () is below every other


# COMMIT_TIME_ORDERING and EVENT_TIME_ORDERING, with partial updates on top


def newer_by_commit_time(_older: Record, _newer: Record, _rules: Rules) -> bool:
    return True


def newer_by_event_time(older: Record, newer: Record, rules: Rules) -> bool:
    if beats_all(older, rules):
        return isinstance(newer, Row)
    return beats_all(newer, rules) or not is_late(older, newer, rules)


Newer = Callable[[Record, Record, Rules], bool]
Fill = Callable[[Row, Row, Rules], dict[str, Any]]


def ordered(newer_wins: Newer, fill: Fill) -> Callable[[Record, Record, Rules], Record]:
    """One of the two ways to order records, and what the winner takes from the loser."""

    def fold(older: Record, newer: Record, rules: Rules) -> Record:
        pair = (newer, older) if newer_wins(older, newer, rules) else (older, newer)
        winner, loser = pair
        if is_delete(winner) or is_delete(loser):
            return winner
        assert isinstance(winner, Row)
        assert isinstance(loser, Row)
        return replace(winner, values=fill(winner, loser, rules))

    return fold


def missing_columns(winner: Row, loser: Row, _rules: Rules) -> dict[str, Any]:
    """Partial blocks: columns that the winner has are its own, also where they are null."""
    return {**loser.values, **winner.values}


def ignore_defaults(winner: Row, loser: Row, _rules: Rules) -> dict[str, Any]:
    """IGNORE_DEFAULTS."""
    return {k: loser.values[k] if v is None else v for k, v in winner.values.items()}


def fill_unavailable(winner: Row, loser: Row, rules: Rules) -> dict[str, Any]:
    """FILL_UNAVAILABLE: of text only, not of bytes."""
    return {k: loser.values[k] if v == rules.marker else v for k, v in winner.values.items()}


# CUSTOM: payload classes, by what their combineAndGetUpdateValue returns

Combine = Callable[[Row, Record, Rules], Record]


def custom(combine: Combine) -> Callable[[Record, Record, Rules], Record]:
    """A payload class; it is asked only where there is an older row to combine with."""

    def fold(older: Record, newer: Record, rules: Rules) -> Record:
        if beats_all(older, rules) or beats_all(newer, rules) or isinstance(older, Delete):
            return newer
        return combine(older, newer, rules)

    return fold


def overwrite_with_latest(_older: Row, newer: Record, _rules: Rules) -> Record:
    return newer


def default_hoodie_record(older: Row, newer: Record, rules: Rules) -> Record:
    has_order = not rules.ordering or older.values[rules.ordering] is not None
    return older if has_order and is_late(older, newer, rules) else newer


def first_value(older: Row, newer: Record, rules: Rules) -> Record:
    if rules.ordering and older.values[rules.ordering] is None:
        return newer
    return newer if is_late(newer, older, rules) else older


def overwrite_non_defaults(older: Row, newer: Record, rules: Rules) -> Record:
    if isinstance(newer, Delete) or newer.deletes:
        return newer
    values = {
        name: older.values[name] if value == rules.defaults.get(name) else value
        for name, value in newer.values.items()
    }
    return replace(newer, values=values)


def partial_update(older: Row, newer: Record, rules: Rules) -> Record:
    if isinstance(newer, Delete) or newer.deletes:
        return newer
    orderings = [row.values[rules.ordering] for row in (older, newer)] if rules.ordering else []
    # A null is the Integer 0, which compares with int columns only; as the older one, with none.
    compares = None not in orderings or (rules.is_int and orderings[0] is not None)
    if not compares or not is_late(older, newer, rules):
        return _with_values(newer, _first_non_null(newer, older), rules)
    if older.deletes:
        return older
    if older.values[FLAG]:  # a base row, or the flag of an older record
        return Delete(older.key, older.ordering)
    values = _first_non_null(older, newer)
    return _with_values(older, {**values, META: newer.values[META]}, rules)


def _first_non_null(first: Row, second: Row) -> dict[str, Any]:
    return {k: second.values[k] if v is None else v for k, v in first.values.items()}


def _with_values(row: Row, values: dict[str, Any], rules: Rules) -> Row:
    return Row(row.key, values, values[rules.ordering] if rules.ordering else None)


def aws_dms(_older: Row, newer: Record, _rules: Rules) -> Record:
    return _deleted_by(newer, "Op")


def mysql_debezium(older: Row, newer: Record, _rules: Rules) -> Record:
    if isinstance(newer, Row):
        older_sequence = _sequence(older.values["_event_seq"])
        if older_sequence and older_sequence > _sequence(newer.values["_event_seq"]):
            return older
    return _deleted_by(newer, "_change_operation_type")


def _sequence(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")) if text is not None else ()


def postgres_debezium(older: Row, newer: Record, _rules: Rules) -> Record:
    older_lsn = older.values["_event_lsn"]
    if isinstance(newer, Row) and older_lsn is not None and older_lsn > newer.values["_event_lsn"]:
        return older
    newer = _deleted_by(newer, "_change_operation_type")
    if isinstance(newer, Delete) or newer.deletes:
        return newer
    toasted = (TOASTED, TOASTED.encode())
    values = {k: older.values[k] if v in toasted else v for k, v in newer.values.items()}
    return replace(newer, values=values)


def _deleted_by(newer: Record, operation: str) -> Record:
    """What only the payload class takes for a delete leaves nothing to compare with later."""
    if isinstance(newer, Delete) or newer.deletes:
        return newer
    text = newer.values[operation]
    deletes = text is not None and text.lower() == "d"
    return Delete(newer.key, newer.ordering) if deletes else newer


PAYLOADS: dict[str, Combine] = {
    "OverwriteWithLatestAvroPayload": overwrite_with_latest,
    "DefaultHoodieRecordPayload": default_hoodie_record,
    "EventTimeAvroPayload": default_hoodie_record,
    "FirstValueAvroPayload": first_value,
    "OverwriteNonDefaultsWithLatestAvroPayload": overwrite_non_defaults,
    "PartialUpdateAvroPayload": partial_update,
    "AWSDmsAvroPayload": aws_dms,
    "MySqlDebeziumAvroPayload": mysql_debezium,
    "PostgresDebeziumAvroPayload": postgres_debezium,
}
