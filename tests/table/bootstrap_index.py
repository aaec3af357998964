"""Builds the index of a metadata-only bootstrap; fastavro encodes, not the code under test."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import fastavro

from tests.format.hfile_writer import block, entry, hfile

if TYPE_CHECKING:
    from collections.abc import Mapping

INDEX = (
    ".hoodie/.aux/.bootstrap/.partitions/"
    "00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile"
)
_PATH = {
    "type": "record",
    "name": "HoodiePath",
    "fields": [{"name": "uri", "type": ["null", "string"]}],
}
_STATUS = {
    "type": "record",
    "name": "HoodieFileStatus",
    "fields": [
        {"name": "path", "type": ["null", _PATH]},
        {"name": "length", "type": ["null", "long"]},
    ],
}
_METADATA = {
    "type": "record",
    "name": "HoodieBootstrapPartitionMetadata",
    "fields": [
        {"name": "bootstrapPartitionPath", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {
            "name": "fileIdToBootstrapFile",
            "type": ["null", {"type": "map", "values": _STATUS}],
        },
    ],
}


def bootstrap_index(sources: Mapping[tuple[str, str], str]) -> bytes:
    """An index by partition: (partition path, file id) to the recorded path of the source file."""
    partitions = sorted({partition for partition, _ in sources})
    entries = [
        entry(f"part={partition}".encode(), _container(partition, sources))
        for partition in partitions
    ]
    return hfile([block(b"DATABLK*", b"".join(entries))], entry_count=len(entries))


def _container(partition: str, sources: Mapping[tuple[str, str], str]) -> bytes:
    files = {
        file_id: {"path": {"uri": uri}, "length": 1}
        for (path, file_id), uri in sources.items()
        if path == partition
    }
    octets = io.BytesIO()
    record = {
        "bootstrapPartitionPath": partition,
        "partitionPath": partition,
        "fileIdToBootstrapFile": files,
    }
    fastavro.writer(octets, fastavro.parse_schema(_METADATA), [record])
    return octets.getvalue()
