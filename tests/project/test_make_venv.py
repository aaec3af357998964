"""`.ci/make_venv.sh` where the Python that it finds is missing, too old or incomplete."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "make_venv.sh"


@pytest.fixture(autouse=True)
def no_choice_of_python(monkeypatch):
    monkeypatch.delenv("BASE_PYTHON", raising=False)


@pytest.fixture
def run(tmp_path):
    """Runs the script with nothing on the PATH but the given commands."""

    def run(commands: dict[str, str]) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name, body in commands.items():
            (folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (folder / name).chmod(0o755)
        return subprocess.run(
            ["/bin/sh", str(SCRIPT), str(tmp_path / ".venv")],
            env={"PATH": str(folder), "BASE_PYTHON": os.environ.get("BASE_PYTHON", "")},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_missing_python_is_reported_in_one_line(run):
    done = run({})
    assert done.returncode == 1
    assert done.stderr == (
        "No Python 3.10 or newer found. Run: sudo apt-get install -y python3 python3-venv\n"
    )


def test_shim_without_a_python_behind_it_is_passed_over(run):
    done = run({"python3.11": "echo 'command not found' >&2; exit 127"})
    assert done.stderr.startswith("No Python 3.10 or newer found")


def test_python_without_ensurepip_names_the_package_to_install(run):
    without = f'case "$2" in *ensurepip*) exit 1;; esac; exec {sys.executable} "$@"'
    done = run({"python3": without})
    version = "python{}.{}".format(*sys.version_info)
    assert done.returncode == 1
    assert done.stderr == (
        f"{version} cannot create a virtual environment. "
        f"Run: sudo apt-get install -y {version}-venv\n"
    )


def test_python_3_11_is_taken_before_newer_ones(run):
    python = 'case "$1" in -m) echo "$0 $*";; --version) echo "Python";; esac'
    done = run({"python3.13": python, "python3.11": python, "python3": python})
    assert "bin/python3.11 -m venv --clear" in done.stdout


def test_named_python_is_taken_before_all_others(run, monkeypatch):
    monkeypatch.setenv("BASE_PYTHON", "python3.10 python3.12")
    python = 'case "$1" in -m) echo "$0 $*";; --version) echo "Python";; esac'
    done = run({"python3.12": python, "python3.11": python})
    assert "bin/python3.12 -m venv --clear" in done.stdout


def test_environment_that_works_is_left_alone(run, tmp_path):
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    done = run({})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
