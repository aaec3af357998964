"""The records of the metadata table, and where it differs from the table itself."""

import base64
import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError, UnsupportedTableError
from hudi_pyspark.inspection.definition import InspectionRows, with_columns
from hudi_pyspark.inspection.files import commits_of, committed_by_path, stored_files
from hudi_pyspark.metadata_table import record_types, records
from hudi_pyspark.metadata_table.table import FileGroupId, MetadataTable
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.planning.slice_tasks import SliceQuery, TablePlanner
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN
from hudi_pyspark.table.view import TableView

RECORD_SAMPLE = 100
_SAMPLED_SLICES = 10
_KEY = pa.schema([(RECORD_KEY_COLUMN, pa.string())])


@with_columns("metadata_partition, file_id, key, type, value")
def metadata_records(view: TableView, partition: str | None) -> Iterator[dict[str, object]]:
    """Yield one row per key, by metadata partition; see `Inspection.metadata_records`.

    Raises:
        InvalidOptionError: the table has no such metadata partition.
        MissingFileError, CorruptTableError: a file of the partition is gone or damaged.
    """
    names = sorted(view.config.metadata_partitions)
    if partition is not None and partition not in names:
        has = ", ".join(names) or "none"
        raise InvalidOptionError(f"the table has no metadata partition {partition!r}; it has {has}")
    if not names:
        return

    def text(value: object) -> str:
        return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)

    metadata = MetadataTable(view)
    for name in names if partition is None else [partition]:
        for file_id, key, kind, value in metadata.records(name):
            if kind in record_types.LISTINGS:
                value = {f: {"size": size, "isDeleted": False} for f, size in value.items()}  # noqa: PLW2901
            yield {
                "metadata_partition": name,
                "file_id": file_id,
                "key": key,
                "type": record_types.RecordType(kind).name
                if kind in record_types.RECORD_FIELDS
                else str(kind),
                "value": json.dumps(value, default=text, ensure_ascii=False),
            }


def listed_files(metadata: MetadataTable) -> dict[str, int]:
    """Return path and size in bytes of each file that the metadata table lists.

    Raises:
        MissingFileError, CorruptTableError: a file of the metadata table is gone or damaged.
    """
    return {
        path_in("" if key == records.UNPARTITIONED else key, name): size
        for _, key, kind, sizes in metadata.records(record_types.FILES)
        if kind == record_types.RecordType.FILES
        for name, size in sizes.items()
    }


@with_columns("check, subject, metadata_table, table, problem")
def metadata_validation(view: TableView, sample: int) -> InspectionRows:
    """Return one row per difference; see `Inspection.metadata_validation`."""
    if not view.config.metadata_partitions:
        return ()
    stored = [(f.path, f.name.instant, f.size) for f in stored_files(view) if f.name is not None]
    commits = commits_of(view, ((path, instant) for path, instant, _ in stored))
    metadata = MetadataTable(view)
    committed = committed_by_path(commits).keys()
    sizes = {path: size for path, _, size in stored}
    return map(asdict, differences(metadata, sizes, committed, sample))


@dataclass(frozen=True, slots=True)
class Difference:
    """One mismatch between the metadata table and its table."""

    check: Literal["commits", "files", "sizes", "record_index"]
    subject: str  # a requested time, a path or a record key
    metadata_table: str | None  # what it has of the subject; None for nothing
    table: str | None  # what the table has of it; None for nothing
    problem: str  # the difference in words


def differences(
    metadata: MetadataTable, sizes: Mapping[str, int], committed: AbstractSet[str], sample: int
) -> Iterator[Difference]:
    """Compare the metadata table with its table: commits, files, their sizes, places of records.

    Args:
        metadata: the metadata table.
        sizes: bytes of each data file on the storage, by its path relative to the table.
        committed: paths of the files that completed commits name.
        sample: approximate number of record keys to look up in the record index; 0 for none.

    Raises:
        MissingFileError, CorruptTableError: a file of the metadata table is gone or damaged.
    """
    for time in metadata.commits.missing:
        yield Difference("commits", time, None, time, "the commit is missing on its timeline")
    names = metadata.table.config.metadata_partitions
    if record_types.FILES in names:
        yield from _of_files(listed_files(metadata), sizes, committed)
    if records.RECORD_INDEX in names and sample:
        yield from _of_records(metadata, sample)


def _of_files(
    listed_sizes: Mapping[str, int], sizes: Mapping[str, int], committed: AbstractSet[str]
) -> Iterator[Difference]:
    for path, size in sorted(listed_sizes.items()):
        stored_size = sizes.get(path)
        if stored_size is None:
            problem = "listed in the metadata table, but not on the storage"
            yield Difference("files", path, str(size), None, problem)
        # Before layout 2, later commits append to a log file.
        elif stored_size < size or (stored_size > size and path.rpartition("/")[2][0] != "."):
            problem = f"{stored_size} bytes on the storage, {size} in the metadata table"
            yield Difference("sizes", path, str(size), str(stored_size), problem)
    for path in sorted(committed & sizes.keys() - listed_sizes.keys()):
        problem = "committed and on the storage, but not listed in the metadata table"
        yield Difference("files", path, None, str(sizes[path]), problem)


def _of_records(metadata: MetadataTable, sample: int) -> Iterator[Difference]:
    keys = _sampled_keys(metadata.table, sample)
    located = metadata.locate(list(keys))
    for key, group in keys.items():
        groups = located.get(key, [])
        if group not in groups:
            has = ", ".join(map(_place, groups)) or None
            problem = f"the row is in {_place(group)}, by the record index in {has or 'no file'}"
            yield Difference("record_index", key, has, _place(group), problem)


def _place(group: FileGroupId) -> str:
    return "/".join(filter(None, group))


def _sampled_keys(view: TableView, sample: int) -> dict[str, FileGroupId]:
    """Return the file groups of some record keys, from slices that lie far apart.

    Slices that lack a file are left out. {} if files have no keys, or if records cannot be merged.
    """
    from hudi_pyspark.reading.read_task import read_task  # noqa: PLC0415  (nothing else reads rows)

    if not view.config.populate_meta_fields:
        return {}
    planner = TablePlanner(view, ReadOptions())
    slices = [s for s in view.slices.as_of(check_files=False) if not s.lacks_files]
    slices = slices[:: max(1, len(slices) // _SAMPLED_SLICES)][:_SAMPLED_SLICES]
    try:
        tasks = planner.tasks(slices, SliceQuery(_KEY, view.slices.last_instant))
    except UnsupportedTableError:
        return {}
    keys_per_task = -(-sample // max(len(tasks), 1))
    sampled: dict[str, FileGroupId] = {}
    for task in tasks:
        group = (task.file_slice.partition_path, task.file_slice.file_id)
        tables = read_task(task, view.storage)
        columns = (table.column(RECORD_KEY_COLUMN) for table in tables)
        keys: Iterator[Any] = (key for column in columns for key in column.to_pylist())
        sampled.update((key, group) for key in islice(keys, keys_per_task))
    return sampled
