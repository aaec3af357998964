"""Two processes ask golden queries in random order, and keep merges in files of one folder.

``python -m verification.kept_merges FOLDER`` asks every query of the cases in a folder in many
forms. Meanwhile the files are removed, cut and changed at random. Apache Hudi's answers are right.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from random import Random

from hudi_pyspark import HudiTable
from tests.golden.case import Case, load_case, load_cases
from tests.golden.questions import kept_in, problems_of, questions
from tests.golden.run import is_whole_row_known, whole_answer
from verification.common.runs import Outcome, Run, parser_of

ROUNDS = 2  # how often a process asks each question
KEPT, DAMAGED = "files kept", "files damaged"


def main() -> int:
    """Run as described above; the status is 1 if an answer is wrong, or if no file was kept."""
    parser = parser_of(__doc__, seed=1)
    parser.add_argument("folder", type=Path, help="of golden cases")
    parser.add_argument("--most", type=int, default=12, help="questions per query")
    given = parser.parse_args()
    random = Random(given.seed)
    run = Run()
    # The processes do not log what they warn of: damaged outcomes.
    with ProcessPoolExecutor(2, get_context("spawn"), logging.disable) as readers:
        for case in load_cases(given.folder):
            if case.is_covered:
                compare(case, readers, random, given.most, run)
    return run.finish() or int(not run.notes[KEPT])


def compare(case: Case, readers: ProcessPoolExecutor, random: Random, most: int, run: Run) -> None:
    """Let two processes ask about a table at the same time, and damage files meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        path = case.extract(Path(folder))
        kept = Path(folder, "kept")
        seeds = [random.random() for _ in range(2)]
        answers = [readers.submit(ask, case.folder, path, kept, seed, most) for seed in seeds]
        files = 0
        while wait(answers, timeout=0.02).not_done:
            files = max(files, len(list(kept.glob("*/*"))))
            run.notes[DAMAGED] += _damage(kept, random)
        run.notes[KEPT] += max(files, len(list(kept.glob("*/*"))))
    for problem in (problem for answer in answers for problem in answer.result()):
        verdict = "other answers" if problem else "Apache Hudi's answers"
        text = f"{case.name}: {problem}"
        run.add(Outcome("questions", verdict, text=text, is_finding=bool(problem)))


def ask(cases: Path, path: Path, kept: Path, seed: float, most: int) -> list[str]:
    """Ask some forms of each query of a case in random order; "" for each answer of Apache Hudi."""
    case, random = load_case(cases), Random(seed)
    asked = []
    for query in case.queries:
        whole = whole_answer(case, query) if query.is_covered else None
        if whole is None:
            continue
        is_complete = is_whole_row_known(query)
        forms = questions(whole, Random(query.key), is_complete=is_complete)
        chosen = Random(query.key).sample(forms, min(most, len(forms)))
        asked += [(query, question, whole) for question in chosen] * ROUNDS
    random.shuffle(asked)
    long_lived, problems = HudiTable(str(path)), []
    for query, question, whole in asked:
        table = random.choice([long_lived, HudiTable(str(path))])
        options = {**query.options, **random.choice([kept_in(kept)] * 4 + [{}])}
        found = "; ".join(problems_of(question, whole, table, options))
        problems.append(f"{query.name}: {question} {options}: {found}" if found else "")
    return problems


def _damage(kept: Path, random: Random) -> int:
    """Remove, cut or change a file now and then, or put it under the name of another one."""
    files = sorted(kept.glob("*/*"))
    if not files or random.random() < 0.5:
        return 0
    path, other = random.choice(files), random.choice(files)
    with suppress(OSError):
        content = bytearray(path.read_bytes())
        match random.randrange(4):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(content[: random.randrange(len(content) + 1)])
            case 2 if content:
                content[random.randrange(len(content))] ^= random.randrange(1, 256)
                path.write_bytes(content)
            case _:
                other.write_bytes(content)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
