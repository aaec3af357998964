"""What a table's entry in a catalog says about columns, and the order that SQL by name has.

By path a table has its own order. By name Apache Hudi 1.2.0 has partition columns last:

| Entry | Partition columns |
|---|---|
| of a data source, made by Apache Hudi's SQL or its sync | those of the table's properties |
| that only Hive knows, made by a sync with ``sync_as_datasource=false`` | those of the entry |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """What an entry says about columns; empty if its catalog says nothing."""

    partitions: tuple[str, ...] = ()  # partition columns, in their order
    is_of_hive: bool = False  # whether only Hive knows the entry
    comments: Mapping[str, str] = field(default_factory=dict)  # by name of the column; none is ""

    def order(self, table: Sequence[str], partition_fields: Sequence[str]) -> list[str]:
        """Return a table's columns in the order that a query by name has.

        Args:
            table: names of the table's columns.
            partition_fields: the partition columns by the table's properties; () also for a table
                of a release that did not record them, whose entry then decides.
        """
        is_by_entry = self.is_of_hive or not partition_fields
        last = _spelled(self.partitions if is_by_entry else partition_fields, table)
        return [*(name for name in table if name not in last), *last]

    def comments_of(self, table: Sequence[str]) -> dict[str, str]:
        """Return the comments of a table's columns, by the names that the table has."""
        spelled = {name: _spelled([name], table) for name in self.comments}
        return {names[0]: self.comments[name] for name, names in spelled.items() if names}


def _spelled(names: Iterable[str], table: Sequence[str]) -> list[str]:
    """Return names as a table spells them, exactly or in any case.

    A name that the table lacks, such as that of a nested field, is left out, and so is a name that
    could be several columns.
    """
    exact = {*table}
    by_lower_case: dict[str, list[str]] = {}
    for name in table:
        by_lower_case.setdefault(name.lower(), []).append(name)
    found = []
    for name in names:
        candidates = [name] if name in exact else by_lower_case.get(name.lower(), [])
        found += candidates if len(candidates) == 1 else []
    return [*dict.fromkeys(found)]
