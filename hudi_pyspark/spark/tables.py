"""Tables of Apache Hudi by name and by path in the SQL of a classic session.

The sources of the catalogs are in `jvm/`, and are compiled as the optimizer's rule is. A catalog
takes the place of Spark's session catalog, and asks that one first: only entries of Apache Hudi are
read by this source. If this Spark lacks something that they need, the session stays as it is.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from hudi_pyspark.catalogs import check_settings
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.messages import logger
from hudi_pyspark.options.read_options import CATALOG_PREFIX
from hudi_pyspark.short_name import HUDI
from hudi_pyspark.spark import optimizer
from hudi_pyspark.spark.sql_options import TABLE_FUNCTIONS

_TABLES = "SessionTables"
_CHECK = "CommandCheck"
_FUNCTION = "TableFunction"
CATALOGS = (_TABLES, "MountedTables", "ReadTable", "Entries", "FileGuard", _CHECK, _FUNCTION)
CHANGELOGS = "ChangelogTables"
_SETTING = "spark.sql.catalog.spark_catalog"
_BUILTIN = "builtin"
_BUNDLE = "org.apache.hudi.DefaultSource"
_log = logger(__name__)


def switch_tables(spark: SparkSession, *, is_on: bool, register_hudi: Callable[[], None]) -> str:
    """Let the SQL of a classic session read tables by name and by path, or no longer.

    Args:
        spark: the session.
        is_on: whether SQL reads them.
        register_hudi: registers the source under the name ``hudi``, which ``USING hudi`` needs.

    Returns:
        "" if the session now is as asked, else one line that says why not, which is also logged.
    """
    try:
        reason = _switch(spark, is_on=is_on, register_hudi=register_hudi)
    except optimizer.OUT_OF_REACH as error:
        reason = optimizer.reason_of(error)
    if reason:
        _log.warning("SQL does not read tables of Apache Hudi by name: %s", reason)
    return reason


def _switch(spark: SparkSession, *, is_on: bool, register_hudi: Callable[[], None]) -> str:
    jvm: Any = spark._jvm  # noqa: SLF001  (the only way to the catalogs)
    session: Any = spark._jsparkSession  # noqa: SLF001
    state = session.sessionState()
    sources = registered_sources(state.dataSourceManager())
    if reads_tables(spark):
        if not is_on:
            state.catalogManager().v2SessionCatalog().remove()
            sources.remove(HUDI)
        return ""
    if not is_on:
        return ""
    if reason := _reason_against(spark):
        return reason
    loader, tables_class = catalog_classes(jvm)
    second_names = optimizer.class_of(loader, "PythonScans").getField("SECOND_NAMES").get(None)
    if sources.containsKey(HUDI) and not second_names.contains(sources.get(HUDI)):
        return f"the session has another source with the name {HUDI}"
    metastore = session.sharedState().externalCatalog()
    tables = tables_class.newInstance()
    optimizer.add_rule(spark, _CHECK, optimizer.class_of(loader, _CHECK).newInstance)
    tables.install(state.catalogManager(), metastore, state.newHadoopConf())
    for name in TABLE_FUNCTIONS:
        function = optimizer.class_of(loader, _FUNCTION).newInstance()
        for field, value in (("name", name), ("tables", tables)):
            function.getClass().getField(field).set(function, value)
        registry = state.tableFunctionRegistry()
        registry.createOrReplaceTempFunction(name, function, "scala_udf")
    register_hudi()
    second_names.add(sources.get(HUDI))
    return ""


def _reason_against(spark: SparkSession) -> str:
    """Return why a session must keep its own catalog; "" if another may take its place."""
    if reason := optimizer.only_public(spark):
        return reason
    if spark.conf.get(_SETTING, _BUILTIN) != _BUILTIN:
        return f"the session has a catalog of its own, {_SETTING}={spark.conf.get(_SETTING)}"
    if _has_bundle(spark._jvm):  # noqa: SLF001  (as above)
        return "the bundle of Apache Hudi is there, and reads them"
    return ""


def reads_tables(spark: SparkSession) -> bool:
    """Return whether the SQL of a classic session reads tables by name."""
    manager: Any = spark._jsparkSession.sessionState().catalogManager()  # noqa: SLF001
    package, _, name = manager.v2SessionCatalog().getClass().getName().rpartition(".")
    return package == "hudi_pyspark" and name in (_TABLES, CHANGELOGS)


def registered_sources(manager: Any) -> Any:  # noqa: ANN401  (of the JVM)
    """Return the map of the sources that are registered with a session, by their names.

    Raises:
        Py4JError: Spark has no such map.
    """
    sources = manager.getClass().getDeclaredField("runtimeDataSourceBuilders")
    sources.setAccessible(True)
    return sources.get(manager)


def mount_catalog(spark: SparkSession, name: str, settings: Mapping[str, str]) -> None:
    """Give a classic session a catalog whose tables Python finds.

    Args:
        spark: the session.
        name: of the catalog in SQL.
        settings: as of `hudi_pyspark.catalogs.find_table`.

    Raises:
        InvalidOptionError: a setting is unknown, or the session has a catalog with this name.
    """
    check_settings(settings)
    if name.lower() == "spark_catalog" or spark.conf.get(f"spark.sql.catalog.{name}", ""):
        raise InvalidOptionError(f"catalog {name}: the session has a catalog with this name")
    options = {f"{CATALOG_PREFIX}{key}": value for key, value in settings.items()}
    if reason := optimizer.only_public(spark):
        _log.warning("SQL does not read the catalog %s: %s", name, reason)
        return
    try:
        manager: Any = spark._jsparkSession.sessionState().catalogManager()  # noqa: SLF001
        loader = catalog_classes(spark._jvm).loader  # noqa: SLF001
        catalog = optimizer.class_of(loader, "MountedTables").newInstance()
        optimizer.add_rule(spark, _CHECK, optimizer.class_of(loader, _CHECK).newInstance)
        catalog.install(manager, name, options)
    except optimizer.OUT_OF_REACH as error:
        _log.warning("SQL does not read the catalog %s: %s", name, optimizer.reason_of(error))


def _has_bundle(jvm: Any) -> bool:  # noqa: ANN401
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(_BUNDLE)
    except optimizer.OUT_OF_REACH:
        return False
    return True


class CatalogClasses(NamedTuple):
    """The compiled classes of the catalogs, in the driver's JVM."""

    loader: Any  # of all of them
    tables: Any  # the class of the session catalog


@cache
def catalog_classes(jvm: Any) -> CatalogClasses:  # noqa: ANN401
    """Return the classes of the catalogs for this Spark, compiled once per JVM.

    Raises:
        Py4JError: they cannot be compiled.
    """
    return compile_catalogs(jvm, optimizer.java_sources((*CATALOGS, CHANGELOGS)))


def compile_catalogs(jvm: Any, sources: Mapping[str, str]) -> CatalogClasses:  # noqa: ANN401
    """Compile the catalogs; if Spark has no changelogs, as before 4.2, a line of the log says so.

    Args:
        jvm: py4j's view of the driver's JVM.
        sources: by class name.

    Raises:
        Py4JError: they cannot be compiled.
    """
    core = optimizer.rule_classes(jvm).core.getClassLoader()
    catalogs = optimizer.one_text(text for name, text in sources.items() if name != CHANGELOGS)
    loader = optimizer.compile_java(jvm, catalogs, core).getClassLoader()
    try:
        changelogs = optimizer.compile_java(jvm, sources[CHANGELOGS], loader).getClassLoader()
        tables = optimizer.class_of(changelogs, CHANGELOGS)
        tables.newInstance()  # checks the classes of Spark
    except optimizer.OUT_OF_REACH as error:
        reason = optimizer.reason_of(error)
        optimizer.log_once(f"SQL has no CHANGES, since Spark lacks what it needs: {reason}")
        tables = optimizer.class_of(loader, _TABLES)
    return CatalogClasses(loader, tables)
