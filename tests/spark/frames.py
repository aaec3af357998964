"""DataFrames compared by chispa, with each other and with the rows of Apache Hudi."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from chispa import assert_df_equality
from pyspark.sql import functions as sf
from pyspark.sql.types import MapType

from hudi_pyspark.spark.optimizer import ENABLED
from tests.conftest import GOLDEN
from tests.golden.archive import members
from tests.golden.case import PackedAnswer, load_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ANSWERS = TemporaryDirectory()  # packed answers as files, until the process ends


def new_session(spark: SparkSession, **settings: str) -> SparkSession:
    """Make a separate session with the optimizer's rule."""
    session = spark.newSession()
    for name, value in {"spark.sql.session.timeZone": "UTC", ENABLED: "true", **settings}.items():
        session.conf.set(name, value)
    return session


def load(session: SparkSession, path: object, **options: str | int) -> DataFrame:
    """Read a table as a user does."""
    return session.read.format("hudi-py").options(**options).load(str(path))


def hudi_rows(spark: SparkSession, case: str, query: str = "snapshot") -> DataFrame:
    """Apache Hudi's answer to a query of a golden table, as Spark reads the file that has it."""
    answer = load_case(GOLDEN / case).query(query).answer
    assert isinstance(answer, PackedAnswer)
    file = Path(_ANSWERS.name, f"{case}.{answer.file}")
    if not file.exists():
        file.write_bytes(members(answer.archive)[answer.file])
    return spark.read.parquet(str(file))


def assert_same_rows(found: DataFrame, expected: DataFrame) -> None:
    """Compare columns, types and rows, in any order; NaN equals NaN."""
    assert_df_equality(
        found,
        expected,
        transforms=[_ordered],
        ignore_nullable=True,  # this source promises no column to be free of nulls
        ignore_metadata=True,
        allow_nan_equality=True,
    )


def _ordered(frame: DataFrame) -> DataFrame:
    """Sort by all columns; chispa hashes those that Spark cannot sort, and Spark hashes no map.

    One partition is sorted, since Spark runs a query twice whose rows it sorts across several.
    """
    columns = {field.name: sf.col(f"`{field.name}`") for field in frame.schema}
    maps = {field.name for field in frame.schema if isinstance(field.dataType, MapType)}
    return frame.repartition(1).sortWithinPartitions(
        *(sf.map_entries(c) if n in maps else c for n, c in columns.items())
    )
