"""Flips each byte of metadata tables, and compares what is read from the file that has it.

``python -m verification.flipped_metadata --step 1 --timeline 5`` flips each byte of the files that
hold records, and every fifth of the timelines. A flip is good where the entries of its file, or the
slices and commits of the metadata table, are those of the undamaged one, or a named error comes:
then planning lists folders (`make damage DAMAGE_ARGS=--metadata` reads such tables as a whole).
Where neither is so, the whole table is read, and its rows decide.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.metadata_table import records
from hudi_pyspark.metadata_table.entries import MetadataSlice
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from verification.damaged_tables import BARE, ENDED, OTHER, Damage, files_of, outcome_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_pyspark.storage import FileInfo
    from hudi_pyspark.table.file_group import FileSlice

# At least three tables of each version, small ones, and all kinds of indexes among them.
TABLES = (
    "x_v6_cow_rg_cdc_flink",
    "v6_cow_clustering_pending",
    "x_v9_cow_ix_dynamic_bloom",
    "x_v8_cow_ix_stats_base",
    "v10_up_v9_mor_deletes",
    "x_v9_mor_pv_stays_record",
    "v6_mor_mdt_indexes",
    "v8_mor_partial_merge_into",
    "v9_mor_mdt_indexes",
    "v10_mor_mdt_indexes",
    "v10_mor_log_compaction",
    "x_v8_mor_ix_secondary",
)
_METADATA = ".hoodie/metadata/"
_AT_ONCE = 4_000  # flips of a job
SAME_ENTRIES, REFUSED, NOT_READ = "the same entries", "a named error", "not read"


class SharedFiles(MemoryStorage):
    """Files that change under a table that is open."""

    def __init__(self, files: dict[str, bytes], prefix: str = "") -> None:
        self.files, self._prefix = files, prefix

    def list_directory(self, directory: str) -> list[FileInfo]:
        if not self._prefix:
            return super().list_directory(directory)
        place = f"{self._prefix}{directory}".rstrip("/")
        return SharedFiles(self.files).list_directory(place)

    def read_bytes(self, path: str) -> bytes:
        try:
            return self.files[f"{self._prefix}{path}"]
        except KeyError:
            raise FileNotFoundError(path) from None

    def at(self, location: str) -> SharedFiles:
        return SharedFiles(self.files, f"{self._prefix}{location.rstrip('/')}/")


class Flips:
    """A golden table whose metadata table is damaged, one byte after the other."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.files = dict(files_of(case))
        self._storage = SharedFiles(self.files)
        view = open_table(self._storage)
        self._metadata = MetadataTable.open(view)
        self._slices: dict[str, FileSlice] = {}  # by the path of a file, those with it alone
        for partition in sorted(view.config.metadata_partitions):
            for opened in self._metadata.slices(partition, check_files=True):
                self._slices.update(_one_by_one(opened.file_slice))
        self._keys: dict[str, pa.Array] = {}

    def outcome(self, path: str, place: int) -> str:
        """Flip one byte, and say what becomes of it."""
        expected = self.facts(path)
        if expected is None:
            return NOT_READ
        whole, damage = self.files[path], Damage("flip", path, place)
        self.files[path] = damage.of({path: whole}).files[path]
        try:
            found = self._facts(path)
        except HudiError:
            return REFUSED
        except Exception as error:  # noqa: BLE001  (a finding)
            return f"{BARE}: {type(error).__name__}"
        finally:
            self.files[path] = whole
        return SAME_ENTRIES if found == expected else outcome_of(self.case, damage)[0]

    @cache  # noqa: B019  (lives as long as the process)
    def facts(self, path: str) -> object:
        """Return what the undamaged file says; None where no query reads it."""
        return self._facts(path)

    def _facts(self, path: str) -> object:
        inside = path.removeprefix(_METADATA)
        if inside.startswith(".hoodie/"):
            return self._facts_of_table()
        return self._facts_of_entries(inside) if inside in self._slices else None

    def _facts_of_entries(self, path: str) -> object:
        """All entries of one file, and those that are looked up by key."""
        read = MetadataSlice(
            self._metadata.view.storage,
            self._slices[path],
            self._metadata._valid_among,
        )
        entries = list(records.merged_values(read.all()))
        if path not in self._keys:
            names = [key for key, _, _ in entries]
            self._keys[path] = pa.array([*names, "nobody"], pa.string())
        looked_up = list(records.merged_values(read.find(self._keys[path])))
        return entries, looked_up, read.instants

    def _facts_of_table(self) -> object:
        """What planning asks a metadata table: files, commits and slices."""
        view = open_table(self._storage)
        view = view.with_listing(MetadataListing(view))
        opened = MetadataListing(view).indexed_by()
        partitions = opened.partition_paths
        slices: list[Any] = [
            [each.file_slice for each in opened.slices(name, check_files=True)]
            for name in sorted(view.config.metadata_partitions)
        ]
        sizes = opened.file_sizes([path or records.UNPARTITIONED for path in partitions])
        return partitions, sizes, opened.recorded_commits, slices


def _one_by_one(file_slice: FileSlice) -> Iterator[tuple[str, FileSlice]]:
    base = file_slice.base_file
    if base is not None:
        yield base.path, replace(file_slice, log_files=())
    for log in file_slice.log_files:
        yield log.path, replace(file_slice, base_file=None, log_files=(log,))


@cache
def _flips(case: str) -> Flips:
    return Flips(case)


def run_job(case: str, path: str, places: range) -> Counter[str]:
    """Flip some bytes of a file; count the outcomes."""
    flips = _flips(case)
    return Counter(flips.outcome(path, place) for place in places)


def jobs(case: str, step: int, timeline: int) -> Iterator[tuple[str, str, range]]:
    """Yield case, path and places of flips; none of files that no query reads."""
    flips = _flips(case)
    for number, (path, content) in enumerate(sorted(flips.files.items())):
        if not path.startswith(_METADATA) or flips.facts(path) is None:
            continue
        each = timeline if path.startswith(f"{_METADATA}.hoodie/") else step
        places = range(number * 7 % each, len(content), each)
        yield from (
            (case, path, places[begin : begin + _AT_ONCE])
            for begin in range(0, len(places), _AT_ONCE)
        )


def main() -> int:
    """Print the outcomes; the status is 1 if one is neither the same rows nor a named error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--step", type=int, default=1, help="bytes of files with records")
    parser.add_argument("--timeline", type=int, default=5, help="bytes of files of the timeline")
    parser.add_argument("tables", nargs="*", help="names of golden tables")
    given = parser.parse_args()
    bad = False
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        for case in given.tables or TABLES:
            listed = list(jobs(case, given.step, given.timeline))
            counts: dict[str, Counter[str]] = {}
            for (_, path, _), found in zip(
                listed, processes.map(run_job, *zip(*listed, strict=True)), strict=True
            ):
                kind = path.removeprefix(_METADATA).partition("/")[0]
                counts[kind] = counts.get(kind, Counter()) + found
            for kind, found in counts.items():
                outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in found.items())
                print(f"{case} {kind}: {found.total():,} flips: {outcomes}", flush=True)
                bad |= any(o.startswith((BARE, ENDED, OTHER)) for o in found)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
