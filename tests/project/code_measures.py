"""The size and shape of the package, to compare two commits.

``python -m tests.project.code_measures`` prints them. An argument is the folder of another package,
e.g. ``hudi_pyspark`` in a work tree of an older commit.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.project.docstring_measures import measure
from tests.project.package_source import PACKAGE, Module, import_graph, load_modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_measures(package: Path = PACKAGE) -> dict[str, str]:
    """Name of a measure to its value."""
    modules = load_modules(package)
    graph = import_graph(modules)
    chain = longest_chain(graph)
    fan_out = max(graph, key=lambda name: len(graph[name]))
    docstrings = measure(package)
    methods = max(_classes(modules))
    lines = max(_functions(modules))
    longest = max(modules.values(), key=lambda module: len(module.text.splitlines()))
    return {
        "modules": str(len(modules)),
        "lines": f"{sum(len(module.text.splitlines()) for module in modules.values()):,}",
        "lines of code": f"{sum(len(code_lines(module)) for module in modules.values()):,}",
        "longest file": f"{len(longest.text.splitlines())} lines ({longest.name})",
        "largest class": f"{methods[0]} methods ({methods[1]})",
        "longest function": f"{lines[0]} lines ({lines[1]})",
        "longest import chain": f"{len(chain)} modules ({chain[0]} … {chain[-1]})",
        "greatest fan-out": f"{len(graph[fan_out])} modules ({fan_out})",
        "public names": str(len(docstrings.public)),
        "without a docstring": str(len(docstrings.without_docstring)),
        "name their errors": (
            f"{docstrings.raises_share:.0%} of {len(docstrings.can_raise)} that can raise one"
        ),
    }


def code_lines(module: Module) -> set[int]:
    """Numbers of the lines that are neither blank, nor comments, nor docstrings."""
    with tokenize.open(module.path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    found: set[int] = set()
    for token in tokens:
        if token.type not in NOT_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def longest_chain(graph: Mapping[str, Set[str]]) -> tuple[str, ...]:
    """The longest path along imports.

    The package itself imports late what its functions need, and ends a path.
    """

    @cache
    def chain(name: str) -> tuple[str, ...]:
        below = (chain(imported) for imported in graph[name] if imported != PACKAGE.name)
        return (name, *max(below, key=len, default=()))

    return max(map(chain, graph), key=len)


def _classes(modules: Mapping[str, Module]) -> Iterator[tuple[int, str]]:
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                yield len(methods), f"{name}.{node.name}"


def _functions(modules: Mapping[str, Module]) -> Iterator[tuple[int, str]]:
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or 0) - node.lineno + 1, f"{name}.{node.name}"


def main() -> None:
    package = Path(sys.argv[1]).resolve() if sys.argv[1:] else PACKAGE
    for name, value in code_measures(package).items():
        sys.stdout.write(f"{name:<22}{value}\n")


if __name__ == "__main__":
    main()
