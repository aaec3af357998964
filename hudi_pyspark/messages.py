"""Warn and log with escaped control characters, which could steer a terminal or forge a line."""

import logging
import warnings

from hudi_pyspark.errors import printable


def warn(text: str, *, stacklevel: int) -> None:
    """Warn, with the ``stacklevel`` that the caller would give to `warnings.warn`."""
    warnings.warn(printable(text), UserWarning, stacklevel=stacklevel + 1)


def logger(name: str) -> logging.Logger:
    """Return the logger of a module, which escapes control characters."""
    log = logging.getLogger(name)
    log.addFilter(_escape)
    return log


def _escape(record: logging.LogRecord) -> bool:
    record.msg = printable(record.getMessage())
    record.args = None
    return True
