"""Tests that share a server go to one worker, which sees their ids alone."""

import subprocess
import sys

import pytest

from tests.conftest import PROJECT

TEST = "def test_{}(connect_port):\n    pass\n"


@pytest.mark.parametrize(("name", "is_collected"), [("rows", False), ("rows_over_connect", True)])
def test_test_with_the_server_is_collected_if_its_id_says_so(name, is_collected, tmp_path):
    file = tmp_path / "test_server.py"
    file.write_text(TEST.format(name))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "tests.conftest"]
    command += ["-p", "no:cacheprovider", "-c", "pyproject.toml", str(file)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == is_collected
    refusal = f"test_{name}'] do not say 'connect'"
    assert (refusal in done.stdout + done.stderr) != is_collected


def test_tests_of_the_server_have_one_scope_and_others_their_own():
    pytest.importorskip("xdist")
    from tests.scheduling import OneServer

    ids = [
        "tests/spark/connect/test_session.py::test_rows",
        "tests/spark/test_hints.py::test_rows_over_connect[1]",
        "tests/spark/test_datasource_faults.py::test_faults[connect-2]",
    ]
    scheduler = OneServer.__new__(OneServer)  # without the tests of a run
    assert {scheduler._split_scope(each) for each in ids} == {"connect"}
    assert scheduler._split_scope("a.py::test_b[1]") == "a.py::test_b[1]"
