"""``python -m tests.golden FOLDER [OPTION=VALUE …]``: every case of a folder, equal or not."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.run import run_case


def main(folder: str, *options: str) -> int:
    given = dict(option.split("=", 1) for option in options)
    equal = deviating = total = 0
    for case in load_cases(Path(folder)):
        if not case.is_covered:
            continue
        outcomes = list(run_case(case, given))
        good = sum(not o.problems for o in outcomes)
        verdict = "equal    " if good == len(outcomes) else "NOT EQUAL"
        print(f"{verdict} {case.name}: {good} of {len(outcomes)}")
        for outcome in outcomes:
            if outcome.note and not outcome.problems:
                print(f"    {outcome.query.name}: {outcome.note}")
            for problem in outcome.problems:
                print(f"    {outcome.query.name}: {problem[:1500]}")
        deviating += sum(o.query.key in accepted_deviations() for o in outcomes)
        equal, total = equal + good, total + len(outcomes)
    print(f"{deviating} of them by an accepted deviation (tests/golden/deviations.toml)")
    print(f"{equal} of {total} golden queries equal")
    return 0 if equal == total and total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
