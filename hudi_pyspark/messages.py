"""Warn and log with escaped control characters, which could steer a terminal or forge a line."""

import logging
import sys
import warnings
from types import FrameType
from typing import Any, Final

from hudi_pyspark.errors import printable

_PACKAGE: Final = __name__.partition(".")[0]
# The packages whose code calls this one in Spark's Python processes: contextlib calls the methods
# that it decorates.
_SPARKS_CODE: Final = ("pyspark", "contextlib")
_shown_without_line: Final[dict[Any, Any]] = {}  # kept by `warnings`, which warns once per text


def warn(text: str) -> None:
    """Warn at the line that called this package, from wherever inside it.

    If Spark called it, the warning names no line: a line of Spark's code tells users nothing.
    """
    level, caller = _caller()
    if caller in _SPARKS_CODE:
        warnings.warn_explicit(
            printable(text), UserWarning, "hudi-py", 0, registry=_shown_without_line
        )
    else:
        warnings.warn(printable(text), UserWarning, stacklevel=level)


def _caller() -> tuple[int, str]:
    """Return the ``stacklevel`` for `warn` of the frame that called this package, and its package.

    It is the frame below the outermost one of the package: Python's own modules may lie between.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (`inspect.stack` reads all files)
    packages = []
    while frame is not None:
        packages.append(frame.f_globals.get("__name__", "").partition(".")[0])
        frame = frame.f_back
    outermost = max(level for level, package in enumerate(packages, 1) if package == _PACKAGE)
    return outermost + 1, packages[outermost] if outermost < len(packages) else ""


def logger(name: str) -> logging.Logger:
    """Return the logger of a module, which escapes control characters."""
    log = logging.getLogger(name)
    log.addFilter(_escape)
    return log


def _escape(record: logging.LogRecord) -> bool:
    record.msg = printable(record.getMessage())
    record.args = None
    return True
