"""Nothing in `spark/` looks for the session of the process, or keeps one for longer than Spark.

Rules, catalogs and readers are given their session. Spark's functions that look for one may make a
context that no later session can replace.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.package_source import load_modules

SPARK = Path(__file__).resolve().parents[2] / "hudi_pyspark" / "spark"
JAVA = {path.name: path.read_text(encoding="utf-8") for path in SPARK.rglob("*.java")}
MODULES = {n: m for n, m in load_modules().items() if n.startswith("hudi_pyspark.spark")}
FINDERS = re.compile(
    r"\b(?:getOrCreate|getActive|getActiveSession|getDefaultSession|SparkSession\.active"
    r"|SparkEnv|Spark(?:Context|Session)\$?\.\w+|_active_spark_context|_instantiatedSession)\b"
)
STATIC_FIELD = re.compile(r"\bstatic (?:final )?[\w.\[\]]+ (\w+)(?: =\s*([^;]+))?;")
# What a static field may hold: constants, and what forgets the objects of a session.
KEPT = re.compile(
    r"[\"'{]|-?\d|Arrays\.asList\(new Object\[\] \{"
    r"|Collections\.newSetFromMap\(new WeakHashMap\(\)\)|new WeakHashMap\(\)|new ThreadLocal\(\)"
    r"|new CatalogSources\(\)"  # holds registered sources by weak references
    r"|LoggerFactory\.|new Need\(null, new ArrayList\(\)"
)
# Names asks for the session that runs a query: Spark raises an error if there is none.
DOORS = {"Names.java": ["SparkSession.active"]}
# The parameters of cached functions: messages, and the JVM, which outlives sessions.
CACHED_BY = {
    "log_once": ["message"],
    "warn_of_all_columns": [],
    "rule_classes": ["jvm"],
    "catalog_classes": ["jvm"],
}


def code_of(java: str) -> str:
    """Return a source without its imports, comments and texts."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*|^import [^\n]*", "", java, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', plain)


def problems_of(java: str) -> Iterator[str]:
    code = code_of(java)
    yield from FINDERS.findall(code)
    for name, value in STATIC_FIELD.findall(code):
        if not KEPT.match(value):
            yield name


@pytest.mark.parametrize("name", JAVA)
def test_java_looks_for_no_session_and_keeps_none(name):
    assert list(problems_of(JAVA[name])) == DOORS.get(name, [])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("int n = SparkContext.getOrCreate().defaultParallelism();", "SparkContext.getOrCreate"),
        ("Object o = SparkContext$.MODULE$;", "SparkContext$.MODULE"),
        ("Object s = SparkSession.active();", "SparkSession.active"),
        ("Object s = of.getActiveSession().get();", "getActiveSession"),
        ("Object e = SparkEnv.get();", "SparkEnv"),
        ("private static final Map GUARDS = new IdentityHashMap();", "GUARDS"),
        ("public static Object last;", "last"),
    ],
)
def test_line_that_does_is_noticed(line, problem):
    assert list(problems_of(f"class A {{\n  {line}\n}}")) == [problem]


def test_line_that_does_not_is_no_problem():
    lines = [
        "import org.apache.spark.SparkContext;",
        "// SparkContext.getOrCreate() would make one",
        "public SparkContext context;",
        "loaded.getOrCreateDataSourceInPython(name, options, schema);",
        'public static final String NAME = "SparkEnv";',
        "private static final int MOST = 5 * 2;",
    ]
    assert list(problems_of("\n".join(lines))) == []


@pytest.mark.parametrize("name", MODULES)
def test_python_looks_for_no_session_and_caches_none(name):
    tree = MODULES[name].tree
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert not names & {"getOrCreate", "getActiveSession", "active", "_active_spark_context"}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            "cache" in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            assert [each.arg for each in node.args.args] == CACHED_BY[node.name]
