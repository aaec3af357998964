"""Import the functions of users that options name as ``module:function``.

An option may come from anybody: a client of a server, a view, a file of settings. So whoever starts
the process says which modules its options may name, in its environment.
"""

import importlib
import os
import re
from collections.abc import Callable
from typing import Any, Final

from hudi_pyspark.errors import InvalidOptionError

ALLOWED: Final = "HUDI_PYSPARK_FUNCTIONS"


def import_function(option: str, reference: str) -> Callable[..., Any]:
    """Import the function that an option names as ``module:function``.

    Args:
        option: name of the option, for errors.
        reference: value of the option.

    Raises:
        InvalidOptionError: the environment of this process does not allow the module, the text has
            another form, or names nothing that can be imported and called.
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
    """Refuse a module that the environment of this process does not allow."""
    allowed = os.environ.get(ALLOWED, "")
    if allowed.strip() == "*" or (module and module in re.split(r"[,\s]+", allowed)):
        return
    problem = f"is {allowed!r}" if allowed else "is not set"
    raise InvalidOptionError(
        f"{option} may not import the module {module!r} here: the variable {ALLOWED} of this "
        f"process {problem}",
        advice=(
            f"Whoever starts the process allows modules: os.environ[{ALLOWED!r}] = {module!r} "
            f"before a session or a read starts, spark.executorEnv.{ALLOWED}={module} for the "
            f"executors of a cluster, and on a server {ALLOWED}={module} in conf/spark-env.sh. "
            "Commas separate modules"
        ),
    )
