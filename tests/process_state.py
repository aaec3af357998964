"""State of a process that a caller can set, drawn at random: no answer may depend on it."""

from __future__ import annotations

import decimal
import locale
import os
import sys
import time
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_ROUNDINGS = [name for name in dir(decimal) if name.startswith("ROUND_")]
_SIGNALS = [decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.InvalidOperation]
_ZONES = ["UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"]


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
