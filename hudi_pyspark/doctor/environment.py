"""Checks of this machine: Python, packages, Java, Spark and its settings."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path

from hudi_pyspark.doctor.finding import Finding, Severity

PYTHON = "python"
PACKAGES = "packages"
JAVA = "java"
SPARK = "spark"
OLDEST_PYTHON = (3, 10)
# Lowest supported versions, as in the dependencies and extras of the project.
NEEDED = {"pyarrow": "19.0.1", "numpy": "1.26", "fastavro": "1.9"}
OPTIONAL = {"pyspark": "4.0", "pandas": "2.0", "polars": "2.0", "typer": "0.26", "rich": "14.3"}
OLDEST_JAVA = 17
OPTIMIZER = "spark.hudi-py.optimizer.enabled"
PRUNING = "column pruning"
_REMOTE = "spark.remote"
_API_MODE = "spark.api.mode"
_WORKER_PYTHON = "spark.pyspark.python"
_SECONDS = 30
_ASK_PYTHON = (
    "import sys, pyarrow, numpy, fastavro; "
    "print('%d.%d' % sys.version_info[:2], pyarrow.__version__)"
)


@dataclass(frozen=True)
class Machine:
    """The state of a machine that the checks use; tests pass other machines."""

    env: Mapping[str, str]
    python: tuple[int, ...]
    version_of: Callable[[str], str | None]  # of an installed package; None if it is not there
    run: Callable[[list[str]], str]  # standard output and error; raises OSError

    @classmethod
    def here(cls, env: Mapping[str, str]) -> Machine:
        """Return this machine, with the environment variables of a process."""
        return cls(env, sys.version_info[:3], _installed_version, _run)

    def find(self, command: str) -> str | None:
        """Return the full path of a command, given by name or path; None if it does not exist."""
        return shutil.which(command, path=self.env.get("PATH", ""))


def examine_environment(machine: Machine) -> Iterator[Finding]:
    """Check that a machine can read tables: Python and its packages, then what Spark needs."""
    yield _check_python(machine)
    for package, floor in {**NEEDED, **OPTIONAL}.items():
        if package in NEEDED or machine.version_of(package) is not None:
            yield _check_package(machine, package, floor)
    settings = spark_settings(machine.env)
    if machine.version_of("databricks-connect") is not None:  # has a pyspark of its own
        yield _check_pruning(machine, {**settings, _API_MODE: "connect"})
        return
    if machine.version_of("pyspark") is None:
        message = "pyspark is not installed: tables can only be read without Spark"
        yield Finding(Severity.NOTE, SPARK, "pyspark", message, "pip install 'pyspark>=4.0'")
        return
    pandas = machine.version_of("pandas") or ""
    if _numbers(pandas) >= (3,):
        message = f"{pandas}; pyspark 4.0 to 4.3 do not accept pandas 3"
        yield Finding(Severity.WARNING, PACKAGES, "pandas", message, "pip install 'pandas>=2.2,<3'")
    yield _check_java(machine)
    yield _check_worker_python(machine, settings)
    yield _check_pruning(machine, settings)


def spark_settings(env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session that files and the environment define."""
    home, folder = env.get("SPARK_HOME"), env.get("SPARK_CONF_DIR")
    file = Path(folder or Path(home or "", "conf"), "spark-defaults.conf")
    settings: dict[str, str] = {}
    if (folder or home) and file.is_file():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            match = re.fullmatch(r"\s*([^#\s=:]+)\s*[\s=:]\s*(.*?)\s*", line)
            if match:
                settings[match[1]] = match[2]
    arguments = shlex.split(env.get("PYSPARK_SUBMIT_ARGS", ""))
    given = (argument for flag, argument in pairwise(arguments) if flag in ("--conf", "-c"))
    return settings | dict(argument.split("=", 1) for argument in given if "=" in argument)


def _check_python(machine: Machine) -> Finding:
    version, oldest = (".".join(map(str, numbers)) for numbers in (machine.python, OLDEST_PYTHON))
    if machine.python[:2] >= OLDEST_PYTHON:
        return Finding(Severity.OK, PYTHON, "", f"Python {version}")
    message = f"Python {version}; {oldest} is the lowest supported version"
    return Finding(Severity.PROBLEM, PYTHON, "", message, "Use a newer Python")


def _check_package(machine: Machine, package: str, floor: str) -> Finding:
    version = machine.version_of(package)
    install = f"pip install '{package}>={floor}'"
    if version is None:
        return Finding(Severity.PROBLEM, PACKAGES, package, "not installed", install)
    if _numbers(version) >= _numbers(floor):
        return Finding(Severity.OK, PACKAGES, package, version)
    severity = Severity.PROBLEM if package in NEEDED else Severity.WARNING
    message = f"{version}; {floor} is the lowest supported version"
    return Finding(severity, PACKAGES, package, message, install)


def _check_java(machine: Machine) -> Finding:
    home = machine.env.get("JAVA_HOME", "")
    command = machine.find(str(Path(home, "bin", "java")) if home else "java")
    advice = (
        f"Install Java {OLDEST_JAVA} or 21 and set JAVA_HOME; Spark Connect clients need no Java"
    )
    if command is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "no java on the PATH"
        return Finding(Severity.WARNING, JAVA, "", f"{where}: Spark cannot start here", advice)
    try:
        answer = machine.run([command, "-version"])
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(Severity.WARNING, JAVA, command, f"does not start: {error}", advice)
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    if match is None:
        return Finding(Severity.WARNING, JAVA, command, "does not report its version", advice)
    version = int(match[1])
    if version < OLDEST_JAVA:
        message = f"Java {version}: Spark 4 needs {OLDEST_JAVA} or newer"
        return Finding(Severity.PROBLEM, JAVA, command, message, advice)
    return Finding(Severity.OK, JAVA, command, f"Java {version}")


def _check_worker_python(machine: Machine, settings: Mapping[str, str]) -> Finding:
    """Check the Python with which Spark starts the planner and the workers of a Python source."""
    name = "PYSPARK_PYTHON"
    python = settings.get(_WORKER_PYTHON) or machine.env.get(name) or "python3"
    origin = "PYSPARK_PYTHON is not set, so workers start python3 of the PATH"
    if python != "python3":
        origin = f"workers start {python}"
    advice = f"export PYSPARK_PYTHON={sys.executable}"
    command = machine.find(python)
    if command is None:
        return Finding(Severity.PROBLEM, SPARK, name, f"{origin}, which does not exist", advice)
    try:
        answer = machine.run([command, "-c", _ASK_PYTHON]).strip()
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(Severity.PROBLEM, SPARK, name, f"{origin}, which fails: {error}", advice)
    match = re.fullmatch(r"(\d+\.\d+) (\S+)", answer)
    if match is None:
        last = answer.splitlines()[-1] if answer else "no answer"
        message = f"{origin}, which lacks pyarrow, numpy or fastavro: {last}"
        return Finding(Severity.PROBLEM, SPARK, name, message, advice)
    here = ".".join(map(str, machine.python[:2]))
    if match[1] != here:
        message = f"{origin}: Python {match[1]}, but this is {here}; Spark needs the same release"
        return Finding(Severity.PROBLEM, SPARK, name, message, advice)
    message = f"{origin}: Python {match[1]} with pyarrow {match[2]}"
    return Finding(Severity.OK, SPARK, name, message)


def _check_pruning(machine: Machine, settings: Mapping[str, str]) -> Finding:
    """Say whether a session that registers the source reads only the columns of a query."""
    advice = "Name the columns that a query needs: option columns, or .schema(...)"
    value = settings.get(OPTIMIZER, "true").strip().lower()
    if value != "true":
        return Finding(Severity.NOTE, SPARK, PRUNING, f"off: {OPTIMIZER} is {value}", advice)
    remote = machine.env.get("SPARK_REMOTE") or settings.get(_REMOTE)
    is_connect = remote or settings.get(_API_MODE, "classic").strip().lower() == "connect"
    where = f" of Spark Connect{f' ({remote})' if remote else ''}" if is_connect else ""
    message = f"on in sessions{where} that call hudi_pyspark.register(spark) or hudi_pyspark.read"
    return Finding(Severity.OK, SPARK, PRUNING, message)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (26, 0, 1) of 26.0.1.dev3."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr
