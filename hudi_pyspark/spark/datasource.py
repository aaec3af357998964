"""The Spark data source, without any knowledge of Hudi.

Every Spark session that looks up a data source imports this module, so the modules that read Hudi
tables are imported only when one is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource

import hudi_pyspark
from hudi_pyspark import SHORT_NAME, UnsupportedQueryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from hudi_pyspark.reading.merge.custom_merger import PayloadMerger
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

    # Spark sends a source to a process of the stream. The files of addArtifacts and --py-files are
    # on that machine, but the process looks for them in a folder that does not exist. So a source
    # that was imported from such a file brings the path along.
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # noqa: ANN401  (as in object)
        archive = getattr(hudi_pyspark.__loader__, "archive", None)
        if archive is None:
            return super().__reduce_ex__(protocol)  # type: ignore[return-value]

        def restore(_archive: None, source: type[object]) -> object:
            return source.__new__(source)

        return restore, (_Archive(archive), type(self)), self.__dict__

    def _get_planner(self) -> Planner:
        if self._planner is None:
            from hudi_pyspark.spark.planner import Planner  # noqa: PLC0415

            self._planner = Planner(self.options)
        return self._planner


class _Archive:
    """The path of a zip; what is pickled after it can be imported from there."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        # A local function is pickled by value, so it runs before this package can be imported.
        def add(path: str) -> None:
            import sys  # noqa: PLC0415

            if path not in sys.path:
                sys.path.append(path)

        return add, (self._path,)
