"""Let Apache Hudi write the golden tables of `tables/`, and answer their queries.

    python -m verification.generate.golden golden_extra --out tests/golden_extra
    python -m verification.generate.golden golden_extra --out FOLDER --case et_fuzz,composite3
    python -m verification.generate.golden golden_extra --out tests/golden_extra --release 0.15.0
    python -m verification.generate.golden golden_extra --out tests/golden_extra --also
    python -m verification.generate.golden other_writers --out tests/golden

It runs beside PySpark 3.5 (`make histories` makes `.venv-histories`; release 0.12.2 needs 3.3), and
makes the cases of one release at a time. The path of a table is recorded in it: HUDI_FIXTURE_ROOT
names the folder in which tables are written. With ``--also``, release 1.2.0 is asked about the
tables of others, and what it answers differently is added to their cases.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tests.golden.archive import members
from tests.golden.case import REFERENCE, answer_of, load_case, read_facts, write_case
from tests.golden.compare import differences
from tests.golden.pack import Answers
from verification.common.archives import pack
from verification.generate.cases import (
    TableCase,
    Target,
    WrittenTable,
    history_of,
    load_cases,
    queries_of,
)
from verification.histories.answers import Failure, HudiAnswer
from verification.histories.instants import (
    Instant,
    completed_commits,
    completed_instants,
    table_properties,
)
from verification.histories.queries import Query, QueryKind
from verification.histories.session import COMPILED
from verification.histories.worker import Worker
from verification.histories.writers import worker_of

ROOT = Path(os.environ.get("HUDI_FIXTURE_ROOT", "/data/hudi"))
_SETTING = "session conf "  # begins a note
# Of version 6; their completion is the time at which the file was modified, which zips round.
_SECONDS_TO_COMPLETE = 0.002


def main() -> None:
    """Write the cases of one release, or add the answers of the newest one."""
    given = _parsed()
    with tempfile.TemporaryDirectory() as scratch:
        if given.also:
            _ask_newest(given.out, Path(scratch))
            return
        workers: dict[str, Worker] = {}
        for case, target in _chosen(given):
            name = target.writer
            if name not in workers:
                workers[name] = worker_of(name, Path(scratch) / name, reader=given.release)
                workers[name].settings = COMPILED
            write_golden_case(workers[name], case, target, given.out / case.folder_of(target))
        for worker in workers.values():
            worker.stop()


def _chosen(given: argparse.Namespace) -> list[tuple[TableCase, Target]]:
    """Return the tables to write; those whose partial updates may harm the JVM come last."""
    names = given.case.split(",")
    found = [
        (case, target)
        for case in load_cases(given.tables)
        for target in map(Target.parse, case.targets)
        if names == ["all"] or case.name in names
        if (target.release or REFERENCE) == given.release
        if not given.missing or not (given.out / case.folder_of(target)).exists()
    ]
    return sorted(found, key=lambda chosen: chosen[0].name.startswith(("mi_", "sor_")))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", help="a folder of verification/generate/tables")
    parser.add_argument("--release", default=REFERENCE, help="of Apache Hudi, which writes")
    parser.add_argument("--case", default="all", help="names, commas between")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--missing", action="store_true", help="only cases without a folder")
    parser.add_argument("--also", action="store_true", help=f"ask {REFERENCE} about the others")
    return parser.parse_args()


def write_table(
    worker: Worker, case: TableCase, target: Target
) -> tuple[Path, list[Instant], list[str]]:
    """Do the steps of a case.

    Returns:
        The path of the table, all commits that it ever had, and what Apache Hudi refused.
    """
    history = history_of(case, target)
    path = ROOT / history.name
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    seen: dict[str, Instant] = {}
    refused = []
    for number, entry in enumerate(case.steps_of(target)):
        step = history.steps[number]
        refusal = worker.execute(history, number, path)
        if refusal is not None:
            reason = (
                f"{step.text[:80] or step.kind.value}: {refusal.error}: {refusal.message[:160]}"
            )
            if not entry.get("may_fail"):
                raise SystemExit(f"{history.name} step {number}: {reason}")
            refused.append(f"refused: {reason}")
        seen |= {commit.requested: commit for commit in completed_commits(path)}
    return path, [seen[requested] for requested in sorted(seen)], refused


def write_golden_case(worker: Worker, case: TableCase, target: Target, folder: Path) -> None:
    """Write a table, ask its queries, and replace the folder of the case."""
    path, seen, refused = write_table(worker, case, target)
    commits = [commit for commit in completed_commits(path) if commit.action != "clustering"]
    notes = [*case.notes, *map(_setting_note, case.settings.items()), *refused]
    answers = Answers()
    queries = [
        _answered(worker, path, case.settings, query, answers)
        for query in queries_of(WrittenTable(case, target, commits, seen))
    ]
    facts = {
        "name": case.folder_of(target),
        "description": case.description,
        "hudi_version": target.release or REFERENCE,
        "writer": target.writer if target.is_other_writer else "",
        "table_version": int(table_properties(path)["hoodie.table.version"]),
        "table_type": case.type,
        "features": list(case.features),
        "notes": notes,
        "timeline": [f"{i.requested}_{i.completion}.{i.action}" for i in completed_instants(path)],
        "queries": queries,
    }
    folder.mkdir(parents=True, exist_ok=True)
    pack(path.parent, folder / "table.zip", (path.name,))
    write_case(folder, {k: v for k, v in facts.items() if v not in ("", [])}, answers.by_file)
    failed = [f"\n   {query['name']}: {query['error']}" for query in queries if "error" in query]
    print(folder.name, len(seen), "commits", len(queries), "queries", *failed, flush=True)


def _setting_note(setting: tuple[str, str]) -> str:
    return f"{_SETTING}{setting[0]}={setting[1]}"


def _answered(
    worker: Worker,
    path: Path,
    settings: Mapping[str, str],
    query: Mapping[str, Any],
    answers: Answers,
) -> dict[str, Any]:
    """Ask a query, keep its answer, and return what the description says of it."""
    found = _ask(worker, path, settings, query["options"])
    told = _told(found, query["name"], answers)
    note = {"note": query["note"]} if query["note"] else {}
    return {"name": query["name"], **told, **note, "options": query["options"]}


def _ask(
    worker: Worker, path: Path, settings: Mapping[str, str], options: Mapping[str, str]
) -> HudiAnswer | Failure:
    return worker.read(path, Query(QueryKind.SNAPSHOT, {**settings, **options}))


def _told(found: HudiAnswer | Failure, name: str, answers: Answers) -> dict[str, Any]:
    if isinstance(found, Failure):
        return {"error": f"{found.error}: {found.message}"}
    file = answers.add(name, found.table, found.schema)
    return {"rows": found.table.num_rows, "answer": file}


def _ask_newest(out: Path, scratch: Path) -> None:
    """Add the newest release's answers to the cases of others, where they differ."""
    worker = Worker(REFERENCE, scratch, settings=COMPILED)
    for file in sorted(out.glob("*/case.toml")):
        if read_facts(file.parent).get("hudi_version") != REFERENCE:
            count = add_answers(worker, file.parent)
            print(file.parent.name, count, "answers differ", flush=True)
    worker.stop()


def add_answers(worker: Worker, folder: Path) -> int:
    """Add the answers of a worker's release to a case, where they differ; return how many."""
    path = unpacked(folder, ROOT)
    case = load_case(folder)
    facts = dict(case.facts)
    settings = dict(_settings_in(facts.get("notes", [])))
    answers = Answers()
    answers.by_file.update(members(folder / "answers.zip"))
    for entry, query in zip(facts["queries"], case.queries, strict=True):
        found = _ask(worker, path, settings, query.options)
        name = f"{query.name}@{worker.hudi}"
        answers.by_file.pop(f"{name}.parquet", None)
        others = entry.pop("also", {})
        others.pop(worker.hudi, None)
        if _differs(entry, found, folder):
            others[worker.hudi] = _told(found, name, answers)
        if others:
            entry["also"] = others
    facts["read_also_by"] = sorted({*facts.get("read_also_by", []), worker.hudi})
    write_case(folder, facts, answers.by_file)
    return sum(worker.hudi in entry.get("also", {}) for entry in facts["queries"])


def _settings_in(notes: list[str]) -> Iterator[tuple[str, str]]:
    for note in notes:
        if note.startswith(_SETTING):
            key, _, value = note.removeprefix(_SETTING).partition("=")
            yield key, value


def _differs(entry: Mapping[str, Any], found: HudiAnswer | Failure, folder: Path) -> bool:
    """Whether an answer is another than that of the release that wrote the table."""
    if isinstance(found, Failure) or "error" in entry:
        return ("error" in entry) != isinstance(found, Failure)
    before = answer_of(folder, entry)
    assert before is not None
    return bool(differences(before.rows(), found.table, found.schema["fields"]))


def unpacked(folder: Path, to: Path) -> Path:
    """Unpack the table of a case, whose commits of version 6 completed just after they began."""
    name = str(read_facts(folder)["name"])
    shutil.rmtree(to / name, ignore_errors=True)
    with zipfile.ZipFile(folder / "table.zip") as archive:
        archive.extractall(to)
    for file in (to / name / ".hoodie").iterdir():
        instant = file.name.partition(".")[0]
        if len(instant) == len("20240101000000000") and instant.isdigit():
            begun = datetime.strptime(f"{instant}000", "%Y%m%d%H%M%S%f").replace(
                tzinfo=timezone.utc
            )
            moment = (begun + timedelta(seconds=_SECONDS_TO_COMPLETE)).timestamp()
            os.utime(file, (moment, moment))
    return to / name


if __name__ == "__main__":
    main()
