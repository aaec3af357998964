"""No byte of a table becomes code: what could do that is not in the package."""

import ast

import pytest

from tests.project.package_source import load_modules

MODULES = load_modules()
# They load objects of any class, or turn text into code.
LOADERS = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
RUNNERS = {"eval", "exec", "compile", "__import__", "read_pickle", "allow_pickle", "literal_eval"}
ALLOWED = {
    # They import what the package's own list or the caller's option names, or an extra.
    "hudi_pyspark": {"import_module"},
    "hudi_pyspark.cli.app": {"import_module"},
    "hudi_pyspark.imported_function": {"import_module"},
    "hudi_pyspark.storage.connection": {"import_module"},
    # It imports the module with its own name that is next on the path.
    "hudi_pyspark.spark.worker_path.sitecustomize": {"import_module"},
    # It loads the tasks that the driver pickled, as Spark does.
    "hudi_pyspark.spark.reader": {"pickle"},
}


def dangers(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name.partition(".")[0] for alias in names} & LOADERS
            case ast.ImportFrom(module=str(module)):
                found |= {module.partition(".")[0]} & LOADERS
            case ast.Call(func=ast.Name(id=name)):
                found |= {name} & (RUNNERS | {"import_module"})
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id=owner))):
                is_regular_expression = (owner, name) == ("re", "compile")
                found |= (
                    {name} & (RUNNERS | {"import_module"}) if not is_regular_expression else set()
                )
            case ast.keyword(arg=str(name)):
                found |= {name} & {"allow_pickle"}
    return found


@pytest.mark.parametrize("name", MODULES)
def test_module_can_neither_load_objects_nor_run_text(name):
    assert dangers(MODULES[name].tree) == ALLOWED.get(name, set())


@pytest.mark.parametrize(
    "code",
    ["import pickle", "from cloudpickle import loads", "eval(text)", "builtins.exec(text)",
     "numpy.load(file, allow_pickle=True)", "importlib.import_module(text)"],
)  # fmt: skip
def test_what_could_is_noticed(code):
    assert dangers(ast.parse(code))
