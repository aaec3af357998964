"""Run tests in a process as a container or a service may have it.

Its user has a number without an entry, and no home folder. Time zone, language and decimal context
are others than those of a developer. Run as a module, it passes its arguments to pytest. It has to
be started by root, and needs setpriv of util-linux.

The process keeps the right to read each file, since Python itself may be installed in root's home.
For a user who is not root ``os.access`` ignores such rights, and `shutil.which` would not find this
Python, unless the process has the secure bit ``no_setuid_fixup``.
"""

from __future__ import annotations

import decimal
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROJECT = Path(__file__).resolve().parents[2]
USER = 12345  # has no entry in the password file
_READS = "+dac_read_search"
_SETTINGS = {
    "TZ": "Pacific/Kiritimati",  # 14 hours ahead of UTC
    "LC_ALL": "C",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": str(PROJECT),
}
_LEFT_OUT = ("HOME", "XDG_CACHE_HOME", "USER", "LOGNAME", "USERNAME", "SPARK_LOCAL_DIRS")


def obstacle() -> str:
    """Return why such a process cannot be started here; "" if it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can become another user"
    if shutil.which("setpriv") is None:
        return "setpriv is not installed"
    command = [*_become_user(), sys.executable, "-c", ""]
    probe = subprocess.run(command, check=False, capture_output=True)
    return f"setpriv failed: {probe.stderr.decode()}" if probe.returncode else ""


def _become_user() -> list[str]:
    return [
        *("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"),
        *("--inh-caps", _READS, "--ambient-caps", _READS, "--securebits", "+no_setuid_fixup"),
    ]


@contextmanager
def bare_python(*arguments: str) -> Iterator[tuple[list[str], dict[str, str], Path]]:
    """Give command and environment of such a Python, and a folder that it may write."""
    environment = {k: v for k, v in os.environ.items() if k not in _LEFT_OUT} | _SETTINGS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, USER, USER)
        for variable in ("TMPDIR", "HYPOTHESIS_STORAGE_DIRECTORY", "IPYTHONDIR"):
            environment[variable] = name
        yield [*_become_user(), sys.executable, *arguments], environment, folder


def run_pytest(arguments: Sequence[str]) -> int:
    """Run pytest in such a process, and return its exit code."""
    plugin = ("-p", __spec__.name if __name__ == "__main__" else __name__)
    with bare_python("-m", "pytest", "-p", "no:cacheprovider", *plugin) as bare:
        command, environment, folder = bare
        command += [f"--basetemp={folder / 'tests'}", *arguments]
        return subprocess.run(command, cwd=PROJECT, env=environment, check=False).returncode


def pytest_configure() -> None:
    """Change the decimal context of this thread, and of threads to come."""
    for context in (decimal.DefaultContext, decimal.getcontext()):
        context.prec = 3
        context.rounding = decimal.ROUND_UP


if __name__ == "__main__":
    problem = obstacle()
    sys.exit(problem or run_pytest(sys.argv[1:]))
