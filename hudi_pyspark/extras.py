"""Optional libraries: where one is missing, the error says what to install."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_extra(extra: str = "") -> Iterator[None]:
    """Say what to install where an import fails: the wheel, or an extra of this package.

    Args:
        extra: that brings what is imported; "" where nothing but this package is.

    Raises:
        ImportError: a library is not installed, or the zip that Spark sends lacks a tool.
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
