"""``python -m verification.histories.summary FOLDER``: the results of all its runs, summed up."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from verification.histories.answers import CRASH
from verification.histories.ours import CheckKind
from verification.histories.verdict import Verdict

Record: TypeAlias = "Mapping[str, Any]"


def load_records(folder: Path) -> list[Record]:
    """The results in a folder. A history that was examined twice counts once, as it was last."""
    lines = (
        line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()
    )
    records = (json.loads(line) for line in lines)
    return list({(r["hudi"], r["history"]): r for r in records}.values())


def summarize(records: Sequence[Record]) -> Iterator[str]:
    """Lines about each writer."""
    for hudi in sorted({record["hudi"] for record in records}, reverse=True):
        yield from _of_writer(hudi, [r for r in records if r["hudi"] == hudi])


def _of_writer(hudi: str, records: Sequence[Record]) -> Iterator[str]:
    written = [record for record in records if record["outcomes"]]
    outcomes = [outcome for record in written for outcome in record["outcomes"]]
    versions = Counter(record["table_version"] for record in written)
    spelled = ", ".join(f"{n} of version {v}" for v, n in sorted(versions.items()))
    yield f"Apache Hudi {hudi}: {len(written)} histories ({spelled}), {len(outcomes)} queries"
    if len(records) > len(written):
        yield f"    {len(records) - len(written)} more histories it refused to write"
    for verdict in Verdict:
        found = [outcome for outcome in outcomes if outcome["verdict"] == verdict.value]
        details = _details(found) if verdict not in (Verdict.EQUAL, Verdict.BOTH_REFUSE) else ""
        yield f"    {len(found):6} {verdict.value}{details}"
    checks: Counter[str] = sum((Counter(r.get("checks", {})) for r in written), Counter())
    counts = {kind: checks.pop(kind.name, 0) for kind in CheckKind}
    skipped = ", ".join(f"{n:,} by {index}" for index, n in checks.most_common())
    for kind, count in counts.items():
        if count:
            yield f"    {count:6} more of ours alone: {kind.value}"
    yield f"           left out by indexes: {skipped or 'nothing'}"
    crashes = sum(outcome["detail"] == CRASH for outcome in outcomes)
    if crashes:
        yield f"    {crashes:6} of them killed its JVM"


def _details(outcomes: Iterable[Record]) -> str:
    counts = Counter(outcome["detail"] or "?" for outcome in outcomes)
    told = ", ".join(f"{name} {n}" for name, n in counts.most_common())
    return f": {told}" if told else ""


def print_summary(folder: Path) -> int:
    """Print the results in a folder; return 1 if one of them is unexplained, or there are none."""
    records = load_records(folder)
    for line in summarize(records):
        print(line)
    verdicts = {outcome["verdict"] for record in records for outcome in record["outcomes"]}
    return 1 if not records or Verdict.UNEXPLAINED.value in verdicts else 0


if __name__ == "__main__":
    sys.exit(print_summary(Path(sys.argv[1])))
