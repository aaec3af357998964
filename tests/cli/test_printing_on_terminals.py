"""Colours, widths and control characters: what people see."""

import json
import re

import pyarrow as pa
import pytest
from rich.cells import cell_len

from hudi_pyspark.cli.app import COMMANDS
from hudi_pyspark.cli.printing import show
from hudi_pyspark.errors import printable
from tests.cli.command import hudi_py, in_process, on_terminal

MOR = "v9_mor_clustering"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def table(golden_table):
    return str(golden_table(MOR))


def test_terminal_has_colours(table):
    ended = on_terminal("timeline", table)
    assert ended.code == 0
    assert "\x1b[32mcompleted\x1b[0m" in ended.out


def test_no_color_is_obeyed(table):
    plain = on_terminal("timeline", table, NO_COLOR="1").out
    assert "\x1b[32m" not in plain
    assert "completed" in plain


def test_pipe_has_no_escape_sequences(table):
    ended = hudi_py("doctor", table)
    assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize("columns", [40, 100])
@pytest.mark.parametrize("command", ["timeline", "slices", "files"])
def test_no_line_is_wider_than_the_terminal(table, command, columns):
    shown = COLOUR.sub("", in_process(command, table, columns=columns).out)
    assert max(cell_len(line) for line in shown.splitlines()) <= columns


@pytest.mark.parametrize("columns", [40, 120])
def test_nothing_is_cut_off_on_a_narrow_terminal(table, columns):
    shown = COLOUR.sub("", in_process("slices", table, columns=columns).out)
    rows = in_process("slices", table).out.splitlines()[1:]
    assert rows
    for cell in (cell for row in rows for cell in row.split()):
        assert cell in re.sub(r"\s+", " ", shown) or cell in re.sub(r"\s+", "", shown)


def test_wide_terminal_has_a_table_and_a_narrow_one_a_block_per_row(table):
    assert "1 of 3" not in in_process("slices", table, columns=80).out
    narrow = COLOUR.sub("", on_terminal("slices", table, columns=45).out)
    assert [line.rstrip("-").strip() for line in narrow.splitlines() if " of " in line] == [
        "1 of 3",
        "2 of 3",
        "3 of 3",
    ]


@pytest.mark.parametrize("command", ["files", "column-statistics", "scan"])
def test_limit_is_the_number_of_rows(table, command):
    assert len(json.loads(in_process(command, table, "-o", "json").out)) > 3
    assert len(json.loads(in_process(command, table, "--limit", "3", "-o", "json").out)) == 3
    assert len(in_process(command, table, "-n", "3").out.splitlines()) == 4


def test_meta_columns_are_printed_only_on_request(table):
    for command in ("scan", "column-statistics"):
        assert "_hoodie_record_key" not in in_process(command, table).out
        assert "_hoodie_record_key" in in_process(command, table, "--meta").out
        assert "_hoodie_record_key" in in_process(command, table, "-o", "csv").out


def test_beginning_of_a_file_id_is_enough_for_its_history(golden_table):
    table = str(golden_table("v9_mor_cdc_data_before_after"))
    group = ("--file-group",)
    whole = in_process("history", table, "4facb1b4-c19b-4e8a-a45e-2fe528f24aae-0", *group)
    assert in_process("history", table, "4facb1b4", *group).out == whole.out != ""
    assert in_process("history", table, "", *group).code == 2


def test_table_without_a_metadata_table_says_so(table):
    ended = in_process("metadata", table)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "the table has no registered metadata table, so reads list folders\n"
    assert in_process("metadata", table, "-o", "json").out == "[]\n"


def test_progress_is_not_shown_where_standard_error_is_not_a_terminal(table):
    assert on_terminal("doctor", table).err == ""


def test_pipe_is_never_wrapped(golden_table):
    lines = hudi_py("files", str(golden_table(MOR)), COLUMNS="20").out.splitlines()
    assert len(lines) == 15  # the names and 14 files, by the commits of the case


def test_characters_that_a_terminal_obeys_are_shown_instead():
    assert printable("a\x1b[31mb\nc\td\x07é✓") == "a\\u001b[31mb\\nc\\td\\u0007é✓"


def test_rows_with_control_characters_stay_on_their_line(capsysbinary):
    show(pa.table({"text": ["one\ntwo", "\x1b[2J", None, ""]}), "table", null="null")
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert lines == ["text", "one\\ntwo", "\\u001b[2J", "null", ""]


@pytest.mark.parametrize("command", [*COMMANDS, "log blocks", "log records"])
def test_every_command_has_help(command):
    ended = in_process(*command.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert f"hudi-py {command}" in ended.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_can_be_had(shell):
    ended = hudi_py(_HUDI_PY_COMPLETE=f"{shell}_source")
    assert ended.code == 0
    assert "_HUDI_PY_COMPLETE" in ended.out


def test_completion_completes():
    completed = hudi_py(
        _HUDI_PY_COMPLETE="bash_complete", COMP_WORDS="hudi-py desc", COMP_CWORD="1"
    )
    assert completed.out.split() == ["plain,describe"]


@pytest.mark.parametrize("words", ["hudi-py count d", "hudi-py log blocks d", "hudi-py demo d"])
def test_completion_leaves_paths_to_the_shell(words):
    completed = hudi_py(
        _HUDI_PY_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" "))
    )
    assert completed.out.split() == ["file,d"]
