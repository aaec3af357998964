"""Rewrites a table of version 9 as one of version 10: its log blocks become native logs.

The bytes are read by fastavro and pyarrow and written by pyarrow, by the description of the format.
The table's rows stay what they are, so Apache Hudi's answers hold for the twin, too.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.avro.schema import arrow_field, arrow_schema, parse_schema
from hudi_pyspark.format.data_files import LogFileName, LogKind
from hudi_pyspark.format.hfile.reader import read_hfile
from hudi_pyspark.format.log.delete_block import OrderingGroup, OrderingWrapper, decode_delete_block
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlock, LogBlockType, frame_blocks
from hudi_pyspark.format.log.record_positions import decode_positions
from tests.data_file_names import name_of
from tests.format.log.native_writer import native_parquet, position_text
from tests.golden.case import Case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

RECORD_KEY = "_hoodie_record_key"


@dataclass(frozen=True)
class NativeTwin(Case):
    """A golden case whose table is rewritten when it is extracted."""

    def extract(self, to: Path) -> Path:
        base = super().extract(to)
        rewrite(base)
        return base


def native_twin(case: Case) -> NativeTwin:
    return NativeTwin(**vars(case))


def rewrite(base: Path) -> None:
    """Make a table of version 10 of one of version 9, in place."""
    shutil.rmtree(base / ".hoodie/metadata", ignore_errors=True)  # names the old files
    orderings = _rewrite_properties(base / ".hoodie/hoodie.properties")
    logs = sorted(path for path in base.rglob(".*.log.*") if _is_log(path, base))
    blocks = {path: list(frame_blocks(path.read_bytes(), path=path.name)) for path in logs}
    rolled_back = {
        (path.parent, _log_name(path).file_id, block.target_instant_time)
        for path, found in blocks.items()
        for block in found
        if block.block_type is LogBlockType.COMMAND_BLOCK
    }
    schema = _table_schema(base)
    renamed = {}
    for path, found in blocks.items():
        name = _log_name(path)
        path.unlink()
        if (path.parent, name.file_id, name.instant) not in rolled_back:
            written = list(_write_blocks(path.parent, name, found, schema, orderings))
            renamed[path.name] = written
    for commit in _commits(base):
        _rewrite_commit(commit, renamed)


def _is_log(path: Path, base: Path) -> bool:
    return path.suffix != ".crc" and ".hoodie" not in path.relative_to(base).parts


def _log_name(path: Path) -> LogFileName:
    name = LogFileName.parse(path.name)
    assert name is not None
    return name


def _rewrite_properties(path: Path) -> list[str]:
    """Change the version, and return the ordering fields."""
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.metadata.partitions")]
    text = "\n".join(kept).replace("hoodie.table.version=9", "hoodie.table.version=10")
    path.write_text(text)
    values = dict(line.split("=", 1) for line in kept if "=" in line)
    return [name for name in values.get("hoodie.table.ordering.fields", "").split(",") if name]


def _commits(base: Path) -> list[Path]:
    timeline = base / ".hoodie/timeline"
    endings = (".deltacommit", ".commit", ".replacecommit")
    return sorted(path for path in timeline.iterdir() if path.suffix in endings)


def _read_commit(path: Path) -> tuple[Any, list[Any]]:
    if not path.stat().st_size:
        return None, []
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        return reader.writer_schema, list(reader)


def _table_schema(base: Path) -> dict[str, Any]:
    """Return the Avro schema that the newest commit names."""
    for path in reversed(_commits(base)):
        for commit in _read_commit(path)[1]:
            text = (commit.get("extraMetadata") or {}).get("schema")
            if text:
                parsed: dict[str, Any] = json.loads(text)
                return parsed
    return {"type": "record", "name": "r", "fields": []}


def _rewrite_commit(path: Path, renamed: dict[str, list[Path]]) -> None:
    schema, commits = _read_commit(path)
    for commit in commits:
        by_partition = commit.get("partitionToWriteStats") or {}
        for partition, stats in by_partition.items():
            by_partition[partition] = [new for old in stats for new in _new_stats(old, renamed)]
    if commits:
        with path.open("wb") as file:
            fastavro.writer(file, schema, commits)


def _new_stats(stat: dict[str, Any], renamed: dict[str, list[Path]]) -> list[dict[str, Any]]:
    """Return a record of each native log that a file became; they share what was written."""
    folder, _, name = (stat["path"] or "").rpartition("/")
    prefix = f"{folder}/" if folder else ""
    names = stat.get("logFiles") or []
    stat["logFiles"] = [new.name for old in names for new in renamed.get(old, [])] or None
    changes = stat.get("cdcStats") or {}
    stat["cdcStats"] = {
        f"{old.rpartition('/')[0]}/{new.name}".lstrip("/"): new.stat().st_size
        for old in changes
        for new in renamed[old.rpartition("/")[2]]
    } or None
    return [
        {**stat, "path": f"{prefix}{new.name}", "fileSizeInBytes": new.stat().st_size}
        for new in renamed.get(name, [])
    ] or [stat]


def _write_blocks(
    folder: Path,
    name: LogFileName,
    blocks: Sequence[LogBlock],
    schema: dict[str, Any],
    orderings: Sequence[str],
) -> Iterator[Path]:
    """Write a native log for each block of a file; versions keep them in order."""
    for number, block in enumerate(blocks):
        native = replace(name, version=10 * name.version + number, native_extension="parquet")
        header = {key.name: text for key, text in block.header.items()}
        if block.block_type is LogBlockType.DELETE_BLOCK:
            native = replace(native, kind=LogKind.DELETES)
            rows, text = _deletes(block, schema, orderings)
            header["SCHEMA"] = text
        elif block.block_type is LogBlockType.COMMAND_BLOCK:
            continue
        else:
            rows = _rows(block)
        if block.record_positions_text:
            positions = decode_positions(
                block.record_positions_text, rows.num_rows, is_list=False, path=block.path, offset=0
            )
            assert positions is not None
            header[HeaderKey.RECORD_POSITIONS.name] = position_text(positions.tolist())
        path = folder / name_of(native)
        path.write_bytes(native_parquet(rows, header))
        yield path


def _rows(block: LogBlock) -> pa.Table:
    text = block.schema_text or ""
    if block.block_type is LogBlockType.PARQUET_DATA_BLOCK:
        return pq.read_table(pa.BufferReader(bytes(block.content)))
    values = (
        _hfile_values(block)
        if block.block_type is LogBlockType.HFILE_DATA_BLOCK
        else _avro_values(bytes(block.content))
    )
    parsed = fastavro.parse_schema(json.loads(text))
    records: list[Any] = [fastavro.schemaless_reader(io.BytesIO(value), parsed) for value in values]
    schema = arrow_schema(parse_schema(text))
    rows = [{f.name: _plain(record[f.name], f.type) for f in schema} for record in records]
    return pa.Table.from_pylist(rows, schema=schema)


def _avro_values(content: bytes) -> Iterator[bytes]:
    _, count = struct.unpack_from(">ii", content)
    at = 8
    for _ in range(count):
        (length,) = struct.unpack_from(">i", content, at)
        yield content[at + 4 : at + 4 + length]
        at += 4 + length


def _hfile_values(block: LogBlock) -> Iterator[bytes]:
    hfile = read_hfile(block.content, path=block.path)
    for start, end in zip(hfile.value_starts, hfile.value_ends, strict=True):
        yield bytes(hfile.values_data[start:end])


def _plain(value: Any, data_type: pa.DataType) -> Any:
    """Return a value of fastavro as pyarrow takes it: maps as pairs."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return [(key, _plain(item, data_type.item_type)) for key, item in value.items()]
    if pa.types.is_struct(data_type):
        return {f.name: _plain(value[f.name], f.type) for f in data_type}
    if pa.types.is_list(data_type):
        return [_plain(item, data_type.value_type) for item in value]
    return value


def _deletes(
    block: LogBlock, schema: dict[str, Any], orderings: Sequence[str]
) -> tuple[pa.Table, str]:
    """Return record keys and ordering values, null where there is none, and their schema."""
    records = decode_delete_block(block.content, path=block.path, offset=block.offset)
    fields = {field["name"]: field for field in schema["fields"]}
    listed = [{"name": RECORD_KEY, "type": "string"}, *(fields[name] for name in orderings)]
    text = json.dumps({"type": "record", "name": "r", "fields": listed})
    groups = [records.ordering] if len(orderings) == 1 else []
    if records.array_rows is not None:
        groups = list(records.array_fields)
    columns: dict[str, pa.Array] = {RECORD_KEY: records.record_keys}
    for field, of_field in zip(parse_schema(text).fields[1:], groups, strict=True):
        columns[field.name] = _scattered(
            of_field, arrow_field(field).type, len(records.record_keys)
        )
    return pa.table(columns), text


def _scattered(groups: Sequence[OrderingGroup], data_type: pa.DataType, count: int) -> pa.Array:
    values: dict[int, Any] = defaultdict(lambda: None)
    for group in groups:
        if group.wrapper is OrderingWrapper.INT and not pa.types.is_int32(data_type):
            continue  # the default ordering value: none
        for row, value in zip(
            np.asarray(group.rows).tolist(), group.values.cast(data_type), strict=True
        ):
            values[row] = value.as_py() or None if pa.types.is_int32(data_type) else value.as_py()
    return pa.array([values[row] for row in range(count)], data_type)
