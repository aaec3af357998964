"""Python functions of all kinds that Spark calls, made for one session."""

from __future__ import annotations

from collections.abc import Iterator  # Spark reads the types of pandas functions
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

PAIR = "id string, n bigint"
_CALLED_BY_NAME = (
    "py_text", "py_arrow", "py_pandas", "py_size", "py_both", "py_arrow_native", "py_last",
)  # fmt: skip


def make(spark: SparkSession) -> SimpleNamespace:
    """Make the functions, and register those that SQL calls by name."""
    pandas_udf: Any = getattr(sf, "pandas_udf")  # noqa: B009  (its types say it is no part of sf)
    made = SimpleNamespace(
        py_text=sf.udf(_text, "string", useArrow=False),
        py_arrow=sf.udf(_text, "string", useArrow=True),
        py_pandas=pandas_udf(_pandas_text, "string"),
        py_pandas_batches=pandas_udf(_pandas_batches, "string"),
        py_size=sf.udf(_size, "int", useArrow=False),
        py_both=sf.udf(_both, "string", useArrow=False),
        py_pair=sf.udf(_pair, "struct<id:string,n:bigint>", useArrow=False),
        py_last=pandas_udf(_pandas_last, "string"),
        twice=sf.udtf(Twice, returnType=PAIR),
        arrows=_arrows,
        frames=_frames,
        pair=PAIR,
        group=_group,
        group_arrow=_group_arrow,
        cogroup=_cogroup,
    )
    # Spark 4.0 has no functions of Arrow arrays: those of texts by Arrow take their place.
    arrow_udf = getattr(sf, "arrow_udf", None)
    made.py_arrow_native = arrow_udf(_arrow_text, "string") if arrow_udf else made.py_arrow
    for name in _CALLED_BY_NAME:
        spark.udf.register(name, getattr(made, name))
    spark.udtf.register("twice", made.twice)
    return made


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _size(value: Any) -> int:
    return len(str(value))


def _both(one: Any, other: Any) -> str:
    return f"{one}|{other}"


def _pair(value: Any) -> tuple[str, int]:
    return str(value), len(str(value))


def _pandas_text(values: pd.Series) -> pd.Series:
    return values.map(_plain_text)


def _plain_text(value: Any) -> str:
    """Return a text that does not depend on the nulls of a batch, which make floats of integers."""
    return f"{float(value):g}" if isinstance(value, int | float) else str(value)


def _pandas_batches(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for values in batches:
        yield values.map(_plain_text)


def _pandas_last(values: pd.Series) -> str:
    return max(map(_plain_text, values), default="none")


def _arrow_text(values: pa.Array) -> pa.Array:
    return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())


class Twice:
    """A table function that gives two rows for each."""

    def eval(self, value: Any) -> Iterator[tuple[str, int]]:
        """Yield the rows."""
        text = str(value)
        yield text, len(text)
        yield f"{text}!", 0


def _arrows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame[frame.index % 1 == 0]


def _summary(frame: pd.DataFrame) -> tuple[str, int]:
    texts = sorted("|".join(map(str, row)) for row in frame.itertuples(index=False))
    return "; ".join(texts), len(frame)


def _group(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([_summary(frame)], columns=["id", "n"])


def _group_arrow(table: pa.Table) -> pa.Table:
    texts = sorted(str(row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True))
    return pa.table({"id": pa.array(["; ".join(texts)]), "n": pa.array([len(texts)], pa.int64())})


def _cogroup(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([_summary(one), _summary(other)], columns=["id", "n"])
