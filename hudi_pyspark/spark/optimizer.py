"""A rule for Spark's optimizer that reads only the columns which a query needs.

Spark asks a Python data source for every column of its schema. The rule, `NarrowScans.java`, is
compiled in the driver's JVM by the Janino compiler that ships with Spark, and added to the session.
It narrows the schema of a scan, and leaves hints in it: see `hints.py`.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

try:
    from py4j.protocol import Py4JError
except ImportError:  # a client of Spark Connect that has no Spark

    class Py4JError(Exception):  # type: ignore[no-redef]
        """A substitute that nothing raises."""


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENABLED = "spark.hudi-py.optimizer.enabled"
COLUMNAR = "spark.hudi-py.columnar.enabled"
_RULE = "NarrowScans"
READS_MORE = "scans read more than a query needs, since a part of Spark is out of reach"
_log = logging.getLogger(__name__)


def install_optimizer(spark: SparkSession) -> str:
    """Add the rule to a session that does not have it yet.

    Returns:
        Why the session has no rule, in one line; "" if it has one. A reason that lies in Spark is
        logged, too; docs/private-parts-of-spark.md lists what the rule needs of Spark.
    """
    try:
        if spark.conf.get(ENABLED, "true") != "true":
            return f"{ENABLED} is not true"
        _install(spark)
    except (Py4JError, AttributeError, TypeError) as error:
        # Spark Connect, shared clusters that forbid py4j, a Spark whose classes have changed.
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        log_once(f"{READS_MORE} (the optimizer's rule): {reason}")
        return reason
    return ""


@cache
def log_once(message: str) -> None:
    """Log at INFO what could not be installed, once in a process: each read registers again."""
    _log.info(message)


def _install(spark: SparkSession) -> None:
    jvm: Any = spark._jvm  # noqa: SLF001  (the only way to the optimizer)
    experimental: Any = spark._jsparkSession.experimental()  # noqa: SLF001
    converters = jvm.scala.jdk.javaapi.CollectionConverters
    rules = jvm.java.util.ArrayList(converters.asJava(experimental.extraOptimizations()))
    if any(rule.getClass().getName() == f"hudi_pyspark.{_RULE}" for rule in rules):
        return
    rule = _instance(_compile(jvm, _RULE), _RULE)
    _make_columnar(spark, jvm, rule)
    rules.add(rule)
    getattr(experimental, "extraOptimizations_$eq")(converters.asScala(rules).toList())


def _make_columnar(spark: SparkSession, jvm: Any, rule: Any) -> None:  # noqa: ANN401  (of the JVM)
    """Let a rule give scans columnar readers, whose classes executors get as a jar."""
    try:
        # A cluster may keep jars of sessions from its executors: there it is the user's choice.
        is_local = spark.sparkContext._jsc.isLocal()  # noqa: SLF001
        if spark.conf.get(COLUMNAR, str(is_local).lower()) != "true":
            return
        compiler = _compile(jvm, "ArrowReaders")
        readers = _instance(compiler, "ArrowReaders")
        jar = Path(spark.sparkContext._temp_dir or "", "hudi-py.jar").absolute()  # noqa: SLF001
        if not jar.exists():
            with ZipFile(jar, "w") as archive:
                for name, code in compiler.getBytecodes().items():
                    archive.writestr(f"{name.replace('.', '/')}.class", code)
            # Where the executors are in this process, none has to fetch it from the driver's host.
            location = jar.as_uri().replace("file:", "local:") if is_local else str(jar)
            spark.sparkContext._jsc.addJar(location)  # noqa: SLF001
        # By reflection: py4j keeps the methods of the first class that has this name.
        rule.getClass().getField("columnar").set(rule, readers)
    except (Py4JError, AttributeError, TypeError, OSError) as error:
        reason = str(error).partition("\n")[0]
        log_once(f"this Spark copies rows, since its readers cannot be columnar: {reason}")


def _compile(jvm: Any, name: str) -> Any:  # noqa: ANN401
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(files(__package__).joinpath(f"{name}.java").read_text(encoding="utf-8"))
    return compiler


def _instance(compiler: Any, name: str) -> Any:  # noqa: ANN401
    return compiler.getClassLoader().loadClass(f"hudi_pyspark.{name}").newInstance()
