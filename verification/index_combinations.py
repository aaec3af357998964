"""Golden tables, random filters, and indexes on and off: never fewer rows.

``make index-combinations COUNT=100000 SEED=1`` tries combinations of a golden query, a filter and
the indexes that may be used, and prints what the indexes left out. Apache Hudi's rows, filtered in
plain Python, are the answer.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from hudi_pyspark import HudiTable
from hudi_pyspark.options.option import TRUSTED, Index
from hudi_pyspark.scan import Scan
from tests.conftest import GOLDEN
from tests.golden.case import Case, Query, load_cases
from tests.golden.compare import Difference, Row, compare_rows
from tests.golden.deviations import accepted_deviations
from tests.golden.filters import Filter, random_filter
from verification.common.by_key import left_out
from verification.common.runs import Outcome, Run, parser_of

_KEY = ("_hoodie_partition_path", "_hoodie_record_key")
_FILTERS_AT_ONCE = 4  # sets of indexes that each filter is tried with
_SWITCHES = {"hoodie.metadata.enable", "hoodie.enable.data.skipping"}


@dataclass(frozen=True, eq=False)
class IndexedQuery:
    """A golden query of a table with indexes."""

    table: HudiTable
    query: Query
    expected: pa.Table  # Apache Hudi's rows

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.expected.to_pylist()
        return rows

    @cached_property
    def has_unique_keys(self) -> bool:
        """Whether no two rows have one record key."""
        return len({row["_hoodie_record_key"] for row in self.rows}) == len(self.rows)

    @property
    def has_rows_of_hudi(self) -> bool:
        """Whether a read has Apache Hudi's rows: no accepted deviation says that it has others."""
        deviation = accepted_deviations().get(self.query.key)
        return deviation is None or not deviation.rows

    def difference(self) -> Difference:
        """How the keys of a read without filter and indexes differ from those of Apache Hudi."""
        found = keys_of(self.scan({"use_metadata_table": "false"}))
        return compare_rows(_KEY, _keys(self.rows), found)

    def scan(self, more: dict[str, Any]) -> Scan:
        """The keys of the query, with other options than its own about the metadata table."""
        own = {k: v for k, v in self.query.options.items() if k not in _SWITCHES}
        return self.table.scan(_KEY, **own, **more)


def indexed_queries(folder: Path) -> Iterator[IndexedQuery]:
    """Queries of all golden tables that have an index, unzipped into a folder.

    Queries whose rows differ from those of Apache Hudi are left out, as `deviations.toml` lists.
    """
    for case in [*load_cases(GOLDEN), *load_cases(GOLDEN.with_name("golden_extra"))]:
        if not _has_index(case):
            continue
        table = HudiTable(str(case.extract(folder)))
        for query in case.queries:
            if query.is_covered and query.answer is not None and "cdc" not in query.name:
                indexed = IndexedQuery(table, query, query.expected_rows())
                if set(_KEY) <= set(indexed.expected.schema.names) and indexed.has_rows_of_hudi:
                    yield indexed


def _has_index(case: Case) -> bool:
    with zipfile.ZipFile(case.folder / "table.zip") as archive:
        properties = archive.read(f"{case.name}/.hoodie/hoodie.properties").decode()
    return any(index.value in properties for index in Index)  # also within the names of users


def try_combinations(queries: Sequence[IndexedQuery], count: int, seed: int) -> Run:
    """Try random combinations, the same ones for the same seed."""
    run = Run()
    rng = Random(seed)
    queries = [indexed for indexed in queries if indexed.rows]  # a filter needs values
    latest = [indexed for indexed in queries if indexed.query.name.startswith("snapshot")]
    while run.asked < count:
        # Indexes decide in latest snapshots; elsewhere they must not.
        indexed = rng.choice(latest if rng.random() < 0.7 else queries)
        chosen = random_filter(indexed.expected, rng)
        wanted = _keys(row for row in indexed.rows if chosen.holds(row) is True)
        for _ in range(_FILTERS_AT_ONCE):
            options = _options(indexed, chosen, rng)
            scan = indexed.scan(options)
            problem = compare_rows(_KEY, wanted, keys_of(scan))
            for index, slices in left_out(scan).items():
                run.notes[slices_left_out_by(index)] += slices
                run.notes[f"combinations with slices left out by {index}"] += 1
            verdict = "other rows" if problem else "the same rows"
            text = f"{indexed.query.key} {options}: {problem}"
            run.add(Outcome("combinations", verdict, text=text, is_finding=bool(problem)))
    return run


def slices_left_out_by(index: str) -> str:
    """Return the note that counts the file slices that an index left out."""
    return f"file slices left out by {index}"


def _options(indexed: IndexedQuery, chosen: Filter, rng: Random) -> dict[str, str]:
    used = [index.value for index in Index if rng.random() < 0.75]
    return {
        "filter": chosen.text,
        "data_skipping": ",".join(used) or "false",
        "use_metadata_table": rng.choice(["true", "true", "true", "true", "false"]),
        "unique_keys": str(indexed.has_unique_keys and rng.random() < 0.5).lower(),
        "trust_indexes": _trusted(indexed, rng),
    }


def _trusted(indexed: IndexedQuery, rng: Random) -> str:
    """Name some indexes that know all rows of a golden table: its writers lost none."""
    names = sorted(TRUSTED) if indexed.has_unique_keys else ["expression", "partition_stats"]
    return ",".join(name for name in names if rng.random() < 0.5) or "false"


def keys_of(scan: Scan) -> list[Row]:
    """Read the keys of a scan."""
    return _keys(scan.to_arrow().to_pylist())


def _keys(rows: Iterable[dict[str, Any]]) -> list[Row]:
    return [tuple(row[name] for name in _KEY) for row in rows]


def main() -> int:
    given = parser_of(__doc__, seed=1, count=100_000).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        queries = list(indexed_queries(Path(folder)))
        tables = {indexed.query.case for indexed in queries}
        print(f"{len(queries)} queries of {len(tables)} tables with indexes", flush=True)
        return try_combinations(queries, given.count, given.seed).finish()


if __name__ == "__main__":
    sys.exit(main())
