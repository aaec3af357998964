"""Slices without log files read by Spark itself, the others by the data source, as one DataFrame.

A classic session plans in its own process. With Spark Connect the storage is the server's, so the
data source plans there and returns the plan as one row of text.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from hudi_pyspark import SHORT_NAME
from hudi_pyspark.errors import HudiError
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.options.option_table import AS_OF, FILTER, INSPECT, TABLE
from hudi_pyspark.options.read_options import GivenOptions
from hudi_pyspark.planning.spark_readable import FILES, PLAN, NativeFiles, native_files
from hudi_pyspark.spark.optimizer import Py4JError
from hudi_pyspark.spark.schema import spark_schema
from hudi_pyspark.storage_options import storage_options_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from hudi_pyspark.scan import Scan

# Both readers leave dates as they are written, and a file that is gone is an error.
_PARQUET = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
# Otherwise Spark takes it for a pattern, or reads it in another way.
_PLAIN_BASE_PATH = re.compile(r"[a-z0-9]+://[A-Za-z0-9._=+@~,/:-]*")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NativePlan:
    """Which files of an answer Spark reads itself.

    Attributes:
        base: URI of the base path.
        schema: of the answer, as Spark writes it in JSON.
        files: what Spark reads.
        as_of: instant as of which the data source reads the rest; None where there is no rest.
    """

    base: str
    schema: str
    files: tuple[NativeFiles, ...]
    as_of: str | None

    @classmethod
    def of(cls, scan: Scan, path: str) -> NativePlan | None:
        """Divide an answer; return None where the data source reads all of it.

        Args:
            scan: of the answer.
            path: the table's base path, as the user gave it.

        Raises:
            HudiError: the table cannot be read.
        """
        # A path without a scheme is local, whatever Spark's default file system is.
        base = path.rstrip("/") if "://" in path else f"file://{scan.storage.describe('')}"
        if _PLAIN_BASE_PATH.fullmatch(base) is None:
            return None
        tasks = scan.plan()
        files = native_files(tasks, scan.storage)
        if not files:
            return None
        is_whole = sum(len(group.paths) for group in files) == len(tasks)
        as_of = None if is_whole else scan.pinned()
        if not (is_whole or as_of):
            return None
        return cls(base, spark_schema(scan.schema).json(), tuple(files), as_of)

    @classmethod
    def parse(cls, text: str) -> NativePlan | None:
        """Parse what `text` wrote."""
        fields: dict[str, Any] = json.loads(text)
        if not fields:
            return None
        groups = [
            NativeFiles(tuple((n, v) for n, v in group["constants"]), tuple(group["paths"]))
            for group in fields["files"]
        ]
        return cls(fields["base"], fields["schema"], tuple(groups), fields["as_of"])

    def text(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))


class PlanReader(DataSourceReader):
    """A reader of one row: the plan as text, made where the data source plans."""

    def __init__(self, scan: Scan, path: str) -> None:
        self._scan: Scan | None = scan
        self._path = path

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_scan": None}

    def partitions(self) -> list[InputPartition]:
        assert self._scan is not None  # only executors get the reader without it
        plan = NativePlan.of(self._scan, self._path)
        return [InputPartition(plan.text() if plan is not None else "{}")]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"plan": pa.array([partition.value], pa.string())})


def native_frame(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame | None:
    """Return the table with the files that Spark may read read by Spark.

    Args:
        spark: any session, in which the data source is registered.
        path: base path.
        options: of the data source, as text.

    Returns:
        None where the data source should read all of it; that also names what is wrong.
    """
    try:
        if not _may_be_native(options):
            return None
        plan = _plan(spark, path, options)
        if plan is None:
            return None
        frame = _frame(spark, path, options, plan)
    except (HudiError, PySparkException, Py4JError, OSError) as error:
        _log.debug("Spark reads no files of %s itself: %s", path, error)
        return None
    return frame


def _may_be_native(options: Mapping[str, str]) -> bool:
    given = GivenOptions.of(options)
    # Spark would read a condition in its session's dialect, and has other settings of the storage.
    return not (
        FILTER in given
        or TABLE in given
        or INSPECT in {key.lower() for key in options}
        or storage_options_of(options)
    )


def _plan(spark: SparkSession, path: str, options: Mapping[str, str]) -> NativePlan | None:
    if ".connect." in type(spark).__module__:
        asking = {**options, PLAN: "true"}
        (row,) = spark.read.format(SHORT_NAME).options(**asking).load(path).collect()
        return NativePlan.parse(row["plan"])
    return NativePlan.of(HudiTable(path).scan_with(options), path)


def _frame(
    spark: SparkSession, path: str, options: Mapping[str, str], plan: NativePlan
) -> DataFrame | None:
    """Return all rows; None if Spark lists other files than those of the plan."""
    schema = StructType.fromJson(json.loads(plan.schema))
    native = reduce(_union, [_native(spark, plan.base, group, schema) for group in plan.files])
    files = [path for group in plan.files for path in group.paths]
    if len(set(native.inputFiles())) != len(files):
        return None
    if plan.as_of is not None:
        pinned = {} if AS_OF in GivenOptions.of(options) else {AS_OF.name: plan.as_of}
        rest = {**options, **pinned, FILES: "\n".join(files)}
        native = _union(native, spark.read.format(SHORT_NAME).options(**rest).load(path))
    return native.select(*("`" + field.name.replace("`", "``") + "`" for field in schema))


def _native(spark: SparkSession, base: str, group: NativeFiles, schema: StructType) -> DataFrame:
    """Return the rows of some files; columns with constants come last."""
    constants = dict(group.constants)
    stored = StructType([field for field in schema if field.name not in constants])
    locations = [f"{base}/{path}" for path in group.paths]
    frame = spark.read.schema(stored).options(**_PARQUET).parquet(*locations)
    if not constants:
        return frame
    values = {name: sf.lit(text).cast(schema[name].dataType) for name, text in constants.items()}
    return frame.withColumns(values)


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other)
