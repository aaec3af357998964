"""``python -m verification.histories.summary FOLDER``: the results of all its runs, summed up."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from verification.common.runs import Outcome, Run
from verification.histories.ours import CheckKind
from verification.histories.verdict import Verdict

Record: TypeAlias = "Mapping[str, Any]"
_CHECKS = {kind.name: f"more of ours alone: {kind.value}" for kind in CheckKind}
_WITHOUT_DETAIL = (Verdict.EQUAL.value, Verdict.BOTH_REFUSE.value)


def load_records(folder: Path) -> list[Record]:
    """The results in a folder. A history that was examined twice counts once, as it was last."""
    lines = (
        line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()
    )
    records = (json.loads(line) for line in lines)
    return list({(r["hudi"], r["history"]): r for r in records}.values())


def summed_up(records: Iterable[Record]) -> Run:
    """Count the queries by writer and verdict, and what else the histories had."""
    run = Run([verdict.value for verdict in Verdict])
    for record in records:
        writer = f"{record['hudi']}, table version {record['table_version']}"
        made = "written" if record["outcomes"] else "refused"
        run.notes[f"histories {made} by {writer}"] += 1
        for outcome in record["outcomes"]:
            verdict = outcome["verdict"]
            detail = "" if verdict in _WITHOUT_DETAIL else outcome["detail"]
            text = f"{record['history']}: {outcome['query']}: {outcome.get('text', '')}"
            is_finding = verdict == Verdict.UNEXPLAINED.value
            run.add(Outcome(writer, verdict, detail, text, is_finding=is_finding))
        for name, count in record.get("checks", {}).items():
            run.notes[_CHECKS.get(name, f"left out by {name}")] += count
    return run


if __name__ == "__main__":
    sys.exit(summed_up(load_records(Path(sys.argv[1]))).finish())
