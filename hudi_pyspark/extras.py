"""Errors that say what to install if an optional library is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# What the extras of the project install: advice names these, since installing this package by its
# name could bring another one.
PACKAGES: Final = {
    "spark": "pyspark>=4.0",
    "pandas": "pandas>=2.0,<3",
    "polars": "polars>=2.0",
    "duckdb": "duckdb>=1.0",
    "report": "jinja2>=3.1",
    "hive": "pymetastore>=0.4",
    "glue": "boto3>=1.28",
    "unity": "requests>=2.31",
    "polaris": "requests>=2.31",
}


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
            f"{error.name} is not installed: pip install '{PACKAGES[extra]}' (extra '{extra}')",
            name=error.name,
        ) from error
