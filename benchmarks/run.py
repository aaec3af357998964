"""Run the same queries on every engine in turn, and report how long each took.

    python -m benchmarks.run [--scale 0.02] [--tables a,b] [--rounds 3] [--data FOLDER]

docs/benchmarks.md describes the measurements. Tables are written once and kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.chart import draw
from benchmarks.object_store import ObjectStore, served
from benchmarks.peers import TPCH, Missing, Peer, Workshop
from benchmarks.process import EngineFailed, EngineProcess
from benchmarks.queries import Kind, Query, queries_of
from benchmarks.report import FIRST, Measured, Run, TableResult, disagreements, markdown
from benchmarks.tables import TABLES
from benchmarks.tpch.queries import tpch_queries
from benchmarks.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENGINES = (
    "hudi-jvm", "hudi-py-spark", "hudi-py-user", "hudi-rs", "hudi-py", "spark-parquet", "pyarrow",
    "hudi-py-connect", "hudi-py-duckdb", "hudi-py-polars", "hudi-rs-datafusion",
    "base-files-duckdb", "spark35-parquet", "hudi-py-user-off", "hudi-py-duckdb-off",
    "hudi-py-polars-off", "hudi-py-duckdb-first", "hudi-py-polars-first",
)  # fmt: skip
OURS = {name for name in ENGINES if name.startswith("hudi-py")}
FIRST_QUERY = Query(FIRST, "first query of a new process: all rows", Kind.ROWS)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run."""

    scale: float
    tables: list[str]
    engines: list[str]
    queries: list[str]  # names; all if empty
    rounds: int
    patience: float  # most seconds of a query
    data: Path
    latency: float  # milliseconds of a request to an object store; 0: local files
    bandwidth: float  # megabytes per second of that

    def to_show(self) -> dict[str, Any]:
        lists = {"tables": self.tables, "engines": self.engines, "queries": self.queries}
        flags = [f"--{name} {','.join(names)}" for name, names in lists.items() if names]
        numbers = [f"--scale {self.scale:g}", f"--rounds {self.rounds}"]
        if self.latency:
            numbers += [f"--latency {self.latency:g}", f"--bandwidth {self.bandwidth:g}"]
        command = " ".join(["python -m benchmarks.run", *numbers, *flags])
        return {"scale": self.scale, "rounds": self.rounds, "command": command}


class Turns:
    """Runs queries on engines one after the other, never two at once."""

    def __init__(self, settings: Settings, store: ObjectStore | None) -> None:
        self._settings = settings
        self._store = store
        self.versions: dict[str, str] = {}

    def warm(self, path: Path, queries: Iterable[Query], peers: list[Peer]) -> list[Measured]:
        """Run each query in processes that stay alive; its first round is a warm-up."""
        running: dict[str, EngineProcess] = {}
        results = []
        try:
            for query in queries:
                answering = [peer for peer in peers if peer.answers(query)]
                results += self._rounds(path, query, answering, running)
        finally:
            for process in running.values():
                process.close()
        return results

    def _rounds(
        self, path: Path, query: Query, peers: list[Peer], running: dict[str, EngineProcess]
    ) -> list[Measured]:
        results = {peer.name: Measured(peer.name, query.name, query.title) for peer in peers}
        for number in range(self._settings.rounds + 1):
            for peer in rotated(peers, number):
                if results[peer.name].error:
                    continue
                try:
                    if peer.name not in running:
                        running[peer.name] = self._start(peer)
                    process = running[peer.name]
                    before = self._store.counted() if self._store else (0, 0)
                    reply, usage = self._ask(process, path, query, check=number == 0)
                    after = self._store.counted() if self._store else (0, 0)
                    requests, size = (b - a for a, b in zip(before, after, strict=True))
                    results[peer.name] = replace(
                        results[peer.name], requests=requests, received=size
                    )
                except EngineFailed as error:
                    reply = {"error": str(error)}
                    usage = Usage()
                    running.pop(peer.name, None)
                results[peer.name] = add(results[peer.name], reply, usage, is_warm_up=number == 0)
        self._say(query, results.values())
        return list(results.values())

    def first(self, path: Path, peers: list[Peer]) -> list[Measured]:
        """Read all rows, each time in a new process."""
        peers = [peer for peer in peers if peer.answers(FIRST_QUERY)]
        results = {peer.name: Measured(peer.name, FIRST, FIRST_QUERY.title) for peer in peers}
        for number in range(self._settings.rounds):
            for peer in rotated(peers, number):
                if results[peer.name].error:
                    continue
                try:
                    process = self._start(peer)
                    reply, usage = self._ask(process, path, FIRST_QUERY, check=False)
                    process.close()
                except EngineFailed as error:
                    reply = {"error": str(error)}
                    usage = Usage()
                else:
                    starts = (*results[peer.name].start_seconds, process.start_seconds)
                    results[peer.name] = replace(results[peer.name], start_seconds=starts)
                results[peer.name] = add(results[peer.name], reply, usage, is_warm_up=False)
        self._say(FIRST_QUERY, results.values())
        return list(results.values())

    def _start(self, peer: Peer) -> EngineProcess:
        log = self._settings.data / "logs" / f"{peer.name}.log"
        process = EngineProcess(peer, log, self._store.env if self._store else {})
        self.versions.update(process.versions)
        return process

    def _ask(
        self, process: EngineProcess, path: Path, query: Query, *, check: bool
    ) -> tuple[dict[str, Any], Usage]:
        return process.ask(path, query, check=check, patience=self._settings.patience)

    @staticmethod
    def _say(query: Query, results: Iterable[Measured]) -> None:
        texts = [
            f"{m.engine} {'failed' if m.median is None else format(m.median, '.2f')}"
            for m in results
        ]
        print(f"  {query.title:<40} {'  '.join(texts)}", flush=True)


def rotated(peers: list[Peer], number: int) -> list[Peer]:
    """Rotate the engines, so that another one begins each round."""
    start = number % len(peers) if peers else 0
    return peers[start:] + peers[:start]


def add(measured: Measured, reply: dict[str, Any], usage: Usage, *, is_warm_up: bool) -> Measured:
    """Add a reply to the measurements of a query."""
    if "error" in reply:
        return replace(measured, error=reply["error"], seconds=(), cpu_seconds=())
    if is_warm_up:
        return replace(measured, answer=reply["result"])
    return replace(
        measured,
        seconds=(*measured.seconds, reply["seconds"]),
        cpu_seconds=(*measured.cpu_seconds, usage.cpu_seconds),
        driver=max(measured.driver, usage.driver),
        workers=max(measured.workers, usage.workers),
        total=max(measured.total, usage.total),
    )


def runs(settings: Settings, store: ObjectStore | None) -> Iterator[Run]:
    """Yield the results after each table and at the end, since a long run may be interrupted."""
    workshop = Workshop(settings.data, on_s3=store is not None)
    peers: list[Peer] = []
    tables: list[TableResult] = []
    missing: dict[str, str] = {}

    def so_far() -> Run:
        titles = {peer.name: peer.title for peer in peers}
        machine = machine_facts(turns.versions)
        return Run(machine, settings.to_show(), titles, tuple(tables), dict(missing))

    for name in settings.engines:
        with noted(name, missing):
            peers.append(workshop.peer(name))
    turns = Turns(settings, store)
    for letter in settings.tables:
        with noted(f"table ({letter})", missing):
            folder = workshop.table(letter, settings.scale)
            tables.append(measure_table(letter, folder, turns, settings, peers))
            yield so_far()
    yield so_far()


@contextmanager
def noted(name: str, missing: dict[str, str]) -> Iterator[None]:
    """Record and report what is missing, and continue with the rest."""
    try:
        yield
    except Missing as why:
        missing[name] = str(why)
        print(f"WITHOUT {name}: {why}", file=sys.stderr, flush=True)


def measure_table(
    letter: str, folder: Path, turns: Turns, settings: Settings, peers: list[Peer]
) -> TableResult:
    facts = json.loads((folder / "facts.json").read_text())
    if letter == TPCH:
        title = "TPC-H, 22 queries over eight tables"
        queries = tpch_queries()
    else:
        sized = TABLES[letter].at(settings.scale)
        title = sized.table.title
        queries = [*queries_of(sized, facts), FIRST_QUERY]
    print(f"({letter}) {title}: {facts['rows']:,} rows", flush=True)
    path = folder.resolve() / "table"
    queries = [q for q in queries if not settings.queries or q.name in settings.queries]
    able = [peer for peer in peers if facts["base_files"] or not peer.is_floor]
    measured = turns.warm(path, [q for q in queries if q is not FIRST_QUERY], able)
    if FIRST_QUERY in queries:
        measured += turns.first(path, able)
    floors = tuple(peer.name for peer in peers if peer.is_floor)
    result = TableResult(letter, title, facts, tuple(measured), floors)
    for (engine, query), shown in disagreements(result, [p.name for p in peers]).items():
        print(f"  !!! {engine}, {query}: ANOTHER ANSWER: {shown}", flush=True)
    return result


def machine_facts(versions: dict[str, str]) -> dict[str, Any]:
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": affinity,
        "memory_gb": psutil.virtual_memory().total / 1e9,
        "system": f"{platform.system()} {platform.machine()}",
        "load_at_end": os.getloadavg()[0],
        "versions": dict(sorted(versions.items())),
    }


def parse_settings(arguments: list[str]) -> tuple[Settings, Path]:
    def names(text: str) -> list[str]:
        return [name.strip() for name in text.split(",") if name.strip()]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default_data = Path(__file__).parent / ".data"
    parser.add_argument("--scale", type=float, default=0.02, help="1 is the full size")
    parser.add_argument("--tables", type=names, default=list(TABLES), help="a,b,... or tpch")
    parser.add_argument("--engines", type=names, default=list(ENGINES), help=", ".join(ENGINES))
    parser.add_argument("--queries", type=names, default=[], help="by name; all by default")
    parser.add_argument("--rounds", type=int, default=3, help="measured after one warm-up")
    parser.add_argument("--patience", type=float, default=600, help="seconds for one query")
    parser.add_argument("--data", type=Path, default=default_data, help="keeps tables, Spark 3.5")
    parser.add_argument("--output", type=Path, help="by default DATA/results")
    parser.add_argument(
        "--latency", type=float, default=0, help="read by S3, with so many milliseconds a request"
    )
    parser.add_argument("--bandwidth", type=float, default=100, help="of S3, in MB per second")
    given = parser.parse_args(arguments)
    known = {FIRST, *(q.name for q in queries_of(TABLES["a"].at(1), {"last_commit_after": ""}))}
    known |= {query.name for query in tpch_queries()}
    unknown = ({*given.tables} - {*TABLES, TPCH}) | ({*given.engines} - {*ENGINES})
    unknown |= {*given.queries} - known
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    output = given.output or given.data / "results"
    fields = {name: value for name, value in vars(given).items() if name != "output"}
    return Settings(**fields), output


def save(run: Run, stem: Path) -> None:
    """Write Markdown, JSON and chart, under the same name."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{stem}.json").write_text(run.to_json(), encoding="utf-8")
    Path(f"{stem}.md").write_text(markdown(run), encoding="utf-8")
    draw(run, [Path(f"{stem}.png"), Path(f"{stem}.svg")])


def main(arguments: list[str]) -> int:
    settings, output = parse_settings(arguments)
    stem = output / f"{''.join(settings.tables)}-{settings.scale:g}"
    root = (settings.data / "tables").resolve()
    on_s3 = served(root, settings.latency, settings.bandwidth) if settings.latency else None
    with on_s3 or nullcontext() as store:
        for run in runs(settings, store):
            save(run, stem)
    print(f"\n{markdown(run)}\n{stem}.md, .json, .png, .svg")
    # Other engines may differ from Apache Hudi: that is reported, but the run does not fail.
    wrong = {engine for table in run.tables for engine, _ in disagreements(table, run.engines)}
    return 1 if wrong & OURS else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
