"""Warnings and log records, whose names of a table cannot steer a terminal or forge a line."""

import logging
import warnings

from hudi_pyspark.errors import printable


def warn(text: str, *, stacklevel: int) -> None:
    """Warn of something; ``stacklevel`` is that of `warnings.warn` in the caller."""
    warnings.warn(printable(text), UserWarning, stacklevel=stacklevel + 1)


def logger(name: str) -> logging.Logger:
    """Return the logger of a module; its records have control characters escaped."""
    log = logging.getLogger(name)
    log.addFilter(_escape)
    return log


def _escape(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage()), None
    return True
