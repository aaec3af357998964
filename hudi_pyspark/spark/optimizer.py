"""The rule for Spark's optimizer that narrows scans to the columns a query needs.

Spark asks a Python data source for every column of its schema. The rule narrows the schema of a
scan and sends hints with its source: see `hints.py`. The sources of the rule are in `jvm/`. The
Janino compiler that ships with Spark compiles them in the driver's JVM: first the core as one text,
then each part by itself. If this Spark lacks something that a part needs, the core and the other
parts work without that part.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pyspark
from pyspark.sql import SparkSession

from hudi_pyspark.messages import logger
from hudi_pyspark.options.read_options import BY_NAME
from hudi_pyspark.short_name import HUDI, SHORT_NAME
from hudi_pyspark.spark.hints import ANSWER_WORDS, ATTRIBUTE, Hint
from hudi_pyspark.spark.sql_messages import SQL_MESSAGES
from hudi_pyspark.spark.sql_options import SQL_WORDS

try:
    from py4j.protocol import Py4JError
except ImportError:  # a client of Spark Connect that has no Spark

    class Py4JError(Exception):  # type: ignore[no-redef]
        """A placeholder that is never raised."""


OUT_OF_REACH = (Py4JError, AttributeError, TypeError)
"""What is raised if this Spark lacks a name, or keeps its JVM from Python."""
ENABLED = "spark.hudi-py.optimizer.enabled"
COLUMNAR = "spark.hudi-py.columnar.enabled"
TESTED_RELEASES = ("4.0", "4.1", "4.2", "4.3")
"""Releases of Spark that `make matrix` tests; elsewhere sessions get no private part of Spark.

The same name may have another meaning in another release. For example, the columnar operators of
these releases pass tests/spark/columnar_queries.py; those of another release may use the columns of
a batch after requesting the next batch.
"""
READS_MORE = "scans read more than a query needs, since a part of Spark is out of reach"
_RULE = "NarrowScans"
CORE = (
    _RULE, "Need", "PlanCheck", "Parts", "KeptScans", "NarrowedScan", "Planned", "PythonScans",
    "Hints", "Answer", "Json", "IgnoredSettings", "Reflection", "Log",
)  # fmt: skip
_READERS = "ArrowReaders"


class Part(NamedTuple):
    """A part that the rule can do without."""

    field: str  # the field of Parts.java that holds the part
    otherwise: str  # what is different without the part


PARTS = {
    "NestedFields": Part("nestedFields", "scans read structs whole"),
    "FilterText": Part("filterText", "conditions do not reach scans, which read more rows"),
    "NewestState": Part(
        "keptScans", "DataFrames and views keep the state in which they were loaded"
    ),
    "JoinFilters": Part("joinFilters", "the keys of a join do not filter scans"),
    "PlanTogether": Part("planTogether", "the scans of a query are planned one after the other"),
    "MicroBatches": Part("microBatches", "streams read all columns"),
    _READERS: Part("columnar", "Spark copies the rows that it reads"),
}
_SETTINGS = sorted(name for name in BY_NAME if name.startswith("hoodie."))
_IGNORED = (
    "this query ignores the setting %s of the session, which a Python data source does not see: "
    "give it to the read, by option('%1$s', ...), or to a table in SQL, by WITH (`%1$s` = ...)"
)
# The words that Java and Python share, by the name of their constant in the Java class Words.
_WORDS = {
    "SOURCE": SHORT_NAME,
    "ENABLED": ENABLED,
    "COLUMNAR": COLUMNAR,
    "ATTRIBUTE": ATTRIBUTE,
    "HUDI": HUDI,
    "SETTINGS": ",".join(_SETTINGS),
    "IGNORED": _IGNORED,
    **ANSWER_WORDS,
    **SQL_WORDS,
    **SQL_MESSAGES,
    **{hint.name: hint.value for hint in Hint},
}
_log = logger(__name__)


def install_optimizer(spark: SparkSession) -> str:
    """Add the rule to a session, unless the session has the rule already.

    Returns:
        "" if the session now has the rule, else one line that says why not. If Spark is the reason,
        the line is logged as well; docs/private-parts-of-spark.md lists what the rule needs of
        Spark.
    """
    if reason := only_public(spark):
        return reason
    try:
        if spark.conf.get(ENABLED, "true") != "true":
            return f"{ENABLED} is not true"
        add_rule(spark, _RULE, lambda: _make_rule(spark, rule_classes(spark._jvm)))  # noqa: SLF001
    except OUT_OF_REACH as error:
        # E.g. Spark Connect, a shared cluster that forbids py4j, or a Spark with other classes.
        reason = reason_of(error)
        log_once(f"{READS_MORE} (the optimizer's rule): {reason}")
        return reason
    return ""


def only_public(spark: SparkSession) -> str:
    """Return why a session gets nothing but Spark's public API; "" if it also gets private parts.

    The reason is an untested release of Spark, unless the user has set `ENABLED` to true. It is
    logged as well.
    """
    release = untested_release(spark)
    if not release or spark.conf.get(ENABLED, "") == "true":
        return ""
    reason = f"Spark {release} is untested"
    log_once(
        f"{reason}: register uses only Spark's public API, so scans read more than a query needs. "
        f"{ENABLED}=true lets it use this release as it uses those that were tested"
    )
    return reason


def untested_release(spark: SparkSession) -> str:
    """Return the release of PySpark or of the session's Spark that is not tested; "" if both are.

    They may differ over Spark Connect, whose client and server have a release each.
    """
    releases = (pyspark.__version__, spark.version)
    return next((r for r in releases if ".".join(r.split(".")[:2]) not in TESTED_RELEASES), "")


@cache
def log_once(message: str) -> None:
    """Log a message at INFO once per process, although each read registers again."""
    _log.info(message)


def add_rule(spark: SparkSession, name: str, make: Callable[[], Any]) -> None:
    """Add a rule to the optimizer of a classic session, unless it has the rule already.

    Args:
        spark: the session.
        name: of the rule's class.
        make: makes the rule, in the JVM.

    Raises:
        Py4JError: a part of Spark is out of reach.
    """
    rules = _rules(spark)
    if not any(_is_rule(rule, name) for rule in rules):
        rules.add(make())
        _set_rules(spark, rules)


def remove_rule(spark: SparkSession, name: str) -> bool:
    """Remove a rule from the optimizer of a classic session; return whether the session had it.

    Raises:
        Py4JError: a part of Spark is out of reach.
    """
    rules = _rules(spark)
    removed = [rule for rule in rules if _is_rule(rule, name)]
    for rule in removed:
        rules.remove(rule)
    if removed:
        _set_rules(spark, rules)
    return bool(removed)


def _is_rule(rule: Any, name: str) -> bool:  # noqa: ANN401  (of the JVM)
    return bool(rule.getClass().getName() == f"hudi_pyspark.{name}")


def _rules(spark: SparkSession) -> Any:  # noqa: ANN401  (of the JVM)
    """Return a list of the rules that sessions may add."""
    jvm: Any = spark._jvm  # noqa: SLF001  (the only way to the optimizer)
    experimental: Any = spark._jsparkSession.experimental()  # noqa: SLF001
    converters = jvm.scala.jdk.javaapi.CollectionConverters
    return jvm.java.util.ArrayList(converters.asJava(experimental.extraOptimizations()))


def _set_rules(spark: SparkSession, rules: Any) -> None:  # noqa: ANN401  (of the JVM)
    jvm: Any = spark._jvm  # noqa: SLF001
    experimental: Any = spark._jsparkSession.experimental()  # noqa: SLF001
    converters = jvm.scala.jdk.javaapi.CollectionConverters
    getattr(experimental, "extraOptimizations_$eq")(converters.asScala(rules).toList())


def reason_of(error: Exception) -> str:
    """Return one line that describes an error of this process or of the JVM."""
    text = str(getattr(error, "java_exception", error)).partition("\n")[0]
    return f"{type(error).__name__}: {text}"


def java_sources(names: Iterable[str] = (*CORE, *PARTS)) -> dict[str, str]:
    """Return Java sources, of the core and the parts by default, by class name."""
    folder = files(__package__).joinpath("jvm")
    return {name: folder.joinpath(f"{name}.java").read_text(encoding="utf-8") for name in names}


def one_text(sources: Iterable[str], *more: str) -> str:
    """Return classes that need each other as one text, to which lines of Java are added."""
    texts = [source.removeprefix("package hudi_pyspark;\n") for source in sources]
    lines = [line for text in texts for line in text.splitlines()]
    imports = sorted({line for line in lines if line.startswith("import ")})
    classes = [line for line in lines if not line.startswith("import ")]
    return "\n".join(["package hudi_pyspark;", *imports, *classes, *more])


def _core(sources: Mapping[str, str]) -> str:
    """Return the core as one text with the class Words."""
    words = [
        f'  public static final String {name} = "{word}";'.replace("\0", "\\0")
        for name, word in _WORDS.items()
    ]
    return one_text((sources[name] for name in CORE), "public class Words {", *words, "}")


def _make_rule(spark: SparkSession, classes: "RuleClasses") -> Any:  # noqa: ANN401  (of the JVM)
    """Return a new rule for a session, with all parts that were compiled.

    If the session has columnar readers, this also sends their classes to the executors.
    """
    rule = classes.core.newInstance()
    context = spark._jsparkSession.sparkContext()  # noqa: SLF001
    # By reflection, since py4j remembers the methods of the first class with a given name.
    rule.getClass().getField("context").set(rule, context)
    parts = rule.getClass().getField("parts").get(rule)
    for name, part in classes.parts.items():
        if name != _READERS or _install_readers(spark, classes):
            parts.getClass().getField(PARTS[name].field).set(parts, part.newInstance())
    return rule


@dataclass(frozen=True)
class RuleClasses:
    """The compiled classes of the rule, in the driver's JVM."""

    core: Any
    parts: Mapping[str, Any]  # by name, without the parts that this Spark cannot have
    readers: Mapping[str, bytes]  # the bytecode of the columnar readers by class name


@cache
def rule_classes(jvm: Any) -> RuleClasses:  # noqa: ANN401
    """Return the classes of the rule for this Spark, compiled once per JVM.

    Raises:
        Py4JError: the core cannot be compiled.
    """
    return compile_rule(jvm, java_sources())


def compile_rule(jvm: Any, sources: Mapping[str, str]) -> RuleClasses:  # noqa: ANN401
    """Compile the rule, and log each part that this Spark cannot have with what is different then.

    Args:
        jvm: py4j's view of the driver's JVM.
        sources: as `java_sources` returns them.

    Raises:
        Py4JError: the core cannot be compiled.
    """
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    core = compile_java(jvm, _core(sources), loader).getClassLoader()
    compilers = {name: _compile_part(jvm, name, sources[name], core) for name in PARTS}
    compiled = {name: compiler for name, compiler in compilers.items() if compiler is not None}
    return RuleClasses(
        core=class_of(core, _RULE),
        parts={name: class_of(each.getClassLoader(), name) for name, each in compiled.items()},
        readers=dict(compiled[_READERS].getBytecodes()) if _READERS in compiled else {},
    )


def _compile_part(jvm: Any, name: str, source: str, core: Any) -> Any:  # noqa: ANN401
    """Compile a part against the core; return None if this Spark cannot have the part."""
    try:
        compiler = compile_java(jvm, source, core)
        class_of(compiler.getClassLoader(), name).newInstance()  # checks the classes of Spark
    except OUT_OF_REACH as error:
        otherwise = PARTS[name].otherwise
        log_once(f"{otherwise}, since Spark lacks what {name} needs: {reason_of(error)}")
        return None
    return compiler


def class_of(loader: Any, name: str) -> Any:  # noqa: ANN401  (of the JVM)
    """Return the class of the package's Java that has a name; `Py4JError` if there is none."""
    return loader.loadClass(f"hudi_pyspark.{name}")


def compile_java(jvm: Any, source: str, loader: Any) -> Any:  # noqa: ANN401  (of the JVM)
    """Compile a text of Java, which may use the classes of a loader.

    Returns:
        The compiler, which has a loader of the new classes.

    Raises:
        Py4JError: the text cannot be compiled, e.g. since Spark lacks a class.
    """
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    return compiler


def _install_readers(spark: SparkSession, classes: RuleClasses) -> bool:
    """Send the executors a jar of the columnar readers; return whether scans have such readers.

    A cluster may keep the jars of sessions from its executors, so there the user has to turn the
    readers on.
    """
    try:
        context: Any = spark.sparkContext
        is_local = context._jsc.isLocal()  # noqa: SLF001
        release = untested_release(spark)
        if spark.conf.get(COLUMNAR, str(is_local and not release).lower()) != "true":
            if release:
                reason = f"columnar readers are untested with Spark {release}"
                log_once(f"{PARTS[_READERS].otherwise}: {reason}")
            return False
        jar = Path(context._temp_dir, "hudi-py.jar").absolute()  # noqa: SLF001
        if not jar.exists():
            with ZipFile(jar, "w") as archive:
                for name, code in classes.readers.items():
                    archive.writestr(f"{name.replace('.', '/')}.class", code)
            # Executors in this process need not fetch the jar from the driver's host.
            location = jar.as_uri().replace("file:", "local:") if is_local else str(jar)
            context._jsc.addJar(location)  # noqa: SLF001
    except (Py4JError, AttributeError, TypeError, OSError) as error:
        log_once(f"{PARTS[_READERS].otherwise}, since executors get no jar: {reason_of(error)}")
        return False
    return True
