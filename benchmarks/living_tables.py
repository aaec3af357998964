"""Tables that are written while they are read, beside Apache Hudi.

    python -m benchmarks.living_tables [--parts dashboard,streams,…] [--scale 1] [--data FOLDER]

A writer (Apache Hudi) and both readers stay alive and take turns. Each line has the mean of the
seconds and of the processor time of a question; both readers have to give the same answer.

| Part | What is asked |
|---|---|
| dashboard | rows and a sum by city, after each of 20 upserts of 1 % of table (a) |
| streams | what is new to a stream that starts on that table: nothing, and a commit of 1,000 rows |
| polls | a stream that runs on table (a), and looks for new commits once a second |
| ranges | incremental and CDC queries over the last commit and the last 100 |
| threads | eight queries at a time in one driver, on table (a) |
| joins | joins of table (a) whose rows are in one file group of sixteen |
| commits | a table of 10,000 active commits: count, and the last commit |
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.incremental_planning import instant, write_table
from benchmarks.peers import PROJECT, Workshop
from benchmarks.tables import TABLES
from benchmarks.usage import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMITS = 20  # of the dashboard
BATCHES = 5  # of the stream
RANGE = 100  # commits
POLLS = 20  # and as many seconds
ROUNDS = 3
CHANGED_ROWS = 200_000  # of the table with changes
ACTIVE = 10_000  # commits


class Process:
    """A process of `living_engines`."""

    def __init__(self, command: list[str], env: dict[str, str], log: Path) -> None:
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=PROJECT,
                env={**os.environ, **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._reply()

    def ask(self, method: str, *arguments: object) -> tuple[Any, float, float]:
        """Return the result, the seconds, and the processor time of all its processes."""
        assert self._process.stdin is not None  # it is a pipe
        with watched(self._process.pid) as usage:
            print(json.dumps([method, arguments]), file=self._process.stdin, flush=True)
            reply = self._reply()
        if "error" in reply:
            raise RuntimeError(f"{method}{arguments}: {reply['error']}")
        return reply["result"], reply["seconds"], usage.cpu_seconds

    def close(self) -> None:
        assert self._process.stdin is not None  # it is a pipe
        self._process.stdin.close()
        self._process.wait()

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of an engine ended; see its log")
        reply: dict[str, Any] = json.loads(line)
        return reply


class Measurements:
    """Asks both readers in turn, and compares what they answer."""

    def __init__(self, readers: dict[str, Process]) -> None:
        self._readers = readers
        self._times: dict[str, dict[str, list[tuple[float, float]]]] = {}

    def ask(self, title: str, method: str, *arguments: object, is_timed: bool = True) -> None:
        answers = {}
        names = list(self._readers)
        times = self._times.setdefault(title, defaultdict(list))
        turn = len(times[names[0]]) % len(names)
        for name in names[turn:] + names[:turn]:
            answers[name], *spent = self._readers[name].ask(method, *arguments)
            if is_timed:
                times[name].append((spent[0], spent[1]))
        if len({json.dumps(answer, sort_keys=True) for answer in answers.values()}) > 1:
            print(f"(!) {title}: {answers}", flush=True)

    def show(self) -> None:
        timed = {title: times for title, times in self._times.items() if any(times.values())}
        for title, times in timed.items():
            means = [[fmean(values) for values in zip(*t, strict=True)] for t in times.values()]
            cells = " | ".join(f"{seconds:.2f} | {cpu:.2f}" for seconds, cpu in means)
            print(f"| {title} | {cells} | {means[0][0] / means[-1][0]:.1f} |", flush=True)
        self._times.clear()


class Living:
    """The parts of the benchmark."""

    def __init__(self, data: Path, scale: float) -> None:
        self._workshop = Workshop(data)
        self._data = data / "living"
        self._data.mkdir(parents=True, exist_ok=True)
        self._scale = scale
        jar = str(self._workshop.jar)
        old = self._workshop.old_spark
        new = sys.executable
        self.writer = self._process(old, "writer", jar)
        self.readers = {
            "hudi-jvm": self._process(old, "hudi-jvm", jar),
            "hudi-py-user": self._process(new, "hudi-py-user"),
        }
        self._measured = Measurements(self.readers)

    def _process(self, python: str, *arguments: str) -> Process:
        command = [python, "-m", "benchmarks.living_engines", *arguments]
        return Process(command, self._workshop.spark_env, self._data / f"{arguments[0]}.log")

    def _table(self) -> Path:
        return self._workshop.table("a", self._scale) / "table"

    @contextmanager
    def _written_table(self) -> Iterator[Callable[[int, int], str]]:
        """Yield a function that upserts one row in so many of a copy of table (a)."""
        path = self._data / "a"
        rows = TABLES["a"].at(self._scale).rows
        shutil.copytree(self._table(), path, dirs_exist_ok=False)

        def upsert(number: int, share: int) -> str:
            self.writer.ask("upsert", str(path), number, rows, share, "bench_a")
            return str(path)

        try:
            yield upsert
        finally:
            shutil.rmtree(path)

    def dashboard(self) -> None:
        title = "dashboard after a commit of 1 %"
        with self._written_table() as upsert:
            self._measured.ask(title, "dashboard", str(self._data / "a"), is_timed=False)
            for number in range(10, 10 + COMMITS):
                self._measured.ask(title, "dashboard", upsert(number, 100))

    def streams(self) -> None:
        path = str(self._data / "a")
        rows = TABLES["a"].at(self._scale).rows
        with self._written_table() as upsert, TemporaryDirectory(dir=self._data) as checkpoints:
            for number in range(10, 10 + BATCHES + 1):
                for title in ("stream: a batch of 1,000 rows", "stream: nothing new"):
                    self._measured.ask(title, "stream", path, checkpoints, is_timed=number > 10)
                upsert(number, rows // 1_000)

    def polls(self) -> None:
        table = str(self._table())
        for number in range(ROUNDS + 1):
            for method, arguments in (
                ("start_polling", [table]),
                ("poll", [POLLS]),
                ("stop_polling", []),
            ):
                is_timed = number > 0 and method == "poll"
                self._measured.ask(f"{method}, {POLLS} s", method, *arguments, is_timed=is_timed)

    def ranges(self) -> None:
        path = self._data / f"changes-{RANGE}"
        if not path.exists():
            for number in range(RANGE + 1):
                share = CHANGED_ROWS // 1_000 if number else 1
                self.writer.ask("upsert", str(path), number, CHANGED_ROWS, share, "changes")
        completed = sorted((path / ".hoodie" / "timeline").glob("*_*.*commit"))
        for commits in (1, RANGE):
            requested, _, completion = completed[-1 - commits].stem.partition("_")
            text = "the last commit" if commits == 1 else f"{commits} commits"
            for number in range(ROUNDS + 1):
                is_timed = number > 0
                for title, method, begin in (
                    (f"incremental, {text}", "incremental", completion),
                    (f"CDC, {text}", "changes", requested),
                ):
                    self._measured.ask(title, method, str(path), begin, is_timed=is_timed)

    def threads(self) -> None:
        self._rounds("eight queries at a time", "threads", str(self._table()))

    def joins(self) -> None:
        table = str(self._table())
        self._rounds("join, a condition that one file group meets", "join", table)
        self._rounds("join, keys of one file group", "join_keys", table)

    def commits(self) -> None:
        path = self._data / f"commits-{ACTIVE}"
        if not path.exists():
            write_table(path, "COPY_ON_WRITE", ACTIVE)
            to_version_6(path / ".hoodie")  # whose commits are JSON, as they are written here
        self._rounds(f"count, {ACTIVE:,} active commits", "count", str(path))
        begin = instant(ACTIVE - 2, 0)
        self._rounds(f"last of {ACTIVE:,} active commits", "last", str(path), begin)

    def _rounds(self, title: str, method: str, *arguments: object) -> None:
        for number in range(ROUNDS + 1):
            self._measured.ask(title, method, *arguments, is_timed=number > 0)

    def run(self, parts: list[str]) -> None:
        """Run some parts and print a table of what they took.

        Raises:
            RuntimeError: an engine failed.
        """
        print("| | Apache Hudi, s | processor | hudi-pyspark, s | processor | |", flush=True)
        print("|---|---:|---:|---:|---:|---:|", flush=True)
        try:
            for part in parts:
                getattr(self, part)()
                self._measured.show()
        finally:
            for process in (self.writer, *self.readers.values()):
                process.close()


def to_version_6(folder: Path) -> None:
    """Give a table of version 9 the properties and the timeline of version 6."""
    properties = folder / "hoodie.properties"
    text = properties.read_text().replace("table.version=9", "table.version=6")
    properties.write_text(text.replace("layout.version=2", "layout.version=1"))
    for file in (folder / "timeline").iterdir():
        times, _, state = file.name.partition(".")
        file.rename(folder / f"{times.partition('_')[0]}.{state}".replace(".commit.inf", ".inf"))


PARTS = ("dashboard", "streams", "polls", "ranges", "threads", "joins", "commits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / ".data")
    given = parser.parse_args()
    Living(given.data.resolve(), given.scale).run(given.parts.split(","))


if __name__ == "__main__":
    main()
