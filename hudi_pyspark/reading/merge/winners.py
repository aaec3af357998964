"""The winners of a slice's log keys, from which a merge is carried on with later log files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hudi_pyspark.arrow_values import to_arrow, to_numpy
from hudi_pyspark.columns.arrays import Mask, RowNumbers, as_one_array
from hudi_pyspark.reading.log_records.ordering import OrderingValues
from hudi_pyspark.reading.log_records.records import NO_ROW, ColumnSets, LogRecords
from hudi_pyspark.table.merge_mode import MergeRule

_ORDINALS = pa.schema({"": pa.int64()})
_NO_ROW = to_arrow(np.array([NO_ROW], np.int64))[0]


class MergeDecision(NamedTuple):
    """What a merge decided about the rows on both sides."""

    dropped_base_rows: Mask  # by row number in the base file
    # By ordinal of the log row; None if a remaining record may be made of several records.
    kept_log_rows: Mask | None


class MatchedRows(NamedTuple):
    """The base row that each of some log records meets."""

    row: RowNumbers  # row number in the base file, NO_ROW if the record meets none
    ordering: OrderingValues  # of the base row, null if there is none; no fields in commit order

    @classmethod
    def none(cls, log: LogRecords, rule: MergeRule) -> MatchedRows:
        """Return no base rows, with the ordering fields that a rule compares with log records'."""
        values = log.marks.ordering.fields if rule.compared_fields else ()
        fields = tuple(field.slice(0, 0) for field in values)
        return cls(np.empty(0, np.int64), OrderingValues(fields, 0))

    @classmethod
    def concat(cls, parts: Sequence[MatchedRows]) -> MatchedRows:
        """Join several parts, at least one, in their order."""
        ordering = OrderingValues.concat([part.ordering for part in parts])
        return cls(np.concatenate([part.row for part in parts]), ordering)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.row.nbytes + sum(field.nbytes for field in self.ordering.fields))

    def take(self, places: RowNumbers) -> MatchedRows:
        """Return the base rows at some places, in that order; none for NO_ROW."""
        is_none = places == NO_ROW
        indices = to_arrow(places, is_valid=~is_none)
        fields = tuple(field.take(indices) for field in self.ordering.fields)
        row = np.append(self.row, NO_ROW)[places]  # the last entry, which NO_ROW indexes
        return MatchedRows(row, OrderingValues(fields, len(places)))


@dataclass(frozen=True, slots=True)
class Winners:
    """What the log records of a slice were folded into: one record per key, and its base row.

    Deletes and records that lost against their base row stay: a later record may change who wins.
    """

    log: LogRecords  # its rows have one column: the ordinal of the row among all data rows
    matched: MatchedRows
    row_count: int  # of all data rows

    @classmethod
    def none(cls, log: LogRecords, rule: MergeRule) -> Winners:
        """Return the winners of no records, with which the merge of log records begins."""
        no_records = replace(log.take(np.empty(0, np.int64)), rows=log.rows.slice(0, 0))
        return cls(number_rows(no_records, 0), MatchedRows.none(log, rule), 0)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.log.nbytes + self.matched.nbytes

    def to_table(self) -> pa.Table:
        """Return the winners as one table, a row for each; see `from_table`."""
        table = self.log.to_spill_table()
        fields = self.matched.ordering.fields
        for array in (to_arrow(self.matched.row), *fields):
            table = table.append_column(str(table.num_columns), array)
        counts = {"rows": str(self.row_count), "ordering_fields": str(len(fields))}
        return table.replace_schema_metadata(counts)

    @classmethod
    def from_table(cls, table: pa.Table) -> Winners:
        """Return the winners that `to_table` has made this table of."""
        counts = {name: int(count) for name, count in table.schema.metadata.items()}
        end = table.num_columns - counts[b"ordering_fields"]
        row, *fields = map(as_one_array, table.columns[end - 1 :])
        ordering = OrderingValues(tuple(fields), table.num_rows)
        log = LogRecords.from_spill_table(table.select(range(end - 1)), _ORDINALS, ColumnSets())
        return cls(log, MatchedRows(to_numpy(row), ordering), counts[b"rows"])


def number_rows(log: LogRecords, first: int) -> LogRecords:
    """Return log records whose rows are their ordinals, from ``first`` on, instead of columns.

    Records that positions identify lose their keys.
    """
    numbers = to_arrow(np.arange(first, first + log.rows.num_rows))
    ordinals = pa.table([numbers], schema=_ORDINALS)
    keys = log.keys if log.positions is None else pa.nulls(len(log), pa.string())
    return replace(log, rows=ordinals, keys=keys)


def ordinals_of(log: LogRecords) -> RowNumbers:
    """Return the ordinal of each record's row, as `number_rows` has numbered it, or NO_ROW."""
    ordinals = as_one_array(log.rows.column(0)).fill_null(_NO_ROW)
    return np.append(to_numpy(ordinals), NO_ROW)[log.row]
