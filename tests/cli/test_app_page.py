"""The page of the command line: its examples run, and it describes every command and option."""

import re
import shlex

import pytest

from hudi_pyspark.cli.app import COMMANDS
from tests.cli.command import in_process
from tests.conftest import PROJECT

EVERY = [*COMMANDS, "log blocks", "log records", "cache show", "cache clear"]
PAGE = PROJECT / "docs" / "looking-inside.md"


def examples() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    lines = "".join(blocks).splitlines()
    assert all(line.startswith("$ hudi-py ") for line in lines)
    return [line.removeprefix("$ hudi-py ") for line in lines]


def test_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = {}
    for example in examples():
        command, _, otherwise = example.partition(" || ")
        words = shlex.split(command)
        file = words[-1] if words[-2:-1] == [">"] else ""
        ended = in_process(*words[: -2 if file else None])
        if file:
            (tmp_path / file).write_text(ended.out, encoding="utf-8")
        assert ended.code == 0 or (otherwise and ended.code == 1), f"{command}: {ended.err}"
        shown[command] = ended.out
    # What Apache Hudi 1.2.0 read from this table (golden case v9_mor_cdc_data_before_after).
    assert shown["count demo/orders_cdc"] == "9\n"
    assert shown["count demo/orders_cdc --query-type read_optimized"] == "10\n"
    assert (
        shown["scan demo/orders_cdc --begin earliest --option cdc=true -o jsonl"].count("\n") == 20
    )
    drawn = {path.name for path in (tmp_path / "demo").iterdir() if path.is_file()}
    assert drawn == {"orders.csv", "orders.html"}


@pytest.mark.parametrize("command", EVERY)
def test_every_command_has_an_example(command):
    assert any(f"{example} ".startswith(f"{command} ") for example in examples())


@pytest.mark.parametrize("command", EVERY)
def test_every_option_is_documented(command):
    shown = in_process(*command.split(), "--help").out
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown)) - {"--help", "--no-environment"}
    page = PAGE.read_text(encoding="utf-8")
    assert {option for option in options if option not in page} <= {"--archived", "--limit"}


def test_read_options_lead_to_their_page():
    assert "(options.md)" in PAGE.read_text(encoding="utf-8")
