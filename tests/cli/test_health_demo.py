"""`hudi-py demo`, and the command as a wheel installs it."""

import shlex
import subprocess
import sys
import zipfile

import pytest

from hudi_pyspark import HudiTable, unpack_demo
from tests.cli.command import environment, in_process


def test_commands_of_the_demo_show_the_rows_that_hudi_reads(tmp_path):
    ended = in_process("demo", str(tmp_path))
    assert (ended.code, ended.err) == (0, "")
    commands = [shlex.split(line)[1:] for line in ended.out.splitlines()[1:]]
    shown = {command[0]: in_process(*command) for command in commands}
    assert {each.code for each in shown.values()} == {0}
    # Golden cases v9_mor_part_basic and v9_mor_cdc_data_before_after: what Apache Hudi 1.2.0 reads.
    assert shown["timeline"].out.count("completed") == 6
    assert shown["count"].out == "47\n"
    assert HudiTable(tmp_path / "orders_cdc").scan().count() == 9


@pytest.mark.parametrize("name", ["orders", "orders_cdc"])
def test_demo_table_is_whole(tmp_path, name):
    in_process("demo", str(tmp_path))
    assert in_process("doctor", "--deep", "--strict", str(tmp_path / name)).code == 0


def test_demo_keeps_what_is_there(tmp_path):
    (tmp_path / "orders").mkdir()
    ended = in_process("demo", str(tmp_path))
    assert ended.code == 2
    assert list((tmp_path / "orders").iterdir()) == []


def test_demo_from_python_leaves_a_table_that_is_there(tmp_path):
    (tmp_path / "orders").mkdir()
    unpack_demo(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders", "orders_cdc"]
    assert list((tmp_path / "orders").iterdir()) == []
    assert HudiTable(tmp_path / "orders_cdc").scan().count() == 9


def test_message_without_click_says_how_to_install_it():
    blocked = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: None if name == 'click' else find(name)\n"
        "import hudi_pyspark.cli\n"
        "hudi_pyspark.cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert "pip install click rich" in done.stderr


def test_core_is_imported_without_click_and_rich():
    code = "import hudi_pyspark, sys; sys.exit(bool({'click', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), check=False)
    assert done.returncode == 0


def test_wheel_has_the_command_and_its_table(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    points = next(tmp_path.glob("*.dist-info/entry_points.txt")).read_text()
    assert "hudi-py = hudi_pyspark.cli:main" in points
    script = (
        "import sys\n"
        "from hudi_pyspark.cli import main\n"
        "for arguments in (['demo', '.'], ['count', 'orders']):\n"
        "    sys.argv = ['hudi-py', *arguments]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as ended:\n"
        "        assert not ended.code, ended.code\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n47\n")
