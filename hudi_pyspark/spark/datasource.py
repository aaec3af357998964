"""The Spark data source, without any knowledge of Hudi.

Every Spark session that looks up a data source imports this module, so the modules that read Hudi
tables are imported only when one is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource

from hudi_pyspark import SHORT_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.datasource import DataSourceReader
    from pyspark.sql.types import StructType

    from hudi_pyspark.query.merge.custom_merger import PayloadMerger
    from hudi_pyspark.spark.planner import Planner
    from hudi_pyspark.spark.stream import HudiStreamReader


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

    def _get_planner(self) -> Planner:
        if self._planner is None:
            from hudi_pyspark.spark.planner import Planner  # noqa: PLC0415

            self._planner = Planner(self.options)
        return self._planner
