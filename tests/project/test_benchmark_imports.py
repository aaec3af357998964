"""Benchmarks import names that the package has: nothing else runs most of them."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted((PROJECT / "benchmarks").rglob("*.py"))


def imported_names(path: Path) -> list[tuple[str, str]]:
    """Return the modules of the package that a file imports from, each with a name."""
    tree = ast.parse(path.read_text())
    return [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        if node.module.partition(".")[0] == "hudi_pyspark"
        for alias in node.names
    ]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_names_of_the_package_exist(path: Path) -> None:
    missing = []
    for module, name in imported_names(path):
        if not hasattr(import_module(module), name):
            try:
                import_module(f"{module}.{name}")
            except ModuleNotFoundError:
                missing.append(f"{module}.{name}")
    assert not missing, f"{path.name} imports {', '.join(missing)}: the package has no such name"


def test_an_import_inside_of_a_function_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def f():\n    from hudi_pyspark.scan import Gone\n")
    assert imported_names(file) == [("hudi_pyspark.scan", "Gone")]
