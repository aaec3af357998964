"""The doctor's findings on described machines, and on this one."""

import os
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_pyspark.doctor.environment import (
    NEEDED,
    OPTIONAL,
    Machine,
    examine_environment,
)
from hudi_pyspark.doctor.finding import Severity
from tests.conftest import PROJECT

GOOD = {
    "pyarrow": "26.0.1",
    "numpy": "2.1.0",
    "fastavro": "1.13.1",
    "pyspark": "4.3.0",
    "pandas": "2.3.3",
}
ANSWERS = {
    "java": 'openjdk version "17.0.9" 2023-10-17\n',
    "old": 'java version "1.8.0_392"\n',
    "python3": "3.11 26.0.1\n",
    "python3.12": "3.12 26.0.1\n",
    "bare": "Traceback …\nModuleNotFoundError: No module named 'pyarrow'\n",
}


@pytest.fixture
def commands(tmp_path):
    """A folder of programs that are there; nothing is run."""
    for name in (*ANSWERS, "broken"):
        file = tmp_path / name
        file.write_text("")
        file.chmod(0o755)
    return tmp_path


def machine(commands, *, python=(3, 11, 7), versions=GOOD, **env) -> Machine:
    def run(command: list[str]) -> str:
        name = Path(command[0]).name
        return ANSWERS.get(name, "does not start: cannot execute")

    return Machine({"PATH": str(commands), **env}, python, versions.get, run)


def found(machine, *severities, **settings):
    arguments = [part for item in settings.items() for part in ("--conf", "=".join(item))]
    env = {**machine.env, "PYSPARK_SUBMIT_ARGS": shlex.join(arguments)}
    findings = examine_environment(replace(machine, env=env))
    return {(f.check, f.subject): f for f in findings if f.severity in severities}


def bad(machine):
    return list(found(machine, Severity.PROBLEM, Severity.WARNING))


def test_good_machine(commands):
    assert bad(machine(commands)) == []


@pytest.mark.parametrize("package", ["pyarrow", "numpy", "fastavro"])
def test_needed_package_is_missing_or_old(commands, package):
    without = {name: version for name, version in GOOD.items() if name != package}
    assert bad(machine(commands, versions=without)) == [("packages", package)]
    assert bad(machine(commands, versions={**GOOD, package: "1.2"})) == [("packages", package)]


def test_version_is_compared_by_its_numbers(commands):
    assert bad(machine(commands, versions={**GOOD, "pyarrow": "100.0.0.dev3"})) == []


def test_without_pyspark_neither_java_nor_workers_matter(tmp_path):
    without = {name: version for name, version in GOOD.items() if name != "pyspark"}
    bare = machine(tmp_path / "nothing", versions=without)
    assert bad(bare) == []
    assert ("spark", "pyspark") in found(bare, Severity.NOTE)


def test_client_of_databricks_needs_neither_java_nor_workers(tmp_path):
    versions = {**GOOD, "pyspark": None, "databricks-connect": "19.3.0"}
    bare = machine(tmp_path, versions=versions)
    assert bad(bare) == []


def test_pandas_3_beside_pyspark(commands):
    assert bad(machine(commands, versions={**GOOD, "pandas": "3.0.1"})) == [("packages", "pandas")]


def test_old_java(commands, tmp_path):
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text("")
    java.chmod(0o755)
    here = machine(commands, JAVA_HOME=str(home))
    old = Machine(here.env, here.python, here.version_of, lambda _: ANSWERS["old"])
    (finding,) = (f for f in examine_environment(old) if f.check == "java")
    assert finding.severity is Severity.PROBLEM
    assert finding.message.startswith("Java 8:")


def test_java_home_without_java(commands):
    assert ("java", "/nowhere/bin/java") in bad(machine(commands, JAVA_HOME="/nowhere"))


@pytest.mark.parametrize(
    ("python", "says"),
    [
        pytest.param("python3.12", "Python 3.12, but this is 3.11", id="another version"),
        pytest.param("bare", "No module named 'pyarrow'", id="without packages"),
        pytest.param("nowhere", "does not exist", id="missing"),
        pytest.param("broken", "cannot execute", id="does not start"),
    ],
)
def test_python_of_the_workers(commands, python, says):
    problems = found(machine(commands, PYSPARK_PYTHON=python), Severity.PROBLEM)
    assert says in problems["spark", "PYSPARK_PYTHON"].message


def test_setting_of_the_session_beats_the_environment(commands):
    settings = {"spark.pyspark.python": "python3"}
    other = machine(commands, PYSPARK_PYTHON="nowhere")
    assert found(other, Severity.PROBLEM, **settings) == {}


@pytest.mark.parametrize("line", ["{}   python3", "{}=python3", " {}: python3 "])
@pytest.mark.parametrize("folder", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_defaults_of_spark_name_the_python_of_the_workers(commands, tmp_path, folder, line):
    conf = tmp_path / "conf"
    conf.mkdir()
    text = "# comment\nspark.b=two words\n" + line.format("spark.pyspark.python")
    (conf / "spark-defaults.conf").write_text(text)
    place = conf if folder == "SPARK_CONF_DIR" else tmp_path
    other = machine(commands, PYSPARK_PYTHON="nowhere", **{folder: str(place)})
    assert found(other, Severity.PROBLEM) == {}
    # What is given to a session beats its defaults.
    settings = {"spark.pyspark.python": "bare"}
    assert ("spark", "PYSPARK_PYTHON") in found(other, Severity.PROBLEM, **settings)


def test_floors_are_those_of_the_project():
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    for package, floor in {**NEEDED, **OPTIONAL}.items():
        assert re.search(rf'"{package}>={re.escape(floor)}[",]', text), package


def test_this_machine_is_asked():
    here = Machine.here(os.environ)
    assert here.version_of("pyarrow")
    assert here.version_of("no-such-package") is None
    assert "3." in here.ask(sys.executable, "--version")
    assert here.run(["/no/such/program"]).startswith("does not start: ")
