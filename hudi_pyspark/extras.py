"""Errors that say what to install if an optional library is missing."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_extra(extra: str = "") -> Iterator[None]:
    """Say what to install if an import inside the block fails: the wheel, or an extra.

    Args:
        extra: the extra of this package that has the library; "" if only this package is imported.

    Raises:
        ImportError: a library is not installed, or the zip for Spark lacks a module.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hudi_pyspark."):
            raise ImportError(
                f"{error.name} is not in the zip for Spark: install the wheel of hudi-pyspark"
            ) from error
        if not extra:
            raise
        raise ImportError(
            f"{error.name} is not installed, this needs the extra {extra}: "
            f"pip install 'hudi-pyspark[{extra}]'",
            name=error.name,
        ) from error
