"""Figures of the code, of one checkout or of several side by side.

Run as a module: ``python -m tests.project.measure [CHECKOUT ...]``. For a figure of an earlier
commit, ``git worktree add FOLDER COMMIT`` makes its checkout.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.project.code_lines import count_code_lines
from tests.project.package_source import import_graph, load_modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    from tests.project.package_source import Module

ROOT = Path(__file__).resolve().parents[2]
# Folders of tests that say by their name what they are, and mirror no module.
KINDS_OF_TESTS = {"golden", "practice", "project", "property", "typing", "verification"}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def measure(root: Path = ROOT) -> dict[str, str]:
    """Return name and value of each figure of a checkout."""
    modules = load_modules(root / "hudi_pyspark")
    code = {name: count_code_lines(module.text) for name, module in modules.items()}
    docs = [doc for module in modules.values() for doc in docstrings(module.tree)]
    functions = [f for module in modules.values() for f in public_functions(module.tree)]
    described = [f for f in functions if ast.get_docstring(f)]
    methods = {
        f"{name.removeprefix('hudi_pyspark.')}.{node.name}": count_methods(node)
        for name, module in modules.items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    chain = longest_chain(import_graph_at_load(modules))
    return {
        "modules": str(len(modules)),
        "code lines": str(sum(code.values())),
        "docstring lines": str(sum(doc.count("\n") + 1 for doc in docs)),
        "docstrings of several lines": str(sum("\n" in doc for doc in docs)),
        "docstrings that name errors (Raises:)": str(sum("Raises:" in doc for doc in docs)),
        "comment lines": str(sum(count_comment_lines(m.text) for m in modules.values())),
        "public functions with docstring": f"{len(described)} of {len(functions)}",
        "circles of modules, imports for types included": str(len(circles(modules))),
        "longest chain of imports": str(len(chain)),
        "test files that name no module": str(len(orphans(root))),
        "most methods": _largest(methods),
        "largest module, code lines": _largest(code),
    }


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions, as they are written."""
    for node in ast.walk(tree):
        if isinstance(node, Definition | ast.Module):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield text


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield functions and methods without an underscore, of classes without one."""

    def walk(nodes: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in nodes:
            if isinstance(node, Definition) and not node.name.startswith("_"):
                if isinstance(node, ast.ClassDef):
                    yield from walk(node.body)
                else:
                    yield node

    return walk(tree.body)


def count_methods(node: ast.ClassDef) -> int:
    """Count the methods and properties of a class that are public."""
    functions = (n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum(not function.name.startswith("_") for function in functions)


def count_comment_lines(text: str) -> int:
    """Count the lines that have nothing but a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(t.type == tokenize.COMMENT and t.line.lstrip().startswith("#") for t in tokens)


def import_graph_at_load(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Return module to the modules that are imported when it is: none inside of functions."""
    return {name: imports(module, modules, types=False) for name, module in modules.items()}


def imports(module: Module, modules: Mapping[str, Module], *, types: bool) -> set[str]:
    """Return what a module imports outside of functions; ``types`` adds what only types need."""

    def walk(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                if types:
                    yield from walk(child)
                continue
            if isinstance(child, ast.Import):
                yield from (alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                names = [f"{child.module}.{alias.name}" for alias in child.names]
                submodules = [name for name in names if name in modules]
                yield from submodules or [child.module]
            else:
                yield from walk(child)

    return {name for name in walk(module.tree) if name in modules} - {module.name}


def circles(modules: dict[str, Module]) -> set[frozenset[str]]:
    """Return the groups of modules that import one another, for types or at run time."""
    at_run_time = import_graph(modules)
    graph = {
        name: at_run_time[name] | imports(module, modules, types=True)
        for name, module in modules.items()
    }

    def reachable(module: str) -> set[str]:
        reached: set[str] = set()
        waiting = [module]
        while waiting:
            new = graph[waiting.pop()] - reached
            reached |= new
            waiting += new
        return reached

    below = {name: reachable(name) for name in modules}
    return {
        frozenset(other for other in below[name] if name in below[other])
        for name in modules
        if name in below[name]
    }


def longest_chain(graph: Mapping[str, Set[str]]) -> tuple[str, ...]:
    """Return the longest chain of modules of which each imports the next."""

    @cache
    def chain(module: str) -> tuple[str, ...]:
        return (module, *max(map(chain, sorted(graph[module])), key=len, default=()))

    return max(map(chain, sorted(graph)), key=len)


def orphans(root: Path) -> list[str]:
    """Return the test files that neither name a module nor are in a folder that says more.

    ``table/test_view.py`` names ``table/view.py``, and ``table/test_view_open.py`` too, with a part
    of it; ``format/test_hfile.py`` and ``catalogs/test_catalogs.py`` name folders.
    """
    tests, package = root / "tests", root / "hudi_pyspark"
    named = []
    for path in sorted(tests.rglob("test_*.py")):
        place = path.relative_to(tests)
        modules = {module.stem for module in (package / place.parent).glob("[a-z]*")}
        if (package / place.parent / "__init__.py").exists():
            modules.add(place.parent.name)
        words = place.stem.removeprefix("test_").split("_")
        beginnings = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
        if place.parts[0] not in KINDS_OF_TESTS and not modules & beginnings:
            named.append(place.as_posix())
    return named


def _largest(counts: Mapping[str, int]) -> str:
    name = max(counts, key=lambda each: counts[each])
    return f"{counts[name]} ({name.removeprefix('hudi_pyspark.')})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT])
    figures = [measure(root.resolve()) for root in parser.parse_args().checkouts]
    for name in figures[0]:
        values = "".join(f"{of_one[name]:>34}" for of_one in figures)
        sys.stdout.write(f"{name:50}{values}\n")
