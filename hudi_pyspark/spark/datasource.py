"""The data source that Spark finds by its name.

Every Spark session that looks up a data source imports this module, so this module imports the
modules that read Hudi tables only when a table is read.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource

from hudi_pyspark.errors import MissingModuleError, UnsupportedQueryError
from hudi_pyspark.short_name import HUDI, SHORT_NAME, SIGNED_NAME
from hudi_pyspark.spark.worker_process import keep_modules, only_message, send_at_once

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader, DataSourceStreamWriter, DataSourceWriter
    from pyspark.sql.types import StructType

    from hudi_pyspark.custom_mergers import Mergers
    from hudi_pyspark.spark.hints import GivenHints
    from hudi_pyspark.spark.planner import Planner
    from hudi_pyspark.spark.stream import HudiStreamReader

_ONLY_READS = "this source only reads: write tables with Apache Hudi, format('hudi')"
_SECOND_NAME_ONLY_READS = (
    "in this session format('hudi') is hudi-pyspark, which only reads, since register(spark, "
    "tables=True) gave it this name. Write in a session that has Apache Hudi's bundle and does not "
    "call register(spark, tables=True)"
)


class HudiDataSource(DataSource):
    """The data source of ``spark.read.format("hudi-py").load(base_path)``."""

    # The user's mergers by payload class; see hudi_pyspark.spark.session.register.
    payload_mergers: ClassVar[Mergers] = {}

    # The secret with which a client of Spark Connect signs; see hudi_pyspark.spark.hints.
    client_secret: ClassVar[str] = ""

    # What a write says.
    only_reads: ClassVar[str] = _ONLY_READS

    # Whether options may be those of SQL; see hudi_pyspark.spark.sql_options.
    takes_sql: ClassVar[bool] = False

    # What the optimizer's rule says about a query. The rule adds it to the pickle of this source.
    hints: GivenHints = {}  # noqa: RUF012  (never changed, and Spark pickles only what differs)

    _planner: Planner | None = None

    @classmethod
    def name(cls) -> str:
        return SHORT_NAME

    @only_message()
    def schema(self) -> StructType:
        return self.planner().schema()

    @only_message()
    def reader(self, schema: StructType) -> DataSourceReader:
        planner = self.planner()
        hints = planner.hints(self._taken_hints(), schema)
        state_reader = planner.state_reader(self, hints)
        if state_reader is not None:
            return state_reader
        # Spark sends this source with each task, and tasks need no planner.
        self._planner = None
        return planner.reader(schema, self.payload_mergers, hints)

    # Without only_message: if a stream fails, its process ends with an error of Spark's own, and
    # only the traceback shows the cause.
    def streamReader(self, schema: StructType) -> HudiStreamReader:  # noqa: N802  (Spark's name)
        planner = self.planner()
        hints = planner.hints(self._taken_hints(), schema)
        return planner.stream_reader(schema, self.payload_mergers, hints)

    def _taken_hints(self) -> GivenHints:
        """Return the hints, which are for one reader: Spark pickles this source again."""
        hints: GivenHints = self.__dict__.pop("hints", {})
        return hints

    @only_message()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001, ARG002
        raise UnsupportedQueryError(self.only_reads)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802, FBT001, ARG002  (Spark's)
        raise UnsupportedQueryError(self.only_reads)

    # Spark sends the source to the process of a stream. That machine has the files of
    # ``addArtifacts`` and ``--py-files``, but the process looks for them in a folder that does not
    # exist.
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # noqa: ANN401  (as in object)
        archive = getattr(__spec__.loader, "archive", None)
        if archive is None:
            return super().__reduce_ex__(protocol)  # type: ignore[return-value]

        def restore(_zip: None, kind: type[object]) -> object:
            return kind.__new__(kind)

        return restore, (_Zip(archive), type(self)), self.__dict__

    # Runs in each process that plans, and in the worker of each task.
    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        keep_modules()
        send_at_once()

    def planner(self) -> Planner:
        """Return the planner of this source's reads; Spark does not call this method.

        Raises:
            MissingModuleError: this Python lacks a module that the package needs.
        """
        if self._planner is None:
            try:
                from hudi_pyspark.spark.planner import Planner  # noqa: PLC0415  (see above)
            except ModuleNotFoundError as error:
                raise MissingModuleError(
                    f"{sys.executable}, the Python of Spark's workers, has no module {error.name}",
                    advice=(
                        "Install hudi-pyspark there with all that it needs, or choose another "
                        "Python before the session starts: PYSPARK_PYTHON in the environment, or "
                        "the setting spark.pyspark.python"
                    ),
                ) from error
            self._planner = Planner(self.options, self.client_secret, takes_sql=self.takes_sql)
            keep_modules()
        return self._planner


class SecondNameDataSource(HudiDataSource):
    """The same source under the name ``hudi``, the provider that metastores record."""

    only_reads = _SECOND_NAME_ONLY_READS

    @classmethod
    def name(cls) -> str:
        return HUDI


class CatalogDataSource(HudiDataSource):
    """The same source for the tables of the catalogs in `jvm/`, with the options of SQL.

    It is registered under no name, so that no read can choose it: the catalogs have the object.
    """

    takes_sql = True


class SignedDataSource(HudiDataSource):
    """The same source for the reads of a client, where Spark keeps the source that it found.

    Spark 4.0 does not replace an installed source by one that knows the secret of the client.
    """

    @classmethod
    def name(cls) -> str:
        return SIGNED_NAME


class _Zip:
    """A zip of modules, from which Python can import as soon as this object is unpickled."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        # Cloudpickle sends a local function by value, so it can run before this package is found.
        def add(path: str) -> None:
            import sys  # noqa: PLC0415  (sent by value, without this module's globals)

            if path not in sys.path:
                sys.path.append(path)

        return add, (self._path,)
