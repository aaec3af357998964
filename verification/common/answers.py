"""Answers of Spark, errors among them, and the differences that a run prints."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

# Errors of a value in a row that another condition leaves out: Spark need not meet it.
OF_A_VALUE = ("CAST_INVALID_INPUT", "CAST_OVERFLOW", "DIVIDE_BY_ZERO")
_ANSI = "spark.sql.ansi.enabled"


def error_answer(error: PySparkException) -> str:
    """Return an error as an answer that another session can give likewise."""
    return f"{type(error).__name__} {error.getCondition()}"


@contextmanager
def without_ansi(spark: SparkSession) -> Iterator[None]:
    """Make null of a value that does not fit, instead of an error."""
    before = spark.conf.get(_ANSI) or "true"
    spark.conf.set(_ANSI, "false")
    try:
        yield
    finally:
        spark.conf.set(_ANSI, before)


def print_differences(differences: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print differences as they come, and return them."""
    found = []
    for difference in differences:
        found.append(difference)
        print(json.dumps(difference, default=str, ensure_ascii=False)[:3_000], flush=True)
    return found
