"""Functions of users that merge the records of payload classes: their registry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.imported_function import import_function
from hudi_pyspark.table.merge_mode import MergeRule, RecordMergeMode

MergeFunction = Callable[[pa.Table, pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class PayloadMerger:
    """A function that merges the records of a payload class."""

    merge: MergeFunction
    columns: tuple[str, ...] | None  # that the function needs to see; None for all


Mergers = Mapping[str, PayloadMerger]  # by the name of a payload class, or a merge strategy's id
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


def registered_payloads() -> Mergers:
    """Return all mergers that were registered in this process, by class name."""
    return dict(_registered)


def find_merger(rule: MergeRule, reference: str, registered: Mergers) -> PayloadMerger | None:
    """Return a table's merger, by ``reference`` (``module:function``) or its class; None for none.

    Raises:
        InvalidOptionError: the reference names no function that can be imported.
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
    known = registered if is_custom else {}
    return known.get(rule.payload_class) or known.get(rule.merge_strategy_id)
