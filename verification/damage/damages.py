"""The damages of a table: single bytes and files, lines, and those that only metadata tables have.

`damages_of` is for whole tables. `line_damages_of` has the files that describe a table: the
properties, with and without their backup, the definitions of indexes, ``.aux`` and the commits.
`swap_damages_of` has files with the content of another file of the table. `metadata_damages_of` has
the metadata table: its bytes and files, cuts at each border of a block,
parts of it as they were at an earlier commit, and files, pairs of files and file groups that are
lost after their commits were archived.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations

from hudi_pyspark.format.data_files import parse_data_file_name
from tests.archiver import archived, commit_times, instant_of
from tests.memory_storage import MemoryStorage
from verification.common.archives import files_of
from verification.common.runs import Outcome
from verification.damage.tables import (
    BARE,
    ENDED,
    OTHER,
    SAME,
    WatchedStorage,
    begins_of,
    failing_storage,
    filters_of,
    read,
    verdict_of_rows,
)

METADATA = ".hoodie/metadata/"
_BACKED = "backed-"  # begins kinds of damage of a file that has a whole copy
_WITHOUT_COMMITS = ("archive", "lose")  # kinds of damage after which no row may be lost
# Files that describe a table; most are text, of one line or of several.
_DESCRIBING = re.compile(
    r"(^|/)\.hoodie/(hoodie\.properties|\.index_defs/.*|\.aux/.*|(timeline/)?[0-9]{14,}[^/]*)$"
)
_TIME = re.compile(r"[0-9]{14,17}")
# Files of a timeline that nothing tells from another one of the same kind.
_LIKE_THEIR_KIND = (".replacecommit", ".compaction.requested")
_PIECE = 64  # bytes of what counts as a line in a file without lines
# Where blocks of log files and of HFiles begin, and the trailer of the latter.
_BORDER = re.compile(rb"#HUDI#|DATABLK\*|METABLKc|IDXROOT2|IDXLEAF2|BLMFBLK2|FILEINF2|TRABLK\"\$")
_GROUP = re.compile(r"^(.*/)\.?([a-z][^/]*-[0-9]{4}(?:-0)?)_")  # folder and file group


@dataclass(frozen=True, slots=True)
class Damage:
    """One damage of one table."""

    # flip, cut, remove, empty, swap or fail; of a metadata table also older, back, archive or lose;
    # of properties with a backup also backed-cut and backed-flip
    kind: str
    path: str  # of the file, folder or file group; "" for a storage call that fails
    place: int  # the byte, the length, or the ordinal of the call or of the commit
    second: str = ""  # path of another file: that is lost, or whose content takes the place

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
                return self._without_lost(files)
            case "fail":
                return failing_storage(files, self.place)
            case "older" | "swap":
                content = files[self.second]
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


def outcome_of(case: str, damage: Damage) -> Outcome:
    """Read a damaged table; a finding is a bare error, or a row that an archived commit wrote."""
    begins = begins_of(case) if damage.kind == "swap" else ()
    verdict, detail = verdict_of_rows(case, damage.of(files_of(case)), begins=begins)
    if verdict == OTHER:
        detail = _what(damage)
    is_about_files = damage.kind in _WITHOUT_COMMITS or _is_swap_of_metadata(damage)
    loses_rows = verdict == OTHER and is_about_files
    text = "" if verdict == SAME else f"{case}, {damage}"
    return Outcome(damage.kind, verdict, detail, text, is_finding=verdict == BARE or loses_rows)


def ended(case: str, damage: Damage) -> Outcome:
    """Return the outcome of a damage with which the process ended that read the table."""
    return Outcome(damage.kind, ENDED, _what(damage), f"{case}, {damage}", is_finding=True)


def _is_swap_of_metadata(damage: Damage) -> bool:
    """Decide whether a file that says what the table is has the content of another file."""
    both = (damage.path, damage.second)
    is_known = any(all(path.endswith(kind) for path in both) for kind in _LIKE_THEIR_KIND)
    return damage.kind == "swap" and damage.path.startswith(".hoodie/") and not is_known


def _what(damage: Damage) -> str:
    if damage.kind == "swap":
        return f"{_kind_of_file(damage.path)} is {_kind_of_file(damage.second)}"
    return f"{damage.kind} {_kind_of_file(damage.path)}"


def _kind_of_file(path: str) -> str:
    name = path.rpartition("/")[2]
    _, is_metadata, inside = path.partition(METADATA)
    if is_metadata:
        return f"file of the metadata table's {inside.partition('/')[0]}"
    if ".log." in name:
        return "log file"
    return name if name == "hoodie.properties" else name.rpartition(".")[2]


def damages_of(case: str, step: int) -> Iterator[Damage]:
    """Yield the damages of a table: of every ``step``-th byte and length, and all the others."""
    files = files_of(case)
    for number, (path, content) in enumerate(sorted(files.items())):
        yield Damage("remove", path, 0)
        if content:
            yield Damage("empty", path, 0)
        places = places_of(number, content, step)
        yield from (Damage("flip", path, place) for place in places)
        yield from (
            Damage("cut", path, length)
            for length in range(places.start or step, len(content), step)
        )
    calls: list[str] = []
    read(WatchedStorage(files, calls.append), filters_of(case))
    yield from (Damage("fail", "", call) for call in range(1, len(calls) + 1))


def places_of(number: int, content: bytes, step: int) -> range:
    """Return every ``step``-th place in a file.

    The remainder depends on the number of the file in its table, so that not always the same bytes
    of a format are hit.
    """
    return range(number * 7 % step, len(content), step)


def line_damages_of(case: str, _step: int) -> Iterator[Damage]:
    """Yield cuts and flips at every line of the files that describe a table."""
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


def swap_damages_of(case: str, step: int) -> Iterator[Damage]:
    """Yield files that have the content of another file: of files that are alike, and some others.

    A file of a timeline gets one of each action and state, and the commit before or after it. A
    file of the metadata table gets one of each partition, of the same commit if there is one. A
    data file gets each other one. Of all pairs, every ``step``-th follows.
    """
    files = {path: content for path, content in files_of(case).items() if content}
    paths = sorted(files)
    alike = [(path, other) for path in paths for other in _alike(path, paths)]
    for path, other in dict.fromkeys([*alike, *list(permutations(paths, 2))[::step]]):
        if files[path] != files[other]:
            yield Damage("swap", path, 0, other)


def _alike(path: str, paths: Iterable[str]) -> Collection[str]:
    """Return files that could stand in the place of a file without being noticed at once."""
    family, _ = _family_of(path)
    found: dict[str, str] = {}  # by kind
    for other in paths:
        other_family, kind = _family_of(other)
        if other == path or other_family != family or not family:
            continue
        if kind not in found or _time_of(other) == _time_of(path):
            found[kind] = other
    return found.values()


def _family_of(path: str) -> tuple[str, str]:
    """Return what a file is, and its kind in this family; "" if it is like no other file."""
    folder, _, name = path.rpartition("/")
    if name == "hoodie.properties":
        return name, folder
    if parse_data_file_name(name) is not None:
        is_of_metadata = path.startswith(METADATA)
        return ("metadata", folder) if is_of_metadata else ("data", path)
    if _DESCRIBING.search(path) and name[0].isdigit():
        return "timeline", folder + name.partition(".")[2]
    return "", ""


def _time_of(path: str) -> str:
    found = _TIME.search(path.rpartition("/")[2])
    return found[0] if found else ""


def metadata_damages_of(case: str, step: int) -> Iterator[Damage]:
    """Yield the damages of a metadata table: like `damages_of`, and those that only it has."""
    files = files_of(case)
    inside = {path: content for path, content in files.items() if path.startswith(METADATA)}
    yield from (damage for damage in damages_of(case, step) if damage.path in inside)
    for path, content in sorted(inside.items()):
        borders = {match.start() for match in _BORDER.finditer(content)} - {0}
        yield from (Damage("cut", path, border) for border in sorted(borders))
    earlier = _earlier_files(files)
    yield from (Damage("older", path, 0, earlier[path]) for path in earlier)
    folders = {"/".join(path.split("/")[:3]) + "/" for path in inside if path.count("/") > 2}
    commits = commit_times(files, METADATA)
    for folder in (METADATA, *sorted(folders)):
        yield from (Damage("back", folder, number) for number in range(len(commits) - 1))
    lost = {path for path in inside if _group_of(path)} | {_group_of(path) for path in inside}
    lost_files = [(path, "") for path in sorted(lost - {""})] + sorted(_pairs(inside))
    for kind in _WITHOUT_COMMITS:
        yield from (
            Damage(kind, first, kept, second) for first, second in lost_files for kept in (1, 2)
        )


def _pairs(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each base file of the metadata table with each other file of its group."""
    for first, second in permutations(sorted(paths), 2):
        is_base = ".log." not in first and _group_of(first) == _group_of(second) != ""
        if is_base and (".log." in second or first < second):
            yield first, second


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
