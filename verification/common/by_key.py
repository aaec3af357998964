"""Index against data: every row of a full read is found by its key, in every way to ask.

A key is asked for by filter, `IN`, `lookup`, DuckDB and polars, with each index of the metadata
table alone, with all of them and with none. Keys are asked for one by one, in groups, so that
indexes have slices to leave out, and all at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa

from hudi_pyspark import HudiTable, scan_polars
from hudi_pyspark.options.option import Index
from hudi_pyspark.scan import Scan
from tests.golden.compare import Row, compare_rows, rows_of
from verification.random_plans.conditions import literal

KEY = "_hoodie_record_key"
ROW = (KEY, "_hoodie_partition_path", "_hoodie_commit_time", "_hoodie_commit_seqno")
_LEFT_OUT = re.compile(r"([0-9]+) of [0-9]+ file slices by ([^;,]+)")  # of a note
_MOST_KEYS = 10_000  # beyond these, no index is asked


@dataclass(frozen=True, eq=False)
class KeyedTable:
    """A table, and the rows that a full read of it has."""

    path: Path
    expected: pa.Table  # with the columns of `ROW`

    @cached_property
    def rows_by_key(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in rows_of(self.expected.select(ROW)):
            found.setdefault(row[0], []).append(row)
        return found

    @cached_property
    def table(self) -> HudiTable:
        return HudiTable(str(self.path))

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """Options of a read: no index, each one alone, all of them; once more for unique keys."""
        partitions = self.table.config.metadata_partitions
        names = {index.value for index in Index if any(map(index.matches, partitions))}
        skipping: list[Any] = [False, *sorted(names), *([True] if names else [])]
        found: list[dict[str, Any]] = [{"data_skipping": value} for value in skipping]
        if Index.RECORD_INDEX.value in names and self.expected.num_rows == len(self.rows_by_key):
            found += [
                {"data_skipping": value, "unique_keys": True} for value in ("record_index", True)
            ]
        return found

    def problems(self, random: Random, *, most: int) -> Iterator[str]:
        """Yield which keys lack a row, or have others, in which way to ask.

        At most some keys are asked for one by one, and as many groups of keys.
        """
        keys = random.sample(sorted(self.rows_by_key), len(self.rows_by_key))[:_MOST_KEYS]
        if not keys:
            return
        size = max(2, len(keys) // most)
        groups = [keys[begin : begin + size] for begin in range(0, len(keys), size)]
        asked = [keys, *groups[:most], *([key] for key in keys[:most]), ["no such key"]]
        for setting in self.settings:
            for several in asked:
                yield from self._by_filter(several, setting)
        for several in (keys, *groups[:1], *([key] for key in keys[:most])):
            yield from self._by_engines(several)

    def _by_filter(self, keys: Sequence[str], setting: dict[str, Any]) -> Iterator[str]:
        listed = ", ".join(map(literal, keys))
        text = f"{KEY} IN ({listed})" if len(keys) > 1 else f"{KEY} = {listed}"
        scan = self.table.scan(list(ROW), filter=text, **setting)
        yield from self._problem(f"a filter with {setting}", keys, scan.to_arrow())
        fields = self.table.config.record_key_fields
        values = self._values_of(fields[0], keys) if len(fields) == 1 else []
        if values:
            listed = ", ".join(map(literal, values))
            text = f"`{fields[0]}` IN ({listed})"
            scan = self.table.scan(list(ROW), filter=text, **setting)
            yield from self._problem(f"its field and {setting}", keys, scan.to_arrow())

    def _by_engines(self, keys: Sequence[str]) -> Iterator[str]:
        yield from self._problem("lookup", keys, self.table.lookup(list(keys), list(ROW)))
        if KEY in self.table.scan().schema.names:
            frame = scan_polars(str(self.path)).filter(pl.col(KEY).is_in(list(keys)))
            found = frame.select(ROW).collect().to_arrow()
            yield from self._problem("polars", keys, found)
            listed = ", ".join(literal(key, dialect="duckdb") for key in keys)
            condition = f"IN ({listed})" if len(keys) > 1 else f"= {listed}"
            database = self.table.scan(list(ROW)).to_duckdb("t")
            found = database.sql(f"FROM t WHERE {KEY} {condition}").to_arrow_table()
            yield from self._problem("DuckDB", keys, found)

    def _values_of(self, field: str, keys: Sequence[str]) -> list[object]:
        """Return the values of the key field in the rows of some keys; none if a filter has none.

        None either where rows with other keys have one of them.
        """
        if field not in self.expected.schema.names:
            return []
        columns = self.expected.column(KEY).to_pylist(), self.expected.column(field).to_pylist()
        pairs = list(zip(*columns, strict=True))
        values = {value for key, value in pairs if key in set(keys)}
        others = {value for key, value in pairs if key not in set(keys)}
        is_told = all(type(value) in (str, int) for value in values) and not values & others
        return sorted(values, key=str) if is_told else []

    def _problem(self, way: str, keys: Sequence[str], found: pa.Table) -> Iterator[str]:
        expected = [row for key in keys for row in self.rows_by_key.get(key, ())]
        problem = compare_rows(ROW, expected, rows_of(found.select(ROW)))
        if problem:
            yield f"{self.path.name}: {len(keys)} keys by {way}: {problem}"


def left_out(scan: Scan) -> Counter[str]:
    """File slices that a scan leaves out, by the index."""
    found: Counter[str] = Counter()
    for note in scan._grouped_plan().notes:
        for number, index in _LEFT_OUT.findall(note):
            if int(number):
                found[index] += int(number)
    return found
