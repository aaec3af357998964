"""Leave out file slices that cannot have a row of a query, before their tasks are made.

================  ==================================================================================
record keys       A filter on key fields asks for a few keys: tasks look only for these.
buckets           Of any state: slices of other buckets, if the table has a bucket index.
indexes           Of the latest state: slices that the metadata table rules out.
================  ==================================================================================

Partitions are chosen before their files are listed, see `planning.partitions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from hudi_pyspark.filter.requested_keys import ANY_KEY, RequestedKeys
from hudi_pyspark.options.option import Index
from hudi_pyspark.planning.bucket_index import BucketIndex, ToldBuckets, seem_bucketed
from hudi_pyspark.planning.index_pruning import IndexPruner
from hudi_pyspark.storage.protocol import read_together
from hudi_pyspark.table.stored_keys import StoredKeys, keys_or_reason

if TYPE_CHECKING:
    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.planning.slice_tasks import SliceQuery, TablePlanner
    from hudi_pyspark.table.file_group import FileSlice


def requested_keys(planner: TablePlanner, predicate: Predicate | None) -> RequestedKeys:
    """Return the only record keys that can pass a filter before a merge.

    All records of a row share their key, and so the fields that the key is made of: records of
    other keys never change the result of the merge.

    Any key if the user has a merger, which may change key fields: Apache Hudi's rules never do.
    Conditions on key fields admit any key where keys may be made of other values than rows show:

    - with a schema on read: a field may have had another type, whose values have other texts in
      record keys, such as a date that is a text by now;
    - if paths give all partition values, and one of these is in the key, which the writer made of
      the stored value: a folder may show a part of it, or spell it otherwise.
    """
    if planner.rule.merger is not None:
        return ANY_KEY
    config = planner.config
    in_path = config.partition_fields if planner.values_come_from_path else ()
    if planner.schema_on_read is not None or {*in_path} & {*config.record_key_fields}:
        config = replace(config, record_key_fields=())
    return RequestedKeys.of(predicate, config, planner.table_schema)


def prune_by_buckets(
    planner: TablePlanner, slices: Sequence[FileSlice], requested: RequestedKeys
) -> tuple[Sequence[FileSlice], Sequence[str]]:
    """Leave out the slices whose buckets cannot have a row that passes a filter.

    Nothing is left out if columns may have had other names.

    Args:
        planner: of the table.
        slices: of one state of the table.
        requested: the keys that can pass the filter, from `requested_keys`.

    Returns:
        The slices to read, and what the bucket index did in words.

    Raises:
        InvalidOptionError: the table contradicts what the options say of its buckets.
    """
    options = planner.options
    is_told = options.index_type.upper() == "BUCKET"
    if Index.BUCKET_INDEX not in options.data_skipping or (options.index_type and not is_told):
        return slices, ()
    if requested.are_any or planner.schema_on_read is not None:
        return slices, ()
    if len(slices) < 2 or not seem_bucketed(slices):
        return slices, ()
    told = ToldBuckets()
    if is_told:
        told = ToldBuckets(options.num_buckets, options.hash_field or ())
    fields = planner.config.record_key_fields
    index = BucketIndex(planner.view, fields, planner.config.populate_meta_fields, told)
    return index.prune(slices, requested)


def prune_by_indexes(
    planner: TablePlanner, slices: Sequence[FileSlice], query: SliceQuery, *, by_key: bool
) -> tuple[Sequence[FileSlice], Sequence[str]]:
    """Ask the indexes of the metadata table which slices can have rows that pass a filter.

    Args:
        planner: of the table.
        slices: the latest slices of file groups.
        query: what is asked of them.
        by_key: whether the record index may be asked, which knows the latest rows only.

    Returns:
        The slices to read, and for each index that was asked, what it did in words.
    """
    if query.predicate is None or planner.metadata is None:
        return slices, ()
    # With a schema on read, files may have other names for the columns.
    if planner.schema_on_read is not None:
        return slices, ()
    options = planner.options
    partitions = planner.config.metadata_partitions
    indexes = {i for i in options.data_skipping if any(map(i.matches, partitions))}
    if not by_key or options.skip_merge:
        indexes.discard(Index.RECORD_INDEX)  # it has the place of the newest version of a row
    if not indexes:
        return slices, ()
    distrust = _reason_for_distrust(planner)
    trusted = frozenset() if distrust else options.trust_indexes
    record_keys = query.requested.whole_keys
    pruner = IndexPruner(planner, query.predicate, indexes, trusted, record_keys)
    asks_for_keys = record_keys is not None and (
        Index.BLOOM_FILTERS in indexes or (Index.RECORD_INDEX in indexes and pruner.keys_are_unique)
    )
    others = _other_keys(planner, slices, query) if asks_for_keys else ""
    if others:
        pruner = replace(pruner, record_keys=None)
    kept_slices, notes = pruner.prune(planner.metadata, slices)
    if others:
        notes.append(f"nothing by indexes of record keys: {others}")
    if distrust and options.trust_indexes:
        notes.append(f"nothing by trusted indexes, {distrust}")
    return kept_slices, notes


def _other_keys(planner: TablePlanner, slices: Sequence[FileSlice], query: SliceQuery) -> str:
    """Say why keys may have other texts than their fields; "" if files show that they have these.

    An index of keys knows nothing of fields. The oldest and the newest slice are looked at; tasks
    look at each file that they read.
    """
    key_texts = query.requested.key_texts
    if not key_texts or not slices:
        return ""
    view = planner.view
    by_time = attrgetter("base_instant_time")
    ends = (min(slices, key=by_time).files[0], max(slices, key=by_time).files[0])
    chosen = {file.path: file for file in ends}
    found = view.history.key_evidence

    def look_at(path: str) -> StoredKeys | str:
        return keys_or_reason(view.storage, chosen[path], key_texts, keys_are_stored=True)

    unread = [path for path in chosen if path not in found]
    found |= dict(read_together(look_at, unread, is_local=view.storage.is_local))
    for file in chosen.values():
        keys = found[file.path]
        if isinstance(keys, str):
            return keys
        if not keys.have_texts_of_fields:
            return f"{view.storage.describe(file.path)} has others than its fields say"
    return ""


def _reason_for_distrust(planner: TablePlanner) -> str:
    """Say why indexes are not trusted, whatever the caller says; "" if they are.

    Such indexes have the newest values of a row. A query has others if it reads base files alone,
    skips damaged blocks, or takes other records for deletes; and if a merger of the user decides,
    whose rows may have other values than all of their records.
    """
    if planner.rule.merger is not None:
        return "since a payload_merger decides what rows are"
    changed = [name for name, _ in planner.options.row_options]
    return f"since {' and '.join(changed)} may change rows" if changed else ""
