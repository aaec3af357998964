"""``make mutants SEED=1 COUNT=480``: breaks the reader and prints what no test noticed."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from verification.common.data import load_data
from verification.common.runs import Outcome, Run, parser_of
from verification.mutants.mutations import Mutant, mutants_of
from verification.mutants.proofs import Proofs, Verdict

PACKAGE = Path("hudi_pyspark")
_DATA = load_data(__file__, "mutants.toml")
PARTS: dict[str, list[str]] = _DATA["parts"]
REPEATED = "test_every_query_of_log_files_answers_the_same or test_filtered_read"
LEAST = 0.95  # share of the mutants that must be killed
Entry: TypeAlias = tuple[str, str, str]  # function, line, and what the line becomes


def modules(part: str) -> list[Path]:
    """Return the modules of a part."""
    matches = {name: list(PACKAGE.rglob(f"{name}.py")) for name in PARTS[part]}
    for name, paths in matches.items():
        if len(paths) != 1:
            raise SystemExit(f"{name} matches {len(paths)} modules: change mutants.toml")
    return [paths[0] for paths in matches.values()]


def load_reasons() -> dict[Entry, str]:
    """Return each entry of equivalent.toml, and why its mutant changes no answer."""
    entries = load_data(__file__, "equivalent.toml")["equivalent"]
    return {(e["function"], e["line"], e["becomes"]): e["why"] for e in entries}


def entry_of(mutant: Mutant) -> Entry:
    """Return the entry that would list a mutant as equivalent."""
    return mutant.function, mutant.before, mutant.after


def excused_among(mutants: Iterable[Mutant]) -> set[str]:
    """Return the ids of the mutants that are listed as equivalent."""
    listed = load_reasons()
    return {mutant.id for mutant in mutants if entry_of(mutant) in listed}


def sample(by_part: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """Choose mutants at random, the same number of each part as far as it has them."""

    def draw(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.id}".encode()).hexdigest()

    turns = [
        (place, draw(mutant), mutant)
        for mutants in by_part.values()
        for place, mutant in enumerate(sorted(mutants, key=draw))
    ]
    chosen = [mutant for _, _, mutant in sorted(turns, key=lambda turn: turn[:2])[:count]]
    return sorted(chosen, key=lambda mutant: (mutant.path, mutant.begin, mutant.text))


def describe(mutant: Mutant) -> str:
    """Return a mutant's id and place, the entry that would excuse it, and its diff."""
    old = mutant.path.read_text()
    new = mutant.source().decode()
    name = str(mutant.path)
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, n=2, lineterm="")
    return "\n".join([f"{mutant.id} {mutant.function}", *(f"    {line}" for line in diff)])


def run(mutants: Sequence[Mutant], tests: Sequence[str]) -> list[Verdict]:
    """Run the tests for each mutant."""
    verdicts: list[Verdict] = []
    every_module = [path for part in PARTS for path in modules(part)]

    def announce(verdict: Verdict) -> None:
        verdicts.append(verdict)
        by = verdict.killer.rpartition("/")[2] or f"SURVIVED {verdict.proofs} tests"
        print(f"{len(verdicts):4d} {verdict.mutant.id} {verdict.mutant.function}: {by}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "tests"
        inner.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(inner)
        status = pytest.main(
            [*tests, "-q", "-s", "-m", "not spark or full", "-k", f"not ({REPEATED})",
             "-p", "no:cacheprovider", "-p", "no:xdist",
             *(f"--ignore=tests/{name}" for name in _DATA["left_out"])],
            plugins=[Proofs(mutants, every_module, announce, inner)],
        )  # fmt: skip
        tempfile.tempdir = None
    if len(verdicts) < len(mutants):
        raise SystemExit(f"pytest ended with {status!r}")
    return verdicts


def summary(verdicts: Sequence[Verdict], parts: dict[str, str]) -> Iterator[str]:
    """Yield the survivors and the score."""
    for verdict in verdicts:
        if not verdict.killer:
            yield f"\n{describe(verdict.mutant)}\n    survives {verdict.proofs} tests"
    yield ""
    run = Run(("killed", "survived"))
    for verdict in verdicts:
        run.add(Outcome(parts[verdict.mutant.id], run.verdicts[not verdict.killer]))
    yield from run.lines()


def main() -> int:
    """Run the command line."""
    parser = parser_of(__doc__, seed=1, count=480)
    parser.add_argument("ids", nargs="*", help="only these mutants")
    parser.add_argument("--part", action="append", choices=PARTS, help="only these parts")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="only these files or folders")
    parser.add_argument("--show", action="store_true", help="print the mutants, without a test")
    parser.add_argument("--equivalent", action="store_true", help="only those listed as equivalent")
    given = parser.parse_args()
    made = {p: [m for path in modules(p) for m in mutants_of(path)] for p in given.part or PARTS}
    parts = {mutant.id: part for part, mutants in made.items() for mutant in mutants}
    every = [mutant for mutants in made.values() for mutant in mutants]
    excused = excused_among(every)
    if given.ids:
        chosen = [mutant for mutant in every if mutant.id in given.ids]
    elif given.equivalent:
        chosen = [mutant for mutant in every if mutant.id in excused]
    else:
        drawn = sample(made, given.count, given.seed)
        chosen = [mutant for mutant in drawn if mutant.id not in excused]
        print(f"{len(drawn)} of {len(every)} mutants, {len(drawn) - len(chosen)} are equivalent")
    if given.show:
        print("\n\n".join(map(describe, chosen)))
        return 0
    begin = time.monotonic()
    verdicts = run(chosen, given.tests)
    print("\n".join(summary(verdicts, parts)))
    killed = sum(bool(verdict.killer) for verdict in verdicts)
    seconds = time.monotonic() - begin
    print(f"{killed / max(len(verdicts), 1):.1%} killed in {seconds:,.0f} s")
    if given.equivalent:
        return 1 if killed else 0
    return 0 if killed >= LEAST * len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
