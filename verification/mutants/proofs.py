"""The tests as proofs: which of them execute a line, and whether one fails with a mutant.

All tests are collected once. Each mutant then lives in a fork of that process, which replaces the
code of one function and runs the chosen tests until one fails.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import signal
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from coverage import Coverage

from verification.mutants.mutations import Mutant

MEASURED = Path("build/mutants")  # seconds and lines of each test, until a module changes
LONGEST_TEST = 15.0  # seconds of processor time; longer tests are left out


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    killer: str  # the test that failed or did not end; "" for a survivor
    proofs: int  # how many tests execute the statement


@dataclass(eq=False)  # plugins are hashed
class Proofs:
    """A plugin of pytest that runs the collected tests for each mutant."""

    mutants: Sequence[Mutant]
    modules: Sequence[Path]  # all that mutants may be of
    announce: Callable[[Verdict], None]
    folder: Path  # where tests write; emptied after each mutant
    items: dict[str, pytest.Item] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of each test that passes
    lines: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)  # by function or module, test
    failed: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Let randomised tests try the same examples each time, and not look for smaller ones."""
        # Not before pytest, which rewrites its assertions.
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutants", settings(), derandomize=True, database=None, phases=phases
        )
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self._measure(self.modules)
        for mutant in self.mutants:
            self.announce(self._judge(mutant))
        return True

    def _judge(self, mutant: Mutant) -> Verdict:
        """Run the tests that execute a mutant, the likeliest killer first, until one fails."""
        tests = {test for line in mutant.lines for test in self.lines[str(mutant.path), line]}
        order = sorted(tests, key=lambda test: self._rank(mutant, test))

        def run(write: Callable[[str], object]) -> None:
            insert(mutant)
            for test in order:
                write(test)
                if not self._passes(test, 10 * self.seconds[test] + 5):
                    return
            write("")

        killer = ["", *self._in_fork(run)][-1]
        if killer:
            self.kills.update([(mutant.function, killer), (mutant.path.name, killer)])
        return Verdict(mutant, killer, len(order))

    def _rank(self, mutant: Mutant, test: str) -> tuple[object, ...]:
        is_mirrored = f"/test_{mutant.path.stem}.py" in test
        killed = self.kills[mutant.function, test], self.kills[mutant.path.name, test]
        return -killed[0], not is_mirrored, -min(killed[1], 1), self.seconds[test], test

    def _passes(self, test: str, limit: float) -> bool:
        """Run one test; the process ends where that takes too much time."""
        self.failed = False
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, 20 * limit)  # for threads that wait
        item = self.items[test]
        # With the session as what follows, everything but what belongs to it is torn down.
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=item.session)
        return not self.failed

    def _in_fork(self, run: Callable[[Callable[[str], object]], None]) -> list[str]:
        """Run something in a fork, and return the lines that it wrote before it ended."""
        journal = self.folder.with_suffix(".journal")
        child = os.fork()
        if child == 0:
            os.setsid()
            errors = os.fdopen(os.dup(2), "w")
            with Path(os.devnull).open("r+b") as quiet:
                for stream in (0, 1, 2):
                    os.dup2(quiet.fileno(), stream)
            try:
                with journal.open("w", buffering=1) as file:
                    run(lambda line: file.write(line + "\n"))
                os._exit(0)
            except BaseException:  # noqa: BLE001  (nothing may return from here)
                traceback.print_exc(file=errors)
            finally:
                errors.flush()
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status > 0:
            raise ChildProcessError("a fork failed; see above")
        for left in self.folder.iterdir():
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        return journal.read_text().splitlines()

    def _measure(self, modules: Sequence[Path]) -> None:
        """Run each test once, unless that was done with the same modules and the same test file."""
        files = {item.path for item in self.items.values()}
        digest = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        state = hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()
        known = MEASURED / f"{state[:16]}.json"
        tests: dict[str, dict[str, Any]] = json.loads(known.read_text()) if known.exists() else {}
        new = [
            name
            for name, item in self.items.items()
            if tests.get(name, {}).get("digest") != digest[item.path]
        ]
        MEASURED.mkdir(parents=True, exist_ok=True)
        while new:
            print(f"{len(new)} tests to measure", flush=True)
            journal = map(json.loads, self._in_fork(partial(self._trace, new[:200], modules)))
            measured = {test["name"]: test for test in journal}
            for name, test in measured.items():
                tests[name] = {**test, "digest": digest[self.items[name].path]}
            known.write_text(json.dumps(tests))
            new = new[len(measured) :]
        for name in self.items:
            if not 0 < tests[name]["seconds"] <= LONGEST_TEST:
                print(f"left out, since it fails or takes long: {name}")
            else:
                self.seconds[name] = tests[name]["seconds"]
                for module, lines in tests[name]["lines"].items():
                    for line in lines:
                        self.lines[module, line].add(name)

    def _trace(
        self, names: Sequence[str], modules: Sequence[Path], write: Callable[[str], object]
    ) -> None:
        """Write the seconds and lines of some tests; 0 seconds first, in case one never ends."""
        paths = {str(module.resolve()): str(module) for module in modules}
        for name in names:
            write(json.dumps({"name": name, "seconds": 0, "lines": {}}))
            tracer = Coverage(data_file=None, include=list(paths), config_file=False)
            tracer.set_option("run:disable_warnings", ["no-data-collected"])
            tracer.start()
            begin = time.process_time()
            passes = self._passes(name, 4 * LONGEST_TEST)
            seconds = max(time.process_time() - begin, 0.001)  # some clocks have coarse ticks
            tracer.stop()
            data = tracer.get_data()
            lines = {paths[file]: data.lines(file) for file in data.measured_files()}
            if passes:
                write(json.dumps({"name": name, "seconds": seconds, "lines": lines}))


def insert(mutant: Mutant) -> None:
    """Give the functions in memory the code of a mutant.

    Raises:
        LookupError: the function is not in memory.
    """
    path = mutant.path.resolve()
    changed = {_key(code): code for code in _codes(compile(mutant.source(), str(path), "exec"))}
    outermost = changed[mutant.unit]
    inner = {_key(code): code for code in _codes(outermost) if not code.co_name.startswith("<")}
    replaced = 0
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(path):
            code = inner.get(_key(function.__code__))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code
                replaced += 1
    if not replaced:
        raise LookupError(f"{mutant.function} is not in memory")


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes(code: CodeType) -> list[CodeType]:
    """Return a code object and all in it."""
    within = [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return [code, *(deeper for inner in within for deeper in _codes(inner))]
