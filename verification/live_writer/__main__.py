"""``python -m verification.live_writer``: reads while Apache Hudi writes, and a judge compares.

Exit code 1 where an answer never existed, a stream missed or repeated rows, or an error has no
name. Needs PySpark 3.5: see `make live-writer`.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from verification.common.runs import Outcome, Run, parser_of
from verification.live_writer.judge import VERDICTS, Truth, judge
from verification.live_writer.readers import READERS, read_live
from verification.live_writer.records import Journal, Read, Service, Write
from verification.live_writer.writer import write_live

SECONDS_TO_END = 300  # for the last read of each reader
SECONDS_TO_FINISH = 300  # for the last write and the audit


def main() -> int:
    parser = parser_of(__doc__, seconds=60, seed=1)
    parser.add_argument("--out", default="build/live_writer", help="folder for table and results")
    parser.add_argument("--judge-only", action="store_true", help="judge the run in the folder")
    given = parser.parse_args()
    folder = Path(given.out).resolve()
    if not given.judge_only:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run(folder, given.seconds, given.seed)
    return report(folder)


def _run(folder: Path, seconds: float, seed: int) -> None:
    context = multiprocessing.get_context("spawn")
    is_over = context.Event()
    writer = context.Process(target=write_live, args=(str(folder), seconds, seed))
    readers = [
        context.Process(target=read_live, args=(name, str(folder), seed, is_over))
        for name in READERS
    ]
    for process in (writer, *readers):
        process.start()
    writer.join(seconds + SECONDS_TO_FINISH)
    if writer.is_alive():  # its JVM died
        writer.kill()
        print("the writer hangs")
    is_over.set()
    deadline = time.time() + SECONDS_TO_END
    for process in readers:
        process.join(max(0, deadline - time.time()))
        if process.is_alive():
            process.kill()
            print(f"{process.name} hangs")
    if any(process.exitcode for process in (writer, *readers)):
        raise SystemExit(f"a process ended early: see {folder}/spark.log")


def report(folder: Path) -> int:
    """Print what was written and read, and keep the findings; return the exit status."""
    journal = Journal(folder / "journal.jsonl")
    writes = journal.all(Write)
    services = journal.all(Service)
    for problem in (service.problem for service in services if service.kind == "audit"):
        if problem:
            print(f"The journal is no referee of this run: {problem}")
    print("\n".join(written(writes, services).lines()))
    truth = Truth.of(writes, services)
    run = Run(VERDICTS)
    findings = folder / "findings"
    shutil.rmtree(findings, ignore_errors=True)
    findings.mkdir()
    for name in READERS:
        reads = Journal.of_reader(folder, name).all(Read)
        for read, outcome in zip(reads, judge(reads, truth), strict=True):
            run.add(outcome)
            if outcome.is_finding:
                text = json.dumps({"reason": outcome.text, **asdict(read)}, indent=1)
                (findings / f"{len(run.findings)}.json").write_text(text)
    return run.finish()


def written(writes: Sequence[Write], services: Sequence[Service]) -> Run:
    """Count what the writers and the table services did."""
    run = Run(("done", "refused by Apache Hudi"))
    for write in writes:
        kind = "upserts" if write.upserts else "deletes"
        run.add(Outcome(kind, run.verdicts[not write.is_committed]))
    for service in services:
        is_done = service.kind != "rollback" or bool(service.rolled_back)
        run.add(Outcome(service.kind, run.verdicts[bool(service.problem) or not is_done]))
    return run


if __name__ == "__main__":
    sys.exit(main())
