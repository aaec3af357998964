"""A read as a data source of Daft (extra ``daft``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.extras import needs_extra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import pyarrow.compute as pc
    from daft.io.pushdowns import Pushdowns

    from hudi_pyspark.frames.dataset import HudiDataset, HudiFragment

with needs_extra("daft"):
    import daft
    from daft.io.source import DataSource, DataSourceTask
    from daft.recordbatch import RecordBatch


class HudiDataSource(DataSource):  # type: ignore[misc]  # daft is not installed with the tools
    """A dataset whose fragments Daft's workers read; Daft passes on columns, and filters again."""

    def __init__(self, dataset: HudiDataset) -> None:
        self._dataset = dataset

    @property
    def name(self) -> str:
        return "Hudi"

    @property
    def schema(self) -> daft.Schema:
        return daft.Schema.from_pyarrow_schema(self._dataset.schema)

    async def get_tasks(self, pushdowns: Pushdowns) -> AsyncIterator[HudiTask]:
        condition = _condition(pushdowns)
        columns = pushdowns.columns
        if columns is not None:
            others = sorted(pushdowns.filter_required_column_names() - set(columns))
            columns = [*columns, *others]
        for fragment in self._dataset.get_fragments(condition, columns, is_exact=False):
            yield HudiTask(fragment, columns)


class HudiTask(DataSourceTask):  # type: ignore[misc]  # likewise
    """One fragment to read."""

    def __init__(self, fragment: HudiFragment, columns: Sequence[str] | None) -> None:
        self._scanner = fragment.scanner(columns=columns)

    @property
    def schema(self) -> daft.Schema:
        return daft.Schema.from_pyarrow_schema(self._scanner.projected_schema)

    async def read(self) -> AsyncIterator[RecordBatch]:
        batches = self._scanner.to_batches()
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield RecordBatch.from_arrow_table(pa.Table.from_batches([batch]))


def _condition(pushdowns: Pushdowns) -> pc.Expression | None:
    """Return the filter in pyarrow's words; None for one that these do not have."""
    try:
        return pushdowns.filters.to_arrow_expr() if pushdowns.filters is not None else None
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def to_daft(dataset: HudiDataset) -> daft.DataFrame:
    """Return a dataset as a lazy DataFrame of Daft, whose workers read it."""
    return HudiDataSource(dataset).read()
