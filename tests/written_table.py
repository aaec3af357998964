"""Tables of version 6 that are written by hand: files, and commits of JSON that name them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class WrittenTable:
    """A table in a folder, to which files and commits are added.

    Args:
        folder: of the table; may be there.
        schema: of Avro, which each commit has.
        properties: of the table, beside its name and version.
    """

    def __init__(
        self, folder: Path, schema: Mapping[str, Any], properties: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self.schema = schema
        named = {"hoodie.table.name": "written", "hoodie.table.version": "6", **properties}
        text = "".join(f"{key}={value}\n" for key, value in named.items())
        self.put(".hoodie/hoodie.properties", text.encode())

    def put(self, path: str, content: bytes) -> None:
        """Write a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def put_parquet(self, path: str, rows: pa.Table) -> None:
        """Write a base file; Arrow's own schema is not in it."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, self.folder / path, store_schema=False)

    def commit(
        self,
        time: str,
        action: str,
        files: Iterable[tuple[str, str]],
        *,
        operation: str = "UPSERT",
        replaced: Mapping[str, Sequence[str]] | None = None,
        **counts: int,
    ) -> None:
        """Complete a commit.

        Args:
            time: of the instant.
            action: of the instant.
            files: that were written: ids of their file groups, and paths.
            operation: of the commit.
            replaced: file groups that a replacecommit takes away, by partition.
            counts: of each file, such as ``numInserts``.
        """
        stats: dict[str, list[dict[str, Any]]] = {}
        for file_id, path in files:
            partition = path.rpartition("/")[0]
            size = (self.folder / path).stat().st_size
            stat = {"fileId": file_id, "path": path, "fileSizeInBytes": size, "numWrites": 1}
            stats.setdefault(partition, []).append({**stat, **counts})
            if partition:
                self.put(f"{partition}/.hoodie_partition_metadata", b"partitionDepth=1\n")
        content: dict[str, Any] = {
            "partitionToWriteStats": stats,
            "extraMetadata": {"schema": json.dumps(self.schema)},
            "operationType": operation,
        }
        if replaced is not None:
            content["partitionToReplaceFileIds"] = replaced
        for state in (".requested", ".inflight"):
            self.put(f".hoodie/{time}.{action}{state}", b"")
        self.put(f".hoodie/{time}.{action}", json.dumps(content).encode())
