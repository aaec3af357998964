"""Instants that have left the active timeline.

Layouts 0 and 1 archive into Hudi log files, ``.commits_.archive.<n>_<token>``. Layout 2 keeps a
history: ``_version_`` names the current ``manifest_<n>``, which names the Parquet files that count.

A snapshot query needs none of this, unless (from table version 8 on) it asks for the completion
time of an old log file. An incremental query that begins before the active timeline does need it.
"""

import io
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias, TypeVar

import fastavro
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptLogBlockError, CorruptTimelineError
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from hudi_pyspark.format.parquet.checked_file import open_parquet, read_columns
from hudi_pyspark.format.timeline import instant_body
from hudi_pyspark.format.timeline.instant import (
    Action,
    CompletionTime,
    Instant,
    InstantState,
    RequestedTime,
)
from hudi_pyspark.storage.protocol import Storage, list_nonempty, read_together

_T = TypeVar("_T")
_Entry: TypeAlias = dict[str, Any]  # of an archive log

_ARCHIVE_FILE = re.compile(r"\.commits_\.archive\.[0-9]+(?:_[0-9-]+)?")
_MERGE_PLAN = "mergeArchivePlan"
_ENTRY_FIELDS = ("commitTime", "actionType", "actionState")
# An entry fills the field of its action.
_BODY_FIELDS = (
    "hoodieCommitMetadata",
    "hoodieReplaceCommitMetadata",
    "hoodieCleanMetadata",
    "hoodieRollbackMetadata",
    "hoodieSavePointMetadata",
)
_RECORD_COUNT = struct.Struct(">ii")  # content version, number of records
_RECORD_LENGTH = struct.Struct(">i")

_VERSION_FILE = "_version_"
_MANIFEST_FILE = re.compile(r"manifest_([0-9]+)")
_HISTORY_FILE = re.compile(r".*/([0-9]+)_([0-9]+)_[0-9]+\.parquet")  # first and last instant, level

_INSTANT_COLUMNS = ["instantTime", "action", "completionTime"]
_METADATA_COLUMNS = ["instantTime", "action", "metadata"]


@dataclass(frozen=True, slots=True)
class ArchivedInstant(Instant):
    """A completed instant that is no longer on the active timeline."""

    path: str = ""  # of the archive file that holds it, relative to the base path


def load_archive(
    storage: Storage, layout: int, folders: Iterable[str], since: str = "", until: str = ""
) -> tuple[ArchivedInstant, ...]:
    """Read the completed instants of the archive, without metadata, by requested time.

    Args:
        storage: of the table.
        layout: of the timeline: 1 has archive logs, 2 the history of Parquet files.
        folders: of the archive, relative to the base path; a table that was upgraded has two.
        since: an instant. Files of the history without instants from here up to ``until`` are not
            read, so the answer has all instants of this range, and maybe more. "" for no bound.
        until: the last instant of that range; "" for no bound.

    Raises:
        CorruptTimelineError: a file of the archive cannot be decoded. One that a merge of archive
            logs left half-written is passed over, since its sources are still there.
    """
    unique: dict[tuple[str, Action], ArchivedInstant] = {}
    for folder in folders:
        if layout >= 2:
            loaded = _load_history_v2(storage, folder, since, until)
        else:
            loaded = _load_archive_v1(storage, folder)
        unique.update({(i.requested_time, i.action): i for i in loaded})
    return tuple(unique[key] for key in sorted(unique))


def load_archived_metadata(
    storage: Storage,
    instants: Sequence[ArchivedInstant],
    metadata_of: Callable[[Mapping[str, Any]], _T],
) -> tuple[_T, ...]:
    """Read the metadata of some instants, in their order, by the decoder of their action.

    Each archive file is read once, however many of its instants are asked for. An empty body, as of
    an instant without content, is decoded as {}.

    Raises:
        CorruptTimelineError: a file cannot be decoded.
    """
    requested_by_path: dict[str, set[tuple[str, str]]] = {}  # path to times and actions
    for i in instants:
        requested_by_path.setdefault(i.path, set()).add((i.requested_time, i.action))

    def read(path: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        keys = requested_by_path[path]
        if path.endswith(".parquet"):
            times = [time for time, _ in keys]
            rows = _read_history_rows(storage, path, _METADATA_COLUMNS, times)
            return {
                (time, action): instant_body.read_body(body or b"", path=path)
                for time, action, body in rows
                if (time, action) in keys
            }
        entries = _completed_entries(storage, path, (*_ENTRY_FIELDS, *_BODY_FIELDS))
        return {
            key: next((entry[field] for field in _BODY_FIELDS if entry.get(field)), {})
            for entry in entries
            if (key := (entry["commitTime"], entry["actionType"])) in keys
        }

    bodies = dict(read_together(read, requested_by_path))
    metadata = []
    for instant in instants:
        body = bodies[instant.path].get((instant.requested_time, instant.action))
        if body is None:
            problem = f"{instant.action} {instant.requested_time} is no longer in this file"
            raise CorruptTimelineError(instant.path, problem)
        with instant_body.undecodable_as_corrupt(instant.path):
            metadata.append(metadata_of(body))
    return tuple(metadata)


def _load_archive_v1(storage: Storage, folder: str) -> Iterator[ArchivedInstant]:
    """Yield the completed entries of all archive files; the same entry may come several times."""
    files = list_nonempty(storage, folder)
    names = sorted(file.name for file in files if _ARCHIVE_FILE.fullmatch(file.name))
    half_merged = _half_merged_file(storage, folder, {file.name for file in files})

    def read(name: str) -> list[_Entry]:
        try:
            return list(_completed_entries(storage, f"{folder}/{name}", _ENTRY_FIELDS))
        except CorruptTimelineError:
            if name == half_merged:
                return []  # its sources are still there: they are deleted after the merge
            raise

    for name, entries in read_together(read, names):
        path = f"{folder}/{name}"
        for entry in entries:
            yield _archived_instant(entry["commitTime"], entry["actionType"], None, path=path)


def _load_history_v2(
    storage: Storage, folder: str, since: str = "", until: str = ""
) -> Iterator[ArchivedInstant]:
    """Yield the instants of files of the current manifest; metadata columns are not read."""
    paths = [
        path
        for path in _history_files(storage, folder)
        if not (span := _HISTORY_FILE.fullmatch(path))
        or (since <= span[2] and (not until or span[1] <= until))
    ]
    read = partial(_read_history_rows, storage, columns=_INSTANT_COLUMNS)
    for path, rows in read_together(read, paths):
        for time, action, completion_time in rows:
            yield _archived_instant(time, action, completion_time, path=path)


def _archived_instant(
    requested_time: object, action: object, completion_time: str | None, *, path: str
) -> ArchivedInstant:
    with instant_body.undecodable_as_corrupt(path):
        if not (isinstance(requested_time, str) and requested_time):
            raise ValueError(f"a {action} without a requested time")
        done = InstantState.COMPLETED
        completed = None if completion_time is None else CompletionTime(completion_time)
        return ArchivedInstant(RequestedTime(requested_time), Action(action), done, completed, path)


def _half_merged_file(storage: Storage, folder: str, names: Iterable[str]) -> str | None:
    """Return the name of the archive file that a writer is merging; None if there is none."""
    if _MERGE_PLAN not in names:
        return None
    path = f"{folder}/{_MERGE_PLAN}"
    try:
        plan = instant_body.read_body(storage.read_bytes(path), path=path)
    except (FileNotFoundError, CorruptTimelineError):
        return None  # merged by now, or not begun: the plan is complete before any merging
    return str(plan.get("mergedArchiveFileName")).rpartition("/")[2]


def _completed_entries(storage: Storage, path: str, fields: Sequence[str]) -> Iterator[_Entry]:
    """Yield some fields of the entries of completed instants in an archive file."""
    try:
        for block in frame_blocks(storage.read_bytes(path), path=path):
            # A torn block is what a crashed archiver leaves. Its instants stay on the active
            # timeline and are archived anew, so that skipping it, as Hudi does, loses nothing.
            if block.block_type is not LogBlockType.AVRO_DATA_BLOCK:
                continue
            with instant_body.undecodable_as_corrupt(path):
                for entry in _records(block.schema_text or "", block.content, fields):
                    # Entries of very old releases do not record their state: only completed
                    # instants were archived.
                    if entry.get("actionState") in (None, InstantState.COMPLETED.name):
                        yield entry
    except CorruptLogBlockError as error:
        raise CorruptTimelineError(path, f"{error.found} at byte {error.offset}") from error


def _records(schema_text: str, content: memoryview, fields: Sequence[str]) -> Iterator[Any]:
    """Yield the Avro records of a data block: two ints, then each record after its length."""
    writer_schema, reader_schema = _schemas(schema_text, tuple(fields))
    _, count = _RECORD_COUNT.unpack_from(content)
    start = _RECORD_COUNT.size
    for _ in range(count):
        (length,) = _RECORD_LENGTH.unpack_from(content, start)
        start += _RECORD_LENGTH.size
        record = io.BytesIO(content[start : start + length])
        yield fastavro.schemaless_reader(record, writer_schema, reader_schema)
        start += length
    if start != len(content):
        raise ValueError(f"expected {count} entries, found {len(content) - start} bytes after them")


@lru_cache(maxsize=8)  # one text per Hudi release, 30 KB of it in every block
def _schemas(text: str, fields: tuple[str, ...]) -> tuple[Any, Any]:
    """Return the schema of the entries as written, and the one that skips all but some fields."""
    written = instant_body.load_schema(text)
    read_fields = [field for field in written["fields"] if field["name"] in fields]
    if not {"commitTime", "actionType"} <= {field["name"] for field in read_fields}:
        raise ValueError("expected the schema of an archived entry, found another")
    return fastavro.parse_schema(written), fastavro.parse_schema({**written, "fields": read_fields})


def _history_files(storage: Storage, folder: str) -> list[str]:
    """Return paths of the Parquet files that the current manifest names; [] without one."""
    try:
        version = int(storage.read_bytes(f"{folder}/{_VERSION_FILE}"))
    except (FileNotFoundError, ValueError):
        # Without it, the current manifest is the one with the largest number.
        matches = (_MANIFEST_FILE.fullmatch(f.name) for f in list_nonempty(storage, folder))
        numbers = [int(match[1]) for match in matches if match]
        if not numbers:
            return []
        version = max(numbers)
    path = f"{folder}/manifest_{version}"
    try:
        manifest = instant_body.read_body(storage.read_bytes(path), path=path)
    except FileNotFoundError as error:
        problem = f"{_VERSION_FILE} names this file, but it is gone"
        raise CorruptTimelineError(path, problem) from error
    with instant_body.undecodable_as_corrupt(path):
        return [
            f"{folder}/{instant_body.get_required(file, 'fileName', str)}"
            for file in instant_body.get_list(manifest, "files", dict)
        ]


def _read_history_rows(
    storage: Storage, path: str, columns: list[str], times: Sequence[str] | None = None
) -> list[tuple[Any, ...]]:
    """Read the values of these columns, one tuple per row, of all instants or of some times."""
    try:
        with storage.open_input(path) as file, instant_body.undecodable_as_corrupt(path):
            # Without Arrow's datasets, which hang on some damaged footers.
            table = read_columns(open_parquet(file), columns)
            if times is not None:
                requested_times = pa.array(times, table["instantTime"].type)
                table = table.filter(pc.is_in(table["instantTime"], value_set=requested_times))
            return list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    except FileNotFoundError as error:
        raise CorruptTimelineError(path, "the manifest names this file, but it is gone") from error
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise CorruptTimelineError(path, str(error)) from error
