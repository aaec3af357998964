"""The outcomes of a run as tables in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from verification.live_writer.judge import Judged, Verdict
from verification.live_writer.records import Service, Write


def summarize(
    writes: Sequence[Write], services: Sequence[Service], judged: Sequence[Judged]
) -> Iterator[str]:
    """Yield the lines of two tables: what was written, and how each kind of read fared."""
    yield from _written(writes, services)
    yield ""
    yield from _read(judged)


def _written(writes: Sequence[Write], services: Sequence[Service]) -> Iterator[str]:
    done = Counter(s.kind for s in services if _is_done(s))
    failed = Counter(s.kind for s in services if not _is_done(s))
    yield "| Writer | Done | Refused by Apache Hudi |"
    yield "|---|---|---|"
    for name, some in (
        ("upserts", [w for w in writes if w.upserts]),
        ("deletes", [w for w in writes if w.deletes]),
    ):
        committed = sum(w.is_committed for w in some)
        yield f"| {name} | {committed} | {len(some) - committed} |"
    for kind in sorted({*done, *failed}):
        yield f"| {kind} | {done[kind]} | {failed[kind]} |"


def _is_done(service: Service) -> bool:
    return not service.problem and (service.kind != "rollback" or bool(service.rolled_back))


def _read(judged: Sequence[Judged]) -> Iterator[str]:
    yield f"| Reads | {' | '.join(v.value.capitalize() for v in Verdict)} | Refused with |"
    yield f"|---|{'---|' * len(Verdict)}---|"
    for kind in dict.fromkeys(j.read.kind for j in judged):
        mine = [j for j in judged if j.read.kind is kind]
        counts = Counter(j.verdict for j in mine)
        errors = Counter(j.read.error for j in mine if j.verdict is Verdict.REFUSED)
        cells = " | ".join(str(counts[v]) for v in Verdict)
        named = ", ".join(f"{name} {count}" for name, count in errors.most_common())
        yield f"| {kind.value} | {cells} | {named} |"
