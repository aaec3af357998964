"""The outcome of a slice's merge: which base rows it drops, and which records stay beside them.

It depends on the files of the slice and on the commits that count, and neither on the columns nor
on the rows that a query asks for. So a slice is merged once, and a later query reads its base file
without keys and ordering values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from hudi_pyspark.columns.arrays import Mask

MOST_BYTES = 128 << 20  # of one outcome, and of the log records that were merged
_ALL_BYTES = 4 * MOST_BYTES


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """What the merge of a file slice decided."""

    dropped: Mask  # rows of the base file, by row number
    records: pa.Table  # that stay beside the other base rows; in the order of the log
    count: int  # of these records, which may lack columns

    @property
    def nbytes(self) -> int:
        size: int = self.dropped.nbytes + self.records.nbytes
        return size


class MergeOutcomes:
    """Outcomes that a table keeps in memory; a copy in another process begins empty."""

    def __init__(self, most_bytes: int = _ALL_BYTES) -> None:
        self._most_bytes = most_bytes
        self._outcomes: OrderedDict[Hashable, MergeOutcome] = OrderedDict()  # oldest use first
        self._nbytes = 0
        self._lock = Lock()  # threads share the outcomes

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._most_bytes,)

    def find(self, key: Hashable, wanted: pa.Schema) -> MergeOutcome | None:
        """Return an outcome if its records have the wanted columns; other columns are left out."""
        with self._lock:
            outcome = self._outcomes.get(key)
            if outcome is None or not all(_has(outcome.records, column) for column in wanted):
                return None
            self._outcomes.move_to_end(key)
        return MergeOutcome(outcome.dropped, outcome.records.select(wanted.names), outcome.count)

    def keep(self, key: Hashable, wanted: pa.Schema, dropped: Mask, tables: list[pa.Table]) -> None:
        """Keep the outcome of a merge, with the wanted columns of the records that stay.

        Columns that another merge of the same slice has brought stay, too.
        """
        parts = [wanted.empty_table(), *(table.select(wanted.names) for table in tables)]
        records = pa.concat_tables(parts).combine_chunks()
        count = sum(table.num_rows for table in tables)
        with self._lock:
            known = self._outcomes.pop(key, None)
            fields, columns = [*records.schema], [*records.columns]
            for field in known.records.schema if known is not None else ():
                if known is not None and field.name not in wanted.names:
                    fields.append(field)
                    columns.append(known.records.column(field.name))
            records = pa.Table.from_arrays(columns, schema=pa.schema(fields))
            self._outcomes[key] = MergeOutcome(dropped, records, count)
            self._nbytes += self._outcomes[key].nbytes
            if known is not None:
                self._nbytes -= known.nbytes
            while self._nbytes > self._most_bytes:
                _, oldest = self._outcomes.popitem(last=False)
                self._nbytes -= oldest.nbytes


def _has(records: pa.Table, column: pa.Field) -> bool:
    at = records.schema.get_field_index(column.name)
    return at >= 0 and bool(records.schema.field(at).equals(column, check_metadata=True))
