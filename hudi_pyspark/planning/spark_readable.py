"""Base files that Spark's own Parquet reader reads to the same rows and types.

Only what the footers prove counts: a file whose columns Spark could match, type or rebase in
another way, or whose path it could take for a pattern, is left to this package.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.avro.annotation import annotated_schema
from hudi_pyspark.format.avro.schema import VARIANT
from hudi_pyspark.planning.slice_tasks import ScanTask
from hudi_pyspark.reading.base_files.base_file import PARQUET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_pyspark.reading.read_task import ReadTask
    from hudi_pyspark.storage import Storage

    Constants = tuple[tuple[str, str | None], ...]

# Options of the data source, which `hudi_pyspark.read` sets: the plan is asked for, or followed.
PLAN: Final = "native.plan"
FILES: Final = "native.files"
# Each footer is read while planning, and each file is named in Spark's plan.
MOST_FILES: Final = 512
# Each set of partition values becomes a scan of its own in Spark's plan.
MOST_GROUPS: Final = 32
_THREADS: Final = 16
# What Spark's listing neither takes for a pattern nor hides.
_PLAIN_PATH = re.compile(
    r"(?:[A-Za-z0-9=+@~,-][A-Za-z0-9._=+@~,-]*/)*[A-Za-z0-9][A-Za-z0-9._=+@~,-]*"
)
# Dates before 1582 are in another calendar in these files; Arrow's own schema overrides the file's.
_OTHER_MEANING = (
    b"org.apache.spark.legacyDateTime",
    b"org.apache.spark.legacyINT96",
    b"ARROW:schema",
)


@dataclass(frozen=True, slots=True)
class NativeFiles:
    """Base files whose rows have the same values of partition columns.

    Attributes:
        constants: column and value as text, for columns that take their value from the path.
        paths: relative to the base path.
    """

    constants: Constants
    paths: tuple[str, ...]


def native_files(tasks: Iterable[ReadTask], storage: Storage) -> list[NativeFiles]:
    """Return the base files, without log files on top, that Spark reads as this package does.

    Args:
        tasks: of a plan without a filter.
        storage: of the table.

    Returns:
        Files by the values of their partition columns; [] where they are too many.
    """
    candidates = [task for task in tasks if isinstance(task, ScanTask) and _is_candidate(task)]
    if not candidates or len(candidates) > MOST_FILES:
        return []
    with ThreadPoolExecutor(_THREADS) as threads:
        found = list(threads.map(partial(_constants, storage=storage), candidates))
    groups: dict[Constants, list[str]] = {}
    for task, constants in zip(candidates, found, strict=True):
        base = task.file_slice.base_file
        if constants is not None and base is not None:
            groups.setdefault(constants, []).append(base.path)
    if len(groups) > MOST_GROUPS:
        return []
    return [NativeFiles(constants, tuple(paths)) for constants, paths in groups.items()]


def _is_candidate(task: ScanTask) -> bool:
    """Decide by all but the file itself."""
    file_slice, shared = task.file_slice, task.shared
    base = file_slice.base_file
    names = [name.lower() for name in shared.result.names]
    return (
        base is not None
        and not file_slice.log_files
        and not base.bootstrap_source
        and base.path.endswith(PARQUET)
        and _PLAIN_PATH.fullmatch(base.path) is not None
        and shared.commit_range is None
        and shared.schema_on_read is None
        and task.predicate is None
        and len(set(names)) == len(names)  # Spark ignores case
    )


def _constants(task: ScanTask, storage: Storage) -> Constants | None:
    """Return the values that the file's rows take from its path; None if Spark must not read it."""
    base = task.file_slice.base_file
    assert base is not None  # see `_is_candidate`
    try:
        with storage.open_input(base.path) as file:
            parquet = pq.ParquetFile(file)
            schema, metadata = parquet.schema_arrow, parquet.metadata.metadata or {}
    except (OSError, pa.ArrowException):
        return None  # reading it names the damage
    if not _means_what_it_says(metadata):
        return None
    try:
        annotated = annotated_schema(schema)
    except HudiError:
        return None
    constants = []
    for field in task.shared.result:
        source = _source(task, field, schema, annotated)
        if source is None:
            return None
        if source is not _FILE:
            constants.append((field.name, source.text))
    return tuple(constants)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a column's values come from."""

    text: str | None = None  # of the constant; None is null


_FILE = _Source()


def _source(
    task: ScanTask, field: pa.Field, schema: pa.Schema, annotated: pa.Schema
) -> _Source | None:
    partition, name = task.partition, field.name
    if name in partition.null_or_empty:
        return None
    if name in partition.from_path:
        return _constant(partition.constants[name], field.type)
    stored = [n for n in schema.names if n.lower() == name.lower()]
    if not stored:
        if name in partition.constants:
            return _constant(partition.constants[name], field.type)
        # Reading a file that lacks a partition column, and its path too, raises an error.
        return None if name in partition.columns or not _is_plain(field.type) else _FILE
    if stored != [name] or schema.field(name).type != annotated.field(name).type:
        return None
    return _FILE if _is_alike(schema.field(name).type, field.type) else None


def _constant(value: pa.Scalar, kind: pa.DataType) -> _Source | None:
    """Return a value as the text that Spark casts back to exactly this value."""
    tests = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date32)
    if not any(test(kind) for test in tests):
        return None
    return _Source(pc.cast(value.cast(kind), pa.string()).as_py())


def _means_what_it_says(metadata: Mapping[bytes, bytes]) -> bool:
    version = metadata.get(b"org.apache.spark.version", b"3").partition(b".")[0]
    is_new = version.isdigit() and int(version) >= 3
    return is_new and not any(key in metadata for key in _OTHER_MEANING)


def _is_alike(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Decide whether both readers make the same values of the wanted type."""
    if pa.types.is_struct(stored) and pa.types.is_struct(wanted):
        ours, theirs = list(wanted), list(stored)
        names = [field.name for field in ours]
        return (
            wanted != VARIANT
            and names == [field.name for field in theirs]
            and len({name.lower() for name in names}) == len(names)
            and all(_is_alike(a.type, b.type) for a, b in zip(theirs, ours, strict=True))
        )
    if pa.types.is_list(stored) and pa.types.is_list(wanted):
        return _is_alike(stored.value_type, wanted.value_type)
    if pa.types.is_map(stored) and pa.types.is_map(wanted):
        return _is_alike(stored.key_type, wanted.key_type) and _is_alike(
            stored.item_type, wanted.item_type
        )
    return bool(stored == wanted) and _is_plain(stored)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return bool(kind.unit == "us")
    tests = (
        pa.types.is_boolean,
        pa.types.is_int32,
        pa.types.is_int64,
        pa.types.is_float32,
        pa.types.is_float64,
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_date32,
        pa.types.is_decimal128,
    )
    return any(test(kind) for test in tests)
