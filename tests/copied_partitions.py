"""A golden table whose partitions are copied under many names, so that it has many file slices."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa

from tests.conftest import GOLDEN
from tests.damage import set_property
from tests.golden.case import load_case

if TYPE_CHECKING:
    from pathlib import Path

CASE = "v9_mor_compaction_inline"  # partitioned by region, which the record keys do not depend on
SLICES = 5  # of the golden table
# The copied files still hold the region of the original.
OPTIONS = {"partition_values_from_path": "true"}


def write(folder: Path, copies: int) -> Path:
    """Write a table of ``copies * SLICES`` file slices; return its base path.

    Data files are those of Apache Hudi, byte by byte; the commits name them in their new folders.
    """
    table = folder / CASE
    with zipfile.ZipFile(GOLDEN / CASE / "table.zip") as archive:
        files = {
            name.partition("/")[2]: archive.read(name)
            for name in archive.namelist()
            if not name.endswith("/") and "/.hoodie/metadata/" not in name
        }
    for path, content in files.items():
        if path.startswith(".hoodie/"):
            is_completed = path.endswith("commit")
            _put(table / path, _with_copies(content, copies) if is_completed else content)
        else:
            for number in range(copies):
                _put(table / _copy(path, number), content)
    set_property(table, "hoodie.table.metadata.partitions", "")
    return table


def expected(copies: int) -> pa.Table:
    """Return the rows of the table: those that Apache Hudi reads, once in each copy's region."""
    query = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")
    rows = query.expected_rows()
    place = rows.schema.get_field_index("region")
    regions = rows["region"].to_pylist()
    return pa.concat_tables(
        rows.set_column(place, "region", pa.array([_copy(name, number) for name in regions]))
        for number in range(copies)
    )


def _copy(path: str, number: int) -> str:
    """Return a partition path, or the path of a file in it, as it is in a copy."""
    partition, slash, name = path.partition("/")
    return f"{partition}-{number:04}{slash}{name}"


def _with_copies(commit: bytes, copies: int) -> bytes:
    reader = fastavro.reader(io.BytesIO(commit))
    metadata: Any = next(reader)
    stats: dict[str, list[dict[str, Any]]] = metadata["partitionToWriteStats"]
    metadata["partitionToWriteStats"] = {
        _copy(partition, number): [
            {**stat, "partitionPath": _copy(partition, number), "path": _copy(stat["path"], number)}
            for stat in stats_of_partition
        ]
        for partition, stats_of_partition in stats.items()
        for number in range(copies)
    }
    written = io.BytesIO()
    fastavro.writer(written, reader.writer_schema, [metadata])
    return written.getvalue()


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
