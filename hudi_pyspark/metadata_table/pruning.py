"""Leave out file slices that cannot have rows of a query, by indexes of the metadata table.

An index may rule a file out only by what it says of that very file, and only if the file never
changes after its commit: a base file, or a log file of one commit. So nothing depends on whether an
index is behind the table, was built again, or lacks files or keys: what it lacks is kept.

- Column statistics and Bloom filters are stored by the name of a file. They are computed from all
  records that a writer puts into it, so absence is certain.
- A record index is stored by key. It says nothing of any other file group; see `_by_record_index`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError
from hudi_pyspark.messages import logger
from hudi_pyspark.metadata_table.column_stats import columns_with_bounds, is_base_alone
from hudi_pyspark.metadata_table.records import file_key, merged_values, partition_keys
from hudi_pyspark.options.option import Index

if TYPE_CHECKING:
    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.metadata_table.table import MetadataTable
    from hudi_pyspark.table.file_group import FileSlice

    Slices = Sequence[FileSlice]
    Pruned = Slices | None  # None if an index says nothing

_log = logger(__name__)
# Bloom filters are large. If there are more, tasks read them from the footers, in parallel.
_MOST_BLOOM_FILTERS = 1_000
_NOT_BY_RECORD_INDEX = "nothing by the record index, which may lack rows (see unique_keys)"


@dataclass(frozen=True, slots=True)
class IndexQuestion:
    """The filter of a query, and the indexes that may narrow its file slices."""

    indexes: Collection[Index]  # that may be used; the table has them
    predicate: Predicate
    schema: pa.Schema  # of the table
    partition_fields: Collection[str]  # whose statistics do not hold for rows
    record_keys: Sequence[str] | None  # the only keys that can pass the filter; None for any key
    # What precedes the value of a single key field in keys; releases differ. "" for nothing.
    key_prefix: str
    keys_are_unique: bool  # the caller knows that no two rows have the same record key
    # The statistics of log files hold for all of their records, and merging invents no values.
    logs_have_bounds: bool


def prune_slices(
    metadata: Callable[[], MetadataTable], slices: Slices, question: IndexQuestion
) -> tuple[Slices, list[str]]:
    """Return the slices of the latest state that can have rows of a query, and notes.

    A note says what an index did, or why it did nothing. An index that cannot be read keeps all
    slices, with a warning, and never fails the query.

    Args:
        metadata: returns the metadata table, or raises a HudiError if it is not to be relied on.
        slices: of the latest state.
        question: the rows that are wanted, and the indexes that may be asked for them.
    """
    notes: list[str] = []
    if Index.RECORD_INDEX in question.indexes and question.record_keys is not None:
        notes += [] if question.keys_are_unique else [_NOT_BY_RECORD_INDEX]
    for index, (name, prune) in _STEPS.items():
        if index not in question.indexes or len(slices) < 2:
            continue
        try:
            kept_slices = prune(metadata(), slices, question)
        except HudiError as error:
            _log.warning("an index of the metadata table is not used: %s", error.reason())
            notes.append(f"not the metadata table's indexes: {error.reason()}")
            continue
        if kept_slices is not None:
            count = len(slices)
            notes.append(f"{count - len(kept_slices)} of {count} file slices by {name}")
            slices = kept_slices
    return slices, notes


def _by_record_index(metadata: MetadataTable, slices: Slices, question: IndexQuestion) -> Pruned:
    """Keep the file groups that the index names, if it names one for each key.

    Right only if no two rows have one key, so a caller has to say so. A key without an entry may be
    in any slice: Apache Hudi's writers remove the entry of a key that has rows elsewhere (a
    partition is dropped, or rows are deleted in one), or whose delete loses against the row.
    """
    if question.record_keys is None or not question.keys_are_unique:
        return None
    present = {(s.partition_path, s.file_id) for s in slices}
    located = {
        key: groups
        for key, of_key in metadata.locate(question.record_keys).items()
        if (groups := present.intersection(of_key))
    }
    values, located_values = (
        {key.removeprefix(question.key_prefix) for key in keys}
        for keys in (question.record_keys, located)
    )
    if values != located_values:
        return None
    named_groups = set().union(*located.values())
    return [s for s in slices if (s.partition_path, s.file_id) in named_groups]


def _by_column_stats(metadata: MetadataTable, slices: Slices, question: IndexQuestion) -> Pruned:
    fields = columns_with_bounds(question.predicate, question.schema, question.partition_fields)
    may_ask = _has_logs_of_one_commit if question.logs_have_bounds else is_base_alone
    asked_slices = [s for s in slices if may_ask(s)]
    if not fields or not asked_slices:
        return None
    may_match = metadata.bounds_of(asked_slices).may_match(question.predicate, fields)
    return _without(slices, asked_slices, list(compress(asked_slices, may_match)))


def _has_logs_of_one_commit(file_slice: FileSlice) -> bool:
    """Return whether a single commit wrote each log file.

    Before an upgrade, commits appended to log files, which have the base file's instant in their
    names.
    """
    base_instant = file_slice.base_instant_time if file_slice.base_file is not None else None
    logs = file_slice.log_files
    return all(log.is_of_one_commit and log.instant_time != base_instant for log in logs)


def _by_bloom_filters(metadata: MetadataTable, slices: Slices, question: IndexQuestion) -> Pruned:
    base_only = [s for s in slices if is_base_alone(s)]
    if question.record_keys is None or not 0 < len(base_only) <= _MOST_BLOOM_FILTERS:
        return None
    partitions = partition_keys({s.partition_path for s in base_only})
    names = [partitions[s.partition_path] + file_key(s.base_file) for s in base_only if s.base_file]
    ruled_out = {
        name
        for entries in metadata.find(Index.BLOOM_FILTERS.value, names)
        for name, _, value in merged_values(entries)
        if not _may_contain(value, question.record_keys)
    }
    kept_slices = [s for name, s in zip(names, base_only, strict=True) if name not in ruled_out]
    return _without(slices, base_only, kept_slices)


def _may_contain(value: Mapping[str, Any], keys: Sequence[str]) -> bool:
    try:
        bloom = BloomFilter.parse(value["bloomFilter"].decode(), value["type"])
    except (BloomFilterError, UnicodeDecodeError):
        return True
    return bool(bloom.may_contain(keys).any())


def _without(slices: Slices, asked_slices: Slices, kept_slices: Slices) -> Slices:
    """Return the slices, in their order, except those that an index was asked for and ruled out."""
    left_out = {id(s) for s in asked_slices} - {id(s) for s in kept_slices}
    return [s for s in slices if id(s) not in left_out]


# Indexes that leave the fewest slices come first.
_STEPS: dict[Index, tuple[str, Callable[[MetadataTable, Slices, IndexQuestion], Pruned]]] = {
    Index.RECORD_INDEX: ("the record index", _by_record_index),
    Index.COLUMN_STATS: ("column statistics", _by_column_stats),
    Index.BLOOM_FILTERS: ("Bloom filters", _by_bloom_filters),
}
