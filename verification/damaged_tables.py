"""Damages small golden tables in every way, reads each, and counts what comes of it.

``python -m verification.damaged_tables --step 50`` damages every fiftieth byte and length; 1: all.
``--metadata`` damages the metadata table alone: cut at each border of a block too, parts of it as
they were at an earlier commit, files, pairs and file groups lost whose commits are archived.
``--lines`` cuts and flips the files that describe a table at every line: the properties, with and
without their backup, the definitions of indexes, ``.aux`` and the commits.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, count, pairwise, permutations
from multiprocessing import get_context
from typing import IO

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.records import FILES
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.scan import choose_scan
from hudi_pyspark.storage import FileInfo
from hudi_pyspark.table.view import open_table
from tests.archiver import archived, commit_times, instant_of
from tests.memory_storage import MemoryStorage
from verification.common.archives import golden_folder, read_files
from verification.common.data import load_data

_DATA = load_data(__file__, "damaged_tables.toml")
TABLES = _DATA["tables"]
METADATA_TABLES = _DATA["metadata_tables"]
_KINDS = ("flip", "cut", "empty", "remove", "fail", "older", "back", "archive", "lose")
SAME, NAMED, STORAGE, OTHER, BARE, ENDED = OUTCOMES = (
    "the same rows", "a named error", "the storage's error", "other rows", "a bare error",
    "the process ended",
)  # fmt: skip
_BACKED = "backed-"  # begins kinds of damage of a file that has a whole copy
# Files that describe a table; most are text, of one line or of several.
_DESCRIBING = re.compile(
    r"(^|/)\.hoodie/(hoodie\.properties|\.index_defs/.*|\.aux/.*|(timeline/)?[0-9]{14,}[^/]*)$"
)
_PIECE = 64  # bytes of what counts as a line in a file without lines
_AT_ONCE = 2000  # damages that a child process reads
METADATA = ".hoodie/metadata/"
# Where blocks of log files and of HFiles begin, and the trailer of the latter.
_BORDER = re.compile(rb"#HUDI#|DATABLK\*|METABLKc|IDXROOT2|IDXLEAF2|BLMFBLK2|FILEINF2|TRABLK\"\$")
_GROUP = re.compile(r"^(.*/)\.?([a-z][^/]*-[0-9]{4}(?:-0)?)_")  # folder and file group


@dataclass(frozen=True)
class Damage:
    """One damage of one table."""

    # flip, cut, remove, empty or fail; of a metadata table also older, back, archive or lose; of
    # properties with a backup also backed-cut and backed-flip
    kind: str
    path: str  # of the file, folder or file group; "" for a storage call that fails
    place: int  # the byte, the length, or the ordinal of the call or of the commit
    second: str = ""  # path of another file that is lost

    def of(self, files: dict[str, bytes]) -> MemoryStorage:
        """Return the damaged table."""
        content = files.get(self.path, b"")
        kind = self.kind.removeprefix(_BACKED)
        if kind != self.kind:
            files = {**files, f"{self.path}.backup": content}
        match kind:
            case "flip":
                flipped = content[self.place] ^ (0xFF, 0x01, 0x80, 0x10)[self.place % 4]
                content = content[: self.place] + bytes([flipped]) + content[self.place + 1 :]
            case "cut" | "empty":
                content = content[: self.place]
            case "remove":
                return MemoryStorage({p: c for p, c in files.items() if p != self.path})
            case "fail":
                return FailingStorage(files, self.place, count(1))
            case "older":
                content = files[_earlier_files(files)[self.path]]
            case "back":
                return MemoryStorage(_at_commit(files, self.path, self.place))
            case "archive":
                return self._without_lost(archived(files, self.place, METADATA))
            case "lose":
                return self._without_lost(_without_commits(files, self.place))
        return MemoryStorage({**files, self.path: content})

    def _without_lost(self, files: Mapping[str, bytes]) -> MemoryStorage:
        lost = {self.path, self.second}
        kept = {p: c for p, c in files.items() if lost.isdisjoint((p, _group_of(p) or p))}
        return MemoryStorage(kept)


def _group_of(path: str) -> str:
    """Folder and file group of a file of the metadata table; "" for other files."""
    match = _GROUP.search(path) if path.startswith(METADATA) else None
    return f"{match[1]}{match[2]}" if match else ""


def _without_commits(files: dict[str, bytes], kept: int) -> dict[str, bytes]:
    """Remove all but the newest commits of the metadata table: even its archive lacks them."""
    newest = commit_times(files, METADATA)[-kept:]
    instants = {path: instant_of(path, METADATA) for path in files}
    return {p: c for p, c in files.items() if not (found := instants[p]) or found[1] in newest}


def _at_commit(files: dict[str, bytes], folder: str, commit: int) -> dict[str, bytes]:
    """Put a folder of the metadata table back to what it was after one of its commits.

    A file is as old as the first commit that names it, or as the file group.
    """
    commits = commit_times(files, METADATA)
    bodies = {
        found[1]: content
        for path, content in files.items()
        if (found := instant_of(path, METADATA)) and not path.endswith((".requested", ".inflight"))
    }

    def written(path: str) -> str:
        if found := instant_of(path, METADATA):
            return found[1]
        name = path.rpartition("/")[2].encode()
        return next((time for time in commits if name in bodies[time]), "")

    return {
        path: content
        for path, content in files.items()
        if not path.startswith(folder) or written(path) <= commits[commit]
    }


def _earlier_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """Map files of the metadata table to the one before in their group, of the same kind."""
    found: dict[str, str] = {}
    last: dict[tuple[str, bool], str] = {}
    for path in sorted(files):
        if group := _group_of(path):
            kind = (group, ".log." in path)
            if kind in last:
                found[path] = last[kind]
            last[kind] = path
    return found


class StorageGone(ConnectionResetError):
    """The error of a storage's library, which the storages of the package name."""


class FailingStorage(MemoryStorage):
    """A storage of which one call fails, as on a network that is gone for a moment."""

    def __init__(self, files: dict[str, bytes], failing: int, calls: Iterator[int]) -> None:
        super().__init__(files)
        self.failing, self.calls = failing, calls

    def list_directory(self, directory: str) -> list[FileInfo]:
        self._count(directory)
        return super().list_directory(directory)

    def read_bytes(self, path: str) -> bytes:
        self._count(path)
        return super().read_bytes(path)

    def open_input(self, path: str) -> IO[bytes]:
        self._count(path)
        return io.BytesIO(self.files[path]) if path in self.files else super().open_input(path)

    def at(self, location: str, *, is_given: bool = False) -> FailingStorage:
        files = super().at(location, is_given=is_given).files
        return FailingStorage(files, self.failing, self.calls)

    def _count(self, path: str) -> None:
        if next(self.calls) == self.failing:
            raise StorageGone(path)


@dataclass
class Outcomes:
    """What came of the damages of some tables."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)  # kind of damage, outcome
    details: Counter[tuple[str, str]] = field(default_factory=Counter)  # outcome, what exactly
    firsts: dict[tuple[str, str], tuple[str, Damage]] = field(default_factory=dict)  # of the same

    def add(self, case: str, damage: Damage, outcome: str, detail: str) -> None:
        self.counts[damage.kind, outcome] += 1
        if outcome != SAME:
            self.details[outcome, detail] += 1
            self.firsts.setdefault((outcome, detail), (case, damage))

    def report(self) -> str:
        """A table of outcomes, and what the errors and the other rows were."""
        lines = ["| Damage | " + " | ".join(OUTCOMES) + " |", "|---" * (len(OUTCOMES) + 1) + "|"]
        for kind in dict.fromkeys((*_KINDS, *(kind for kind, _ in self.counts))):
            cells = [f"{self.counts[kind, head]:,}" for head in OUTCOMES]
            lines.append(f"| {kind} | " + " | ".join(cells) + " |")
        lines.append(f"\n{sum(self.counts.values()):,} damages")
        lines += [f"{n:8,} {head}: {what}" for (head, what), n in self.details.most_common()]
        lines += [
            f"first of {head}, {what}: {case}, {damage}"
            for (head, what), (case, damage) in self.firsts.items()
            if head in (BARE, ENDED)
        ]
        return "\n".join(lines)


@cache
def files_of(case: str) -> dict[str, bytes]:
    """The files of a golden table by their paths, without those that only Hadoop's tools read."""
    files = read_files(golden_folder(case) / "table.zip")
    return {name.partition("/")[2]: content for name, content in files.items()}


def damages_of(case: str, step: int) -> Iterator[Damage]:
    """Yield the damages of a table: of every ``step``-th byte and length, and all the others."""
    files = files_of(case)
    for number, (path, content) in enumerate(sorted(files.items())):
        yield Damage("remove", path, 0)
        if content:
            yield Damage("empty", path, 0)
        # Another remainder in each file, so that not always the same bytes of a format are hit.
        first = number * 7 % step
        yield from (Damage("flip", path, place) for place in range(first, len(content), step))
        yield from (
            Damage("cut", path, length) for length in range(first or step, len(content), step)
        )
    calls = count(1)
    read(FailingStorage(files, 0, calls), filters_of(case))
    yield from (Damage("fail", "", call) for call in range(1, next(calls)))


def line_damages_of(case: str, step: int) -> Iterator[Damage]:
    """Yield cuts and flips at every line of the files that describe a table.

    Args:
        case: name of the golden table.
        step: not used; each line is damaged.
    """
    del step
    for path, content in sorted(files_of(case).items()):
        if not _DESCRIBING.search(path) or not content:
            continue
        ends = [match.end() for match in re.finditer(rb"\n", content)]
        if len(ends) < 2:
            ends = list(range(_PIECE, len(content), _PIECE))
        kinds = ("", _BACKED) if path.endswith("hoodie.properties") else ("",)
        for begin, end in pairwise([0, *ends]):
            for kind in kinds:
                yield Damage(f"{kind}cut", path, begin)
                yield Damage(f"{kind}cut", path, (begin + end) // 2)
                yield Damage(f"{kind}flip", path, (begin + end) // 2)


def metadata_damages_of(case: str, step: int) -> Iterator[Damage]:
    """Yield the damages of a metadata table: like `damages_of`, and those that only it has."""
    files = files_of(case)
    inside = {path: content for path, content in files.items() if path.startswith(METADATA)}
    for damage in damages_of(case, step):
        if damage.path in inside:
            yield damage
    for path, content in sorted(inside.items()):
        borders = {match.start() for match in _BORDER.finditer(content)} - {0}
        yield from (Damage("cut", path, border) for border in sorted(borders))
    yield from (Damage("older", path, 0) for path in _earlier_files(files))
    folders = {"/".join(path.split("/")[:3]) + "/" for path in inside if path.count("/") > 2}
    for folder in (METADATA, *sorted(folders)):
        yield from (
            Damage("back", folder, number)
            for number in range(len(commit_times(files, METADATA)) - 1)
        )
    lost = {path for path in inside if _group_of(path)} | {_group_of(path) for path in inside}
    lost_files = [(path, "") for path in sorted(lost - {""})] + sorted(_pairs(inside))
    for kind in ("archive", "lose"):
        yield from (
            Damage(kind, first, kept, second) for first, second in lost_files for kept in (1, 2)
        )


def _pairs(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each base file of the metadata table with each other file of its group."""
    for first, second in permutations(sorted(paths), 2):
        is_base = ".log." not in first and _group_of(first) == _group_of(second) != ""
        if is_base and (".log." in second or first < second):
            yield first, second


def read(storage: MemoryStorage, filters: Sequence[str] = ("",)) -> pa.Table:
    """The rows of snapshot queries, by the metadata table if there is one; in no special order."""
    view, metadata = open_table(storage), None
    if FILES in view.config.metadata_partitions:
        listing = MetadataListing(view)
        view, metadata = view.with_listing(listing), listing.indexed_by
    tables = []
    for text in filters:
        # Keys are unique in all tables with a record index, which is asked then.
        options = ReadOptions.parse({"filter": text, "unique_keys": "true"} if text else {})
        scan = choose_scan(view, options, {}, metadata=metadata)  # without it, no index is asked
        tables.append(pa.Table.from_batches(scan.to_batches(threads=1), scan.schema))
    return pa.concat_tables(tables)


@cache
def filters_of(case: str) -> tuple[str, ...]:
    """Filters of the queries: those by which indexes of the metadata table are asked, too."""
    files = MemoryStorage(files_of(case))
    indexes = set(open_table(files).config.metadata_partitions) - {FILES}
    if not indexes:
        return ("",)
    keys = sorted(read(files).column("_hoodie_record_key").to_pylist())
    several = ", ".join(f"'{key}'" for key in (keys[0], *keys[1::2]))
    alone = (f"_hoodie_record_key = '{key}'" for key in (keys[0], "nobody", keys[-1]))
    return ("", *alone, f"_hoodie_record_key IN ({several})")


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def outcome_of(case: str, damage: Damage) -> tuple[str, str]:
    """Read a damaged table; returns the outcome, and more about it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a lost commit is told and no error
            table = read(damage.of(files_of(case)), filters_of(case))
    except HudiError as error:
        return NAMED, type(error).__name__
    except StorageGone:
        return STORAGE, "as it is"
    except Exception as error:  # noqa: BLE001  (the outcome that there should not be)
        return BARE, f"{type(error).__name__}: {error!s:.100}"
    try:
        is_same = sorted_rows(table) == _good_rows(case)
    except (OverflowError, ValueError):  # a date that Python cannot express
        is_same = False
    return (SAME, "") if is_same else (OTHER, f"{damage.kind} {_kind_of_file(damage.path)}")


def _kind_of_file(path: str) -> str:
    name = path.rpartition("/")[2]
    _, is_metadata, inside = path.partition(".hoodie/metadata/")
    if is_metadata:
        return f"file of the metadata table's {inside.partition('/')[0]}"
    if ".log." in name:
        return "log file"
    return name if name == "hoodie.properties" else name.rpartition(".")[2]


@cache
def _good_rows(case: str) -> list[str]:
    return sorted_rows(read(MemoryStorage(files_of(case)), filters_of(case)))


def _outcomes_of(case: str, damages: Sequence[Damage]) -> list[tuple[str, str]]:
    return [outcome_of(case, damage) for damage in damages]


def run(
    cases: Sequence[str],
    step: int,
    damages_of: Callable[[str, int], Iterator[Damage]] = damages_of,
) -> Outcomes:
    """Damage tables, and read them in child processes, which may end: one for each processor."""
    outcomes = Outcomes()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for case in cases:
            damages = list(damages_of(case, step))
            batches = [damages[i : i + _AT_ONCE] for i in range(0, len(damages), _AT_ONCE)]
            found = chain.from_iterable(threads.map(partial(_in_child, case), batches))
            for damage, (outcome, detail) in zip(damages, found, strict=True):
                outcomes.add(case, damage, outcome, detail)
            print(f"{time.strftime('%X')} {case}: {len(damages):,} damages", flush=True)
    return outcomes


def _in_child(case: str, damages: Sequence[Damage]) -> list[tuple[str, str]]:
    with ProcessPoolExecutor(1, get_context("spawn")) as child:
        try:
            return child.submit(_outcomes_of, case, damages).result()
        except BrokenProcessPool:
            if len(damages) == 1:
                return [(ENDED, f"{damages[0].kind} {_kind_of_file(damages[0].path)}")]
    middle = len(damages) // 2
    return _in_child(case, damages[:middle]) + _in_child(case, damages[middle:])


def main() -> int:
    """Print the outcomes; the status is 1 if one of them may not be.

    These are bare errors, a process that ended, and other rows of a metadata table that lost files.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=50, help="bytes from one damage to the next")
    parser.add_argument("--metadata", action="store_true", help="only the metadata tables")
    parser.add_argument("--lines", action="store_true", help="files that describe the tables")
    parser.add_argument("tables", nargs="*", help="names of golden tables")
    arguments = parser.parse_args()
    is_metadata = arguments.metadata
    tables = arguments.tables or (METADATA_TABLES if is_metadata else TABLES)
    choose = metadata_damages_of if is_metadata else damages_of
    outcomes = run(tables, arguments.step, line_damages_of if arguments.lines else choose)
    sys.stdout.write(f"{outcomes.report()}\n")
    loses_rows = any((kind, OTHER) in outcomes.counts for kind in ("archive", "lose"))
    return int(loses_rows or any(outcome in (BARE, ENDED) for _, outcome in outcomes.counts))


if __name__ == "__main__":
    sys.exit(main())
