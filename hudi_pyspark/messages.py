"""Warn and log with escaped control characters, which could steer a terminal or forge a line."""

import logging
import sys
import warnings
from typing import Final

from hudi_pyspark.errors import printable

_PACKAGE: Final = __name__.partition(".")[0]


def warn(text: str) -> None:
    """Warn at the line that called this package, from wherever inside it."""
    warnings.warn(printable(text), UserWarning, stacklevel=_levels_to_caller())


def _levels_to_caller() -> int:
    """Return the ``stacklevel``, for `warn`, of the frame that called this package.

    It is the frame below the outermost one of the package: Python's own modules may lie between.
    """
    frame = sys._getframe(1)  # noqa: SLF001  (`inspect.stack` reads the files of all frames)
    level = outermost = 1
    while frame.f_back is not None:
        frame = frame.f_back
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            continue
        outermost = level
    return outermost + 1


def logger(name: str) -> logging.Logger:
    """Return the logger of a module, which escapes control characters."""
    log = logging.getLogger(name)
    log.addFilter(_escape)
    return log


def _escape(record: logging.LogRecord) -> bool:
    record.msg = printable(record.getMessage())
    record.args = None
    return True
