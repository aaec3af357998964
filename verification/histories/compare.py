"""Answers of both readers in one form, and how two of them differ."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import pyarrow as pa

from tests.golden.compare import CHANGE_COLUMNS, arrow_type_name, float_text, unlike_columns

Row: TypeAlias = "tuple[Any, ...]"


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, every cell as a hashable value, in no order."""

    columns: tuple[tuple[str, str], ...]  # names and types, in the notation of the golden tables
    rows: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that was refused or that failed."""

    error: str  # class of the innermost cause; CRASH where the JVM died
    message: str
    is_named: bool = True  # False where ours failed by an error that is no HudiError


CRASH = "JVM crash"


@dataclass(frozen=True, slots=True)
class Difference:
    """What one answer has and the other has not."""

    columns: str  # "" where names and types are equal
    missing: Counter[Row]  # Apache Hudi's only
    extra: Counter[Row]  # ours only

    def __bool__(self) -> bool:
        return bool(self.columns or self.missing or self.extra)

    def __str__(self) -> str:
        if self.columns:
            return self.columns
        rows = f"{self.missing.total()} rows missing, {self.extra.total()} too many"
        first = [sorted(side, key=str)[:1] for side in (self.missing, self.extra)]
        return f"{rows}; Hudi's only: {first[0]}, ours only: {first[1]}"


def difference(
    reference: Answer, ours: Answer, image_columns: frozenset[str] = frozenset()
) -> Difference:
    """Compare two answers: column names and types in order, and rows as a multiset.

    Args:
        reference: Apache Hudi's.
        ours: of the reader under test.
        image_columns: what is compared of the images of changes: columns whose values Apache Hudi
            writes always in one form (D5).
    """
    if unlike := unlike_columns(ours.columns, reference.columns):
        return Difference(unlike, Counter(), Counter())
    if list(ours.names) == CHANGE_COLUMNS:
        theirs = Counter(_reduced(row, image_columns) for row in reference.rows)
        found = Counter(_reduced(row, image_columns) for row in ours.rows)
    else:
        theirs, found = Counter(reference.rows), Counter(ours.rows)
    return Difference("", theirs - found, found - theirs)


def agree(theirs: Answer | Failure, ours: Answer | Failure) -> bool:
    """Whether both are answers, and equal ones."""
    if isinstance(theirs, Failure) or isinstance(ours, Failure):
        return False
    return not difference(theirs, ours)


def spark_cell(value: Any) -> Any:
    """A value that Spark's ``collect`` gave."""
    if hasattr(value, "__fields__"):  # a Row: a struct
        return tuple(spark_cell(item) for item in value)
    if isinstance(value, dict):
        return _map([(spark_cell(k), spark_cell(v)) for k, v in value.items()])
    if isinstance(value, list):
        return tuple(spark_cell(item) for item in value)
    return _scalar(value)


def arrow_rows(table: pa.Table) -> tuple[Row, ...]:
    """The rows of an Arrow table, their cells as `spark_cell` makes them."""
    columns = [[_arrow_cell(c.type, value) for value in _values(c)] for c in table.columns]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * table.num_rows


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):  # a time that Python does not have, and neither has PySpark
        return column.cast(_in_numbers(column.type)).to_pylist()  # type: ignore[no-any-return]


def _in_numbers(kind: pa.DataType) -> pa.DataType:
    """Return a type with the days and the units of its dates and timestamps."""
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_numbers(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_numbers(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_in_numbers(kind.key_type), _in_numbers(kind.item_type))
    return kind


def arrow_answer(table: pa.Table) -> Answer:
    columns = tuple((field.name, arrow_type_name(field.type)) for field in table.schema)
    return Answer(columns, arrow_rows(table))


def _arrow_cell(kind: pa.DataType, value: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return tuple(_arrow_cell(field.type, value[field.name]) for field in kind)
    if pa.types.is_map(kind):
        pairs = [(_arrow_cell(kind.key_type, k), _arrow_cell(kind.item_type, v)) for k, v in value]
        return _map(pairs)
    if pa.types.is_list(kind):
        return tuple(_arrow_cell(kind.value_type, item) for item in value)
    return _scalar(value)


def _map(pairs: list[tuple[Any, Any]]) -> tuple[Any, ...]:
    return tuple(sorted(pairs, key=repr))


def _scalar(value: Any) -> Any:
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)  # both readers run in UTC
    return bytes(value) if isinstance(value, bytearray) else value


def _image(text: str | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found


def _reduced(row: Row, names: frozenset[str]) -> Row:
    images = (_image(text) for text in row[2:])
    pairs = (
        image and tuple((n, image[n]) for n in sorted(names) if image.get(n) is not None)
        for image in images
    )
    return (*row[:2], *pairs)
