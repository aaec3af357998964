"""A golden table put back to an earlier instant, whose later files can be added again."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import differences

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_INSTANT = re.compile(r"\d{17}")
_COMPLETED = re.compile(r"(\d{17})(?:_(\d{17}))?\.(?:commit|deltacommit|replacecommit)")


@dataclass(frozen=True)
class GrowingTable:
    """The table as it was at an instant; `grow` brings the files of the later commits."""

    path: Path
    later_files: Mapping[Path, bytes]
    written_at: Mapping[Path, str]
    _grown: set[Path] = field(default_factory=set)

    def grow(self, until: str = "") -> None:
        """Bring the files of later commits, each once, up to an instant or all of them."""
        wanted = [p for p in self.later_files if not until or self.written_at[p] <= until]
        # Data files first and instants last, as writers do; what is completed the very last.
        for path in sorted(set(wanted) - self._grown, key=_order):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.later_files[path])
            self._grown.add(path)

    def remove(self, name_part: str) -> int:
        """Delete files with these letters in their name, as the cleaner or the archiver does."""
        found = [p for p in self.path.rglob("*") if p.is_file() and name_part in p.name]
        for path in found:
            path.unlink()
        return len(found)


def table_at(case: str, instant: str, folder: Path) -> GrowingTable:
    """Unpack a golden table as its writer had left it at the end of the commit of that instant."""
    with zipfile.ZipFile(_folder(case) / "table.zip") as archive:
        names = [n for n in archive.namelist() if not n.endswith("/")]
        # Not read here; it grows with the table.
        names = [n for n in names if "/.hoodie/metadata/" not in n]
        files = {n.removeprefix(f"{case}/"): archive.read(n) for n in names}
    writers = _writers(files)
    written_at = {name: _written_at(name, writers) for name in files}
    later = {name for name in files if written_at[name] > instant}
    table = folder / case
    for name in files.keys() - later:
        (table / name).parent.mkdir(parents=True, exist_ok=True)
        (table / name).write_bytes(files[name])
    return GrowingTable(
        table,
        {table / name: files[name] for name in later},
        {table / name: written_at[name] for name in later},
    )


def commits_of(case: str) -> dict[str, str]:
    """Requested time of each commit to the time that identifies it in a stream, in that order.

    Out of the list of file names that was recorded with the case.
    """
    timeline = load_case(_folder(case)).facts["timeline"]
    matches = [m for name in timeline if (m := _COMPLETED.fullmatch(name))]
    times = {match[1]: match[2] or match[1] for match in matches}
    return dict(sorted(times.items(), key=lambda item: item[1]))


def _folder(case: str) -> Path:
    return (GOLDEN.with_name("golden_extra") if case.startswith("x_") else GOLDEN) / case


def _order(path: Path) -> tuple[bool, bool, str]:
    is_pending = path.suffix in (".requested", ".inflight")
    return ".hoodie" in path.parts, not is_pending, path.name


def _written_at(name: str, writers: Mapping[str, str]) -> str:
    """Requested time of the commit that wrote a file; "" for one that is always there."""
    file_name = name.rpartition("/")[2]
    if name in writers:
        return writers[name]
    if name.startswith(".hoodie/"):
        instant = _INSTANT.match(file_name)
        return instant[0] if instant else ""
    instants = _INSTANT.findall(file_name)
    return instants[-1] if instants else ""


def _writers(files: Mapping[str, bytes]) -> dict[str, str]:
    """Path to the instant that wrote it, by the JSON commits of timeline layout 1.

    There the name of a log file has the instant of its slice, not of the commit; from layout 2
    on, whose commits are Avro, it has that of the commit.
    """
    commits = re.compile(r"\.hoodie/(\d{17})\.(commit|deltacommit|replacecommit)")
    writers: dict[str, str] = {}
    for name in sorted(files):
        instant = commits.fullmatch(name)
        if instant:
            metadata: dict[str, Any] = json.loads(files[name])
            for stats in metadata["partitionToWriteStats"].values():
                writers.update({stat["path"]: instant[1] for stat in stats})
    return writers


# Its later commits bring log files, new file groups, a compaction's output and logs on top of it.
BEFORE_COMPACTION = ("v9_mor_compaction_inline", "20261121062700103", "as_of_c2_formatted")


def differs_from(answer: pa.Table, case: str, query: str) -> list[str]:
    """Differences from Apache Hudi's answer to a golden query."""
    expected = next(q for q in load_case(GOLDEN / case).queries if q.name == query)
    return differences(answer, expected.expected_rows(), expected.expected_schema())
