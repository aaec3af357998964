"""The Spark data source, without any knowledge of Hudi.

Every Spark session that looks up a data source imports this module, so the modules that read Hudi
tables are imported only when one is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource

from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.zip_import import reduced_with_zip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from hudi_pyspark.custom_mergers import PayloadMerger
    from hudi_pyspark.spark.planner import Planner
    from hudi_pyspark.spark.stream import HudiStreamReader

_ONLY_READS = "this source only reads: write tables with Apache Hudi, format('hudi')"


class HudiDataSource(DataSource):
    """``spark.read.format("hudi-py").load(base_path)``."""

    # Users' mergers by payload class; see hudi_pyspark.spark.session.register.
    payload_mergers: ClassVar[Mapping[str, PayloadMerger]] = {}

    _planner: Planner | None = None

    @classmethod
    def name(cls) -> str:
        return SHORT_NAME

    def schema(self) -> StructType:
        return self._get_planner().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._get_planner().reader(schema, self.payload_mergers)

    def streamReader(self, schema: StructType) -> HudiStreamReader:  # noqa: N802  (Spark's name)
        return self._get_planner().stream_reader(schema, self.payload_mergers)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001, ARG002
        raise UnsupportedQueryError(_ONLY_READS)

    def streamWriter(  # noqa: N802  (Spark's name)
        self,
        schema: StructType,  # noqa: ARG002
        overwrite: bool,  # noqa: FBT001, ARG002
    ) -> DataSourceStreamWriter:
        raise UnsupportedQueryError(_ONLY_READS)

    # Spark sends a source to a process of the stream, which may not find the zip of the package.
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # noqa: ANN401  (as in object)
        return reduced_with_zip(self) or super().__reduce_ex__(protocol)  # type: ignore[return-value]

    def _get_planner(self) -> Planner:
        if self._planner is None:
            from hudi_pyspark.spark.planner import Planner  # noqa: PLC0415  (see above)

            self._planner = Planner(self.options)
        return self._planner
