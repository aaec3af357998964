"""Users' own merge functions, for payload classes that Hudi does not know."""

from collections.abc import Mapping, Sequence

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.imported_function import import_function
from hudi_pyspark.table.merge_mode import (
    MergeFunction,
    MergeRule,
    PayloadMerger,
    RecordMergeMode,
)

Mergers = Mapping[str, PayloadMerger]  # by payload class, or by merge strategy id
_registered: dict[str, PayloadMerger] = {}


def register_payload(
    class_name: str, merger: MergeFunction, *, columns: Sequence[str] | None = None
) -> None:
    """Merge the records of a payload class, or of a merge strategy, with a Python function.

    Example:
        >>> hudi_pyspark.register_payload("com.example.KeepNewest", lambda older, newer: newer)

    The function gets two Arrow tables with the same columns: the older and the newer records of
    some keys. Rows with the same number have the same key. It returns a table with the same
    columns and as many rows: the merged record of each pair. A row is deleted if its
    ``_hoodie_is_deleted`` is true, a column that the function may add. The function is called for
    log records first, oldest to newest, and then for base rows and merged log records. It is never
    called for deletes, which replace older records.

    In a Spark session call ``hudi_pyspark.register(spark)`` afterwards: it sends the function to
    the Python workers of the driver and of the executors.

    Args:
        class_name: ``hoodie.compaction.payload.class`` of the table, or its merge strategy id.
        merger: the function.
        columns: names of the columns that the function needs, so a query of few columns need not
            read all; all by default.
    """
    names = tuple(columns) if columns is not None else None
    _registered[class_name] = PayloadMerger(merger, names)


def registered_payloads() -> Mergers:
    """Return all mergers that this process has registered, by class name."""
    return dict(_registered)


def find_merger(rule: MergeRule, reference: str, registered: Mergers) -> PayloadMerger | None:
    """Return the user's merger for a table; None if Hudi's own rules merge it.

    Args:
        rule: of the table.
        reference: the function, as ``module:function``; "" to look up the payload class.
        registered: mergers by payload class or merge strategy id.

    Raises:
        InvalidOptionError: the reference names no function that can be imported, or the table
            calls no payload class.
    """
    is_custom = rule.mode is RecordMergeMode.CUSTOM
    if reference:
        merger = PayloadMerger(import_function("payload_merger", reference), None)
        if not is_custom:
            raise InvalidOptionError(
                f"payload_merger is {reference!r}, but the table merges by {rule.mode.value}, "
                "which calls no payload class",
                advice="Leave the option out",
            )
        return merger
    if not is_custom:
        return None
    return registered.get(rule.payload_class) or registered.get(rule.merge_strategy_id)
