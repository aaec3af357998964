"""The results of a run, and the report on them.

python -m benchmarks.report RESULTS.json      print the Markdown of an earlier run
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

RATIOS = (  # slower and faster engine, and the name of the ratio
    ("hudi-jvm", "hudi-py-spark", "hudi-py in Spark against Apache Hudi"),
    ("hudi-jvm", "hudi-py-user", "hudi-py in Spark, nothing named, against Apache Hudi"),
    ("hudi-rs", "hudi-py", "hudi-py alone against hudi-rs"),
)
FIRST = "first"  # the first query of a process
WRONG = "**(!)**"


@dataclass(frozen=True, slots=True)
class Measured:
    """One query by one engine."""

    engine: str
    query: str
    title: str  # of the query
    seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float, ...] = ()  # of all processes of the engine
    driver: int = 0  # peak bytes of the engine's process and its JVM
    workers: int = 0  # peak bytes of its Python workers
    total: int = 0  # peak bytes of both at the same moment
    requests: int = 0  # of the last round, to an object store
    received: int = 0  # bytes of objects that these returned
    answer: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    start_seconds: tuple[float, ...] = ()  # of new processes, until they accept queries

    @property
    def median(self) -> float | None:
        return _median(self.seconds)

    @property
    def cpu_median(self) -> float | None:
        return _median(self.cpu_seconds)


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


@dataclass(frozen=True, slots=True)
class TableResult:
    """All measurements on one table."""

    letter: str
    title: str
    facts: Mapping[str, Any]
    measured: tuple[Measured, ...]
    floors: tuple[str, ...] = ()  # engines that read only base files

    def get(self, engine: str, query: str) -> Measured | None:
        matches = (m for m in self.measured if (m.engine, m.query) == (engine, query))
        return next(matches, None)

    @property
    def queries(self) -> dict[str, str]:
        """Titles by name, in the order in which they ran."""
        return {measured.query: measured.title for measured in self.measured}


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run."""

    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    engines: Mapping[str, str]  # name → title
    tables: tuple[TableResult, ...]
    missing: Mapping[str, str] = field(
        default_factory=dict
    )  # engine or table → why it was not measured

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def parse(cls, text: str) -> Run:
        fields = json.loads(text)
        tables = tuple(_parse_table(table) for table in fields["tables"])
        return cls(**{**fields, "tables": tables})


def _parse_table(fields: dict[str, Any]) -> TableResult:
    measured = tuple(_parse_measured(one) for one in fields["measured"])
    return TableResult(**{**fields, "measured": measured, "floors": tuple(fields["floors"])})


def _parse_measured(fields: dict[str, Any]) -> Measured:
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Measured(**{**fields, **lists})


def agree(one: object, other: object) -> bool:
    """Return whether two answers are equal, except in the last digits of float sums."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other


def disagreements(table: TableResult, engines: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return how answers differ from that of the first engine, by (engine, query)."""
    differences = {}
    for query in table.queries:
        exact = [name for name in engines if name not in table.floors or query == "read_optimized"]
        answers = [m for name in exact if (m := table.get(name, query)) and m.answer]
        for measured in answers[1:]:
            expected = answers[0].answer
            if not agree(measured.answer, expected):
                shown = _difference(expected, measured.answer)
                differences[measured.engine, query] = f"{shown} ({answers[0].engine} is the first)"
    return differences


def _difference(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> str:
    names = [name for name in {**expected, **actual} if name not in expected or name not in actual]
    names += [n for n in expected if n in actual and not agree(expected[n], actual[n])]
    pairs = [f"{name}: {expected.get(name)} and {actual.get(name)}" for name in names[:3]]
    return "; ".join(pairs) + (f"; and {len(names) - 3} more" if len(names) > 3 else "")


def ratio(slower: float | None, faster: float | None) -> float | None:
    """Return how many times faster the second is; None if one of them has no time."""
    return slower / faster if slower and faster else None


def markdown(run: Run) -> str:
    """Return the whole report."""
    lines = [_facts(run), ""]
    for table in run.tables:
        lines += [_heading(table), "", seconds_table(table, run.engines, attrgetter("median")), ""]
        lines += ["The same in seconds of processor time, of all processes of an engine:", ""]
        lines += [seconds_table(table, run.engines, attrgetter("cpu_median")), ""]
        if any(measured.requests for measured in table.measured):
            lines += ["Requests of the last round, and MB that they returned:", ""]
            lines += [requests_table(table, run.engines), ""]
        if FIRST in table.queries:
            lines += ["Peak memory of all rows in a new process, in MB:", ""]
            lines += [memory_table(table, run.engines), ""]
        lines += _remarks(table, run.engines)
    lines += [f"Not measured: {name}: {why}" for name, why in run.missing.items()]
    return "\n".join(lines).rstrip() + "\n"


def _facts(run: Run) -> str:
    machine = run.machine
    settings = run.settings
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    hardware = f"{machine['cores']} cores, {machine['memory_gb']:.0f} GB, {machine['system']}"
    return (
        f"{hardware}; {versions}. Scale {settings['scale']:g}, medians in seconds, rounds after a "
        f"warm-up: {settings['rounds']}. Command: `{settings['command']}`."
    )


def _heading(table: TableResult) -> str:
    facts = table.facts
    return (
        f"### ({table.letter}) {table.title}\n\n{facts['rows']:,} rows; "
        f"{facts['base_files']:,} base files, {facts['base_bytes'] / 1e6:,.0f} MB; "
        f"{facts['log_files']:,} log files, {facts['log_bytes'] / 1e6:,.0f} MB."
    )


def seconds_table(
    table: TableResult, engines: Mapping[str, str], median: Callable[[Measured], float | None]
) -> str:
    """Return the medians by query and engine, with the ratios."""
    pairs = [pair for pair in RATIOS if pair[0] in engines and pair[1] in engines]
    wrong = disagreements(table, engines)
    rows = [["query", *engines.values(), *(title for _, _, title in pairs)]]
    for query, title in table.queries.items():
        by_engine = {name: m for name in engines if (m := table.get(name, query))}
        medians = {name: median(measured) for name, measured in by_engine.items()}
        cells = [
            (_seconds(medians[name]) if name in by_engine else "-")
            + (f" {WRONG}" if (name, query) in wrong else "")
            for name in engines
        ]
        ratios = [ratio(medians.get(a), medians.get(b)) for a, b, _ in pairs]
        rows.append([title, *cells, *("-" if r is None else f"{r:.1f}x" for r in ratios)])
    return _table(rows)


def _seconds(median: float | None) -> str:
    if median is None:
        return "failed"
    return f"{median:.2f}" if median < 100 else f"{median:.0f}"


def requests_table(table: TableResult, engines: Mapping[str, str]) -> str:
    """Return the requests and megabytes by query and engine."""
    rows = [["query", *engines.values()]]
    for query, title in table.queries.items():
        found = [table.get(name, query) for name in engines]
        rows.append(
            [title, *(f"{m.requests}, {m.received / 1e6:.1f}" if m else "-" for m in found)]
        )
    return _table(rows)


def memory_table(table: TableResult, engines: Mapping[str, str]) -> str:
    """Return the peak memory of the first query by engine."""
    rows = [["engine", "process and JVM", "Python workers", "together"]]
    for name, title in engines.items():
        first = table.get(name, FIRST)
        if first and first.seconds:
            peaks = (first.driver, first.workers, first.total)
            rows.append([title, *(f"{peak / 1e6:,.0f}" if peak else "-" for peak in peaks)])
    return _table(rows)


def _remarks(table: TableResult, engines: Mapping[str, str]) -> list[str]:
    lines = [
        f"- {WRONG} {engines[engine]}, {table.queries[query]}: ANOTHER ANSWER: {shown}"
        for (engine, query), shown in disagreements(table, engines).items()
    ]
    lines += [f"- {engines[m.engine]}, {m.title}: {m.error}" for m in table.measured if m.error]
    return [*lines, ""] if lines else []


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---" + "|---:" * (len(rows[0]) - 1) + "|", *body])


if __name__ == "__main__":
    print(markdown(Run.parse(Path(sys.argv[1]).read_text(encoding="utf-8"))))
