"""What people see of a table cannot steer a terminal, forge a line or turn text around."""

import ast
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import hudi_pyspark
from hudi_pyspark import HudiTable, MissingFileError
from hudi_pyspark.errors import CorruptBaseFileError, HudiError, printable
from hudi_pyspark.messages import logger, warn
from tests.cli.command import hudi_py, in_process, on_terminal
from tests.hostile_names import (
    EVIL,
    FORGED,
    HALF,
    PARTITION,
    PATH,
    RAW,
    edit_commit,
    hostile_table,
)

INSTANT = "20240101000000000"
COMMANDS = [
    *("describe", "timeline", "commits --wide", f"commit {INSTANT} --wide", "slices"),
    *("files --wide", "services compactions", "schema", "schema --history", "partitions"),
    *("metadata", "column-statistics --wide", "stats", "properties", "count", "scan --meta"),
    *("scan --explain", "scan -o jsonl", "lookup KEY", "history KEY", f"diff 2023 {INSTANT}"),
    "doctor",
]


def assert_harmless(text: str) -> None:
    assert not {ascii(sign) for sign in RAW.findall(text)}
    assert not FORGED.search(text)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return hostile_table(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_names_that_are_harmless(table, command):
    name, *arguments = (f"k{EVIL}" if word == "KEY" else word for word in command.split())
    for output in ([], ["--output", "json"]):
        ended = in_process(name, table, *arguments, *output)
        assert ended.out + ended.err
        assert_harmless(ended.out + ended.err)


def test_csv_is_exact_in_a_pipe_and_harmless_on_a_terminal(table):
    arguments = "scan", table, "--output", "csv", "--columns", "id"
    assert f"k{EVIL}" in hudi_py(*arguments).out
    shown = on_terminal(*arguments).out
    assert not {"\x1b", "\x07", "\x9b", "\u202e"}.intersection(shown)


def test_report_and_notebook_show_names_that_are_harmless(table, tmp_path):
    opened = HudiTable(table)
    report = opened.report()
    texts = [repr(opened), opened._repr_html_(), report.to_html(), report.to_json(), repr(report)]
    texts += [opened.scan().explain(), opened.scan(filter=f"id = '{EVIL}'").explain()]
    for text in (*texts, str(opened.scan()), str(opened.doctor()), str(opened.description)):
        assert_harmless(text)
    ended = in_process("report", table, table, "-o", "json", "--to", str(tmp_path / "all"))
    assert_harmless(ended.out + ended.err + (tmp_path / "all/index.html").read_text())


def _replace_by_file(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_bytes(b"")


CHANGES = {  # that make the table unreadable
    "a file that is gone": lambda folder: (folder / PATH).unlink(),
    "a damaged file": lambda folder: (folder / PATH).write_bytes(b"PAR1"),
    "a partition that is a file": lambda folder: _replace_by_file(folder / PARTITION),
    "a path outside": lambda folder: edit_commit(folder, '"path": "', '"path": "../'),
    "another folder": lambda folder: edit_commit(folder, '"p=', '"../p='),
    "a file id": lambda folder: edit_commit(folder, "_0-1-0_", "_0-1-0_7"),
    "a type": lambda folder: edit_commit(folder, 'type\\": \\"string', 'type\\": \\"x\\\\u001b'),
    "half of a character": lambda folder: edit_commit(folder, "forged", "forged\\ud83d"),
    "half in a schema": lambda folder: edit_commit(folder, "forged", "forged\\\\ud83d"),
    "no commit": lambda folder: edit_commit(folder, '"partitionToWriteStats": {', '"x": {['),
}
PROPERTIES = [
    *("table.type", "table.version", "table.format", "table.base.file.format", "timeline.path"),
    *("timeline.layout.version", "record.merge.mode", "table.timeline.timezone"),
    *("populate.meta.fields", "table.storage.layout", "compaction.payload.class"),
    *("table.partial.update.mode", "table.ordering.fields", "table.recordkey.fields"),
    *("bootstrap.base.path", "bootstrap.index.type", "table.create.schema"),
]


def tried(ask: Callable[[], object]) -> list[str]:
    """What a script prints that asks without catching errors; none if there is no error."""
    try:
        ask()
    except (HudiError, OSError) as error:
        return traceback.format_exception(error)
    return []


@pytest.mark.parametrize("change", [*CHANGES, *PROPERTIES])
def test_errors_warnings_and_logs_show_names_that_are_harmless(tmp_path, caplog, change):
    is_property = change in PROPERTIES
    named = {change.replace(".", "__"): EVIL} if is_property else None
    path = hostile_table(tmp_path, named)
    if not is_property:
        CHANGES[change](tmp_path)
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        shown = [
            *tried(lambda: HudiTable(path).scan().to_arrow()),
            *tried(lambda: HudiTable(path).scan(begin="earliest").to_arrow()),
            *tried(lambda: HudiTable(path).inspect.files().num_rows),
            *tried(lambda: len(HudiTable(path).doctor())),
        ]
    for command in ("scan", "files", "slices", "partitions", "doctor"):
        ended = in_process(command, path)
        shown.append(ended.out + ended.err)
    shown += [record.getMessage() for record in caplog.records if "hudi" in record.name]
    for text in (*shown, *(str(each.message) for each in warned)):
        assert_harmless(text)


def test_error_keeps_the_name_as_the_table_has_it():
    error = CorruptBaseFileError(PATH, f"no column {EVIL}")
    assert error.place == PATH
    assert PATH in error.reason()
    assert_harmless(str(error))
    again = pickle.loads(pickle.dumps(error))
    assert (again.place, str(again)) == (PATH, str(error))


def test_text_that_has_been_escaped_stays_as_it_is():
    once = printable(f"{EVIL}{HALF} \\n ü ✓")
    assert printable(once) == once
    assert once.endswith("\\ud83d \\n ü ✓")
    assert str(MissingFileError(str(MissingFileError(EVIL)))).count("\\u001b[2J") == 1
    assert printable("a\nb\x07", keep_lines=True) == "a\nb\\u0007"


def test_log_records_and_warnings_are_escaped_with_their_arguments(caplog):
    logger("hudi_pyspark.test").warning("%s at %d: %s", EVIL, 7, OSError(EVIL))
    (record,) = caplog.records
    assert_harmless(record.getMessage())
    assert "at 7: " in record.getMessage()
    with pytest.warns(UserWarning, match="forged") as warned:
        warn(EVIL)
    assert_harmless(str(warned[0].message))
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "ask",
    [
        lambda table: table.scan(begin="2999"),
        lambda table: table.scan(as_of="2000-01-01"),
        lambda table: table.scan(**{"hoodie.no.such.key": 1}),
        lambda table: list(table.scan(as_of="2000-01-01").to_batches()),
        lambda table: table.dataset(as_of="2000-01-01").to_table(),
    ],
    ids=["range", "as-of", "option", "batches", "dataset"],
)
def test_warning_points_at_the_line_that_calls_the_package(ask, golden_table):
    table = HudiTable(golden_table("v6_mor_part_basic"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask(table)
    lines = [(each.filename, each.lineno) for each in caught]
    assert set(lines) == {(__file__, ask.__code__.co_firstlineno)}


def test_package_logs_and_warns_through_one_module_alone():
    package = Path(hudi_pyspark.__file__).parent
    for path in package.rglob("*.py"):
        calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        called = {ast.unparse(call) for call in calls}
        if path.name != "messages.py":
            assert "warnings.warn" not in called, path
            assert not any(c.endswith("getLogger") for c in called) or path.name == "reader.py"
