"""Bad input, end to end: how a good golden table goes bad, and what must be said about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_pyspark import errors
from tests.damage import data_file, set_property, unpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COW = "v8_cow_schema_evolution"
MOR = "v9_mor_nonpart_commit_time"
MOR_V6 = "v6_mor_nonpart_event_time"
PARTITIONED = "v9_mor_compaction_inline"


@dataclass(frozen=True)
class BadInput:
    """One mistake or damage."""

    name: str
    error: type[errors.HudiError]
    says: tuple[str, ...]  # what was found, where, and what to do
    case: str = COW
    harm: Callable[[Path], Path | None] = lambda _: None  # a path to load instead
    options: dict[str, str] = field(default_factory=dict)
    at_reading: bool = False  # found when a file is read, in Spark on an executor

    def prepare(self, folder: Path) -> Path:
        """The path to load."""
        table = unpack(self.case, folder)
        return self.harm(table) or table


def _folder_without_table(table: Path) -> Path:
    folder = table.with_name("plain")
    folder.mkdir()
    (folder / "part-0.parquet").write_bytes(b"PAR1")
    return folder


def _empty_folder(table: Path) -> Path:
    folder = table.with_name("empty")
    folder.mkdir()
    return folder


def _version(text: str | None) -> Callable[[Path], None]:
    return lambda table: set_property(table, "hoodie.table.version", text)


def _rewrite(pattern: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def harm(table: Path) -> None:
        file = data_file(table, pattern)
        file.write_bytes(change(file.read_bytes()))

    return harm


def _remove(pattern: str) -> Callable[[Path], None]:
    return lambda table: data_file(table, pattern).unlink()


def _overwrite_properties(content: bytes) -> Callable[[Path], None]:
    def harm(table: Path) -> None:
        (table / ".hoodie" / "hoodie.properties").write_bytes(content)

    return harm


def _foreign_payload(table: Path) -> None:
    set_property(table, "hoodie.compaction.payload.class", "com.acme.MyPayload")
    set_property(table, "hoodie.record.merge.mode", "CUSTOM")
    set_property(table, "hoodie.record.merge.strategy.id", None)


def _garble_last_commit(table: Path) -> None:
    commits = [*table.glob(".hoodie/*commit"), *table.glob(".hoodie/timeline/*commit")]
    max(commits).write_bytes(b"no commit metadata")


_BASE = "*.parquet"
_LOG = ".*.log.*"
_NO_INSTANT = ("is not an instant", "Accepted: yyyyMMddHHmmssSSS", "yyyy-MM-dd HH:mm:ss")
_DAMAGED_BASE = (".parquet", "not readable as Parquet", "Restore the file from a copy")
_OTHER_BASE = (".parquet", "but its commit says", "Restore the file from a copy")

BAD_INPUTS = (
    BadInput(
        "not-a-table",
        errors.TableNotFoundError,
        ("/plain has data files but no Hudi timeline", "Read them with spark.read.parquet"),
        harm=_folder_without_table,
    ),
    BadInput(
        "missing-path",
        errors.PathNotFoundError,
        ("/nowhere does not exist or is empty", "Give the base path"),
        harm=lambda table: table.with_name("nowhere"),
    ),
    BadInput(
        "empty-folder",
        errors.PathNotFoundError,
        ("/empty does not exist or is empty", "Give the base path"),
        harm=_empty_folder,
    ),
    BadInput(
        "file-instead-of-folder",
        errors.TableNotFoundError,
        (".parquet is a file", "Give the base path"),
        harm=lambda table: data_file(table, _BASE),
    ),
    BadInput(
        "partition-of-a-table",
        errors.PathInsideTableError,
        ("/amer lies inside the Hudi table", f"/{PARTITIONED}. Load ", "filter on the partition"),
        case=PARTITIONED,
        harm=lambda table: table / "amer",
    ),
    BadInput(
        "timeline-of-a-table",
        errors.PathInsideTableError,
        ("/.hoodie/timeline lies inside the Hudi table", f"/{PARTITIONED}. Load "),
        case=PARTITIONED,
        harm=lambda table: table / ".hoodie" / "timeline",
    ),
    BadInput(
        "unknown-query-type",
        errors.UnknownQueryTypeError,
        ("hoodie.datasource.query.type is 'foo'", "known: snapshot, read_optimized"),
        options={"hoodie.datasource.query.type": "foo"},
    ),
    BadInput(
        "unknown-option",
        errors.InvalidOptionError,
        ("unknown option 'colums'", "did you mean columns?"),
        options={"colums": "id"},
    ),
    BadInput(
        "unknown-column",
        errors.InvalidOptionError,
        ("no column 'nope'", "it has _hoodie_commit_time"),
        options={"columns": "id,nope"},
    ),
    BadInput("no-instant", errors.InvalidInstantError, _NO_INSTANT, options={"as_of": "yesterday"}),
    BadInput("empty-instant", errors.InvalidInstantError, _NO_INSTANT, options={"as_of": ""}),
    BadInput(
        "no-such-day",
        errors.InvalidInstantError,
        ("'2026-02-30' is not an instant", "day is out of range"),
        options={"as_of": "2026-02-30"},
    ),
    BadInput(
        "future-instant",
        errors.FutureInstantError,
        ("'99991231000000000' is in the future", "leave the option out to read the latest"),
        options={"as.of.instant": "99991231000000000"},
    ),
    BadInput(
        "cleaned-instant",
        errors.TimeTravelError,
        ("20261121062254437 is before 20261121062305313", "Ask for that instant or a later one"),
        case="v6_cow_archived",
        options={"as.of.instant": "20261121062254437"},
    ),
    *(
        BadInput(
            f"version-{text}",
            errors.UnsupportedVersionError,
            (f"hoodie.table.version is '{text}'", "reads versions 0 to 10", "need a later release"),
            harm=_version(text),
        )
        for text in ("11", "42")
    ),
    BadInput(
        "version-x",
        errors.UnsupportedVersionError,
        ("hoodie.table.version is 'x', which is not a number", "Restore .hoodie/hoodie"),
        harm=_version("x"),
    ),
    BadInput(
        "no-version",
        errors.CorruptTableError,
        ("hoodie.table.version is missing", "hoodie.table.checksum", "has no .backup. Restore"),
        harm=_version(None),
    ),
    BadInput(
        "empty-properties",
        errors.CorruptTableError,
        ("/.hoodie/hoodie.properties: cannot be read: ", ". It has no .backup. Restore the file"),
        harm=_overwrite_properties(b""),
    ),
    BadInput(
        "garbled-properties",
        errors.CorruptTableError,
        ("/.hoodie/hoodie.properties: cannot be read: ", ". It has no .backup. Restore the file"),
        harm=_overwrite_properties(bytes(range(256))),
    ),
    BadInput(
        "unknown-table-type",
        errors.UnsupportedTableError,
        ("hoodie.table.type is 'MERGE'", "known: COPY_ON_WRITE, MERGE_ON_READ"),
        harm=lambda table: set_property(table, "hoodie.table.type", "MERGE"),
    ),
    BadInput(
        "garbled-commit",
        errors.CorruptTimelineError,
        (".hoodie/timeline/20261121062643034_20261121062643638.deltacommit", "Restore the file"),
        case=MOR,
        harm=_garble_last_commit,
    ),
    BadInput(
        "foreign-payload",
        errors.UnsupportedMergeError,
        ("has log files", "merged by com.acme.MyPayload", "read_optimized"),
        case=MOR_V6,
        harm=_foreign_payload,
    ),
    BadInput(
        "foreign-merger",
        errors.UnsupportedMergeError,
        ("has log files", "merged by com.acme.MyPayload", "read_optimized"),
        case=MOR,
        harm=_foreign_payload,
    ),
    BadInput(
        "missing-base-file",
        errors.MissingFileError,
        (".parquet was committed (20261121063913009) but is not on the storage", "Restore it"),
        harm=_remove(_BASE),
    ),
    BadInput(
        "missing-base-file-below-logs",
        errors.MissingFileError,
        (".parquet was committed (20261121061731630) but is not on the storage", "Restore it"),
        case=MOR_V6,
        harm=_remove(_BASE),
    ),
    BadInput(
        "missing-log-file",
        errors.MissingFileError,
        (".log.1_1-353-653 was committed (20261121062642351) but is not on", "Restore it"),
        case=MOR,
        harm=_remove(_LOG),
    ),
    BadInput(
        "missing-log-file-v6",
        errors.MissingFileError,
        (".log.4_1-306-512 was committed (20261121061732860) but is not on", "Restore it"),
        case=MOR_V6,
        harm=_remove(_LOG),
        at_reading=True,
    ),
    BadInput(
        "base-file-of-0-bytes",
        errors.CorruptTableError,
        (".parquet: a committed base file of 0 bytes", "Restore it from a copy"),
        harm=_rewrite(_BASE, lambda _: b""),
    ),
    BadInput(
        "truncated-base-file",
        errors.CorruptBaseFileError,
        _OTHER_BASE,
        harm=_rewrite(_BASE, lambda content: content[:-100]),
        at_reading=True,
    ),
    BadInput(
        "garbage-base-file",
        errors.CorruptBaseFileError,
        _OTHER_BASE,
        harm=_rewrite(_BASE, lambda content: b"garbage!" * (len(content) // 8)),
        at_reading=True,
    ),
    BadInput(
        "base-file-with-good-footer-only",
        errors.CorruptBaseFileError,
        _DAMAGED_BASE,
        harm=_rewrite(_BASE, lambda content: content[:4] + bytes(2000) + content[2004:]),
        at_reading=True,
    ),
    BadInput(
        "truncated-base-file-below-logs",
        errors.CorruptBaseFileError,
        _OTHER_BASE,
        case=MOR_V6,
        harm=_rewrite(_BASE, lambda content: content[:1000]),
        at_reading=True,
    ),
    BadInput(
        "truncated-log-file",
        errors.CorruptLogBlockError,
        (".log.1_1-353-653 at byte 1104", "but its commit says 1124", "on_damage=warn"),
        case=MOR,
        harm=_rewrite(_LOG, lambda content: content[:-20]),
        at_reading=True,
    ),
    BadInput(
        "truncated-log-file-v6",
        errors.CorruptLogBlockError,
        (".log.4_1-306-512 at byte 1032", "but its commit says 1052", "Restore the file"),
        case=MOR_V6,
        harm=_rewrite(_LOG, lambda content: content[:-20]),
        at_reading=True,
    ),
    BadInput(
        "log-file-of-0-bytes",
        errors.CorruptLogBlockError,
        (".log.1_1-353-653 at byte 0", "has 0 bytes, but its commit says 1124", "on_damage"),
        case=MOR,
        harm=_rewrite(_LOG, lambda _: b""),
        at_reading=True,
    ),
    BadInput(
        "garbage-log-file",
        errors.CorruptLogBlockError,
        (".log.1_1-353-653 at byte 0", "expected magic b'#HUDI#'", "found b'garbag'"),
        case=MOR,
        harm=_rewrite(_LOG, lambda content: b"garbage!" * (len(content) // 8 + 1)),
        at_reading=True,
    ),
    BadInput(
        "garbled-record-in-a-log-file",
        errors.CorruptLogBlockError,
        (".log.1_1-353-653 at byte 0", "instant 20261121062642351", "not valid UTF-8"),
        case=MOR,
        harm=_rewrite(_LOG, lambda content: content[:-60] + b"\xff" * 20 + content[-40:]),
        at_reading=True,
    ),
)
BAD_INPUTS_BY_NAME = {bad.name: bad for bad in BAD_INPUTS}
