"""A query asked in other forms, whose answers follow from its full answer.

The full answer comes from Apache Hudi. A form that reads fewer columns or rows takes other paths
through the reader, and so do the options that are drawn here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.options.option import Index
from tests.golden.compare import CHANGE_COLUMNS, differences, part_differences
from tests.golden.filters import Filter, random_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from pyspark.sql import DataFrame

    from hudi_pyspark import HudiTable

_IMAGES = ("before", "after")
RECORD_POSITIONS = "hoodie.merge.use.record.positions"


@dataclass(frozen=True)
class Whole:
    """The full answer to a query."""

    rows: pa.Table
    schema: Sequence[Mapping[str, Any]]  # Spark's fields, each with name and type

    def filtered(self, condition: Filter | None) -> pa.Table:
        if condition is None:
            return self.rows
        rows = self.rows.to_pylist()
        return self.rows.filter(
            pa.array([condition.holds(row) is True for row in rows], pa.bool_())
        )

    @property
    def has_unique_keys(self) -> bool:
        """Whether no two rows have one key; False where rows do not show their keys."""
        keys = ["_hoodie_partition_path", "_hoodie_record_key"]
        if not {*keys} <= {*self.rows.schema.names}:
            return False
        return len(self.rows.group_by(keys).aggregate([])) == len(self.rows)

    def fields(self, names: Sequence[str]) -> list[dict[str, Any]]:
        by_name = {field["name"]: dict(field) for field in self.schema}
        return [by_name[name] for name in names]


@dataclass(frozen=True)
class Question:
    """A form of a query: some of its columns and rows, or how many rows these are."""

    columns: tuple[str, ...] | None = None  # None for all
    condition: Filter | None = None
    limit: int | None = None
    is_count: bool = False

    def __str__(self) -> str:
        columns = "*" if self.columns is None else ", ".join(self.columns)
        where = f" where {self.condition.text}" if self.condition else ""
        limit = "" if self.limit is None else f" limit {self.limit}"
        return f"{'count()' if self.is_count else columns}{where}{limit}"

    def ask(self, table: HudiTable, options: Mapping[str, Any]) -> pa.Table | int:
        """Ask this project's reader without Spark."""
        given: dict[str, Any] = dict(options)
        if self.columns is not None:
            given["columns"] = list(self.columns)
        if self.condition is not None:
            given["filter"] = self.condition.text
        scan = table.scan(**given, limit=self.limit)
        return scan.count() if self.is_count else scan.to_arrow()

    def ask_spark(self, frame: DataFrame) -> pa.Table | int:
        """Ask Spark, in the words of a user; the frame has all columns and rows."""
        if self.condition is not None:
            frame = frame.where(self.condition.text)
        if self.columns is not None:
            frame = frame.select(*(f"`{name}`" for name in self.columns))
        if self.limit is not None:
            frame = frame.limit(self.limit)
        return frame.count() if self.is_count else frame.toArrow()

    def problems(self, answer: Any, whole: Whole) -> list[str]:
        """Return how an answer differs from what the full answer says; [] if it does not."""
        rows = whole.filtered(self.condition)
        count = len(rows) if self.limit is None else min(len(rows), self.limit)
        if isinstance(answer, int):
            return [] if answer == count else [f"{answer} rows, Apache Hudi has {count}"]
        names = rows.schema.names if self.columns is None else list(self.columns)
        expected = rows.select(names)
        schema = whole.fields(names)
        if self.limit is None:
            return differences(answer, expected, schema)
        wrong_size = [f"{len(answer)} rows of {len(rows)}"] if len(answer) != count else []
        return wrong_size + part_differences(answer, expected, schema)


@dataclass(frozen=True)
class Aggregates:
    """Per column how many values, how many different ones, the least and the greatest."""

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return "aggregates"

    @classmethod
    def of(cls, whole: Whole) -> Aggregates:
        simple = (f.name for f in whole.rows.schema if _has_order(f.type))
        return cls(tuple(name for name in simple if name not in _IMAGES))

    def ask(self, table: HudiTable, options: Mapping[str, Any]) -> dict[str, Any]:
        """Read these columns alone."""
        if not self.columns:
            return {"rows": table.scan(**options).count()}
        return self._of_rows(table.scan(**options, columns=self.columns).to_arrow())

    def ask_spark(self, frame: DataFrame) -> dict[str, Any]:
        from pyspark.sql import functions as sf

        made = [sf.count("*").alias("rows")]
        for name in self.columns:
            column = sf.col(f"`{name}`")
            made += [
                sf.count(column).alias(f"count of {name}"),
                sf.count_distinct(column).alias(f"distinct of {name}"),
                sf.min(column).alias(f"min of {name}"),
                sf.max(column).alias(f"max of {name}"),
            ]
        found: dict[str, Any] = frame.agg(*made).toArrow().to_pylist()[0]
        return found

    def _of_rows(self, rows: pa.Table) -> dict[str, Any]:
        found: dict[str, Any] = {"rows": len(rows)}
        for name in self.columns:
            column = rows.column(name)
            ends = pc.min_max(column).as_py()
            found |= {
                f"count of {name}": pc.count(column).as_py(),
                f"distinct of {name}": pc.count_distinct(column).as_py(),
                f"min of {name}": ends["min"],
                f"max of {name}": ends["max"],
            }
        return found

    def problems(self, answer: Any, whole: Whole) -> list[str]:
        expected = self._of_rows(whole.rows)
        return [
            f"{name}: {answer[name]}, of Apache Hudi's rows {value}"
            for name, value in expected.items()
            if answer[name] != value
        ]


def problems_of(
    question: Question | Aggregates, whole: Whole, table: HudiTable, options: Mapping[str, Any]
) -> list[str]:
    """Ask this project's reader; return how the answer differs, or the error that it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = question.ask(table, options)
    except Exception as error:  # noqa: BLE001  (the report names it and goes on)
        return [f"{type(error).__name__}: {error}"]
    return question.problems(answer, whole)


def _has_order(kind: pa.DataType) -> bool:
    """Whether pyarrow and Spark agree which value is the least; floats have NaN and -0."""
    t = pa.types
    kinds = (t.is_integer, t.is_string, t.is_date, t.is_timestamp, t.is_decimal)
    return any(is_of(kind) for is_of in kinds)


def questions(
    whole: Whole, random: Random, *, is_complete: bool = True
) -> list[Question | Aggregates]:
    """Return the forms of a query: counted, by column, filtered and limited.

    Args:
        whole: the full answer.
        random: chooses conditions and limits.
        is_complete: whether the full answer has all columns of the query.
    """
    names = whole.rows.schema.names
    found: list[Question | Aggregates] = [Question(is_count=True), Aggregates.of(whole)]
    found += [Question((name,)) for name in names]
    if is_complete:
        found.append(Question())
    limits = [random.randint(0, len(whole.rows) + 1) for _ in range(2)]
    found += [Question((random.choice(names),), limit=limits[0])]
    found += [Question(limit=limits[1], is_count=True)]
    for condition in _conditions(whole, random):
        found.append(Question(condition=condition, is_count=True))
        found.append(Question((random.choice(names),), condition))
        found.append(Question((random.choice(names),), condition, limit=limits[0]))
    return found


def _conditions(whole: Whole, random: Random) -> Iterator[Filter]:
    rows = whole.rows
    if rows.schema.names == CHANGE_COLUMNS:
        rows = rows.drop_columns(list(_IMAGES))  # Apache Hudi's text has no fixed form
    return (random_filter(rows, random) for _ in range(2 if len(rows) else 0))


def random_options(random: Random, kept: Path | None = None) -> dict[str, str]:
    """Draw options that change how rows are found; outcomes of merges may stay in a folder.

    None changes which rows these are, but for record positions where a key is in a base file twice
    (D15): see `Whole.has_unique_keys`.
    """
    some = random.sample(list(Index), random.randint(1, len(Index) - 1))
    values = {
        RECORD_POSITIONS: ("true", "false"),
        "hoodie.metadata.enable": ("true", "false"),
        "hoodie.enable.data.skipping": ("true", "false", ",".join(index.value for index in some)),
        "hoodie.memory.merge.max.size": ("1",),
        "batch_rows": ("1", "3"),
        "task_bytes": ("1",),
        "merge_cache": ("memory", "off", *(["disk"] if kept else [])),
    }
    drawn = {key: random.choice(of) for key, of in values.items() if random.random() < 0.5}
    return drawn | kept_in(kept) if drawn.get("merge_cache") == "disk" else drawn


def kept_in(folder: Path | None) -> dict[str, str]:
    """Return options that keep outcomes of merges in files of a folder."""
    return {"merge_cache": "disk", "merge_cache_folder": str(folder)} if folder else {}
