"""Flipped bytes of metadata tables, compared with what is read from the file that has them.

A flip is good where the entries of its file, or the slices and commits of the metadata table, are
those of the undamaged one, or where a named error comes: then planning lists folders with a warning
(`make damage DAMAGE_ARGS=--metadata` reads such tables as a whole). Where neither is so, the whole
table is read, and by the keys whose entries are lost. Its rows decide, and entries with other
values are bad even where the rows are the same, unless there was a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from logging.handlers import BufferingHandler
from typing import Any

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO
from hudi_pyspark.metadata_table import record_types, records
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.slices import Entries, MetadataSlice
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.view import open_table
from verification.common.archives import files_of
from verification.common.runs import Outcome
from verification.damage.damages import METADATA, Damage, places_of
from verification.damage.tables import (
    BARE,
    ENDED,
    NAMED,
    OTHER,
    SAME,
    WatchedStorage,
    verdict_of_rows,
)

_TIMELINE = ".hoodie"
_MOST_KEYS = 8  # by which a table is asked
_MOST_WARNINGS = 1_000  # of one read
SAME_ENTRIES = "the same entries"
WARNED, UNSEEN = "the same rows and a warning", "other entries without a word"
VERDICTS = (SAME_ENTRIES, NAMED, SAME, WARNED, OTHER, UNSEEN, BARE, ENDED)


class Flips:
    """A golden table whose metadata table is damaged, one byte after the other."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.files = dict(files_of(case))
        self._calls: set[str] = set()
        self._storage = WatchedStorage(self.files, self._calls.add)
        view = open_table(self._storage)
        self._metadata = MetadataTable(view)
        self._slices: dict[str, FileSlice] = {}  # by the path of a file, those with it alone
        for partition in sorted(view.config.metadata_partitions):
            for opened in self._metadata.slices(partition, check_files=True):
                self._slices.update(_one_by_one(opened.file_slice))
        if not self._slices:
            raise LookupError(f"{case} has no metadata table")
        self._keys: dict[str, pa.Array] = {}

    def outcome(self, damage: Damage) -> tuple[str, str]:
        """Flip one byte; returns the verdict, and more about it."""
        path = damage.path
        expected = self.facts(path)
        whole = self.files[path]
        self.files[path] = damage.of({path: whole}).files[path]
        try:
            if self._facts(path) == expected:
                return SAME_ENTRIES, ""
            found = self._values(path)
        except HudiError:
            return NAMED, ""
        except Exception as error:  # noqa: BLE001  (a finding)
            return BARE, type(error).__name__
        finally:
            self.files[path] = whole
        return self._outcome_of_rows(damage, found)

    def _outcome_of_rows(self, damage: Damage, found: dict[str, Any]) -> tuple[str, str]:
        """Read the whole table, and by keys whose entries are lost or have other values."""
        expected = self.values(damage.path)
        others = {key for key in found if found[key] != expected.get(key)}
        lost = sorted((expected.keys() - found.keys()) | (others & expected.keys()))
        is_of_keys = _kind_of(damage.path) == records.RECORD_INDEX
        asked = [f"_hoodie_record_key = '{key}'" for key in lost[:_MOST_KEYS] if is_of_keys]
        with _warnings() as warnings:
            verdict, detail = verdict_of_rows(
                self.case, damage.of(files_of(self.case)), tuple(asked)
            )
        if verdict == SAME and warnings:
            return WARNED, ""
        if verdict == SAME and others:
            return UNSEEN, ""
        return verdict, detail

    @cache  # noqa: B019  (lives as long as the process)
    def values(self, path: str) -> dict[str, Any]:
        """Return the entries of the undamaged file, by key; none for a timeline."""
        return self._values(path)

    def _values(self, path: str) -> dict[str, Any]:
        if _kind_of(path) == _TIMELINE:
            return {}
        merged = records.merged_values(self._slice_of(path).all())
        return {key: (kind, value) for key, kind, value in merged}

    @cache  # noqa: B019  (lives as long as the process)
    def facts(self, path: str) -> object:
        """Return what the undamaged file says; None where no query reads it."""
        return self._facts(path)

    def _facts(self, path: str) -> object:
        if _kind_of(path) != _TIMELINE:
            is_read = path.removeprefix(METADATA) in self._slices
            return self._facts_of_entries(path) if is_read else None
        self._calls.clear()
        facts = self._facts_of_table()
        return facts if path in self._calls else None

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
        file_slice = self._slices[path.removeprefix(METADATA)]
        return MetadataSlice(metadata.view.storage, file_slice, metadata._valid_among)

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
    keys = entries.keys.to_pylist()
    hfile = entries.hfile
    if hfile is None:
        return keys, [], b""
    spans = zip(hfile.value_starts.tolist(), hfile.value_ends.tolist(), strict=True)
    values = [bytes(hfile.values_data[begin:end]) for begin, end in spans]
    return keys, values, bytes(hfile.file_info[SCHEMA_INFO])


@contextmanager
def _warnings() -> Iterator[list[logging.LogRecord]]:
    """Collect the warnings of the package, which are not printed."""
    handler = BufferingHandler(_MOST_WARNINGS)
    logger = logging.getLogger("hudi_pyspark")
    handler.setLevel(logging.WARNING)
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler.buffer
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
def flips_of(case: str) -> Flips:
    """Return the flips of a table, of which a process has one."""
    return Flips(case)


def outcome_of(case: str, damage: Damage) -> Outcome:
    """Flip a byte, and compare; see the docstring of the module."""
    verdict, detail = flips_of(case).outcome(damage)
    is_finding = verdict in (BARE, OTHER, UNSEEN)
    return Outcome(
        _kind_of(damage.path), verdict, detail, f"{case}, {damage}", is_finding=is_finding
    )


def ended(case: str, damage: Damage) -> Outcome:
    """Return the outcome of a flip with which the process ended that read the file."""
    return Outcome(_kind_of(damage.path), ENDED, "", f"{case}, {damage}", is_finding=True)


def flip_damages_of(case: str, steps: tuple[int, int, int]) -> Iterator[Damage]:
    """Yield flips in the metadata table of a golden table; none of files that no query reads.

    Args:
        case: a golden table.
        steps: bytes from one flip to the next, in the partition of files, in indexes and in the
            timeline.
    """
    flips = flips_of(case)
    for number, (path, content) in enumerate(sorted(flips.files.items())):
        if path.startswith(METADATA) and flips.facts(path) is not None:
            step = {record_types.FILES: steps[0], _TIMELINE: steps[2]}.get(_kind_of(path), steps[1])
            places = places_of(number, content, step)
            yield from (Damage("flip", path, place) for place in places)


def _kind_of(path: str) -> str:
    return path.removeprefix(METADATA).partition("/")[0]
