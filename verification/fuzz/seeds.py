"""Good bytes to begin with: parts of the golden tables, and the inputs of earlier findings."""

from __future__ import annotations

import base64
import io
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import fastavro
from fastavro.utils import generate_many
from pyarrow import orc

from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.format.log.log_file import frame_log_file
from tests.conftest import PROJECT
from verification.common.archives import golden_folder, read_files
from verification.common.data import load_data
from verification.fuzz.targets import ORC_COMPRESSIONS, SCHEMAS

# Inputs that once led to an error without a name, to a hang or to too much memory.
CORPUS = Path(__file__).parent / "corpus"
_DATA = load_data(__file__, "seeds.toml")
_LARGEST = 1 << 16  # bytes of a seed
_MOST = 12  # seeds of a target from the golden tables


def corpus_of(target: str) -> dict[str, bytes]:
    """The inputs of earlier findings, by the names of their files."""
    return {file.name: file.read_bytes() for file in sorted((CORPUS / target).glob("*"))}


def seeds_of(target: str) -> list[bytes]:
    """Good inputs of a target, and those of earlier findings."""
    return [*_good_inputs()[target], *corpus_of(target).values()]


@cache
def _good_inputs() -> dict[str, list[bytes]]:
    """The seeds of all targets that the golden tables hold, each of them once, small ones first."""
    found: dict[str, set[bytes]] = defaultdict(set)
    for path, content in _files():
        for target, seed in _seeds_in(path, content):
            found[target].add(seed)
    for target, seed in _made_up():
        found[target].add(seed)
    return {target: _chosen(seeds) for target, seeds in found.items()}


def _chosen(seeds: set[bytes]) -> list[bytes]:
    """Choose some of all sizes."""
    small = sorted((s for s in seeds if len(s) <= _LARGEST), key=lambda s: (len(s), s))
    return small[:: len(small) // _MOST + 1]


def _files() -> Iterator[tuple[str, bytes]]:
    for case in _DATA["tables"]:
        yield from read_files(golden_folder(case) / "table.zip").items()
    for file in sorted((PROJECT / "tests" / "format" / "hfiles").glob("*.hfile")):
        yield file.name, file.read_bytes()
    for file in sorted((PROJECT / "tests" / "reading" / "base_files" / "orc").glob("*.orc")):
        yield file.name, file.read_bytes()


def _seeds_in(path: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the targets that a file of a table has seeds for."""
    name = path.rpartition("/")[2]
    yield "names", name.encode()
    for pattern, seeds_in in _BY_PATH:
        if re.search(pattern, path):
            yield from seeds_in(content)
            break
    for number, pattern in enumerate(_DATA["services"]):
        if re.search(pattern, name):
            yield "service_metadata", bytes([number]) + content


def _seed_of(target: str, before: bytes = b"") -> Callable[[bytes], Iterator[tuple[str, bytes]]]:
    """Return what makes a whole file a seed, after some bytes."""
    return lambda content: iter([(target, before + content)])


def _seeds_in_log(content: bytes) -> Iterator[tuple[str, bytes]]:
    yield "log_file", content
    for block in frame_blocks(content, path=""):
        if block.schema_text is not None:
            yield "avro_schema", block.schema_text.encode()
        if block.record_positions_text:
            yield "positions", base64.b64decode(block.record_positions_text)
        if block.block_type is LogBlockType.DELETE_BLOCK:
            yield "delete_block", bytes(block.content)
        elif block.block_type is LogBlockType.HFILE_DATA_BLOCK:
            yield "hfile", bytes(block.content)


def _seeds_in_native_log(
    kind: int, extension: str
) -> Callable[[bytes], Iterator[tuple[str, bytes]]]:
    """Return what makes seeds of native logs; the first byte names kind and format."""

    def seeds(content: bytes) -> Iterator[tuple[str, bytes]]:
        first = kind + (129 if extension == "hfile" else 0)  # a multiple of 3, from 128 on
        yield "native_log", bytes([first]) + content
        block = next(frame_log_file(content, path=f"f_1-0-1_001_1.log.{extension}"))
        if block.record_positions_text:
            yield "position_list", base64.b64decode(block.record_positions_text)

    return seeds


def _seeds_in_parquet(content: bytes) -> Iterator[tuple[str, bytes]]:
    yield "parquet_file", content
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    yield "thrift", footer


def _seeds_in_orc(content: bytes) -> Iterator[tuple[str, bytes]]:
    file = orc.ORCFile(io.BytesIO(content))
    end = len(content) - 1 - file.file_postscript_length
    if file.compression in ORC_COMPRESSIONS:
        kind = bytes([ORC_COMPRESSIONS.index(file.compression)])
        yield "orc_footer", kind + content[end - file.file_footer_length : end]


def _seeds_in_commit(content: bytes) -> Iterator[tuple[str, bytes]]:
    if not content:
        return
    yield "commit_metadata", content
    if content.startswith(b"{"):
        record = json.loads(content)
    else:
        record = next(fastavro.reader(io.BytesIO(content)), {})
    extra = record.get("extraMetadata") or {}
    if extra.get("latest_schema"):
        yield "internal_schema", b"\0" + extra["latest_schema"].encode()
    if extra.get("schema"):
        yield "avro_schema", extra["schema"].encode()
    for path in record.get("partitionToWriteStats") or {}:
        yield "partition_path", path.encode()


# The first pattern that is in a path decides.
_BY_PATH = (
    (
        r"/timeline/history/.*\.parquet$",
        _seed_of("history", b'{"files":[{"fileName":"1_1_0.parquet"}]}'),
    ),
    (r"\.archive\.[^/]*$", _seed_of("archive")),
    *(
        (rf"\.{kind}\.{extension}$", _seeds_in_native_log(number, extension))
        for number, kind in enumerate(("log", "deletes", "cdc"))
        for extension in ("parquet", "hfile")
    ),
    (r"\.log\.[^/]*$", _seeds_in_log),
    (r"\.hfile$", _seed_of("hfile")),
    (r"\.parquet$", _seeds_in_parquet),
    (r"\.orc$", _seeds_in_orc),
    (r"/manifest_[^/]*$", _seed_of("history")),
    (r"/(hoodie\.properties|\.hoodie_partition_metadata)$", _seed_of("properties")),
    (r"\.(commit|deltacommit|replacecommit)$", _seeds_in_commit),
    (r"\.schemacommit$", _seed_of("internal_schema", b"\xff")),
)


def _made_up() -> Iterator[tuple[str, bytes]]:
    """Yield seeds for which no table is needed."""
    random.seed(1)  # with which fastavro makes values up
    for number, schema in enumerate(SCHEMAS):
        for count in (0, 1, 3):
            records = b"".join(_record(schema, value) for value in generate_many(schema, count))
            yield "avro_records", bytes([number, 0]) + records
            yield "avro_records", bytes([number, 0x80 + count]) + records
    for path in (b"2024/01/31", b"a=2024-01-31/b=2024-01-31%2010%3A00/c=1.5", b"a=../..", b"x"):
        yield "partition_path", path
    row = b"\xff\xff\xff\xff\0\0\0\3\1\0\0\0\x40"  # a filter of three hashes and 64 bits
    yield "bloom_filter", b"\0" + row + bytes(range(8))
    yield "bloom_filter", b"\x80" + row + b"\0\0\0\2\0\0\0\1\0\0\0\2" + 2 * (row + bytes(8))
    yield "hfile_parts", b"\0" + b"\0\0\0\x10\0\0\0\1\0\4key1" + bytes(10) + b"v\0"
    yield "hfile_parts", b"\x40" + bytes([0, 0, 0, 1] + [0] * 7 + [0x12]) + bytes(12) + b"\0\4key1"
    yield "hfile_parts", b"\x80\1" + bytes(12) + b"\6\0\4key1"
    yield "hfile_parts", b"\xc0PBUF\x0a\x0a\x08\x0a\3key\x12\1v"


def _record(schema: dict[str, object], value: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return len(out.getvalue()).to_bytes(4, "big") + out.getvalue()
