"""Import the functions of users that options name as ``module:function``."""

import importlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from hudi_pyspark.errors import InvalidOptionError

ALLOWED: Final = "HUDI_PYSPARK_FUNCTIONS"
_SERVERS = re.compile(r"SparkConnectServer|SparkConnectPlugin|HiveThriftServer2")


def import_function(option: str, reference: str) -> Callable[..., Any]:
    """Import the function that an option names as ``module:function``.

    A server that many people share calls only functions that its environment allows. Otherwise
    whoever may read a table could call any function there.

    Args:
        option: name of the option, for errors.
        reference: value of the option.

    Raises:
        InvalidOptionError: the text has another form, names nothing that can be imported and
            called, or the process may not call it.
    """
    module_name, colon, name = reference.partition(":")
    _check_allowed(option, module_name)
    try:
        imported: object = getattr(importlib.import_module(module_name), name) if colon else None
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InvalidOptionError(f"{option} is {reference!r}: {error}") from error
    if not callable(imported):
        raise InvalidOptionError(
            f"{option} is {reference!r}; give module:function, importable on every executor"
        )
    return imported


def _check_allowed(option: str, module: str) -> None:
    """Refuse a module that this process may not import for its users."""
    allowed = os.environ.get(ALLOWED)
    if allowed is None:
        if not any(_SERVERS.search(command) for command in _commands()):
            return
        problem = "on a server of Spark Connect or Thrift, functions are not called by default"
    else:
        if allowed.strip() == "*" or module in re.split(r"[,\s]+", allowed):
            return
        problem = f"{ALLOWED} does not name the module {module}"
    raise InvalidOptionError(
        f"{option} is not allowed here: {problem}. Whoever administers the server allows modules "
        f"in its environment, for example {ALLOWED}={module} in conf/spark-env.sh"
    )


def _commands() -> Iterator[str]:
    """Yield the command lines of this process and of its parents; nothing if there is no /proc."""
    process = os.getpid()
    while process > 1:
        folder = Path("/proc", str(process))
        try:
            yield (folder / "cmdline").read_bytes().decode("utf-8", "replace")
            # The name may contain brackets. After it come the state and the parent.
            process = int((folder / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return
