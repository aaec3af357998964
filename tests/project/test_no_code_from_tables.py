"""No input becomes code: each place that could do that stands in SECURITY.md, with its reason.

The tables of SECURITY.md are compared with the package. So a new place needs a row, and a row whose
function or test is gone is noticed.
"""

import ast
import re

import pytest

from tests.conftest import PROJECT
from tests.project.package_source import PACKAGE, load_modules

MODULES = load_modules()
SECURITY = (PROJECT / "SECURITY.md").read_text(encoding="utf-8")
JAVA = sorted((PACKAGE / "spark" / "jvm").glob("*.java"))
# Modules that load objects of any class.
LOADERS = frozenset(
    {
        "pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib",
        "pyspark.serializers", "pyspark.cloudpickle",
    }
)  # fmt: skip
# Calls that load objects, or turn text into code, by their last name. JSON is only parsed.
CALLS = frozenset(
    {
        "loads", "_read_with_length", "read_pickle", "eval", "exec", "compile", "cook",
        "import_module", "__import__", "literal_eval", "run_path", "run_module",
    }
)  # fmt: skip
PARSERS = frozenset({"json.loads", "re.compile"})
JAVA_CALLS = re.compile(
    r"\b(ObjectInputStream|readObject|Class\.forName|loadClass|ScriptEngine|defineClass)\b"
)


def rows(heading):
    """The cells of the table below a heading of SECURITY.md, without the table's own heading."""
    text = SECURITY.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def code_of(cell):
    return re.findall(r"`([^`]+)`", cell)


def is_literal(node, constants):
    if isinstance(node, ast.Constant):
        return True
    return isinstance(node, ast.Name) and node.id in constants


def imported(node):
    match node:
        case ast.Import(names=names):
            return {alias.name for alias in names}
        case ast.ImportFrom(module=str(module)):
            return {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return set()


def calls_in(tree):
    """Yield what could load objects or run text, with the function around it."""
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def visit(node, place):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = [*place, node.name]
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            last = name.rpartition(".")[2]
            by_name = last in CALLS and name not in PARSERS
            by_text = last == "getattr" and not is_literal(node.args[1], constants)
            if by_name or by_text:
                yield ".".join(place), last
            if any(keyword.arg == "allow_pickle" for keyword in node.keywords):
                yield ".".join(place), "allow_pickle"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, place)

    return set(visit(tree, []))


def loaders_in(tree):
    return {
        loader
        for node in ast.walk(tree)
        for name in imported(node)
        for loader in LOADERS
        if name == loader or name.startswith(f"{loader}.")
    }


def java_calls_in(text):
    return set(JAVA_CALLS.findall(text))


def test_each_place_that_could_run_code_stands_in_the_document():
    found = {
        (str(module.path.relative_to(PACKAGE)), function, call)
        for module in MODULES.values()
        for function, call in calls_in(module.tree)
    }
    found |= {
        (str(path.relative_to(PACKAGE)), "", call)
        for path in JAVA
        for call in java_calls_in(path.read_text(encoding="utf-8"))
    }
    documented = set()
    for place, calls, _ in rows("Where code could come from"):
        file, *function = code_of(place)
        documented |= {(file, "".join(function), call) for call in code_of(calls)}
    assert found == documented


def test_modules_that_load_objects_are_imported_only_where_such_a_place_is():
    importing = {
        str(module.path.relative_to(PACKAGE))
        for module in MODULES.values()
        if loaders_in(module.tree)
    }
    with_loads = {
        code_of(place)[0]
        for place, calls, _ in rows("Where code could come from")
        if "loads" in code_of(calls)
    }
    assert importing == with_loads


def definitions(tree):
    def visit(node, place):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                yield ".".join([*place, child.name])
                yield from visit(child, [*place, child.name])

    return set(visit(tree, []))


INPUTS = rows("What each input may decide")


@pytest.mark.parametrize("row", INPUTS, ids=[row[0] for row in INPUTS])
def test_each_input_has_a_door_and_a_test(row):
    _, _, _, door, test = row
    file, function = code_of(door)
    assert function in definitions(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
    path, _, name = code_of(test)[0].partition("::")
    assert name in definitions(ast.parse((PROJECT / path).read_text(encoding="utf-8")))


def test_all_inputs_are_there():
    assert [row[0] for row in INPUTS] == [
        "Files of a table", "Properties", "Timeline", "Entry of a metastore, or of a catalog",
        "Metadata of columns", "Options", "Options of SQL (`hudi-py.sql.…`)", "Hints of a client",
        "Environment", "Offsets and checkpoints", "Kept merges on disk", "Artifacts",
        "The pickled source",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    ["pickle.loads(b)", "loads(b)", "SERIALIZER.loads(b)", "eval(text)", "builtins.exec(text)",
     "numpy.load(file, allow_pickle=True)", "importlib.import_module('os')", "getattr(x, text)",
     "__import__(text)", "compile(text, '', 'exec')", "builtins.getattr(x, f'{text}')"],
)  # fmt: skip
def test_what_could_is_noticed(code):
    assert calls_in(ast.parse(f"def f():\n    return {code}\n")) in (
        {("f", name)} for name in {*CALLS, "getattr", "allow_pickle"}
    )


@pytest.mark.parametrize(
    "code",
    ["import pickle", "import os, marshal", "from cloudpickle import loads",
     "from pyspark import serializers", "from pyspark.serializers import CPickleSerializer",
     "import pyspark.cloudpickle.cloudpickle", "from pickle import *"],
)  # fmt: skip
def test_modules_that_load_objects_are_noticed(code):
    assert loaders_in(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    ["json.loads(text)", "re.compile(text)", "getattr(x, 'y')", "NAME = 'y'\ngetattr(x, NAME)"],
)
def test_parsers_and_literals_are_no_code(code):
    assert calls_in(ast.parse(code)) == set()


@pytest.mark.parametrize(
    "code", ["new ObjectInputStream(in)", "Class.forName(name)", "loader.loadClass(name)"]
)
def test_java_that_could_is_noticed(code):
    assert java_calls_in(code)
