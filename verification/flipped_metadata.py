"""Flips each byte of metadata tables, and compares what is read from the file that has it.

``python -m verification.flipped_metadata --step 1 --others 4 --timeline 20`` flips each byte of the
files of the partition ``files``, every fourth of the indexes and every twentieth of the timelines.
A flip is good where the entries of its file, or the slices and commits of the metadata table, are
those of the undamaged one, or where a named error comes: then planning lists folders with a warning
(`make damage DAMAGE_ARGS=--metadata` reads such tables as a whole). Where neither is so, the whole
table is read, by the keys whose entries are lost, too. Its rows decide, and entries with other
values are bad even where the rows are the same, unless there was a warning.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from typing import Any

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO
from hudi_pyspark.metadata_table import records
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.slices import Entries, MetadataSlice
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.storage import FileInfo
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from verification.common.data import load_data
from verification.damaged_tables import (
    BARE,
    METADATA,
    NAMED,
    OTHER,
    SAME,
    Damage,
    files_of,
    filters_of,
    read,
    sorted_rows,
)

TABLES = load_data(__file__, "damaged_tables.toml")["flipped_tables"]
_AT_ONCE = 4_000  # flips of a job
_MOST_KEYS = 8  # by which a table is asked
SAME_ENTRIES, REFUSED, NOT_READ = "the same entries", "a named error", "not read"
WARNED, UNSEEN = "the same rows and a warning", "other entries without a word"
BAD = (BARE, OTHER, UNSEEN)


class SharedFiles(MemoryStorage):
    """Files that change under a table that is open."""

    def __init__(
        self, files: dict[str, bytes], prefix: str = "", reads: Counter[str] | None = None
    ) -> None:
        self.files, self.prefix = files, prefix
        self.reads = Counter() if reads is None else reads  # by the path of a file

    def list_directory(self, directory: str) -> list[FileInfo]:
        if not self.prefix:
            return super().list_directory(directory)
        place = f"{self.prefix}{directory}".rstrip("/")
        return SharedFiles(self.files).list_directory(place)

    def read_bytes(self, path: str) -> bytes:
        self.reads[f"{self.prefix}{path}"] += 1
        try:
            return self.files[f"{self.prefix}{path}"]
        except KeyError:
            raise FileNotFoundError(path) from None

    def at(self, location: str, *, is_given: bool = False) -> SharedFiles:  # noqa: ARG002
        return SharedFiles(self.files, f"{self.prefix}{location.rstrip('/')}/", self.reads)


class Flips:
    """A golden table whose metadata table is damaged, one byte after the other."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.files = dict(files_of(case))
        self._storage = SharedFiles(self.files)
        view = open_table(self._storage)
        self._metadata = MetadataTable(view)
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
            if self._facts(path) == expected:
                return SAME_ENTRIES
            found = self._values(path)
        except HudiError:
            return REFUSED
        except Exception as error:  # noqa: BLE001  (a finding)
            return f"{BARE}: {type(error).__name__}"
        finally:
            self.files[path] = whole
        return self._outcome_of_rows(damage, found)

    def _outcome_of_rows(self, damage: Damage, found: dict[str, Any]) -> str:
        """Read the whole table, by keys whose entries are lost or are others, too."""
        expected = self.values(damage.path)
        others = {key for key in found if found[key] != expected.get(key)}
        lost = sorted((expected.keys() - found.keys()) | (others & expected.keys()))
        is_of_keys = damage.path.startswith(f"{METADATA}{records.RECORD_INDEX}/")
        asked = [f"_hoodie_record_key = '{key}'" for key in lost[:_MOST_KEYS] if is_of_keys]
        try:
            with _warnings() as warnings:
                rows = self._rows(damage.of(files_of(self.case)), asked)
        except HudiError:
            return NAMED
        except Exception as error:  # noqa: BLE001  (a finding)
            return f"{BARE}: {type(error).__name__}"
        if rows != self._good_rows(tuple(asked)):
            return OTHER
        return WARNED if warnings else UNSEEN if others else SAME

    @cache  # noqa: B019  (lives as long as the process)
    def _good_rows(self, asked: tuple[str, ...]) -> list[str]:
        return self._rows(MemoryStorage(files_of(self.case)), asked)

    def _rows(self, storage: MemoryStorage, filters: Iterable[str]) -> list[str]:
        return sorted_rows(read(storage, (*filters_of(self.case), *filters)))

    @cache  # noqa: B019  (lives as long as the process)
    def values(self, path: str) -> dict[str, Any]:
        """Return the entries of the undamaged file, by key; none for a timeline."""
        return self._values(path)

    def _values(self, path: str) -> dict[str, Any]:
        inside = path.removeprefix(METADATA)
        if inside.startswith(".hoodie/"):
            return {}
        merged = records.merged_values(self._slice_of(inside).all())
        return {key: (kind, value) for key, kind, value in merged}

    @cache  # noqa: B019  (lives as long as the process)
    def facts(self, path: str) -> object:
        """Return what the undamaged file says; None where no query reads it."""
        return self._facts(path)

    def _facts(self, path: str) -> object:
        inside = path.removeprefix(METADATA)
        if not inside.startswith(".hoodie/"):
            return self._facts_of_entries(inside) if inside in self._slices else None
        self._storage.reads.clear()
        facts = self._facts_of_table()
        return facts if path in self._storage.reads else None

    def _facts_of_entries(self, path: str) -> object:
        """All entries of one file, and those that are looked up by key, as bytes of Avro."""
        entries = self._slice_of(path)
        stored = [_stored(each) for each in entries.all()]
        if path not in self._keys:
            names = sorted({key for keys, _, _ in stored for key in keys})
            self._keys[path] = pa.array([*names, "nobody"], pa.string())
        looked_up = [_stored(each) for each in entries.find(self._keys[path])]
        return stored, looked_up, entries.scan.instants

    def _slice_of(self, path: str) -> MetadataSlice:
        metadata = self._metadata
        return MetadataSlice(metadata.view.storage, self._slices[path], metadata._valid_among)

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
        sizes = opened.file_records.sizes([path or records.UNPARTITIONED for path in partitions])
        return partitions, sizes, opened.commits.listed, slices


def _stored(entries: Entries) -> tuple[list[str], list[bytes], bytes]:
    """Return keys, values and schema; no values where a log block deletes the keys."""
    keys, hfile = entries.keys.to_pylist(), entries.hfile
    if hfile is None:
        return keys, [], b""
    spans = zip(hfile.value_starts.tolist(), hfile.value_ends.tolist(), strict=True)
    values = [bytes(hfile.values_data[begin:end]) for begin, end in spans]
    return keys, values, bytes(hfile.file_info[SCHEMA_INFO])


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings of the package, which are not printed."""
    messages: list[str] = []
    handler, logger = logging.Handler(logging.WARNING), logging.getLogger("hudi_pyspark")
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated


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
    """Flip some bytes of a file, and count the outcomes."""
    flips = _flips(case)
    return Counter(flips.outcome(path, place) for place in places)


def jobs(case: str, steps: tuple[int, int, int]) -> Iterator[tuple[str, str, range]]:
    """Yield case, path and places of flips; none of files that no query reads.

    Args:
        case: a golden table.
        steps: bytes from one flip to the next, in the partition of files, in indexes and in the
            timeline.
    """
    flips = _flips(case)
    for number, (path, content) in enumerate(sorted(flips.files.items())):
        if not path.startswith(METADATA) or flips.facts(path) is None:
            continue
        kind = _kind_of(path)
        each = {records.FILES: steps[0], ".hoodie": steps[2]}.get(kind, steps[1])
        places = range(number * 7 % each, len(content), each)
        yield from (
            (case, path, places[begin : begin + _AT_ONCE])
            for begin in range(0, len(places), _AT_ONCE)
        )


def _kind_of(path: str) -> str:
    return path.removeprefix(METADATA).partition("/")[0]


def main() -> int:
    """Print the outcomes; the status is 1 if one is bad, or a table has no metadata table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--step", type=int, default=1, help="bytes of the partition of files")
    parser.add_argument("--others", type=int, default=4, help="bytes of indexes")
    parser.add_argument("--timeline", type=int, default=20, help="bytes of files of the timeline")
    parser.add_argument("tables", nargs="*", help="names of golden tables")
    given = parser.parse_args()
    steps = given.step, given.others, given.timeline
    total, bad = Counter[str](), False
    context = get_context("spawn")
    with ProcessPoolExecutor(None, context, pa.set_cpu_count, (1,)) as processes:
        for case in given.tables or TABLES:
            listed = list(jobs(case, steps))
            counts: dict[str, Counter[str]] = {}
            for (_, path, _), found in zip(
                listed, processes.map(run_job, *zip(*listed, strict=True)), strict=True
            ):
                kind = _kind_of(path)
                counts[kind] = counts.get(kind, Counter()) + found
                if any(outcome.startswith(BAD) for outcome in found):
                    print(f"bad in {case}, {path}: {dict(found)}", flush=True)
            for kind, found in counts.items():
                outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in found.items())
                print(f"{case} {kind}: {found.total():,} flips: {outcomes}", flush=True)
                total += found
            bad |= records.FILES not in counts
    print(f"{total.total():,} flips: {', '.join(f'{n:,} {o}' for o, n in total.items())}")
    return int(bad or any(outcome.startswith(BAD) for outcome in total))


if __name__ == "__main__":
    sys.exit(main())
