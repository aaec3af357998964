"""``python -m verification.live_writer``: reads while Apache Hudi writes, and a judge compares.

Exit code 1 where an answer never existed, a stream missed or repeated rows, or an error has no
name. Needs PySpark 3.5: see `make live-writer`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from verification.live_writer.judge import Judged, Truth, Verdict, judge
from verification.live_writer.readers import READERS, read_live
from verification.live_writer.records import Journal, Read, Service, Write
from verification.live_writer.summary import summarize
from verification.live_writer.writer import write_live

SECONDS_TO_END = 300  # for the last read of each reader
SECONDS_TO_FINISH = 300  # for the last write and the audit


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.live_writer", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long Apache Hudi writes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="build/live_writer", help="folder for table and results")
    parser.add_argument("--judge-only", action="store_true", help="judge the run in the folder")
    given = parser.parse_args(arguments)
    folder = Path(given.out).resolve()
    if not given.judge_only:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run(folder, given.seconds, given.seed)
    return _report(folder)


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


def _report(folder: Path) -> int:
    journal = Journal(folder / "journal.jsonl")
    writes, services = journal.all(Write), journal.all(Service)
    truth = Truth.of(writes, services)
    judged: list[Judged] = []
    for name in READERS:
        file = folder / f"{name.replace(' ', '_')}.jsonl"
        if file.exists():
            judged += judge(Journal(file).all(Read), truth)
    lost = [s.problem for s in services if s.kind == "audit" and s.problem]
    if lost:
        print(f"The journal is no referee of this run: {lost[0]}")
    for line in summarize(writes, services, judged):
        print(line)
    bad = [j for j in judged if j.verdict in (Verdict.WRONG, Verdict.BARE)]
    findings = folder / "findings"
    shutil.rmtree(findings, ignore_errors=True)
    for number, found in enumerate(bad):
        findings.mkdir(exist_ok=True)
        text = json.dumps({"reason": found.reason, **asdict(found.read)}, indent=1)
        (findings / f"{number}.json").write_text(text)
        if number < 10:
            print(f"{found.verdict.value}: {found.read.kind.value}: {found.reason[-1500:]}")
    if bad:
        print(f"{len(bad)} findings: {findings}")
    return 1 if bad or not judged else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
