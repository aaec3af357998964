"""Inspection tables as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.hudi_table import HudiTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from hudi_pyspark.inspection import InspectionCall


class InspectionReader(DataSourceReader):
    """A reader of one inspection table.

    It reads on one executor, since the contents of files may be too large for the driver.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        call: InspectionCall,
        schema: pa.Schema,
    ) -> None:
        self._options = dict(options)
        self._call = call
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(self._call.name)]

    def read(self, _partition: InputPartition) -> Iterator[pa.RecordBatch]:
        opened = HudiTable.from_options(self._options)
        table = self._call.run(opened.inspect)
        unknown = [name for name in self._schema.names if name not in table.schema.names]
        if unknown:
            raise InvalidOptionError(
                f".schema(...) names {', '.join(map(repr, unknown))}, which {self._call.name} does "
                f"not have; it has {', '.join(table.schema.names)}"
            )
        conformed = conform(table, self._schema, {}, source=f"inspect.{self._call.name}")
        yield from conformed.replace_schema_metadata(None).to_batches(max_chunksize=10_000)
