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
from hudi_pyspark.short_name import HUDI, SHORT_NAME
from hudi_pyspark.spark import optimizer
from hudi_pyspark.spark.sql_options import TABLE_FUNCTIONS
from hudi_pyspark.storage.options import CATALOG_PREFIX

_TABLES = "SessionTables"
_CHECK = "CommandCheck"
_FUNCTION = "TableFunction"
CATALOGS = (
    _TABLES, "MountedTables", "CatalogSources", "ReadTable", "Entries", "FileGuard", "Names",
    "Arguments", "Instants", _CHECK, _FUNCTION,
)  # fmt: skip
CHANGELOGS = "ChangelogTables"
_PACKAGE = "hudi_pyspark"  # of the classes in Java
_SETTING = "spark.sql.catalog.spark_catalog"
_BUILTIN = "builtin"
_BUNDLE = "org.apache.hudi.DefaultSource"
_log = logger(__name__)


def has_catalogs() -> bool:
    """Return whether a session of this process has, or had, a catalog of this package."""
    return catalog_classes.cache_info().currsize > 0


def set_source(spark: SparkSession, source: Any) -> None:  # noqa: ANN401  (of the JVM)
    """Give the catalogs of a classic session the source with which they read.

    Args:
        spark: the session, with which this package's source is registered.
        source: of the class `CatalogDataSource`, as the JVM has it.
    """
    session: Any = spark._jsparkSession  # noqa: SLF001
    registered = session.sessionState().dataSourceManager().lookupDataSource(SHORT_NAME)
    sources = optimizer.class_of(catalog_classes(spark._jvm).loader, "CatalogSources")  # noqa: SLF001
    sources.getField("ALL").get(None).add(registered, source)


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
    if not is_on:
        _remove(spark)
        return ""
    is_new = not reads_tables(spark)
    if is_new and (reason := _reason_against(spark)):
        return reason
    # A clone has the rule and the functions of its original, and any session may drop functions.
    loader = catalog_classes(spark._jvm).loader  # noqa: SLF001  (the only way to the catalogs)
    optimizer.add_rule(spark, _CHECK, optimizer.class_of(loader, _CHECK).newInstance)
    if is_new:
        _install(spark, register_hudi)
    _add_functions(spark, optimizer.class_of(loader, _FUNCTION))
    return ""


def _reason_against(spark: SparkSession) -> str:
    """Return why a session cannot have tables by name; "" if it can."""
    if reason := optimizer.only_public(spark):
        return reason
    jvm: Any = spark._jvm  # noqa: SLF001
    if spark.conf.get(_SETTING, _BUILTIN) != _BUILTIN:
        return f"the session has a catalog of its own, {_SETTING}={spark.conf.get(_SETTING)}"
    if _has_bundle(jvm):
        return "the bundle of Apache Hudi is there, and reads them"
    source = _sources(spark).get(HUDI)
    if source is not None and not _second_names(jvm).contains(source):
        return f"the session has another source with the name {HUDI}"
    return ""


def _install(spark: SparkSession, register_hudi: Callable[[], None]) -> None:
    """Put the catalog and the source into their places."""
    jvm: Any = spark._jvm  # noqa: SLF001
    session: Any = spark._jsparkSession  # noqa: SLF001
    state = session.sessionState()
    metastore = session.sharedState().externalCatalog()
    tables = catalog_classes(jvm).tables.newInstance()
    tables.install(state.catalogManager(), metastore, state.newHadoopConf())
    register_hudi()
    _second_names(jvm).add(_sources(spark).get(HUDI))


def _remove(spark: SparkSession) -> None:
    """Take away all that `_switch` gives, also from a clone of such a session."""
    is_ours = reads_tables(spark)
    if is_ours:
        manager: Any = spark._jsparkSession.sessionState().catalogManager()  # noqa: SLF001
        manager.v2SessionCatalog().remove()
    is_ours |= _drop_functions(spark)
    is_ours |= optimizer.remove_rule(spark, _CHECK)
    if is_ours and _second_names(spark._jvm).contains(_sources(spark).get(HUDI)):  # noqa: SLF001
        _sources(spark).remove(HUDI)


def _sources(spark: SparkSession) -> Any:  # noqa: ANN401  (of the JVM)
    session: Any = spark._jsparkSession  # noqa: SLF001
    return registered_sources(session.sessionState().dataSourceManager())


def _second_names(jvm: Any) -> Any:  # noqa: ANN401
    """Return the set of the sources that this package registered under the name ``hudi``."""
    scans = optimizer.class_of(catalog_classes(jvm).loader, "PythonScans")
    return scans.getField("SECOND_NAMES").get(None)


class _TableFunction(NamedTuple):
    """A table function that a session has under a name of one of Apache Hudi's."""

    name: str
    identifier: Any
    is_ours: bool  # otherwise the user's


def _registry(spark: SparkSession) -> Any:  # noqa: ANN401  (of the JVM)
    session: Any = spark._jsparkSession  # noqa: SLF001
    return session.sessionState().tableFunctionRegistry()


def _functions(spark: SparkSession) -> list[_TableFunction]:
    jvm: Any = spark._jvm  # noqa: SLF001
    registry = _registry(spark)
    listed = registry.listFunction()
    text = listed.toString().lower()
    if not any(name in text for name in TABLE_FUNCTIONS):
        return []
    functions = []
    for identifier in jvm.scala.jdk.javaapi.CollectionConverters.asJava(listed):
        name = identifier.funcName().lower()
        if name in TABLE_FUNCTIONS:
            kind = registry.lookupFunctionBuilder(identifier).get().getClass().getName()
            is_ours = kind == f"{_PACKAGE}.{_FUNCTION}"
            functions.append(_TableFunction(name, identifier, is_ours))
    return functions


def has_function(spark: SparkSession, name: str) -> bool:
    """Return whether a table function of a classic session is the one of this package."""
    return any(each.is_ours for each in _functions(spark) if each.name == name)


def _add_functions(spark: SparkSession, kind: Any) -> None:  # noqa: ANN401  (of the JVM)
    """Add the functions of Apache Hudi whose names the session does not have."""
    registered = {each.name: each for each in _functions(spark)}
    for name in TABLE_FUNCTIONS:
        if name not in registered:
            function = kind.newInstance()
            function.getClass().getField("name").set(function, name)
            _registry(spark).createOrReplaceTempFunction(name, function, "scala_udf")
        elif not registered[name].is_ours:
            _log.warning("%s stays the session's own function; Apache Hudi's is not added", name)


def _drop_functions(spark: SparkSession) -> bool:
    """Drop the functions of this package; return whether there were any."""
    ours = [each for each in _functions(spark) if each.is_ours]
    for each in ours:
        _registry(spark).dropFunction(each.identifier)
    return bool(ours)


def reads_tables(spark: SparkSession) -> bool:
    """Return whether the SQL of a classic session reads tables by name."""
    manager: Any = spark._jsparkSession.sessionState().catalogManager()  # noqa: SLF001
    package, _, name = manager.v2SessionCatalog().getClass().getName().rpartition(".")
    return package == _PACKAGE and name in (_TABLES, CHANGELOGS)


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
