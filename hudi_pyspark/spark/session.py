"""Register the source with Spark sessions, read with it and explain what is read."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.session import SparkSession as ClassicSession
from pyspark.sql.types import ArrayType, MapType, StructType

from hudi_pyspark.custom_mergers import registered_payloads
from hudi_pyspark.errors import UnsupportedQueryError, printable
from hudi_pyspark.messages import warn
from hudi_pyspark.options.read_options import BY_NAME, GivenOptions, spark_texts
from hudi_pyspark.short_name import HUDI, SHORT_NAME
from hudi_pyspark.spark.datasource import (
    CatalogDataSource,
    HudiDataSource,
    SecondNameDataSource,
    SignedDataSource,
)
from hudi_pyspark.spark.hadoop_settings import is_hadoop_setting
from hudi_pyspark.spark.hints import ClientHints, GivenHints, Hints, read_hints
from hudi_pyspark.spark.optimizer import (
    ENABLED,
    OUT_OF_REACH,
    READS_MORE,
    install_optimizer,
    log_once,
    only_public,
)
from hudi_pyspark.spark.sql_options import plain_options
from hudi_pyspark.spark.tables import (
    has_catalogs,
    mount_catalog,
    registered_sources,
    set_source,
    switch_tables,
)

WORKER_PATH = str(Path(__file__).with_name("worker_path"))
"""The folder that goes on the path of this source's Python processes; see `sitecustomize`."""
_STARTS_SLOWLY = "Python processes start slowly, since a part of Spark is out of reach"
_NEWEST = "the newest one at each action"
_OTHERWISE = "after hudi_pyspark.register(spark) actions read the newest one"
_AS_LOADED = f"the one in which it was loaded; {_OTHERWISE}"
_FIRST_READ = f"the one in which it was first read; {_OTHERWISE}"
_CACHED = "the one that was cached"
# The classes of tables and changes of the catalogs, which have the options of a read.
_OF_CATALOGS = ("hudi_pyspark.ReadTable", "hudi_pyspark.ChangelogTables$Changes")
_NOTHING = (
    f"no scan of {SHORT_NAME} is known; over Spark Connect a view reads all columns of what it was "
    "made of, in the state in which it was first read"
)


def register(
    spark: SparkSession,
    *,
    tables: bool | None = None,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Register ``format("hudi-py")`` with a session, so its scans read only what queries need.

    Example:
        >>> hudi_pyspark.register(spark)
        >>> spark.read.format("hudi-py").load("orders").where("region = 'emea'").count()
        15

    Spark Connect needs it, and so does every Spark that does not look for Python data sources
    itself. It does no harm elsewhere. Spark's optimizer, or the client of Spark Connect, then
    passes on columns, conditions and limits (``spark.hudi-py.optimizer.enabled``). Payload mergers
    that are registered become known to the session. Local workers of a classic session run this
    Python unless ``PYSPARK_PYTHON`` or ``spark.pyspark.python`` names another one.

    Over Spark Connect the source is sent to the server, so the client needs the server's release of
    Python (3.12, for example): with another one, each later read of the session fails with
    ``PYTHON_VERSION_MISMATCH``. If the server has the package, such a client reads without
    ``register``.

    Settings of the session for reads (``hoodie.datasource.query.type``) and storages
    (``fs.s3a.access.key``) do not reach a Python data source: a warning names them. If one for
    reads is set later, the first query of a classic session that ignores it logs a warning.

    Args:
        spark: the session.
        tables: True lets the SQL of a classic session read tables of its metastore by name, and
            every table by its path: ``SELECT … FROM hudi.`/path` ``. False ends this. The default
            leaves it as it is.
        catalogs: settings of further catalogs by the name that each has in SQL, as in
            ``{"lake": {"type": "glue"}}``; only for a classic session. The settings are those of
            `HudiTable.from_catalog`.

    SQL only reads these tables: no statement of such a session deletes a file of a table.

    On a release of Spark that was not tested, this uses only Spark's public API unless
    ``spark.hudi-py.optimizer.enabled=true`` is set: scans then read all columns, and SQL reads no
    tables by name. The log says so at INFO.

    Raises:
        UnsupportedQueryError: this Spark cannot be given the registered payload mergers, ``tables``
            or ``catalogs`` is given for a session of Spark Connect, or the session is stopped.
        InvalidOptionError: a setting of a catalog is invalid.
    """
    _check_running(spark)
    _use_this_python(spark)
    _warn_of_settings(spark)
    _register(spark, HudiDataSource, _narrow_scans(spark))
    if is_classic(spark) and (tables or catalogs or has_catalogs()):
        _serve_catalogs(spark)
    if tables is None and not catalogs:
        return
    if not is_classic(spark):
        raise UnsupportedQueryError(
            "tables by name and catalogs need a classic session, whose JVM is in reach",
            advice="Over Spark Connect use views, or the DataFrames of hudi_pyspark.read",
        )
    if tables is not None:
        register_hudi = partial(_register, spark, SecondNameDataSource)
        switch_tables(spark, is_on=tables, register_hudi=register_hudi)
    for name, settings in (catalogs or {}).items():
        mount_catalog(spark, name, settings)


def _check_running(spark: SparkSession) -> None:
    """Raise an error if a session is stopped: Spark's own errors do not say what is wrong."""
    try:
        if is_classic(spark):
            session: Any = spark._jsparkSession  # noqa: SLF001  (also knows if the JVM ended it)
            is_stopped = session.sparkContext().isStopped()
        else:
            is_stopped = getattr(spark, "is_stopped", False)
    except OUT_OF_REACH:
        return
    if is_stopped:
        raise UnsupportedQueryError(
            "this session is stopped: make a new one by SparkSession.builder.getOrCreate(), "
            "register it, and load the DataFrames again"
        )


def _serve_catalogs(spark: SparkSession) -> None:
    """Give the catalogs of a session a source that knows the registered mergers.

    If a part of Spark is out of reach, there are no catalogs, and `switch_tables` says why.
    """
    if only_public(spark):
        return
    with suppress(*OUT_OF_REACH):
        source = _with_members(CatalogDataSource, {"payload_mergers": registered_payloads()})
        set_source(spark, _in_jvm(spark, source))


def _register(spark: SparkSession, source: type[HudiDataSource], client_secret: str = "") -> None:
    """Register a source that knows the registered mergers, and the secret of a client."""
    members = {"payload_mergers": registered_payloads(), "client_secret": client_secret}
    if register_source(spark, _with_members(source, members)) or not any(members.values()):
        return
    if members["payload_mergers"]:
        raise UnsupportedQueryError(
            "this version of Spark does not replace the source that it loaded by itself, which "
            "does not have the registered mergers",
            advice=(
                "Use a newer Spark, or give each read the option payload_merger=module:function, "
                "whose module HUDI_PYSPARK_FUNCTIONS allows"
            ),
        )
    if register_source(spark, _with_members(SignedDataSource, members)):
        from hudi_pyspark.spark.connect.session import rename_reads  # noqa: PLC0415  (needs grpc)

        rename_reads(spark, SignedDataSource.name())


def _with_members(
    source: type[HudiDataSource], members: Mapping[str, object]
) -> type[HudiDataSource]:
    if not any(members.values()):
        return source
    # Spark plans in another Python process. Pickle sends a class of the module __main__ by value,
    # together with its functions, wherever the user defined them.
    return type(source.__name__, (source,), {**members, "__module__": "__main__"})


def _warn_of_settings(spark: SparkSession) -> None:
    """Warn of settings of the session that would change a read if the source saw them."""
    names = {name.removeprefix("spark.hadoop.") for name in getattr(spark.conf, "getAll", ())}
    ignored = sorted(n for n in names if n.lower() in BY_NAME or is_hadoop_setting(n))
    if ignored:
        advice = "give them to each read as options"
        if is_classic(spark) and any(map(is_hadoop_setting, ignored)):
            advice += "; hudi_pyspark.storage_options_from_spark(spark, path) has those of Hadoop"
        some = ", ".join(ignored[:3])
        text = f"a Python data source does not see settings of the session such as {some}: {advice}"
        warn(text)


def _narrow_scans(spark: SparkSession) -> str:
    """Let a session's scans read only what its queries need; if that fails, log why.

    Returns:
        The secret with which a client of Spark Connect signs hints; "" for any other session.
    """
    if is_classic(spark):
        install_optimizer(spark)
        return ""
    try:
        from hudi_pyspark.spark.connect.session import switch_hook  # noqa: PLC0415  (needs grpc)

        is_on = not only_public(spark) and spark.conf.get(ENABLED, "true") == "true"
        return switch_hook(spark, is_on=is_on)
    except (ImportError, AttributeError, TypeError) as error:  # a client that is not PySpark's
        log_once(f"{READS_MORE} (the hook of Spark Connect): {type(error).__name__}: {error}")
        return ""


def is_classic(spark: object) -> bool:
    """Return whether a session has a JVM in reach; sessions of Spark Connect have none."""
    return isinstance(spark, ClassicSession)


def _use_this_python(spark: SparkSession) -> None:
    """Let the workers of a local session run this Python, unless the user chose a Python.

    Spark takes the first python3 on the PATH. If a notebook or an IDE runs the Python of an
    environment that is not activated, that python3 is another one and lacks this package.
    """
    if "PYSPARK_PYTHON" in os.environ or not is_classic(spark):
        return
    context = spark.sparkContext
    if (context.master or "").startswith("local") and not context.getConf().get(
        "spark.pyspark.python"
    ):
        context.pythonExec = sys.executable


def register_source(spark: SparkSession, source: type[HudiDataSource]) -> bool:
    """Register a source; return False if Spark keeps the source that it found, as 4.0 does.

    ``spark.dataSource.register`` would start a Python process that looks for installed sources, to
    warn of a source with the same name. Without the warning Spark looks for installed sources when
    a query has a format that no source is registered for.
    """
    if is_classic(spark) and not only_public(spark):
        from py4j.protocol import Py4JError  # noqa: PLC0415  (clients of Spark Connect lack py4j)

        try:
            return _register_in_jvm(spark, source)
        except (Py4JError, AttributeError, ImportError, TypeError) as error:
            log_once(f"{_STARTS_SLOWLY}: {type(error).__name__}: {error}")
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise
        return False
    return True


def _in_jvm(spark: SparkSession, source: type[HudiDataSource]) -> Any:  # noqa: ANN401
    """Return the object of the JVM for a source, which Spark makes when it registers one."""
    from pyspark.sql.udf import _wrap_function  # noqa: PLC0415  (a later Spark may lack it)

    function: Any = _wrap_function(spark.sparkContext, source)
    # The variables of this source's processes alone: Spark starts processes of other sources, and
    # of functions, with other variables.
    variables = function.envVars()
    paths = WORKER_PATH, variables.get("PYTHONPATH")
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    jvm: Any = spark._jvm  # noqa: SLF001  (the only way to the JVM)
    sources = jvm.org.apache.spark.sql.execution.datasources.v2.python
    return sources.UserDefinedPythonDataSource(function)


def _register_in_jvm(spark: SparkSession, source: type[HudiDataSource]) -> bool:
    jvm_source = _in_jvm(spark, source)
    manager: Any = spark._jsparkSession.sessionState().dataSourceManager()  # noqa: SLF001
    sources = registered_sources(manager)
    sources.put(source.name(), jvm_source)
    if manager.lookupDataSource(source.name()).equals(jvm_source):
        return True
    sources.remove(source.name())  # Spark 4.0 cannot clone a session with two sources of one name
    return False


def read(
    spark: SparkSession,
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    filter: str | None = None,  # noqa: A002  (the option's name)
    as_of: str | date | None = None,
    query_type: str = "snapshot",
    **options: str | bool | float,
) -> DataFrame:
    """Read a table as a DataFrame, and register the data source with the session.

    Example:
        >>> hudi_pyspark.read(spark, "orders", ["id", "qty"], filter="region = 'emea'").count()
        15

    Args:
        spark: the session.
        path: base path of the table.
        columns: names of the columns to read, in this order; all by default.
        filter: rows to read, as in a WHERE clause; all by default.
        as_of: instant of a time-travel query, inclusive; the latest state by default.
        query_type: ``snapshot``, ``read_optimized``, or ``incremental`` with the option ``begin``.
        options: any other read option by its alias.

    Raises:
        UnsupportedQueryError: a column's name contains a comma, this Spark cannot be given the
            registered payload mergers, or the session is stopped.
        AnalysisException: Spark's, with the text of an error of this package about the table or the
            options.
    """
    named = {"as_of": as_of, "columns": columns, "filter": filter, "query_type": query_type}
    given = {name: value for name, value in {**named, **options}.items() if value is not None}
    return load(spark, os.fsdecode(path), spark_texts(given))


def load(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """Return a DataFrame of a table, by options of the source, and register the source.

    Raises:
        UnsupportedQueryError: as `register` raises it.
    """
    register(spark)
    return spark.read.format(SHORT_NAME).options(**options).load(path)


def explain(df: DataFrame) -> str:
    """Explain what each scan of a DataFrame reads: columns, conditions, limit, state and commits.

    Example:
        >>> frame = hudi_pyspark.read(spark, "orders").select("id")
        >>> "id" in hudi_pyspark.explain(frame)
        True

    Args:
        df: of a classic session or of Spark Connect.
    """
    scans = _classic_scans(df) if is_classic(df.sparkSession) else _connect_scans(df)
    return "\n".join(scans) or _NOTHING


def _scan_text(path: str, columns: StructType, hints: Hints | ClientHints, state: str) -> str:
    fields = [
        f"{field.name} {field.dataType.simpleString()}"
        if isinstance(field.dataType, StructType | ArrayType | MapType)
        else field.name
        for field in columns
    ]
    lines = [f"{SHORT_NAME} {path}", f"  columns: {', '.join(fields) or 'none'}"]
    lines += [f"  condition: {text}" for text in hints.filters]
    lines += [f"  limit: {hints.limit}"] if hints.limit is not None else []
    return "\n".join(map(printable, [*lines, f"  state: {state}"]))


def _state_text(options: Mapping[str, str], *, is_newest: bool, otherwise: str) -> str:
    """Say which state of a table, and which of its commits, the actions of a DataFrame read."""
    given = GivenOptions.of(options)
    if given.has("as_of"):
        return f"as of {given.value('as_of')}"
    end = f" up to {given.value('end')}" if given.has("end") else ""
    commits = f", commits after {given.value('begin')}{end}" if given.has("begin") else ""
    return f"{_NEWEST if is_newest else otherwise}{commits}"


def _classic_scans(df: DataFrame) -> Iterator[str]:
    execution: Any = df._jdf.queryExecution()  # noqa: SLF001  (the only way to the plan)
    leaves = execution.optimizedPlan().collectLeaves()
    for leaf in (leaves.apply(place) for place in range(leaves.size())):
        if leaf.getClass().getSimpleName() != "DataSourceV2ScanRelation":
            continue
        table = leaf.relation().table()
        if table.getClass().getSimpleName() == "ChangelogTable":  # of Spark's CHANGES
            table = table.changelog()
        is_of_catalog = table.getClass().getName() in _OF_CATALOGS
        if not is_of_catalog and table.name() not in (SHORT_NAME, HUDI):
            continue
        schema = StructType.fromJson(json.loads(leaf.scan().readSchema().json()))
        hints = read_hints(given_hints(df.sparkSession, leaf.scan()), schema)
        options = dict(leaf.relation().options().asCaseSensitiveMap())
        if is_of_catalog:
            options = plain_options({**table.options(), **options})
        state = _state_text(options, is_newest=hints.is_pinned, otherwise=_AS_LOADED)
        path = options.get("path") or options["table"]
        yield _scan_text(path, hints.columns, hints, state)


def given_hints(spark: SparkSession, scan: Any) -> GivenHints:  # noqa: ANN401  (of the JVM)
    """Return the hints that the optimizer's rule gave a scan; none if it has not made the scan."""
    proxies: Any = spark._jvm.java.lang.reflect.Proxy  # type: ignore[union-attr]  # noqa: SLF001
    if not proxies.isProxyClass(scan.getClass()):
        return {}
    handler = proxies.getInvocationHandler(scan)
    if handler.getClass().getName() != "hudi_pyspark.NarrowedScan":
        return {}
    # By reflection, since py4j remembers the members of the first class with a given name.
    planned = handler.getClass().getField("planned").get(handler)
    return dict(planned.getClass().getField("hints").get(planned))


def _connect_scans(df: DataFrame) -> Iterator[str]:
    from hudi_pyspark.spark.connect.session import reads_of, schema_of  # noqa: PLC0415  (needs grpc)

    client: Any = df.sparkSession.client
    sources, secret = reads_of(client, df._plan.to_proto(client))  # type: ignore[operator]  # noqa: SLF001
    for source in sources:
        hints = ClientHints.of_read(source.options, secret)
        path = ", ".join(source.paths) or source.options["path"]
        columns = hints.without_placeholder(schema_of(client, source))
        otherwise = _CACHED if secret else _FIRST_READ
        state = _state_text(source.options, is_newest=hints.is_given, otherwise=otherwise)
        yield _scan_text(path, columns, hints, state)
