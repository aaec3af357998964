"""Checks of this machine: Python, packages, Java, and the Python of Spark's workers.

What fails with a good message of its own is not checked: a session without ``register`` warns.
"""

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
# Lowest supported versions, as in the dependencies and extras of the project.
NEEDED = {"pyarrow": "19.0.1", "numpy": "1.26", "fastavro": "1.9"}
OPTIONAL = {"pyspark": "4.0", "pandas": "2.0", "polars": "2.0", "click": "8.1", "rich": "14.3"}
OLDEST_JAVA = 17
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
    run: Callable[[list[str]], str]  # standard output and error, or why the command does not start

    @classmethod
    def here(cls, env: Mapping[str, str]) -> "Machine":
        """Return this machine, with the environment variables of a process."""
        return cls(env, sys.version_info[:3], _installed_version, _run)

    def ask(self, command: str, *arguments: str) -> str:
        """Return what a command answers; its path is looked up in ``PATH``."""
        path = shutil.which(command, path=self.env.get("PATH", ""))
        return self.run([path, *arguments]) if path else f"{command} does not exist"


def examine_environment(machine: Machine) -> Iterator[Finding]:
    """Check that a machine can read tables: Python and its packages, then what Spark needs."""
    yield Finding(Severity.OK, PYTHON, "", f"Python {'.'.join(map(str, machine.python))}")
    for package, floor in {**NEEDED, **OPTIONAL}.items():
        if package in NEEDED or machine.version_of(package) is not None:
            yield _check_package(machine, package, floor)
    if machine.version_of("databricks-connect") is not None:
        return  # it has a pyspark of its own, and needs neither Java nor workers
    if machine.version_of("pyspark") is None:
        message = "pyspark is not installed: tables can only be read without Spark"
        yield Finding(Severity.NOTE, SPARK, "pyspark", message, "pip install 'pyspark>=4.0'")
        return
    pandas = machine.version_of("pandas") or ""
    if _numbers(pandas) >= (3,):
        message = f"{pandas}; pyspark 4.0 to 4.3 do not accept pandas 3"
        yield Finding(Severity.WARNING, PACKAGES, "pandas", message, "pip install 'pandas>=2.2,<3'")
    yield _check_java(machine)
    yield _check_worker_python(machine)


def _check_package(machine: Machine, package: str, floor: str) -> Finding:
    version = machine.version_of(package)
    if version is not None and _numbers(version) >= _numbers(floor):
        return Finding(Severity.OK, PACKAGES, package, version)
    severity = Severity.PROBLEM if package in NEEDED else Severity.WARNING
    message = f"{version or 'not installed'}; {floor} is the lowest supported version"
    return Finding(severity, PACKAGES, package, message, f"pip install '{package}>={floor}'")


def _check_java(machine: Machine) -> Finding:
    home = machine.env.get("JAVA_HOME", "")
    command = str(Path(home, "bin", "java")) if home else "java"
    answer = machine.ask(command, "-version")
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    if match is not None and int(match[1]) >= OLDEST_JAVA:
        return Finding(Severity.OK, JAVA, command, f"Java {match[1]}")
    advice = (
        f"Install Java {OLDEST_JAVA} or 21 and set JAVA_HOME; Spark Connect clients need no Java"
    )
    if match is None:
        message = f"{answer.strip()}: Spark cannot start here"
        return Finding(Severity.WARNING, JAVA, command, message, advice)
    message = f"Java {match[1]}: Spark 4 needs {OLDEST_JAVA} or newer"
    return Finding(Severity.PROBLEM, JAVA, command, message, advice)


def _check_worker_python(machine: Machine) -> Finding:
    """Check the Python with which Spark starts the planner and the workers of a Python source."""
    name = "PYSPARK_PYTHON"
    python = _worker_python(machine.env) or machine.env.get(name) or "python3"
    answer = machine.ask(python, "-c", _ASK_PYTHON).strip()
    match = re.fullmatch(r"(\d+\.\d+) (\S+)", answer)
    here = ".".join(map(str, machine.python[:2]))
    if match is not None and match[1] == here:
        message = f"workers start {python}: Python {here} with pyarrow {match[2]}"
        return Finding(Severity.OK, SPARK, name, message)
    problem = answer.rpartition("\n")[2]
    if match is not None:
        problem = f"Python {match[1]}, but this is {here}; Spark needs the same release"
    advice = f"export {name}={sys.executable}"
    return Finding(Severity.PROBLEM, SPARK, name, f"workers start {python}: {problem}", advice)


def _worker_python(env: Mapping[str, str]) -> str:
    """Return the Python of workers that files and the environment set for a new session, or ""."""
    arguments = shlex.split(env.get("PYSPARK_SUBMIT_ARGS", ""))
    settings = [value for flag, value in pairwise(arguments) if flag in ("--conf", "-c")]
    folder = env.get("SPARK_CONF_DIR") or str(Path(env.get("SPARK_HOME", ""), "conf"))
    file = Path(folder, "spark-defaults.conf")
    if file.is_file():
        settings += file.read_text(encoding="utf-8", errors="replace").splitlines()
    pattern = re.compile(rf"\s*{re.escape(_WORKER_PYTHON)}\s*[\s=:]\s*(.*?)\s*")
    return next((match[1] for text in settings if (match := pattern.fullmatch(text))), "")


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
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not start: {error}"
    return done.stdout + done.stderr
