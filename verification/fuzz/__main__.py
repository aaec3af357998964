"""Fuzzes every parser of table content, one after the other, and reports what was found.

``python -m verification.fuzz --seconds 60 [TARGET ...]``; the seconds are shared among the targets.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import PROJECT
from verification.common.runs import Outcome, Run, parser_of
from verification.fuzz.targets import TARGETS

_EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")


def fuzz(target: str, folder: Path, seconds: int) -> tuple[int, list[Path]]:
    """Fuzz one target in a separate process; returns the number of inputs, and the findings."""
    findings = folder / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "verification.fuzz.worker", target, str(folder)]
    run = subprocess.run(
        [*command, f"-max_total_time={seconds}"],
        cwd=PROJECT, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    log = folder / f"{target}.log"
    log.write_text(run.stderr)
    executed = _EXECUTED.search(run.stderr)
    found = [*(findings / target).glob("*.txt"), *findings.glob(f"{target}-*")]
    if run.returncode and not found:
        found = [log]  # the process ended, or did not begin
    return int(executed[1]) if executed else 0, found


def main() -> int:
    """Fuzz targets in turn; the status is 1 if there are findings."""
    parser = parser_of(__doc__, seconds=60)
    parser.add_argument("--folder", type=Path, default=PROJECT / "build" / "fuzz")
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="all by default")
    given = parser.parse_args()
    targets = given.targets or list(TARGETS)
    run = Run(("inputs", "findings"))
    for target in targets:
        executed, findings = fuzz(target, given.folder, max(1, given.seconds // len(targets)))
        print(f"{target:18} {executed:12,} inputs  {len(findings):3} findings", flush=True)
        run.add(Outcome(target, "inputs", count=executed))
        for finding in findings:
            run.add(Outcome(target, "findings", finding.name, str(finding), is_finding=True))
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
