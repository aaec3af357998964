"""A test that leaves something to those that run after it fails, and says what it left."""

from __future__ import annotations

import decimal
import gc
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pytest

import hudi_pyspark
from tests.conftest import PROJECT, changed_in, files_in
from tests.emptied_state import empty
from tests.process_state import changes, in_zone, state_that_tests_share

TESTS = """
import os

def test_that_leaves_something():
    os.environ["LEFT_BEHIND"] = "1"

def test_that_leaves_nothing(monkeypatch):
    monkeypatch.setenv("GIVEN_BACK", "1")
"""


def test_the_test_that_leaves_something_fails(tmp_path):
    file = tmp_path / "test_two.py"
    file.write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", "pyproject.toml", str(file)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed, 1 error" in done.stdout
    assert "ERROR at teardown of test_that_leaves_something" in done.stdout
    assert "the variable LEFT_BEHIND: None became 1" in done.stdout
    assert "GIVEN_BACK" not in done.stdout


def _set_back(stack, get, put, value):
    stack.callback(put, get())
    put(value)


def _register(patch):
    empty(patch, "mergers")
    hudi_pyspark.register_payload("com.example.Own", lambda _older, newer: newer)


CHANGES = {
    "the variable LEFT_BEHIND": lambda patch, _: patch.setenv("LEFT_BEHIND", "1"),
    "the working directory": lambda patch, _: patch.chdir("/"),
    "the path of modules": lambda patch, _: patch.syspath_prepend("/nowhere"),
    "the registered mergers": lambda patch, _: _register(patch),
    "the time zone": lambda _, stack: stack.enter_context(in_zone("Asia/Kathmandu")),
    "the decimal context": lambda _, stack: stack.enter_context(
        decimal.localcontext(decimal.Context(prec=3))
    ),
    "the errors of numpy": lambda _, stack: stack.enter_context(np.errstate(all="raise")),
    "the threads of pyarrow": lambda _, stack: _set_back(stack, pa.cpu_count, pa.set_cpu_count, 7),
    "the thresholds of the garbage collection": lambda _, stack: _set_back(
        stack, gc.get_threshold, lambda given: gc.set_threshold(*given), (7, 7, 7)
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_is_noticed(name, monkeypatch):
    before = state_that_tests_share()
    with ExitStack() as stack:
        CHANGES[name](monkeypatch, stack)
        found = changes(before, state_that_tests_share())
    assert any(text.startswith(f"{name}: ") for text in found)
    assert changes(before, before) == []


def test_file_that_a_test_writes_among_those_of_others_is_noticed(tmp_path):
    for name in ("kept", "changed", "deleted"):
        (tmp_path / name).write_text("1")
    before = files_in(tmp_path)
    assert changed_in(tmp_path, before) == []
    (tmp_path / "changed").write_text("12")
    (tmp_path / "deleted").unlink()
    (tmp_path / "made").write_text("")
    found = [path.name for path in changed_in(tmp_path, before)]
    assert found == ["changed", "deleted", "made"]
