"""A process of `hudi-py` imports what its command needs, and knows all commands otherwise."""

import subprocess
import sys

import pytest

from hudi_pyspark.cli.app import COMMANDS
from tests.cli.command import environment, in_process

RARELY_NEEDED = (
    "hudi_pyspark.cli.look",
    "hudi_pyspark.cli.report",
    "hudi_pyspark.doctor.finding",
    "hudi_pyspark.inspection.inspection",
    "hudi_pyspark.report.index",
    "rich.progress",
    "pandas",
)


def imported_by(*arguments: str) -> set[str]:
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules))\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "from hudi_pyspark.cli import main; main()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(), capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_a_command_imports_nothing_of_the_others(golden_table):
    modules = imported_by("count", str(golden_table("v9_mor_clustering")))
    assert "hudi_pyspark.cli.rows" in modules
    assert modules.isdisjoint(RARELY_NEEDED)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_every_command(arguments):
    ended = in_process(*arguments)
    shown = ended.out + ended.err
    for name in COMMANDS:
        assert f" {name} " in shown


def test_help_shows_whole_descriptions():
    shown = " ".join(in_process("--help", columns=60).out.split())
    assert "age, duration and numbers of files and records." in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_help_of_a_group_lists_its_commands():
    shown = in_process("cache", "--help").out
    assert " show " in shown
    assert " clear " in shown


@pytest.mark.parametrize("command", [["demo"], ["cache", "show"], ["cache", "clear"]])
def test_a_command_without_a_table_has_no_options_of_storage(command):
    assert "--storage-option" in in_process("count", "--help").out
    assert "--storage-option" not in in_process(*command, "--help").out


def test_an_unknown_command_is_compared_with_all_commands():
    ended = in_process("cuont")
    assert ended.code == 2
    assert "'count'" in ended.err


def test_the_user_decides_how_many_threads_linear_algebra_has():
    code = (
        "import os, sys; from hudi_pyspark.cli import main; sys.argv[1:] = ['--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    command = [sys.executable, "-c", code]
    for chosen in ({}, {"OPENBLAS_NUM_THREADS": "7"}):
        done = subprocess.run(command, env=environment(**chosen), capture_output=True, check=True)
        assert done.stdout.decode().split()[-1] == (chosen or {"": "1"}).popitem()[1]
