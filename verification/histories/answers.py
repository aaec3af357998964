"""Answers of both readers in one form, and how two of them differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.golden.compare import (
    Difference,
    Row,
    arrow_columns,
    compare_rows,
    rows_of,
    spark_columns,
    unlike_columns,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, every cell as a hashable value, in no order."""

    columns: tuple[tuple[str, str], ...]  # names and types, in the notation of the golden tables
    rows: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @classmethod
    def of(cls, table: pa.Table) -> Answer:
        return cls(tuple(arrow_columns(table.schema)), _unordered(table))


def _unordered(table: pa.Table) -> tuple[Row, ...]:
    return tuple(rows_of(table, maps_have_order=False))


@dataclass(frozen=True, slots=True)
class HudiAnswer:
    """What Apache Hudi answers: rows, and their schema as Spark writes it in JSON."""

    table: pa.Table
    schema: dict[str, Any]

    def answer(self) -> Answer:
        return Answer(tuple(spark_columns(self.schema["fields"])), _unordered(self.table))


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that was refused or that failed."""

    error: str  # class of the innermost cause; CRASH where the JVM died
    message: str
    is_named: bool = True  # False where ours failed by an error that is no HudiError


CRASH = "JVM crash"


def difference(
    reference: Answer, ours: Answer, image_columns: frozenset[str] | None = None
) -> Difference:
    """Compare two answers: column names and types in order, and rows as a multiset.

    Args:
        reference: Apache Hudi's, or another one of the reader under test.
        ours: of the reader under test.
        image_columns: what is compared of the images of changes: columns whose values Apache Hudi
            writes always in one form (D5). None compares their text, which one reader always writes
            in one form.
    """
    if unlike := unlike_columns(ours.columns, reference.columns):
        return Difference(unlike, Counter(), Counter())
    if image_columns is None:
        theirs, found = Counter(reference.rows), Counter(ours.rows)
        return Difference("", theirs - found, found - theirs)
    return compare_rows(ours.names, reference.rows, ours.rows, image_columns)


def agree(
    theirs: Answer | Failure, ours: Answer | Failure, image_columns: frozenset[str] | None = None
) -> bool:
    """Whether both are answers, and equal ones."""
    if isinstance(theirs, Failure) or isinstance(ours, Failure):
        return False
    return not difference(theirs, ours, image_columns)
