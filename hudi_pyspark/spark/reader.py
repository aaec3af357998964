"""The readers of batch queries; executors load only this module and its imports."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader

from hudi_pyspark.errors import HudiError
from hudi_pyspark.spark.partition import (
    HudiPartition,
    PackedTasks,
    let_spark_collect_logs,
    read_partition,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql.datasource import InputPartition

    from hudi_pyspark.scan import Scan
    from hudi_pyspark.storage import Storage
    from hudi_pyspark.tasks import SharedPlan

_log = logging.getLogger(__name__)
_ALL_COLUMNS = (
    "hudi-py: this scan reads all columns and files, whatever the query needs. Call "
    "hudi_pyspark.register(spark) once in each session; where Spark's optimizer is out of reach "
    "(Spark Connect, shared clusters), name the columns: option 'columns' or .schema(...), and "
    "option 'filter'. Later scans do not repeat this warning"
)


@cache
def warn_of_all_columns() -> None:
    """Warn that nothing narrows the scans of this Spark application, the first time."""
    # Spark plans in several processes, which have this folder in common while it runs.
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    try:
        if folder:
            Path(folder, "hudi-py-warned").touch(exist_ok=False)
    except FileExistsError:
        return
    except OSError:
        pass  # then each process warns
    _log.warning(_ALL_COLUMNS)


class HudiReader(DataSourceReader):
    """A reader that plans on the driver and reads on the executors.

    Spark pickles the reader for the executors before it asks for the partitions. So it plans then,
    and what the tasks share goes along, once. The scan, which only the driver needs, does not.
    """

    def __init__(
        self,
        scan: Scan,
        columns: Sequence[str],
        schema: pa.Schema,
        *,
        limit: int | None = None,
        is_narrowed: bool = False,
    ) -> None:
        self._scan: Scan | None = scan
        self._columns = columns
        self._schema = schema
        self._limit = limit
        self._is_narrowed = is_narrowed
        self._storage: Storage = scan.storage
        self._planned: PackedTasks | None = None
        self._shared: Sequence[SharedPlan] = ()
        self._explained = ""  # also where nothing can show it

    def __getstate__(self) -> dict[str, object]:
        if self._scan is not None:
            # partitions() raises it again: an error in here would look like one of pickling.
            with suppress(HudiError, OSError):
                self._plan(self._scan)
        return {**self.__dict__, "_scan": None, "_planned": None}

    def pruneColumns(self, required: object) -> None:  # noqa: N802  (Sail's name)
        """Read only some columns, in their order; Sail calls this, and no release of Spark does."""
        if not isinstance(required, pa.Schema):
            return
        names = required.names
        if not names or not set(names) <= set(self._columns):
            raise NotImplementedError(f"the source does not read {names} alone")
        self._columns, self._is_narrowed = names, True
        self._schema = pa.schema([self._schema.field(name) for name in names])
        self._planned = None

    def partitions(self) -> list[InputPartition]:
        if self._scan is None:
            raise RuntimeError("partitions are planned on the driver only")
        try:
            # Of no groups Spark would make one partition, too: without an explanation.
            first, *others = self._plan(self._scan).groups or [PackedTasks.of([()]).groups[0]]
            explained = HudiPartition(first, explained=self._explained)
            return [explained, *(HudiPartition(tasks) for tasks in others)]
        except NotImplementedError as error:
            # Spark would take a NotImplementedError as "this reader has no partitions()" and go on
            # with one partition that is None: an unsupported table would look empty.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def _plan(self, scan: Scan) -> PackedTasks:
        if self._planned is None:
            let_spark_collect_logs()
            planned = scan.planned(self._columns, fields=self._schema)
            self._planned = PackedTasks.of(planned.groups)
            if self._is_narrowed:
                self._explained = planned.explain()
            else:
                warn_of_all_columns()
            self._shared = self._planned.shared
        return self._planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        let_spark_collect_logs()
        yield from read_partition(
            partition, self._storage, self._schema, self._limit, shared=self._shared
        )
