"""Users' functions that merge the records of their payload classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.columns.arrays import is_true
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.imported_function import import_function
from hudi_pyspark.reading.log_records.ordering import comparable_ordering
from hudi_pyspark.reading.log_records.records import Records
from hudi_pyspark.reading.merge.decision import Decision
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode
from hudi_pyspark.table.schema import DELETED_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    MergeFunction = Callable[[pa.Table, pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class PayloadMerger:
    """A function that merges the records of a payload class."""

    merge: MergeFunction
    columns: tuple[str, ...] | None  # that the function needs to see; None for all


_registered: dict[str, PayloadMerger] = {}


def register_payload(
    class_name: str, merger: MergeFunction, *, columns: Sequence[str] | None = None
) -> None:
    """Merge the records of a payload class, or of a merge strategy, with a Python function.

    The function gets two Arrow tables, the older and the newer records of some keys, row by row the
    same key, with equal columns. It returns a table of as many rows with the same columns: the
    merged record of each pair. A row whose ``_hoodie_is_deleted`` is true (a column that it may
    add) is deleted. It is called for log records among themselves, oldest first, and then for base
    rows and merged log records; never for deletes, which win over older records.

    In a Spark session call ``hudi_pyspark.register(spark)`` afterwards: it sends the function to
    the Python workers of the driver and of the executors.

    Args:
        class_name: ``hoodie.compaction.payload.class`` of the table, or its merge strategy id.
        merger: the function.
        columns: names of the columns that it needs, so that a query of few columns need not read
            the others; all by default.
    """
    named = tuple(columns) if columns is not None else None
    _registered[class_name] = PayloadMerger(merger, named)


def registered_payloads() -> Mapping[str, PayloadMerger]:
    """Return all mergers that were registered in this process, by class name."""
    return dict(_registered)


def find_merger(
    rule: MergeRule, reference: str, registered: Mapping[str, PayloadMerger]
) -> PayloadMerger | None:
    """Return the merger for a table, if there is one.

    Args:
        rule: of the table.
        reference: option ``payload_merger``, ``module:function``; "" for none.
        registered: mergers by class name.

    Raises:
        InvalidOptionError: the reference cannot be imported or called, or the table does not merge
            by a payload class.
    """
    is_custom = rule.mode is RecordMergeMode.CUSTOM
    if reference:
        merger = PayloadMerger(import_function("payload_merger", reference), None)
        if not is_custom:
            raise InvalidOptionError(
                f"payload_merger is {reference!r}, but the table merges by {rule.mode.value}, "
                "which calls no payload class. Leave the option out"
            )
        return merger
    if not is_custom:
        return None
    return registered.get(rule.payload_class) or registered.get(rule.merge_strategy_id)


def merge_pairs(merger: PayloadMerger, older: Records, newer: Records, rule: MergeRule) -> Records:
    """Merge pairs of records with a user's function.

    Raises:
        InvalidOptionError: the function returned something else than a merged record per pair.
    """
    # Deletes need no function: without an older row, or with a delete, the newer record counts.
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
    rows = _in_types(returned.select(names), older.rows.schema)
    merged = Records.of_rows(rows, comparable_ordering(rows, rule.ordering_fields))
    merged = replace(merged, marks=replace(merged.marks, is_delete=_deleted(returned)))
    source = np.arange(len(older))
    source[pairs] = len(older) + np.arange(len(pairs))
    return Records.concat([others, merged]).take(source)


def _deleted(merged: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if DELETED_COLUMN not in merged.schema.names:
        return np.zeros(merged.num_rows, np.bool_)
    return is_true(merged.column(DELETED_COLUMN))


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


def _in_types(merged: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return merged.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidOptionError(
            f"the payload merger must return columns in the types that it gets: {error}"
        ) from error
