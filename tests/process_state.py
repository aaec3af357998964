"""State of a process that a caller can set.

No answer may depend on it: `drawn_state` draws it at random. And no test may leave it changed:
`state_that_tests_share` is compared before and after each of them.
"""

from __future__ import annotations

import decimal
import gc
import locale
import os
import sys
import time
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_pyspark.custom_mergers import registered_payloads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_ROUNDINGS = [name for name in dir(decimal) if name.startswith("ROUND_")]
_SIGNALS = [decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.InvalidOperation]
_ZONES = ["UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"]
# Variables that pytest sets for each test, and those that a library sets once, at its first use.
_OF_LIBRARIES = {
    "PYTEST_CURRENT_TEST",
    "SPARK_AUTH_SOCKET_TIMEOUT",  # by PySpark
    "SPARK_BUFFER_SIZE",
    "_RJEM_MALLOC_CONF",  # by Polars
    "MPLCONFIGDIR",  # by Matplotlib, if the user has no home folder
}


def state_that_tests_share() -> dict[str, object]:
    """Return, by name, what a test could change for the tests that run after it."""
    context = decimal.getcontext()
    return {
        **{f"the variable {n}": v for n, v in os.environ.items() if n not in _OF_LIBRARIES},
        "the working directory": str(Path.cwd()),
        "the time zone": (time.timezone, time.tzname),
        "the locale": _locale(),
        "the decimal context": (context.prec, context.rounding, context.Emin, context.Emax),
        "the errors of numpy": np.geterr(),
        "the threads of pyarrow": (pa.cpu_count(), pa.io_thread_count()),
        "the path of modules": [*sys.path],
        "the thresholds of the garbage collection": gc.get_threshold(),
        "the registered mergers": [*registered_payloads()],
    }


def changes(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Return what differs between two states, each as a text."""
    return [
        f"{name}: {before.get(name)} became {after.get(name)}"
        for name in sorted(before | after)
        if before.get(name) != after.get(name)
    ]


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    """Set the time zone of the process, and set it back in any case."""
    with ExitStack() as stack:
        _set_back(stack, _zone, _set_zone, name)
        yield


@contextmanager
def drawn_state(random: Random, *, zones: bool = True) -> Iterator[None]:
    """Give the process a state that other code might have left, and take it away again.

    Args:
        random: draws the state.
        zones: draw the time zone as well; where a table's times are local ones, it decides rows.
    """
    with ExitStack() as stack:
        stack.enter_context(decimal.localcontext(_decimal_context(random)))
        stack.enter_context(np.errstate(all=random.choice(["ignore", "raise", "warn"])))
        _set_back(stack, pa.cpu_count, pa.set_cpu_count, random.choice([1, 2, 7]))
        _set_back(stack, pa.io_thread_count, pa.set_io_thread_count, random.choice([1, 3, 8]))
        if hasattr(sys, "set_int_max_str_digits"):
            digits = random.choice([640, 4300, 0])
            _set_back(stack, sys.get_int_max_str_digits, sys.set_int_max_str_digits, digits)
        _set_back(stack, _locale, _set_locale, random.choice(["C", "C.UTF-8", ""]))
        if zones:
            _set_back(stack, _zone, _set_zone, random.choice(_ZONES))
        stack.enter_context(warnings.catch_warnings())
        yield


def _decimal_context(random: Random) -> decimal.Context:
    return decimal.Context(
        prec=random.choice([1, 3, 9, 28, 38, 76]),
        rounding=random.choice(_ROUNDINGS),
        Emin=random.choice([decimal.MIN_EMIN, -999, 0]),
        Emax=random.choice([decimal.MAX_EMAX, 999, 0]),
        capitals=random.choice([0, 1]),
        clamp=random.choice([0, 1]),
        traps=random.sample(_SIGNALS, random.randint(0, len(_SIGNALS))),
    )


def _set_back(
    stack: ExitStack, get: Callable[[], object], put: Callable[..., object], value: object
) -> None:
    """Set a state, and have it set back at the end."""
    stack.callback(put, get())
    put(value)


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _set_locale(name: str) -> None:
    locale.setlocale(locale.LC_ALL, name)


def _zone() -> str | None:
    return os.environ.get("TZ")


def _set_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    time.tzset()
