"""``python -m verification.histories``: random tables of Hudi, read by it and this project.

Exit code 1 where answers differ for no accepted reason. Needs PySpark 3.5: see `make histories`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TextIO

from verification.common.runs import parser_of
from verification.histories.avro import AVRO, JAVA
from verification.histories.examination import (
    Examination,
    ask,
    ask_again,
    ask_one_table,
    differs,
    examine,
    source_folder,
    write,
)
from verification.histories.flink import FLINK
from verification.histories.history import History, load_history, to_json
from verification.histories.queries import every_query
from verification.histories.rust import RUST
from verification.histories.shrink import shrink
from verification.histories.summary import load_records, summed_up
from verification.histories.verdict import Outcome
from verification.histories.worker import Worker
from verification.histories.writers import NEWEST, history_of, worker_of


def main() -> int:
    given = _parsed()
    folder = Path(given.out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if given.replay:
        return _replay(Path(given.replay), folder)
    for hudi in given.hudi.split(","):
        _run(hudi, given, folder)
    return summed_up(load_records(folder)).finish()


def _parsed() -> argparse.Namespace:
    parser = parser_of(__doc__, seed=1, count=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument(
        "--hudi",
        default=NEWEST,
        help=f"releases that write, commas between; 0.15.0+1.0.2: one after the other; "
        f"{AVRO}1.0.2: by its client with Avro schemas; {JAVA}1.2.0: by its client without Spark; "
        f"{FLINK}; {RUST}",
    )
    parser.add_argument("--out", default="build/histories", help="folder for results and tables")
    parser.add_argument("--shrink", type=int, default=120, help="seconds per failure; 0: do not")
    parser.add_argument("--queries", type=int, default=20, help="at most, per history")
    parser.add_argument("--replay", help="the file of a failure, or a history's own")
    return parser.parse_args()


def _run(hudi: str, given: argparse.Namespace, folder: Path) -> None:
    """Examine the histories of one writer, and let the newest release decide where they differ."""
    tables = folder / hudi
    worker = worker_of(hudi, tables)
    suspects = []
    with (folder / f"{hudi}-{given.seed}-{given.first}.jsonl").open("w") as results:
        for number in range(given.first, given.first + given.count):
            history = history_of(given.seed, number, hudi)
            found = examine(history, worker, tables, given.queries)
            if worker.hudi != NEWEST and any(outcome.is_open for outcome in found.outcomes):
                suspects.append(found)
                print(f"{_line(found)}; to be asked of {NEWEST}", flush=True)
                continue
            _finish(found, results, worker, given.shrink)
        worker.stop()
        newest = Worker(NEWEST, tables)
        for found in suspects:
            ask_again(found, newest)
        newest.stop()
        for found in suspects:
            _finish(found, results, worker, given.shrink)
    worker.stop()


def _finish(found: Examination, results: TextIO, worker: Worker, seconds: int) -> None:
    """Report a history; keep its table where something is wrong, with a small one beside it."""
    print(_line(found), flush=True)
    for outcome in found.unexplained:
        print(f"    UNEXPLAINED {outcome.query}: {outcome.text[:600]}", flush=True)
    print(json.dumps(found.record()), file=results, flush=True)
    if not found.unexplained:
        shutil.rmtree(found.path, ignore_errors=True)
        shutil.rmtree(source_folder(found.path), ignore_errors=True)
        return
    _keep(found.history, found.path, found.unexplained)
    if seconds:
        _shrink(found, worker, seconds)


def _keep(history: History, path: Path, failed: Sequence[Outcome]) -> Path:
    """Write what has to be replayed into a file beside the table."""
    file = path.with_name(path.name + ".json")
    queries = [
        {
            "kind": outcome.query.kind.value,
            "options": dict(outcome.query.options),
            "filter": outcome.query.filter,
            "difference": outcome.text,
        }
        for outcome in failed
    ]
    file.write_text(json.dumps({"history": to_json(history), "queries": queries}, indent=1))
    return file


def _shrink(found: Examination, worker: Worker, seconds: int) -> None:
    """Keep the smallest table whose answers still differ beside the one that was found."""
    tables = found.path.parent / "shrinking"
    kept = found.path.with_name(found.path.name + "_small")
    last: list[Outcome] = []

    def fails(history: History) -> bool:
        outcome = differs(history, worker, tables, found.unexplained[0])
        if outcome is None:
            return False
        last.append(outcome)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.move(tables / history.name, kept)
        return True

    small = shrink(found.history, fails, seconds=seconds)
    shutil.rmtree(tables, ignore_errors=True)
    if last:
        file = _keep(small, kept, last[-1:])
        rows = sum(len(step.rows) for step in small.steps)
        print(f"    shrunk to {len(small.steps)} steps and {rows} rows: {file}", flush=True)


def _line(found: Examination) -> str:
    options = found.history.options
    settings = [
        f"v{found.history.table_version}",
        "mor" if found.history.is_merge_on_read else "cow",
        "/".join(found.history.partition_fields) or "unpartitioned",
        options.get("hoodie.index.type", ""),
        options.get("hoodie.record.merge.mode", "")
        or options.get("hoodie.datasource.write.payload.class", "").rpartition(".")[2],
    ]
    head = f"{found.history.name} {found.history.hudi} {' '.join(s for s in settings if s)}"
    steps = ", ".join(step[:90] for step in found.steps)
    if not found.is_written:
        return f"{head}: not written: {steps}"
    good = len(found.outcomes) - len(found.unexplained)
    return f"{head}: {good} of {len(found.outcomes)} explained; {steps}; {found.seconds:.0f} s"


def _replay(file: Path, folder: Path) -> int:
    """Write a history once more, and ask every query of every kind."""
    history = load_history(file)
    worker = worker_of(history.hudi, folder)
    found = write(history, worker, folder / history.name)
    for step in found.steps:
        print(step)
    if found.is_written:
        for kind in found.asked_kinds:
            ask(found, worker, every_query(kind, found.instants), Random(0))
        ask_one_table(found, Random(0))
    for outcome in found.outcomes:
        print(f"{outcome.verdict.value} {outcome.detail} {outcome.query} {outcome.text[:1000]}")
    worker.stop()
    return 1 if found.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
