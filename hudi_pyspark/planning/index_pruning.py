"""Leave out file slices that cannot have rows of a query, by indexes of the metadata table.

An index may rule a file out only by what it says of that very file, and only if the file never
changes after its commit: a base file, or a log file of one commit. So nothing depends on whether an
index is behind the table, was built again, or lacks files or keys: what it lacks is kept.

- Column statistics and Bloom filters are stored by the name of a file. They are computed from all
  records that a writer puts into it, so absence is certain.
- A record index is stored by key. It says nothing of any other file group, see
  `IndexPruner.by_record_index`.
- Other indexes may be silent about rows: they are asked only if the caller trusts them
  (``trust_indexes``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.filter.predicate import columns_of, conjuncts
from hudi_pyspark.filter.requested_keys import listed_texts
from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError
from hudi_pyspark.messages import logger
from hudi_pyspark.metadata_table.column_stats import columns_with_bounds, is_base_alone
from hudi_pyspark.metadata_table.expression_index import Expression
from hudi_pyspark.metadata_table.index_definitions import IDENTITY, IndexDefinition
from hudi_pyspark.metadata_table.partition_stats import partitions_with_matches
from hudi_pyspark.metadata_table.records import file_key, merged_values, partition_keys
from hudi_pyspark.options.option import Index
from hudi_pyspark.table.meta_columns import META_COLUMNS

if TYPE_CHECKING:
    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.metadata_table.table import FileGroupId, MetadataTable
    from hudi_pyspark.planning.slice_tasks import TablePlanner
    from hudi_pyspark.table.file_group import FileSlice

    Slices = Sequence[FileSlice]
    # The slices that are left, and by which index in words; None if an index says nothing.
    Pruned = tuple[Slices, str] | None

_log = logger(__name__)
# Bloom filters are large. If there are more, tasks read them from the footers, in parallel.
_MOST_BLOOM_FILTERS = 1_000
_MOST_VALUES = 1_000  # that are looked up in a secondary index
_MOST_KEYS = 10_000  # of them whose places are looked up
_NOT_BY_RECORD_INDEX = "nothing by the record index, which may lack rows (see trust_indexes)"


@dataclass(frozen=True, eq=False, repr=False)
class IndexPruner:
    """Leaves out slices of the latest state, by what the indexes of a table say of a filter."""

    planner: TablePlanner
    predicate: Predicate
    indexes: Collection[Index]  # that may be used; the table has them
    trusted: Collection[Index]  # that know all rows, as the caller says
    record_keys: Sequence[str] | None  # the only keys that can pass the filter; None for any key

    @property
    def keys_are_unique(self) -> bool:
        """Whether no two rows have the same record key, as the caller says."""
        return self.planner.options.unique_keys or Index.RECORD_INDEX in self.trusted

    def prune(
        self, metadata: Callable[[], MetadataTable], slices: Slices
    ) -> tuple[Slices, list[str]]:
        """Return the slices that can have rows for which the filter is true, and notes.

        A note says what an index did, or why it did nothing. An index that cannot be read keeps all
        slices, with a warning, and never fails the query.

        Args:
            metadata: returns the metadata table, or raises a HudiError if it is unreliable.
            slices: of the latest state.
        """
        notes: list[str] = []
        if Index.RECORD_INDEX in self.indexes and self.record_keys is not None:
            notes += [] if self.keys_are_unique else [_NOT_BY_RECORD_INDEX]
        for index, prune in _STEPS.items():
            if index not in self.indexes or len(slices) < 2:
                continue
            if index in NEED_TRUST and index not in self.trusted:
                continue
            try:
                pruned = prune(self, metadata(), slices)
            except HudiError as error:
                _log.warning("an index of the metadata table is not used: %s", error.reason())
                notes.append(f"not the metadata table's indexes: {error.reason()}")
                continue
            if pruned is not None:
                count = len(slices)
                slices, name = pruned
                why = ", as trust_indexes says" if index in self.trusted else ""
                notes.append(f"{count - len(slices)} of {count} file slices by {name}{why}")
        return slices, notes

    def by_record_index(self, metadata: MetadataTable, slices: Slices) -> Pruned:
        """Keep the file groups that the index names.

        Right only if no two rows have one key, so a caller has to say so. A key without an entry
        may be in any slice: Apache Hudi's writers remove the entry of a key that has rows elsewhere
        (a partition is dropped, or rows are deleted in one), or whose delete loses against the row.
        So such a key keeps all slices, unless the caller trusts the index and no file group of it
        is lost.
        """
        if self.record_keys is None or not self.keys_are_unique:
            return None
        is_trusted = Index.RECORD_INDEX in self.trusted
        fields = self.planner.config.record_key_fields
        prefix = f"{fields[0]}:" if len(fields) == 1 else ""  # some releases put it before a value
        places: dict[str, set[FileGroupId]] = {
            key.removeprefix(prefix): set() for key in self.record_keys
        }
        for key, groups in metadata.locate(self.record_keys).items():
            places[key.removeprefix(prefix)].update(groups)
        absent = [key for key, groups in places.items() if not groups]
        if absent and is_trusted and metadata.knows_absent(self.record_keys):
            places = {key: groups for key, groups in places.items() if groups}
        kept_slices = _slices_at(places, slices, may_be_elsewhere=is_trusted)
        return None if kept_slices is None else (kept_slices, "the record index")

    def by_secondary_indexes(self, metadata: MetadataTable, slices: Slices) -> Pruned:
        """Keep the file groups of the record keys that an index has for the values of its column.

        The record index says where these keys are. If it lacks one, the two indexes contradict each
        other, and all slices are kept.
        """
        if Index.RECORD_INDEX not in self.indexes:
            return None
        names = []
        kept_slices = slices
        for definition in metadata.definitions:
            values = self._looked_up(definition)
            keys = metadata.secondary_keys(definition, values) if values else None
            if keys is None or len(keys) > _MOST_KEYS:
                continue
            located = metadata.locate(sorted(keys))
            places = {key: located.get(key, ()) for key in keys}
            named_slices = _slices_at(places, slices, may_be_elsewhere=True)
            if named_slices is not None:
                kept_slices = _without(kept_slices, slices, named_slices)
                names.append(definition.partition)
        return (kept_slices, " and ".join(names)) if names else None

    def _looked_up(self, definition: IndexDefinition) -> Sequence[str]:
        """Return the values that a filter asks a secondary index for; none if it is not asked.

        Rows show partition columns as in their path, whatever the files and the index have.
        """
        is_usable = (
            definition.kind == Index.SECONDARY_INDEX.value and definition.function == IDENTITY
        )
        if not is_usable or definition.column in self.planner.config.partition_fields:
            return ()
        parts = conjuncts(self.predicate)
        values = listed_texts(parts, definition.column, self.planner.table_schema)
        return () if values is None or len(values) > _MOST_VALUES else values

    def by_partition_stats(self, metadata: MetadataTable, slices: Slices) -> Pruned:
        """Leave out partitions by the statistics of all of their records."""
        # Writers fill in the meta columns of log records, whatever the statistics say.
        not_stored = {*self.planner.config.partition_fields, *META_COLUMNS}
        fields = columns_with_bounds(self.predicate, self.planner.table_schema, not_stored)
        in_doubt = {
            s.partition_path for s in _without(slices, self._slices_with_bounds(slices), ())
        }
        paths = sorted({s.partition_path for s in slices} - in_doubt)
        if not fields or not paths:
            return None
        kept_paths = in_doubt | partitions_with_matches(metadata, paths, self.predicate, fields)
        return [s for s in slices if s.partition_path in kept_paths], "partition statistics"

    def by_column_stats(self, metadata: MetadataTable, slices: Slices) -> Pruned:
        """Leave out slices by the statistics of their files."""
        fields = columns_with_bounds(
            self.predicate, self.planner.table_schema, self.planner.config.partition_fields
        )
        asked_slices = self._slices_with_bounds(slices)
        if not fields or not asked_slices:
            return None
        may_match = metadata.bounds_of(asked_slices).may_match(self.predicate, fields)
        kept_slices = list(compress(asked_slices, may_match))
        return _without(slices, asked_slices, kept_slices), "column statistics"

    def _slices_with_bounds(self, slices: Slices) -> Slices:
        """Return the slices whose statistics hold for all records of their files, merged or not.

        A user's merger may invent values. Earlier versions append to log files, so statistics may
        be of one part of a file.
        """
        has_merger = self.planner.rule.merger is not None
        are_of_logs = not has_merger and self.planner.config.has_completion_times
        hold = _has_logs_of_one_commit if are_of_logs else is_base_alone
        return [s for s in slices if hold(s)]

    def by_expression_indexes(self, metadata: MetadataTable, slices: Slices) -> Pruned:
        """Leave out base files whose values of an expression cannot pass the filter.

        The index has what the expression is of the records of a log file, but a merge may take
        columns from several.
        """
        not_indexed = {*self.planner.config.partition_fields, *META_COLUMNS}
        fields = columns_with_bounds(self.predicate, self.planner.table_schema, not_indexed)
        base_only = [s for s in slices if is_base_alone(s)]
        kept_slices: Slices = base_only
        names = []
        for definition in metadata.definitions:
            column = fields.get(definition.column)
            expression = Expression.of(definition, column) if column is not None else None
            if expression is None or not base_only:
                continue
            condition = expression.condition(self.predicate)
            is_of_bounds = definition.kind == Index.COLUMN_STATS.value
            if is_of_bounds and definition.column in columns_of(condition):
                bounds = metadata.bounds_of(base_only, definition.partition)
                may_match = bounds.may_match(condition, {definition.column: expression.field})
                found: Slices = list(compress(base_only, may_match))
            elif values := self._filtered_values(expression):
                found = _with_values(metadata, definition.partition, base_only, values)
            else:
                continue
            kept_slices = _without(kept_slices, base_only, found)
            names.append(definition.partition)
        return (_without(slices, base_only, kept_slices), " and ".join(names)) if names else None

    def _filtered_values(self, expression: Expression) -> list[str]:
        """Return the values for which a Bloom filter of an expression is asked; none to ask none.

        Writers add the bytes of values in the encoding of their machine.
        """
        definition = expression.definition
        is_usable = definition.kind == Index.BLOOM_FILTERS.value
        parts = conjuncts(self.predicate)
        texts = (
            listed_texts(parts, definition.column, self.planner.table_schema) if is_usable else None
        )
        values = expression.values_of(pa.array(texts, pa.string())) if texts else None
        found = list(map(str, values.to_pylist())) if values is not None else []
        return found if all(map(str.isascii, found)) else []

    def by_bloom_filters(self, metadata: MetadataTable, slices: Slices) -> Pruned:
        """Leave out base files that have none of the record keys."""
        base_only = [s for s in slices if is_base_alone(s)]
        if self.record_keys is None or not 0 < len(base_only) <= _MOST_BLOOM_FILTERS:
            return None
        index = Index.BLOOM_FILTERS.value
        kept_slices = _with_values(metadata, index, base_only, self.record_keys)
        return _without(slices, base_only, kept_slices), "Bloom filters"


def _slices_at(
    places: Mapping[str, Collection[FileGroupId]], slices: Slices, *, may_be_elsewhere: bool
) -> Slices | None:
    """Return the slices of the file groups in which keys are; None if one is in none of them.

    Args:
        places: of each key.
        slices: of the query.
        may_be_elsewhere: whether a key may be in partitions of which the query has no slice.
    """
    present = {(s.partition_path, s.file_id) for s in slices}
    partitions = {partition for partition, _ in present}
    named_groups: set[FileGroupId] = set()
    for groups in places.values():
        here = present.intersection(groups)
        is_elsewhere = groups and not partitions.intersection(path for path, _ in groups)
        if not here and not (may_be_elsewhere and is_elsewhere):
            return None
        named_groups |= here
    return [s for s in slices if (s.partition_path, s.file_id) in named_groups]


def _has_logs_of_one_commit(file_slice: FileSlice) -> bool:
    """Return whether a single commit wrote each log file.

    Before an upgrade, commits appended to log files, which have the base file's instant in their
    names.
    """
    base_instant = file_slice.base_instant_time if file_slice.base_file is not None else None
    logs = file_slice.log_files
    return all(log.is_of_one_commit and log.instant_time != base_instant for log in logs)


def _with_values(
    metadata: MetadataTable, index: str, base_only: Slices, values: Sequence[str]
) -> Slices:
    """Return the slices, without log files, whose Bloom filters in an index may have a value."""
    partitions = partition_keys({s.partition_path for s in base_only})
    names = [partitions[s.partition_path] + file_key(s.base_file) for s in base_only if s.base_file]
    ruled_out = {
        name
        for entries in metadata.find(index, names)
        for name, _, value in merged_values(entries)
        if not _may_contain(value, values)
    }
    return [s for name, s in zip(names, base_only, strict=True) if name not in ruled_out]


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


# Indexes whose answer is about more than files that they name, or depends on the writer's session.
NEED_TRUST = frozenset({Index.SECONDARY_INDEX, Index.PARTITION_STATS, Index.EXPRESSION_INDEX})
# Indexes that leave the fewest slices come first.
_STEPS: dict[Index, Callable[[IndexPruner, MetadataTable, Slices], Pruned]] = {
    Index.RECORD_INDEX: IndexPruner.by_record_index,
    Index.SECONDARY_INDEX: IndexPruner.by_secondary_indexes,
    Index.PARTITION_STATS: IndexPruner.by_partition_stats,
    Index.COLUMN_STATS: IndexPruner.by_column_stats,
    Index.EXPRESSION_INDEX: IndexPruner.by_expression_indexes,
    Index.BLOOM_FILTERS: IndexPruner.by_bloom_filters,
}
