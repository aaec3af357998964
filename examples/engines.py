"""Read a table with Ray Data, Daft or Dask: one function for each engine, which you copy.

A function takes `table.dataset(…)` or `scan.to_dataset()`, and needs nothing else of this file.
The workers of the engine read the table: each needs hudi-pyspark, but not the copied function,
which is sent to them. Tried with Ray 2.60, Daft 0.7.26 and Dask 2026.8.

    pip install 'ray[data]'          # to_ray
    pip install daft                 # to_daft
    pip install 'dask[dataframe]'    # to_dask
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    import daft
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    import ray.data
    from daft.io.pushdowns import Pushdowns
    from daft.recordbatch import RecordBatch

    from hudi_pyspark.frames.dataset import HudiDataset, HudiFragment


def to_ray(dataset: HudiDataset) -> ray.data.Dataset:
    """Return a dataset of pyarrow as a dataset of Ray Data, whose workers read it.

    Ray passes on columns and filter. A block is a batch of rows; a task reads a group of file
    slices, of the size that the option ``task_bytes`` gives.

    Raises:
        HudiError: the table cannot be read; raised when Ray plans, or by a task.
    """
    from functools import partial

    import pyarrow as pa
    import ray.data
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    def read(fragment: HudiFragment, columns: Sequence[str]) -> Iterator[pa.Table]:
        for batch in fragment.to_batches(columns=columns):
            yield pa.Table.from_batches([batch])

    class HudiDatasource(Datasource):  # type: ignore[misc]  # ray has no types
        def __init__(self) -> None:
            super().__init__()
            self._projection_map: dict[str, str] | None = None

        def supports_projection_pushdown(self) -> bool:
            return True

        def supports_predicate_pushdown(self) -> bool:
            return True

        def estimate_inmemory_data_size(self) -> None:
            return None

        def get_read_tasks(
            self,
            parallelism: int,  # noqa: ARG002  (option task_bytes sizes the tasks)
            per_task_row_limit: int | None = None,
            data_context: object = None,  # noqa: ARG002  (of Ray)
        ) -> list[ReadTask]:
            # Without columns Ray would count no rows.
            names = dataset.schema.names
            columns = self._get_data_columns()
            columns = names if columns is None else columns or names[:1]
            predicate = self.get_current_predicate()
            # Ray's own meaning of nulls and types.
            condition = predicate.to_pyarrow() if predicate is not None else None
            schema = pa.schema([dataset.schema.field(name) for name in columns])
            unknown = BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [
                ReadTask(partial(read, fragment, columns), unknown, schema, per_task_row_limit)
                for fragment in dataset.get_fragments(condition, columns)
            ]

    return ray.data.read_datasource(HudiDatasource())


def to_daft(dataset: HudiDataset) -> daft.DataFrame:
    """Return a dataset of pyarrow as a lazy DataFrame of Daft, whose workers read it.

    Daft passes on columns and filter, and filters again.

    Raises:
        HudiError: the table cannot be read; raised when Daft plans, or by a task.
    """
    import asyncio
    from contextlib import suppress

    import daft
    import pyarrow as pa
    from daft.io.source import DataSource, DataSourceTask
    from daft.recordbatch import RecordBatch

    class HudiTask(DataSourceTask):  # type: ignore[misc]  # daft is not installed with the tools
        def __init__(self, fragment: HudiFragment, columns: Sequence[str] | None) -> None:
            self._scanner = fragment.scanner(columns=columns)

        @property
        def schema(self) -> daft.Schema:
            return daft.Schema.from_pyarrow_schema(self._scanner.projected_schema)

        async def read(self) -> AsyncIterator[RecordBatch]:
            batches = self._scanner.to_batches()
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                yield RecordBatch.from_arrow_table(pa.Table.from_batches([batch]))

    class HudiDataSource(DataSource):  # type: ignore[misc]  # likewise
        @property
        def name(self) -> str:
            return "Hudi"

        @property
        def schema(self) -> daft.Schema:
            return daft.Schema.from_pyarrow_schema(dataset.schema)

        async def get_tasks(self, pushdowns: Pushdowns) -> AsyncIterator[HudiTask]:
            condition = None
            columns = pushdowns.columns
            # Without a filter, or where pyarrow cannot express it, all parts are read.
            with suppress(AttributeError, NotImplementedError, TypeError, ValueError):
                condition = pushdowns.filters.to_arrow_expr()
            if columns is not None:
                others = sorted(pushdowns.filter_required_column_names() - set(columns))
                columns = [*columns, *others]
            for fragment in dataset.get_fragments(condition, columns, is_exact=False):
                yield HudiTask(fragment, columns)

    return HudiDataSource().read()


def to_dask(dataset: HudiDataset) -> dd.DataFrame:
    """Return a dataset of pyarrow as a DataFrame of Dask, with a partition per group of tasks.

    It is planned now; Dask passes on columns, but no filter. Types are Arrow's, alike in all
    partitions.

    Raises:
        HudiError: the table cannot be read; raised now, or by a task.
    """
    import pickle
    from dataclasses import dataclass

    import dask.dataframe as dd
    import pandas as pd

    # Dask would ask a dataset of pyarrow for its files, to name the frame; and it shows the
    # arguments of a frame, which here may contain credentials.
    @dataclass(frozen=True, repr=False)
    class Part:
        pickled: bytes

    def read(part: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
        fragment: HudiFragment = pickle.loads(part.pickled)
        return fragment.to_table(columns=columns).to_pandas(types_mapper=pd.ArrowDtype)

    meta = dataset.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    parts = [Part(pickle.dumps(fragment)) for fragment in dataset.get_fragments()]
    if not parts:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(read, parts, meta=meta, label="hudi")
