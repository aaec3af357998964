"""Every way in which a command can end: its exit code and its one message."""

import os
import re
import subprocess

import pytest

from hudi_pyspark.cli.arguments import ExitCode
from tests.bad_inputs import COW, MOR
from tests.cli.command import COMMAND, environment, hudi_py, in_process
from tests.conftest import PROJECT
from tests.damage import data_file, set_property, unpack


def test_a_command_that_worked_ends_with_0(golden_table):
    ended = hudi_py("count", str(golden_table("v9_mor_clustering")))
    assert (ended.code, ended.out, ended.err) == (0, "23\n", "")


def test_a_damaged_table_ends_with_1(tmp_path):
    table = unpack(COW, tmp_path)
    file = data_file(table, "*.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    ended = hudi_py("count", str(table))
    assert (ended.code, ended.out) == (1, "")
    assert "[HUDI_CORRUPT_BASE_FILE]" in ended.err
    assert file.name in ended.err


def test_a_problem_that_the_doctor_finds_ends_with_1(tmp_path):
    table = unpack(COW, tmp_path)
    data_file(table, "*.parquet").unlink()
    assert in_process("doctor", str(table)).code == 1


def test_a_warning_of_the_doctor_ends_with_1_only_if_it_is_strict(tmp_path):
    table = unpack(MOR, tmp_path)
    file = data_file(table, ".*.log.*")
    file.write_bytes(file.read_bytes() + b"x")
    assert in_process("doctor", str(table)).code == 0
    assert in_process("doctor", "--strict", str(table)).code == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["explode"], "No such command 'explode'", id="no such command"),
        pytest.param(["count"], "Missing argument 'PATH'", id="no path"),
        pytest.param(["count", "{table}", "--zap"], "No such option '--zap'", id="no such option"),
        pytest.param(["count", "{table}", "-o", "xml"], "'xml' is not one of", id="no such output"),
        pytest.param(["scan", "{table}", "-c", "zip"], "no column 'zip'", id="no such column"),
        pytest.param(
            ["scan", "{table}", "--as-of", "noon"], "'noon' is not an instant", id="instant"
        ),
        pytest.param(["scan", "{table}", "--option", "k"], "expected KEY=VALUE", id="no value"),
        pytest.param(["scan", "{table}", "--option", "k=v"], "unknown option 'k'", id="option"),
        pytest.param(
            ["commit", "{table}", "19700101"],
            "'19700101' is not the requested",
            id="no such commit",
        ),
        pytest.param(["count", "ftp://x/y"], "ftp:// is not supported", id="no such storage"),
    ],
)
def test_a_mistake_of_the_caller_ends_with_2(golden_table, arguments, says):
    table = str(golden_table("v9_mor_clustering"))
    ended = in_process(*(argument.replace("{table}", table) for argument in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert says in re.sub(r"[\s│]+", " ", ended.err)


def test_a_mistake_never_reaches_the_terminal_as_typed(tmp_path):
    folder = tmp_path / "\x1b[2J"
    (folder / "orders").mkdir(parents=True)
    for arguments in (["count", "x", "a\x1b[2J"], ["demo", str(folder)], ["a\x1b[2J"]):
        ended = in_process(*arguments)
        assert "[2J" in ended.err
        assert "\x1b" not in ended.err


@pytest.mark.parametrize("option", ["--storage-option", "--catalog", "--option"])
def test_a_setting_that_may_be_a_secret_is_not_shown(golden_table, option):
    ended = in_process("count", str(golden_table("v9_mor_clustering")), option, "s3cret")
    assert ended.code == 2
    assert f"'{option}': expected KEY=VALUE" in ended.err
    assert "Usage: hudi-py count" in ended.err
    assert "s3cret" not in ended.err


@pytest.mark.parametrize("command", ["describe", "doctor", "scan"])
def test_a_path_without_a_table_ends_with_3(tmp_path, command):
    ended = in_process(command, str(tmp_path / "nowhere"))
    assert (ended.code, ended.out) == (3, "")
    assert "[HUDI_PATH_NOT_FOUND]" in ended.err


def test_a_log_file_outside_of_any_table_ends_with_3(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(b"#HUDI#")
    ended = in_process("log", "blocks", str(file))
    assert ended.code == 3
    assert "is not part of a Hudi table" in ended.err


def test_a_table_that_is_not_supported_ends_with_4(tmp_path):
    table = unpack(COW, tmp_path)
    set_property(table, "hoodie.table.version", "11")
    ended = in_process("count", str(table))
    assert ended.code == 4
    assert "[HUDI_UNSUPPORTED_VERSION]" in ended.err


def test_an_instant_that_was_cleaned_away_ends_with_4(golden_table):
    table = str(golden_table("v6_cow_archived"))
    ended = in_process("count", table, "--as-of", "2000-01-01")
    assert ended.code == 4
    assert "[HUDI_TIME_TRAVEL]" in ended.err


def test_storage_that_fails_ends_with_5(golden_table, tmp_path):
    table = str(golden_table("v9_mor_clustering"))
    ended = in_process("report", table, "--to", str(tmp_path / "no folder" / "x.html"))
    assert ended.code == 5
    assert "no folder" in ended.err


def test_no_command_ever_shows_a_traceback(tmp_path):
    table = unpack(COW, tmp_path)
    (table / ".hoodie" / "hoodie.properties").write_bytes(b"\\u12")
    for command in ("describe", "timeline", "count", "doctor"):
        assert "Traceback" not in in_process(command, str(table)).err


@pytest.mark.parametrize(
    "command",
    [
        ["scan", "-o", "jsonl", "--option", "batch_rows=10"],
        ["scan", "-o", "csv"],
        ["scan"],
        ["count"],
        ["describe"],
        ["doctor"],
        ["properties", "-o", "json"],
    ],
    ids=" ".join,
)
def test_a_reader_of_the_pipe_that_has_seen_enough_is_no_error(golden_table, command):
    name, *arguments = command
    process = subprocess.Popen(
        [*COMMAND, name, str(golden_table("v8_mor_nbcc")), *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")


def test_an_interrupted_command_ends_with_130(golden_table, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hudi_pyspark.hudi_table.open_table", interrupt)
    assert in_process("count", str(golden_table("v9_mor_clustering"))).code == 130


def test_the_page_lists_every_exit_code():
    page = (PROJECT / "docs" / "looking-inside.md").read_text(encoding="utf-8")
    documented = [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)]
    assert documented == [int(code) for code in ExitCode]


def test_doctor_says_whether_it_checked_the_contents_of_files(golden_table):
    note = "the contents of files were not checked: --deep does so\n"
    table = str(golden_table(MOR))
    assert in_process("doctor", table).out.endswith(note)
    assert note not in in_process("doctor", table, "--deep").out
    assert note not in in_process("doctor").out


def test_storage_options_are_no_variables_of_the_process_once_the_command_has_ended(golden_table):
    before = dict(os.environ)
    path = str(golden_table("v6_mor_part_basic"))
    assert in_process("count", path, "--storage-option", "account_key=a2V5").code == 0
    assert dict(os.environ) == before
