"""A rule for Spark's optimizer that reads only the columns which a query needs.

Spark asks a Python data source for every column of its schema. The rule, `NarrowScans.java`, is
compiled in the driver's JVM by the Janino compiler that ships with Spark, and added to the session.
It narrows the schema of a scan, and leaves hints in it: see `hints.py`.
"""

from __future__ import annotations

import logging
from importlib.resources import files
from typing import TYPE_CHECKING, Any

try:
    from py4j.protocol import Py4JError
except ImportError:  # a client of Spark Connect that has no Spark

    class Py4JError(Exception):  # type: ignore[no-redef]
        """A substitute that nothing raises."""


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENABLED = "spark.hudi-py.optimizer.enabled"
_CLASS = "hudi_pyspark.NarrowScans"
_log = logging.getLogger(__name__)


def install_optimizer(spark: SparkSession) -> str:
    """Add the rule to a session that does not have it yet."""
    try:
        if spark.conf.get(ENABLED, "true") != "true":
            return f"{ENABLED} is not true"
        _install(spark)
    except (Py4JError, AttributeError, TypeError) as error:
        # Spark Connect, shared clusters that forbid py4j, a Spark whose classes have changed.
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        _log.debug("columns are not pruned by Spark's optimizer: %s", reason)
        return reason
    return ""


def _install(spark: SparkSession) -> None:
    jvm: Any = spark._jvm  # noqa: SLF001  (the only way to the optimizer)
    experimental: Any = spark._jsparkSession.experimental()  # noqa: SLF001
    converters = jvm.scala.jdk.javaapi.CollectionConverters
    rules = jvm.java.util.ArrayList(converters.asJava(experimental.extraOptimizations()))
    if any(rule.getClass().getName() == _CLASS for rule in rules):
        return
    rules.add(_compile(spark, jvm))
    getattr(experimental, "extraOptimizations_$eq")(converters.asScala(rules).toList())


def _compile(spark: SparkSession, jvm: Any) -> Any:  # noqa: ANN401  (objects of the JVM)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(files(__package__).joinpath("NarrowScans.java").read_text(encoding="utf-8"))
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
    rule = compiler.getClassLoader().loadClass(_CLASS)
    constructor = rule.getDeclaredConstructor(gateway.new_array(jvm.java.lang.Class, 0))
    return constructor.newInstance(gateway.new_array(jvm.java.lang.Object, 0))
