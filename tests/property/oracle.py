"""The value of every record of a file slice, one row at a time: a dict and a loop.

Apache Hudi's merge in two phases, as simply as it can be said: log records are folded into one per
key, oldest to newest, and what is left of a key then meets the key's row in the base file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Kind = str  # of an ordering field: int, long, float, double, string, boolean, date, …


@dataclass(frozen=True)
class Row:
    """A row of the base file or of a log data block."""

    key: str
    ordering: tuple[Any, ...]  # one value for each ordering field, None for null
    value: int  # distinguishes the row from all others
    deletes: bool = False  # whether it is flagged as a delete, in whichever way
    position: int = -1  # of the base row that the log row replaces


@dataclass(frozen=True)
class Delete:
    """A record of a delete block."""

    key: str
    ordering: tuple[Any, ...] | None  # None where the writer gave none, or the Integer 0
    has_other_class: bool = False  # its Java class is not the column's, so the two do not compare
    position: int = -1


def merge(
    base: list[Row],
    log: list[Row | Delete],
    kinds: tuple[Kind, ...],
    *,
    by_event_time: bool,
    by_position: bool = False,
) -> list[Row]:
    """The rows that a snapshot query returns."""
    fold = _fold_by_event_time if by_event_time else _fold_by_commit_time
    buffer: dict[str | int, Row | Delete] = {}
    for record in log:
        identity = record.position if by_position else record.key
        old = buffer.get(identity)
        buffer[identity] = record if old is None else fold(old, record, kinds)
    result = []
    for position, row in enumerate(base):
        winner = buffer.pop(position if by_position else row.key, None)  # so it meets one row only
        if winner is None or (by_event_time and _base_stays(row, winner, kinds)):
            result.append(row)
        elif isinstance(winner, Row) and not winner.deletes:
            result.append(winner)
    left = [winner for winner in buffer.values() if isinstance(winner, Row)]
    return result + [row for row in left if not row.deletes]


def _fold_by_commit_time(_old: Row | Delete, new: Row | Delete, _kinds: object) -> Row | Delete:
    return new


def _fold_by_event_time(
    old: Row | Delete, new: Row | Delete, kinds: tuple[Kind, ...]
) -> Row | Delete:
    if isinstance(new, Delete):
        if _is_commit_time_delete(old, kinds):
            return old
        if _is_commit_time_delete(new, kinds) or new.has_other_class:
            return new
        return old if _sort_key(old, kinds) > _sort_key(new, kinds) else new
    if _is_commit_time_delete(old, kinds) or _is_commit_time_delete(new, kinds):
        return new
    return new if _sort_key(new, kinds) >= _sort_key(old, kinds) else old


def _base_stays(base: Row, winner: Row | Delete, kinds: tuple[Kind, ...]) -> bool:
    if _is_commit_time_delete(winner, kinds):
        return False
    return _sort_key(winner, kinds) < _sort_key(base, kinds)


def _is_delete(record: Row | Delete) -> bool:
    return isinstance(record, Delete) or record.deletes


def _is_commit_time_delete(record: Row | Delete, kinds: tuple[Kind, ...]) -> bool:
    """A delete with the default ordering value, the Integer 0, beats all that is older."""
    if not _is_delete(record):
        return False
    if record.ordering is None or not kinds:
        return True
    if len(kinds) > 1:
        return False  # a list of values is not the Integer 0, whatever is in it
    (value,) = record.ordering
    # A null reads as the default; in an int column the real value 0 is the default, too.
    return value is None or (kinds[0] == "int" and value == 0)


def _sort_key(record: Row | Delete, kinds: tuple[Kind, ...]) -> list[Any]:
    values = record.ordering if record.ordering is not None else (None,) * len(kinds)
    return [_comparable(value, kind) for value, kind in zip(values, kinds, strict=True)]


def _comparable(value: Any, kind: Kind) -> tuple[Any, ...]:
    if kind == "int":
        return (value or 0,)
    if value is None:
        return (0,)  # below every value
    if kind in ("float", "double"):
        if math.isnan(value):
            return (2,)  # above every value, equal to itself
        return (1, value, math.copysign(1, value))  # -0.0 below 0.0
    if kind == "string":
        return (1, value.encode())
    return (1, value)
