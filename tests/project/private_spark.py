"""The parts of Spark that are not its public API and that the package uses, by its sources.

Of Python: attributes with one underscore of objects that are not the package's own, modules that
Spark does not document, and what replaces a method of a client. Of Java: imports that are neither
Java's own nor documented by Spark, classes of Scala, and names that are looked up by reflection.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SPARK = Path(__file__).resolve().parents[2] / "hudi_pyspark" / "spark"

_PRIVATE_MODULES = ("pyspark.daemon", "pyspark.sql.connect", "pyspark.sql.pandas")
_PUBLIC_PACKAGES = (
    "java.",
    "org.slf4j.",
    "org.apache.spark.sql.connector.",
    "org.apache.spark.sql.types.",
    "org.apache.spark.sql.util.",
    "org.apache.spark.sql.vectorized.",
)
_PUBLIC_CLASSES = ("org.apache.spark.TaskContext", "org.apache.spark.util.AccumulatorV2")
# Attributes of objects of Spark that the package calls, replaces or reads behind the public API.
_BEHIND = {
    "execute_command",
    "ExecutePlan",
    "pythonExec",
    "extraOptimizations",
    "extraOptimizations_$eq",
    "sessionState",
    "dataSourceManager",
    "catalogManager",
    "v2SessionCatalog",
    "sharedState",
    "externalCatalog",
    "lookupDataSource",
    "UserDefinedPythonDataSource",
    "envVars",
    "queryExecution",
    "SimpleCompiler",
    "setParentClassLoader",
    "cook",
    "getBytecodes",
    "CollectionConverters",
}
# Names that modules of this package share: ruff has their list.
_PYPROJECT = (SPARK.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
_SHARED = set(re.findall(r'"(_\w+)"', _PYPROJECT.partition("flake8-self]")[2].partition("]")[0]))
# Methods of public classes of Scala that Spark keeps to itself.
_METHODS = ("listeners",)


def names_of_python(text: str) -> Iterator[str]:
    """Yield the private names that a module uses."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                for imported in (f"{module}.{alias.name}" for alias in names):
                    is_private = imported.rpartition(".")[2].startswith("_")
                    if imported.startswith(_PRIVATE_MODULES) or (
                        is_private and imported.startswith("pyspark.")
                    ):
                        yield imported
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) if name in _SHARED:
                pass
            case ast.Attribute(attr=name) if re.match("_[a-z]", name) or name in _BEHIND:
                yield name
            case ast.Call(
                func=ast.Attribute(attr="getDeclaredField"), args=[ast.Constant(value=str(name))]
            ):
                yield name
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ) if name.startswith("_") or name in _BEHIND:
                yield name


def names_of_java(text: str) -> Iterator[str]:
    """Yield the private classes that a source imports, and the names that it looks up."""
    for name in re.findall(r"^import ([\w.$]+);", text, re.MULTILINE):
        if not name.startswith(_PUBLIC_PACKAGES) and name not in _PUBLIC_CLASSES:
            yield name.rpartition(".")[2]
    yield from re.findall(r"scala\.collection\.immutable\.(\w+)", text)
    yield from re.findall(
        r'(?<![\w.])(?:Reflection\.)?(?:get|set|field)\(\s*(?:[^"()]+,\s*)?"([\w$]+)"', text
    )
    yield from re.findall(r'\.(?:getMethod|getField)\(\s*"([\w$]+)"', text)
    yield from re.findall(r'"(org\.apache\.spark\.[\w.$]+)"', text)
    yield from re.findall(rf"\.({'|'.join(_METHODS)})\(", text)
    yield from re.findall(r'getName\(\)\.equals\("([\w$]+)"\)', text)


def used_names() -> dict[str, set[str]]:
    """Return the private names by the file that uses them, relative to the folder `spark`."""
    used = {}
    for path in sorted(SPARK.rglob("*")):
        if path.suffix in (".py", ".java"):
            text = path.read_text(encoding="utf-8")
            names = set((names_of_python if path.suffix == ".py" else names_of_java)(text))
            if names:
                used[path.relative_to(SPARK).as_posix()] = names
    return used
