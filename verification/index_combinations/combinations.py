"""Combinations of a golden query, a random filter and the indexes that may be used.

Apache Hudi's rows, filtered in plain Python, are the answer. An index only decides which file
slices are planned: these must hold every row of the answer. The rows of each slice are read once,
without a filter, so that a combination costs no more than its planning; some are read as a whole.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from hudi_pyspark import HudiTable
from hudi_pyspark.metadata_table.records import FileRecords
from hudi_pyspark.options.option import TRUSTED, Index
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.scan import Scan
from hudi_pyspark.tasks import ScanTask
from tests.conftest import GOLDEN
from tests.golden.case import Case, Query, load_cases
from tests.golden.filters import Filter, random_filter
from verification.index_combinations.left_out import left_out

_KEY = ("_hoodie_partition_path", "_hoodie_record_key")
_FILTERED_READS = 50  # one of this many combinations is read as a whole
_FILTERS_AT_ONCE = 4  # sets of indexes that each filter is tried with
_SWITCHES = {"hoodie.metadata.enable", "hoodie.enable.data.skipping"}

SliceKey = tuple[str, str, str]
Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class IndexedQuery:
    """A golden query of a table with indexes."""

    table: HudiTable
    query: Query

    @cached_property
    def expected(self) -> pa.Table:
        """Apache Hudi's rows."""
        return self.query.expected_rows()

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.expected.to_pylist()
        return rows

    @cached_property
    def rows_of_slices(self) -> dict[SliceKey, Rows]:
        """The keys of the rows of each file slice, read without filter and without indexes."""
        scan = self.scan({"use_metadata_table": "false"})
        found: dict[SliceKey, Rows] = {}
        for task in scan.plan():
            assert isinstance(task, ScanTask)
            tables = read_task(task, scan.storage)
            found[_slice_key(task)] = _keys(row for t in tables for row in t.to_pylist())
        return found

    @cached_property
    def has_unique_keys(self) -> bool:
        """Whether no two rows have one record key."""
        return len({row["_hoodie_record_key"] for row in self.rows}) == len(self.rows)

    @property
    def is_usable(self) -> bool:
        """Whether the unfiltered read has Apache Hudi's rows, by their keys."""
        total: Rows = sum(self.rows_of_slices.values(), Counter())
        return bool(self.rows) and total == _keys(self.rows)

    def scan(self, more: dict[str, Any]) -> Scan:
        """The query with other options than its own about the metadata table."""
        own = {k: v for k, v in self.query.options.items() if k not in _SWITCHES}
        return self.table.scan(**own, **more)


@dataclass
class Outcome:
    """What many combinations have shown."""

    combinations: int = 0
    whole_reads: int = 0
    failures: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # slices, by index
    narrowed: Counter[str] = field(default_factory=Counter)  # combinations, by index

    def count(self, scan: Scan) -> None:
        found = left_out(scan)
        self.left_out += found
        self.narrowed.update(found.keys())


def indexed_queries(folder: Path) -> Iterator[IndexedQuery]:
    """Queries of all golden tables that have an index, unzipped into a folder."""
    for case in [*load_cases(GOLDEN), *load_cases(GOLDEN.with_name("golden_extra"))]:
        if not _has_index(case):
            continue
        table = HudiTable(str(case.extract(folder)))
        for query in case.queries:
            if query.is_covered and query.answer is not None and "cdc" not in query.name:
                indexed = IndexedQuery(table, query)
                if set(_KEY) <= set(indexed.expected.schema.names) and indexed.is_usable:
                    yield indexed


def _has_index(case: Case) -> bool:
    with zipfile.ZipFile(case.folder / "table.zip") as archive:
        properties = archive.read(f"{case.name}/.hoodie/hoodie.properties").decode()
    return any(index.value in properties for index in Index)  # also within the names of users


def list_files_once() -> None:
    """Let the metadata table's listing keep what it has found: it is not what is tested here."""
    original = FileRecords.sizes
    found: dict[tuple[object, ...], dict[str, dict[str, int]]] = {}

    def find(self: FileRecords, names: Iterable[str]) -> dict[str, dict[str, int]]:
        question = (self, *names)
        if question not in found:
            found[question] = original(self, names)
        return found[question]

    FileRecords.sizes = find  # type: ignore[method-assign]


def try_combinations(queries: Sequence[IndexedQuery], count: int, seed: int) -> Outcome:
    """Try random combinations, the same ones for the same seed."""
    rng, outcome = Random(seed), Outcome()
    latest = [indexed for indexed in queries if indexed.query.name.startswith("snapshot")]
    while outcome.combinations < count:
        # Indexes decide in latest snapshots; elsewhere they must not.
        indexed = rng.choice(latest if rng.random() < 0.7 else queries)
        chosen = random_filter(indexed.expected, rng)
        wanted = _keys(row for row in indexed.rows if chosen.holds(row) is True)
        for _ in range(_FILTERS_AT_ONCE):
            _try_one(indexed, chosen, wanted, rng, outcome)
    return outcome


def _try_one(
    indexed: IndexedQuery, chosen: Filter, wanted: Rows, rng: Random, outcome: Outcome
) -> None:
    used = [index.value for index in Index if rng.random() < 0.75]
    options = {
        "filter": chosen.text,
        "data_skipping": ",".join(used) or "false",
        "use_metadata_table": rng.choice(["true", "true", "true", "true", "false"]),
        "unique_keys": str(indexed.has_unique_keys and rng.random() < 0.5).lower(),
        "trust_indexes": _trusted(indexed, rng),
    }
    scan = indexed.scan(options)
    planned = {_slice_key(task) for task in scan.select().plan() if isinstance(task, ScanTask)}
    held: Rows = sum((indexed.rows_of_slices[key] for key in planned), Counter())
    outcome.combinations += 1
    outcome.count(scan)
    if not wanted <= held:
        outcome.failures.append(f"{indexed.query.key} {options} lacks {wanted - held}")
    if outcome.combinations % _FILTERED_READS == 0:
        outcome.whole_reads += 1
        found = _keys(scan.to_arrow().to_pylist())
        if found != wanted:
            outcome.failures.append(f"{indexed.query.key} {options}: {found} is not {wanted}")


def _trusted(indexed: IndexedQuery, rng: Random) -> str:
    """Name some indexes that know all rows of a golden table: its writers lost none."""
    names = sorted(TRUSTED) if indexed.has_unique_keys else ["expression", "partition_stats"]
    return ",".join(name for name in names if rng.random() < 0.5) or "false"


def _slice_key(task: ScanTask) -> SliceKey:
    slices = task.file_slice
    return slices.partition_path, slices.file_id, slices.base_instant_time


def _keys(rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> Rows:
    return Counter(tuple(row[name] for name in _KEY) for row in rows)
