"""Find or install the Java that Spark 4 needs, and print its home.

python .ci/java.py              print JAVA_HOME, or end with exit code 1 and the command to run
python .ci/java.py --say        say which Java there is, or what --install would install, and where
python .ci/java.py --install    install a Java if there is none: apt-get as root, else into .java/
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROJECT = Path(__file__).resolve().parent.parent
OLDEST = 17  # for Spark 4
PREFERRED = (17, 21)  # long-term releases with which every Spark 4.x is tested
APT_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")  # Debian 13 has no 17
WHAT_TO_DO = (
    "Spark needs Java 17 or newer, and none was found. "
    f"Run: sudo apt-get install -y {APT_PACKAGES[0]}   (or set JAVA_HOME)"
)

# Where installers put Java, relative to "/", to the home folder and to the project.
SYSTEM_HOMES = (
    "usr/lib/jvm/*",
    "usr/java/*",
    "opt/*",
    "opt/*/*",
    "Library/Java/JavaVirtualMachines/*/Contents/Home",
)
USER_HOMES = (
    ".sdkman/candidates/java/*",
    ".jdk/*",
    ".jdk/*/Contents/Home",
    "Library/Java/JavaVirtualMachines/*/Contents/Home",
)
PROJECT_HOMES = (".java/*", ".java/*/Contents/Home")


@dataclass(frozen=True, slots=True)
class Java:
    """A working Java that Spark can use."""

    home: Path  # value for JAVA_HOME
    version: int  # feature release: 17, 21 …


def candidates(env: Mapping[str, str], project: Path, root: Path) -> Iterator[Path]:
    """Yield files that may be a ``java`` command, the most explicit choice first, each once."""
    seen: set[Path] = set()
    for path in _places(env, project, root):
        if path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            yield path


def _places(env: Mapping[str, str], project: Path, root: Path) -> Iterator[Path]:
    if env.get("JAVA_HOME"):
        yield Path(env["JAVA_HOME"], "bin/java")
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path:
        yield Path(on_path)
    folders = [(project, PROJECT_HOMES), (root, SYSTEM_HOMES)]
    if env.get("HOME"):
        folders.append((Path(env["HOME"]), USER_HOMES))
    for folder, patterns in folders:
        for pattern in patterns:
            yield from sorted(folder.glob(f"{pattern}/bin/java"))


def probe(command: Path, env: Mapping[str, str]) -> Java | None:
    """Start a ``java`` and return its home and release; None if Spark cannot use it.

    It is started with the module that Spark needs, which some runtimes lack.
    """
    question = ["--add-modules=jdk.incubator.vector", "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            [str(command), *question],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = answer.stderr + answer.stdout
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (\d+)", text, re.MULTILINE)
    if answer.returncode or not home or not version or int(version[1]) < OLDEST:
        return None
    return Java(Path(home[1]), int(version[1]))


def find(
    env: Mapping[str, str] = os.environ, project: Path = PROJECT, root: Path = Path("/")
) -> Java | None:
    """Return the first Java of a preferred release, else the first that is new enough."""
    spare: Java | None = None
    for command in candidates(env, project, root):
        java = probe(command, env)
        if java and java.version in PREFERRED:
            return java
        spare = spare or java
    return spare


def install(
    env: Mapping[str, str],
    project: Path,
    root: Path,
    *,
    is_root: bool,
    python: str = sys.executable,
) -> Java | None:
    """Install Java with the system's package manager or into ``.java/``; None if neither works."""
    if _has_apt(env, is_root=is_root):
        _say(f"No Java {OLDEST}+ found: installing one with apt-get.")
        quiet = {**env, "DEBIAN_FRONTEND": "noninteractive"}
        _run(["apt-get", "update", "-qq"], quiet)
        for package in APT_PACKAGES:
            get = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
            if _run(get, quiet) and (java := find(env, project, root)):
                return java
    _say(f"No Java {OLDEST}+ found: downloading one into .java/ of this project.")
    (project / ".java").mkdir(exist_ok=True)
    if not _run([python, "-m", "pip", "install", "--quiet", "install-jdk>=1.1"], env):
        return None
    for jre in (True, False):  # the smaller one first; the full JDK has every module
        code = "import sys, jdk; jdk.install('17', path=sys.argv[1], jre=sys.argv[2] == 'True')"
        got = _run([python, "-c", code, str(project / ".java"), str(jre)], env)
        if got and (java := find(env, project, root)):
            return java
    return None


def _has_apt(env: Mapping[str, str], *, is_root: bool) -> bool:
    return is_root and shutil.which("apt-get", path=env.get("PATH", "")) is not None


def plan(env: Mapping[str, str], found: Java | None, *, is_root: bool) -> str:
    """Say which Java there is, or what `install` would do."""
    if found:
        return f"Java {found.version} is there: {found.home}"
    if _has_apt(env, is_root=is_root):
        what = f"apt-get will install {APT_PACKAGES[0]} into the system"
    else:
        what = "one will be downloaded into .java/ of this project"
    return f"There is no Java {OLDEST} or newer, which Spark needs: {what}"


def _run(command: Sequence[str], env: Mapping[str, str]) -> bool:
    # The program is looked up in the given environment, not in that of this process.
    program = shutil.which(command[0], path=env.get("PATH", "")) or command[0]
    done = subprocess.run(
        [program, *command[1:]],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        _say(f"  {Path(command[0]).name} failed: {last}")
    return done.returncode == 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Print the home of a Java; return the exit code."""
    java = find()
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if "--say" in arguments:
        print(plan(os.environ, java, is_root=is_root))
        return 0
    if java is None and "--install" in arguments:
        java = install(os.environ, PROJECT, Path("/"), is_root=is_root)
    if java is None:
        _say(WHAT_TO_DO)
        return 1
    print(java.home)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
