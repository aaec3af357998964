"""Functions of users that options name as ``module:function``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from hudi_pyspark.errors import InvalidOptionError


def import_function(option: str, reference: str) -> Callable[..., Any]:
    """Return the function that an option names, as ``module:function``; its module is imported.

    Raises:
        InvalidOptionError: the text has another form, or names nothing that can be imported and
            called. It names the option.
    """
    module_name, colon, name = reference.partition(":")
    try:
        imported = getattr(importlib.import_module(module_name), name) if colon else None
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InvalidOptionError(f"{option} is {reference!r}: {error}") from error
    if not callable(imported):
        raise InvalidOptionError(
            f"{option} is {reference!r}; give module:function, importable on every executor"
        )
    function: Callable[..., Any] = imported
    return function
