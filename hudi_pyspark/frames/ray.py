"""A read as a datasource of Ray Data (extra ``ray``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from hudi_pyspark.extras import needs_extra
from hudi_pyspark.frames.dataset import HudiDataset, HudiFragment

with needs_extra("ray"):
    import ray.data
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask


class HudiDatasource(Datasource):  # type: ignore[misc]  # ray has no types
    """A dataset whose fragments Ray's workers read, with columns and filter that Ray passes on."""

    def __init__(self, dataset: HudiDataset) -> None:
        super().__init__()
        self._dataset = dataset
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
        names = self._dataset.schema.names
        columns = self._get_data_columns()
        columns = names if columns is None else columns or names[:1]
        predicate = self.get_current_predicate()
        condition = predicate.to_pyarrow() if predicate is not None else None  # Ray's own meaning
        schema = pa.schema([self._dataset.schema.field(name) for name in columns])
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [
            ReadTask(partial(_read, fragment, columns), unknown, schema, per_task_row_limit)
            for fragment in self._dataset.get_fragments(condition, columns)
        ]


def _read(fragment: HudiFragment, columns: Sequence[str]) -> Iterator[pa.Table]:
    for batch in fragment.to_batches(columns=columns):
        yield pa.Table.from_batches([batch])


def to_ray(dataset: HudiDataset) -> ray.data.Dataset:
    """Return a dataset of pyarrow as a dataset of Ray Data, whose workers read it."""
    return ray.data.read_datasource(HudiDatasource(dataset))
