"""Archive files of the LSM-less timeline."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from tests.format.log.log_writer import avro_content, avro_records, write_block

STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [{"name": "fileId", "type": ["null", "string"]}],
}
STATS = ["null", {"type": "map", "values": {"type": "array", "items": STAT}}]
REUSED_STATS = ["null", {"type": "map", "values": {"type": "array", "items": "HoodieWriteStat"}}]
COMMIT = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [{"name": "partitionToWriteStats", "type": STATS}],
}
REPLACE_COMMIT = {
    "type": "record",
    "name": "HoodieReplaceCommitMetadata",
    "fields": [
        {"name": "partitionToWriteStats", "type": REUSED_STATS},
        {
            "name": "partitionToReplaceFileIds",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": "string"}}],
        },
    ],
}
ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [
        {"name": "hoodieCommitMetadata", "type": ["null", COMMIT], "default": None},
        {"name": "commitTime", "type": ["null", "string"]},
        {"name": "actionType", "type": ["null", "string"]},
        {"name": "actionState", "type": ["null", "string"], "default": None},
        {"name": "hoodieReplaceCommitMetadata", "type": ["null", REPLACE_COMMIT], "default": None},
    ],
}


def entry(time, action, state="COMPLETED", **metadata):
    return {"commitTime": time, "actionType": action, "actionState": state, **metadata}


def archive_block(*entries):
    header: dict[HeaderKey | int, str] = {HeaderKey.SCHEMA: json.dumps(ENTRY)}
    return write_block(
        LogBlockType.AVRO_DATA_BLOCK, header, avro_content(avro_records(ENTRY, entries))
    )


HISTORY = ".hoodie/timeline/history"


def archive(table, *instants):
    """Put a file of instants into the archive: requested time, completion time, action."""
    names = ("instantTime", "completionTime", "action")
    columns = dict(zip(names, map(list, zip(*instants, strict=True)), strict=True))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    times = [time for time, _, _ in instants]
    name = f"{min(times)}_{max(times)}_0.parquet"
    table.files[f"{HISTORY}/{name}"] = buffer.getvalue()
    manifest = json.loads(table.files.get(f"{HISTORY}/manifest_1", b'{"files": []}'))
    manifest["files"].append({"fileName": name, "fileLen": 1})
    table.files[f"{HISTORY}/manifest_1"] = json.dumps(manifest).encode()
    table.files[f"{HISTORY}/_version_"] = b"1"
    return table
