"""Runs the command as users do: a separate process, with a pipe or a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from typing import TYPE_CHECKING

from click.testing import CliRunner

from hudi_pyspark.cli import app
from tests.conftest import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "hudi_pyspark.cli"]


@dataclass(frozen=True)
class Ended:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


def environment(**variables: str) -> dict[str, str]:
    """Variables of this process, without those that change colours or widths."""
    names = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "PYTHONWARNINGS"}
    kept = {name: value for name, value in os.environ.items() if name not in names}
    fixed = {"PYTHONPATH": str(PROJECT), "TERM": "xterm-256color"}
    return {**kept, **fixed, **variables}


def hudi_py(*arguments: str, cwd: Path | None = None, **variables: str) -> Ended:
    """Run the command with pipes instead of a terminal."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_process(*arguments: str, columns: int = 0) -> Ended:
    """Run the command within this process: for the many runs that need no process of their own.

    Args:
        arguments: of the command.
        columns: width of the terminal that it takes its output for; 0 for a pipe.
    """
    terminal = {"COLUMNS": str(columns or 200), "FORCE_COLOR": "1" if columns else None}
    result = CliRunner().invoke(app.hudi_py, arguments, prog_name="hudi-py", env=terminal)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


def on_terminal(
    *arguments: str, columns: int = 80, cwd: Path | None = None, **variables: str
) -> Ended:
    """Run the command on a terminal; standard error goes to a pipe."""
    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**variables),
        stdin=other_end,
        stdout=other_end,
        stderr=subprocess.PIPE,
    )
    os.close(other_end)
    out = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # what Linux says when the other end is closed
            break
        if not part:
            break
        out += part
    os.close(terminal)
    _, err = process.communicate()
    return Ended(process.returncode, out.decode().replace("\r\n", "\n"), err.decode())
