"""Tables of a few bytes, in memory: data files of one byte and commits as literal JSON.

Instants have three digits; on layout 2 a write completes five after it was requested, unless given.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_pyspark.table.file_group import FileSlice
    from hudi_pyspark.table.view import TableView


def base(file_id: str, time: str, token: str = "0-1-0") -> str:
    return f"{file_id}_{token}_{time}.parquet"


def log(file_id: str, time: str, version: int = 1, token: str = "0-1-0") -> str:
    return f".{file_id}_{time}.log.{version}_{token}"


def properties_text(properties: Mapping[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in properties.items()).encode()


class TinyTable:
    """A table to which files and instants are added; `open` reads it as it then is."""

    def __init__(
        self, version: int = 9, table_type: str = "MERGE_ON_READ", **properties: str
    ) -> None:
        self.layout = 2 if version >= 8 else 1
        named = {
            "hoodie.table.name": "tiny",
            "hoodie.table.version": str(version),
            "hoodie.table.type": table_type,
        }
        named |= {f"hoodie.{key.replace('__', '.')}": text for key, text in properties.items()}
        self.files = {".hoodie/hoodie.properties": properties_text(named)}

    def instant(self, name: str, body: bytes | Mapping[str, Any] = b"") -> TinyTable:
        """A timeline file of that name."""
        folder = ".hoodie/timeline" if self.layout == 2 else ".hoodie"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.files[f"{folder}/{name}"] = content
        return self

    def data(self, *paths: str, content: bytes = b"x") -> TinyTable:
        """Data files that no commit names."""
        for path in paths:
            self.files[path] = content
            folder = path.rpartition("/")[0]
            if folder:
                self.files[f"{folder}/.hoodie_partition_metadata"] = b"commitTime=010"
        return self

    def write(
        self,
        time: str,
        action: str,
        *paths: str,
        completed: str = "",
        replaces: Mapping[str, list[str]] | None = None,
        extra: Mapping[str, str] | None = None,
        keep_files: bool = True,
    ) -> TinyTable:
        """A completed write and its files."""
        stats: dict[str, list[dict[str, object]]] = {}
        for path in paths:
            size = len(self.files.get(path, b"x"))
            stat = {"path": path, "fileId": "", "fileSizeInBytes": size}
            stats.setdefault(path.rpartition("/")[0], []).append(stat)
        body = {
            "partitionToWriteStats": stats,
            "partitionToReplaceFileIds": dict(replaces or {}),
            "extraMetadata": dict(extra or {}),
        }
        end = completed or f"{int(time) + 5:03}"
        self.instant(f"{time}_{end}.{action}" if self.layout == 2 else f"{time}.{action}", body)
        return self.data(*(p for p in paths if p not in self.files)) if keep_files else self

    def plan_compaction(self, time: str, *groups: tuple[str, str]) -> TinyTable:
        """A requested compaction of these (partition path, file id)."""
        operations = [{"partitionPath": p, "fileId": file_id} for p, file_id in groups]
        return self.instant(f"{time}.compaction.requested", {"operations": operations})

    def without(self, *paths: str) -> TinyTable:
        """The table after these files were lost."""
        for path in paths:
            del self.files[path]
        return self

    def open(self) -> TableView:
        return open_table(MemoryStorage(self.files))


def shape(slices: Iterable[FileSlice]) -> dict[str, list[str]]:
    """File id to the paths of its files, the base file first."""
    return {s.file_id: paths_of(s) for s in slices}


def paths_of(file_slice: FileSlice) -> list[str]:
    bases = [file_slice.base_file.path] if file_slice.base_file else []
    return bases + [f.path for f in file_slice.log_files]


def archive(table: TinyTable, instants: Mapping[str, str], name: str = "") -> TinyTable:
    """Give the table a history of delta commits, requested to completed, in a file of a name."""
    columns = {
        "instantTime": list(instants),
        "completionTime": list(instants.values()),
        "action": ["deltacommit"] * len(instants),
    }
    body = io.BytesIO()
    pq.write_table(pa.table(columns), body)
    name = name or f"{min(instants)}_{max(instants)}_0.parquet"
    table.instant("history/_version_", b"1")
    table.instant("history/manifest_1", {"files": [{"fileName": name, "fileLen": 1}]})
    return table.instant(f"history/{name}", body.getvalue())


F010 = base("f", "010")


def compacting(version: int) -> tuple[TinyTable, list[str]]:
    """Base 010, logs before and after a compaction is planned at 030."""
    before, after = ("010", "030") if version == 6 else ("020", "040")
    table = TinyTable(version).write("010", "commit", F010)
    table.write("020", "deltacommit", log("f", before)).plan_compaction("030", ("", "f"))
    table.write("040", "deltacommit", log("f", after))
    return table, [F010, log("f", before), log("f", after)]
