"""Golden tables whose timeline, or one of whose partitions, was lost in part.

Whatever is lost, the rows are those that Apache Hudi read from the whole table, or an error, or a
warning tells it; where nothing proves the loss, as for the last commit, at least the doctor does
not call the files of the commit superfluous.
"""

from __future__ import annotations

import re
import shutil
import warnings
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from hudi_pyspark import CorruptTimelineError, HudiError, HudiTable
from tests.conftest import GOLDEN
from tests.golden.case import load_cases
from tests.sampling import SAMPLED, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from hudi_pyspark.doctor.finding import Finding

CASES = {case.name: case for case in load_cases(GOLDEN) if case.name[0] in "vf"}
COMMIT = re.compile(r"(\d+)(_\d+)?\.(commit|deltacommit|replacecommit)")
COLUMNS = ["_hoodie_record_key", "_hoodie_commit_time"]
LOST = "rows are missing"
ORDERS = GOLDEN.parents[1] / "examples" / "data" / "orders.zip"


@dataclass(frozen=True)
class Damage:
    """Files that are gone, or a folder that has another name."""

    kind: (
        str  # what is lost: the end of a commit, all of it, the timeline, the place of a partition
    )
    time: str  # of the commit; "" for none
    paths: tuple[str, ...]  # relative to the base path
    has_files: bool = True  # the commit names some

    def inflict(self, table: Path) -> None:
        for path in self.paths:
            if self.kind == "partition":
                (table / path).rename((table / path).with_name("renamed"))
            else:
                (table / path).unlink()


def timeline(table: Path) -> Path:
    folder = table / ".hoodie" / "timeline"
    return folder if folder.is_dir() else folder.parent


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def damages(table: Path) -> Iterator[Damage]:
    folder = timeline(table)
    instants = [name for name in names_in(folder) if re.match(r"\d{14,17}[_.]", name)]
    place = folder.relative_to(table)
    for name in instants:
        if found := COMMIT.fullmatch(name):
            of_commit = [n for n in instants if n.startswith(found[1]) and ".savepoint" not in n]
            has_files = bool(re.search(rb"\.(parquet|orc|log)", (folder / name).read_bytes()))
            yield Damage("end", found[1], (f"{place}/{name}",))
            paths = tuple(f"{place}/{n}" for n in of_commit)
            yield Damage("commit", found[1], paths, has_files)
    yield Damage("timeline", "", tuple(f"{place}/{name}" for name in instants))
    for marker in sorted(table.rglob(".hoodie_partition_metadata*")):
        if marker.parent != table and ".hoodie" not in marker.parent.relative_to(table).parts:
            yield Damage("partition", "", (str(marker.parent.relative_to(table)),))


def is_proved(table: Path, damage: Damage) -> bool:
    """Decide whether the metadata table proves a commit, by the names of its instants alone."""
    own = table / ".hoodie" / "metadata" / ".hoodie"
    recorded = names_in(own / "timeline" if (own / "timeline").is_dir() else own)
    is_recorded = any(re.match(rf"{damage.time}(_\d+)?\.deltacommit$", name) for name in recorded)
    if damage.kind == "end":
        return is_recorded  # the tables are older than a day
    left = names_in(timeline(table))
    first = min((found[1] for name in left if (found := COMMIT.fullmatch(name))), default="")
    # What was undone does not count. Before layout 2 files do not name their commits, older commits
    # may be archived, and what the metadata table compacted does not say who added a file.
    is_undone = any(word in name for name in left for word in ("clean", "rollback", "restore"))
    is_compacted = any(name.endswith(".commit") and name > damage.time for name in recorded)
    is_known = damage.time > first and not is_compacted
    is_known |= timeline(table).name == "timeline"
    return is_recorded and damage.has_files and is_known and not is_undone


def read(table: Path, **options: Any) -> tuple[list[tuple[str, ...]] | None, list[str]]:
    """Read keys and commits of the rows, None after an error, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = versions(HudiTable(table).scan(COLUMNS, **options).to_arrow().to_pylist())
        except HudiError:
            rows = None
    return rows, [str(warning.message) for warning in caught if LOST in str(warning.message)]


def versions(rows: Iterable[dict[str, str]]) -> list[tuple[str, ...]]:
    return sorted(tuple(row[name] for name in COLUMNS) for row in rows)


def worrying(findings: Iterable[Finding]) -> list[Finding]:
    return [f for f in findings if f.severity.value in {"warning", "problem"}]


def check(table: Path, damage: Damage, whole: list[tuple[str, ...]]) -> str:
    """Check the rows, the warning and the findings; return how the damage showed."""
    proved = is_proved(table, damage)
    rows, lost = read(table)
    refused = read(table, on_missing="fail")[0] is None
    findings = worrying(HudiTable(table).doctor())
    if rows is None or lost:
        assert refused
        assert any(f.severity.value == "problem" for f in findings)
    else:
        assert not refused
        assert rows == whole or not proved, "a loss that is proved must be told"
    if rows == whole and not lost:
        return "none"
    about = [f for f in findings if damage.time in f.subject or damage.time in f.message]
    leaves_no_trace = damage.kind == "commit" and not any(
        damage.time in path.name for path in table.rglob("*") if ".hoodie" not in path.parts
    )
    assert about or (leaves_no_trace and not proved), "doctor finds nothing"
    for finding in about:
        assert "Nothing needs to be done" not in finding.advice
        assert "start" not in finding.advice.split()
    return "error" if rows is None else "warning" if lost else "silence"


@SAMPLED
@pytest.mark.parametrize("name", CASES)
def test_lost_commits_are_told(name, is_whole, golden_table, tmp_path):
    case = CASES[name]
    snapshot = next((q for q in case.queries if q.name == "snapshot" and q.answer), None)
    if snapshot is None or COLUMNS[0] not in snapshot.expected_rows().column_names:
        pytest.skip("Apache Hudi did not read its keys")
    whole = versions(snapshot.expected_rows().select(COLUMNS).to_pylist())
    asked = list(damages(golden_table(name)))
    for number, damage in enumerate(asked if is_whole else sample(asked, name, len(asked))):
        table = tmp_path / str(number)
        shutil.copytree(golden_table(name), table)
        damage.inflict(table)
        check(table, damage, whole)


@pytest.mark.parametrize("kind", ["end", "commit", "timeline", "partition"])
def test_each_kind_of_loss_is_told(kind, golden_table, tmp_path):
    case = CASES["v6_mor_part_basic"]
    rows = next(q for q in case.queries if q.name == "snapshot").expected_rows()
    whole = versions(rows.select(COLUMNS).to_pylist())
    table = tmp_path / "table"
    shutil.copytree(golden_table(case.name), table)
    damage = [damage for damage in damages(table) if damage.kind == kind][:3][-1]
    damage.inflict(table)
    expected = "error" if kind in {"timeline", "partition"} else "warning"
    assert check(table, damage, whole) == expected


def test_refusal_says_what_to_do(golden_table, tmp_path):
    table = tmp_path / "table"
    shutil.copytree(golden_table("v6_mor_part_basic"), table)
    damage = [damage for damage in damages(table) if damage.kind == "end"][2]
    damage.inflict(table)
    with pytest.raises(CorruptTimelineError) as refusal:
        HudiTable(table).scan(on_missing="fail").to_arrow()
    assert f"it has no completed commit {damage.time}" in str(refusal.value)
    assert "Keep writers and cleaners from the table" in str(refusal.value)
    HudiTable(table).scan(
        as_of=max(damage.time[:8], "20261121061716440"), on_missing="fail"
    ).count()


LAST = "20261121062610762"  # commit of the table in the examples


@pytest.fixture
def orders(tmp_path):
    shutil.unpack_archive(ORDERS, tmp_path)
    return tmp_path / "orders"


def test_last_commit_without_any_file_is_told(orders):
    for path in (orders / ".hoodie/timeline").glob(f"{LAST}*"):
        path.unlink()
    with pytest.warns(UserWarning, match=f"no completed commit {LAST}.*has completed it: its rows"):
        HudiTable(orders).scan().count()
    with pytest.raises(CorruptTimelineError, match=LAST):
        HudiTable(orders).scan(on_missing="fail").count()


def test_last_commit_that_never_completed_is_told_after_a_day(orders):
    (end,) = (orders / ".hoodie/timeline").glob(f"{LAST}_*")
    end.unlink()
    with pytest.warns(UserWarning, match="unless its writer failed in between"):
        HudiTable(orders).scan().count()
    with pytest.raises(CorruptTimelineError, match=LAST):
        HudiTable(orders).scan(on_missing="fail").count()


def test_writer_between_its_two_last_steps_is_not_told(orders):
    (end,) = (orders / ".hoodie/timeline").glob(f"{LAST}_*")
    end.unlink()
    (recorded,) = (orders / ".hoodie/metadata/.hoodie/timeline").glob(f"{LAST}_*")
    now = datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S000")
    recorded.rename(recorded.with_name(f"{LAST}_{now}.deltacommit"))
    assert HudiTable(orders).scan(on_missing="fail").count() == 47


@pytest.mark.parametrize("kind", ["end", "commit"])
@pytest.mark.parametrize("name", ["v9_mor_clustering"])
def test_clustering_that_later_commits_build_on_is_refused(kind, name, golden_table, tmp_path):
    table = tmp_path / "table"
    shutil.copytree(golden_table(name), table)
    (end,) = timeline(table).glob("*.replacecommit")
    time = end.name.partition("_")[0]
    next(d for d in damages(table) if (d.kind, d.time) == (kind, time)).inflict(table)
    with pytest.raises(CorruptTimelineError, match="rows that it replaced would be read again"):
        HudiTable(table).scan().to_arrow()


@pytest.mark.parametrize("time", ["20261121061840139", "20261121061839327"])
def test_lost_end_of_a_commit_that_replaced_rows_is_refused(time, golden_table, tmp_path):
    table = tmp_path / "table"
    shutil.copytree(golden_table("v6_mor_replace"), table)
    next(d for d in damages(table) if (d.kind, d.time) == ("end", time)).inflict(table)
    with pytest.raises(CorruptTimelineError, match=f"{time}.*would be read again"):
        HudiTable(table).scan().to_arrow()
    assert HudiTable(table).scan(as_of="20261121061838434").count() > 0


@pytest.mark.parametrize("time", ["20261121062741893", "20261121062745242"])
def test_metadata_table_that_was_built_with_the_files_of_a_commit_proves_it(
    time, golden_table, tmp_path
):
    table = tmp_path / "table"
    shutil.copytree(golden_table("v10_up_v9_mor_deletes"), table)
    next(d for d in damages(table) if (d.kind, d.time) == ("end", time)).inflict(table)
    with pytest.warns(UserWarning, match=f"no completed commit {time}.*was built with its files"):
        HudiTable(table).scan().count()
    with pytest.raises(CorruptTimelineError, match=time):
        HudiTable(table).scan(on_missing="fail").count()
    assert any(
        time in f.subject for f in HudiTable(table).doctor() if f.severity.value == "problem"
    )


@pytest.mark.parametrize("action", ["rollback", "restore"])
def test_commit_that_is_being_undone_is_not_lost(action, golden_table, tmp_path):
    """Apache Hudi makes a completed commit pending before it removes the commit's files."""
    time = "20261121062745242"
    table = tmp_path / "table"
    shutil.copytree(golden_table("v10_up_v9_mor_deletes"), table)
    next(d for d in damages(table) if (d.kind, d.time) == ("end", time)).inflict(table)
    (timeline(table) / f"20271121000000000.{action}.requested").write_bytes(b"")
    assert HudiTable(table).scan(on_missing="fail").count() > 0
